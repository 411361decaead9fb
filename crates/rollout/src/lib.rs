//! Samples completions from the policy.
//!
//! Takes prompts; returns a group of completions for each. An event passes on each completion as soon as it ends, so
//! that its program can be played while the others are still sampled. Each completion has its own random stream, of
//! which every token takes one number, so it does not depend on the other completions of its batch. Does not know games
//! or rewards. [`prompt`] draws and renders what is asked; [`groups`] keeps the answers of one prompt together.

#![forbid(unsafe_code)]

mod completion;
mod decoding;
mod device;
mod error;
pub mod groups;
mod identity;
mod length;
mod parts;
pub mod prompt;
mod remote;
mod sampler;

use grpo_base::{files, seed};
use grpo_config as config;
use grpo_decoder as policy;
use grpo_environment as environment;

use crate::config::RolloutConfig;
use crate::groups::Groups;
use crate::policy::Policy;
use crate::prompt::Prompt;
use crate::seed::Seed;

pub use completion::{Completion, FinishReason, RolloutEvent, Trajectory, TurnTokens};
pub use device::slow_on_gpu;
pub use error::{RolloutError, ServerFault};
pub use identity::{Assignment, CompletionId, GroupRequest};
pub use length::check_length;
pub use parts::{Caches, converse};
pub use remote::{LoadedAdapter, Probed, Servers};

/// Samples the completions that are requested, in the order of the requests. All requests ask for equally many.
///
/// The policy at temperature T is softmax(logits / T). Log-probabilities are those of this distribution, because it is
/// also the one that is trained. `top_k`, `top_p` and `min_p` restrict which tokens are drawn but do not change the
/// log-probabilities, as in TRL, so with them the update is that of a slightly different policy.
pub fn sample(
    policy: &Policy,
    requests: &[GroupRequest<'_>],
    config: &RolloutConfig,
    observer: &mut dyn FnMut(RolloutEvent<'_>),
) -> Result<Vec<Completion>, RolloutError> {
    Ok(converse(Assignment { policy, config, requests }, None, observer)?.0)
}

/// [Samples](sample) `config.num_generations` completions for each prompt, with the random streams of `seed`.
pub fn generate(
    policy: &Policy,
    prompts: &[Prompt],
    config: &RolloutConfig,
    seed: Seed,
    observer: &mut dyn FnMut(RolloutEvent<'_>),
) -> Result<Groups<Completion>, RolloutError> {
    let requests = GroupRequest::all(prompts, config.num_generations, seed);
    Ok(Groups::new(config.num_generations, sample(policy, &requests, config, observer)?))
}

#[cfg(test)]
use grpo_corpus as corpus;

#[cfg(test)]
mod fixture;
#[cfg(test)]
mod tests;
