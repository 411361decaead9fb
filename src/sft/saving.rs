//! Checkpoints of a supervised run, and its final model. Each is written completely and then renamed.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use candle_core::{DType, Device, Tensor};
use serde::{Deserialize, Serialize};

use super::SftError;
use crate::files;
use crate::policy::Policy;

const PREFIX: &str = "checkpoint-";
const WEIGHTS: &str = "weights.safetensors";
const OPTIMIZER: &str = "optimizer.safetensors";
const STATE: &str = "state.json";

/// The content of a checkpoint.
pub(super) struct Saved {
    pub settings: String,
    pub step: usize,
    pub tokens: usize,
    pub weights: BTreeMap<String, Tensor>,
    pub optimizer: BTreeMap<String, Tensor>,
}

#[derive(Serialize, Deserialize)]
struct State {
    settings: String,
    step: usize,
    tokens: usize,
}

impl Saved {
    /// Writes a checkpoint below `dir` and removes the earlier ones.
    pub(super) fn write(&self, dir: &Path) -> Result<(), SftError> {
        let whole = dir.join(format!("{PREFIX}{}", self.step));
        let partial = dir.join(format!("{PREFIX}{}.partial", self.step));
        fs::create_dir_all(&partial).map_err(|source| file(&partial, source))?;
        write_tensors(&self.weights, &partial.join(WEIGHTS))?;
        write_tensors(&self.optimizer, &partial.join(OPTIMIZER))?;
        let state = State { settings: self.settings.clone(), step: self.step, tokens: self.tokens };
        let path = partial.join(STATE);
        let text = serde_json::to_string_pretty(&state).map_err(|error| file(&path, error.into()))?;
        fs::write(&path, text).map_err(|source| file(&path, source))?;
        rename(&partial, &whole)?;
        for (step, path) in checkpoints(dir)? {
            if step != Some(self.step) {
                fs::remove_dir_all(&path).map_err(|source| file(&path, source))?;
            }
        }
        Ok(())
    }

    /// The newest complete checkpoint below `dir`, which must be of a run with the same `settings`.
    pub(super) fn read_latest(dir: &Path, settings: &str) -> Result<Option<Saved>, SftError> {
        let newest = checkpoints(dir)?.into_iter().filter_map(|(step, path)| Some((step?, path))).max();
        let Some((_, whole)) = newest else { return Ok(None) };
        let path = whole.join(STATE);
        let text = fs::read_to_string(&path).map_err(|source| file(&path, source))?;
        let state: State = serde_json::from_str(&text).map_err(|error| file(&path, error.into()))?;
        if state.settings != settings {
            return Err(SftError::OtherRun { path: whole, found: state.settings });
        }
        let weights = read_tensors(&whole.join(WEIGHTS))?;
        let optimizer = read_tensors(&whole.join(OPTIMIZER))?;
        Ok(Some(Saved { settings: state.settings, step: state.step, tokens: state.tokens, weights, optimizer }))
    }
}

/// Removes all checkpoints below `dir`.
pub(super) fn clear(dir: &Path) -> Result<(), SftError> {
    for (_, path) in checkpoints(dir)? {
        fs::remove_dir_all(&path).map_err(|source| file(&path, source))?;
    }
    Ok(())
}

/// Writes the trained model or adapter, then moves its files to `dir`. `format` is the number format of a model's
/// weights.
pub(super) fn write_model(policy: &Policy, format: DType, dir: &Path) -> Result<(), SftError> {
    let partial = dir.join("model.partial");
    fs::create_dir_all(&partial).map_err(|source| file(&partial, source))?;
    policy.save(&partial)?;
    let path = partial.join("model.safetensors");
    if format != DType::F32 && path.exists() {
        let narrowed = read_tensors(&path)?.into_iter().map(|(name, tensor)| Ok((name, tensor.to_dtype(format)?)));
        write_tensors(&narrowed.collect::<candle_core::Result<_>>()?, &path)?;
    }
    let entries = fs::read_dir(&partial).map_err(|source| file(&partial, source))?;
    for entry in entries {
        let entry = entry.map_err(|source| file(&partial, source))?;
        rename(&entry.path(), &dir.join(entry.file_name()))?;
    }
    fs::remove_dir(&partial).map_err(|source| file(&partial, source))
}

/// The checkpoints below `dir` with their steps. An incomplete one has no step.
fn checkpoints(dir: &Path) -> Result<Vec<(Option<usize>, PathBuf)>, SftError> {
    if !dir.exists() {
        return Ok(Vec::new());
    }
    let entries = fs::read_dir(dir).map_err(|source| file(dir, source))?;
    let mut found = Vec::new();
    for entry in entries {
        let path = entry.map_err(|source| file(dir, source))?.path();
        let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        if let Some(step) = name.strip_prefix(PREFIX) {
            found.push((step.parse().ok(), path));
        }
    }
    Ok(found)
}

fn write_tensors(tensors: &BTreeMap<String, Tensor>, path: &Path) -> Result<(), SftError> {
    let metadata = std::collections::HashMap::from([("format".to_owned(), "pt".to_owned())]);
    files::write_tensors(tensors.iter(), Some(metadata), path).map_err(|source| file(path, source))
}

fn read_tensors(path: &Path) -> Result<BTreeMap<String, Tensor>, SftError> {
    let bytes = fs::read(path).map_err(|source| file(path, source))?;
    Ok(candle_core::safetensors::load_buffer(&bytes, &Device::Cpu)?.into_iter().collect())
}

fn rename(from: &Path, to: &Path) -> Result<(), SftError> {
    if to.is_dir() {
        fs::remove_dir_all(to).map_err(|source| file(to, source))?;
    }
    fs::rename(from, to).map_err(|source| file(to, source))
}

fn file(path: &Path, source: std::io::Error) -> SftError {
    SftError::File { path: path.into(), source }
}
