//! One game of 2048: a board, its score, and the random new tiles.

use rand::RngCore;
use rand_chacha::ChaCha8Rng;

use super::board::{Board, Move};
use crate::seed::Seed;

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
