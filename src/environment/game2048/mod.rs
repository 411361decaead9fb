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

use crate::program::Entry;

pub use board::{Board, Move};
pub use game::Game;
#[cfg(test)]
pub use play::scored;
pub use play::{GameLimits, ReplayError, play, replay, unplayed};
pub use strategy::{Baseline, BaselinePlayer, Choice, Strategy};

/// What a player must define.
pub fn entry() -> Entry {
    Entry::Function { name: "strategy".into(), parameters: vec!["board".into()] }
}
