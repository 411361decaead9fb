//! What a check found.

use serde::Serialize;

use super::finding::{Check, CheckFinding, Level};
use super::trial::JudgedTrial;
use crate::environment::Labels;

/// Number of tasks, and of those with problems.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct TaskCount {
    pub tasks: usize,
    pub tests: usize,
    /// Tasks with a problem of their own.
    pub to_mend: usize,
}

/// The result of one reference player.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Standing {
    pub name: String,
    /// Rank among players of about equal strength; higher is stronger.
    pub rank: u8,
    pub games: usize,
    pub mean_score: f64,
    /// Largest tile of all games, in 2048; 0 if it did not play.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_tile: Option<u32>,
    pub reward: f32,
}

impl Standing {
    pub(super) fn new(name: &str, rank: u8, judged: &JudgedTrial) -> Standing {
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

    pub fn of_level(&self, level: Level) -> impl Iterator<Item = &CheckFinding> {
        self.findings.iter().filter(move |finding| finding.level == level)
    }

    /// The first finding of `check`.
    pub fn finding(&self, check: Check) -> Option<&CheckFinding> {
        self.findings.iter().find(|finding| finding.check == check)
    }
}

/// A share as a percentage, with more digits below 1 %.
pub(super) fn fine_percent(share: f64) -> String {
    match 100.0 * share {
        percent if percent >= 9.95 => format!("{percent:.0}%"),
        percent if percent >= 0.095 => format!("{percent:.1}%"),
        percent => format!("{percent:.2}%"),
    }
}
