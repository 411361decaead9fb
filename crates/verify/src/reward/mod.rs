//! Turns an evaluation into a reward.
//!
//! Takes the evidence of the arena; gives one number with its parts. Pure: equal evidence always gets an equal reward.
//! A reward is the sum of an ordered list of named parts, each a function of the completion and its evaluation.
//!
//! **Games.** A completed game earns `v(s) = (s / scale)^p` for its score `s`, whether it ended without legal moves or
//! with its budget used up: a slow program already loses moves. A game that the program broke off earns `0.6 v(s)` and
//! a penalty.
//!
//! **Tasks.** They earn the share of tests passed above that of the best constant answer, and 1 only if all pass. On
//! MBPP a constant passes 41 % of a task's tests on average, so a plain share would teach `return 0`. A honeypot earns
//! nothing, whatever passes.
//!
//! Completions without any answer earn less than all of these, so that no failure outranks an answer. The constants
//! below hold for `p = 1/2` and a scale of sixteen anchors; the anchor is the score of a simple player that plays to
//! the end (2500 in 2048, where a fixed cycle of moves scores about 2300). For other shapes they are multiplied by
//! `v(anchor) / 0.25`, which keeps their ratio to the reward of the simplest good program, so that the step from
//! failing to playing stays as steep. For `p = 1` and for tasks this divides them by 4.
//!
//! The failures' values were chosen. Their order is that in which a program comes to run: each stage that it reaches earns
//! more than the one before. Their distance to `v` says how much risk of failing a better player is worth: a program that
//! tries to play as the monotone player of the ladder (14,815 points) instead of the cycle (2,324) gains by it if its first
//! call succeeds with a probability above `(v(cycle) - failed) / (v(monotone) - failed)`. This is 57 % for `p = 1/2` and
//! 27 % for `p = 1`; with a logarithm of the score, and -0.6 for the failed call, it would be 83 %.

use std::fmt;
use std::sync::Arc;

use serde::Serialize;

use crate::arena::{Evaluation, FUEL_PER_SECOND, Start};
use crate::config::{ConfigError, RewardConfig, TestsReward};
use crate::environment::{Ending, Environment, Outcome, TestsTrace, Trace};
use crate::program::{Program, Rejection};
use crate::stats;

/// The completion does not contain the requested function.
const NO_FUNCTION: f64 = -0.40;
/// The program does not compile, with its first error in the first line, or is too long to be compiled.
const NOT_COMPILED: f64 = -0.32;
/// How much less an error in the last line costs than one in the first: half of the distance to the next failure, so that
/// the order of failures stays.
const COMPILED_SHARE: f64 = 0.04;
/// The first call raised, hung or exhausted memory.
const FIRST_CALL_FAILED: f64 = -0.24;
/// The first call returned something other than a move.
const FIRST_CALL_NO_MOVE: f64 = -0.20;
/// The program broke the game off, by a failure or by freezing.
const BROKEN_OFF: f64 = -0.12;
/// Share of `v(s)` that such a game keeps. Chosen: below 1, so that what breaks a game off costs strong programs more than
/// weak ones, and far above 0, so that every move before that pays.
const BROKEN_OFF_SHARE: f64 = 0.6;
/// `v(anchor)` in the shape for which the failures are stated.
const ANCHOR_WORTH: f64 = 0.25;
/// Factor of the failures' values in tasks, the same as for a linear game.
const TASK_UNIT: f64 = 0.25;
/// Most that a score is worth. A scale far below the scores would make more of them than 32 bits hold.
const WORTH_MAX: f64 = 1e30;
/// Halvings of a second's instructions at which the fuel bonus is paid in full; loading an empty program costs about
/// as much.
const HALVINGS: f64 = 16.0;

#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Reward {
    /// The sum of the parts.
    pub value: f32,
    /// Parts by name, in order: `game` or `tests`, which is never negative; `failure`, which is never positive; then
    /// the parts that the configuration adds.
    pub parts: Vec<(&'static str, f32)>,
}

/// The evidence that a part of a reward may use.
#[derive(Debug, Clone, Copy)]
pub struct Judged<'a> {
    pub evaluation: &'a Evaluation,
    /// Tokens of the completion, and the most that it may have; `None` if nothing was sampled.
    pub tokens: Option<(usize, usize)>,
    /// The program, if the completion holds one and it is known here.
    pub program: Option<&'a Program>,
}

impl<'a> From<&'a Evaluation> for Judged<'a> {
    fn from(evaluation: &'a Evaluation) -> Self {
        Judged { evaluation, tokens: None, program: None }
    }
}

/// A part of a reward: a function of the evidence.
type Part = fn(&Rule, &Judged<'_>) -> f64;

/// A part that a program adds to those of the configuration.
#[derive(Clone)]
struct AddedPart {
    name: &'static str,
    part: Arc<dyn Fn(&Judged<'_>) -> f64 + Send + Sync>,
}

impl fmt::Debug for AddedPart {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.name)
    }
}

/// The rule of reward in one environment under one configuration.
#[derive(Debug, Clone)]
pub struct Rule {
    config: RewardConfig,
    /// Score that earns 1.
    scale: f64,
    /// Factor of the failures' values.
    unit: f64,
    parts: Vec<(&'static str, Part)>,
    added: Vec<AddedPart>,
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
        if config.fuel_bonus > 0.0 && environment.has_tests() {
            parts.push(("fuel", fuel));
        }
        if config.length_penalty > 0.0 {
            parts.push(("length", length));
        }
        let unit = match environment.has_tests() {
            false => ((worth.anchor / scale).powf(config.exponent) / ANCHOR_WORTH).min(WORTH_MAX),
            true => TASK_UNIT,
        };
        Rule { config: config.clone(), scale, unit, parts, added: Vec::new() }
    }

    /// The same with one more part, a pure function of the evidence, which comes last.
    pub fn with_part(mut self, name: &'static str, part: impl Fn(&Judged<'_>) -> f64 + Send + Sync + 'static) -> Rule {
        self.added.push(AddedPart { name, part: Arc::new(part) });
        self
    }

    /// Refuses a setting that means nothing in this environment.
    pub fn check(config: &RewardConfig, environment: &Environment) -> Result<(), ConfigError> {
        if config.fuel_bonus == 0.0 || environment.has_tests() {
            return Ok(());
        }
        Err(ConfigError::Value {
            key: "reward.fuel_bonus".into(),
            found: config.fuel_bonus.to_string(),
            expected: format!(
                "expected 0 with --env {}: a game has no tests that a program could pass",
                environment.name()
            ),
        })
    }

    /// The names of the parts of its rewards, in order.
    pub fn names(&self) -> impl Iterator<Item = &'static str> {
        self.parts.iter().map(|(name, _)| *name).chain(self.added.iter().map(|added| added.name))
    }

    pub fn score<'a>(&self, judged: impl Into<Judged<'a>>) -> Reward {
        let judged = judged.into();
        let own = self.parts.iter().map(|(name, part)| (*name, part(self, &judged) as f32));
        let added = self.added.iter().map(|AddedPart { name, part }| (*name, part(&judged) as f32));
        let parts: Vec<(&'static str, f32)> = own.chain(added).collect();
        Reward { value: parts.iter().fold(0.0, |sum, (_, value)| sum + value), parts }
    }

    /// `v(s)`.
    fn worth(&self, score: f64) -> f64 {
        (score.max(0.0) / self.scale).powf(self.config.exponent).min(WORTH_MAX)
    }
}

/// Mean of `v(s)` over the games, reduced for games that were broken off.
fn game(rule: &Rule, judged: &Judged<'_>) -> f64 {
    let share = |outcome: &Outcome| if outcome.ending.is_well() { 1.0 } else { BROKEN_OFF_SHARE };
    match &judged.evaluation.start {
        Start::Played => mean(&judged.evaluation.games, |outcome| share(outcome) * rule.worth(outcome.score)),
        Start::Rejected(_) | Start::Faulted(_) => 0.0,
    }
}

/// Penalty for failing.
fn failure(rule: &Rule, judged: &Judged<'_>) -> f64 {
    let value = match &judged.evaluation.start {
        // A wrong answer is an answer, so a task has no further penalty: `tests` counts it.
        Start::Played => mean(&judged.evaluation.games, |outcome| match (&outcome.trace, outcome.ending.is_well()) {
            (Trace::Tests(_), _) | (_, true) => 0.0,
            (_, false) => BROKEN_OFF,
        }),
        Start::Rejected(Rejection::NoFunction { .. }) => NO_FUNCTION,
        Start::Rejected(Rejection::NotCompiled { line, lines, .. }) => {
            let share = f64::from(*line) / f64::from((*lines).max(1));
            NOT_COMPILED + COMPILED_SHARE * share.min(1.0)
        }
        // A length is a mistake in no line: few lines in the text make it no better.
        Start::Rejected(Rejection::TooLong { .. }) => NOT_COMPILED,
        Start::Faulted(fault) if fault.ending == Ending::BadMove => FIRST_CALL_NO_MOVE,
        Start::Faulted(_) => FIRST_CALL_FAILED,
    };
    rule.unit * value
}

/// Mean reward of the tests passed.
fn tests(rule: &Rule, judged: &Judged<'_>) -> f64 {
    mean(&judged.evaluation.games, |outcome| match &outcome.trace {
        Trace::Tests(trace) => worth_of_tests(trace, rule.config.tests),
        Trace::Board(_) | Trace::Transcript(_) => 0.0,
    })
}

fn worth_of_tests(trace: &TestsTrace, kind: TestsReward) -> f64 {
    let [passed, constant, all] = [trace.passed, trace.constant, trace.tests].map(f64::from);
    match kind {
        // Whatever passes there has cheated.
        _ if trace.honeypot => 0.0,
        TestsReward::All => f64::from(u8::from(trace.passed == trace.tests)),
        TestsReward::Share => passed / all.max(1.0),
        // If a constant passes all tests, they distinguish nothing; the check before a run reports it.
        TestsReward::AboveConstant if trace.constant >= trace.tests => 0.0,
        TestsReward::AboveConstant => ((passed - constant) / (all - constant)).max(0.0),
    }
}

/// Bonus for few instructions, for programs that pass every test; every halving earns the same. They are those of the
/// interpreter: the arena's rules see to it where this bonus is paid.
fn fuel(rule: &Rule, judged: &Judged<'_>) -> f64 {
    if !judged.evaluation.plays() {
        return 0.0;
    }
    let halvings = |outcome: &Outcome| match outcome.tests() {
        Some(TestsTrace { honeypot: true, .. }) => 0.0,
        _ => (FUEL_PER_SECOND as f64 / outcome.fuel.max(1) as f64).log2(),
    };
    let share = mean(&judged.evaluation.games, |outcome| (halvings(outcome) / HALVINGS).clamp(0.0, 1.0));
    rule.config.fuel_bonus * share
}

/// Penalty for a long completion, above a share of the longest length allowed.
///
/// Source: Yu et al. 2025, eq. 13, times the penalty; its `L_cache` is the part above `length_penalty_from`.
fn length(rule: &Rule, judged: &Judged<'_>) -> f64 {
    let share = judged.tokens.map_or(0.0, |(tokens, most)| tokens as f64 / most.max(1) as f64);
    let from = rule.config.length_penalty_from;
    -rule.config.length_penalty * ((share - from) / (1.0 - from)).clamp(0.0, 1.0)
}

/// Mean over outcomes; 0 if there are none.
fn mean(outcomes: &[Outcome], of: impl Fn(&Outcome) -> f64) -> f64 {
    stats::mean(outcomes.iter().map(of)) + 0.0
}

#[cfg(test)]
mod tests;
