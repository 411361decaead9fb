//! Samples completions from the policy.
//!
//! Takes prompts; returns a group of completions for each. An event passes on each completion as soon as it ends, so
//! that its program can be played while the others are still sampled. Each completion has its own random stream, of
//! which every token takes one number, so it does not depend on the other completions of its batch. Does not know
//! programs, games or rewards.

mod caches;
mod decoding;
mod device;
mod identity;
mod parts;
mod remote;
mod sampler;
mod trajectory;

use std::path::PathBuf;
use std::time::Instant;

use serde::{Deserialize, Serialize};

use crate::config::RolloutConfig;
use crate::groups::Groups;
use crate::policy::{Policy, PolicyError, Tokenizer};
use crate::prompt::Prompt;
use crate::seed::Seed;

pub use caches::Caches;
pub use identity::{CompletionId, GroupRequest};
pub use parts::check_length;
pub use remote::{Assignment, LoadedAdapter, ServerFault, Servers};
pub use sampler::Sampler;
pub use trajectory::{Trajectory, TurnTokens};

/// Sampling failed.
#[derive(Debug, thiserror::Error)]
pub enum RolloutError {
    /// Prompt and completion exceed the model's context.
    #[error(
        "rollout.max_completion_length = {completion}: with a prompt of {prompt} tokens that is more than the {limit} \
         positions of the model; expected at most {}", limit.saturating_sub(*prompt)
    )]
    TooLong {
        /// Length of the longest prompt, in tokens.
        prompt: usize,
        /// Maximum length of a completion, in tokens.
        completion: usize,
        /// Length of the model's context, in tokens.
        limit: usize,
    },
    /// The model's logits are infinite or NaN.
    #[error("completion {index}, token {token}: found a logit that is no finite number; the weights have diverged")]
    NotFinite {
        /// Index of the completion in its step.
        index: usize,
        /// Index of the token in it.
        token: usize,
    },
    /// A server cannot serve this run. Found before the run starts.
    #[error("--rollouts {_0}")]
    Unfit(ServerFault),
    /// Requests to servers failed repeatedly.
    #[error("--rollouts {_0}; --resume goes on from the newest checkpoint")]
    Server(ServerFault),
    /// An adapter for servers cannot be written.
    #[error("rollout.adapter_dir {path}: {source}")]
    Adapter {
        /// The directory.
        path: PathBuf,
        /// What the system said.
        source: std::io::Error,
    },
    /// The model failed.
    #[error(transparent)]
    Policy(#[from] PolicyError),
    /// A tensor operation failed.
    #[error(transparent)]
    Tensor(#[from] candle_core::Error),
}

/// Why a completion ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FinishReason {
    /// A stop token or stop text ended it.
    Stop,
    /// It was truncated at the maximum length.
    Length,
}

/// A completion of a prompt.
#[derive(Debug, Clone, PartialEq)]
pub struct Completion {
    /// Which completion of its step it is.
    pub id: CompletionId,
    /// Sampled token ids, including the one that ended it.
    pub ids: Vec<u32>,
    /// Log-probability of each token under the policy at the sampling temperature, in nats.
    pub logprobs: Vec<f32>,
    /// The text, without the token that ended it.
    pub text: String,
    /// Why it ended.
    pub finish: FinishReason,
}

impl Completion {
    /// A completion from its tokens. The tokenizer decodes its text.
    pub fn new(
        id: CompletionId,
        ids: Vec<u32>,
        logprobs: Vec<f32>,
        finish: FinishReason,
        tokenizer: &Tokenizer,
    ) -> Self {
        let by_token = ids.last().is_some_and(|last| tokenizer.stop_ids().contains(last));
        let written = if by_token { &ids[..ids.len() - 1] } else { &ids[..] };
        Completion { id, text: tokenizer.decode(written), ids, logprobs, finish }
    }
}

/// The events of sampling.
#[derive(Debug)]
pub enum RolloutEvent<'a> {
    /// A completion has ended. There is one event for each, in the order in which they end.
    Finished(&'a Completion),
    /// The model has computed the logits, and the next token of every row is drawn now. Not emitted for batches in
    /// parts, nor on a GPU that draws tokens itself.
    Predicted,
    /// One more token has been sampled for every row that has not ended.
    Tokens {
        /// Number of tokens sampled so far.
        tokens: usize,
        /// Number of completions that have ended.
        finished: usize,
    },
    /// A warning about a server that failed and is asked again or left out.
    Trouble(&'a str),
    /// One of the parts of a batch, which are sampled in parallel, has ended. These events come after all others; a
    /// batch in one piece has none.
    PartDone {
        /// Index of the part.
        part: usize,
        /// When it began.
        begin: Instant,
        /// When its last completion ended.
        end: Instant,
    },
}

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
    Ok(parts::decode(Assignment { policy, config, requests }, None, observer)?.0)
}

/// [Samples](sample) a turn of conversations. Takes the caches of the turn before, if there are any, and returns its own, so
/// that a turn reads what is new alone. Its bits are those without caches. There are none on a GPU, in 16-bit formats and
/// of servers.
///
/// `asked.requests` are some of those of the turn before, in their order, one for each conversation.
pub fn converse(
    asked: Assignment<'_>,
    caches: Option<Caches>,
    observer: &mut dyn FnMut(RolloutEvent<'_>),
) -> Result<(Vec<Completion>, Option<Caches>), RolloutError> {
    parts::decode(asked, caches, observer)
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
pub(crate) mod fixture;
#[cfg(test)]
mod tests;
