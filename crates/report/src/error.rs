//! Why there is no report.

use std::path::PathBuf;

use crate::train::COMPLETIONS_VERSION;

/// A directory cannot be shown.
#[derive(Debug, thiserror::Error)]
pub enum ReportError {
    #[error("{path}: no such directory")]
    Missing { path: PathBuf },
    #[error("{path}: is a file; name the directory that a run writes to, as given to --output-dir")]
    File { path: PathBuf },
    #[error("{path}: holds no run: neither metrics.jsonl nor config.toml is there")]
    NoRun { path: PathBuf },
    /// A log has a format of a later version, which its first line names.
    #[error("{path}: lines of version {found}; this program reads up to {COMPLETIONS_VERSION}, a later one reads them")]
    Later { path: PathBuf, found: u64 },
    #[error("{path}: {source}")]
    Io { path: PathBuf, source: std::io::Error },
}

impl ReportError {
    /// Whether the user's input is at fault, and not the machine.
    pub fn is_user(&self) -> bool {
        !matches!(self, ReportError::Io { .. })
    }

    /// What was found at `path`; nothing where nothing is there. What may not be looked at may be there.
    pub fn if_there<T: Default>(path: &std::path::Path, found: std::io::Result<T>) -> Result<T, ReportError> {
        match found {
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(T::default()),
            found => found.map_err(ReportError::io(path)),
        }
    }

    /// What became of reading or writing at `path`.
    pub fn io(path: &std::path::Path) -> impl FnOnce(std::io::Error) -> ReportError + '_ {
        move |source| ReportError::Io { path: path.to_owned(), source }
    }
}
