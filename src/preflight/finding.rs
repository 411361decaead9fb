//! What a check found, and whose fault it may be.

use std::fmt;

use serde::Serialize;

use crate::config::Config;

/// How serious a finding is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Level {
    /// As it should be.
    Ok,
    /// Worth knowing; nothing that stops a run.
    Warning,
    /// A run would learn the wrong thing, or nothing.
    Problem,
}

/// What is looked at.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Check {
    /// Scores, tiles and boards are those of the moves that were played.
    Replay,
    /// What does not play earns less than all that does.
    Failures,
    /// Stronger players earn more.
    Order,
    /// There is something to climb beyond the simplest player.
    Spread,
    /// The better of two games earns more.
    Games,
    /// The target tile can be reached within the limits.
    Target,
    /// What is known to be right earns everything.
    References,
    /// The same program on the same case does the same again.
    Repeats,
    /// What is known to be right stays within its budget.
    Budget,
    /// No single answer to all tests of a task earns anything.
    Constants,
    /// What the prompt shows of the tests does not give the others away.
    Shown,
    /// Tests agree with each other.
    Tests,
    /// Programs that do nothing earn nothing.
    Stubs,
    /// A prompt fits in what the model reads.
    Prompts,
    /// The rules of a game work, whatever is played.
    Rules,
    /// Cheats earn nothing.
    Cheats,
    /// A move that changes nothing is no progress.
    NoOp,
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
            Check::Rules => "rules",
            Check::References => "references",
            Check::Repeats => "repeats",
            Check::Budget => "budget",
            Check::Constants => "constants",
            Check::Shown => "shown tests",
            Check::Tests => "tests",
            Check::Stubs => "stubs",
            Check::Prompts => "prompts",
        }
    }
}

/// A key of the configuration that is not at its default.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Setting {
    /// Dotted key.
    pub key: &'static str,
    /// Its value.
    pub found: String,
    /// What it is when nobody sets it.
    pub default: String,
}

/// A task in its file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct TaskPlace {
    /// The file.
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

/// What one check found.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Finding {
    /// What was looked at.
    pub check: Check,
    /// How serious it is.
    pub level: Level,
    /// The task it is about, where it is about one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub place: Option<TaskPlace>,
    /// In words, with figures.
    pub text: String,
    /// The setting that explains it.
    pub setting: Option<Setting>,
    /// What the author of the environment can do about it. A problem with neither this nor a setting is a bug of the
    /// program.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub remedy: Option<String>,
}

impl Finding {
    pub(super) fn ok(check: Check, text: impl Into<String>) -> Finding {
        Finding { check, level: Level::Ok, place: None, text: text.into(), setting: None, remedy: None }
    }

    pub(super) fn warning(check: Check, text: impl Into<String>) -> Finding {
        Finding { level: Level::Warning, ..Finding::ok(check, text) }
    }

    pub(super) fn problem(check: Check, text: impl Into<String>) -> Finding {
        Finding { level: Level::Problem, ..Finding::ok(check, text) }
    }

    /// Says which task it is about.
    pub(super) fn at(self, place: TaskPlace) -> Finding {
        Finding { place: Some(place), ..self }
    }

    /// Says what the author of the environment can do.
    pub(super) fn mend(self, remedy: impl Into<String>) -> Finding {
        Finding { remedy: Some(remedy.into()), ..self }
    }

    /// Names the first of `keys` that `config` does not leave at its default.
    pub(super) fn blame(self, config: &Config, keys: &[&'static str]) -> Finding {
        Finding { setting: keys.iter().find_map(|key| changed(config, key)), ..self }
    }
}

fn changed(config: &Config, key: &'static str) -> Option<Setting> {
    let table = |config: &Config| toml::Table::try_from(config).expect("a configuration is TOML");
    let defaults = Config::preset("builtin").expect("presets are tested");
    let (section, name) = key.split_once('.')?;
    let (found, default) = (&table(config)[section][name], &table(&defaults)[section][name]);
    (found != default).then(|| Setting { key, found: words(found), default: words(default) })
}

/// `1e200` is easier to read than two hundred zeros.
fn words(value: &toml::Value) -> String {
    value.as_float().map_or_else(|| value.to_string(), |number| format!("{number:?}"))
}
