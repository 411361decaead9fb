//! Checkpoints of a supervised run, and its final model. Each is written completely and then renamed.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use candle_core::{DType, Device, Tensor};
use serde::{Deserialize, Serialize};

use super::SftError;
use crate::files;
use crate::policy::Policy;
use crate::train::run_dir::latest_checkpoint;

const PREFIX: &str = "checkpoint-";
const WEIGHTS: &str = "weights.safetensors";
const OPTIMIZER: &str = "optimizer.safetensors";
const STATE: &str = "state.json";

/// The content of a checkpoint.
pub(super) struct Saved {
    pub state: State,
    pub weights: BTreeMap<String, Tensor>,
    pub optimizer: BTreeMap<String, Tensor>,
}

#[derive(Serialize, Deserialize)]
pub(super) struct State {
    /// The settings that must be equal to continue.
    pub settings: String,
    /// Number of steps done.
    pub step: usize,
    /// Number of tokens so far, including prompts.
    pub tokens: usize,
}

impl State {
    /// Writes it into a checkpoint, or beside the model that is done.
    pub(super) fn write(&self, dir: &Path) -> Result<(), SftError> {
        let path = dir.join(STATE);
        let text = serde_json::to_string_pretty(self).map_err(|error| file(&path)(error.into()))?;
        files::write_whole(&path, text.as_bytes()).map_err(file(&path))
    }

    fn read(dir: &Path, settings: &str) -> Result<State, SftError> {
        let path = dir.join(STATE);
        let text = fs::read_to_string(&path).map_err(file(&path))?;
        let state: State = serde_json::from_str(&text).map_err(|error| file(&path)(error.into()))?;
        match state.settings == settings {
            true => Ok(state),
            false => Err(SftError::OtherRun { path: dir.to_owned(), found: state.settings }),
        }
    }
}

impl Saved {
    /// Writes a checkpoint below `dir` and removes the earlier ones.
    pub(super) fn write(&self, dir: &Path) -> Result<(), SftError> {
        let whole = dir.join(format!("{PREFIX}{}", self.state.step));
        let partial = dir.join(format!("{PREFIX}{}.partial", self.state.step));
        fs::create_dir_all(&partial).map_err(file(&partial))?;
        write_tensors(&self.weights, &partial.join(WEIGHTS))?;
        write_tensors(&self.optimizer, &partial.join(OPTIMIZER))?;
        self.state.write(&partial)?;
        rename(&partial, &whole)?;
        remove_checkpoints(dir, Some(&whole))
    }

    /// The newest complete checkpoint below `dir`. It must be of a run with the same `settings`, as must a model that is there:
    /// its files would be mixed with those of another.
    pub(super) fn read_latest(dir: &Path, settings: &str) -> Result<Option<Saved>, SftError> {
        if dir.join(STATE).exists() {
            State::read(dir, settings)?;
        }
        let Some(whole) = latest_checkpoint(dir) else { return Ok(None) };
        let state = State::read(&whole, settings)?;
        let weights = read_tensors(&whole.join(WEIGHTS))?;
        let optimizer = read_tensors(&whole.join(OPTIMIZER))?;
        Ok(Some(Saved { state, weights, optimizer }))
    }
}

/// Removes the checkpoints below `dir`, also incomplete ones, except `kept`.
pub(super) fn remove_checkpoints(dir: &Path, kept: Option<&Path>) -> Result<(), SftError> {
    for entry in fs::read_dir(dir).map_err(file(dir))? {
        let entry = entry.map_err(file(dir))?;
        let path = entry.path();
        if entry.file_name().to_string_lossy().starts_with(PREFIX) && Some(path.as_path()) != kept {
            fs::remove_dir_all(&path).map_err(file(&path))?;
        }
    }
    Ok(())
}

/// Writes the trained model or adapter, then moves its files to `dir`. `format` is the number format of a model's
/// weights.
pub(super) fn write_model(policy: &Policy, format: DType, dir: &Path) -> Result<(), SftError> {
    let partial = dir.join("model.partial");
    fs::create_dir_all(&partial).map_err(file(&partial))?;
    policy.save(&partial)?;
    let path = partial.join("model.safetensors");
    if format != DType::F32 && path.exists() {
        let narrowed = read_tensors(&path)?.into_iter().map(|(name, tensor)| Ok((name, tensor.to_dtype(format)?)));
        write_tensors(&narrowed.collect::<candle_core::Result<_>>()?, &path)?;
    }
    let entries = fs::read_dir(&partial).map_err(file(&partial))?;
    for entry in entries {
        let entry = entry.map_err(file(&partial))?;
        rename(&entry.path(), &dir.join(entry.file_name()))?;
    }
    fs::remove_dir(&partial).map_err(file(&partial))
}

fn write_tensors(tensors: &BTreeMap<String, Tensor>, path: &Path) -> Result<(), SftError> {
    let metadata = std::collections::HashMap::from([("format".to_owned(), "pt".to_owned())]);
    files::write_tensors(tensors.iter(), Some(metadata), path).map_err(file(path))
}

fn read_tensors(path: &Path) -> Result<BTreeMap<String, Tensor>, SftError> {
    let bytes = fs::read(path).map_err(file(path))?;
    Ok(candle_core::safetensors::load_buffer(&bytes, &Device::Cpu)?.into_iter().collect())
}

fn rename(from: &Path, to: &Path) -> Result<(), SftError> {
    if to.is_dir() {
        fs::remove_dir_all(to).map_err(file(to))?;
    }
    fs::rename(from, to).map_err(file(to))
}

fn file(path: &Path) -> impl FnOnce(std::io::Error) -> SftError {
    let path = path.to_owned();
    move |source| SftError::File { path, source }
}
