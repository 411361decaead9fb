//! Measures the programs of a policy, in numbers that a sceptic can use.
//!
//! Takes sampled programs with their games on held-out boards; gives means, shares and best-of-n with intervals, and
//! native strategies on the same boards for comparison. For tasks it gives pass@k and the share of tests passed.
//! Programs are chosen on some boards and reported on others. Plays further games where they are needed; does not
//! sample, and knows no model and no training.

mod boards;
pub mod estimators;
mod playing;
mod summary;
mod tasks;
mod verdicts;

pub use boards::{ChanceStream, HeldOut, REPORT, SELECTION, chance, held_out_boards};
pub use estimators::{Estimate, Interval};
pub use playing::{
    EarlierGames, FailedGames, Halving, SelectionRound, choose_best, play_baseline, play_report, report_games,
};
pub use summary::{SIZES, Single, StyleSummary, Summary, THRESHOLDS, sizes_up_to, summarise, summarise_on};
pub use tasks::{GroupSummary, SURE_TASKS, TaskSummary, TasksSummary, summarise_tasks};
pub use verdicts::VerdictCounts;

use crate::arena::{Evaluation, Start};
use crate::environment::{Floor, Outcome};
use crate::program::{Program, Rejection};

/// One sampled program and its games.
#[derive(Debug, Clone)]
pub struct Sample {
    pub style: String,
    pub program: Result<Program, Rejection>,
    /// The reward that its selection games would get in training.
    pub reward: f64,
    pub tokens: usize,
    /// Whether the completion was cut at the longest length allowed.
    pub cut: bool,
    /// Negative log-probability of all its tokens, in nats.
    pub surprise: f64,
    /// For each turn of its conversation, whether the program of that turn passes every test, or plays.
    pub turns: Vec<bool>,
    /// Its games on [`HeldOut::selection`] boards.
    pub selection: Evaluation,
    /// Its games on the report boards; empty if it played none.
    pub report: Vec<Outcome>,
}

impl Sample {
    /// Mean score on the selection boards; 0 if there is no program.
    pub fn score(&self) -> f64 {
        self.selection.mean_score()
    }

    /// Mean score on the report boards, if it played there.
    pub fn report_score(&self) -> Option<f64> {
        let total: f64 = self.report.iter().map(|game| game.score).sum();
        (!self.report.is_empty()).then(|| total / self.report.len() as f64)
    }

    /// All its games, on the selection boards and on the report boards.
    pub fn games(&self) -> impl Iterator<Item = &Outcome> {
        self.selection.games.iter().chain(&self.report)
    }

    /// Whether there is a program that the interpreter compiles too.
    pub fn parses(&self) -> bool {
        !matches!(self.selection.start, Start::Rejected(_))
    }
}

/// What failing counts as among these samples.
pub fn floor<'a>(samples: impl IntoIterator<Item = &'a Sample>) -> Floor {
    Floor::of_games(samples.into_iter().flat_map(Sample::games))
}

/// Mean negative log-probability per token, in nats.
fn surprise_a_token(samples: &[Sample]) -> f64 {
    let tokens: usize = samples.iter().map(|sample| sample.tokens).sum();
    let surprise: f64 = samples.iter().map(|sample| sample.surprise).sum();
    surprise / tokens.max(1) as f64
}

#[cfg(test)]
mod tests;
