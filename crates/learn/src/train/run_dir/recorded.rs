//! What a run records of its settings, and by which of them it is known when it goes on: of a run of `train` its whole
//! configuration, with absolute paths, and the versions of the program and its libraries.

use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use serde_json::{Map, Value};

use super::error::RunDirError;
use crate::config::{Config, Layers};
use crate::environment::{Environment, game2048};
use crate::plural::counted;

/// The resolved configuration, with a table `[run]` of versions and of the environment's files.
pub const CONFIG: &str = "config.toml";
/// What it begins with.
pub(super) const WRITTEN: &str = "# Written by grpo-2048";

/// Sections whose settings may change when a run continues, because no step depends on them.
const FREE_SECTIONS: &[&str] = &["guard", "parallel", "sft"];
/// Settings that may change when a run continues, because they do not change what a step computes. The exceptions are
/// `steps_ahead` and `servers`, which decide when and where completions are sampled and have to suit the machine, and
/// `max_steps`, by which a schedule of the learning rate may fall: the run says so when it goes on.
pub(super) const FREE_KEYS: &[&str] = &[
    "rollout.servers", "rollout.adapter_dir", "rollout.server_requests", "rollout.server_seconds", "train.max_steps",
    "train.steps_ahead", "train.output_dir", "sandbox.on_difference", "train.preflight", "train.memory_mib",
    "train.gpu_memory_fraction", "train.cuda_check", "train.tensorboard", "train.save_steps", "train.save_total_limit",
    "train.eval_steps", "train.eval_samples", "train.eval_games", "train.eval_temperature", "train.settle",
    "arena.parallel_rewards",
];

/// How the keys in `[run]` begin that are of the environment's files.
const CONTENTS: &str = "contents of ";
/// Hexadecimal digits of a digest.
const DIGITS: usize = 12;

/// The text of the configuration that a run recorded. The flags of a resumed run override it.
pub fn recorded_text(run: &Path) -> Result<String, RunDirError> {
    let path = run.join(CONFIG);
    match fs::read_to_string(&path) {
        Ok(text) => Ok(text),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Err(RunDirError::NoRun { path: run.to_owned() }),
        Err(source) => Err(RunDirError::Io { path, source }),
    }
}

pub(super) fn recorded(run: &Path) -> Result<Config, RunDirError> {
    let text = recorded_text(run)?;
    let mut layers = Layers::default();
    let path = run.join(CONFIG);
    layers.text(CONFIG, &text).and_then(|()| layers.resolve()).map_err(|source| RunDirError::Config { path, source })
}

/// The table `[run]` that a run recorded when it began.
fn about(run: &Path) -> Result<toml::Table, RunDirError> {
    let begun = recorded_text(run)?.parse::<toml::Table>().unwrap_or_default();
    Ok(begun.get("run").and_then(toml::Value::as_table).cloned().unwrap_or_default())
}

/// Lines and digest of each file that the environment of this name is read from, as they stand in `[run]`. They are those of
/// the path that the run records, so that a link has the name of its file also when the run begins.
pub(super) fn contents(env: &str) -> Result<toml::Table, RunDirError> {
    let of_file = |path: PathBuf| {
        let bytes = fs::read(&path).map_err(RunDirError::io(&path))?;
        let lines = counted(String::from_utf8_lossy(&bytes).lines().count(), "line");
        let digest = blake3::hash(&bytes).to_hex();
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        Ok((format!("{CONTENTS}{name}"), toml::Value::from(format!("{lines}, {}", &digest[..DIGITS]))))
    };
    Environment::files(&absolute(env)).into_iter().map(of_file).collect()
}

/// The files of the environment that have changed since the run began, as `contents of file: recorded -> found`.
pub(super) fn changed_contents(run: &Path, env: &str) -> Result<Vec<String>, RunDirError> {
    let recorded: toml::Table = about(run)?.into_iter().filter(|(key, _)| key.starts_with(CONTENTS)).collect();
    let found = contents(env)?;
    // An earlier version recorded none. Where no file is left, whatever opens the environment says more about it.
    if recorded.is_empty() || found.is_empty() {
        return Ok(Vec::new());
    }
    let keys: BTreeSet<&String> = recorded.keys().chain(found.keys()).collect();
    let told = |of: &toml::Table, key: &str| of.get(key).map_or_else(|| "no file".to_owned(), ToString::to_string);
    let changed = keys.into_iter().filter(|key| recorded.get(key.as_str()) != found.get(key.as_str()));
    Ok(changed.map(|key| format!("{key}: {} -> {}", told(&recorded, key), told(&found, key))).collect())
}

/// The text to record. `about` is the table `[run]`: versions, the machine, the environment's files.
pub(super) fn config_text(config: &Config, about: toml::Table) -> String {
    let run = toml::Table::from_iter([("run".to_owned(), toml::Value::Table(about))]);
    let body = toml::to_string(&anchored(config)).expect("a configuration is TOML");
    format!("{WRITTEN}; `--config` on this file and another --output-dir repeat the run.\n\n{run}\n{body}")
}

/// The text for a run that continues with `config`. It keeps the recorded name of the directory, and the table `[run]`
/// of the version that began the run.
pub(super) fn config_text_over(run: &Path, config: &Config) -> Result<String, RunDirError> {
    let mut config = config.clone();
    config.train.output_dir = recorded(run)?.train.output_dir;
    Ok(config_text(&config, about(run)?))
}

/// The same settings with absolute paths of files and directories that exist, because a run may be resumed or exported
/// from another working directory. Values that are no paths, such as the id of a model on the Hub, stay as they are.
fn anchored(config: &Config) -> Config {
    let mut config = config.clone();
    let Config { model, environment, .. } = &mut config;
    for name in [&mut model.model, &mut model.adapter, &mut environment.env] {
        *name = absolute(name);
    }
    config
}

/// The absolute path of what exists at `name`; `name` itself if it is a word or nothing is there.
fn absolute(name: &str) -> String {
    let is_word = ["builtin", game2048::NAME, ""].contains(&name);
    let path = if is_word { None } else { Path::new(name).canonicalize().ok() };
    path.map_or_else(|| name.to_owned(), |path| path.display().to_string())
}

/// The settings in which the two differ, as `section.key: recorded -> wanted`, except for keys in `free`.
pub(super) fn differences(recorded: &Config, wanted: &Config, free: &[&str]) -> Vec<String> {
    let table = |config: &Config| toml::Table::try_from(anchored(config)).expect("a configuration is TOML");
    let (recorded, wanted) = (table(recorded), table(wanted));
    let mut differing = Vec::new();
    for (section, values) in &recorded {
        for (key, value) in values.as_table().into_iter().flatten() {
            let dotted = format!("{section}.{key}");
            let other = &wanted[section][key];
            if value != other && !free.contains(&dotted.as_str()) && !FREE_SECTIONS.contains(&section.as_str()) {
                differing.push(format!("{dotted}: {value} -> {other}"));
            }
        }
    }
    differing
}

/// Everything that a run of `sft` or a search follows from, as its files record it.
pub struct Fingerprint {
    /// Every setting by its key or flag.
    pub named: Map<String, Value>,
    /// The same as one text, as earlier versions wrote it.
    pub unnamed: String,
}

impl Fingerprint {
    /// `named`: what is no setting of the configuration; `sections`: the settings that are, each section an object or nothing.
    pub fn new(mut named: Map<String, Value>, sections: &[(&str, Value)], unnamed: String) -> Fingerprint {
        for (section, values) in sections {
            let values = values.as_object().into_iter().flatten();
            named.extend(values.map(|(key, value)| (format!("{section}.{key}"), value.clone())));
        }
        Fingerprint { named, unnamed }
    }

    /// The settings in which the recorded ones differ, as `section.key: recorded -> wanted`; nothing is named of those that an
    /// earlier version recorded. None if they are the same.
    pub fn differing(&self, recorded: &Value) -> Option<Vec<String>> {
        let Value::Object(recorded) = recorded else { return (*recorded != self.unnamed).then(Vec::new) };
        let differing = recorded.iter().filter_map(|(key, found)| {
            let wanted = self.named.get(key).filter(|wanted| *wanted != found)?;
            Some(format!("{key}: {found} -> {wanted}"))
        });
        Some(differing.collect()).filter(|differing: &Vec<String>| !differing.is_empty())
    }
}
