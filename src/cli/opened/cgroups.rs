//! The control groups of this process, by which containers, batch systems and services limit its memory.

use std::fs;
use std::path::Path;

/// The limit of a group.
pub struct Limit {
    pub bytes: u64,
    /// What the group uses, without the contents of files, which the kernel gives up before it refuses memory.
    pub used: u64,
}

/// Where a version of control groups has its files, and what it calls them.
struct Version {
    mount: &'static str,
    limit: &'static str,
    used: &'static str,
    /// Lines of `memory.stat` that count contents of files.
    of_files: [&'static str; 2],
}

const FIRST: Version = Version {
    mount: "sys/fs/cgroup/memory",
    limit: "memory.limit_in_bytes",
    used: "memory.usage_in_bytes",
    of_files: ["total_inactive_file", "total_active_file"],
};
const SECOND: Version = Version {
    mount: "sys/fs/cgroup",
    limit: "memory.max",
    used: "memory.current",
    of_files: ["inactive_file", "active_file"],
};

/// The limits of this process's group and of all groups around it, as the file system below `root` tells them. A container may see
/// its own group as the outermost, though its path is another.
pub fn limits(root: &Path) -> Vec<Limit> {
    let groups = fs::read_to_string(root.join("proc/self/cgroup")).unwrap_or_default();
    let of_group = |(version, path): (&'static Version, &str)| {
        let mount = root.join(version.mount);
        let levels = Path::new(path).ancestors().filter_map(|level| version.limit(&mount.join(level)));
        levels.collect::<Vec<_>>()
    };
    groups.lines().filter_map(group).flat_map(of_group).collect()
}

/// The group that a line names, if it is one of memory: `0::/path` or `5:memory:/path`.
fn group(line: &str) -> Option<(&'static Version, &str)> {
    let (_, rest) = line.split_once(':')?;
    let (controllers, path) = rest.split_once(':')?;
    let is_second = controllers.is_empty();
    let is_of_memory = is_second || controllers.split(',').any(|name| name == "memory");
    is_of_memory.then(|| (if is_second { &SECOND } else { &FIRST }, path.trim_start_matches('/')))
}

impl Version {
    /// The limit of the group in `dir`, if it has one.
    fn limit(&self, dir: &Path) -> Option<Limit> {
        let number = |name: &str| fs::read_to_string(dir.join(name)).ok()?.trim().parse::<u64>().ok();
        let (bytes, used) = (number(self.limit)?, number(self.used)?);
        let stat = fs::read_to_string(dir.join("memory.stat")).unwrap_or_default();
        let lines = stat.lines().filter_map(|line| line.split_once(' '));
        let of_files = lines.filter(|(name, _)| self.of_files.contains(name));
        let of_files: u64 = of_files.filter_map(|(_, bytes)| bytes.trim().parse::<u64>().ok()).sum();
        Some(Limit { bytes, used: used.saturating_sub(of_files) })
    }
}
