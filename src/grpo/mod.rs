//! From rewards to better weights.
//!
//! Takes episodes as numbers (token ids, sampling log-probabilities, rewards); moves the trained variables of a policy
//! and says what happened. Advantages, loss, gradients, optimiser: one file each. Does not know programs or games.

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

pub use advantage::{advantages, is_tied};
pub use batch::{Batch, Demonstration};
pub use correction::{Corrected, ImportanceWeights};
pub use division::{Division, logit_bytes};
pub use entropy::EntropyController;
pub use gradients::{Gradients, accumulate, cores, gradients, gradients_by_layer, parallel_parts};
pub use loss::{Surrogate, Tokens, entropy_threshold, k3, k3_of, loss, surrogate, token_weight};
pub use optimizer::{AdamW, Optimizer};
pub use schedule::learning_rate;
pub use scores::reference_logprobs;
// What `grpo-2048-bench` times an update with.
#[doc(hidden)]
pub use update::{Stopwatch, UpdateStage, UpdateWatch, update_watched};
pub use update::{UpdateStats, update};

use crate::parallel::ParallelError;
use crate::policy::PolicyError;

/// Why nothing was learnt. The variables are as they were before the update that was refused.
#[derive(Debug, thiserror::Error)]
pub enum LearnError {
    /// Variables that the loss does not reach.
    #[error(
        "no gradient for {}; expected one for every trained variable: some operation records no backward",
        list(names)
    )]
    MissingGradients {
        /// Names of the variables.
        names: Vec<String>,
    },
    /// A loss that is no number.
    #[error("the loss is {loss}; expected a finite number: lower grpo.learning_rate, or go back to a checkpoint")]
    NotFiniteLoss {
        /// Its value.
        loss: f64,
    },
    /// Gradients that are no numbers.
    #[error(
        "the gradient is no finite number for {}; lower the learning rate, or go back to a checkpoint",
        list(names)
    )]
    NotFiniteGradients {
        /// Names of the variables.
        names: Vec<String>,
    },
    /// A KL penalty without a reference.
    #[error("grpo.beta = {beta} needs log-probabilities of the reference; found none in the batch")]
    NoReference {
        /// Weight of the penalty.
        beta: f64,
    },
    /// State of an optimiser that does not belong to these variables.
    #[error("optimiser state: `{name}`: found {found}, expected {expected}")]
    State {
        /// Name of the tensor.
        name: String,
        /// What is there.
        found: String,
        /// What must be there.
        expected: String,
    },
    /// A file of optimiser state that cannot be read or written.
    #[error("{path}: {message}")]
    File {
        /// The file.
        path: PathBuf,
        /// What went wrong.
        message: String,
    },
    /// Another process that trains with this one had an error, and has told it.
    #[error("rank {rank} could not do its part of the update{}", if *out_of_memory { ": its device is out of memory" } else { "" })]
    Elsewhere {
        /// Its number.
        rank: usize,
        /// Whether its device had too little memory.
        out_of_memory: bool,
    },
    /// The others were not to be reached.
    #[error(transparent)]
    Parallel(#[from] ParallelError),
    /// The model refused.
    #[error(transparent)]
    Policy(#[from] PolicyError),
    /// A tensor operation failed.
    #[error(transparent)]
    Tensor(#[from] candle_core::Error),
}

impl LearnError {
    /// Whether a device had too little memory. Nothing was moved then.
    fn is_out_of_memory(&self) -> bool {
        let text = match self {
            LearnError::Elsewhere { out_of_memory, .. } => return *out_of_memory,
            LearnError::Tensor(error) | LearnError::Policy(PolicyError::Tensor(error)) => error.to_string(),
            _ => return false,
        };
        // The driver's word, and those of cuBLAS and cuRAND.
        let words = ["OUT_OF_MEMORY", "out of memory", "CUBLAS_STATUS_ALLOC_FAILED", "CURAND_STATUS_ALLOCATION_FAILED"];
        words.iter().any(|word| text.contains(word))
    }
}

/// The first names, and how many more there are.
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
