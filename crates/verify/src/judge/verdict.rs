//! The fate of a completion in one word.

use serde::Serialize;

use crate::arena::{self, Evaluation};
use crate::environment::TestsTrace;

/// The fate of a completion. The word always describes the program's doing, never the machine's.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum CompletionVerdict {
    /// In a task: every test was passed.
    Passed,
    /// In a task: at least one test was answered, and at least one was not passed.
    Wrong,
    /// In a game: the program played.
    Played,
    /// There is no program in the text, or it does not compile.
    Rejected,
    /// The program never gave an answer: it failed while loading, at its first move, or in every test.
    Faulted,
}

impl CompletionVerdict {
    /// The word for the arena's verdict; `tests` are the results of a task, empty in a game.
    pub(super) fn of(evaluation: &Evaluation, tests: &[TestsTrace]) -> CompletionVerdict {
        match &evaluation.verdict {
            arena::Verdict::Rejected(_) => CompletionVerdict::Rejected,
            arena::Verdict::Faulted(_) => CompletionVerdict::Faulted,
            arena::Verdict::Played if tests.is_empty() => CompletionVerdict::Played,
            arena::Verdict::Played if tests.iter().all(|tests| tests.passed == tests.tests) => {
                CompletionVerdict::Passed
            }
            arena::Verdict::Played => CompletionVerdict::Wrong,
        }
    }
}
