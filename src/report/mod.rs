//! Shows a run directory as one HTML page: curves, verdicts, programs, games and tests. The page fetches nothing from
//! other sites.
//!
//! Takes directories that a run of this or an earlier version wrote or is writing; returns HTML. Reads files only, and
//! knows neither models nor the sandbox. Text of programs is part of the page as JSON that cannot end its script
//! element, and the page shows it as text, never as markup.

mod card;
mod completions;
mod configuration;
mod follow;
mod frames;
mod log;
mod logged_game;
mod metrics;
mod page;
mod run;
mod tasks;

pub use card::{CardSubject, Training, card};
pub use completions::{LoggedCompletion, LoggedTurn, completion_files, parse_completions, read_completions};
pub use follow::Follower;
pub use page::{Refresh, html, json};
pub use run::{RunReader, RunView};

use std::path::PathBuf;

use crate::train::COMPLETIONS_VERSION;

/// A directory cannot be shown.
#[derive(Debug, thiserror::Error)]
pub enum ReportError {
    /// There is no such directory.
    #[error("{path}: no such directory")]
    Missing {
        /// The path.
        path: PathBuf,
    },
    /// The path is a file.
    #[error("{path}: is a file; name the directory that a run writes to, as given to --output-dir")]
    File {
        /// The path.
        path: PathBuf,
    },
    /// The directory holds something else.
    #[error("{path}: holds no run: neither metrics.jsonl nor config.toml is there")]
    NoRun {
        /// The directory.
        path: PathBuf,
    },
    /// A log has a format of a later version.
    #[error("{path}: lines of version {found}; this program reads up to {COMPLETIONS_VERSION}, a later one reads them")]
    Later {
        /// The file.
        path: PathBuf,
        /// The version that its first line names.
        found: u64,
    },
    /// The file system refused an operation.
    #[error("{path}: {source}")]
    Io {
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: std::io::Error,
    },
}

impl ReportError {
    /// Whether the user's input is at fault, and not the machine.
    pub fn is_user(&self) -> bool {
        !matches!(self, ReportError::Io { .. })
    }

    fn io(path: &std::path::Path) -> impl FnOnce(std::io::Error) -> ReportError + '_ {
        move |source| ReportError::Io { path: path.to_owned(), source }
    }
}

#[cfg(test)]
mod tests;
