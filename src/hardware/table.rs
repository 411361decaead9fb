//! Writes readings as CSV, under the names of Weights & Biases' system metrics.

use super::GpuReading;

/// Name of the file in the output directory.
pub const GPU_FILE: &str = "gpu.csv";

/// The columns of one GPU, without their prefix `gpu.N.`.
const COLUMNS: [&str; 11] = [
    "gpu", "memory", "memoryAllocated", "memoryAllocatedBytes", "temp", "powerWatts", "powerPercent",
    "enforcedPowerLimitWatts", "smClock", "memoryClock", "slowedBy",
];

/// The first line: seconds since 1970, seconds since monitoring began, then the columns of each GPU.
pub fn header(gpus: usize) -> String {
    let columns = (0..gpus).flat_map(|gpu| COLUMNS.map(|column| format!(",gpu.{gpu}.{column}")));
    format!("_timestamp,_runtime{}\n", columns.collect::<String>())
}

/// One line. Missing values are empty fields.
pub fn row(timestamp: f64, runtime: f64, readings: &[GpuReading]) -> String {
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
