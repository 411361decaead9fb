//! What the GPUs did meanwhile: utilisation, memory, power, clocks, and a verdict on it in words.
//!
//! A [`GpuSource`] is read at a fixed pace by a thread of its own ([`GpuSampler`]); readings go to a file under the names
//! that Weights & Biases gives its system metrics, and into a [`GpuUsage`]. Nothing here can stop a run: a driver that
//! fails is named once, and the watching ends.

mod inventory;
mod nvml;
mod sampler;
mod table;
mod usage;
mod verdict;

#[cfg(test)]
mod tests;

pub use inventory::{GpuModel, Inventory};
pub use nvml::NvmlSource;
pub use sampler::{GpuSampler, SAMPLE_EVERY};
pub use table::{GPU_FILE, header, row};
pub use usage::GpuUsage;
pub use verdict::{StepShares, verdict};

/// Why GPUs cannot be watched, or no longer.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum GpuError {
    /// No driver, or one that does not answer.
    #[error("no NVIDIA GPU can be watched: {0}")]
    NoDriver(String),
    /// A driver without a GPU.
    #[error("no NVIDIA GPU can be watched: the driver knows of none")]
    NoGpu,
    /// A GPU that stopped answering.
    #[error("GPU {index} no longer answers: {reason}")]
    Lost {
        /// Its number.
        index: usize,
        /// What the driver said.
        reason: String,
    },
}

/// Why a GPU runs below its clock though it has work.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Slowdown {
    /// It may not draw more power.
    Power,
    /// It is too hot.
    Heat,
    /// Its board or power supply asks for it.
    Hardware,
}

impl Slowdown {
    /// The name in files.
    pub fn name(self) -> &'static str {
        match self {
            Slowdown::Power => "power",
            Slowdown::Heat => "heat",
            Slowdown::Hardware => "hardware",
        }
    }
}

/// One GPU at one moment. What its driver does not tell is absent.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct GpuReading {
    /// Percent of the last interval in which a kernel ran.
    pub utilisation: Option<f64>,
    /// Percent of the last interval in which memory was read or written.
    pub memory_activity: Option<f64>,
    /// Bytes in use.
    pub memory_used: Option<u64>,
    /// Bytes in all.
    pub memory_total: Option<u64>,
    /// Watts.
    pub power: Option<f64>,
    /// Watts it may draw.
    pub power_limit: Option<f64>,
    /// Clock of the multiprocessors, in MHz.
    pub sm_clock: Option<u32>,
    /// Clock of the memory, in MHz.
    pub memory_clock: Option<u32>,
    /// Degrees Celsius.
    pub temperature: Option<u32>,
    /// What slows it down.
    pub slowed: Vec<Slowdown>,
}

/// Something that reads GPUs.
pub trait GpuSource: Send {
    /// What the GPUs are called, in the order of their readings.
    fn names(&self) -> &[String];

    /// One reading of each.
    fn read(&mut self) -> Result<Vec<GpuReading>, GpuError>;
}
