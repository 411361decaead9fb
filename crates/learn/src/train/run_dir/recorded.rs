//! What a run records of its settings, and by which of them it is known when it goes on: of a run of `train` its whole
//! configuration, with absolute paths, and the versions of the program and its libraries.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::fs::{self, File};
use std::io::{self, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};

use serde_json::{Map, Value};

use super::error::RunDirError;
use crate::config::{Config, Layers, ModelConfig};
use crate::environment::{Environment, game2048};
use crate::files;
use crate::plural::counted;
use crate::policy::{ADAPTER_FILES, Location};

/// The resolved configuration, with a table `[run]` of versions and of the files of the environment and the model.
pub const CONFIG: &str = "config.toml";
/// What it begins with.
pub(super) const WRITTEN: &str = "# Written by grpo-2048";
/// How its first line goes on, since every run records all sections.
const REPEATS: &str = "; `--config` on this file and another --output-dir repeat the run.";

/// The sections that a run records. A file that was cut lacks the last of them.
const SECTIONS: [&str; 12] = [
    "run", "environment", "model", "rollout", "sandbox", "arena", "reward", "grpo", "train", "parallel", "guard", "sft",
];
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

/// How the keys in `[run]` begin that are of the environment's files.
const CONTENTS: &str = "contents of ";
/// The same of the model's files.
const MODEL_FILE: &str = "model file ";
/// Files of a model of which little is read, the tokens that end a text. A cache that another program has filled may lack them, and
/// most of what is changed in them is of no account, so that a run goes on with a warning.
const MINOR: &[&str] = &["generation_config.json", "special_tokens_map.json"];
/// The key in `[run]` of the commit that a model of the Hub had.
const COMMIT: &str = "model commit";
/// How the weights of a directory end.
const WEIGHTS: &str = ".safetensors";
/// Settings that say where a model is. They may change when a run continues with a model of the same files.
const PLACE: &[&str] = &["model.model", "model.revision"];
/// Hexadecimal digits of a digest.
const DIGITS: usize = 12;
/// Bytes of a model's file that its digest has whole, from the beginning: all that describes a model, its tokenizer, and the
/// header of its weights.
const HEAD: u64 = 32 << 20;
/// Pieces of the rest that the digest has, at even distances, and the bytes of each: weights are gigabytes, and those of
/// another training differ nearly everywhere.
const PIECES: u64 = 64;
const PIECE: u64 = 64 << 10;

/// Size and digest of files, each by its key in `[run]`.
type Files = BTreeMap<String, String>;

/// A file that is not the one that was recorded, or that only one of the two has.
struct Change {
    key: String,
    recorded: Option<String>,
    found: Option<String>,
}

impl Change {
    /// Whether it is the file of the model that is called one of `names`.
    fn is_one_of(&self, names: &[&str]) -> bool {
        self.key.strip_prefix(MODEL_FILE).is_some_and(|name| names.contains(&name))
    }
}

impl fmt::Display for Change {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let told = |of: &Option<String>| of.as_ref().map_or_else(|| "no file".to_owned(), |of| format!("{of:?}"));
        write!(f, "{}: {} -> {}", self.key, told(&self.recorded), told(&self.found))
    }
}

/// The files in which the two differ.
fn changes(recorded: &Files, found: &Files) -> Vec<Change> {
    let keys: BTreeSet<&String> = recorded.keys().chain(found.keys()).collect();
    let change = |key: &String| Change {
        key: key.clone(),
        recorded: recorded.get(key).cloned(),
        found: found.get(key).cloned(),
    };
    keys.into_iter().map(change).filter(|change| change.recorded != change.found).collect()
}

/// The text of the configuration that a run recorded. The flags of a resumed run override it.
pub fn recorded_text(run: &Path) -> Result<String, RunDirError> {
    let path = run.join(CONFIG);
    let text = match fs::read_to_string(&path) {
        Ok(text) => text,
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            return Err(RunDirError::NoRun { path: run.to_owned() });
        }
        Err(source) => return Err(RunDirError::Io { path, source }),
    };
    // Earlier versions recorded fewer sections, and somebody's own file has those that were meant. Of this version's own even the
    // first line may be cut.
    let first = format!("{WRITTEN}{REPEATS}");
    let is_own = text.starts_with(&first) || first.starts_with(text.trim_end());
    match missing_section(&text).filter(|_| is_own) {
        Some(section) => Err(RunDirError::Cut { path, section }),
        None => Ok(text),
    }
}

/// The first section that a file of settings lacks, which would silently be the defaults; none of what is no TOML.
fn missing_section(text: &str) -> Option<&'static str> {
    let written = text.parse::<toml::Table>().ok()?;
    SECTIONS.into_iter().find(|section| !written.contains_key(*section))
}

/// The same, resolved. Refuses a file without one of the sections.
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

/// The table `[run]` that a run recorded when it began.
fn about(run: &Path) -> Result<toml::Table, RunDirError> {
    let begun = recorded_text(run)?.parse::<toml::Table>().unwrap_or_default();
    Ok(begun.get("run").and_then(toml::Value::as_table).cloned().unwrap_or_default())
}

/// Lines and digest of each file that the environment of this name is read from, as they stand in `[run]`. They are those of
/// the path that the run records, so that a link has the name of its file also when the run begins.
pub(super) fn contents(env: &str) -> Result<Files, RunDirError> {
    let of_file = |path: PathBuf| {
        let bytes = fs::read(&path).map_err(RunDirError::io(&path))?;
        let lines = counted(String::from_utf8_lossy(&bytes).lines().count(), "line");
        let digest = blake3::hash(&bytes).to_hex();
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        Ok((format!("{CONTENTS}{name}"), format!("{lines}, {}", &digest[..DIGITS])))
    };
    Environment::files(&absolute(env, files::place)).into_iter().map(of_file).collect()
}

/// What `[run]` has of the environment and of the model that a run begins with.
pub(super) fn begun_with(config: &Config) -> Result<toml::Table, RunDirError> {
    let location = Location::of(&config.model).ok();
    let mut about = contents(&config.environment.env)?;
    about.extend(trained_files(config, location.as_ref())?);
    // A directory that is named itself has no revisions.
    let of_hub = location.as_ref().filter(|_| !Path::new(&config.model.model).exists());
    about.extend(of_hub.and_then(Location::commit).map(|commit| (COMMIT.to_owned(), commit.to_owned())));
    Ok(about.into_iter().map(|(key, told)| (key, toml::Value::from(told))).collect())
}

/// Those of the model that a run of training begins with, and of an adapter that is the reference of `grpo.beta`: of any other a
/// checkpoint has all that is left.
fn trained_files(config: &Config, location: Option<&Location>) -> Result<Files, RunDirError> {
    let adapter = if config.grpo.beta > 0.0 { config.model.adapter.as_str() } else { "" };
    model_files(location, adapter)
}

/// Size and digest of each file that the model and the adapter are read from, as they stand in `[run]`. The built-in model has
/// none. Nothing at all where the model is not there: whatever loads it says more about it.
fn model_files(location: Option<&Location>, adapter: &str) -> Result<Files, RunDirError> {
    let mut files = location.and_then(|location| location.files().ok()).unwrap_or_default();
    let is_there = location == Some(&Location::Builtin) || !files.is_empty();
    if is_there && !adapter.is_empty() {
        let of_adapter = ADAPTER_FILES.map(|name| Path::new(adapter).join(name));
        files.extend(of_adapter.into_iter().filter(|path| path.exists()));
    }
    let of_file = |path: PathBuf| {
        let told = size_and_digest(&path).map_err(RunDirError::io(&path))?;
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        // A model in one file is the same by another name.
        let name = if name.ends_with(".gguf") { ".gguf" } else { &*name };
        Ok((format!("{MODEL_FILE}{name}"), told))
    };
    files.into_iter().map(of_file).collect()
}

fn size_and_digest(path: &Path) -> io::Result<String> {
    let mut file = File::open(path)?;
    let size = file.metadata()?.len();
    let mut hasher = blake3::Hasher::new();
    hasher.update_reader(file.by_ref().take(HEAD))?;
    let rest = size.saturating_sub(HEAD);
    for piece in 0..PIECES.min(rest) {
        file.seek(SeekFrom::Start(HEAD + piece * rest / PIECES))?;
        hasher.update_reader(file.by_ref().take(PIECE))?;
    }
    Ok(format!("{size} bytes, {}", &hasher.finalize().to_hex()[..DIGITS]))
}

/// The files that have changed since the run began, of those whose keys begin with `kind`. None where an earlier version recorded
/// none, or where no file is left: whatever opens them says more about it.
fn changed(
    run: &Path,
    kind: &str,
    find: impl FnOnce() -> Result<Files, RunDirError>,
) -> Result<Option<Vec<Change>>, RunDirError> {
    let about = about(run)?.into_iter().filter(|(key, _)| key.starts_with(kind));
    let recorded: Files = about.filter_map(|(key, told)| Some((key, told.as_str()?.to_owned()))).collect();
    let found = if recorded.is_empty() { Files::new() } else { find()? };
    Ok((!found.is_empty()).then(|| changes(&recorded, &found)))
}

/// What is said of each.
fn told(changes: &[Change]) -> Vec<String> {
    changes.iter().map(ToString::to_string).collect()
}

/// The files of the environment of this name that are not those that the run began with: lines and digests, then and now.
pub fn changed_environment(run: &Path, env: &str) -> Result<Vec<String>, RunDirError> {
    let changes = changed(run, CONTENTS, || contents(env))?.unwrap_or_default();
    // A copy is the same by another name.
    let recorded: BTreeSet<_> = changes.iter().filter_map(|change| change.recorded.as_ref()).collect();
    let found: BTreeSet<_> = changes.iter().filter_map(|change| change.found.as_ref()).collect();
    Ok(if recorded == found { Vec::new() } else { told(&changes) })
}

/// The files of this model that are not those that the run began with, likewise; none of little account. With a model of the Hub
/// comes how to have the one of then.
pub fn changed_model(run: &Path, model: &ModelConfig) -> Result<Vec<String>, RunDirError> {
    let changes = changed(run, MODEL_FILE, || model_files(Location::here(model).ok().as_ref(), ""))?;
    let is_meant = |change: &Change| !change.is_one_of(MINOR) && !change.is_one_of(&ADAPTER_FILES);
    let changes: Vec<Change> = changes.unwrap_or_default().into_iter().filter(is_meant).collect();
    let mut lines = told(&changes);
    if !lines.is_empty() {
        lines.push(way_back(run)?);
    }
    Ok(lines)
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
    if has_moved && !(is_known && major.is_empty()) {
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

/// How a run comes by the model that it began with.
fn way_back(run: &Path) -> Result<String, RunDirError> {
    let about = about(run)?;
    let commit = about.get(COMMIT).and_then(toml::Value::as_str);
    let of_hub = commit.map(|commit| format!(" (on the Hub: --revision {commit})"));
    Ok(format!("put it back as it was{}", of_hub.unwrap_or_default()))
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
/// of the version that began the run.
pub(super) fn config_text_over(run: &Path, config: &Config) -> Result<String, RunDirError> {
    let mut config = config.clone();
    config.train.output_dir = recorded(run)?.train.output_dir;
    Ok(config_text(&config, about(run)?))
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

/// The absolute path of what exists at `name`; `name` itself if it is a word or nothing is there.
fn absolute(name: &str, place: fn(&Path) -> io::Result<PathBuf>) -> String {
    let is_word = ["builtin", game2048::NAME, ""].contains(&name);
    let path = if is_word { None } else { place(Path::new(name)).ok() };
    path.map_or_else(|| name.to_owned(), |path| path.display().to_string())
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

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;

    #[test]
    fn weights_that_differ_in_a_fiftieth_of_their_bytes_have_another_digest() {
        let mut file = tempfile::NamedTempFile::new().unwrap();
        let size = HEAD + (100 << 20);
        file.as_file().set_len(size).unwrap();
        let mut told = BTreeSet::from([size_and_digest(file.path()).unwrap()]);
        // In what is read whole, right behind it, in between, and at the end.
        for place in [HEAD - (2 << 20), HEAD, HEAD + (41 << 20), size - (2 << 20)] {
            file.seek(SeekFrom::Start(place)).unwrap();
            file.write_all(&vec![1; 2 << 20]).unwrap();
            assert!(told.insert(size_and_digest(file.path()).unwrap()), "{place}");
        }
        file.as_file().set_len(size - 1).unwrap();
        assert!(told.insert(size_and_digest(file.path()).unwrap()), "one byte less");
    }
}
