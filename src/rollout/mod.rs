//! Samples completions.
//!
//! Takes prompts; gives a group of completions for each, and hands every one of them out the moment it ends, so that
//! it can be played while the rest still decodes. Each completion draws from a stream of chance of its own, one number
//! a token, so it does not matter which others share its batch. Does not know programs, games or rewards.

mod decoding;
mod device;
mod parts;
mod remote;
mod sampler;

use std::path::PathBuf;
use std::time::Instant;

use serde::{Deserialize, Serialize};

use crate::config::RolloutConfig;
use crate::groups::Groups;
use crate::policy::{Policy, PolicyError, Tokenizer};
use crate::prompt::Prompt;
use crate::seed::{Purpose, Seed};

pub use parts::check_length;
pub use remote::{Assignment, Brought, ServerFault, Servers};
pub use sampler::Sampler;

/// Why no completions came.
#[derive(Debug, thiserror::Error)]
pub enum RolloutError {
    /// Prompt and completion are longer than the model's context.
    #[error(
        "rollout.max_completion_length = {completion}: with a prompt of {prompt} tokens that is more than the {limit} \
         positions of the model; expected at most {}", limit.saturating_sub(*prompt)
    )]
    TooLong {
        /// Longest prompt, in tokens.
        prompt: usize,
        /// Longest completion asked for.
        completion: usize,
        /// Positions of the model.
        limit: usize,
    },
    /// The model gave no distribution to sample from.
    #[error("completion {index}, token {token}: found a logit that is no finite number; the weights have diverged")]
    NotFinite {
        /// Position of the completion.
        index: usize,
        /// Position of the token in it.
        token: usize,
    },
    /// A server that cannot serve this run, found before work began.
    #[error("--rollouts {_0}")]
    Unfit(ServerFault),
    /// A server that did not do what it was asked for, time and again.
    #[error("--rollouts {_0}; --resume goes on from the newest checkpoint")]
    Server(ServerFault),
    /// An adapter that could not be written for servers.
    #[error("rollout.adapter_dir {path}: {source}")]
    Adapter {
        /// The directory.
        path: PathBuf,
        /// What the system said.
        source: std::io::Error,
    },
    /// The model refused.
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
    /// The policy ended it.
    Stop,
    /// It reached the longest length allowed.
    Length,
}

/// What the policy wrote after a prompt.
#[derive(Debug, Clone, PartialEq)]
pub struct Completion {
    /// Sampled token ids, the one that ended it included.
    pub ids: Vec<u32>,
    /// Log-probability of each under the policy at the sampling temperature, in nats.
    pub logprobs: Vec<f32>,
    /// Its text, without the token that ended it.
    pub text: String,
    /// Why it ended.
    pub finish: FinishReason,
}

impl Completion {
    /// What the policy wrote, token by token. Its text follows from the ids.
    pub fn new(ids: Vec<u32>, logprobs: Vec<f32>, finish: FinishReason, tokenizer: &Tokenizer) -> Self {
        let by_token = ids.last().is_some_and(|last| tokenizer.stop_ids().contains(last));
        let written = if by_token { &ids[..ids.len() - 1] } else { &ids[..] };
        Completion { text: tokenizer.decode(written), ids, logprobs, finish }
    }
}

/// What happens while completions are sampled.
#[derive(Debug)]
pub enum RolloutEvent<'a> {
    /// A completion has ended. Told once for each, in the order they end.
    Finished {
        /// Its position: prompt times group size, plus its place in the group.
        index: usize,
        /// All of it.
        completion: &'a Completion,
    },
    /// The model has said how likely every next token is; one is drawn for every row now. Not told of parts, nor where
    /// both happen in one.
    Predicted,
    /// One more token has been sampled for every row that still decodes.
    Tokens {
        /// Tokens sampled so far.
        tokens: usize,
        /// Completions ended so far.
        finished: usize,
    },
    /// A server failed and is asked again, or is left out.
    Trouble(&'a str),
    /// One of the parts that a batch is decoded in, side by side, is over; told after all the above. A batch in one
    /// piece has none.
    PartDone {
        /// Which one.
        part: usize,
        /// When it began.
        begin: Instant,
        /// When its last completion had ended.
        end: Instant,
    },
}

/// Where completions draw their chance: each from a stream of its own below `seed`, numbered as in the whole that a batch
/// is part of. What a long row of completions is, is then the same however it is cut into batches.
#[derive(Debug, Clone, Copy)]
pub struct Streams {
    /// Above all streams.
    pub seed: Seed,
    /// Stream of the batch's first completion.
    pub first: u64,
    /// So many completions have streams that follow each other ...
    pub together: u64,
    /// ... and the next so many have the streams that lie this much further.
    pub stride: u64,
}

impl Streams {
    /// One stream after the other.
    pub fn from_first(seed: Seed, first: u64) -> Streams {
        Streams { seed, first, together: 1, stride: 1 }
    }

    /// Number of the stream of the completion at `index` of the batch.
    pub fn number(&self, index: usize) -> u64 {
        let index = index as u64;
        self.first + index / self.together * self.stride + index % self.together
    }

    /// Chance of that completion.
    pub fn of(&self, index: usize) -> Seed {
        self.seed.child(Purpose::Sample, self.number(index))
    }

    /// Those of the batch without its first `count` completions, a multiple of `together`.
    pub fn after(self, count: usize) -> Streams {
        Streams { first: self.number(count), ..self }
    }
}

impl From<Seed> for Streams {
    fn from(seed: Seed) -> Streams {
        Streams::from_first(seed, 0)
    }
}

/// Samples `config.num_generations` completions for each prompt.
///
/// The policy at temperature T is softmax(logits / T); that is also what is trained, so log-probabilities are taken
/// from it. `top_k`, `top_p` and `min_p` only restrict what is drawn: log-probabilities stay those of the whole
/// distribution, as in TRL, and the update is then that of a slightly different policy.
pub fn generate(
    policy: &Policy,
    prompts: &[Prompt],
    config: &RolloutConfig,
    streams: impl Into<Streams>,
    observer: &mut dyn FnMut(RolloutEvent<'_>),
) -> Result<Groups<Completion>, RolloutError> {
    let completions = parts::decode(policy, prompts, config, streams.into(), observer)?;
    Ok(Groups::new(config.num_generations, completions))
}

#[cfg(test)]
pub(crate) mod fixture;
#[cfg(test)]
mod tests;
