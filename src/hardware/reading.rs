//! What is read of a GPU, and where it is read.

/// GPUs cannot be monitored, or no longer.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum GpuError {
    /// There is no driver, or it does not answer.
    #[error("no NVIDIA GPU can be watched: {0}")]
    NoDriver(String),
    /// The driver has no GPU.
    #[error("no NVIDIA GPU can be watched: the driver knows of none")]
    NoGpu,
    /// A GPU stopped answering.
    #[error("GPU {index} no longer answers: {reason}")]
    Lost {
        /// Its index.
        index: usize,
        /// What the driver said.
        reason: String,
    },
}

/// Why a GPU with work runs below its maximum clock.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Slowdown {
    /// It has reached its power limit.
    Power,
    /// It is too hot.
    Heat,
    /// Its board or power supply requires it.
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

/// A reading of one GPU. Values that the driver does not provide are absent.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct GpuReading {
    /// Share of the last interval in which a kernel ran, in percent.
    pub utilisation: Option<f64>,
    /// Share of the last interval in which memory was read or written, in percent.
    pub memory_activity: Option<f64>,
    /// Memory in use, in bytes.
    pub memory_used: Option<u64>,
    /// All memory, in bytes.
    pub memory_total: Option<u64>,
    /// Power, in watts.
    pub power: Option<f64>,
    /// Power limit, in watts.
    pub power_limit: Option<f64>,
    /// Clock of the multiprocessors, in MHz.
    pub sm_clock: Option<u32>,
    /// Clock of the memory, in MHz.
    pub memory_clock: Option<u32>,
    /// Temperature, in degrees Celsius.
    pub temperature: Option<u32>,
    /// The reasons for a lower clock.
    pub slowed: Vec<Slowdown>,
}

/// A source of readings of GPUs.
pub trait GpuSource: Send {
    /// The names of the GPUs, in the order of their readings.
    fn names(&self) -> &[String];

    /// One reading of each GPU.
    fn read(&mut self) -> Result<Vec<GpuReading>, GpuError>;
}
