//! Why a search failed.

use std::io;
use std::path::{Path, PathBuf};

use thiserror::Error;

use crate::prompt::PromptError;
use crate::train::TrainError;
use crate::train::run_dir::RunDirError;

/// Why a search failed.
#[derive(Debug, Error)]
pub enum EvolveError {
    /// Sampling or judging failed.
    #[error(transparent)]
    Step(#[from] TrainError),
    /// The model cannot read the prompts.
    #[error(transparent)]
    Prompt(#[from] PromptError),
    /// The output directory cannot be used.
    #[error(transparent)]
    Dir(#[from] RunDirError),
    /// The directory has something else in it.
    #[error("--output-dir {}: is not empty and holds no search; choose an empty or new directory", path.display())]
    Foreign {
        /// The directory.
        path: PathBuf,
    },
    /// The directory has a search with other settings.
    #[error(
        "{} is of another search{named}", path.display(),
        named = if differing.is_empty() { ", of an earlier version".into() } else { format!(": {}", differing.join(", ")) }
    )]
    OtherSearch {
        /// The file with its settings.
        path: PathBuf,
        /// Keys and flags that differ, with both values; none are known of a search that an earlier version began.
        differing: Vec<String>,
    },
    /// A file cannot be read or written.
    #[error("{}: {source}", path.display())]
    File {
        /// The file or directory.
        path: PathBuf,
        /// What the system says.
        source: io::Error,
    },
}

impl EvolveError {
    pub(super) fn file(path: &Path) -> impl FnOnce(io::Error) -> EvolveError {
        let path = path.to_owned();
        move |source| EvolveError::File { path, source }
    }
}
