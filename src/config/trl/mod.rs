//! Configurations of TRL's GRPOTrainer, as `trl grpo --config` reads them, in the words of this program.
//!
//! Takes the text of a YAML file; gives settings of ours and an answer for every key of it. What the file leaves out
//! stays as it is: the defaults are ours, not TRL's. A key that asks for something else than what is done here is
//! refused, and one that nothing depends on is said to be so.

mod batch;
mod coerce;
mod steps;
mod table;
mod words;

use std::fmt::{self, Display};

use serde_json::{Map, Value};
use toml::Table;

use super::{ConfigError, Layers, known_as, nearest};
use table::Fate;

/// Where all of this is explained.
const MANUAL: &str = "docs/trl.md says what becomes of every key of TRL";

/// What a file of TRL comes to.
#[derive(Debug)]
pub(super) struct Import {
    /// Settings of ours, each with the key of TRL that it comes from.
    pub settings: Vec<(TrlSetting, String)>,
    /// What became of every key, in the order of the file.
    pub answers: Vec<TrlAnswer>,
    /// Keys of ours that something else has to set.
    pub needs: Vec<Need>,
}

/// A dotted key of ours and its value.
pub type TrlSetting = (&'static str, toml::Value);

/// What became of a key.
#[derive(Debug, Clone, PartialEq)]
pub struct TrlAnswer {
    /// TRL's name of it.
    pub key: String,
    /// Its value, as YAML's subset JSON has it.
    pub found: String,
    /// What it was taken as; empty where nothing depends on it.
    pub settings: Vec<TrlSetting>,
    /// Why so.
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

/// A key of ours without which a key of TRL cannot be taken.
#[derive(Debug, Clone)]
pub struct Need {
    /// Ours, dotted.
    pub key: &'static str,
    /// The file and its key that needs it.
    pub origin: String,
    /// What is missing where nothing sets it.
    pub lacking: Lacking,
}

/// What a key of TRL lacks.
#[derive(Debug, Clone, PartialEq)]
pub enum Lacking {
    /// Something that only the user can say.
    Said {
        /// Value of the key.
        found: String,
        /// What to say.
        hint: String,
    },
    /// Steps of so many passes over the tasks, which can be counted where there are tasks.
    Epochs(f64),
}

/// What the value of a key says.
#[derive(Default)]
struct Meaning {
    settings: Vec<TrlSetting>,
    note: String,
    /// A key of ours that something else has to set.
    need: Option<(&'static str, Lacking)>,
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

/// Reads a key by its value and the rest of the file. An error is why it is refused.
type Word = fn(&Given<'_>, &str) -> Result<Meaning, String>;

/// The keys of a file. One that is null counts as absent.
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

    /// Value of `key` as `ours` has it.
    fn is(&self, key: &str, ours: &'static str) -> Result<Meaning, String> {
        let (section, name) = ours.split_once('.').expect("keys are dotted");
        let found = self.get(key).expect("a key that is given");
        Ok(Meaning::set(ours, coerce::as_of(&self.defaults[section][name], found)?))
    }

    fn meaning(&self, key: &str, fate: Fate) -> Result<Meaning, String> {
        let Some(found) = self.get(key) else { return Ok(Meaning::nothing("null leaves things as they are")) };
        match fate {
            Fate::Is(ours) => self.is(key, ours),
            Fate::Says(word) => word(self, key),
            Fate::Idle(why) => Ok(Meaning::nothing(why)),
            Fate::Only(values, why) => match values.iter().any(|value| coerce::says(found, value)) {
                true => Ok(Meaning::nothing("that is what is done here")),
                false => Err(why.into()),
            },
            Fate::Task(_) if found.as_array().is_some_and(Vec::is_empty) => Ok(Meaning::nothing("it names none")),
            Fate::Task(way) => {
                let hint =
                    format!("what is to be learnt is said with --env, a file of tasks or a game; {way}; docs/tasks.md");
                let lacking = Lacking::Said { found: found.to_string(), hint };
                let note = "--env says what is to be learnt".to_owned();
                Ok(Meaning { note, need: Some(("environment.env", lacking)), ..Meaning::default() })
            }
        }
    }
}

/// Reads a file of TRL called `origin`. `defaults` has a value of the right type for every key of ours.
pub(super) fn import(origin: &str, text: &str, defaults: &Table) -> Result<Import, ConfigError> {
    let syntax = |message: String| ConfigError::Syntax { origin: origin.into(), message };
    let read: Value = serde_saphyr::from_str(text).map_err(|error| syntax(error.without_snippet().to_string()))?;
    let Value::Object(keys) = read else {
        return Err(syntax("expected a mapping of TRL's keys, such as `num_generations: 8`".into()));
    };
    let given = Given { keys: &keys, defaults };
    let mut import = Import { settings: Vec::new(), answers: Vec::new(), needs: Vec::new() };
    // Keys that are refused, by the reason; several may share one.
    let mut refused: Vec<(String, String)> = Vec::new();
    let mut refuse = |key: String, why: String| match refused.iter_mut().find(|(_, known)| *known == why) {
        Some((keys, _)) => *keys = format!("{keys}, {key}"),
        None => refused.push((key, why)),
    };
    for (key, found) in &keys {
        let Some(fate) = table::fate(key) else {
            refuse(key.clone(), unknown(key, found));
            continue;
        };
        let found = found.to_string();
        match given.meaning(key, fate) {
            Err(why) => refuse(format!("{key} = {found}"), why),
            Ok(Meaning { settings, note, need }) => {
                import.settings.extend(settings.iter().map(|setting| (setting.clone(), format!("{origin}: {key}"))));
                let from = format!("{origin}: {key}");
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

/// What becomes of `key` with a value as it is typed, such as `0.04`; none when TRL has no such key.
pub fn answer(key: &str, value: &str) -> Option<Result<TrlAnswer, ConfigError>> {
    table::fate(key)?;
    let read = import("TRL", &format!("{key}: {value}"), &Layers::default().merged);
    Some(read.map(|mut import| import.answers.remove(0)))
}

/// Key of ours that means what `key` of TRL says, if it is called otherwise.
pub fn of_trl(key: &str) -> Option<&'static str> {
    match table::fate(key)? {
        Fate::Is(ours) => Some(ours),
        _ => None,
    }
}

/// Every name of TRL's that has an answer.
pub fn names() -> impl Iterator<Item = &'static str> {
    table::keys()
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
