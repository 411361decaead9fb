//! Findings of the reward check, with what may have caused them.

use std::fmt;

use serde::Serialize;

use crate::config::Config;

/// How serious a finding is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Level {
    /// As it should be.
    Ok,
    /// Worth knowing, but no reason to stop a run.
    Warning,
    /// A run would learn the wrong thing, or nothing.
    Problem,
}

/// A check of the reward.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Check {
    /// Scores, tiles and boards follow from the moves that were played.
    Replay,
    /// Programs that do not play earn less than all programs that play.
    Failures,
    /// Stronger players earn more.
    Order,
    /// The best player earns clearly more than the simplest one.
    Spread,
    /// The better of two games earns more.
    Games,
    /// The target tile can be reached within the limits.
    Target,
    /// The sandbox has every module that reference programs import.
    Modules,
    /// Correct reference programs earn the full reward.
    References,
    /// The same program on the same case gives the same result again.
    Repeats,
    /// Correct reference programs stay within their budget.
    Budget,
    /// What the bonus for few instructions pays correct reference programs.
    FuelBonus,
    /// No honest program passes a honeypot.
    Honeypots,
    /// A single answer to all tests of a task earns nothing.
    Constants,
    /// The tests shown in the prompt do not give the other answers away.
    Shown,
    /// The tests of a task do not contradict each other.
    Tests,
    /// Programs that do nothing earn nothing.
    Stubs,
    /// Every prompt fits into the model's context.
    Prompts,
    /// The rules of a game work for every sequence of actions.
    Rules,
    /// Cheats earn nothing.
    Cheats,
    /// A move that changes nothing earns nothing.
    NoOp,
    /// A grader answers every completion.
    Answers,
    /// Rewards are numbers.
    Numbers,
    /// Whether a program can know the boards of the run.
    Boards,
}

impl Check {
    /// The name in messages.
    pub fn name(self) -> &'static str {
        match self {
            Check::Replay => "replay",
            Check::Failures => "failures",
            Check::Order => "order",
            Check::Spread => "spread",
            Check::Games => "games",
            Check::Target => "target",
            Check::Cheats => "cheats",
            Check::NoOp => "no-op",
            Check::Boards => "boards",
            Check::Answers => "answers",
            Check::Numbers => "numbers",
            Check::Rules => "rules",
            Check::Modules => "modules",
            Check::References => "references",
            Check::Repeats => "repeats",
            Check::Budget => "budget",
            Check::FuelBonus => "fuel bonus",
            Check::Honeypots => "honeypots",
            Check::Constants => "constants",
            Check::Shown => "shown tests",
            Check::Tests => "tests",
            Check::Stubs => "stubs",
            Check::Prompts => "prompts",
        }
    }
}

/// A setting that is not at its default.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Setting {
    /// Dotted key.
    pub key: &'static str,
    pub found: String,
    pub default: String,
}

/// The place of a task in its file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct TaskPlace {
    pub file: String,
    /// Line of the task, from 1.
    pub line: usize,
    /// Its name.
    pub task: String,
}

impl fmt::Display for TaskPlace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{} ({})", self.file, self.line, self.task)
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct CheckFinding {
    pub check: Check,
    pub level: Level,
    /// The task concerned, if there is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub place: Option<TaskPlace>,
    pub text: String,
    /// The setting that explains the finding.
    pub setting: Option<Setting>,
    /// What the author of the environment can do about it. A problem with neither a remedy nor a setting is a bug of
    /// this program.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub remedy: Option<String>,
}

impl CheckFinding {
    pub(super) fn ok(check: Check, text: impl Into<String>) -> CheckFinding {
        CheckFinding { check, level: Level::Ok, place: None, text: text.into(), setting: None, remedy: None }
    }

    pub(super) fn warning(check: Check, text: impl Into<String>) -> CheckFinding {
        CheckFinding { level: Level::Warning, ..CheckFinding::ok(check, text) }
    }

    pub(super) fn problem(check: Check, text: impl Into<String>) -> CheckFinding {
        CheckFinding { level: Level::Problem, ..CheckFinding::ok(check, text) }
    }

    /// The same finding about this task.
    pub(super) fn at(self, place: TaskPlace) -> CheckFinding {
        CheckFinding { place: Some(place), ..self }
    }

    /// The same finding with a remedy for the author of the environment.
    pub(super) fn mend(self, remedy: impl Into<String>) -> CheckFinding {
        CheckFinding { remedy: Some(remedy.into()), ..self }
    }

    /// The same finding, blamed on the first of `keys` that is not at its default in `config`.
    pub(super) fn blame(self, config: &Config, keys: &[&'static str]) -> CheckFinding {
        CheckFinding { setting: keys.iter().find_map(|key| changed(config, key)), ..self }
    }
}

fn changed(config: &Config, key: &'static str) -> Option<Setting> {
    let table = |config: &Config| toml::Table::try_from(config).expect("a configuration is TOML");
    let defaults = Config::preset("builtin").expect("presets are tested");
    let (section, name) = key.split_once('.')?;
    let (found, default) = (&table(config)[section][name], &table(&defaults)[section][name]);
    (found != default).then(|| Setting { key, found: words(found), default: words(default) })
}

/// A float is written as `1e200`, rather than with two hundred zeros.
fn words(value: &toml::Value) -> String {
    value.as_float().map_or_else(|| value.to_string(), |number| format!("{number:?}"))
}
