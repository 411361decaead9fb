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
mod error;
mod gradients;
mod loss;
mod optimizer;
mod schedule;
mod scores;
mod shared;
mod sums;
mod update;

pub use advantage::{advantages, is_tied, learnt_from};
pub use batch::{Advantages, Batch, Demonstration};
pub use correction::{CorrectionStats, ImportanceWeights};
pub use division::{Division, logit_bytes};
pub use entropy::EntropyController;
pub use gradients::{Gradients, accumulate, cores, gradients, gradients_kept, parallel_parts};
pub use optimizer::{AdamW, Optimizer};
pub use schedule::{learning_rate, rescheduled};
pub use scores::{reference_logprobs, score_reference};
// `grpo-2048-bench` measures the parts of an update with these.
#[doc(hidden)]
pub use update::{Stopwatch, UpdateStage, UpdateWatch, update_watched};
pub use update::{UpdateStats, update};

pub use error::LearnError;

#[cfg(test)]
mod tests;
