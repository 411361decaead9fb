//! The held-out boards: a fixed list, which is the same for every run, model and baseline.

use std::sync::LazyLock;

use crate::seed::{Purpose, Seed};

/// The committed list.
pub(super) const FILE: &str = include_str!("held_out_seeds.txt");
/// Number of boards on which programs are chosen: the first of the list. Of the variance of scores between 1,500 programs
/// of the corpus 60 % lies between programs with one game each, 86 % with four and 92 % with eight (measured).
pub const SELECTION: usize = 8;
/// Number of boards on which chosen programs are reported: the rest of 200. A program's score varies by a factor of about
/// 1.74 from game to game (measured on the same programs), so the mean of 192 games has a standard error of about 4 %.
pub const REPORT: usize = 192;
/// Root seed of everything that is held out. It does not depend on the run's seed, so that every run and every model
/// gets the same boards.
pub(super) const ROOT: u64 = 0x2048;

static SEEDS: LazyLock<Vec<Seed>> = LazyLock::new(|| {
    let lines = FILE.lines().filter(|line| !line.starts_with('#'));
    lines.map(|line| Seed::root(u64::from_str_radix(line, 16).expect("the list is tested"))).collect()
});

pub fn held_out_boards() -> &'static [Seed] {
    &SEEDS
}

/// The boards of an evaluation: those of the list, or as many that nobody knows.
#[derive(Debug, Clone)]
pub struct HeldOut {
    seeds: Vec<Seed>,
    salt: String,
}

impl HeldOut {
    /// The list behind a salt; the list itself where that is empty.
    pub fn salted(salt: &str) -> HeldOut {
        HeldOut { seeds: SEEDS.iter().map(|seed| seed.salted(salt)).collect(), salt: salt.to_owned() }
    }

    /// The list.
    pub fn published() -> HeldOut {
        HeldOut::salted("")
    }

    /// What they are behind; empty where they are published.
    pub fn salt(&self) -> &str {
        &self.salt
    }

    /// The first `games` boards on which programs are chosen.
    ///
    /// # Panics
    /// When that is more than [`SELECTION`], which is a bug of the caller.
    pub fn selection(&self, games: usize) -> &[Seed] {
        &self.seeds[..SELECTION][..games]
    }

    /// The first `games` boards on which chosen programs are reported.
    ///
    /// # Panics
    /// When that is more than [`REPORT`], which is a bug of the caller.
    pub fn report(&self, games: usize) -> &[Seed] {
        &self.seeds[SELECTION..][..games]
    }
}

/// Random streams of an evaluation. The discriminant is part of the seed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u64)]
pub enum ChanceStream {
    /// Sampling the programs that are evaluated.
    Sampling = 0,
    /// Sampling the many programs among which the best is chosen.
    BestOf = 1,
    /// Drawing bootstrap resamples.
    Bootstrap = 2,
}

/// The seed of a stream; no training stream derives from it.
pub fn chance(stream: ChanceStream) -> Seed {
    Seed::root(ROOT).child(Purpose::Evaluation, stream as u64)
}
