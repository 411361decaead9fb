//! Every knob, its default, unit and check.
//!
//! `default.toml` beside this file is where defaults and their explanations live; the structs here say the types, with
//! the same explanations. Layers are merged as TOML tables, defaults < preset < file < `--set` < flags, and only the merged table
//! is turned into a [`Config`], so an unknown key or a wrong type is found whichever layer it came from. Where a value
//! comes from is kept beside it.

mod check;
mod choices;
mod error;
mod learning;
mod nearest;
mod sections;
pub mod trl;

use std::collections::BTreeMap;
use std::path::Path;

use toml::{Table, Value};

pub use choices::*;
pub use error::ConfigError;
pub use learning::*;
pub use nearest::nearest;
pub use sections::*;

/// The commented defaults, as `grpo-2048 config` prints them.
pub const DEFAULT_TOML: &str = include_str!("default.toml");

/// What differs when a real language model is trained instead of the built-in one.
const LLM: &str = include_str!("presets/llm.toml");

/// A named starting point: layers of commented TOML over the defaults.
#[derive(Debug, Clone, Copy)]
pub struct Preset {
    /// What `--preset` takes.
    pub name: &'static str,
    /// What it is for.
    pub about: &'static str,
    /// Later ones win.
    pub layers: &'static [&'static str],
}

/// All presets. Those for a machine lie over the one for language models.
pub const PRESETS: &[Preset] = &[
    Preset { name: "builtin", about: "the built-in model, in about ten minutes on two cores", layers: &[] },
    Preset {
        name: "search",
        about: "the built-in model with five seconds a game, for players that look further ahead",
        layers: &[include_str!("presets/search.toml")],
    },
    Preset { name: "llm", about: "any language model, with LoRA", layers: &[LLM] },
    Preset {
        name: "laptop",
        about: "SmolLM2-135M on a processor",
        layers: &[LLM, include_str!("presets/laptop.toml")],
    },
    Preset {
        name: "gpu-8gb",
        about: "Qwen2.5-Coder-0.5B on one GPU with 8 GB",
        layers: &[LLM, include_str!("presets/gpu-8gb.toml")],
    },
    Preset {
        name: "gpu-12gb",
        about: "Qwen2.5-Coder-1.5B on one GPU with 12 GB",
        layers: &[LLM, include_str!("presets/gpu-12gb.toml")],
    },
    Preset {
        name: "gpu-16gb",
        about: "Qwen2.5-Coder-1.5B on one GPU with 16 GB",
        layers: &[LLM, include_str!("presets/gpu-16gb.toml")],
    },
    Preset {
        name: "gpu-24gb",
        about: "Qwen2.5-Coder-1.5B on one GPU with 24 GB",
        layers: &[LLM, include_str!("presets/gpu-24gb.toml")],
    },
    Preset {
        name: "gpu-48gb",
        about: "Qwen2.5-Coder-7B on one GPU with 48 GB",
        layers: &[LLM, include_str!("presets/gpu-48gb.toml")],
    },
    Preset {
        name: "gpu-80gb",
        about: "Qwen2.5-Coder-7B on one GPU with 80 GB",
        layers: &[LLM, include_str!("presets/gpu-80gb.toml")],
    },
    Preset { name: "h200", about: "Qwen2.5-Coder-1.5B on one H200", layers: &[LLM, include_str!("presets/h200.toml")] },
];

/// Dotted names of all keys, in the order of `default.toml`.
pub fn keys() -> Vec<String> {
    let defaults: Table = DEFAULT_TOML.parse().expect("default.toml is TOML");
    let sections = defaults.iter().filter_map(|(section, value)| Some((section, value.as_table()?)));
    sections.flat_map(|(section, keys)| keys.keys().map(move |key| format!("{section}.{key}"))).collect()
}

/// Dotted names of the keys that are called `name` in their section.
pub fn known_as(name: &str) -> Vec<String> {
    keys().into_iter().filter(|key| key.rsplit_once('.').is_some_and(|(_, last)| last == name)).collect()
}

/// Dotted names of the keys that a bare `name` may mean, as they are called here or by TRL.
pub fn places(name: &str) -> Vec<String> {
    let ours = known_as(name);
    if ours.is_empty() { trl::of_trl(name).map(str::to_owned).into_iter().collect() } else { ours }
}

/// What the origin of a preset's values begins with.
const PRESET: &str = "preset ";

/// Collects layers and turns them into a checked [`Config`].
#[derive(Debug, Clone)]
pub struct Layers {
    merged: Table,
    origins: BTreeMap<String, String>,
    imported: Imported,
}

/// What files of TRL left besides settings.
#[derive(Debug, Clone, Default)]
struct Imported {
    answers: Vec<trl::TrlAnswer>,
    needs: Vec<trl::Need>,
    /// Keys of ours that were set, and by what.
    settings: BTreeMap<String, String>,
}

impl Default for Layers {
    fn default() -> Self {
        let merged = DEFAULT_TOML.parse().expect("default.toml is TOML");
        Layers { merged, origins: BTreeMap::new(), imported: Imported::default() }
    }
}

impl Layers {
    /// Lays a preset over what is there.
    pub fn preset(&mut self, name: &str) -> Result<(), ConfigError> {
        let Some(preset) = PRESETS.iter().find(|preset| preset.name == name) else {
            let known: Vec<&str> = PRESETS.iter().map(|preset| preset.name).collect();
            return Err(ConfigError::UnknownPreset { found: name.into(), known: known.join(", ") });
        };
        preset.layers.iter().try_for_each(|text| self.text(&format!("{PRESET}{name}"), text))
    }

    /// Lays a TOML file over what is there.
    pub fn file(&mut self, path: &Path) -> Result<(), ConfigError> {
        let text =
            std::fs::read_to_string(path).map_err(|source| ConfigError::Read { path: path.to_owned(), source })?;
        self.text(&path.display().to_string(), &text)
    }

    /// Lays TOML text over what is there. A `[run]` table, which recorded configurations carry, is left out.
    pub fn text(&mut self, origin: &str, text: &str) -> Result<(), ConfigError> {
        let mut layer: Table = text.parse().map_err(|error: toml::de::Error| ConfigError::Syntax {
            origin: origin.into(),
            message: error.to_string().trim_end().into(),
        })?;
        layer.remove("run");
        self.lay(layer, origin)
    }

    /// Lays a YAML file of TRL, called `origin`, over what is there.
    pub fn trl(&mut self, origin: &str, text: &str) -> Result<(), ConfigError> {
        let trl::Import { settings, answers, needs } = trl::import(origin, text, &Layers::default().merged)?;
        for ((key, value), from) in settings {
            self.value(&from, key, value)?;
            self.imported.settings.insert(key.into(), from);
        }
        self.imported.answers.extend(answers);
        self.imported.needs.extend(needs);
        Ok(())
    }

    /// What became of every key of the files of TRL.
    pub fn answers(&self) -> &[trl::TrlAnswer] {
        &self.imported.answers
    }

    /// The layer that set a dotted key: a file, a preset, or a flag with its value; none where it has its default.
    pub fn origin(&self, key: &str) -> Option<&str> {
        self.origins.get(key).map(String::as_str)
    }

    /// Lays one `section.key=value` over what is there; a bare word counts as a string.
    pub fn assignment(&mut self, assignment: &str) -> Result<(), ConfigError> {
        self.assignment_of("--set", assignment)
    }

    /// The same of a value that was given with `flag`.
    pub fn assignment_of(&mut self, flag: &str, assignment: &str) -> Result<(), ConfigError> {
        let origin = format!("{flag} {assignment}");
        let Some((key, value)) = assignment.split_once('=') else {
            return Err(ConfigError::Syntax { origin, message: "expected section.key=value".into() });
        };
        let value = value.trim();
        let parsed = format!("v = {value}").parse::<Table>().ok().and_then(|mut table| table.remove("v"));
        self.value(&origin, key.trim(), parsed.unwrap_or_else(|| Value::String(value.into())))
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
        merge(&mut self.merged, layer, origin, "")
    }

    /// What a file of TRL needs from elsewhere and has not got; a preset does not know the file.
    fn lacking(&self) -> impl Iterator<Item = &trl::Need> {
        let is_chosen = |key| self.origin(key).is_some_and(|origin| !origin.starts_with(PRESET));
        self.imported.needs.iter().filter(move |need| !is_chosen(need.key))
    }

    /// Passes over the tasks that a file of TRL asks for where nothing says how many steps there are, and its key.
    pub fn epochs(&self) -> Option<(f64, &str)> {
        self.lacking().find_map(|need| match need.lacking {
            trl::Lacking::Epochs(epochs) => Some((epochs, need.origin.as_str())),
            trl::Lacking::Said { .. } => None,
        })
    }

    /// Says how many steps those are, and why.
    pub fn count_epochs(&mut self, steps: usize, why: String) -> Result<(), ConfigError> {
        let Some((_, origin)) = self.epochs() else { return Ok(()) };
        let (origin, steps) = (origin.to_owned(), Value::Integer(steps as i64));
        for answer in self.imported.answers.iter_mut().filter(|answer| origin.ends_with(&format!(": {}", answer.key))) {
            (answer.settings, answer.note) = (vec![("train.max_steps", steps.clone())], why.clone());
        }
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
            // Whoever wrote another word must be told which one it was.
            ConfigError::Value { key, found, expected } => {
                let foreign = imported.settings.get(&key).filter(|from| origins.get(&key) == Some(*from));
                let flag = origins.get(&key).filter(|from| from.starts_with("--") && !from.contains(' '));
                match (flag, foreign) {
                    (Some(flag), _) => {
                        ConfigError::Value { found: format!("{found} ({key})"), key: flag.clone(), expected }
                    }
                    (_, Some(from)) => ConfigError::Value { found: format!("{found} ({from})"), key, expected },
                    _ => ConfigError::Value { key, found, expected },
                }
            }
            other => other,
        })
    }
}

/// Lays `layer` over `base`; only keys that `base` has are known, and a whole number may stand for a float.
fn merge(base: &mut Table, layer: Table, origin: &str, path: &str) -> Result<(), ConfigError> {
    for (key, value) in layer {
        let dotted = if path.is_empty() { key.clone() } else { format!("{path}.{key}") };
        let known = base.clone();
        match (base.get_mut(&key), value) {
            (None, _) => return Err(unknown(&known, origin, &dotted, &key)),
            (Some(Value::Table(inner)), Value::Table(value)) => merge(inner, value, origin, &dotted)?,
            (Some(slot @ Value::Float(_)), Value::Integer(value)) => *slot = Value::Float(value as f64),
            (Some(slot), value) if slot.same_type(&value) => *slot = value,
            (Some(slot), value) => {
                return Err(ConfigError::Value {
                    key: dotted,
                    found: value.to_string(),
                    expected: format!("expected {}, as in {slot} (from {origin})", slot.type_str()),
                });
            }
        }
    }
    Ok(())
}

/// A value that its key may not have: in the words of its type, or with all that it may be.
fn refused(error: &serde_path_to_error::Error<toml::de::Error>, merged: &Table) -> ConfigError {
    let (key, message) = (error.path().to_string(), error.inner().message());
    let found = key.split_once('.').and_then(|(section, name)| merged.get(section)?.get(name));
    let words: Vec<&str> = message.split('`').skip(1).step_by(2).collect();
    let expected = match words.as_slice() {
        [found, allowed @ ..] if message.starts_with("unknown variant") => {
            let hint = nearest(found, allowed.iter().copied()).map(|nearest| format!("; did you mean `{nearest}`?"));
            format!("expected one of {}{}", allowed.join(", "), hint.unwrap_or_default())
        }
        _ if message.starts_with("invalid value: integer") => "expected a whole number in range, 0 or more".to_owned(),
        _ => message.to_owned(),
    };
    ConfigError::Value { key, found: found.map(Value::to_string).unwrap_or_default(), expected }
}

/// A key that lacks its section, or has another one's, is told where it belongs.
fn unknown(known: &Table, origin: &str, dotted: &str, key: &str) -> ConfigError {
    let hint = match (places(key).as_slice(), nearest(key, known.keys().map(String::as_str))) {
        (places @ [_, ..], _) => format!("; say {}", places.join(" or ")),
        (_, Some(nearest)) => format!("; did you mean `{nearest}`?"),
        _ => format!("; known here: {}", known.keys().cloned().collect::<Vec<_>>().join(", ")),
    };
    ConfigError::UnknownKey { origin: origin.into(), key: dotted.into(), hint }
}

#[cfg(test)]
mod tests;
