//! A run directory as one page to look at: curves, verdicts, programs, games and tests, with nothing fetched from
//! anywhere.
//!
//! Takes directories that a run wrote or is writing, of this version or an earlier one; gives HTML. Reads files only:
//! knows no model and no sandbox. Text of programs reaches the page as JSON that cannot end its script element, and the
//! page shows it as text, never as markup.

mod card;
mod completions;
mod configuration;
mod follow;
mod frames;
mod log;
mod metrics;
mod page;
mod run;

pub use card::{CardSubject, Training, card};
pub use completions::{LoggedCompletion, completion_files, read_completions};
pub use follow::Follower;
pub use page::{Refresh, html, json};
pub use run::{RunReader, RunView};

use std::path::PathBuf;

use crate::train::COMPLETIONS_VERSION;

/// Why a directory cannot be shown.
#[derive(Debug, thiserror::Error)]
pub enum ReportError {
    /// There is no such directory.
    #[error("{path}: no such directory")]
    Missing {
        /// What was named.
        path: PathBuf,
    },
    /// A file was named.
    #[error("{path}: is a file; name the directory that a run writes to, as given to --output-dir")]
    File {
        /// What was named.
        path: PathBuf,
    },
    /// A directory of something else.
    #[error("{path}: holds no run: neither metrics.jsonl nor config.toml is there")]
    NoRun {
        /// The directory.
        path: PathBuf,
    },
    /// A log in a form that is not known yet.
    #[error("{path}: lines of version {found}; this program reads up to {COMPLETIONS_VERSION}, a later one reads them")]
    Later {
        /// The file.
        path: PathBuf,
        /// The version that its first line names.
        found: u64,
    },
    /// The machine's fault.
    #[error("{path}: {source}")]
    Io {
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: std::io::Error,
    },
}

impl ReportError {
    /// Whether the user named the wrong thing.
    pub fn is_user(&self) -> bool {
        !matches!(self, ReportError::Io { .. })
    }

    fn io(path: &std::path::Path) -> impl FnOnce(std::io::Error) -> ReportError + '_ {
        move |source| ReportError::Io { path: path.to_owned(), source }
    }
}

#[cfg(test)]
mod tests;
