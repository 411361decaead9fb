//! What a run records of its settings, and by which of them it is known when it goes on: of a run of `train` its whole
//! configuration, with absolute paths, and the versions of the program and its libraries.

use std::io;
use std::path::{Path, PathBuf};

use serde_json::{Map, Value};

use super::config_file::{CONFIG, REPEATS, WRITTEN, about, absolute, missing_section, recorded_text};
use super::error::RunDirError;
use super::inputs::{
    Files, MINOR, MODEL_FILE, changed, changed_environment, changes, model_files, record_commit, told, trained_files,
    way_back,
};
use crate::config::{Config, Layers, ModelConfig};
use crate::files;
use crate::policy::{ADAPTER_FILES, Location};

/// Sections whose settings may change when a run continues, because no step depends on them.
const FREE_SECTIONS: &[&str] = &["guard", "parallel", "sft"];
/// Settings that may change when a run continues, because they do not change what a step computes. The exceptions are
/// `steps_ahead` and `servers`, which decide when and where completions are sampled and have to suit the machine, and
/// `max_steps`, by which a schedule of the learning rate may fall: the run says so when it goes on.
const FREE_KEYS: &[&str] = &[
    "rollout.servers", "rollout.adapter_dir", "rollout.server_requests", "rollout.server_seconds", "train.max_steps",
    "train.steps_ahead", "train.output_dir", "sandbox.on_difference", "train.preflight", "train.memory_mib",
    "train.gpu_memory_fraction", "train.cuda_check", "train.tensorboard", "train.save_steps", "train.save_total_limit",
    "train.eval_steps", "train.eval_samples", "train.eval_games", "train.eval_temperature", "train.settle",
    "arena.parallel_rewards",
];

/// How the weights of a directory end.
const WEIGHTS: &str = ".safetensors";
/// Settings that say where a model is. They may change when a run continues with a model of the same files.
const PLACE: &[&str] = &["model.model", "model.revision"];

/// The configuration that a run recorded, resolved. Refuses a file without one of the sections.
pub(super) fn recorded(run: &Path) -> Result<Config, RunDirError> {
    let text = recorded_text(run)?;
    let mut layers = Layers::default();
    let path = run.join(CONFIG);
    let resolved = layers.text(CONFIG, &text).and_then(|()| layers.resolve());
    let config = resolved.map_err(|source| RunDirError::Config { path: path.clone(), source })?;
    match missing_section(&text) {
        Some(section) => Err(RunDirError::Cut { path, section }),
        None => Ok(config),
    }
}

/// Refuses a run that was begun with settings that may not change, with other files of its environment, or with another model.
/// What has changed besides is told in warnings.
pub(super) fn check(run: &Path, config: &Config) -> Result<Vec<String>, RunDirError> {
    let path = run.to_owned();
    let differing = differences(&recorded(run)?, config, FREE_KEYS);
    let has_moved = !differing.is_empty();
    let is_of = |line: &String, key: &str| line.starts_with(&format!("{key}: "));
    if !differing.iter().all(|line| PLACE.iter().any(|key| is_of(line, key))) {
        return Err(RunDirError::Differs { path, differing });
    }
    // A model by another name is not fetched to be compared.
    let is_renamed = differing.iter().any(|line| is_of(line, "model.model"));
    let find = if is_renamed { Location::here } else { Location::of };
    let changed_model = changed(run, MODEL_FILE, || trained_files(config, find(&config.model).ok().as_ref()))?;
    let is_known = changed_model.is_some();
    let changed_model = changed_model.unwrap_or_default().into_iter();
    let (minor, mut major): (Vec<_>, Vec<_>) = changed_model.partition(|change| change.is_one_of(MINOR));
    // An earlier version recorded nothing of an adapter.
    major.retain(|change| change.recorded.is_some() || !change.is_one_of(&ADAPTER_FILES));
    // Of another revision the files are named that differ.
    if has_moved && !(is_known && (major.is_empty() || !is_renamed)) {
        return Err(RunDirError::Differs { path, differing });
    }
    let env = &config.environment.env;
    let changed_env = changed_environment(run, env)?;
    if !changed_env.is_empty() {
        return Err(RunDirError::Changed { path, env: env.clone(), changed: changed_env });
    }
    if has_own_weights(config) {
        major.retain(|change| !change.key.ends_with(WEIGHTS));
    }
    let model = config.model.model.clone();
    if !major.is_empty() {
        return Err(RunDirError::ChangedModel { path, model, changed: told(&major), way_back: way_back(run)? });
    }
    if minor.is_empty() {
        return Ok(Vec::new());
    }
    Ok(vec![format!(
        "warning: the model {model} has changed since the run began: {}; a text ends with the tokens that are named there now",
        told(&minor).join(", ")
    )])
}

/// Whether the weights of a run's checkpoints are in place of all those that it began with, which are no reference either.
fn has_own_weights(config: &Config) -> bool {
    config.model.lora_r == 0 && config.model.adapter.is_empty() && config.grpo.beta == 0.0
}

/// The text to record. `about` is the table `[run]`: versions, the machine, the files of the environment and the model.
pub(super) fn config_text(config: &Config, about: toml::Table) -> String {
    let run = toml::Table::from_iter([("run".to_owned(), toml::Value::Table(about))]);
    let body = toml::to_string(&anchored(config, files::place)).expect("a configuration is TOML");
    format!("{WRITTEN}{REPEATS}\n\n{run}\n{body}")
}

/// The text for a run that continues with `config`. It keeps the recorded name of the directory, and the table `[run]`
/// of the version that began the run, with the commit that the model is of now.
pub(super) fn config_text_over(run: &Path, config: &Config) -> Result<String, RunDirError> {
    let mut config = config.clone();
    config.train.output_dir = recorded(run)?.train.output_dir;
    let mut about = about(run)?;
    record_commit(&mut about, &config.model);
    Ok(config_text(&config, about))
}

/// The same settings with absolute paths of files and directories that exist, because a run may be resumed or exported
/// from another working directory. Values that are no paths, such as the id of a model on the Hub, stay as they are.
fn anchored(config: &Config, place: fn(&Path) -> io::Result<PathBuf>) -> Config {
    let mut config = config.clone();
    let Config { model, environment, .. } = &mut config;
    for name in [&mut model.model, &mut model.adapter, &mut environment.env] {
        *name = absolute(name, place);
    }
    config
}

/// The settings in which the two differ, as `section.key: recorded -> wanted`, except for keys in `free`. A link is what it leads to.
pub(super) fn differences(recorded: &Config, wanted: &Config, free: &[&str]) -> Vec<String> {
    let table =
        |config: &Config| toml::Table::try_from(anchored(config, Path::canonicalize)).expect("a configuration is TOML");
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

    /// The same with the files of the model and its adapter, as far as they are on this machine: others in their place are another
    /// model. Files of which little is read do not count. Those that a checkpoint is in place of do: the command that goes on is the
    /// one that begins, and whoever has trained an adapter anew and names it means the new one.
    pub fn with_files(mut self, model: &ModelConfig) -> Fingerprint {
        let files = model_files(Location::here(model).ok().as_ref(), &model.adapter).unwrap_or_default();
        let files = files.into_iter().filter(|(key, _)| !MINOR.iter().any(|name| key.ends_with(name)));
        self.named.extend(files.map(|(key, told)| (key, told.into())));
        self
    }

    /// The settings in which the recorded ones differ, as `section.key: recorded -> wanted`, and files of the model that differ, have
    /// come or have gone; nothing is named of those that an earlier version recorded. None if they are the same.
    pub fn differing(&self, recorded: &Value) -> Option<Vec<String>> {
        let Value::Object(recorded) = recorded else { return (*recorded != self.unnamed).then(Vec::new) };
        let is_file = |key: &str| key.starts_with(MODEL_FILE);
        let settings = recorded.iter().filter(|(key, _)| !is_file(key)).filter_map(|(key, found)| {
            let wanted = self.named.get(key).filter(|wanted| *wanted != found)?;
            Some(format!("{key}: {found} -> {wanted}"))
        });
        let files_of = |all: &Map<String, Value>| -> Files {
            let files = all.iter().filter(|(key, _)| is_file(key));
            files.filter_map(|(key, told)| Some((key.clone(), told.as_str()?.to_owned()))).collect()
        };
        let (begun, now) = (files_of(recorded), files_of(&self.named));
        // An earlier version recorded no files, and there are none of a model that is not on this machine.
        let files = if begun.is_empty() || now.is_empty() { Vec::new() } else { changes(&begun, &now) };
        let differing = settings.chain(told(&files));
        Some(differing.collect()).filter(|differing: &Vec<String>| !differing.is_empty())
    }
}
