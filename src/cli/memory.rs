//! How much memory there is for this process.

use std::fs;

/// Bytes of memory.
#[derive(Debug, PartialEq, Eq)]
pub struct MachineMemory {
    /// All there is.
    pub total: u64,
    /// What can be had without swapping.
    pub free: u64,
}

impl MachineMemory {
    /// As the system says it; none where it does not.
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
}
