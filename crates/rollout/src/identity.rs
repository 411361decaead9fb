//! Which completion of a step: known before it is sampled, and the same in every part, process, round and turn.

use crate::config::RolloutConfig;
use crate::policy::Policy;
use crate::prompt::Prompt;
use crate::seed::{Purpose, Seed};

/// The identity of a completion.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CompletionId {
    /// Its place in the step, group after group. A completion that replaces another one has its place.
    pub index: usize,
    /// The seed that the random streams of its batch are derived from.
    seed: Seed,
    /// The number of its stream among them.
    pub(super) number: u64,
}

impl CompletionId {
    /// Completion number `index` of those whose random streams are derived from `seed`.
    pub fn new(seed: Seed, index: usize) -> CompletionId {
        CompletionId { index, seed, number: index as u64 }
    }

    /// The same random stream, at another place in the step.
    pub fn at(self, index: usize) -> CompletionId {
        CompletionId { index, ..self }
    }

    /// Turn number `turn`, from 1, of the conversation that this completion opens.
    pub fn in_turn(self, turn: usize) -> CompletionId {
        CompletionId { seed: self.seed.child(Purpose::Turn, turn as u64), ..self }
    }

    /// The random stream that its tokens are drawn with. It does not depend on the completions that are sampled together.
    pub fn stream(&self) -> Seed {
        self.seed.child(Purpose::Sample, self.number)
    }
}

/// Completions of one prompt that are to be sampled together.
#[derive(Debug, Clone)]
pub struct GroupRequest<'a> {
    pub prompt: &'a Prompt,
    pub ids: Vec<CompletionId>,
}

impl<'a> GroupRequest<'a> {
    /// Requests for `size` completions of each prompt, numbered from 0.
    pub fn all(prompts: &'a [Prompt], size: usize, seed: Seed) -> Vec<GroupRequest<'a>> {
        let ids =
            |group: usize| (group * size..(group + 1) * size).map(|index| CompletionId::new(seed, index)).collect();
        prompts.iter().enumerate().map(|(group, prompt)| GroupRequest { prompt, ids: ids(group) }).collect()
    }
}

/// What is to be sampled.
#[derive(Debug, Clone, Copy)]
pub struct Assignment<'a> {
    /// The policy; its tokenizer alone where servers sample.
    pub policy: &'a Policy,
    pub config: &'a RolloutConfig,
    pub requests: &'a [GroupRequest<'a>],
}

/// All completions of these requests, each with its prompt.
pub fn rows<'r>(requests: &'r [GroupRequest<'_>]) -> impl Iterator<Item = (&'r Prompt, CompletionId)> {
    requests.iter().flat_map(|request| request.ids.iter().map(|id| (request.prompt, *id)))
}
