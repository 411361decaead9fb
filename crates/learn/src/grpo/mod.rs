//! The GRPO update: from rewards to new weights.
//!
//! Takes episodes as numbers (token ids, sampling log-probabilities, rewards), updates the trained variables of a
//! policy and returns statistics. Advantages, loss, gradients and optimiser have one file each. Does not know programs
//! or games.

mod advantage;
mod batch;
mod correction;
mod division;
mod entropy;
mod gradients;
mod loss;
mod loss_scale;
mod optimizer;
mod schedule;
mod scores;
mod shared;
mod sums;
mod update;

use std::path::PathBuf;

pub use advantage::{advantages, is_tied, learnt_from};
pub use batch::{Advantages, Batch, Demonstration};
pub use correction::{CorrectionStats, ImportanceWeights};
pub use division::{Division, logit_bytes};
pub use entropy::EntropyController;
pub use gradients::{Gradients, accumulate, cores, gradients, gradients_by_layer, parallel_parts};
pub use loss::{Surrogate, Tokens, entropy_threshold, k3, k3_of, loss, surrogate, token_weight};
pub use optimizer::{AdamW, Optimizer};
pub use schedule::learning_rate;
pub use scores::reference_logprobs;
// `grpo-2048-bench` measures the parts of an update with these.
#[doc(hidden)]
pub use update::{Stopwatch, UpdateStage, UpdateWatch, update_watched};
pub use update::{UpdateStats, update};

use crate::parallel::ParallelError;
use crate::policy::PolicyError;

/// Why an update was refused. The variables keep their values from before it.
#[derive(Debug, thiserror::Error)]
pub enum LearnError {
    /// The loss does not depend on some trained variables.
    #[error(
        "no gradient for {}; expected one for every trained variable: some operation records no backward",
        list(names)
    )]
    MissingGradients {
        /// Names of the variables.
        names: Vec<String>,
    },
    /// The loss is infinite or NaN.
    #[error("the loss is {loss}; expected a finite number: lower grpo.learning_rate, or go back to a checkpoint")]
    NotFiniteLoss {
        /// Its value.
        loss: f64,
    },
    /// Gradients are infinite or NaN.
    #[error(
        "the gradient is no finite number for {}; lower the learning rate, or go back to a checkpoint",
        list(names)
    )]
    NotFiniteGradients {
        /// Names of the variables.
        names: Vec<String>,
    },
    /// There is a KL penalty but no reference.
    #[error("grpo.beta = {beta} needs log-probabilities of the reference; found none in the batch")]
    NoReference {
        /// Weight of the penalty.
        beta: f64,
    },
    /// The state of the optimiser does not fit these variables.
    #[error("optimiser state: `{name}`: found {found}, expected {expected}")]
    State {
        /// Name of the tensor.
        name: String,
        /// What was found.
        found: String,
        /// What was expected.
        expected: String,
    },
    /// The file of the optimiser's state cannot be read or written.
    #[error("{path}: {message}")]
    File {
        /// The file.
        path: PathBuf,
        /// What went wrong.
        message: String,
    },
    /// Another process of the run reported an error.
    #[error("rank {rank} could not do its part of the update{}", if *out_of_memory { ": its device is out of memory" } else { "" })]
    Elsewhere {
        /// Its rank.
        rank: usize,
        /// Whether its device ran out of memory.
        out_of_memory: bool,
    },
    /// The other processes could not be reached.
    #[error(transparent)]
    Parallel(#[from] ParallelError),
    /// The model failed.
    #[error(transparent)]
    Policy(#[from] PolicyError),
    /// A tensor operation failed.
    #[error(transparent)]
    Tensor(#[from] candle_core::Error),
}

impl LearnError {
    /// Whether a device ran out of memory. No variable has changed in that case.
    fn is_out_of_memory(&self) -> bool {
        let text = match self {
            LearnError::Elsewhere { out_of_memory, .. } => return *out_of_memory,
            LearnError::Tensor(error) | LearnError::Policy(PolicyError::Tensor(error)) => error.to_string(),
            _ => return false,
        };
        // The messages of the CUDA driver, cuBLAS and cuRAND.
        let words = ["OUT_OF_MEMORY", "out of memory", "CUBLAS_STATUS_ALLOC_FAILED", "CURAND_STATUS_ALLOCATION_FAILED"];
        words.iter().any(|word| text.contains(word))
    }
}

/// The first names, and the number of the others.
fn list(names: &[String]) -> String {
    const SHOWN: usize = 8;
    let shown = names.iter().take(SHOWN).map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ");
    match names.len().saturating_sub(SHOWN) {
        0 => shown,
        more => format!("{shown} and {more} more"),
    }
}

#[cfg(test)]
mod tests;
