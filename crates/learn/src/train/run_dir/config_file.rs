//! The file in which a run records its settings.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use super::error::RunDirError;
use crate::environment::game2048;

/// The resolved configuration, with a table `[run]` of versions and of the files of the environment and the model.
pub const CONFIG: &str = "config.toml";
/// What it begins with.
pub(super) const WRITTEN: &str = "# Written by grpo-2048";
/// How its first line goes on, since every run records all sections.
pub(super) const REPEATS: &str = "; `--config` on this file and another --output-dir repeat the run.";

/// The sections that a run records. A file that was cut lacks the last of them.
const SECTIONS: [&str; 12] = [
    "run", "environment", "model", "rollout", "sandbox", "arena", "reward", "grpo", "train", "parallel", "guard", "sft",
];

/// The text of the configuration that a run recorded. The flags of a resumed run override it.
pub fn recorded_text(run: &Path) -> Result<String, RunDirError> {
    let path = run.join(CONFIG);
    let text = match fs::read_to_string(&path) {
        Ok(text) => text,
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            return Err(RunDirError::NoRun { path: run.to_owned() });
        }
        Err(source) => return Err(RunDirError::Io { path, source }),
    };
    // Earlier versions recorded fewer sections, and somebody's own file has those that were meant. Of this version's own even the
    // first line may be cut.
    let first = format!("{WRITTEN}{REPEATS}");
    let is_own = text.starts_with(&first) || first.starts_with(text.trim_end());
    match missing_section(&text).filter(|_| is_own) {
        Some(section) => Err(RunDirError::Cut { path, section }),
        None => Ok(text),
    }
}

/// The first section that a file of settings lacks, which would silently be the defaults; none of what is no TOML.
pub(super) fn missing_section(text: &str) -> Option<&'static str> {
    let written = text.parse::<toml::Table>().ok()?;
    SECTIONS.into_iter().find(|section| !written.contains_key(*section))
}

/// The table `[run]` that a run recorded when it began.
pub(super) fn about(run: &Path) -> Result<toml::Table, RunDirError> {
    let begun = recorded_text(run)?.parse::<toml::Table>().unwrap_or_default();
    Ok(begun.get("run").and_then(toml::Value::as_table).cloned().unwrap_or_default())
}

/// The absolute path of what exists at `name`; `name` itself if it is a word or nothing is there.
pub(super) fn absolute(name: &str, place: fn(&Path) -> io::Result<PathBuf>) -> String {
    let is_word = ["builtin", game2048::NAME, ""].contains(&name);
    let path = if is_word { None } else { place(Path::new(name)).ok() };
    path.map_or_else(|| name.to_owned(), |path| path.display().to_string())
}
