//! The interface of a player, and native baselines.

use std::convert::Infallible;

use rand::RngCore;
use rand_chacha::ChaCha8Rng;

use super::board::{Board, Move};
use crate::Ending;
use crate::program::Entry;
use crate::seed::{Purpose, Seed};

/// The function that a player must define.
pub fn entry() -> Entry {
    Entry::Function { name: "strategy".into(), parameters: vec!["board".into()] }
}

/// The answer of a strategy.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Choice {
    Move(Move),
    /// No move: the strategy failed, and the game ends with this ending.
    End(Ending),
}

/// A player of a single game; each game needs a new one.
pub trait Strategy {
    /// Errors of the host, never of the strategy.
    type Error;

    /// The next move on this board, on which at least one move is legal.
    fn choose(&mut self, board: &Board) -> Result<Choice, Self::Error>;
}

/// Strategies written in Rust, for comparison with programs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Baseline {
    /// A random one of the four moves, legal or not.
    Random,
    /// W, A, S, D in a cycle.
    Cycle,
    /// The legal move with the largest merges; among equals the first of A, S, D, W.
    Greedy,
}

impl Baseline {
    /// All baselines, weakest first.
    pub const ALL: [Baseline; 3] = [Baseline::Random, Baseline::Cycle, Baseline::Greedy];

    /// The name in tables.
    pub fn name(self) -> &'static str {
        match self {
            Baseline::Random => "random",
            Baseline::Cycle => "cycle",
            Baseline::Greedy => "greedy",
        }
    }

    pub fn player(self, seed: Seed) -> BaselinePlayer {
        BaselinePlayer { kind: self, chance: seed.child(Purpose::Baseline, 0).rng(), calls: 0 }
    }
}

/// A baseline in one game.
#[derive(Debug, Clone)]
pub struct BaselinePlayer {
    kind: Baseline,
    chance: ChaCha8Rng,
    calls: usize,
}

impl Strategy for BaselinePlayer {
    type Error = Infallible;

    fn choose(&mut self, board: &Board) -> Result<Choice, Infallible> {
        let direction = match self.kind {
            Baseline::Random => Move::ALL[(self.chance.next_u32() >> 30) as usize],
            Baseline::Cycle => Move::ALL[self.calls % 4],
            Baseline::Greedy => greedy(board),
        };
        self.calls += 1;
        Ok(Choice::Move(direction))
    }
}

fn greedy(board: &Board) -> Move {
    let legal = [Move::W, Move::D, Move::S, Move::A].into_iter().filter(|&direction| board.is_legal(direction));
    legal.max_by_key(|&direction| board.slide(direction).1).unwrap_or(Move::A)
}
