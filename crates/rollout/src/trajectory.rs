//! The tokens of a conversation after its prompt, turn by turn.

use super::{Completion, FinishReason};

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
