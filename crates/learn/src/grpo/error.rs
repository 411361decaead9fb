//! Why an update was refused.

use std::path::PathBuf;

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
    pub(super) fn is_out_of_memory(&self) -> bool {
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
pub(super) fn list(names: &[String]) -> String {
    const SHOWN: usize = 8;
    let shown = names.iter().take(SHOWN).map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ");
    match names.len().saturating_sub(SHOWN) {
        0 => shown,
        more => format!("{shown} and {more} more"),
    }
}
