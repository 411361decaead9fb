//! One game or task as `completions/` logs it, and a game in compact form, from which the page can show every board.
//!
//! The page can move tiles itself. Where new tiles appear is computed here, from the seed with the engine.

use serde::{Deserialize, Serialize};

use crate::environment::game2048::{Board, Game, Move};
use crate::environment::{TestsTrace, Transcript, points};
use crate::seed::Seed;

/// Boards are shown of games with at most this number of moves.
const MOVES_MAX: usize = 20_000;

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
    /// Why the program broke it off, if it did and the log says it.
    pub reason: Option<String>,
    /// The letters that the strategy chose.
    pub moves_text: String,
    /// The last board.
    pub final_board: [[u32; 4]; 4],
    /// The results of a task's tests.
    pub tests: Option<TestsTrace>,
    /// The transcript of a game written in Python.
    pub transcript: Option<Transcript>,
}

/// One game, ready to be shown.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Frames {
    /// The seed, as in the log.
    pub seed: String,
    /// The logged score.
    #[serde(serialize_with = "points")]
    pub score: f64,
    /// The logged largest tile.
    pub max_tile: u32,
    /// The name of its ending.
    pub ending: String,
    /// The letters that the strategy chose.
    pub moves: String,
    /// New tiles: two at the start, then one for each move that changed the board. `a` to `p` is a 2 in the first to
    /// the last cell, row after row; `A` to `P` is a 4.
    pub drops: String,
    /// Whether the replay has the logged score and last board.
    pub verified: bool,
}

impl Frames {
    /// Plays the game again. None for a game without tiles, with invalid moves, or with too many.
    pub fn of(game: &LoggedGame) -> Option<Frames> {
        let max_tile = game.max_tile?;
        if game.moves_text.len() > MOVES_MAX {
            return None;
        }
        let seed = game.seed?;
        let mut replayed = Game::new(seed);
        let mut drops = drops_between(Board::default(), replayed.board());
        for letter in game.moves_text.chars() {
            let direction = Move::from_text(letter.encode_utf8(&mut [0; 4]))?;
            let pushed = replayed.board().slide(direction).0;
            if replayed.play(direction) {
                drops.push_str(&drops_between(pushed, replayed.board()));
            }
        }
        let verified = replayed.score() as f64 == game.score && replayed.board().cells() == game.final_board;
        Some(Frames {
            seed: seed.to_string(),
            score: game.score,
            max_tile,
            ending: game.ending.clone(),
            moves: game.moves_text.clone(),
            drops,
            verified,
        })
    }
}

/// The letters of the tiles that are in `after` and not in `before`.
fn drops_between(before: Board, after: Board) -> String {
    let (before, after) = (before.cells(), after.cells());
    let cells = before.as_flattened().iter().zip(after.as_flattened());
    let letter = |(cell, (&was, &is)): (u8, (&u32, &u32))| match (was, is) {
        (0, 2) => Some(char::from(b'a' + cell)),
        (0, 4) => Some(char::from(b'A' + cell)),
        _ => None,
    };
    (0..16).zip(cells).filter_map(letter).collect()
}
