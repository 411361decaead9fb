//! Strategies written in Rust, on the held-out boards.

use super::summary::Single;
use crate::environment::game2048::{self, Baseline, GameLimits};
use crate::seed::Seed;

/// What a baseline comes to on these boards.
pub fn play_baseline(baseline: Baseline, boards: &[Seed], limits: &GameLimits) -> Single {
    let games = boards.iter().map(|&seed| {
        let Ok(outcome) = game2048::play(&mut baseline.player(seed), seed, limits);
        outcome
    });
    Single::new(baseline.name(), &games.collect::<Vec<_>>())
}
