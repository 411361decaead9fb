//! Disk: where runs go, and what lies in the caches.

use std::fs;
use std::path::Path;

use crate::cli::said::Finding;
use crate::plural::counted;
use crate::policy;
use crate::train::run_dir;

/// Free space below which a run is likely to die while saving.
const DISK_LOW_BYTES: u64 = 1 << 30;

const ADVICE: &str = "give --output-dir a directory on a disk with room";

/// Space where a run would write.
pub fn disk(output_dir: &Path) -> Finding {
    let wanted = if output_dir.as_os_str().is_empty() { Path::new(run_dir::RUNS) } else { output_dir };
    let absolute = std::path::absolute(wanted).unwrap_or_else(|_| wanted.to_owned());
    let Some(existing) = absolute.ancestors().find(|path| path.exists()) else {
        return Finding::problem("disk", format!("{}: no such place", wanted.display()), ADVICE);
    };
    if !existing.is_dir() {
        return Finding::problem("disk", format!("{}: is no directory", existing.display()), ADVICE);
    }
    // Permissions are no hindrance to root, and there are none where nobody makes files, as in /proc.
    if let Err(error) = tempfile::tempfile_in(existing) {
        // Its kind alone: the words would name the file that was tried.
        let text = format!("{}: {}", existing.display(), error.kind());
        return Finding::problem("disk", text, "give --output-dir a directory that can be written to");
    }
    match rustix::fs::statvfs(existing) {
        Ok(status) => space(status.f_bavail * status.f_frsize, status.f_blocks, wanted),
        Err(error) => Finding::warning("disk", format!("{}: {error}", existing.display()), ADVICE),
    }
}

/// What is to say of `free` bytes on a disk of so many `blocks`. A file system that does not tell its size says 0, as some of FUSE
/// do.
fn space(free: u64, blocks: u64, wanted: &Path) -> Finding {
    let wanted = wanted.display();
    let line = format!("{:.1} GB free for {wanted}", free as f64 / 1e9);
    match (free, blocks) {
        (_, 0) => Finding::ok("disk", format!("can be written to for {wanted}; does not tell what is free")),
        (0, _) => Finding::problem("disk", line, ADVICE),
        _ => Finding::warning_if(free < DISK_LOW_BYTES, "disk", line, ADVICE),
    }
}

/// The cache of models of the Hugging Face Hub.
pub fn models() -> Finding {
    let cache = policy::hub_cache_dir();
    let entries = fs::read_dir(&cache).into_iter().flatten().flatten();
    let models = entries.filter(|entry| entry.file_name().to_string_lossy().starts_with("models--")).count();
    let line = match models {
        0 => format!("{} (no models; `--model owner/name` fetches one there)", cache.display()),
        _ => {
            let gigabytes = directory_bytes(&cache) as f64 / 1e9;
            format!("{} ({}, {gigabytes:.1} GB)", cache.display(), counted(models, "model"))
        }
    };
    Finding::ok("model cache", line)
}

/// Bytes of the files in a directory and all below it. Links are not followed: their targets count where they are.
pub fn directory_bytes(path: &Path) -> u64 {
    let entries = fs::read_dir(path).into_iter().flatten().flatten();
    let sizes = entries.filter_map(|entry| {
        let about = entry.metadata().ok()?;
        Some(if about.is_dir() { directory_bytes(&entry.path()) } else { u64::from(about.is_file()) * about.len() })
    });
    sizes.sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_disk_that_does_not_tell_its_size_is_not_called_full() {
        let level =
            |free, blocks| serde_json::to_value(space(free, blocks, Path::new("runs"))).unwrap()["level"].take();
        assert_eq!(
            [level(0, 0), level(0, 9), level(1, 9), level(DISK_LOW_BYTES, 9)],
            ["ok", "problem", "warning", "ok"]
        );
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn a_place_where_nobody_makes_files_is_a_problem() {
        let found = serde_json::to_value(disk(Path::new("/proc/x"))).unwrap();
        assert_eq!(found["level"], "problem", "{found}");
    }

    #[test]
    fn a_directory_is_as_large_as_the_files_below_it() {
        let dir = tempfile::tempdir().unwrap();
        fs::create_dir_all(dir.path().join("a/b")).unwrap();
        fs::write(dir.path().join("a/b/file"), [0; 300]).unwrap();
        fs::write(dir.path().join("file"), [0; 41]).unwrap();
        #[cfg(unix)]
        std::os::unix::fs::symlink(dir.path().join("file"), dir.path().join("a/link")).unwrap();
        assert_eq!(directory_bytes(dir.path()), 341);
        assert_eq!(directory_bytes(&dir.path().join("nowhere")), 0);
    }
}
