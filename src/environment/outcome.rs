//! What a program's turn on one case comes to.

use serde::{Deserialize, Serialize};

use super::trace::{BoardTrace, TestsTrace, Trace, Transcript};
use crate::seed::Seed;

/// What a program is tried on once, in a fresh instance.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Case {
    /// A game: the seed of its chance.
    Seed(Seed),
    /// A task, all its tests: its place in the file.
    Task(u32),
}

impl From<Seed> for Case {
    fn from(seed: Seed) -> Case {
        Case::Seed(seed)
    }
}

/// Why a game stopped.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Ending {
    /// No move was legal any more.
    GameOver,
    /// The budget of the game was used up between two moves or within one.
    OutOfFuel,
    /// One call used more than a call may.
    Hung,
    /// Too many moves in a row that changed nothing.
    Freeze,
    /// An answer that is no move.
    BadMove,
    /// An exception.
    Raised,
    /// More memory than a program may have.
    OutOfMemory,
    /// Deeper calls than the stack holds.
    StackOverflow,
    /// As many moves as a game may have.
    MoveLimit,
    /// Every test of a task was passed.
    Passed,
    /// A test of a task got another answer than the expected one.
    WrongAnswer,
}

impl Ending {
    /// All of them, in the order of their declaration.
    pub const ALL: [Ending; 11] = [
        Ending::GameOver,
        Ending::OutOfFuel,
        Ending::Hung,
        Ending::Freeze,
        Ending::BadMove,
        Ending::Raised,
        Ending::OutOfMemory,
        Ending::StackOverflow,
        Ending::MoveLimit,
        Ending::Passed,
        Ending::WrongAnswer,
    ];

    /// The name in logs, metrics and JSON.
    pub fn name(self) -> &'static str {
        match self {
            Ending::GameOver => "game_over",
            Ending::OutOfFuel => "out_of_fuel",
            Ending::Hung => "hung",
            Ending::Freeze => "freeze",
            Ending::BadMove => "bad_move",
            Ending::Raised => "raised",
            Ending::OutOfMemory => "out_of_memory",
            Ending::StackOverflow => "stack_overflow",
            Ending::MoveLimit => "move_limit",
            Ending::Passed => "passed",
            Ending::WrongAnswer => "wrong_answer",
        }
    }

    /// Whether it is no fault of the program: the game or its budget ran out, or all tests were passed.
    pub fn is_well(self) -> bool {
        matches!(self, Ending::GameOver | Ending::OutOfFuel | Ending::MoveLimit | Ending::Passed)
    }
}

impl std::fmt::Display for Ending {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name())
    }
}

/// What one case returned.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(into = "Record", try_from = "Record")]
pub struct Outcome {
    /// What the program was tried on.
    pub case: Case,
    /// Points of a game; of a task, the share of its tests that were passed.
    pub score: f64,
    /// Why it stopped.
    pub ending: Ending,
    /// Instructions spent, loading included; 0 for native players.
    pub fuel: u64,
    /// What happened.
    pub trace: Trace,
}

impl Outcome {
    /// Best tile of a game of 2048 at its end; 0 elsewhere.
    pub fn max_tile(&self) -> u32 {
        self.board().map_or(0, |board| board.max_tile)
    }

    /// What happened in a game of 2048.
    pub fn board(&self) -> Option<&BoardTrace> {
        match &self.trace {
            Trace::Board(board) => Some(board),
            Trace::Transcript(_) | Trace::Tests(_) => None,
        }
    }

    /// How the tests of a task went.
    pub fn tests(&self) -> Option<&TestsTrace> {
        match &self.trace {
            Trace::Tests(tests) => Some(tests),
            Trace::Board(_) | Trace::Transcript(_) => None,
        }
    }

    /// Every letter that was chosen in a game of 2048; nothing elsewhere.
    pub fn moves_text(&self) -> &str {
        self.board().map_or("", |board| &board.moves_text)
    }

    /// The seed of a game's chance.
    pub fn seed(&self) -> Option<Seed> {
        match self.case {
            Case::Seed(seed) => Some(seed),
            Case::Task(_) => None,
        }
    }

    /// How it went, in a word or two: of a task, the first test that was failed.
    pub fn in_words(&self) -> &str {
        match &self.trace {
            Trace::Tests(TestsTrace { failed: Some(failed), .. }) => &failed.reason,
            Trace::Board(_) | Trace::Transcript(_) | Trace::Tests(_) => self.ending.name(),
        }
    }

    /// Moves of a game that had an effect, or tests of a task that were answered.
    pub fn moves(&self) -> u32 {
        match &self.trace {
            Trace::Board(board) => board.moves,
            Trace::Transcript(transcript) => transcript.moves,
            Trace::Tests(tests) => tests.answered,
        }
    }

    /// Whether the program gave any answer that its environment took.
    pub fn has_begun(&self) -> bool {
        match &self.trace {
            Trace::Board(board) => !board.moves_text.is_empty(),
            Trace::Transcript(transcript) => transcript.moves > 0,
            Trace::Tests(tests) => tests.answered > 0,
        }
    }
}

/// An outcome as logs have it: one flat object, whatever the environment.
#[derive(Serialize, Deserialize)]
struct Record {
    #[serde(skip_serializing_if = "Option::is_none")]
    seed: Option<Seed>,
    #[serde(skip_serializing_if = "Option::is_none")]
    task: Option<u32>,
    #[serde(serialize_with = "points")]
    score: f64,
    #[serde(skip_serializing_if = "Option::is_none")]
    max_tile: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    moves: Option<u32>,
    ending: Ending,
    fuel: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    moves_text: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    final_board: Option<[[u32; 4]; 4]>,
    #[serde(skip_serializing_if = "Option::is_none")]
    tests: Option<TestsTrace>,
    #[serde(skip_serializing_if = "Option::is_none")]
    transcript: Option<Transcript>,
}

impl From<Outcome> for Record {
    fn from(outcome: Outcome) -> Record {
        let Outcome { case, score, ending, fuel, trace } = outcome;
        let (seed, task) = match case {
            Case::Seed(seed) => (Some(seed), None),
            Case::Task(task) => (None, Some(task)),
        };
        let empty = Record {
            seed,
            task,
            score,
            ending,
            fuel,
            max_tile: None,
            moves: None,
            moves_text: None,
            final_board: None,
            tests: None,
            transcript: None,
        };
        match trace {
            Trace::Board(BoardTrace { max_tile, moves, moves_text, final_board }) => Record {
                max_tile: Some(max_tile),
                moves: Some(moves),
                moves_text: Some(moves_text),
                final_board: Some(final_board),
                ..empty
            },
            Trace::Tests(tests) => Record { tests: Some(tests), ..empty },
            Trace::Transcript(transcript) => Record { transcript: Some(transcript), ..empty },
        }
    }
}

impl TryFrom<Record> for Outcome {
    type Error = &'static str;

    fn try_from(record: Record) -> Result<Outcome, &'static str> {
        let case = match (record.seed, record.task) {
            (Some(seed), None) => Case::Seed(seed),
            (None, Some(task)) => Case::Task(task),
            _ => return Err("expected either a seed or a task"),
        };
        let board = || {
            Some(BoardTrace {
                max_tile: record.max_tile?,
                moves: record.moves?,
                moves_text: record.moves_text?,
                final_board: record.final_board?,
            })
        };
        let trace = match (record.tests, record.transcript) {
            (Some(tests), None) => Trace::Tests(tests),
            (None, Some(transcript)) => Trace::Transcript(transcript),
            _ => Trace::Board(board().ok_or("expected a board, tests or a transcript")?),
        };
        Ok(Outcome { case, score: record.score, ending: record.ending, fuel: record.fuel, trace })
    }
}

/// Points as JSON has them: whole ones, such as 2048 counts, without a decimal point.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Points(pub f64);

impl Serialize for Points {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        const EXACT: f64 = (1_u64 << 53) as f64;
        match self.0.fract() == 0.0 && self.0.abs() < EXACT {
            true => serializer.serialize_i64(self.0 as i64),
            false => serializer.serialize_f64(self.0),
        }
    }
}

/// [`Points`] of a field that holds the bare number.
pub fn points<S: serde::Serializer>(score: &f64, serializer: S) -> Result<S::Ok, S::Error> {
    Points(*score).serialize(serializer)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_outcome_is_one_flat_object_and_reads_back() {
        let board = BoardTrace { max_tile: 4, moves: 1, moves_text: "WA".into(), final_board: [[0; 4]; 4] };
        let games = Outcome {
            case: Seed::root(7).into(),
            score: 4.0,
            ending: Ending::Freeze,
            fuel: 9,
            trace: Trace::Board(board),
        };
        let line = serde_json::to_string(&games).unwrap();
        let expected = r#"{"seed":"0000000000000007","score":4,"max_tile":4,"moves":1,"ending":"freeze","fuel":9,"moves_text":"WA","final_board":[[0,0,0,0],[0,0,0,0],[0,0,0,0],[0,0,0,0]]}"#;
        assert_eq!(line, expected);
        assert_eq!(serde_json::from_str::<Outcome>(&line).unwrap(), games);

        let tests = TestsTrace { tests: 4, passed: 1, answered: 4, constant: 2, failed: None };
        let task = Outcome {
            case: Case::Task(3),
            score: 0.25,
            ending: Ending::WrongAnswer,
            fuel: 9,
            trace: Trace::Tests(tests),
        };
        let line = serde_json::to_string(&task).unwrap();
        assert!(
            line.starts_with(r#"{"task":3,"score":0.25,"ending":"wrong_answer","fuel":9,"tests":{"tests":4,"#),
            "{line}"
        );
        assert_eq!(serde_json::from_str::<Outcome>(&line).unwrap(), task);
    }
}
