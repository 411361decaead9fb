//! What became of a completion, in one word.

use serde::Serialize;

use crate::arena::{self, Evaluation};
use crate::environment::TestsTrace;

/// What became of a completion. The word is the program's doing, never the machine's.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// Of a task: every test was passed.
    Passed,
    /// Of a task: at least one test was answered, and at least one was not passed.
    Wrong,
    /// Of a game: the program played.
    Played,
    /// No program was found in the text, or Python refuses it.
    Rejected,
    /// The program never gave an answer: it failed as it was loaded, at its first move, or on every test.
    Faulted,
}

impl Verdict {
    /// The word for what the arena found; `tests` are those of a task, and none in a game.
    pub(super) fn of(evaluation: &Evaluation, tests: &[TestsTrace]) -> Verdict {
        match &evaluation.verdict {
            arena::Verdict::Rejected(_) => Verdict::Rejected,
            arena::Verdict::Faulted(_) => Verdict::Faulted,
            arena::Verdict::Played if tests.is_empty() => Verdict::Played,
            arena::Verdict::Played if tests.iter().all(|tests| tests.passed == tests.tests) => Verdict::Passed,
            arena::Verdict::Played => Verdict::Wrong,
        }
    }
}
