//! The machine: build, processor, and the memory for this process.

use std::fs;

use crate::cli::said::CliError;
use crate::config::Config;
use crate::plural::counted;
use crate::policy::{self, Device};
use crate::train::memory::Allowance;

/// Bytes of memory.
#[derive(Debug, PartialEq, Eq)]
pub struct MachineMemory {
    /// All that this process may use.
    pub total: u64,
    /// What is available without swapping.
    pub free: u64,
}

impl MachineMemory {
    /// As the system reports it; `None` where it does not.
    pub fn of_this_process() -> Option<MachineMemory> {
        let meminfo = fs::read_to_string("/proc/meminfo").unwrap_or_default();
        let group = ["memory.max", "memory.current"].map(|file| fs::read_to_string(format!("/sys/fs/cgroup/{file}")));
        let [limit, used] = group.map(|text| text.ok().and_then(|text| text.trim().parse().ok()));
        MachineMemory::read(&meminfo, limit, used)
    }

    /// From the text of `/proc/meminfo`, and the limit and use of a container where it has one.
    fn read(meminfo: &str, limit: Option<u64>, used: Option<u64>) -> Option<MachineMemory> {
        let field = |name: &str| {
            let line = meminfo.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':'))?;
            let kibibytes: u64 = line.split_whitespace().next()?.parse().ok()?;
            Some(1024 * kibibytes)
        };
        let (total, free) = (field("MemTotal")?, field("MemAvailable")?);
        Some(match (limit, used) {
            (Some(limit), Some(used)) if limit < total => {
                MachineMemory { total: limit, free: free.min(limit.saturating_sub(used)) }
            }
            _ => MachineMemory { total, free },
        })
    }
}

/// Features of the build, such as `cuda`.
pub fn build_features() -> Vec<&'static str> {
    let known = [("cuda", cfg!(feature = "cuda")), ("mkl", cfg!(feature = "mkl"))];
    known.into_iter().filter_map(|(name, on)| on.then_some(name)).collect()
}

/// Number of cores, and the processor's model where the system names it.
pub fn cores_and_model() -> String {
    let cores = std::thread::available_parallelism().map_or(1, std::num::NonZeroUsize::get);
    let model = fs::read_to_string("/proc/cpuinfo").ok().and_then(|text| processor_model(&text));
    format!("{}{}", counted(cores, "core"), model.map_or_else(String::new, |model| format!(", {model}")))
}

fn processor_model(cpuinfo: &str) -> Option<String> {
    let line = cpuinfo.lines().find(|line| line.starts_with("model name"))?;
    Some(line.split_once(':')?.1.trim().to_owned())
}

/// Instruction sets that the matrix products choose from.
pub fn processor_features() -> Vec<&'static str> {
    #[cfg(target_arch = "x86_64")]
    let known = [
        ("avx2", std::arch::is_x86_feature_detected!("avx2")),
        ("fma", std::arch::is_x86_feature_detected!("fma")),
        ("f16c", std::arch::is_x86_feature_detected!("f16c")),
        ("avx512f", std::arch::is_x86_feature_detected!("avx512f")),
    ];
    #[cfg(not(target_arch = "x86_64"))]
    let known: [(&'static str, bool); 0] = [];
    known.into_iter().filter_map(|(name, there)| there.then_some(name)).collect()
}

/// Free memory for tensors before a model is loaded, divided among so many `processes` that share it.
pub fn allowance(device: &Device, config: &Config, processes: usize) -> Result<Option<Allowance>, CliError> {
    Ok(match policy::device_memory(device).map_err(CliError::run)? {
        Some(memory) => Some(Allowance::of_gpu(memory, config.train.gpu_memory_fraction, processes)),
        None => MachineMemory::of_this_process()
            .map(|memory| Allowance::of_host(memory.free / processes as u64, memory.total)),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const MEMINFO: &str = "MemTotal:       16384000 kB\nMemFree:          100 kB\nMemAvailable:    8192000 kB\n";

    #[test]
    fn a_container_has_what_its_limit_leaves() {
        let gib = |count: u64| count << 30;
        let all = MachineMemory { total: 16_384_000 << 10, free: 8_192_000 << 10 };
        assert_eq!(MachineMemory::read(MEMINFO, None, None), Some(all));
        let limited = MachineMemory { total: gib(4), free: gib(1) };
        assert_eq!(MachineMemory::read(MEMINFO, Some(gib(4)), Some(gib(3))), Some(limited));
        let unlimited = MachineMemory::read(MEMINFO, Some(gib(64)), Some(gib(3))).unwrap();
        assert_eq!(unlimited.free, 8_192_000 << 10);
        assert_eq!(MachineMemory::read("", None, None), None);
    }

    #[test]
    fn a_processor_is_told_by_its_model() {
        let text = "processor\t: 0\nmodel name\t: Imaginary CPU @ 3.00GHz\nprocessor\t: 1\n";
        assert_eq!(processor_model(text).as_deref(), Some("Imaginary CPU @ 3.00GHz"));
    }
}
