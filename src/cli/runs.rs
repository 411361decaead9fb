//! Runs by the names that users give them.

use std::path::{Path, PathBuf};

use super::CliError;
use crate::train::run_dir;

/// Stands for the newest run.
const LATEST: &str = "latest";

/// Whether the newest run is meant, whichever that is.
pub fn is_latest(asked: &Path) -> bool {
    asked.as_os_str() == LATEST
}

/// The run that the user named with `flag`: a directory, or the newest one with a checkpoint.
pub fn named(flag: &str, asked: &Path) -> Result<PathBuf, CliError> {
    if !is_latest(asked) {
        return Ok(asked.to_owned());
    }
    run_dir::latest_run().ok_or_else(|| {
        CliError::user_hint(
            format!("{flag} {LATEST}: no run with a checkpoint in {}", run_dir::RUNS),
            format!("name the directory, as in {flag} DIR; `grpo-2048 train` makes the first one"),
        )
    })
}
