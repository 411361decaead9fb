//! A game of 2048 from its first two tiles to its end, and the replay of its log, so that anybody can verify the outcome.

use rand::RngCore;
use rand_chacha::ChaCha8Rng;

use super::board::{Board, Move};
use super::strategy::{Choice, Strategy};
use crate::seed::Seed;
use crate::{BoardTrace, Ending, Outcome, Trace};

/// Probability 1/10 of a 4, as a share of all 32-bit numbers.
const FOURS: u32 = u32::MAX / 10;

/// A game in progress. The seed and the moves determine every new tile.
#[derive(Debug, Clone)]
pub struct Game {
    board: Board,
    score: u64,
    chance: ChaCha8Rng,
}

impl Game {
    /// A fresh board with two tiles.
    pub fn new(seed: Seed) -> Game {
        let mut game = Game { board: Board::default(), score: 0, chance: seed.rng() };
        game.drop_tile();
        game.drop_tile();
        game
    }

    pub fn board(&self) -> Board {
        self.board
    }

    /// Sum of all merged tiles.
    pub fn score(&self) -> u64 {
        self.score
    }

    /// Makes a move and adds a new tile if the move changed anything; returns whether it did.
    pub fn play(&mut self, direction: Move) -> bool {
        let (pushed, gain) = self.board.slide(direction);
        if pushed == self.board {
            return false;
        }
        self.board = pushed;
        self.score += u64::from(gain);
        self.drop_tile();
        true
    }

    /// Whether no move is legal.
    pub fn is_over(&self) -> bool {
        self.board.is_stuck()
    }

    /// Adds a 2, or with probability 1/10 a 4, to an empty cell; all cells are equally likely up to 2^-28.
    fn drop_tile(&mut self) {
        let (place, kind) = (self.chance.next_u32(), self.chance.next_u32());
        let nth = (u64::from(place) * u64::from(self.board.empty_cells())) >> 32;
        self.board = self.board.with_tile(nth as u32, if kind < FOURS { 2 } else { 1 });
    }
}

/// Limits that end a game although moves are legal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct GameLimits {
    /// So many consecutive moves without effect end the game. Measured on 200 boards: a program that asks for the four
    /// directions in turn scores 1,096 points where the first such move ends the game, and 2,297, 2,324 and 2,324 where
    /// the second, third and fourth does; random directions score 62, 226, 480 and 833. Four therefore punish no
    /// program that falls through to its next direction, and still cut off blind guessing.
    pub freeze_after: u32,
    /// So many moves with effect end the game: 2048 takes about 930, and a search of two or three moves plays about 1,900.
    pub moves_max: u32,
}

/// Plays one game to its end. `Err` is an error of the host; a failure of the strategy is an [`Ending`].
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
    let trace = BoardTrace { moves, moves_text, ..at_rest(&game) };
    Ok(Outcome {
        case: seed.into(),
        score: game.score() as f64,
        ending,
        fuel: 0,
        trace: Trace::Board(trace),
        reason: None,
    })
}

/// The outcome of a game that ended before its first move.
pub fn unplayed(seed: Seed, ending: Ending) -> Outcome {
    let trace = Trace::Board(at_rest(&Game::new(seed)));
    Outcome { case: seed.into(), score: 0.0, ending, fuel: 0, trace, reason: None }
}

/// An outcome with this score and tile, as if the game had been played.
pub fn scored(score: u64, max_tile: u32, ending: Ending) -> Outcome {
    let outcome = unplayed(Seed::root(0), ending);
    let board = outcome.board().cloned().expect("a game of 2048");
    Outcome { score: score as f64, trace: Trace::Board(BoardTrace { max_tile, ..board }), ..outcome }
}

fn at_rest(game: &Game) -> BoardTrace {
    let board = game.board();
    BoardTrace { max_tile: board.max_tile(), moves: 0, moves_text: String::new(), final_board: board.cells() }
}

/// A character in a log that is not a move.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("move {position}: found `{found}`, expected W, A, S or D")]
pub struct ReplayError {
    /// Position in the log, from 1.
    pub position: usize,
    pub found: char,
}

/// Score and board after these moves, by the engine alone, to verify a logged outcome.
pub fn replay(seed: Seed, moves_text: &str) -> Result<(u64, Board), ReplayError> {
    let mut game = Game::new(seed);
    for (index, found) in moves_text.chars().enumerate() {
        let direction = Move::from_text(found.encode_utf8(&mut [0; 4]));
        game.play(direction.ok_or(ReplayError { position: index + 1, found })?);
    }
    Ok((game.score(), game.board()))
}
