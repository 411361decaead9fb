//! The checkpoints of a run, by the names of their directories and the digests of their files.

use std::fs;
use std::path::{Path, PathBuf};

use super::sums;

/// Steps that the newest checkpoint of a run that is whole has behind it; 0 without one.
pub fn steps_done(run: &Path) -> usize {
    newest_good(run).0.as_deref().and_then(step_of).unwrap_or(0)
}

/// The step that a checkpoint is named after.
pub fn step_of(checkpoint: &Path) -> Option<usize> {
    checkpoint.file_name()?.to_str()?.strip_prefix("checkpoint-")?.parse().ok()
}

/// The newest checkpoint whose files are as they were written, and those that are newer with what is wrong with them.
pub fn newest_good(run: &Path) -> (Option<PathBuf>, Vec<(PathBuf, String)>) {
    let mut damaged = Vec::new();
    for (_, path) in checkpoints(run).into_iter().rev() {
        match sums::damage(&path) {
            None => return (Some(path), damaged),
            Some(reason) => damaged.push((path, reason)),
        }
    }
    (None, damaged)
}

/// The newest checkpoint of a run, whether it is still as it was written or not: each appears whole, so what is there counts, and not the file that names
/// one, which a killed process may not have come to write.
pub fn latest_checkpoint(run: &Path) -> Option<PathBuf> {
    checkpoints(run).pop().map(|(_, path)| path)
}

/// Step and directory of each, oldest first.
pub(super) fn checkpoints(run: &Path) -> Vec<(usize, PathBuf)> {
    numbered(run, "checkpoint-")
}

/// Directories called `prefix` and a number, by number.
pub(super) fn numbered(parent: &Path, prefix: &str) -> Vec<(usize, PathBuf)> {
    let entries = fs::read_dir(parent).into_iter().flatten().flatten();
    let mut found: Vec<(usize, PathBuf)> = entries
        .filter_map(|entry| {
            let number = entry.file_name().to_str()?.strip_prefix(prefix)?.parse().ok()?;
            entry.path().is_dir().then(|| (number, entry.path()))
        })
        .collect();
    found.sort();
    found
}
