//! Is the reward in order? Asked before a run, because a run cannot ask.
//!
//! Takes whatever turns a completion into evidence and reward (a [`TrialJudge`]; in a run the arena and the reward of its
//! own configuration), shows it players whose strength is known and programs that cheat, and gives a [`Report`] of what
//! that shows. A reward that pays the wrong thing trains the wrong thing, without a word; a few seconds of play show it.
//! Draws no chance of the run and knows no model.

mod finding;
mod game2048;
mod ladder;
mod script;
mod tasks;
mod trial;

use serde::Serialize;

pub use self::finding::{Check, Finding, Level, Setting, TaskPlace};
pub use self::tasks::{TaskCount, long_prompts};
pub use self::trial::{JudgedTrial, TrainingPath, Trial, TrialJudge};
use crate::arena::ArenaError;
use crate::config::Config;
use crate::environment::{Case, Environment, Labels};
use crate::seed::{Purpose, Seed};

/// Where one reference player stands.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Standing {
    /// Its name.
    pub name: String,
    /// Group of about equal strength; a higher one is stronger.
    pub rank: u8,
    /// Games played.
    pub games: usize,
    /// Mean score of them.
    pub mean_score: f64,
    /// Largest tile in any of them, in 2048; 0 when it did not play.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_tile: Option<u32>,
    /// What it earned.
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

/// All that was found.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Report {
    /// The reference players of a game, weakest first.
    pub players: Vec<Standing>,
    /// How many tasks there are; none of a game.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tasks: Option<TaskCount>,
    /// What the checks found, in their order.
    pub findings: Vec<Finding>,
    /// What its figures are called.
    #[serde(skip)]
    pub labels: Labels,
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

    /// The first that `check` found.
    pub fn finding(&self, check: Check) -> Option<&Finding> {
        self.findings.iter().find(|finding| finding.check == check)
    }
}

/// Is told what is being judged, how many are done, and of how many.
pub type Told<'a> = &'a dyn Fn(&'static str, usize, usize);

/// Has the references and the cheats of the environment judged, and says what that shows about the reward of `config`.
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
/// They are its own, neither training nor held-out ones, and the same in every run, so that the check depends on the
/// configuration alone and luck has no say in it.
fn seeds(games: usize) -> Vec<Case> {
    (0..games as u64).map(|game| Seed::root(0).child(Purpose::Preflight, game).into()).collect()
}

fn judged(judge: &dyn TrialJudge, trials: &[Trial]) -> Result<Vec<JudgedTrial>, ArenaError> {
    let judged = judge.judge(trials)?;
    assert_eq!(judged.len(), trials.len(), "one result a trial");
    Ok(judged)
}

/// Shares of a budget may be far below 1 %.
fn percent(share: f64) -> String {
    match 100.0 * share {
        percent if percent >= 9.95 => format!("{percent:.0}%"),
        percent if percent >= 0.095 => format!("{percent:.1}%"),
        percent => format!("{percent:.2}%"),
    }
}
