//! One game or task, as `completions/` logs it.

use serde::Deserialize;

use crate::environment::{TestsTrace, Transcript};
use crate::seed::Seed;

/// One logged game or task.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
pub struct LoggedGame {
    /// The seed of a game; a task has none.
    pub seed: Option<Seed>,
    /// Score of a game; share of passed tests of a task, 0 to 1.
    pub score: f64,
    /// Largest tile, for 2048 only.
    pub max_tile: Option<u32>,
    /// The name of its ending.
    pub ending: String,
    /// The letters that the strategy chose.
    pub moves_text: String,
    /// The last board.
    pub final_board: [[u32; 4]; 4],
    /// The results of a task's tests.
    pub tests: Option<TestsTrace>,
    /// The transcript of a game written in Python.
    pub transcript: Option<Transcript>,
}
