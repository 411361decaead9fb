//! 2048 on a 4x4 board, with seeded chance: all that knows this game.
//!
//! Rules, native baselines, the players of known strength that a reward is checked with, the words a policy is asked in,
//! and the grammar of players that the built-in model learnt to write. Play goes on past the 2048 tile for as long as a
//! move is legal.

mod board;
pub mod corpus;
mod game;
pub mod ladder;
mod play;
pub mod prompts;
mod strategy;
#[cfg(test)]
mod tests;

use super::Worth;
use crate::program::Entry;

pub use board::{Board, Move};
pub use game::Game;
#[cfg(test)]
pub use play::scored;
pub use play::{GameLimits, ReplayError, play, replay, unplayed};
pub use strategy::{Baseline, BaselinePlayer, Choice, Strategy};

/// What the environment is called.
pub const NAME: &str = "2048";

/// A score of 40000 is that of a good search; a fixed cycle of moves makes about 2300.
pub const WORTH: Worth = Worth { scale: 40_000.0, anchor: 2500.0 };

/// What a player must define.
pub fn entry() -> Entry {
    Entry::Function { name: "strategy".into(), parameters: vec!["board".into()] }
}
