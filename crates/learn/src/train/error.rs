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
    /// Whether weights, gradients or logits have left the range of numbers, as they would again from the same checkpoint.
    pub fn has_diverged(&self) -> bool {
        matches!(
            self,
            TrainError::Learn(LearnError::NotFiniteLoss { .. } | LearnError::NotFiniteGradients { .. })
                | TrainError::Policy(PolicyError::NotFinite { .. })
                | TrainError::Rollout(RolloutError::NotFinite { .. })
        )
    }

    /// Whether a game of the user's own failed. A run goes on only with the environment that it began with.
    pub fn is_of_environment(&self) -> bool {
        matches!(self, TrainError::Arena(ArenaError::Environment { .. }))
    }

    /// Whether the user's input is at fault, and not the machine.
    pub fn is_user(&self) -> bool {
        match self {
            TrainError::RunDir(error) => error.is_user(),
            TrainError::Rollout(
                RolloutError::TooLong { .. } | RolloutError::Unfit(_) | RolloutError::AdapterDir { .. },
            ) => true,
            TrainError::Parallel(error) => error.is_user(),
            TrainError::Memory(_) | TrainError::Machine(_) => true,
            _ => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_loss_that_is_no_number_has_diverged_and_a_missing_gradient_has_not() {
        let errors = [
            LearnError::NotFiniteLoss { loss: f64::INFINITY },
            LearnError::NotFiniteGradients { names: Vec::new() },
            LearnError::MissingGradients { names: Vec::new() },
        ];
        assert_eq!(errors.map(|error| TrainError::from(error).has_diverged()), [true, true, false]);
        let errors = [
            RolloutError::NotFinite { index: 0, token: 0 },
            RolloutError::TooLong { prompt: 1, completion: 1, limit: 1 },
        ];
        assert_eq!(errors.map(|error| TrainError::from(error).has_diverged()), [true, false]);
    }
}
