//! What an evaluation is worth.
//!
//! Takes the evidence of the arena; gives one number with its parts. Pure: the same evidence is worth the same, always.
//! A reward is the sum of an ordered list of named parts, each a function of the completion and its evaluation.
//!
//! **Games.** A game that went its way is worth `v(s) = (s / scale)^p` for its score `s`, whether it ended because no move
//! was left or because its budget was used up: slowness costs moves already. A game that the program broke off is worth
//! `0.6 v(s)` and a penalty.
//!
//! **Tasks.** The share of tests passed, less what the best constant answer passes, and 1 only when all pass. Measured on
//! MBPP a constant passes 41 % of a task's tests, so that a plain share would teach `return 0`.
//!
//! What never gets to answer has values of its own below all of that, so that no failure outranks an answer. The failures
//! are stated for `p = 1/2` and a scale of sixteen anchors, the anchor being the score of a simple player that plays on
//! (2500 in 2048, where a fixed cycle of moves scores about 2300). For another shape they are multiplied by
//! `v(anchor) / 0.25`, which keeps their ratio to what the simplest good program earns: the step from failing to playing
//! is as steep as ever. For `p = 1` this divides them by 4, and so do tasks.

use serde::Serialize;

use crate::arena::{Evaluation, FUEL_PER_SECOND, Verdict};
use crate::config::{RewardConfig, TestsReward};
use crate::environment::{Ending, Environment, Outcome, TestsTrace, Trace};
use crate::program::Rejection;
use crate::stats;

/// No program that was asked for in the completion.
const NO_FUNCTION: f64 = -0.40;
/// Does not compile, with the first error in the first line.
const NOT_COMPILED: f64 = -0.32;
/// What an error in the last line is better than one in the first.
const COMPILED_SHARE: f64 = 0.04;
/// The first call raised, hung or exhausted memory.
const FIRST_CALL_FAILED: f64 = -0.24;
/// The first call returned something other than a move.
const FIRST_CALL_NO_MOVE: f64 = -0.20;
/// A game that the program broke off, by a failure or by freezing.
const BROKEN_OFF: f64 = -0.12;
/// Share of the score's worth that such a game keeps.
const BROKEN_OFF_SHARE: f64 = 0.6;
/// What the anchor is worth in the shape that the failures are stated for.
const ANCHOR_WORTH: f64 = 0.25;
/// What failures are multiplied by where tests decide: as for a linear game.
const TASK_UNIT: f64 = 0.25;
/// Halvings of a second's instructions for which the whole fuel bonus is paid: about what loading nothing costs.
const HALVINGS: f64 = 16.0;

/// One number, and what it is made of.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Reward {
    /// The sum of the parts.
    pub value: f32,
    /// Part by name, in order: `game` or `tests`, what answers are worth (never negative); `failure`, what failing costs
    /// (never positive); then what the configuration adds.
    pub parts: Vec<(&'static str, f32)>,
}

/// What a part of a reward may look at.
#[derive(Debug, Clone, Copy)]
pub struct Judged<'a> {
    /// What became of the program.
    pub evaluation: &'a Evaluation,
    /// Tokens of the completion, and the most that it may have; none where nothing was sampled.
    pub tokens: Option<(usize, usize)>,
}

impl<'a> From<&'a Evaluation> for Judged<'a> {
    fn from(evaluation: &'a Evaluation) -> Self {
        Judged { evaluation, tokens: None }
    }
}

/// A part of a reward: its value for what is judged.
type Part = fn(&Rule, &Judged<'_>) -> f64;

/// How evaluations are rewarded in one environment under one configuration.
#[derive(Debug, Clone)]
pub struct Rule {
    config: RewardConfig,
    /// Score that is worth 1.
    scale: f64,
    /// What the values of failures are multiplied by.
    unit: f64,
    parts: Vec<(&'static str, Part)>,
}

impl Rule {
    /// The rule that a configuration asks for.
    pub fn new(config: &RewardConfig, environment: &Environment) -> Rule {
        let worth = environment.worth();
        let scale = if config.scale > 0.0 { config.scale } else { worth.scale };
        let mut parts: Vec<(&'static str, Part)> = match environment.has_tests() {
            false => vec![("game", game), ("failure", failure)],
            true => vec![("tests", tests), ("failure", failure)],
        };
        if config.fuel_bonus > 0.0 {
            parts.push(("fuel", fuel));
        }
        if config.length_penalty > 0.0 {
            parts.push(("length", length));
        }
        let unit = match environment.has_tests() {
            false => (worth.anchor / scale).powf(config.exponent) / ANCHOR_WORTH,
            true => TASK_UNIT,
        };
        Rule { config: config.clone(), scale, unit, parts }
    }

    /// What this is worth.
    pub fn score<'a>(&self, judged: impl Into<Judged<'a>>) -> Reward {
        let judged = judged.into();
        let parts: Vec<(&'static str, f32)> =
            self.parts.iter().map(|(name, part)| (*name, part(self, &judged) as f32)).collect();
        Reward { value: parts.iter().fold(0.0, |sum, (_, value)| sum + value), parts }
    }

    /// `v(s)`.
    fn worth(&self, score: f64) -> f64 {
        (score.max(0.0) / self.scale).powf(self.config.exponent)
    }
}

/// Mean worth of the scores.
fn game(rule: &Rule, judged: &Judged<'_>) -> f64 {
    let share = |outcome: &Outcome| if outcome.ending.is_well() { 1.0 } else { BROKEN_OFF_SHARE };
    match &judged.evaluation.verdict {
        Verdict::Played => mean(&judged.evaluation.games, |outcome| share(outcome) * rule.worth(outcome.score)),
        Verdict::Rejected(_) | Verdict::Faulted(_) => 0.0,
    }
}

/// What failing costs.
fn failure(rule: &Rule, judged: &Judged<'_>) -> f64 {
    let value = match &judged.evaluation.verdict {
        // A wrong answer is an answer; what a test is worth says it all.
        Verdict::Played => mean(&judged.evaluation.games, |outcome| match (&outcome.trace, outcome.ending.is_well()) {
            (Trace::Tests(_), _) | (_, true) => 0.0,
            (_, false) => BROKEN_OFF,
        }),
        Verdict::Rejected(Rejection::NoFunction { .. }) => NO_FUNCTION,
        Verdict::Rejected(Rejection::NotCompiled { line, lines, .. }) => {
            let share = f64::from(*line) / f64::from((*lines).max(1));
            NOT_COMPILED + COMPILED_SHARE * share.min(1.0)
        }
        Verdict::Faulted(fault) if fault.ending == Ending::BadMove => FIRST_CALL_NO_MOVE,
        Verdict::Faulted(_) => FIRST_CALL_FAILED,
    };
    rule.unit * value
}

/// Mean worth of the tests passed.
fn tests(rule: &Rule, judged: &Judged<'_>) -> f64 {
    mean(&judged.evaluation.games, |outcome| match &outcome.trace {
        Trace::Tests(trace) => worth_of_tests(trace, rule.config.tests),
        Trace::Board(_) | Trace::Transcript(_) => 0.0,
    })
}

fn worth_of_tests(trace: &TestsTrace, kind: TestsReward) -> f64 {
    let [passed, constant, all] = [trace.passed, trace.constant, trace.tests].map(f64::from);
    match kind {
        TestsReward::All => f64::from(u8::from(trace.passed == trace.tests)),
        TestsReward::Share => passed / all.max(1.0),
        // Where a constant passes all tests there is nothing to be told apart; the check before a run says so.
        TestsReward::AboveConstant if trace.constant >= trace.tests => 0.0,
        TestsReward::AboveConstant => ((passed - constant) / (all - constant)).max(0.0),
    }
}

/// What is paid for few instructions, to programs that pass every test: as much for each halving.
fn fuel(rule: &Rule, judged: &Judged<'_>) -> f64 {
    if !judged.evaluation.plays() {
        return 0.0;
    }
    let halvings = |outcome: &Outcome| (FUEL_PER_SECOND as f64 / outcome.fuel.max(1) as f64).log2();
    let share = mean(&judged.evaluation.games, |outcome| (halvings(outcome) / HALVINGS).clamp(0.0, 1.0));
    rule.config.fuel_bonus * share
}

/// What a long completion costs, above a share of the most tokens that it may have.
///
/// Source: Yu et al. 2025, eq. 13, times the penalty; `L_cache` there is what lies above `length_penalty_from`.
fn length(rule: &Rule, judged: &Judged<'_>) -> f64 {
    let share = judged.tokens.map_or(0.0, |(tokens, most)| tokens as f64 / most.max(1) as f64);
    let from = rule.config.length_penalty_from;
    -rule.config.length_penalty * ((share - from) / (1.0 - from)).clamp(0.0, 1.0)
}

/// Mean over outcomes; 0 of none, and never -0.
fn mean(outcomes: &[Outcome], of: impl Fn(&Outcome) -> f64) -> f64 {
    stats::mean(outcomes.iter().map(of)) + 0.0
}

#[cfg(test)]
mod tests;
