//! Prompts that are too long.

use super::examination::place;
use crate::environment::tasks::Tasks;
use crate::plural::counted;
use crate::preflight::finding::{Check, CheckFinding};

/// Findings for prompts that leave no room for a completion of the longest `completion` in the `context` of a model, both in
/// tokens; `tokens` are the lengths of all tasks' prompts, in their order, as counted by the model's tokenizer.
pub fn long_prompts(tasks: &Tasks, tokens: &[usize], context: usize, completion: usize) -> Vec<CheckFinding> {
    let most = context.saturating_sub(completion);
    let long = tokens.iter().enumerate().filter(|(_, tokens)| **tokens > most);
    let finding = |(task, &tokens): (usize, &usize)| {
        // Beside such a prompt the shortest completion has no room.
        let (room, longer) = match tokens >= context {
            true => (format!("the model reads {context}"), "take a model that reads more"),
            false => {
                let room = format!("at most {most} fit beside a completion of {completion}: the model reads {context}");
                (room, "lower rollout.max_completion_length")
            }
        };
        let text = format!("a prompt of {}; {room}", counted(tokens, "token"));
        let finding = CheckFinding::problem(Check::Prompts, text).at(place(tasks, task));
        finding.mend(format!("shorten \"prompt\", show fewer tests with \"shown\", or {longer}"))
    };
    long.map(finding).collect()
}
