//! A thread that reads GPUs at a fixed pace.

use std::fs::OpenOptions;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant, SystemTime};

use super::{GpuError, GpuReading, GpuSource, GpuUsage, header, row};

/// How often a run is watched. Drivers average utilisation over something like it.
pub const SAMPLE_EVERY: Duration = Duration::from_secs(1);

/// What the thread and its owner share.
#[derive(Debug, Default)]
struct Shared {
    latest: Vec<GpuReading>,
    /// Of each GPU, since the sampler began.
    whole: Vec<GpuUsage>,
    /// Of each GPU, since somebody took it.
    lately: Vec<GpuUsage>,
    /// Why there are no more readings.
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
    /// Reads `source` every so often, and appends each reading to `file` where there is one.
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
                let mut shared = lock(&told);
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

    /// What the GPUs are called.
    pub fn names(&self) -> &[String] {
        &self.names
    }

    /// The newest reading of each GPU; none before the first.
    pub fn latest(&self) -> Vec<GpuReading> {
        lock(&self.shared).latest.clone()
    }

    /// What each GPU did since the sampler began.
    pub fn whole(&self) -> Vec<GpuUsage> {
        lock(&self.shared).whole.clone()
    }

    /// What each GPU did since this was last asked. An interval without a reading gives the newest one.
    pub fn take_lately(&self) -> Vec<GpuUsage> {
        let mut shared = lock(&self.shared);
        let mut taken = std::mem::take(&mut shared.lately);
        if taken.is_empty() {
            taken.resize_with(shared.latest.len(), GpuUsage::default);
            taken.iter_mut().zip(&shared.latest).for_each(|(usage, reading)| usage.add(reading));
        }
        taken
    }

    /// Why there are no more readings, told once.
    pub fn take_ended(&self) -> Option<String> {
        lock(&self.shared).ended.take()
    }
}

impl Drop for GpuSampler {
    fn drop(&mut self) {
        self.stop = None;
        if let Some(thread) = self.thread.take() {
            // A thread that panicked has nothing left to say that matters to a run.
            let _ = thread.join();
        }
    }
}

/// One reading, in the file as well.
fn sample(source: &mut dyn GpuSource, began: Instant, file: Option<&Path>) -> Result<Vec<GpuReading>, String> {
    let readings = source.read().map_err(|error: GpuError| error.to_string())?;
    if let Some(path) = file {
        append(path, began, &readings).map_err(|error| format!("{}: {error}", path.display()))?;
    }
    Ok(readings)
}

/// One write a line, so that a reader or a kill leaves whole lines; a new file begins with the names of its columns.
fn append(path: &Path, began: Instant, readings: &[GpuReading]) -> std::io::Result<()> {
    let mut file = OpenOptions::new().append(true).create(true).open(path)?;
    if file.metadata()?.len() == 0 {
        file.write_all(header(readings.len()).as_bytes())?;
    }
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    file.write_all(row(now.as_secs_f64(), began.elapsed().as_secs_f64(), readings).as_bytes())
}

/// Numbers for people: what a panicked thread left is as good as any.
fn lock(shared: &Mutex<Shared>) -> MutexGuard<'_, Shared> {
    shared.lock().unwrap_or_else(PoisonError::into_inner)
}
