//! What came of a completion, in one word.

use serde::Serialize;

use super::{Ending, Labels};

/// What came of a completion, the best first: always its program's doing, and never the machine's. Logs, metrics, `judge`,
/// `score` and `eval` have this word.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// Its program played all games to an end that was not its fault, or passed all tests.
    Succeeded,
    /// It gave a wrong answer in a test.
    WrongAnswer,
    /// A call hung, or took too much memory or stack.
    OutOfBudget,
    /// Too many of its moves changed nothing.
    Froze,
    /// It returned something that is no move, or no value.
    BadValue,
    Raised,
    /// Its program does not compile.
    NotCompiled,
    /// The text does not contain the requested function.
    NoFunction,
    /// It was cut at the longest length allowed, and the part that exists is of no use.
    Cut,
}

impl Verdict {
    /// All verdicts, the best first.
    pub const ALL: [Verdict; 9] = {
        use Verdict::*;
        [Succeeded, WrongAnswer, OutOfBudget, Froze, BadValue, Raised, NotCompiled, NoFunction, Cut]
    };

    /// The name in metrics and JSON.
    pub fn name(self) -> &'static str {
        match self {
            Verdict::Succeeded => "succeeded",
            Verdict::WrongAnswer => "wrong_answer",
            Verdict::OutOfBudget => "out_of_budget",
            Verdict::Froze => "froze",
            Verdict::BadValue => "bad_value",
            Verdict::Raised => "raised",
            Verdict::NotCompiled => "not_compiled",
            Verdict::NoFunction => "no_function",
            Verdict::Cut => "cut",
        }
    }

    /// What such completions do, in words: `of 8 completions, 12 % freeze`; `longest` in tokens.
    pub fn in_words(self, labels: Labels, longest: usize) -> String {
        let bad_value = if labels == Labels::Tests { "return no value" } else { "return no move" };
        match self {
            Verdict::Succeeded => labels.succeed().into(),
            Verdict::WrongAnswer => "answer wrongly".into(),
            Verdict::OutOfBudget => "hang or take too much".into(),
            Verdict::Froze => "freeze (moves that change nothing)".into(),
            Verdict::BadValue => bad_value.into(),
            Verdict::Raised => "raise an exception".into(),
            Verdict::NotCompiled => "do not compile".into(),
            Verdict::NoFunction => "hold no program".into(),
            Verdict::Cut => format!("are cut at {longest} tokens"),
        }
    }
}

impl From<Ending> for Verdict {
    fn from(ending: Ending) -> Verdict {
        match ending {
            Ending::GameOver | Ending::OutOfFuel | Ending::MoveLimit | Ending::Passed => Verdict::Succeeded,
            Ending::WrongAnswer => Verdict::WrongAnswer,
            Ending::Hung | Ending::OutOfMemory | Ending::StackOverflow => Verdict::OutOfBudget,
            Ending::Freeze => Verdict::Froze,
            Ending::BadMove => Verdict::BadValue,
            Ending::Raised => Verdict::Raised,
        }
    }
}
