//! A whole game of 2048: what it comes to, and how anybody can check it.

use serde::{Deserialize, Serialize};

use super::board::{Board, Move};
use super::game::Game;
use super::strategy::{Choice, Strategy};
use crate::environment::Ending;
use crate::seed::Seed;

/// What one game returned.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Outcome {
    /// What fixed the tiles.
    pub seed: Seed,
    /// Sum of all tiles that merges made.
    pub score: u64,
    /// Largest tile at the end.
    pub max_tile: u32,
    /// Moves that changed the board.
    pub moves: u32,
    /// Why it stopped.
    pub ending: Ending,
    /// Instructions spent, loading included; 0 for native strategies.
    pub fuel: u64,
    /// Every letter the strategy chose, those that changed nothing included.
    pub moves_text: String,
    /// Tile values at the end, 0 for empty.
    pub final_board: [[u32; 4]; 4],
}

/// When a game is stopped though moves are left.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct GameLimits {
    /// Moves in a row without effect that end the game.
    pub freeze_after: u32,
    /// Moves with effect that end the game.
    pub moves_max: u32,
}

/// Plays one game to its end. `Err` is the machine's fault; a strategy's own is an [`Ending`].
pub fn play<S: Strategy>(strategy: &mut S, seed: Seed, limits: &GameLimits) -> Result<Outcome, S::Error> {
    let mut game = Game::new(seed);
    let (mut moves, mut idle) = (0, 0);
    let mut moves_text = String::new();
    let ending = loop {
        if game.is_over() {
            break Ending::GameOver;
        }
        if idle == limits.freeze_after {
            break Ending::Freeze;
        }
        if moves == limits.moves_max {
            break Ending::MoveLimit;
        }
        match strategy.choose(&game.board())? {
            Choice::End(ending) => break ending,
            Choice::Move(direction) => {
                moves_text.push(direction.letter());
                let changed = game.play(direction);
                (moves, idle) = if changed { (moves + 1, 0) } else { (moves, idle + 1) };
            }
        }
    };
    Ok(Outcome { moves, moves_text, ..Outcome::at_start(&game, seed, ending) })
}

impl Outcome {
    /// The outcome of a game that ended before its first move.
    pub fn unplayed(seed: Seed, ending: Ending) -> Outcome {
        Outcome::at_start(&Game::new(seed), seed, ending)
    }

    fn at_start(game: &Game, seed: Seed, ending: Ending) -> Outcome {
        let board = game.board();
        Outcome {
            seed,
            score: game.score(),
            max_tile: board.max_tile(),
            moves: 0,
            ending,
            fuel: 0,
            moves_text: String::new(),
            final_board: board.cells(),
        }
    }
}

/// A logged move that is none.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("move {position}: found `{found}`, expected W, A, S or D")]
pub struct ReplayError {
    /// Place in the text, from 1.
    pub position: usize,
    /// The character.
    pub found: char,
}

/// Score and board after these moves: verifies a logged outcome with the engine alone.
pub fn replay(seed: Seed, moves_text: &str) -> Result<(u64, Board), ReplayError> {
    let mut game = Game::new(seed);
    for (index, found) in moves_text.chars().enumerate() {
        let direction = Move::from_text(found.encode_utf8(&mut [0; 4]));
        game.play(direction.ok_or(ReplayError { position: index + 1, found })?);
    }
    Ok((game.score(), game.board()))
}
