//! Decides how much of the free memory a plan may use.

use std::fmt;

use super::megabytes;
use crate::policy::DeviceMemory;

/// Share of the processor's free memory. The rest allows for other programs that grow and for errors of the plan.
const OF_HOST: f64 = 0.7;
/// Share of a GPU's free memory. Usually no other program grows there, but allocations leave gaps.
const OF_GPU: f64 = 0.95;

/// The memory that a plan may use if the user set no limit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Allowance {
    /// The limit, in bytes.
    pub bytes: u64,
    /// All memory of the machine or the GPU, in bytes, free or not.
    pub total: u64,
    /// Words for what the limit is a share of.
    of: String,
}

impl Allowance {
    /// The limit for the processor's memory, with `free` of `total` bytes free.
    pub fn of_host(free: u64, total: u64) -> Allowance {
        Allowance { bytes: share(OF_HOST, free), total, of: format!("{OF_HOST} of the free memory") }
    }

    /// The limit for a GPU's memory: at most `fraction` of all of it, and at most 0.95 of the free part. It is divided
    /// among the `processes` that share the GPU.
    pub fn of_gpu(memory: DeviceMemory, fraction: f64, processes: usize) -> Allowance {
        let (capped, free) = (share(fraction, memory.total), share(OF_GPU, memory.free));
        let (bytes, mut of) = match capped <= free {
            true => (capped, format!("train.gpu_memory_fraction = {fraction} of the GPU's memory")),
            false => (free, format!("{OF_GPU} of what is free of the GPU's memory")),
        };
        if processes > 1 {
            of.push_str(&format!(", divided among the {processes} processes that share it,"));
        }
        Allowance { bytes: bytes / processes as u64, total: memory.total, of }
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
        let capped = Allowance::of_gpu(empty, 0.5, 1);
        assert_eq!(capped.bytes, 70_500_000_000);
        assert_eq!(capped.to_string(), "train.gpu_memory_fraction = 0.5 of the GPU's memory is 70.5 GB");
        let shared = Allowance::of_gpu(DeviceMemory { free: gigabytes(40), ..empty }, 0.5, 1);
        assert_eq!(shared.bytes, gigabytes(38));
        assert_eq!(shared.to_string(), "0.95 of what is free of the GPU's memory is 38.0 GB");
        assert_eq!(Allowance::of_host(gigabytes(10), gigabytes(16)).to_string(), "0.7 of the free memory is 7.0 GB");
    }

    #[test]
    fn processes_that_share_a_gpu_have_a_part_of_it_each() {
        let memory = DeviceMemory { free: 140_000_000_000, total: 141_000_000_000 };
        let part = Allowance::of_gpu(memory, 0.4, 2);
        assert_eq!((part.bytes, part.total), (28_200_000_000, memory.total));
        assert_eq!(
            part.to_string(),
            "train.gpu_memory_fraction = 0.4 of the GPU's memory, divided among the 2 processes that share it, is 28.2 GB"
        );
    }
}
