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

/// An error that ends a run.
#[derive(Debug, thiserror::Error)]
pub enum TrainError {
    /// The output directory cannot be used.
    #[error(transparent)]
    RunDir(#[from] RunDirError),
    /// Loading, running or saving the model failed.
    #[error(transparent)]
    Policy(#[from] PolicyError),
    /// Prompts cannot be built.
    #[error(transparent)]
    Prompt(#[from] PromptError),
    /// Sampling failed.
    #[error(transparent)]
    Rollout(#[from] RolloutError),
    /// Playing failed.
    #[error(transparent)]
    Arena(#[from] ArenaError),
    /// The update failed.
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
    /// Processes cannot exchange messages, or disagree.
    #[error(transparent)]
    Parallel(#[from] ParallelError),
    /// Metrics cannot be recorded.
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
