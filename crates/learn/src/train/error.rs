//! The errors that end a run.

use std::path::PathBuf;

use super::memory::{self, TooSmall};
use super::run_dir::RunDirError;
use crate::arena::ArenaError;
use crate::grpo::LearnError;
use crate::parallel::ParallelError;
use crate::policy::PolicyError;
use crate::prompt::PromptError;
use crate::rollout::RolloutError;

#[derive(Debug, thiserror::Error)]
pub enum TrainError {
    #[error(transparent)]
    RunDir(#[from] RunDirError),
    #[error(transparent)]
    Policy(#[from] PolicyError),
    #[error(transparent)]
    Prompt(#[from] PromptError),
    #[error(transparent)]
    Rollout(#[from] RolloutError),
    #[error(transparent)]
    Arena(#[from] ArenaError),
    #[error(transparent)]
    Learn(#[from] LearnError),
    /// The memory limit is below what the smallest division needs.
    #[error(transparent)]
    Memory(#[from] TooSmall),
    /// Even the smallest division needs more memory than the machine has.
    #[error("{} is all the memory there is; {_0}", memory::megabytes(_0.limit))]
    Machine(TooSmall),
    /// A file of a checkpoint cannot be read or does not belong there.
    #[error("{path}: {reason}")]
    Checkpoint { path: PathBuf, reason: String },
    #[error(transparent)]
    Parallel(#[from] ParallelError),
    #[error(transparent)]
    Sink(#[from] crate::metrics::SinkError),
}

impl TrainError {
    /// Whether the user's input is at fault, and not the machine.
    pub fn is_user(&self) -> bool {
        match self {
            TrainError::RunDir(error) => error.is_user(),
            TrainError::Rollout(error) => matches!(error, RolloutError::TooLong { .. } | RolloutError::Unfit(_)),
            TrainError::Parallel(error) => error.is_user(),
            TrainError::Memory(_) | TrainError::Machine(_) => true,
            _ => false,
        }
    }
}
