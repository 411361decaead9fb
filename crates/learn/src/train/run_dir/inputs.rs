//! The files of the environment and of the model that a run begins with, by size and digest, and how they have changed since.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::fs::{self, File};
use std::io::{self, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};

use super::config_file::{about, absolute};
use super::error::RunDirError;
use crate::config::{Config, ModelConfig};
use crate::environment::Environment;
use crate::files;
use crate::plural::counted;
use crate::policy::{ADAPTER_FILES, Location};

/// How the keys in `[run]` begin that are of the environment's files.
const CONTENTS: &str = "contents of ";
/// The same of the model's files.
pub(super) const MODEL_FILE: &str = "model file ";
/// Files of a model of which little is read, the tokens that end a text. A cache that another program has filled may lack them, and
/// most of what is changed in them is of no account, so that a run goes on with a warning.
pub(super) const MINOR: &[&str] = &["generation_config.json", "special_tokens_map.json"];
/// The key in `[run]` of the commit that a model of the Hub had when the run began.
const COMMIT: &str = "model commit";
/// The same of a run that goes on with another one.
const COMMIT_NOW: &str = "model commit now";
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
pub(super) type Files = BTreeMap<String, String>;

/// A file that is not the one that was recorded, or that only one of the two has.
pub(super) struct Change {
    pub key: String,
    pub recorded: Option<String>,
    found: Option<String>,
}

impl Change {
    /// Whether it is the file of the model that is called one of `names`.
    pub fn is_one_of(&self, names: &[&str]) -> bool {
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
pub(super) fn changes(recorded: &Files, found: &Files) -> Vec<Change> {
    let keys: BTreeSet<&String> = recorded.keys().chain(found.keys()).collect();
    let change = |key: &String| Change {
        key: key.clone(),
        recorded: recorded.get(key).cloned(),
        found: found.get(key).cloned(),
    };
    keys.into_iter().map(change).filter(|change| change.recorded != change.found).collect()
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
    let mut about: toml::Table = about.into_iter().map(|(key, told)| (key, toml::Value::from(told))).collect();
    about.extend(commit_of(&config.model, location.as_ref()).map(|commit| (COMMIT.to_owned(), commit)));
    Ok(about)
}

/// The commit of a model of the Hub that is at `location`. A directory that is named itself has no revisions.
fn commit_of(model: &ModelConfig, location: Option<&Location>) -> Option<toml::Value> {
    location.filter(|_| !Path::new(&model.model).exists())?.commit().map(toml::Value::from)
}

/// Has `[run]` say of which commit the model is that a run goes on with, where that is another one. It is loaded by now.
pub(super) fn record_commit(about: &mut toml::Table, model: &ModelConfig) {
    about.remove(COMMIT_NOW);
    let location = Location::here(model).ok();
    let now = commit_of(model, location.as_ref()).filter(|now| about.get(COMMIT) != Some(now));
    about.extend(now.map(|now| (COMMIT_NOW.to_owned(), now)));
}

/// Those of the model that a run of training begins with, and of an adapter that is the reference of `grpo.beta`: of any other a
/// checkpoint has all that is left.
pub(super) fn trained_files(config: &Config, location: Option<&Location>) -> Result<Files, RunDirError> {
    let adapter = if config.grpo.beta > 0.0 { config.model.adapter.as_str() } else { "" };
    model_files(location, adapter)
}

/// Size and digest of each file that the model and the adapter are read from, as they stand in `[run]`. The built-in model has
/// none. Nothing at all where the model is not there: whatever loads it says more about it.
pub(super) fn model_files(location: Option<&Location>, adapter: &str) -> Result<Files, RunDirError> {
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
pub(super) fn changed(
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
pub(super) fn told(changes: &[Change]) -> Vec<String> {
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

/// The same of the files of this model, but for those of little account, in one line that ends with how to have the model of then; none
/// where none has changed.
pub fn changed_model(run: &Path, model: &ModelConfig) -> Result<Option<String>, RunDirError> {
    let changes = changed(run, MODEL_FILE, || model_files(Location::here(model).ok().as_ref(), ""))?;
    let is_meant = |change: &Change| !change.is_one_of(MINOR) && !change.is_one_of(&ADAPTER_FILES);
    let changes: Vec<Change> = changes.unwrap_or_default().into_iter().filter(is_meant).collect();
    if changes.is_empty() {
        return Ok(None);
    }
    Ok(Some(format!("{}; {}", told(&changes).join(", "), way_back(run)?)))
}

/// The commit of the model of the Hub that a run was last started with; none of any other model.
pub fn model_commit(run: &Path) -> Result<Option<String>, RunDirError> {
    let about = about(run)?;
    let newest = about.get(COMMIT_NOW).or_else(|| about.get(COMMIT));
    Ok(newest.and_then(toml::Value::as_str).map(str::to_owned))
}

/// How a run comes by the model that it began with.
pub(super) fn way_back(run: &Path) -> Result<String, RunDirError> {
    let about = about(run)?;
    let commit = about.get(COMMIT).and_then(toml::Value::as_str);
    let of_hub = commit.map(|commit| format!(" (on the Hub: --revision {commit})"));
    Ok(format!("put it back as it was{}", of_hub.unwrap_or_default()))
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
