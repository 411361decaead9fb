//! Why an update was refused.

use std::path::PathBuf;

use crate::parallel::ParallelError;
use crate::policy::{Device, PolicyError, explained, is_out_of_memory};

/// Why an update was refused. The variables keep their values from before it.
#[derive(Debug, thiserror::Error)]
pub enum LearnError {
    #[error(
        "no gradient for {}; expected one for every trained variable: some operation records no backward",
        list(names)
    )]
    MissingGradients { names: Vec<String> },
    #[error("the loss is {loss}; expected a finite number: lower grpo.learning_rate, or go back to a checkpoint")]
    NotFiniteLoss { loss: f64 },
    #[error(
        "the gradient is no finite number for {}; lower the learning rate, or go back to a checkpoint",
        list(names)
    )]
    NotFiniteGradients { names: Vec<String> },
    #[error("grpo.beta = {beta} needs log-probabilities of the reference; found none in the batch")]
    NoReference { beta: f64 },
    #[error("optimiser state: `{name}`: found {found}, expected {expected}")]
    State { name: String, found: String, expected: String },
    #[error("{path}: {message}")]
    File { path: PathBuf, message: String },
    #[error("rank {rank} could not do its part of the update{}", if *out_of_memory { ": its device is out of memory" } else { "" })]
    Elsewhere { rank: usize, out_of_memory: bool },
    /// A part of an update has a tensor that candle's kernels cannot count the numbers of. A smaller part has not.
    #[error(
        "{tokens} tokens in one part of an update make a tensor of {tokens} x {width} numbers; expected less than 2^32 of \
         them on a GPU: lower grpo.micro_batch or rollout.max_completion_length"
    )]
    TooLarge {
        tokens: usize,
        /// Numbers of a token in the widest tensor of a layer.
        width: usize,
    },
    #[error(transparent)]
    Parallel(#[from] ParallelError),
    #[error(transparent)]
    Policy(#[from] PolicyError),
    #[error(transparent)]
    Tensor(#[from] candle_core::Error),
}

impl LearnError {
    /// Whether a device ran out of memory, or would have counted wrongly: a smaller part may fit. No variable has changed
    /// in that case.
    pub(super) fn is_out_of_memory(&self) -> bool {
        let text = match self {
            LearnError::Elsewhere { out_of_memory, .. } => return *out_of_memory,
            LearnError::TooLarge { .. } => return true,
            LearnError::Tensor(error) | LearnError::Policy(PolicyError::Tensor(error)) => error.to_string(),
            _ => return false,
        };
        is_out_of_memory(&text)
    }

    /// The error, as one of missing memory where a library found no room on `device`.
    pub(super) fn on(self, device: &Device) -> Self {
        match self {
            LearnError::Tensor(error) => LearnError::Tensor(explained(error, device)),
            LearnError::Policy(PolicyError::Tensor(error)) => {
                LearnError::Policy(PolicyError::Tensor(explained(error, device)))
            }
            other => other,
        }
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
