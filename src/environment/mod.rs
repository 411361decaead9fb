//! The rules of 2048 on a 4x4 board, with seeded chance, and native baselines.
//!
//! Takes a seed and somebody who chooses moves; gives an [`Outcome`] that anybody can [`replay`]. Play goes on past the
//! 2048 tile for as long as a move is legal. Does not know where strategies come from or what an outcome is worth.

mod board;
mod game;
mod outcome;
mod strategy;
pub mod tasks;
#[cfg(test)]
mod tests;
mod value;

pub use board::{Board, Move};
pub use game::Game;
pub use outcome::{Ending, GameLimits, Outcome, ReplayError, play, replay};
pub use strategy::{Baseline, BaselinePlayer, Choice, Strategy};
pub use value::{Dict, Equality, Int, Set, Value, ValueError};
