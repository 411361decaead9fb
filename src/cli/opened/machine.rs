//! The machine: build, processor, and the memory for this process.

use std::fs;
use std::path::Path;

use super::cgroups::{self, Limit};
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
        MachineMemory::below(Path::new("/"))
    }

    /// As the file system below `root` tells it.
    fn below(root: &Path) -> Option<MachineMemory> {
        let meminfo = fs::read_to_string(root.join("proc/meminfo")).unwrap_or_default();
        MachineMemory::read(&meminfo, &cgroups::limits(root))
    }

    /// From the text of `/proc/meminfo`, and the limits of control groups.
    fn read(meminfo: &str, limits: &[Limit]) -> Option<MachineMemory> {
        let field = |name: &str| {
            let line = meminfo.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':'))?;
            let kibibytes: u64 = line.split_whitespace().next()?.parse().ok()?;
            Some(1024 * kibibytes)
        };
        let (total, free) = (field("MemTotal")?, field("MemAvailable")?);
        Some(MachineMemory {
            total: limits.iter().map(|limit| limit.bytes).fold(total, u64::min),
            free: limits.iter().map(|limit| limit.bytes.saturating_sub(limit.used)).fold(free, u64::min),
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
        let read = |bytes, used| MachineMemory::read(MEMINFO, &[Limit { bytes, used }]);
        assert_eq!(MachineMemory::read(MEMINFO, &[]), Some(all));
        let limited = MachineMemory { total: gib(4), free: gib(1) };
        assert_eq!(read(gib(4), gib(3)), Some(limited));
        let unlimited = read(gib(64), gib(3)).unwrap();
        assert_eq!(unlimited.free, 8_192_000 << 10);
        assert_eq!(MachineMemory::read("", &[]), None);
    }

    /// Total and free MiB where the system has these files.
    fn mebibytes(files: &[(&str, &str)]) -> (u64, u64) {
        let root = tempfile::tempdir().unwrap();
        for (name, text) in [("proc/meminfo", MEMINFO)].iter().chain(files) {
            let path = root.path().join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        let memory = MachineMemory::below(root.path()).unwrap();
        (memory.total >> 20, memory.free >> 20)
    }

    #[test]
    fn the_narrowest_of_all_groups_around_a_process_limits_it_and_what_it_read_from_files_is_free() {
        let job = "sys/fs/cgroup/slurm/job7";
        let [max, current, stat] = ["memory.max", "memory.current", "memory.stat"].map(|name| format!("{job}/{name}"));
        // The process's own group has no limit, and nor has the outermost.
        let second = [
            ("proc/self/cgroup", "0::/slurm/job7/step\n"),
            ("sys/fs/cgroup/slurm/job7/step/memory.max", "max\n"),
            (&*max, "2147483648\n"),
            (&*current, "1610612736\n"),
            (&*stat, "anon 536870912\ninactive_file 805306368\nactive_file 268435456\nslab 1\n"),
            ("sys/fs/cgroup/slurm/memory.max", "4294967296\n"),
            ("sys/fs/cgroup/slurm/memory.current", "3221225472\n"),
        ];
        assert_eq!(mebibytes(&second), (2048, 1024), "the group around it leaves less");
        assert_eq!(mebibytes(&second[..5]), (2048, 1536));
        // As a container sees it: its path is that of the host.
        let first = [
            ("proc/self/cgroup", "9:cpuset:/docker/0a\n4:hugetlb,memory:/docker/0a\n0::/\n"),
            ("sys/fs/cgroup/memory/memory.limit_in_bytes", "1073741824\n"),
            ("sys/fs/cgroup/memory/memory.usage_in_bytes", "536870912\n"),
            ("sys/fs/cgroup/memory/memory.stat", "active_file 9\ntotal_inactive_file 1073741824\n"),
        ];
        assert_eq!(mebibytes(&first), (1024, 1024), "no less than nothing is used");
        assert_eq!(mebibytes(&first[..3]), (1024, 512));
    }

    #[test]
    fn a_processor_is_told_by_its_model() {
        let text = "processor\t: 0\nmodel name\t: Imaginary CPU @ 3.00GHz\nprocessor\t: 1\n";
        assert_eq!(processor_model(text).as_deref(), Some("Imaginary CPU @ 3.00GHz"));
    }
}
