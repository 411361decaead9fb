//! Records of what happened in a case, for inspection and verification.

use serde::{Deserialize, Serialize};

/// The course of one case.
#[derive(Debug, Clone, PartialEq)]
pub enum Trace {
    /// A game of 2048.
    Board(BoardTrace),
    /// A game whose rules are written in Python.
    Transcript(Transcript),
    /// The tests of a task.
    Tests(TestsTrace),
}

/// The moves of a game of 2048; the engine replays them from the seed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BoardTrace {
    /// Largest tile at the end.
    pub max_tile: u32,
    /// Moves that changed the board.
    pub moves: u32,
    /// Every letter the program chose, those that changed nothing included.
    pub moves_text: String,
    /// Tile values at the end, 0 for empty.
    pub final_board: [[u32; 4]; 4],
}

/// A game whose rules are written in Python.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Transcript {
    /// Moves that the game took.
    pub moves: u32,
    /// The first of them, as JSON, for as long as they are short.
    pub actions: Vec<String>,
    /// What the program was shown last, or the state in which the game was over, as JSON, cut when it is long.
    pub last_observation: String,
    /// Instructions that the game itself spent.
    pub game_fuel: u64,
}

/// How a task's tests went.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TestsTrace {
    pub tests: u32,
    /// Tests that the program passed.
    pub passed: u32,
    /// Tests that it answered at all.
    pub answered: u32,
    /// Tests that the best constant answer passes.
    pub constant: u32,
    /// Whether the task is a honeypot, of which only a program that cheats passes a test.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub honeypot: bool,
    /// The first test that it failed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub failed: Option<FailedTest>,
}

/// A test that a program failed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FailedTest {
    /// Its number, from 1.
    pub test: u32,
    /// What happened, in words, cut when they are long.
    pub reason: String,
}
