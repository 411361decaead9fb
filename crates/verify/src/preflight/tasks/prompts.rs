//! Prompts that are too long.

use super::examination::place;
use crate::environment::tasks::Tasks;
use crate::plural::counted;
use crate::preflight::finding::{Check, CheckFinding};

/// Findings for prompts of more than `most` tokens; `tokens` are the lengths of all tasks' prompts, in their order, as
/// counted by the model's tokenizer.
pub fn long_prompts(tasks: &Tasks, tokens: &[usize], most: usize) -> Vec<CheckFinding> {
    let long = tokens.iter().enumerate().filter(|(_, tokens)| **tokens > most);
    let finding = |(task, tokens): (usize, &usize)| {
        let text = format!("a prompt of {}; at most {most} fit beside a completion", counted(*tokens, "token"));
        let finding = CheckFinding::problem(Check::Prompts, text).at(place(tasks, task));
        finding.mend("shorten \"prompt\", show fewer tests with \"shown\", or lower rollout.max_completion_length")
    };
    long.map(finding).collect()
}
