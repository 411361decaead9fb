//! Why a search failed.

use std::io;
use std::path::{Path, PathBuf};

use thiserror::Error;

use crate::prompt::PromptError;
use crate::train::TrainError;
use crate::train::run_dir::RunDirError;

#[derive(Debug, Error)]
pub enum EvolveError {
    #[error(transparent)]
    Step(#[from] TrainError),
    #[error(transparent)]
    Prompt(#[from] PromptError),
    #[error(transparent)]
    Dir(#[from] RunDirError),
    #[error("--output-dir {}: is not empty and holds no search; choose an empty or new directory", path.display())]
    Foreign { path: PathBuf },
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
    #[error("{}: {source}", path.display())]
    File { path: PathBuf, source: io::Error },
}

impl EvolveError {
    pub(super) fn file(path: &Path) -> impl FnOnce(io::Error) -> EvolveError {
        let path = path.to_owned();
        move |source| EvolveError::File { path, source }
    }
}
