//! Gauges of memory and GPU.

use std::fs;
use std::time::Duration;

use crate::model::{Gauges, Reading};
use grpo_2048::cli::for_bench::{place_of, visible_gpus};
use grpo_2048::hardware::GpuSampler;
use grpo_2048::metrics::Console;
use grpo_2048::policy::{Device, device_name, peak_memory, reset_peak_memory};

/// The interval of readings of a GPU, short because runs may be short.
const SAMPLE_EVERY: Duration = Duration::from_millis(100);

/// The gauges for `device`, with a warning if a GPU cannot be monitored.
pub fn open(device: &Device, console: &Console) -> Box<dyn Gauges> {
    let name = device_name(device);
    let Some(mut index) = name.strip_prefix("cuda:").and_then(|index| index.parse().ok()) else {
        return Box::new(ProcessMemory);
    };
    let started = visible_gpus().map_err(|error| error.to_string()).and_then(|source| {
        index = place_of(device, &source).unwrap_or(index);
        GpuSampler::start(Box::new(source), SAMPLE_EVERY, None).map_err(|error| error.to_string())
    });
    match started {
        Ok(sampler) => Box::new(Gpu { sampler: Some(sampler), index, device: device.clone() }),
        Err(reason) => {
            console.print(&format!("warning: {reason}; utilisation stays unmeasured"));
            Box::new(Gpu { sampler: None, index, device: device.clone() })
        }
    }
}

/// The memory of this process, by Linux's peak value.
struct ProcessMemory;

impl Gauges for ProcessMemory {
    fn begin(&self) {
        // If the system does not reset the peak, it counts from the start of the program.
        let _ = fs::write("/proc/self/clear_refs", "5");
    }

    fn read(&self) -> Reading {
        let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
        Reading { peak_bytes: highest(&status), gpu_percent: None }
    }
}

/// The peak memory in bytes, from the text of `/proc/self/status`.
fn highest(status: &str) -> Option<u64> {
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    Some(1024 * line.split_whitespace().next()?.parse::<u64>().ok()?)
}

/// One GPU: memory by the driver's pool, which counts what tensors take and not what it keeps for later ones; utilisation
/// by NVML, where it can be asked.
struct Gpu {
    sampler: Option<GpuSampler>,
    index: usize,
    device: Device,
}

impl Gauges for Gpu {
    fn begin(&self) {
        // Where the driver refuses, the peak counts from the start of the program.
        let _ = reset_peak_memory(&self.device);
        if let Some(sampler) = &self.sampler {
            sampler.take_lately();
        }
    }

    fn read(&self) -> Reading {
        let lately = self.sampler.as_ref().map(GpuSampler::take_lately);
        let usage = lately.as_ref().and_then(|lately| lately.get(self.index));
        Reading {
            peak_bytes: peak_memory(&self.device).ok().flatten(),
            gpu_percent: usage.and_then(|usage| usage.utilisation()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_highest_mark_is_in_kibibytes() {
        assert_eq!(highest("Name:\tx\nVmHWM:\t    2048 kB\nVmRSS:\t 1 kB\n"), Some(2 << 20));
        assert_eq!(highest("Name:\tx\n"), None);
    }

    #[test]
    fn a_peak_counts_from_where_a_round_begins() {
        let peak = |size: usize| {
            ProcessMemory.begin();
            let held = std::hint::black_box(vec![1_u8; size]);
            let peak = ProcessMemory.read().peak_bytes;
            drop(held);
            peak
        };
        let (Some(large), Some(small)) = (peak(256 << 20), peak(1)) else { return };
        assert!(large > small + (128 << 20), "{large} {small}");
    }
}
