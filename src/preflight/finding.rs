//! What a check found, and whose fault it may be.

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
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
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
    /// Cheats earn nothing.
    Cheats,
    /// A move that changes nothing is no progress.
    NoOp,
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

/// What one check found.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Finding {
    /// What was looked at.
    pub check: Check,
    /// How serious it is.
    pub level: Level,
    /// In words, with figures.
    pub text: String,
    /// The setting that explains it. A problem without one is a bug of the program.
    pub setting: Option<Setting>,
}

impl Finding {
    pub(super) fn ok(check: Check, text: impl Into<String>) -> Finding {
        Finding { check, level: Level::Ok, text: text.into(), setting: None }
    }

    pub(super) fn warning(check: Check, text: impl Into<String>) -> Finding {
        Finding { check, level: Level::Warning, text: text.into(), setting: None }
    }

    pub(super) fn problem(check: Check, text: impl Into<String>) -> Finding {
        Finding { check, level: Level::Problem, text: text.into(), setting: None }
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
