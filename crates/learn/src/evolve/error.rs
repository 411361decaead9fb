//! Why a search failed.

use std::path::PathBuf;

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
    #[error(
        "{}: {reason}; the search cannot go on from it: put it back as it was, or name another --output-dir, where one \
         begins anew",
        path.display()
    )]
    Damaged {
        /// The checkpoint, or the file with the database.
        path: PathBuf,
        reason: String,
    },
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
}
