//! Why a run stopped before its end.

use std::path::PathBuf;

use super::memory::{self, TooSmall};
use super::run_dir::RunDirError;
use crate::arena::ArenaError;
use crate::grpo::LearnError;
use crate::parallel::ParallelError;
use crate::policy::PolicyError;
use crate::prompt::PromptError;
use crate::rollout::RolloutError;

/// Why a run stopped before its end.
#[derive(Debug, thiserror::Error)]
pub enum TrainError {
    /// The output directory.
    #[error(transparent)]
    RunDir(#[from] RunDirError),
    /// Loading, running or saving the model.
    #[error(transparent)]
    Policy(#[from] PolicyError),
    /// Building prompts.
    #[error(transparent)]
    Prompt(#[from] PromptError),
    /// Sampling.
    #[error(transparent)]
    Rollout(#[from] RolloutError),
    /// Playing.
    #[error(transparent)]
    Arena(#[from] ArenaError),
    /// The update.
    #[error(transparent)]
    Learn(#[from] LearnError),
    /// A limit on memory that nothing fits into.
    #[error(transparent)]
    Memory(#[from] TooSmall),
    /// More memory than the machine has.
    #[error("{} is all the memory there is; {_0}", memory::megabytes(_0.limit))]
    Machine(TooSmall),
    /// A checkpoint that cannot be read.
    #[error("{path}: {reason}")]
    Checkpoint {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        reason: String,
    },
    /// The processes that train together.
    #[error(transparent)]
    Parallel(#[from] ParallelError),
    /// Metrics that cannot be recorded.
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
