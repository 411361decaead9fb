//! Is the reward in order? Asked before a run, because a run cannot ask.
//!
//! Takes whatever turns a completion into evidence and reward (a [`Judge`]; in a run the arena and the reward of its
//! own configuration), shows it players whose strength is known and programs that cheat, and gives a [`Report`] with one
//! [`Finding`] a check. A reward that pays the wrong thing trains the wrong thing, without a word; a few seconds of
//! play show it. Draws no chance of the run and knows no model.

mod checks;
mod finding;
#[cfg(test)]
mod tests;
mod trial;

use serde::Serialize;

pub use self::finding::{Check, Finding, Level, Setting};
pub use self::trial::Trial;
use crate::arena::{Arena, ArenaError, Evaluation};
use crate::config::{Config, RewardConfig};
use crate::environment::game2048::ladder::{RUNGS, Rung};
use crate::reward::{Reward, Rule};

/// What became of a trial.
#[derive(Debug, Clone)]
pub struct Judged {
    /// How it played.
    pub evaluation: Evaluation,
    /// What that is worth.
    pub reward: Reward,
}

/// Turns completions into evidence and reward: what is under test.
pub trait Judge {
    /// One result a trial, in order.
    fn judge(&self, trials: &[Trial]) -> Result<Vec<Judged>, ArenaError>;
}

/// The path that completions take in training: extraction, arena, reward.
pub struct TrainingPath<'a> {
    /// Where programs play.
    pub arena: &'a Arena,
    /// What play is worth.
    pub reward: &'a RewardConfig,
}

impl Judge for TrainingPath<'_> {
    fn judge(&self, trials: &[Trial]) -> Result<Vec<Judged>, ArenaError> {
        // The longest games begin first and leave no tail.
        let programs =
            trials.iter().rev().map(|trial| (self.arena.program(&trial.text, trial.cases[0]), trial.cases.as_slice()));
        let rule = Rule::new(self.reward, self.arena.environment());
        let evaluations = self.arena.evaluate_all(programs, &mut |_, _| ())?.into_iter().rev();
        Ok(evaluations.map(|evaluation| Judged { reward: rule.score(&evaluation), evaluation }).collect())
    }
}

/// Where one reference player stands.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Standing {
    /// Its name.
    pub name: &'static str,
    /// Group of about equal strength; a higher one is stronger.
    pub rank: u8,
    /// Games played.
    pub games: usize,
    /// Mean score of them.
    pub mean_score: f64,
    /// Largest tile in any of them; 0 when it did not play.
    pub max_tile: u32,
    /// What it earned.
    pub reward: f32,
}

/// All that was found.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Report {
    /// The reference players, weakest first.
    pub players: Vec<Standing>,
    /// One finding a check.
    pub findings: Vec<Finding>,
}

impl Report {
    /// The most serious level of any finding.
    pub fn level(&self) -> Level {
        self.findings.iter().map(|finding| finding.level).max().unwrap_or(Level::Ok)
    }

    /// Findings of this level.
    pub fn of_level(&self, level: Level) -> impl Iterator<Item = &Finding> {
        self.findings.iter().filter(move |finding| finding.level == level)
    }

    /// What `check` found.
    pub fn finding(&self, check: Check) -> Option<&Finding> {
        self.findings.iter().find(|finding| finding.check == check)
    }
}

/// Has the reference players and the cheats judged, and says what that shows about the reward of `config`.
pub fn examine(config: &Config, judge: &dyn Judge) -> Result<Report, ArenaError> {
    let trials = trial::trials();
    let judged = judge.judge(&trials)?;
    assert_eq!(judged.len(), trials.len(), "one result a trial");
    let players = RUNGS.iter().zip(&judged).map(|(rung, judged)| standing(rung, judged)).collect();
    let evidence = checks::Evidence { config, trials: &trials, judged: &judged };
    Ok(Report { players, findings: evidence.findings() })
}

fn standing(rung: &Rung, judged: &Judged) -> Standing {
    Standing {
        name: rung.name,
        rank: rung.rank,
        games: judged.evaluation.games.len(),
        mean_score: judged.evaluation.mean_score(),
        max_tile: judged.evaluation.max_tile(),
        reward: judged.reward.value,
    }
}
