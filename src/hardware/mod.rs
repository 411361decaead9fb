//! Monitors GPUs during a run: utilisation, memory, power and clocks, with a verdict in words.
//!
//! A thread ([`GpuSampler`]) reads a [`GpuSource`] at fixed intervals. Readings are written to a file under the names
//! of Weights & Biases' system metrics, and summarised in a [`GpuUsage`]. Nothing here can stop a run: if the driver
//! fails, the error is reported once and monitoring ends.

mod nvml;
mod reading;
mod sampler;
mod usage;
mod verdict;

#[cfg(test)]
mod tests;

pub use nvml::{GpuModel, Inventory, NvmlSource};
pub use reading::{GpuError, GpuReading, GpuSource, Slowdown};
pub use sampler::{GPU_FILE, GpuSampler, SAMPLE_EVERY};
pub use usage::GpuUsage;
pub use verdict::{StepShares, verdict};
