//! Measures the GPU that a run trains on.

use std::collections::BTreeMap;

use crate::hardware::{GPU_FILE, GpuError, GpuSampler, NvmlSource, SAMPLE_EVERY, StepShares, verdict};
use crate::metrics::{Console, RunHeader, StepRecord};
use crate::policy::{Device, device_name, gpu_identity};

/// The GPUs that CUDA shows to this process. The driver's library is looked for where those of CUDA are.
pub fn visible_gpus() -> Result<NvmlSource, GpuError> {
    let named = std::env::var("GRPO_2048_CUDA_LIBS").unwrap_or_default();
    let folders: Vec<_> = std::env::split_paths(&named).collect();
    NvmlSource::open(std::env::var("CUDA_VISIBLE_DEVICES").ok().as_deref(), &folders)
}

/// The place of the device among these GPUs: by what NVIDIA calls it, and where nobody says by its number. None for a
/// processor.
pub fn place_of(device: &Device, gpus: &NvmlSource) -> Option<usize> {
    let number = device_name(device).strip_prefix("cuda:")?.parse().ok();
    gpu_identity(device).ok().and_then(|identity| gpus.place(&identity)).or(number)
}

/// Adds measurements of the GPU to the record of each step, and sums them up at the end. Runs on the processor have
/// none.
pub struct GpuWatch {
    console: Console,
    device: Device,
    /// Index of the GPU among those that are watched; none on a processor.
    index: Option<usize>,
    sampler: Option<GpuSampler>,
    shares: StepShares,
}

impl GpuWatch {
    /// Prepares for `device`; measuring begins with the run.
    pub fn new(device: &Device, console: &Console) -> GpuWatch {
        let index = device_name(device).strip_prefix("cuda:").and_then(|index| index.parse().ok());
        let (console, device) = (console.clone(), device.clone());
        GpuWatch { console, device, index, sampler: None, shares: StepShares::default() }
    }

    /// Begins measuring. Where the GPU cannot be measured, a warning says so and the run goes on.
    pub fn begin(&mut self, header: &RunHeader) {
        if self.index.is_none() {
            return;
        }
        self.shares.steps_ahead = header.steps_ahead;
        let file = header.output_dir.join(GPU_FILE);
        let started = visible_gpus().map_err(|error| error.to_string()).and_then(|source| {
            self.index = place_of(&self.device, &source);
            GpuSampler::start(Box::new(source), SAMPLE_EVERY, Some(file)).map_err(|error| error.to_string())
        });
        match started {
            Ok(sampler) => self.sampler = Some(sampler),
            Err(reason) => self.console.print(&format!("warning: {reason}; gpu/* and {GPU_FILE} are left out")),
        }
    }

    /// The measurements of a step, by name.
    pub fn measure(&mut self, record: &StepRecord) -> BTreeMap<String, f64> {
        let Some(index) = self.index else { return BTreeMap::new() };
        self.shares.steps += 1;
        self.shares.total += record.step_time;
        self.shares.generate += record.time_generate;
        self.shares.reward_wait += record.time_reward_wait;
        let Some(sampler) = &self.sampler else { return BTreeMap::new() };
        if let Some(reason) = sampler.take_ended() {
            self.console.print(&format!("warning: the GPU is no longer watched: {reason}"));
        }
        let lately = sampler.take_lately();
        let metrics = lately.get(index).into_iter().flat_map(|usage| usage.metrics());
        metrics.map(|(name, value)| (name.to_owned(), value)).collect()
    }

    /// The GPU's use over the whole run, in words; empty where none was measured.
    pub fn verdict(&self) -> String {
        let (Some(index), Some(sampler)) = (self.index, &self.sampler) else { return String::new() };
        match (sampler.whole().get(index), sampler.names().get(index)) {
            (Some(usage), Some(name)) => format!("\n{}", verdict(index, name, usage, Some(&self.shares))),
            _ => String::new(),
        }
    }
}
