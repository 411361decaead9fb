//! A thread that reads GPUs at fixed intervals, and writes its readings as CSV, under the names of Weights & Biases' system
//! metrics.

use std::fs::OpenOptions;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::thread::JoinHandle;
use std::time::{Duration, Instant, SystemTime};

use parking_lot::Mutex;

use super::{GpuError, GpuReading, GpuSource, GpuUsage};

/// The interval of readings during a run, similar to the time over which drivers average utilisation.
pub const SAMPLE_EVERY: Duration = Duration::from_secs(1);

/// Name of the file in the output directory.
pub const GPU_FILE: &str = "gpu.csv";

/// The columns of one GPU, without their prefix `gpu.N.`.
const COLUMNS: [&str; 11] = [
    "gpu", "memory", "memoryAllocated", "memoryAllocatedBytes", "temp", "powerWatts", "powerPercent",
    "enforcedPowerLimitWatts", "smClock", "memoryClock", "slowedBy",
];

/// The data that the thread and its owner share.
#[derive(Debug, Default)]
struct Shared {
    latest: Vec<GpuReading>,
    /// The usage of each GPU since the sampler started.
    whole: Vec<GpuUsage>,
    /// The usage of each GPU since it was last taken.
    lately: Vec<GpuUsage>,
    /// The error that ended the readings.
    ended: Option<String>,
}

impl Shared {
    fn take_in(&mut self, readings: Vec<GpuReading>) {
        for usages in [&mut self.whole, &mut self.lately] {
            usages.resize_with(readings.len(), GpuUsage::default);
            usages.iter_mut().zip(&readings).for_each(|(usage, reading)| usage.add(reading));
        }
        self.latest = readings;
    }
}

/// Reads GPUs until it is dropped.
pub struct GpuSampler {
    names: Vec<String>,
    shared: Arc<Mutex<Shared>>,
    /// Dropped to end the thread.
    stop: Option<Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl GpuSampler {
    /// Reads `source` at intervals of `every`, and appends each reading to `file`, if there is one.
    pub fn start(
        mut source: Box<dyn GpuSource>,
        every: Duration,
        file: Option<PathBuf>,
    ) -> std::io::Result<GpuSampler> {
        let names = source.names().to_vec();
        let shared = Arc::new(Mutex::new(Shared::default()));
        let (stop, stopped) = mpsc::channel::<()>();
        let told = Arc::clone(&shared);
        let thread = std::thread::Builder::new().name("gpu-sampler".into()).spawn(move || {
            let began = Instant::now();
            loop {
                let sampled = sample(source.as_mut(), began, file.as_deref());
                let mut shared = told.lock();
                match sampled {
                    Ok(readings) => shared.take_in(readings),
                    Err(reason) => return shared.ended = Some(reason),
                }
                drop(shared);
                if stopped.recv_timeout(every) != Err(RecvTimeoutError::Timeout) {
                    return;
                }
            }
        })?;
        Ok(GpuSampler { names, shared, stop: Some(stop), thread: Some(thread) })
    }

    pub fn names(&self) -> &[String] {
        &self.names
    }

    /// The newest reading of each GPU; empty before the first.
    pub fn latest(&self) -> Vec<GpuReading> {
        self.shared.lock().latest.clone()
    }

    /// The usage of each GPU since the sampler started.
    pub fn whole(&self) -> Vec<GpuUsage> {
        self.shared.lock().whole.clone()
    }

    /// Takes the usage of each GPU since the last call. Without a reading since then it is that of the newest reading.
    pub fn take_lately(&self) -> Vec<GpuUsage> {
        let mut shared = self.shared.lock();
        let mut taken = std::mem::take(&mut shared.lately);
        if taken.is_empty() {
            taken.resize_with(shared.latest.len(), GpuUsage::default);
            taken.iter_mut().zip(&shared.latest).for_each(|(usage, reading)| usage.add(reading));
        }
        taken
    }

    /// Takes the error that ended the readings.
    pub fn take_ended(&self) -> Option<String> {
        self.shared.lock().ended.take()
    }
}

impl Drop for GpuSampler {
    fn drop(&mut self) {
        self.stop = None;
        if let Some(thread) = self.thread.take() {
            // A panic of the thread must not stop the run.
            let _ = thread.join();
        }
    }
}

/// Takes one reading and writes it to the file.
fn sample(source: &mut dyn GpuSource, began: Instant, file: Option<&Path>) -> Result<Vec<GpuReading>, String> {
    let readings = source.read().map_err(|error: GpuError| error.to_string())?;
    if let Some(path) = file {
        append(path, began, &readings).map_err(|error| format!("{}: {error}", path.display()))?;
    }
    Ok(readings)
}

/// Appends a line in one write, so that readers and a kill find complete lines. A new file begins with the names of its
/// columns.
fn append(path: &Path, began: Instant, readings: &[GpuReading]) -> std::io::Result<()> {
    let mut file = OpenOptions::new().append(true).create(true).open(path)?;
    if file.metadata()?.len() == 0 {
        file.write_all(header(readings.len()).as_bytes())?;
    }
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    file.write_all(row(now.as_secs_f64(), began.elapsed().as_secs_f64(), readings).as_bytes())
}

/// The first line: seconds since 1970, seconds since monitoring began, then the columns of each GPU.
pub(super) fn header(gpus: usize) -> String {
    let columns = (0..gpus).flat_map(|gpu| COLUMNS.map(|column| format!(",gpu.{gpu}.{column}")));
    format!("_timestamp,_runtime{}\n", columns.collect::<String>())
}

/// One line. Missing values are empty fields.
pub(super) fn row(timestamp: f64, runtime: f64, readings: &[GpuReading]) -> String {
    let fields = readings.iter().flat_map(fields).map(|field| format!(",{field}"));
    format!("{timestamp:.3},{runtime:.3}{}\n", fields.collect::<String>())
}

fn fields(reading: &GpuReading) -> [String; COLUMNS.len()] {
    let percent = |part: Option<f64>, whole: Option<f64>| Some(100.0 * part? / whole.filter(|&whole| whole > 0.0)?);
    let share = percent(reading.memory_used.map(|bytes| bytes as f64), reading.memory_total.map(|bytes| bytes as f64));
    [
        shown(reading.utilisation),
        shown(reading.memory_activity),
        rounded(share),
        shown(reading.memory_used),
        shown(reading.temperature),
        rounded(reading.power),
        rounded(percent(reading.power, reading.power_limit)),
        shown(reading.power_limit),
        shown(reading.sm_clock),
        shown(reading.memory_clock),
        reading.slowed.iter().map(|slowdown| slowdown.name()).collect::<Vec<_>>().join("+"),
    ]
}

fn shown<T: ToString>(value: Option<T>) -> String {
    value.map(|value| value.to_string()).unwrap_or_default()
}

fn rounded(value: Option<f64>) -> String {
    value.map(|value| format!("{value:.1}")).unwrap_or_default()
}
