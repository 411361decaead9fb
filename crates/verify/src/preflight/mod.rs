//! Checks the reward before a run.
//!
//! Takes a [`TrialJudge`], which turns a completion into evidence and reward (in a run: the arena and the reward of its own
//! configuration); shows it players of known strength and programs that cheat, and gives a [`Report`] on their
//! rewards. A reward that pays the wrong thing would silently train the wrong thing; a few seconds of play reveal it.
//! Uses none of the run's random streams, and knows no model.

mod finding;
mod game2048;
mod ladder;
mod script;
mod tasks;
mod trial;

use serde::Serialize;

pub use self::finding::{Check, CheckFinding, Level, Setting, TaskPlace};
pub use self::tasks::{Audit, Earned, TaskCount, Ungraded, audit, long_prompts};
pub use self::trial::{JudgedTrial, TrainingPath, Trial, TrialJudge};
use crate::arena::ArenaError;
use crate::config::Config;
use crate::environment::{Case, Environment, Labels};
pub use crate::grader::{Form, Grader};
use crate::seed::{Purpose, Seed};

/// The result of one reference player.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Standing {
    /// Name of the player.
    pub name: String,
    /// Rank among players of about equal strength; higher is stronger.
    pub rank: u8,
    /// Number of games.
    pub games: usize,
    /// Mean score of the games.
    pub mean_score: f64,
    /// Largest tile of all games, in 2048; 0 if it did not play.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_tile: Option<u32>,
    /// The reward.
    pub reward: f32,
}

impl Standing {
    fn new(name: &str, rank: u8, judged: &JudgedTrial) -> Standing {
        Standing {
            name: name.to_owned(),
            rank,
            games: judged.evaluation.games.len(),
            mean_score: judged.evaluation.mean_score(),
            max_tile: None,
            reward: judged.reward.value,
        }
    }
}

/// The result of the check.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Report {
    /// The reference players of a game, weakest first.
    pub players: Vec<Standing>,
    /// Number of tasks; absent for a game.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tasks: Option<TaskCount>,
    /// The findings, in the order of the checks.
    pub findings: Vec<CheckFinding>,
    /// Names of the environment's figures.
    #[serde(skip)]
    pub labels: Labels,
}

impl Report {
    /// The most serious level of any finding.
    pub fn level(&self) -> Level {
        self.findings.iter().map(|finding| finding.level).max().unwrap_or(Level::Ok)
    }

    /// Findings of this level.
    pub fn of_level(&self, level: Level) -> impl Iterator<Item = &CheckFinding> {
        self.findings.iter().filter(move |finding| finding.level == level)
    }

    /// The first finding of `check`.
    pub fn finding(&self, check: Check) -> Option<&CheckFinding> {
        self.findings.iter().find(|finding| finding.check == check)
    }
}

/// Receives what is being judged, how many are done, and of how many.
pub type Told<'a> = &'a dyn Fn(&'static str, usize, usize);

/// Judges the environment's references and cheats, and reports what their rewards show about `config`.
pub fn examine(
    config: &Config,
    environment: &Environment,
    judge: &dyn TrialJudge,
    told: Told<'_>,
) -> Result<Report, ArenaError> {
    match environment {
        Environment::Game2048 => game2048::examine(config, judge),
        Environment::Script(game) => script::examine(config, game, judge, told),
        Environment::Tasks(tasks) => tasks::examine(config, tasks, judge, told),
    }
}

/// The first games of the check.
///
/// They differ from training and held-out games and are the same in every run, so that the check depends on the
/// configuration alone.
fn seeds(games: usize) -> Vec<Case> {
    (0..games as u64).map(|game| Seed::root(0).child(Purpose::Preflight, game).into()).collect()
}

fn judged(judge: &dyn TrialJudge, trials: &[Trial]) -> Result<Vec<JudgedTrial>, ArenaError> {
    let judged = judge.judge(trials)?;
    assert_eq!(judged.len(), trials.len(), "one result a trial");
    Ok(judged)
}

/// A share as a percentage, with more digits below 1 %.
fn percent(share: f64) -> String {
    match 100.0 * share {
        percent if percent >= 9.95 => format!("{percent:.0}%"),
        percent if percent >= 0.095 => format!("{percent:.1}%"),
        percent => format!("{percent:.2}%"),
    }
}
