//! All settings, with their defaults, units and checks.
//!
//! `default.toml` beside this file has the defaults and their explanations; the structs here give the types. Layers are
//! merged as TOML tables, defaults < preset < file < `--set` < flags, and only the merged table is turned into a
//! [`Config`], so an unknown key or a wrong type is found in every layer. The origin of each value is recorded.

mod check;
mod choices;
mod error;
mod learning;
mod nearest;
mod sections;
pub mod trl;

use std::collections::BTreeMap;
use std::num::IntErrorKind;

use toml::{Table, Value};

pub use choices::*;
pub use error::{ConfigError, toml_refused};
pub use learning::*;
pub use nearest::nearest;
pub use sections::*;

/// The defaults with comments, as `grpo-2048 config` prints them.
pub const DEFAULT_TOML: &str = include_str!("default.toml");

/// The settings that differ for pretrained language models.
const LLM: &str = include_str!("presets/llm.toml");

/// The settings of one GPU, whatever its memory.
const GPU: &str = include_str!("presets/gpu.toml");

/// A named set of settings: layers of TOML with comments over the defaults.
#[derive(Debug, Clone, Copy)]
pub struct Preset {
    /// The name for `--preset`.
    pub name: &'static str,
    /// Its purpose.
    pub about: &'static str,
    /// Its layers, of which later ones take precedence.
    pub layers: &'static [&'static str],
}

const fn preset(name: &'static str, about: &'static str, layers: &'static [&'static str]) -> Preset {
    Preset { name, about, layers }
}

/// All presets. Those for a machine extend the one for language models.
pub const PRESETS: &[Preset] = &[
    preset("builtin", "the built-in model, in half an hour on two cores", &[]),
    preset("demo", "the built-in model for a look, in about two minutes", &[include_str!("presets/demo.toml")]),
    preset(
        "search",
        "the built-in model with five seconds a game, for players that look further ahead",
        &[include_str!("presets/search.toml")],
    ),
    preset("llm", "any language model, with LoRA", &[LLM]),
    preset(
        "games",
        "a language model that writes players of 2048 or of another game",
        &[LLM, include_str!("presets/games.toml")],
    ),
    preset("laptop", "SmolLM2-135M on a processor", &[LLM, include_str!("presets/laptop.toml")]),
    preset("gpu-8gb", "Qwen2.5-Coder-0.5B on one GPU with 8 GB", &[LLM, GPU, include_str!("presets/gpu-8gb.toml")]),
    preset("gpu-12gb", "Qwen2.5-Coder-1.5B on one GPU with 12 GB", &[LLM, GPU, include_str!("presets/gpu-12gb.toml")]),
    preset("gpu-16gb", "Qwen2.5-Coder-1.5B on one GPU with 16 GB", &[LLM, GPU, include_str!("presets/gpu-16gb.toml")]),
    preset("gpu-24gb", "Qwen2.5-Coder-1.5B on one GPU with 24 GB", &[LLM, GPU, include_str!("presets/gpu-24gb.toml")]),
    preset("gpu-48gb", "Qwen2.5-Coder-7B on one GPU with 48 GB", &[LLM, GPU, include_str!("presets/gpu-48gb.toml")]),
    preset("gpu-80gb", "Qwen2.5-Coder-7B on one GPU with 80 GB", &[LLM, GPU, include_str!("presets/gpu-80gb.toml")]),
    preset("h200", "Qwen2.5-Coder-1.5B on one H200", &[LLM, include_str!("presets/h200.toml")]),
];

/// The dotted names of all keys (`section.key`), in the order of `default.toml`.
pub fn keys() -> Vec<String> {
    let defaults: Table = DEFAULT_TOML.parse().expect("default.toml is TOML");
    let sections = defaults.iter().filter_map(|(section, value)| Some((section, value.as_table()?)));
    sections.flat_map(|(section, keys)| keys.keys().map(move |key| format!("{section}.{key}"))).collect()
}

/// The dotted names of the keys with the name `name` in any section.
pub fn known_as(name: &str) -> Vec<String> {
    keys().into_iter().filter(|key| key.rsplit_once('.').is_some_and(|(_, last)| last == name)).collect()
}

/// The dotted names of the keys that `name` without a section may mean, by their own or by TRL's name.
pub fn places(name: &str) -> Vec<String> {
    let ours = known_as(name);
    if ours.is_empty() { trl::of_trl(name).map(str::to_owned).into_iter().collect() } else { ours }
}

/// The beginning of the origin of a preset's values.
const PRESET: &str = "preset ";

/// Collects layers and turns them into a checked [`Config`].
#[derive(Debug, Clone)]
pub struct Layers {
    merged: Table,
    origins: BTreeMap<String, String>,
    imported: Imported,
}

/// The results of importing files of TRL, besides the settings.
#[derive(Debug, Clone, Default)]
struct Imported {
    answers: Vec<trl::TrlAnswer>,
    needs: Vec<trl::Need>,
    shares: Vec<trl::Share>,
    /// The keys that were set, with their origins.
    settings: BTreeMap<String, String>,
}

impl Default for Layers {
    fn default() -> Self {
        let merged = DEFAULT_TOML.parse().expect("default.toml is TOML");
        Layers { merged, origins: BTreeMap::new(), imported: Imported::default() }
    }
}

impl Layers {
    /// Adds the layers of a preset.
    pub fn preset(&mut self, name: &str) -> Result<(), ConfigError> {
        let Some(preset) = PRESETS.iter().find(|preset| preset.name == name) else {
            let known: Vec<&str> = PRESETS.iter().map(|preset| preset.name).collect();
            return Err(ConfigError::UnknownPreset { found: name.into(), known: known.join(", ") });
        };
        preset.layers.iter().try_for_each(|text| self.text(&format!("{PRESET}{name}"), text))
    }

    /// Adds TOML text as a layer, without the table `[run]` of recorded configurations.
    pub fn text(&mut self, origin: &str, text: &str) -> Result<(), ConfigError> {
        let mut layer: Table = text.parse().map_err(|error: toml::de::Error| ConfigError::Syntax {
            origin: origin.into(),
            message: toml_refused(&error, text),
        })?;
        layer.remove("run");
        self.lay(layer, origin)
    }

    /// Adds the text of a YAML file of TRL, whose name is `origin`, as a layer.
    pub fn trl(&mut self, origin: &str, text: &str) -> Result<(), ConfigError> {
        let trl::Import { settings, answers, needs, shares } = trl::import(origin, text, &Layers::default().merged)?;
        for ((key, value), from) in settings {
            self.value(&from, key, value)?;
            self.imported.settings.insert(key.into(), from);
        }
        self.imported.answers.extend(answers);
        self.imported.needs.extend(needs);
        self.imported.shares.extend(shares);
        self.count_shares();
        Ok(())
    }

    /// How each key of the files of TRL was imported.
    pub fn answers(&self) -> &[trl::TrlAnswer] {
        &self.imported.answers
    }

    /// The layer that set a dotted key: a file, a preset, or a flag with its value; none if it has its default.
    pub fn origin(&self, key: &str) -> Option<&str> {
        self.origins.get(key).map(String::as_str)
    }

    /// Adds one `section.key=value` as a layer. A word without quotes is a string.
    pub fn assignment(&mut self, assignment: &str) -> Result<(), ConfigError> {
        self.assignment_of("--set", assignment)
    }

    /// The same for a value of `flag`.
    pub fn assignment_of(&mut self, flag: &str, assignment: &str) -> Result<(), ConfigError> {
        let origin = format!("{flag} {assignment}");
        let Some((key, value)) = assignment.split_once('=') else {
            return Err(ConfigError::Syntax { origin, message: "expected section.key=value".into() });
        };
        let (key, value) = (key.trim(), value.trim());
        let parsed = format!("v = {value}").parse::<Table>().ok().and_then(|mut table| table.remove("v"));
        let is_no_text = |value: &Value| !matches!(value, Value::String(_) | Value::Array(_) | Value::Table(_));
        let parsed = match (self.found(key), parsed) {
            // A setting that is text takes a number, a date or `true` as it was typed, as in `environment.env=2048`.
            (Some(Value::String(_)), Some(value)) if is_no_text(&value) => None,
            // TOML has neither `.7` nor whole numbers with an exponent, such as 1e6.
            (Some(Value::Float(_)), None) => value.parse().ok().map(Value::Float),
            (Some(Value::Integer(_)), Some(Value::Float(number))) if number.fract() == 0.0 && number.abs() < 1e15 => {
                Some(Value::Integer(number as i64))
            }
            (_, parsed) => parsed,
        };
        self.value(&origin, key, parsed.unwrap_or_else(|| Value::String(value.into())))
    }

    /// The value that a dotted key has so far, if there is such a key.
    fn found(&self, key: &str) -> Option<&Value> {
        let (section, name) = key.split_once('.')?;
        self.merged.get(section)?.get(name)
    }

    /// Sets one dotted key.
    pub fn value(&mut self, origin: &str, key: &str, value: impl Into<Value>) -> Result<(), ConfigError> {
        let Some((section, name)) = key.split_once('.') else {
            return Err(unknown(&self.merged, origin, key, key));
        };
        let layer =
            Table::from_iter([(section.to_owned(), Value::Table(Table::from_iter([(name.into(), value.into())])))]);
        self.lay(layer, origin)
    }

    fn lay(&mut self, layer: Table, origin: &str) -> Result<(), ConfigError> {
        for (section, values) in &layer {
            for key in values.as_table().into_iter().flat_map(Table::keys) {
                self.origins.insert(format!("{section}.{key}"), origin.into());
            }
        }
        merge(&mut self.merged, layer, origin, "")?;
        self.count_shares();
        Ok(())
    }

    /// Sets what files of TRL say as shares of the run, and no later layer has set, by the run's length so far.
    fn count_shares(&mut self) {
        let Some(steps) = self.merged["train"]["max_steps"].as_integer() else { return };
        for trl::Share { key, origin, of_run } in self.imported.shares.clone() {
            if self.origin(key) == Some(&origin) {
                let (section, name) = key.split_once('.').expect("keys are dotted");
                let number = Value::Integer((of_run * steps as f64).ceil() as i64);
                self.answered(&origin, key, number.clone(), format!("{of_run} of {steps}"));
                self.merged[section][name] = number;
            }
        }
    }

    /// What has become of the key of TRL with this origin.
    fn answered(&mut self, origin: &str, key: &'static str, value: Value, note: String) {
        for answer in self.imported.answers.iter_mut().filter(|answer| origin.ends_with(&format!(": {}", answer.key))) {
            (answer.settings, answer.note) = (vec![(key, value.clone())], note.clone());
        }
    }

    /// The settings that files of TRL need and that nothing has set. Values of presets do not count, because a preset
    /// does not know the file.
    fn lacking(&self) -> impl Iterator<Item = &trl::Need> {
        let is_chosen = |key| self.origin(key).is_some_and(|origin| !origin.starts_with(PRESET));
        self.imported.needs.iter().filter(move |need| !is_chosen(need.key))
    }

    /// The number of epochs (passes over the tasks) of a file of TRL and the origin of its key, if nothing sets the
    /// number of steps.
    pub fn epochs(&self) -> Option<(f64, &str)> {
        self.lacking().find_map(|need| match need.lacking {
            trl::Lacking::Epochs(epochs) => Some((epochs, need.origin.as_str())),
            trl::Lacking::Said { .. } => None,
        })
    }

    /// Sets the number of steps of these epochs, with an explanation.
    pub fn count_epochs(&mut self, steps: usize, why: String) -> Result<(), ConfigError> {
        let Some((_, origin)) = self.epochs() else { return Ok(()) };
        let (origin, steps) = (origin.to_owned(), Value::Integer(steps as i64));
        self.answered(&origin, "train.max_steps", steps.clone(), why);
        self.value(&origin, "train.max_steps", steps)
    }

    fn check_needs(&self) -> Result<(), ConfigError> {
        let refused = self.lacking().find_map(|need| match &need.lacking {
            trl::Lacking::Said { found, hint } => {
                let origin = format!("{} = {found}", need.origin);
                Some(ConfigError::Foreign { origin, refused: Vec::new(), hint: hint.clone() })
            }
            trl::Lacking::Epochs(_) => None,
        });
        refused.map_or(Ok(()), Err)
    }

    /// The checked configuration.
    pub fn resolve(self) -> Result<Config, ConfigError> {
        self.check_needs()?;
        let Layers { merged, origins, imported } = self;
        let config = serde_path_to_error::deserialize::<_, Config>(Value::Table(merged.clone()));
        let config = config.map_err(|error| refused(&error, &merged));
        let checked = config.and_then(|config| config.check().map(|()| config));
        checked.map_err(|error| match error {
            // The user set the value with a flag or a key of TRL, so the message has to name this.
            ConfigError::Value { key, found, expected } => {
                let foreign = imported.settings.get(&key).filter(|from| origins.get(&key) == Some(*from));
                let flag = origins.get(&key).filter(|from| from.starts_with("--") && !from.contains(' '));
                let (key, found) = match (flag, foreign) {
                    (Some(flag), _) => (flag.clone(), format!("{found} ({key})")),
                    (_, Some(from)) => (key, format!("{found} ({from})")),
                    _ => (key, found),
                };
                ConfigError::Value { key, found, expected }
            }
            other => other,
        })
    }
}

/// Merges `layer` into `base`. Keys that `base` does not have are unknown. A whole number may stand for a float.
fn merge(base: &mut Table, layer: Table, origin: &str, path: &str) -> Result<(), ConfigError> {
    for (key, value) in layer {
        let dotted = if path.is_empty() { key.clone() } else { format!("{path}.{key}") };
        let known = base.clone();
        match (base.get_mut(&key), value) {
            (None, _) => return Err(unknown(&known, origin, &dotted, &key)),
            (Some(Value::Table(inner)), Value::Table(value)) => merge(inner, value, origin, &dotted)?,
            (Some(Value::Table(_)), value) => {
                return Err(ConfigError::Value {
                    key: dotted,
                    found: value.to_string(),
                    expected: format!("expected a section, [{key}] with a line for each setting (from {origin})"),
                });
            }
            (Some(slot @ Value::Float(_)), Value::Integer(value)) => *slot = Value::Float(value as f64),
            (Some(slot), value) if slot.same_type(&value) => *slot = value,
            (Some(slot), value) => {
                let parsed = value.as_str().filter(|_| slot.is_integer()).map(str::parse::<i64>);
                let expected = match parsed {
                    // TOML has no such integer, so that `--set` took it for a word.
                    Some(Err(error)) if *error.kind() == IntErrorKind::PosOverflow => {
                        format!("expected at most {} (from {origin})", i64::MAX)
                    }
                    _ => format!("expected {}, as in {slot} (from {origin})", slot.type_str()),
                };
                return Err(ConfigError::Value { key: dotted, found: value.to_string(), expected });
            }
        }
    }
    Ok(())
}

/// Losses that are no slips of the pen for one of ours.
const OTHER_ALGORITHMS: &[&str] = &["dpo", "ipo", "kto", "orpo", "ppo", "rloo", "simpo", "sft"];

/// The error about an invalid value, with the message of its type or with the list of valid values.
fn refused(error: &serde_path_to_error::Error<toml::de::Error>, merged: &Table) -> ConfigError {
    let (key, message) = (error.path().to_string(), error.inner().message());
    // An item of a list is named by the list and its number, as in `rollout.servers[0]`.
    let found = key.split_once('.').and_then(|(section, name)| merged.get(section)?.get(name.split('[').next()?));
    let words: Vec<&str> = message.split('`').skip(1).step_by(2).collect();
    let expected = match words.as_slice() {
        [found, allowed @ ..] if message.starts_with("unknown variant") => {
            let near = nearest(found, allowed.iter().copied()).map(|nearest| format!("; did you mean `{nearest}`?"));
            let other = || OTHER_ALGORITHMS.contains(found).then(|| format!("; {found} is another algorithm"));
            let hint = other().or(near);
            format!("expected one of {}{}", allowed.join(", "), hint.unwrap_or_default())
        }
        _ if message.starts_with("invalid value: integer") => "expected a whole number in range, 0 or more".to_owned(),
        _ => message.to_owned(),
    };
    ConfigError::Value { key, found: found.map(Value::to_string).unwrap_or_default(), expected }
}

/// Keys that runs of 0.1.0 have recorded and that are gone, with what does without them.
const GONE: [(&str, &str); 1] = [("sandbox.backstop_seconds", "fuel alone bounds a call")];

/// The error about an unknown key, with a hint to its section or to the nearest known key.
fn unknown(known: &Table, origin: &str, dotted: &str, key: &str) -> ConfigError {
    let gone = GONE.iter().find(|(gone, _)| *gone == dotted);
    let hint = match (gone, places(key).as_slice(), nearest(key, known.keys().map(String::as_str))) {
        (Some((_, why)), ..) => {
            format!("; it is a key of 0.1.0 and gone, {why}: leave it out (no run of 0.1.0 can be resumed)")
        }
        (_, places @ [_, ..], _) => format!("; say {}", places.join(" or ")),
        (.., Some(section)) if section == key => format!("; it is a section: say {section}.KEY=VALUE"),
        (.., Some(nearest)) => format!("; did you mean `{nearest}`?"),
        _ => format!("; known here: {}", known.keys().cloned().collect::<Vec<_>>().join(", ")),
    };
    ConfigError::UnknownKey { origin: origin.into(), key: dotted.into(), hint }
}

#[cfg(test)]
mod tests;
