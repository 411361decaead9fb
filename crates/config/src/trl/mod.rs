//! Imports configurations of TRL's GRPOTrainer, as `trl grpo --config` reads them.
//!
//! Takes the text of a YAML file; returns settings of this program and an answer for every key of the file. Settings
//! that the file does not have keep their value; defaults are this program's, not TRL's. A key that asks for a
//! different behaviour than this program's is refused. A key without effect is answered with the reason.

mod batch;
mod coerce;
mod steps;
mod table;
mod words;

use std::fmt::{self, Display};

use serde_json::{Map, Value};
use toml::Table;

use super::{ConfigError, Layers, known_as, nearest};
use table::Handling;
pub use table::keys as names;

/// The hint to the manual.
const MANUAL: &str = "docs/trl.md says what becomes of every key of TRL";

/// What the library adds to its messages about a key that is there twice and about a second document: it is for programmers.
const FOR_PROGRAMMERS: [&str; 2] =
    [", set DuplicateKeyPolicy in Options if acceptable", "; use from_str_multiple or from_str_multiple_with_options"];

/// The result of importing a file of TRL.
#[derive(Debug)]
pub(super) struct Import {
    /// The settings of this program, each with the file and key of TRL that it comes from.
    pub settings: Vec<(TrlSetting, String)>,
    /// How each key was imported, in the order of the file.
    pub answers: Vec<TrlAnswer>,
    /// Settings that another layer has to set.
    pub needs: Vec<Need>,
    /// Settings whose number follows from the run's length.
    pub shares: Vec<Share>,
}

/// A dotted key of this program and its value.
pub type TrlSetting = (&'static str, toml::Value);

/// How a key of TRL was imported.
#[derive(Debug, Clone, PartialEq)]
pub struct TrlAnswer {
    /// The name of the key in TRL.
    pub key: String,
    /// Its value, as JSON.
    pub found: String,
    /// The settings that it stands for; empty if it has no effect.
    pub settings: Vec<TrlSetting>,
    /// An explanation; may be empty.
    pub note: String,
}

impl Display for TrlAnswer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let settings: Vec<String> = self.settings.iter().map(|(key, value)| format!("{key} = {value}")).collect();
        write!(f, "{} = {}", self.key, self.found)?;
        match (settings.is_empty(), self.note.as_str()) {
            (true, note) => write!(f, ": no effect, {note}"),
            (false, "") => write!(f, " -> {}", settings.join(", ")),
            (false, note) => write!(f, " -> {} ({note})", settings.join(", ")),
        }
    }
}

/// A setting without which a key of TRL cannot be imported.
#[derive(Debug, Clone)]
pub struct Need {
    /// The dotted key of this program.
    pub key: &'static str,
    /// The file and the key of TRL that need it.
    pub origin: String,
    /// What is missing if no layer sets it.
    pub lacking: Lacking,
}

/// A number of steps that TRL says as a share of the run.
#[derive(Debug, Clone)]
pub struct Share {
    /// The dotted key of this program.
    pub key: &'static str,
    /// The file and the key of TRL.
    pub origin: String,
    /// Between 0 and 1.
    pub of_run: f64,
}

/// The information that a key of TRL lacks.
#[derive(Debug, Clone, PartialEq)]
pub enum Lacking {
    /// Information that only the user has.
    Said {
        /// The value of TRL's key.
        found: String,
        /// What the user has to set.
        hint: String,
    },
    /// The number of steps of this number of epochs, which can be computed if the environment has tasks.
    Epochs(f64),
}

/// The meaning of a key's value.
#[derive(Default)]
struct Meaning {
    settings: Vec<TrlSetting>,
    note: String,
    /// A setting that another layer has to set.
    need: Option<(&'static str, Lacking)>,
    /// The share of the run that the only setting is.
    share: Option<f64>,
}

impl Meaning {
    fn set(key: &'static str, value: impl Into<toml::Value>) -> Meaning {
        Meaning { settings: vec![(key, value.into())], ..Meaning::default() }
    }

    fn and(mut self, key: &'static str, value: impl Into<toml::Value>) -> Meaning {
        self.settings.push((key, value.into()));
        self
    }

    fn because(self, note: impl Into<String>) -> Meaning {
        Meaning { note: note.into(), ..self }
    }

    fn nothing(note: impl Into<String>) -> Meaning {
        Meaning::default().because(note)
    }
}

/// Interprets a key by its value and the rest of the file. An error is the reason why it is refused.
type Word = fn(&Given<'_>, &str) -> Result<Meaning, String>;

/// The keys of a file. A key with the value null counts as absent.
struct Given<'a> {
    keys: &'a Map<String, Value>,
    defaults: &'a Table,
}

impl Given<'_> {
    fn get(&self, key: &str) -> Option<&Value> {
        self.keys.get(key).filter(|value| !value.is_null())
    }

    fn truth(&self, key: &str) -> Result<Option<bool>, String> {
        self.get(key).map(coerce::truth).transpose()
    }

    fn number(&self, key: &str) -> Result<Option<f64>, String> {
        self.get(key).map(coerce::number).transpose()
    }

    fn word(&self, key: &str) -> Option<String> {
        self.get(key).map(coerce::text)
    }

    /// Takes the value of `key` for the setting `ours`, in the type of `ours`.
    fn is(&self, key: &str, ours: &'static str) -> Result<Meaning, String> {
        let (section, name) = ours.split_once('.').expect("keys are dotted");
        let found = self.get(key).expect("a key that is given");
        Ok(Meaning::set(ours, coerce::as_of(&self.defaults[section][name], found)?))
    }

    /// A key without a value. It counts as absent, but for keys for which TRL has a value by default and null says something else.
    fn null(&self, key: &str) -> Result<Meaning, String> {
        let refused = |why: &str| Err(format!("{why}; say a number, or leave it away"));
        match key {
            "max_completion_length" => refused("completions have a longest length here"),
            "max_grad_norm" => refused("a gradient is cut at some norm here, which may be as large as 1e30"),
            "vllm_importance_sampling_clip_max"
                if self.truth("vllm_importance_sampling_correction")? != Some(false) =>
            {
                refused("weights have a limit here, which may be as large as 1e30")
            }
            "save_total_limit" => Ok(Meaning::nothing(
                "TRL then keeps every checkpoint, and here the newest are kept, as many as train.save_total_limit says",
            )),
            _ => Ok(Meaning::nothing("null leaves things as they are")),
        }
    }

    fn meaning(&self, key: &str, handling: Handling) -> Result<Meaning, String> {
        let Some(found) = self.get(key) else { return self.null(key) };
        match handling {
            Handling::Is(ours) => self.is(key, ours),
            Handling::Switches(ours) => Ok(Meaning::set(ours, if coerce::truth(found)? { "on" } else { "off" })),
            Handling::Says(word) => word(self, key),
            Handling::Idle(why) => Ok(Meaning::nothing(why)),
            Handling::Only(values, why) => match values.iter().any(|value| coerce::says(found, value)) {
                true => Ok(Meaning::nothing("that is what is done here")),
                false => Err(why.into()),
            },
            Handling::Task(_) if found.as_array().is_some_and(Vec::is_empty) => Ok(Meaning::nothing("it names none")),
            Handling::Task(way) => {
                let hint =
                    format!("what is to be learnt is said with --env, a file of tasks or a game; {way}; docs/tasks.md");
                let lacking = Lacking::Said { found: found.to_string(), hint };
                let note = "--env says what is to be learnt".to_owned();
                Ok(Meaning { note, need: Some(("environment.env", lacking)), ..Meaning::default() })
            }
        }
    }
}

/// Imports the text of a file of TRL whose name is `origin`. `defaults` has a value of the right type for every
/// setting.
pub(super) fn import(origin: &str, text: &str, defaults: &Table) -> Result<Import, ConfigError> {
    let syntax = |message: String| ConfigError::Syntax { origin: origin.into(), message };
    let plain = |message: String| FOR_PROGRAMMERS.iter().fold(message, |message, part| message.replace(part, ""));
    let read: Value =
        serde_saphyr::from_str(text).map_err(|error| syntax(plain(error.without_snippet().to_string())))?;
    let Value::Object(keys) = read else {
        return Err(syntax("expected a mapping of TRL's keys, such as `num_generations: 8`".into()));
    };
    let given = Given { keys: &keys, defaults };
    let mut import = Import { settings: Vec::new(), answers: Vec::new(), needs: Vec::new(), shares: Vec::new() };
    // The refused keys by reason, since several may have the same.
    let mut refused: Vec<(String, String)> = Vec::new();
    let mut refuse = |key: String, why: String| match refused.iter_mut().find(|(_, known)| *known == why) {
        Some((keys, _)) => *keys = format!("{keys}, {key}"),
        None => refused.push((key, why)),
    };
    for (key, found) in &keys {
        let Some(handling) = table::handling(key) else {
            refuse(key.clone(), unknown(key, found));
            continue;
        };
        let found = found.to_string();
        match given.meaning(key, handling) {
            Err(why) => refuse(format!("{key} = {found}"), why),
            Ok(Meaning { settings, note, need, share }) => {
                import.settings.extend(settings.iter().map(|setting| (setting.clone(), format!("{origin}: {key}"))));
                let from = format!("{origin}: {key}");
                import.shares.extend(share.map(|of_run| Share { key: settings[0].0, origin: from.clone(), of_run }));
                import.needs.extend(need.map(|(key, lacking)| Need { key, origin: from, lacking }));
                import.answers.push(TrlAnswer { key: key.clone(), found, settings, note });
            }
        }
    }
    if refused.is_empty() {
        return Ok(import);
    }
    let refused = refused.into_iter().map(|(keys, why)| format!("{keys}: {why}")).collect();
    Err(ConfigError::Foreign { origin: origin.into(), refused, hint: MANUAL.into() })
}

/// How `key` with a value such as `0.04` is imported; none if TRL has no such key.
pub fn answer(key: &str, value: &str) -> Option<Result<TrlAnswer, ConfigError>> {
    table::handling(key)?;
    let mut import = match import("TRL", &format!("{key}: {value}"), &Layers::default().merged) {
        Ok(import) => import,
        Err(error) => return Some(Err(error)),
    };
    Some(match import.shares.is_empty() {
        true => Ok(import.answers.remove(0)),
        false => {
            let refused = vec![format!("{key} = {value}: is a share of the run; say a number of steps")];
            Err(ConfigError::Foreign { origin: "TRL".into(), refused, hint: MANUAL.into() })
        }
    })
}

/// The setting with the meaning of TRL's `key`, if it has another name.
pub fn of_trl(key: &str) -> Option<&'static str> {
    match table::handling(key)? {
        Handling::Is(ours) => Some(ours),
        _ => None,
    }
}

fn unknown(key: &str, found: &Value) -> String {
    if let [ours, ..] = known_as(key).as_slice() {
        return format!("is a key of this program and not of TRL; say --set {ours}={}", coerce::text(found));
    }
    match nearest(key, table::keys()) {
        Some(near) => format!("TRL has no such key; did you mean `{near}`?"),
        None => "TRL has no such key; settings of this program come in a .toml file or with --set".into(),
    }
}

#[cfg(test)]
mod tests;
