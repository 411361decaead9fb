//! The result of a program on one case.

use serde::{Deserialize, Serialize};

use super::trace::{BoardTrace, TestsTrace, Trace, Transcript};
use crate::seed::Seed;

/// One trial of a program, in a fresh instance.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Case {
    /// A game, by the seed of its random numbers.
    Seed(Seed),
    /// All tests of a task, by its index in the file.
    Task(u32),
}

impl Case {
    /// The cases of a program: the requested task, or one game for each of these seeds.
    pub fn all(task: Option<u32>, seeds: &[Seed]) -> Vec<Case> {
        match task {
            Some(task) => vec![Case::Task(task)],
            None => seeds.iter().map(|&seed| Case::Seed(seed)).collect(),
        }
    }
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
    /// No move was legal.
    GameOver,
    /// The budget of the game was used up, between two moves or within one.
    OutOfFuel,
    /// One call used more than the budget of a call; in a task, also what was left of the budget of all tests.
    Hung,
    /// Too many consecutive moves changed nothing.
    Freeze,
    /// An answer was no move.
    BadMove,
    Raised,
    /// The program needed more memory than it may have.
    OutOfMemory,
    /// Calls were nested more deeply than the stack allows.
    StackOverflow,
    /// The game reached its largest number of moves.
    MoveLimit,
    /// Every test of a task was passed.
    Passed,
    /// A test of a task got a wrong answer.
    WrongAnswer,
}

impl Ending {
    /// All endings, in the order of their declaration.
    pub const ALL: [Ending; 11] = {
        use Ending::*;
        [GameOver, OutOfFuel, Hung, Freeze, BadMove, Raised, OutOfMemory, StackOverflow, MoveLimit, Passed, WrongAnswer]
    };

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

    /// Whether the ending is no fault of the program: the game or its budget ran out, or all tests were passed.
    pub fn is_well(self) -> bool {
        matches!(self, Ending::GameOver | Ending::OutOfFuel | Ending::MoveLimit | Ending::Passed)
    }
}

impl std::fmt::Display for Ending {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name())
    }
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(into = "Record", try_from = "Record")]
pub struct Outcome {
    pub case: Case,
    /// Points of a game; in a task, the share of tests passed.
    pub score: f64,
    pub ending: Ending,
    /// Fuel used, loading included; 0 for native players.
    pub fuel: u64,
    /// The course of the game or the tests.
    pub trace: Trace,
    /// Why the program broke a game off after its first move, in words: exception and line. Of a task its failed test says it.
    pub reason: Option<String>,
}

impl Outcome {
    /// Largest tile at the end of a game of 2048; 0 in other environments.
    pub fn max_tile(&self) -> u32 {
        self.board().map_or(0, |board| board.max_tile)
    }

    /// The course of a game of 2048.
    pub fn board(&self) -> Option<&BoardTrace> {
        match &self.trace {
            Trace::Board(board) => Some(board),
            Trace::Transcript(_) | Trace::Tests(_) => None,
        }
    }

    /// The results of a task's tests.
    pub fn tests(&self) -> Option<&TestsTrace> {
        match &self.trace {
            Trace::Tests(tests) => Some(tests),
            Trace::Board(_) | Trace::Transcript(_) => None,
        }
    }

    /// All letters that were chosen in a game of 2048; empty in other environments.
    pub fn moves_text(&self) -> &str {
        self.board().map_or("", |board| &board.moves_text)
    }

    /// The seed of a game.
    pub fn seed(&self) -> Option<Seed> {
        match self.case {
            Case::Seed(seed) => Some(seed),
            Case::Task(_) => None,
        }
    }

    /// The result in a word or two; in a task, the first failed test.
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

    /// Whether the environment accepted any answer of the program.
    pub fn has_begun(&self) -> bool {
        match &self.trace {
            Trace::Board(board) => !board.moves_text.is_empty(),
            Trace::Transcript(transcript) => transcript.moves > 0,
            Trace::Tests(tests) => tests.answered > 0,
        }
    }
}

/// The format of an outcome in logs: one flat object for every environment.
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
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<String>,
}

impl From<Outcome> for Record {
    fn from(outcome: Outcome) -> Record {
        let Outcome { case, score, ending, fuel, trace, reason } = outcome;
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
            reason,
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
        let Record { score, ending, fuel, reason, .. } = record;
        Ok(Outcome { case, score, ending, fuel, trace, reason })
    }
}

/// A score in JSON: integers, such as those of 2048, without a decimal point.
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

/// Serialises a plain number like [`Points`].
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
            reason: None,
        };
        let line = serde_json::to_string(&games).unwrap();
        let expected = r#"{"seed":"0000000000000007","score":4,"max_tile":4,"moves":1,"ending":"freeze","fuel":9,"moves_text":"WA","final_board":[[0,0,0,0],[0,0,0,0],[0,0,0,0],[0,0,0,0]]}"#;
        assert_eq!(line, expected);
        assert_eq!(serde_json::from_str::<Outcome>(&line).unwrap(), games);

        let tests = TestsTrace { tests: 4, passed: 1, answered: 4, constant: 2, honeypot: false, failed: None };
        let task = Outcome {
            case: Case::Task(3),
            score: 0.25,
            ending: Ending::WrongAnswer,
            fuel: 9,
            trace: Trace::Tests(tests),
            reason: None,
        };
        let line = serde_json::to_string(&task).unwrap();
        assert!(
            line.starts_with(r#"{"task":3,"score":0.25,"ending":"wrong_answer","fuel":9,"tests":{"tests":4,"#),
            "{line}"
        );
        assert_eq!(serde_json::from_str::<Outcome>(&line).unwrap(), task);
    }
}
