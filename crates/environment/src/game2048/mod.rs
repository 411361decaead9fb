//! The environment 2048, on a 4x4 board with seeded random tiles.
//!
//! Only this module knows the game: its rules, native baselines, players of known strength that check a reward,
//! and texts of prompts. A game goes on past the 2048 tile for as long as a move is legal.

mod board;
pub mod ladder;
mod play;
pub mod prompts;
mod strategy;
#[cfg(test)]
mod tests;

use super::labels::Worth;

pub use board::{Board, Move};
pub use play::{Game, GameLimits, ReplayError, play, replay, scored, unplayed};
pub use strategy::{Baseline, BaselinePlayer, Choice, Strategy, entry};

pub const NAME: &str = "2048";

/// A good search scores about 40,000 (the best hand-written one 47,000 in a second a game with CPython); a fixed cycle of
/// moves scores about 2,300, and the first legal move of a fixed order 2,400.
pub const WORTH: Worth = Worth { scale: 40_000.0, anchor: 2500.0 };
