//! Statistics of numbers: quantiles, the expected best of n, pass@k, bootstrap intervals. Pure.

use rand::Rng;
use serde::Serialize;

use crate::seed::Seed;
use crate::stats::{mean, quantile, variance};

/// Resamples behind an interval. The share of them below its lower end then has a standard error of 0.35 percentage
/// points: the root of 0.025 * 0.975 / 2000.
pub const RESAMPLES: usize = 2000;
/// Share of the bootstrap distribution outside an interval, both sides together.
const LEFT_OUT: f64 = 0.05;
/// Quantile of the normal distribution that has half of [`LEFT_OUT`] above it.
const NORMAL: f64 = 1.959_963_984_540_054;
/// What Student's quantile has more, by powers of the inverse degrees of freedom: Abramowitz and Stegun, 26.7.5.
const STUDENT: [f64; 4] = [2.372_271_23, 2.822_498_615_7, 2.555_849_679_5, 1.589_534_053_4];

/// A 95 % interval.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize)]
pub struct Interval {
    pub low: f64,
    pub high: f64,
}

/// A number with its interval.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize)]
pub struct Estimate {
    pub value: f64,
    #[serde(flatten)]
    pub interval: Interval,
}

impl Estimate {
    /// The same mean of shares of `count` items, with an interval within 0 and 1. Items that all are 0, or all 1, have no
    /// deviation: then the other end is the mean of all for which so many come out alike with a probability of half of what
    /// an interval leaves out.
    pub fn of_shares(self, count: usize) -> Estimate {
        let Estimate { value, interval: Interval { low, high } } = self;
        let alike = (LEFT_OUT / 2.0).powf(1.0 / count as f64);
        let interval = match (low, high) {
            (_, high) if high <= 0.0 => Interval { low, high: 1.0 - alike },
            (low, _) if low >= 1.0 => Interval { low: alike, high },
            _ => Interval { low: low.max(0.0), high: high.min(1.0) },
        };
        Estimate { value, interval }
    }
}

/// For each item the probability that it has the best score among `n` items drawn without replacement; items of equal
/// score share their probability.
///
/// With the items ranked from 0, best first, rank r is first when it is drawn and no better one is: with probability
/// C(N - 1 - r, n - 1) / C(N, n). The order statistics behind unbiased pass@k (Chen et al. 2021).
///
/// # Panics
/// When `n` is 0 or more than there are items, which is a bug of the caller.
pub fn best_of_weights(scores: &[f64], n: usize) -> Vec<f64> {
    let count = scores.len();
    assert!((1..=count).contains(&n), "the best of {n} out of {count}");
    let mut order: Vec<usize> = (0..count).collect();
    order.sort_by(|&a, &b| scores[b].total_cmp(&scores[a]));
    let mut by_rank = Vec::with_capacity(count);
    let mut chance = n as f64 / count as f64;
    for rank in 0..count {
        by_rank.push(chance);
        // The ratio of the next rank's binomial to this one's; 0 once fewer than n - 1 items rank below.
        chance *= (count - rank).saturating_sub(n) as f64 / (count - rank - 1).max(1) as f64;
    }
    let mut weights = vec![0.0; count];
    let mut rank = 0;
    for tied in order.chunk_by(|&a, &b| scores[a] == scores[b]) {
        let share = mean(by_rank[rank..rank + tied.len()].iter().copied());
        tied.iter().for_each(|&item| weights[item] = share);
        rank += tied.len();
    }
    weights
}

/// Expected value of the item with the best score among `n` drawn without replacement. Unbiased if `values` were
/// measured independently of `scores`.
pub fn expected_best(scores: &[f64], values: &[f64], n: usize) -> f64 {
    best_of_weights(scores, n).iter().zip(values).map(|(weight, value)| weight * value).sum()
}

/// Probability that at least one of `k` programs passes, drawn without replacement from `count` of which `passed`
/// pass: 1 - C(count - passed, k) / C(count, k). This is an unbiased estimate of pass@k.
///
/// Source: Chen et al. 2021, equation 1.
pub fn pass_at(k: usize, passed: usize, count: usize) -> f64 {
    // If fewer than k fail, one of the factors is 0.
    let none_passes: f64 = (count - passed + 1..=count).map(|at| 1.0 - k as f64 / at as f64).product();
    1.0 - none_passes
}

/// Programs that all played the same boards.
#[derive(Debug, Clone, Copy)]
pub struct Crossed {
    pub programs: usize,
    pub boards: usize,
}

impl Crossed {
    /// How much wider than that of the bootstrap an interval is, where `of_programs` is their share of its variance; the rest is
    /// the boards'.
    fn wider(self, of_programs: f64) -> f64 {
        let parts = [(of_programs, self.programs), (1.0 - of_programs, self.boards)].map(|(share, count)| {
            let freedom = count.saturating_sub(1).max(1) as f64;
            (share * count as f64 / freedom, freedom)
        });
        let expected: f64 = parts.iter().map(|(share, _)| share).sum();
        let squares: f64 = parts.iter().map(|(share, freedom)| share.powi(2) / freedom).sum();
        expected.sqrt() * student(expected.powi(2) / squares) / NORMAL
    }
}

/// Statistics of programs on boards, by their positions.
pub type CrossedStatistics<'a> = dyn Fn(&[usize], &[usize]) -> Vec<f64> + 'a;

/// Quantile of Student's distribution that has half of [`LEFT_OUT`] above it; less than 1 % too small from two degrees of
/// freedom on, and 11 % with one.
fn student(freedom: f64) -> f64 {
    STUDENT.iter().rev().fold(0.0_f64, |sum, more| (sum + more) / freedom) + NORMAL
}

/// A statistic of each resample.
#[derive(Default)]
struct Resampled {
    /// Of programs and boards that are drawn.
    both: Vec<f64>,
    /// Of the same programs on all boards.
    programs: Vec<f64>,
}

impl Resampled {
    /// The interval around `value`. What resamples of few programs and boards leave out is too much on both sides: that of
    /// the mean of eight programs on three boards holds the truth in 80 to 95 % of the cases.
    ///
    /// So it is wider, as the variance of n that are drawn from n is (n - 1) / n of that of others, and as Student's quantile
    /// is above the normal one. Nothing that is never below 0 gets an end below.
    ///
    /// Source: Hesterberg 2015 (1411.5279) for both factors; Satterthwaite 1946 for the degrees of freedom of two variances.
    fn interval(self, value: f64, all: Crossed) -> Interval {
        let [of_both, of_programs] = [&self.both, &self.programs].map(|drawn| variance(drawn.iter().copied()));
        let wider = match of_both > 0.0 {
            true => all.wider((of_programs / of_both).min(1.0)),
            false => 1.0,
        };
        let mut drawn = self.both;
        drawn.sort_by(f64::total_cmp);
        let [low, high] = [LEFT_OUT / 2.0, 1.0 - LEFT_OUT / 2.0].map(|share| quantile(&drawn, share));
        let below = value - (value - low) * wider;
        Interval { low: if low < 0.0 { below } else { below.max(0.0) }, high: value + (high - value) * wider }
    }
}

/// Bootstrap: [`RESAMPLES`] times draws programs with replacement, and boards for all of them. A single board is what it is.
///
/// `statistics` always returns the same number of values; each of them gets the resamples of its interval, which says how
/// much the value would vary with other programs on other boards. It does not cover what depends on a single program: the
/// best of n is uncertain unless n is small against the number of programs.
///
/// Source: the pigeonhole bootstrap (Owen 2007).
fn bootstrap(all: Crossed, seed: Seed, statistics: &CrossedStatistics<'_>) -> Vec<Resampled> {
    let mut rng = seed.rng();
    let mut programs = vec![0; all.programs];
    let whole: Vec<usize> = (0..all.boards).collect();
    let mut boards = whole.clone();
    let mut columns: Vec<Resampled> = Vec::new();
    for _ in 0..RESAMPLES {
        programs.iter_mut().for_each(|place| *place = rng.random_range(0..all.programs));
        if all.boards > 1 {
            boards.iter_mut().for_each(|place| *place = rng.random_range(0..all.boards));
        }
        let both = statistics(&programs, &boards);
        let of_programs = if all.boards > 1 { statistics(&programs, &whole) } else { both.clone() };
        columns.resize_with(both.len(), Resampled::default);
        for (column, (both, programs)) in columns.iter_mut().zip(both.into_iter().zip(of_programs)) {
            column.both.push(both);
            column.programs.push(programs);
        }
    }
    columns
}

/// The statistics of all items, with their bootstrap intervals.
pub fn estimate(count: usize, seed: Seed, statistics: &dyn Fn(&[usize]) -> Vec<f64>) -> Vec<Estimate> {
    estimate_crossed(Crossed { programs: count, boards: 1 }, seed, &|programs, _| statistics(programs))
}

/// The statistics of all programs on all boards, with bootstrap intervals over both.
pub fn estimate_crossed(all: Crossed, seed: Seed, statistics: &CrossedStatistics<'_>) -> Vec<Estimate> {
    let whole = |count: usize| (0..count).collect::<Vec<_>>();
    let values = statistics(&whole(all.programs), &whole(all.boards));
    if all.programs == 0 {
        return values.into_iter().map(|value| Estimate { value, interval: Interval::default() }).collect();
    }
    let drawn = bootstrap(all, seed, statistics);
    values
        .into_iter()
        .zip(drawn)
        .map(|(value, drawn)| Estimate { value, interval: drawn.interval(value, all) })
        .collect()
}
