//! A completion of a prompt, the turns of a conversation, and the events of sampling.

use std::time::Instant;

use serde::{Deserialize, Serialize};

use super::identity::CompletionId;
use crate::policy::Tokenizer;

/// Why a completion ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FinishReason {
    /// A stop token or stop text ended it.
    Stop,
    /// It was truncated at the maximum length.
    Length,
}

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
        Completion { id, text: tokenizer.decode_further(written), ids, logprobs, finish }
    }
}

/// One turn: what the policy is told, then its completion.
#[derive(Debug, Clone, Copy)]
pub struct TurnTokens<'a> {
    /// Token ids that the policy reads before it writes; none in the first turn, which the prompt opens.
    pub told: &'a [u32],
    pub completion: &'a Completion,
}

/// All turns of a conversation: at least one.
#[derive(Debug, Clone)]
pub struct Trajectory<'a>(Vec<TurnTokens<'a>>);

impl<'a> Trajectory<'a> {
    /// A conversation of these turns.
    ///
    /// # Panics
    /// Without turns, which is a bug of the caller.
    pub fn new(turns: Vec<TurnTokens<'a>>) -> Self {
        assert!(!turns.is_empty(), "a conversation has a turn");
        Trajectory(turns)
    }

    pub fn turns(&self) -> &[TurnTokens<'a>] {
        &self.0
    }

    /// Number of tokens that the policy sampled.
    pub fn sampled(&self) -> usize {
        self.0.iter().map(|turn| turn.completion.ids.len()).sum()
    }

    /// Whether the last completion was truncated.
    pub fn is_truncated(&self) -> bool {
        self.0.last().is_some_and(|turn| turn.completion.finish == FinishReason::Length)
    }
}

impl<'a> From<&'a Completion> for Trajectory<'a> {
    fn from(completion: &'a Completion) -> Self {
        Trajectory::new(vec![TurnTokens { told: &[], completion }])
    }
}

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
    /// A warning about a server that failed and is asked again or left out, or about a GPU without memory.
    Trouble(&'a str),
    /// One of the parts of a batch, which are sampled in parallel, has ended. These events come after all others; a
    /// batch in one piece has none.
    PartDone {
        part: usize,
        begin: Instant,
        /// When its last completion ended.
        end: Instant,
    },
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::seed::Seed;

    #[test]
    fn the_space_that_a_completion_begins_with_stays() {
        // As the tokenizer of Llama 2 does, it puts a space before a text and takes one away from what it decodes.
        let text = include_str!("../../decoder/src/tests/spaced_tokenizer.json");
        let tokenizer = Tokenizer::from_json(text, None, Some(r#"{"eos_token_id": 4}"#)).unwrap();
        let id = CompletionId::new(Seed::root(1), 0);
        let completion = Completion::new(id, vec![6, 4], vec![0.0; 2], FinishReason::Stop, &tokenizer);
        // After `return`, which some prompts end with, the number would be part of a name.
        assert_eq!(completion.text, " 5");
    }
}
