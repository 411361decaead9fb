//! Prompts that are too long.

use std::fmt;

use super::examination::place;
use crate::environment::tasks::Tasks;
use crate::plural::counted;
use crate::preflight::finding::{Check, CheckFinding};

/// What a prompt and its completion share, in tokens.
#[derive(Debug, Clone, Copy)]
pub struct Room {
    /// The model's context.
    pub context: usize,
    /// The longest completion.
    pub completion: usize,
}

impl Room {
    /// Tokens of the longest prompt beside which a completion has room.
    pub fn prompt(self) -> usize {
        self.context.saturating_sub(self.completion)
    }
}

impl fmt::Display for Room {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Room { context, completion } = self;
        write!(f, "the model's context is {context} tokens, of which a completion takes up to {completion}")
    }
}

/// Findings for prompts that leave no room for a completion; `tokens` are the lengths of all tasks' prompts, in their
/// order, as counted by the model's tokenizer.
pub fn long_prompts(tasks: &Tasks, tokens: &[usize], room: Room) -> Vec<CheckFinding> {
    let long = tokens.iter().enumerate().filter(|(_, tokens)| **tokens > room.prompt());
    let finding = |(task, tokens): (usize, &usize)| {
        let text = format!("a prompt of {}; {room}", counted(*tokens, "token"));
        let finding = CheckFinding::problem(Check::Prompts, text).at(place(tasks, task));
        let last = match *tokens < room.context {
            true => "lower rollout.max_completion_length",
            false => "take a model with a longer context",
        };
        finding.mend(format!("shorten \"prompt\", show fewer tests with \"shown\", or {last}"))
    };
    long.map(finding).collect()
}
