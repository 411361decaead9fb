//! How much of the memory that is free a plan may come to.

use std::fmt;

use super::megabytes;
use crate::policy::DeviceMemory;

/// The share of the processor's free memory: other programs grow, and arithmetic forgets things.
const OF_HOST: f64 = 0.7;
/// The share of a GPU's free memory: nothing else grows there as a rule, but allocations leave gaps.
const OF_GPU: f64 = 0.95;

/// Memory that a plan may come to where the user set no limit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Allowance {
    /// How much that is.
    pub bytes: u64,
    /// All the memory there is, whoever has it now.
    pub total: u64,
    /// What it is a share of.
    of: String,
}

impl Allowance {
    /// Of the processor's memory: what is free of it, and all of it.
    pub fn of_host(free: u64, total: u64) -> Allowance {
        Allowance { bytes: share(OF_HOST, free), total, of: format!("{OF_HOST} of the free memory") }
    }

    /// Of a GPU's memory, as its driver tells it: at most `fraction` of all, and of what is free.
    pub fn of_gpu(memory: DeviceMemory, fraction: f64) -> Allowance {
        let (capped, free) = (share(fraction, memory.total), share(OF_GPU, memory.free));
        let (bytes, of) = match capped <= free {
            true => (capped, format!("train.gpu_memory_fraction = {fraction} of the GPU's memory")),
            false => (free, format!("{OF_GPU} of what is free of the GPU's memory")),
        };
        Allowance { bytes, total: memory.total, of }
    }
}

impl fmt::Display for Allowance {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} is {}", self.of, megabytes(self.bytes))
    }
}

fn share(fraction: f64, bytes: u64) -> u64 {
    (fraction * bytes as f64) as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_gpu_is_used_up_to_the_fraction_or_to_what_others_leave_of_it() {
        let gigabytes = |count: u64| count * 1_000_000_000;
        let empty = DeviceMemory { free: gigabytes(140), total: gigabytes(141) };
        let capped = Allowance::of_gpu(empty, 0.5);
        assert_eq!(capped.bytes, 70_500_000_000);
        assert_eq!(capped.to_string(), "train.gpu_memory_fraction = 0.5 of the GPU's memory is 70.5 GB");
        let shared = Allowance::of_gpu(DeviceMemory { free: gigabytes(40), ..empty }, 0.5);
        assert_eq!(shared.bytes, gigabytes(38));
        assert_eq!(shared.to_string(), "0.95 of what is free of the GPU's memory is 38.0 GB");
        assert_eq!(Allowance::of_host(gigabytes(10), gigabytes(16)).to_string(), "0.7 of the free memory is 7.0 GB");
    }
}
