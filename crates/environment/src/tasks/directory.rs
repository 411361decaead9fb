//! A directory that describes an environment: `env.toml` names its rules and the texts of its prompts.

use std::path::{Path, PathBuf};

use serde::Deserialize;

use super::source;
use crate::Example;
use crate::config::{nearest, toml_refused};

/// The content of an `env.toml`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Directory {
    /// The name in reports; the directory's name by default.
    pub name: String,
    pub rules: RulesFile,
    /// System text of every chat, in place of the default one.
    pub system: Option<String>,
    /// A worked example, shown before every request.
    pub example: Option<Example>,
    /// What the programs of all its tasks can import though their text does not say so.
    pub modules: Vec<Module>,
    /// Its `env.toml`.
    pub path: PathBuf,
}

/// The file with the rules of an environment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RulesFile {
    /// A file with one task per line.
    Tasks(PathBuf),
    /// A game in Python.
    Game(PathBuf),
}

/// A module that `modules` may name; what else there is needs no key.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Module {
    Numpy,
}

/// Why an `env.toml` was refused.
#[derive(Debug, thiserror::Error)]
pub enum DirectoryError {
    #[error("{path}: {source}; an environment's directory holds `env.toml` (`grpo-2048 tasks new DIR` writes one)")]
    Read { path: PathBuf, source: std::io::Error },
    /// Not TOML, a key that does not exist, or a value of the wrong type.
    #[error("{path}: {message}")]
    Syntax {
        path: PathBuf,
        /// The parser's message, with the line.
        message: String,
    },
    /// A text for a game, which belongs in the game's own file.
    #[error("{path}: found `{key}` beside `game`; expected `game` alone: a game says all else in its own file")]
    WordsOfGame { path: PathBuf, key: &'static str },
    /// A file that is named and does not exist.
    #[error("{path}: `{key}` names {named}, which is no file; expected the path of a file, from where {path} is")]
    Nowhere {
        path: PathBuf,
        /// `tasks` or `game`.
        key: &'static str,
        named: PathBuf,
    },
    /// No rules, or two kinds of rules.
    #[error("{path}: found {found}; expected either `tasks = \"tasks.jsonl\"` or `game = \"game.py\"`")]
    Rules {
        path: PathBuf,
        /// Which of the two keys were given.
        found: &'static str,
    },
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    name: Option<String>,
    tasks: Option<PathBuf>,
    game: Option<PathBuf>,
    system: Option<String>,
    example: Option<Pair>,
    #[serde(default)]
    modules: Vec<Module>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Pair {
    request: String,
    program: String,
}

/// Name of the file that describes an environment, in its directory.
pub const DIRECTORY_FILE: &str = "env.toml";

const KEYS: [&str; 6] = ["name", "tasks", "game", "system", "example", "modules"];

impl Directory {
    /// Reads `env.toml` of a directory, but not the rules.
    pub fn open(directory: &Path) -> Result<Directory, DirectoryError> {
        let path = directory.join(DIRECTORY_FILE);
        let text =
            std::fs::read_to_string(&path).map_err(|source| DirectoryError::Read { path: path.clone(), source })?;
        let file: File = toml::from_str(&text).map_err(|error| {
            let message = format!("{}{}", toml_refused(&error, &text), meant(&text));
            DirectoryError::Syntax { path: path.clone(), message }
        })?;
        let rules = match (file.tasks, file.game) {
            (Some(tasks), None) => RulesFile::Tasks(directory.join(tasks)),
            (None, Some(game)) => {
                let words = [
                    ("name", file.name.is_some()),
                    ("system", file.system.is_some()),
                    ("example", file.example.is_some()),
                    ("modules", !file.modules.is_empty()),
                ];
                if let Some((key, _)) = words.into_iter().find(|(_, given)| *given) {
                    return Err(DirectoryError::WordsOfGame { path, key });
                }
                RulesFile::Game(directory.join(game))
            }
            (None, None) => return Err(DirectoryError::Rules { path, found: "neither" }),
            (Some(_), Some(_)) => return Err(DirectoryError::Rules { path, found: "both" }),
        };
        let own = directory.canonicalize().unwrap_or_else(|_| directory.to_owned());
        let own = own.file_name().unwrap_or_default().to_string_lossy().into_owned();
        // A text of several lines ends in a line break, which would be an empty line before the fence that closes it.
        let example =
            file.example.map(|Pair { request, program }| Example { request, program: program.trim_end().to_owned() });
        if let Some(Err(found)) = example.as_ref().map(|example| source::check(&example.program)) {
            let message =
                format!("example.program: {found}; expected the text of a Python program, which models are shown");
            return Err(DirectoryError::Syntax { path, message });
        }
        let (name, system, modules) = (file.name.unwrap_or(own), file.system, file.modules);
        Ok(Directory { name, rules, system, example, modules, path })
    }

    /// Refuses a directory whose `env.toml` names a file that does not exist.
    pub fn has_rules(&self) -> Result<(), DirectoryError> {
        let (key, named) = match &self.rules {
            RulesFile::Tasks(named) => ("tasks", named),
            RulesFile::Game(named) => ("game", named),
        };
        match named.exists() {
            true => Ok(()),
            false => Err(DirectoryError::Nowhere { path: self.path.clone(), key, named: named.clone() }),
        }
    }
}

/// A suggestion for a misspelt key.
fn meant(text: &str) -> String {
    let table: toml::Table = toml::from_str(text).unwrap_or_default();
    let slip = table.keys().find(|key| !KEYS.contains(&key.as_str()));
    let near = slip.and_then(|slip| nearest(slip, KEYS));
    near.map(|near| format!("; did you mean `{near}`?")).unwrap_or_default()
}
