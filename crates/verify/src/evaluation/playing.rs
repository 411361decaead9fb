//! Plays more games with the programs for which they matter, and games with strategies written in Rust.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use super::Sample;
use super::boards::{HeldOut, SELECTION};
use super::estimators::best_of_weights;
use super::summary::Single;
use crate::arena::{Arena, ArenaError, Evaluation};
use crate::environment::game2048::{self, Baseline, GameLimits};
use crate::environment::{Floor, Outcome};
use crate::seed::Seed;
use crate::stats;

/// Probability of being the best that programs without report games may have together, in a choice of n. Chosen: such
/// programs count with their selection scores, which chance has favoured, and 1 % bounds the weight of that error.
const NEGLIGIBLE: f64 = 0.01;
/// Probability of being the best from which a program plays every report game; below it a quarter of the games is
/// enough. Chosen: weights below it have squares that sum to less than 0.02, so with a quarter of the games these programs
/// add at most 8 % of the variance that a single program with all games has.
const FREQUENT: f64 = 0.02;
/// One in so many programs goes on to the next rung. Chosen: while games double, each rung then costs half of the one
/// before or less, and the whole choice less than half as many games again as the first rung. Karnin et al. keep a half.
const KEPT: usize = 4;
/// At least so many programs go on, if there are that many. Chosen: a single game says little, and so few cost little.
const KEPT_LEAST: usize = 8;

/// Told how many programs of how many are done.
pub type PlayProgress<'a> = dyn FnMut(usize, usize) + 'a;

/// Plays with each sample as many report games as `games` says.
pub fn play_report(
    arena: &Arena,
    held_out: &HeldOut,
    samples: &mut [Sample],
    games: &[usize],
    told: &mut PlayProgress<'_>,
) -> Result<(), ArenaError> {
    let boards = games.iter().map(|&games| held_out.report(games));
    let jobs: Vec<Job<'_>> = boards.zip(0..).map(|(boards, sample)| Job { sample, boards }).collect();
    for (job, evaluation) in play(arena, samples, jobs, 0, told)? {
        samples[job.sample].report = evaluation.games;
    }
    Ok(())
}

/// Report games that each program should play, given all selection scores: `games` if it is often the best in a choice
/// of one of `sizes`, a quarter if it sometimes is, and none if it hardly ever is.
pub fn report_games(scores: &[f64], sizes: &[usize], games: usize) -> Vec<usize> {
    let mut counts = vec![0; scores.len()];
    for &n in sizes.iter().filter(|&&n| n > 1) {
        let weights = best_of_weights(scores, n);
        let mut rising: Vec<usize> = (0..weights.len()).collect();
        rising.sort_by(|&a, &b| weights[a].total_cmp(&weights[b]));
        let mut below = 0.0;
        for item in rising {
            below += weights[item];
            if below > NEGLIGIBLE {
                let wanted = if weights[item] >= FREQUENT { games } else { games.div_ceil(4) };
                counts[item] = counts[item].max(wanted);
            }
        }
    }
    counts
}

/// How the best of many programs was found.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Halving {
    /// Index of the best sample.
    pub winner: usize,
    pub rungs: Vec<SelectionRound>,
}

/// Other games that samples have played, all as many.
#[derive(Debug, Clone, Copy, Default)]
pub struct EarlierGames<'a> {
    /// The mean score of each sample in them.
    pub mean_scores: &'a [f64],
    /// Those of them that it failed in; none where nothing stands in its place.
    pub failed: &'a [FailedGames],
    pub games: usize,
}

impl EarlierGames<'_> {
    /// The mean of the sample at `place` over these games and those that it has `played` besides.
    fn beside(self, place: usize, floor: Floor, played: &[Outcome]) -> f64 {
        let mean = floor.mean_score(played);
        let Some(before) = self.mean_scores.get(place) else { return mean };
        let failed = self.failed.get(place).copied().unwrap_or_default();
        // Below zero what fails counts as others say, which that mean does not know.
        let fall = (floor.mean([(failed.mean_score, false)]) - failed.mean_score).min(0.0);
        let total = before * self.games as f64 + fall * failed.games as f64 + mean * played.len() as f64;
        total / (self.games + played.len()) as f64
    }
}

/// Games that a program failed in, among others.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct FailedGames {
    pub games: usize,
    /// The mean of what they came to nevertheless.
    pub mean_score: f64,
}

impl FailedGames {
    /// Those among `games`.
    pub fn among(games: &[Outcome]) -> FailedGames {
        let failed = || games.iter().filter(|game| !game.ending.is_well());
        FailedGames { games: failed().count(), mean_score: stats::mean(failed().map(|game| game.score)) + 0.0 }
    }

    pub fn is_none(&self) -> bool {
        self.games == 0
    }
}

/// One round of successive halving.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct SelectionRound {
    /// Number of distinct programs in it.
    pub programs: usize,
    /// Selection games that each program has played at its end.
    pub games: usize,
}

/// Finds the best of samples that have played one selection game each, by successive halving: the best quarter of each
/// rung plays twice as many games. `earlier` games of the samples count beside them. Earlier samples win ties, and equal
/// programs count once. `None` if there is no program.
///
/// Source: Karnin, Koren and Somekh 2013.
pub fn choose_best(
    arena: &Arena,
    held_out: &HeldOut,
    samples: &mut [Sample],
    earlier: EarlierGames<'_>,
    told: &mut PlayProgress<'_>,
) -> Result<Option<Halving>, ArenaError> {
    let mut seen = BTreeSet::new();
    let mut is_new = |sample: &Sample| {
        let source = sample.program.as_ref().map(|program| program.source().to_owned());
        sample.parses() && source.is_ok_and(|source| seen.insert(source))
    };
    let mut left: Vec<usize> = (0..samples.len()).filter(|&place| is_new(&samples[place])).collect();
    let mut games = 1;
    let mut rungs = Vec::new();
    loop {
        rungs.push(SelectionRound { programs: left.len(), games });
        let tried = &*samples;
        let floor = super::floor(left.iter().map(|&place| &tried[place]));
        let played = |place: usize| &tried[place].selection.games;
        let mean = |place: usize| earlier.beside(place, floor, played(place));
        left.sort_by(|&a, &b| {
            let by_mean = mean(b).total_cmp(&mean(a));
            by_mean.then_with(|| floor.better_first(played(a), played(b))).then(a.cmp(&b))
        });
        let Some(&winner) = left.first() else { return Ok(None) };
        if games == SELECTION {
            return Ok(Some(Halving { winner, rungs }));
        }
        left.truncate(left.len().div_ceil(KEPT).max(KEPT_LEAST));
        let boards = &held_out.selection((2 * games).min(SELECTION))[games..];
        let jobs = left.iter().map(|&sample| Job { sample, boards }).collect();
        for (job, evaluation) in play(arena, samples, jobs, games, told)? {
            samples[job.sample].selection.games.extend(evaluation.games);
        }
        games += boards.len();
    }
}

/// What a baseline comes to on these boards.
pub fn play_baseline(baseline: Baseline, boards: &[Seed], limits: &GameLimits) -> Single {
    let games = boards.iter().map(|&seed| {
        let Ok(outcome) = game2048::play(&mut baseline.player(seed), seed, limits);
        outcome
    });
    Single::new(baseline.name(), Floor::of([]), &games.collect::<Vec<_>>())
}

/// A sample, and the boards that it plays next.
struct Job<'a> {
    sample: usize,
    boards: &'a [Seed],
}

/// Plays the jobs that have boards and a program, in their order, each after `first` other boards of the same kind.
fn play<'a>(
    arena: &Arena,
    samples: &[Sample],
    mut jobs: Vec<Job<'a>>,
    first: usize,
    told: &mut PlayProgress<'_>,
) -> Result<Vec<(Job<'a>, Evaluation)>, ArenaError> {
    jobs.retain(|job| !job.boards.is_empty() && samples[job.sample].parses());
    let mut done = 0;
    let total = jobs.len();
    let mut on_evaluated = |_, _: &Evaluation| {
        done += 1;
        told(done, total);
    };
    let programs = jobs.iter().map(|job| (samples[job.sample].program.clone(), job.boards));
    let evaluations = arena.evaluate_from(first, programs, &mut on_evaluated)?;
    Ok(jobs.into_iter().zip(evaluations).collect())
}
