//! Summarises games in the numbers of a report.

use std::collections::{BTreeMap, BTreeSet};
use std::slice;

use serde::Serialize;

use super::boards::{ChanceStream, chance};
use super::estimators::{self, Crossed, Estimate};
use super::{Sample, estimators::expected_best, floor, surprise_a_token};
use crate::environment::{Floor, Labels, Outcome, Points};
use crate::program::Program;
use crate::stats;

/// Mean scores in 2048 that matter: that of a fixed cycle of moves, one above every order of moves and greedy merging,
/// and that of a good one-ply search.
pub const THRESHOLDS: [u32; 3] = [2324, 5000, 14815];
/// The n of the estimated best-of-n.
pub const SIZES: [usize; 5] = [1, 4, 16, 64, 256];

/// Summary of the programs of one policy.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Summary {
    /// Number of completions.
    pub samples: usize,
    /// Mean over completions of the mean score of their games. A completion without a program counts as 0, and a game that
    /// a fault of the program ended with the score that it had; where scores are below 0, both count as the lowest one, as
    /// [`Floor`] says. Intervals of scores on the selection boards are over programs and boards.
    pub mean_score: Estimate,
    /// Median over programs of their mean score.
    pub median_score: Estimate,
    /// Share of programs that play all games to an end that is not their fault.
    pub plays: Estimate,
    /// Share of completions with a program.
    pub parses: Estimate,
    /// Distinct programs over completions; layout and names do not count. It has no interval, because resampling with
    /// replacement repeats programs, which would bias a bootstrap.
    pub unique: f64,
    /// Share of programs whose mean score is at least so much; in 2048 only.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub reaches: BTreeMap<u32, Estimate>,
    /// Expected report score of the best of so many programs, chosen by selection score.
    pub best_of: BTreeMap<usize, Estimate>,
    pub styles: BTreeMap<String, StyleSummary>,
    /// Mean negative log-probability per token, in nats: an unbiased estimate of the entropy if sampling restricts
    /// nothing.
    pub entropy: f64,
    pub reward: f64,
    /// Largest tile of all selection games; in 2048 only.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_tile: Option<u32>,
}

/// Summary of the answers to one style of prompt.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize)]
pub struct StyleSummary {
    /// Number of completions.
    pub samples: usize,
    /// Mean of the programs' mean scores.
    pub mean_score: f64,
    /// Share of programs that play.
    pub plays: f64,
}

/// Summary of one program.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Single {
    pub name: String,
    #[serde(serialize_with = "each")]
    pub scores: Vec<f64>,
    /// Mean of what the games count as; the interval is over games.
    pub mean_score: Estimate,
    pub median_score: Estimate,
    /// Largest tile of all games; in 2048 only.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_tile: Option<u32>,
}

/// Those of [`SIZES`] that can be estimated from `samples` programs.
pub fn sizes_up_to(samples: usize) -> Vec<usize> {
    SIZES.into_iter().filter(|&size| size <= samples).collect()
}

/// Summarises samples, with the expected best of each of `sizes`.
///
/// The best of one is no choice, so its value is the plain mean. In larger choices a program counts with its report
/// score, or with its selection score if it is hardly ever the best and has not played there.
pub fn summarise(samples: &[Sample], sizes: &[usize], labels: Labels) -> Summary {
    summarise_on(floor(samples), samples, sizes, labels)
}

/// The same with a floor that other policies share.
pub fn summarise_on(floor: Floor, samples: &[Sample], sizes: &[usize], labels: Labels) -> Summary {
    let thresholds = if labels.has_tiles() { &THRESHOLDS[..] } else { &[] };
    let boards = samples.iter().map(|sample| sample.selection.games.len()).max().unwrap_or(0);
    let value = |sample: &Sample| match sample.report.is_empty() {
        true => floor.mean_score(&sample.selection.games),
        false => floor.mean_score(&sample.report),
    };
    let values: Vec<f64> = samples.iter().map(value).collect();
    let (plays, parses): (Vec<f64>, Vec<f64>) =
        samples.iter().map(|sample| (indicator(sample.selection.plays()), indicator(sample.parses()))).unzip();
    let statistics = |draw: &[usize], boards: &[usize]| {
        let pick = |from: &[f64]| draw.iter().map(|&place| from[place]).collect::<Vec<_>>();
        let scores: Vec<f64> = draw.iter().map(|&place| score_on(boards, floor, &samples[place])).collect();
        let values = pick(&values);
        let mean = stats::mean(scores.iter().copied());
        let mut row = vec![mean, stats::median(&scores)];
        row.extend([&plays, &parses].map(|indicators| stats::mean(pick(indicators))));
        row.extend(thresholds.iter().map(|&threshold| {
            let reaches = scores.iter().map(|&score| indicator(score >= f64::from(threshold)));
            stats::mean(reaches)
        }));
        row.extend(sizes.iter().map(|&n| if n == 1 { mean } else { expected_best(&scores, &values, n) }));
        row
    };
    let all = Crossed { programs: samples.len(), boards };
    let mut row = estimators::estimate_crossed(all, chance(ChanceStream::Bootstrap), &statistics);
    row[2..4 + thresholds.len()].iter_mut().for_each(|share| *share = share.of_shares(samples.len()));
    let (reaches, best_of) = row[4..].split_at(thresholds.len());
    Summary {
        samples: samples.len(),
        mean_score: row[0],
        median_score: row[1],
        plays: row[2],
        parses: row[3],
        unique: frac_unique(samples),
        reaches: thresholds.iter().copied().zip(reaches.iter().copied()).collect(),
        best_of: sizes.iter().copied().zip(best_of.iter().copied()).collect(),
        styles: styles(floor, samples),
        entropy: surprise_a_token(samples),
        reward: stats::mean(samples.iter().map(|sample| sample.reward)),
        max_tile: labels
            .has_tiles()
            .then(|| samples.iter().map(|sample| sample.selection.max_tile()).max().unwrap_or(0)),
    }
}

/// Mean score on these of the selection boards. A program that did not begin has the same on all.
fn score_on(boards: &[usize], floor: Floor, sample: &Sample) -> f64 {
    let games = &sample.selection.games;
    match games.len() == boards.len() {
        true => floor.mean(boards.iter().map(|&board| (games[board].score, games[board].ending.is_well()))),
        false => floor.mean_score(games),
    }
}

/// Share of distinct programs among those that parse, as in the metrics of a step.
fn frac_unique(samples: &[Sample]) -> f64 {
    let programs = samples.iter().filter_map(|sample| sample.program.as_ref().ok());
    let digests: Vec<[u8; 32]> = programs.map(Program::digest).collect();
    digests.iter().collect::<BTreeSet<_>>().len() as f64 / digests.len().max(1) as f64
}

fn styles(floor: Floor, samples: &[Sample]) -> BTreeMap<String, StyleSummary> {
    let mut by_style = BTreeMap::<&str, Vec<&Sample>>::new();
    samples.iter().for_each(|sample| by_style.entry(&sample.style).or_default().push(sample));
    let summary = |samples: Vec<&Sample>| {
        let mean = |of: &dyn Fn(&Sample) -> f64| stats::mean(samples.iter().map(|sample| of(sample)));
        StyleSummary {
            samples: samples.len(),
            mean_score: mean(&|sample| floor.mean_score(&sample.selection.games)),
            plays: mean(&|sample| indicator(sample.selection.plays())),
        }
    };
    by_style.into_iter().map(|(style, samples)| (style.to_owned(), summary(samples))).collect()
}

impl Single {
    /// Of games of which those that fail count as `floor` says.
    pub fn new(name: impl Into<String>, floor: Floor, games: &[Outcome]) -> Single {
        let counted: Vec<f64> = games.iter().map(|game| floor.mean_score(slice::from_ref(game))).collect();
        let statistics = |draw: &[usize]| {
            let drawn: Vec<f64> = draw.iter().map(|&game| counted[game]).collect();
            vec![stats::mean(drawn.iter().copied()), stats::median(&drawn)]
        };
        let row = estimators::estimate(games.len(), chance(ChanceStream::Bootstrap), &statistics);
        let max_tile = games.iter().filter_map(|game| Some(game.board()?.max_tile)).max();
        let scores = games.iter().map(|game| game.score).collect();
        Single { name: name.into(), mean_score: row[0], median_score: row[1], max_tile, scores }
    }
}

fn each<S: serde::Serializer>(scores: &[f64], serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_seq(scores.iter().map(|&score| Points(score)))
}

fn indicator(holds: bool) -> f64 {
    f64::from(u8::from(holds))
}
