//! Finds the checkpoints of a run by the names of their directories.

use std::fs;
use std::path::{Path, PathBuf};

use super::{RunDirError, sums};

/// What the name of a checkpoint begins with, before the number of its step.
pub const CHECKPOINT: &str = "checkpoint-";

/// A checkpoint, if there is one, and newer ones that are damaged, with what is wrong with each.
type Newest = (Option<PathBuf>, Vec<(PathBuf, String)>);

/// The step of a run's newest checkpoint that is not damaged; 0 without one.
///
/// # Errors
/// As [`newest_good`].
pub fn steps_done(run: &Path) -> Result<usize, RunDirError> {
    Ok(newest_good(run)?.0.as_deref().and_then(step_of).unwrap_or(0))
}

/// The step that a checkpoint is named after.
pub fn step_of(checkpoint: &Path) -> Option<usize> {
    checkpoint.file_name()?.to_str()?.strip_prefix(CHECKPOINT)?.parse().ok()
}

/// The newest checkpoint that is not damaged, and the newer ones with what is wrong with each.
///
/// # Errors
/// [`RunDirError::Io`] where a file of one cannot be read, so that nobody knows whether it is damaged.
pub fn newest_good(run: &Path) -> Result<Newest, RunDirError> {
    let mut damaged = Vec::new();
    for (_, path) in checkpoints(run).into_iter().rev() {
        match sums::damage(&path)? {
            None => return Ok((Some(path), damaged)),
            Some(reason) => damaged.push((path, reason)),
        }
    }
    Ok((None, damaged))
}

/// The newest checkpoint of a run, damaged or not. It is found by its directory, because a killed process may not have
/// written the file that names the newest.
pub fn latest_checkpoint(run: &Path) -> Option<PathBuf> {
    checkpoints(run).pop().map(|(_, path)| path)
}

/// Step and directory of each checkpoint, oldest first.
pub(super) fn checkpoints(run: &Path) -> Vec<(usize, PathBuf)> {
    numbered(run, CHECKPOINT)
}

/// Directories of `parent` whose name is `prefix` and a number, by number.
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
