//! Checkpoints of a supervised run, and its final model. Each is written completely and then renamed.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use candle_core::{DType, Device, Tensor};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::SftError;
use crate::files;
use crate::policy::Policy;
use crate::train::run_dir::{self, Fingerprint, RunDirError, paths, step_of};

/// The extension of what is not complete; a process that was killed may leave one. Checkpoints of earlier versions had it too.
const PARTIAL: &str = "partial";
const WEIGHTS: &str = "weights.safetensors";
const OPTIMIZER: &str = "optimizer.safetensors";
const STATE: &str = "state.json";
/// The weights that a run ends with: of a model, or of an adapter.
const MODELS: [&str; 2] = ["model.safetensors", "adapter_model.safetensors"];

/// The content of a checkpoint.
pub(super) struct Saved {
    pub state: State,
    pub weights: BTreeMap<String, Tensor>,
    pub optimizer: BTreeMap<String, Tensor>,
}

/// How far a run is. It is in every checkpoint, and in the directory of the run itself, by which that is known: of step 0
/// until the model is written.
#[derive(Serialize, Deserialize)]
pub(super) struct State {
    /// The settings that must be equal to continue: an object, or the text of an earlier version.
    pub settings: Value,
    /// Number of steps done.
    pub step: usize,
    /// Number of tokens so far, including prompts.
    pub tokens: usize,
    /// The losses of the summary, once the model is written: before the first step and after the last.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub losses: Option<[f64; 2]>,
    /// What was told of its programs, once they are tried.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tried: Option<String>,
}

impl State {
    /// Writes it into a checkpoint, or into the directory of the run.
    pub(super) fn write(&self, dir: &Path) -> Result<(), RunDirError> {
        let path = dir.join(STATE);
        let text = serde_json::to_string_pretty(self).map_err(|error| RunDirError::io(&path)(error.into()))?;
        files::write_whole(&path, text.as_bytes()).map_err(RunDirError::io(&path))
    }

    /// None if nothing is in `dir` that a supervised run has written.
    fn read(dir: &Path) -> Option<State> {
        serde_json::from_str(&fs::read_to_string(dir.join(STATE)).ok()?).ok()
    }

    /// That of a checkpoint, whose files are as they were written.
    fn of_checkpoint(path: &Path) -> Result<State, SftError> {
        let damaged = |reason| SftError::Damaged { path: path.to_owned(), reason };
        match run_dir::altered(path)? {
            Some(reason) => Err(damaged(reason)),
            None => State::read(path).ok_or_else(|| damaged(format!("{STATE} is not what was written"))),
        }
    }
}

/// What came of a supervised run.
#[derive(Debug, Clone, PartialEq)]
pub struct SftSummary {
    pub steps: usize,
    /// Number of tokens, including prompts.
    pub tokens: usize,
    /// `held_out_loss` before the first step. Both are NaN of a run that an earlier version ended.
    pub first_loss: f64,
    /// Mean negative log-probability of the target tokens of held-out programs, in nats per token.
    pub held_out_loss: f64,
    /// Whether the observer stopped it. There is a checkpoint to continue from.
    pub interrupted: bool,
    /// What was told of its programs, if it is done and they were tried ([`keep_tried`]).
    pub tried: Option<String>,
}

impl Saved {
    /// Writes a checkpoint below `dir` and removes the earlier ones.
    pub(super) fn write(&self, dir: &Path) -> Result<(), RunDirError> {
        let name = format!("checkpoint-{}", self.state.step);
        let whole = run_dir::write_whole_dir::<RunDirError>(dir, &name, |partial| {
            write_tensors(&self.weights, &partial.join(WEIGHTS))?;
            write_tensors(&self.optimizer, &partial.join(OPTIMIZER))?;
            self.state.write(partial)
        })?;
        remove_checkpoints(dir, Some(&whole))
    }

    /// Refuses what a run with other `settings` has left in `dir`, a checkpoint or a model: its files would be mixed with those of
    /// another; and a checkpoint that is damaged. Returns the summary of a run that is done.
    pub(super) fn check(dir: &Path, settings: &Fingerprint) -> Result<Option<SftSummary>, SftError> {
        let left = Left::read(dir, settings)?;
        Ok(left.own.filter(|_| has_model(dir)).map(|state| {
            let [first_loss, held_out_loss] = state.losses.unwrap_or([f64::NAN; 2]);
            let State { step: steps, tokens, tried, .. } = state;
            SftSummary { steps, tokens, first_loss, held_out_loss, interrupted: false, tried }
        }))
    }

    /// The newest checkpoint below `dir`, of a run with the same `settings`.
    pub(super) fn read_latest(dir: &Path, settings: &Fingerprint) -> Result<Option<Saved>, SftError> {
        let Some((whole, state)) = Left::read(dir, settings)?.newest else { return Ok(None) };
        let weights = read_tensors(&whole.join(WEIGHTS))?;
        let optimizer = read_tensors(&whole.join(OPTIMIZER))?;
        Ok(Some(Saved { state, weights, optimizer }))
    }
}

/// Whether a run is done in `dir`, of whatever settings.
pub fn is_done(dir: &Path) -> bool {
    State::read(dir).is_some_and(|state| state.step > 0) && has_model(dir)
}

/// Whether the weights that a run ends with are there.
fn has_model(dir: &Path) -> bool {
    MODELS.iter().any(|name| dir.join(name).exists())
}

/// What a run has left in its directory.
struct Left {
    /// Its own state, unless it was stopped before its first checkpoint and has nothing to lose.
    own: Option<State>,
    /// Its newest checkpoint. A run that is done needs none: one that is there was being removed.
    newest: Option<(PathBuf, State)>,
}

impl Left {
    /// Refuses what a run with other `settings` has left.
    fn read(dir: &Path, settings: &Fingerprint) -> Result<Left, SftError> {
        let own = State::read(dir).filter(|state| state.step > 0);
        let opened = |path: PathBuf| State::of_checkpoint(&path).map(|state| (path, state));
        let needed = latest_checkpoint(dir).filter(|_| own.is_none() || !has_model(dir));
        let newest = needed.map(opened).transpose()?;
        for state in own.iter().chain(newest.as_ref().map(|(_, state)| state)) {
            if let Some(differing) = settings.differing(&state.settings) {
                return Err(SftError::OtherRun { path: dir.to_owned(), differing });
            }
        }
        Ok(Left { own, newest })
    }
}

/// Keeps what was told of the programs of a run that is done, so that it can be told again.
pub fn keep_tried(dir: &Path, told: &str) -> Result<(), RunDirError> {
    let _lock = run_dir::lock(dir)?;
    match State::read(dir) {
        Some(state) => State { tried: Some(told.to_owned()), ..state }.write(dir),
        None => Ok(()),
    }
}

/// Refuses a directory with something in it that no supervised run has written, as `train` does. Leaves nothing behind.
///
/// # Errors
/// [`SftError::Foreign`], or [`SftError::Dir`] where nothing can be created.
pub fn check_dir(dir: &Path) -> Result<(), SftError> {
    if State::read(dir).is_some() || latest_checkpoint(dir).is_some() {
        return Ok(());
    }
    if run_dir::is_free(dir)? { Ok(()) } else { Err(SftError::Foreign { path: dir.to_owned() }) }
}

/// The newest checkpoint that a supervised run has written below `dir`, damaged or not.
fn latest_checkpoint(dir: &Path) -> Option<PathBuf> {
    let entries = fs::read_dir(dir).into_iter().flatten().flatten().map(|entry| entry.path());
    entries.filter(|path| is_checkpoint(path)).max_by_key(|path| step_of(path))
}

/// Whether a supervised run has written a checkpoint, of which a file may be lost: no other directory of such a name has two files
/// that are called as its are.
fn is_checkpoint(path: &Path) -> bool {
    let found = [STATE, WEIGHTS, OPTIMIZER].into_iter().filter(|name| path.join(name).exists());
    step_of(path).is_some() && found.count() > 1
}

/// Removes the checkpoints below `dir` that a supervised run has written, also incomplete ones, except `kept`.
pub(super) fn remove_checkpoints(dir: &Path, kept: Option<&Path>) -> Result<(), RunDirError> {
    for path in paths(dir)? {
        let is_own = match path.extension() {
            Some(extension) => extension == PARTIAL && step_of(&path.with_extension("")).is_some(),
            None => is_checkpoint(&path),
        };
        if is_own && Some(path.as_path()) != kept {
            files::remove_dir(&path).map_err(RunDirError::io(&path))?;
        }
    }
    Ok(())
}

/// Removes what a process left that was killed when the model was there, and not yet all else gone. This process has the lock.
pub(super) fn tidy(dir: &Path) -> Result<(), RunDirError> {
    run_dir::sweep(dir)?;
    remove_checkpoints(dir, None)
}

/// Writes the trained model or adapter, then moves its files to `dir`. `format` is the number format of a model's
/// weights.
pub(super) fn write_model(policy: &Policy, format: DType, dir: &Path) -> Result<(), SftError> {
    let partial = dir.join("model").with_extension(PARTIAL);
    // All files that are there are moved, so that none may be left of a process that was killed.
    if partial.exists() {
        files::remove_rest(&partial).map_err(RunDirError::io(&partial))?;
    }
    fs::create_dir_all(&partial).map_err(RunDirError::io(&partial))?;
    policy.save(&partial)?;
    let path = partial.join(MODELS[0]);
    if format != DType::F32 && path.exists() {
        let narrowed = read_tensors(&path)?.into_iter().map(|(name, tensor)| Ok((name, tensor.to_dtype(format)?)));
        write_tensors(&narrowed.collect::<candle_core::Result<_>>()?, &path)?;
    }
    // The checkpoints go once the model is there.
    files::sync_files(&partial).map_err(RunDirError::io(&partial))?;
    for path in paths(&partial)? {
        let target = dir.join(path.file_name().unwrap_or_default());
        fs::rename(&path, &target).map_err(RunDirError::io(&target))?;
    }
    Ok(fs::remove_dir(&partial).map_err(RunDirError::io(&partial))?)
}

fn write_tensors(tensors: &BTreeMap<String, Tensor>, path: &Path) -> Result<(), RunDirError> {
    let metadata = std::collections::HashMap::from([("format".to_owned(), "pt".to_owned())]);
    files::write_tensors(tensors.iter(), Some(metadata), path).map_err(RunDirError::io(path))
}

fn read_tensors(path: &Path) -> Result<BTreeMap<String, Tensor>, RunDirError> {
    let bytes = fs::read(path).map_err(RunDirError::io(path))?;
    let tensors = candle_core::safetensors::load_buffer(&bytes, &Device::Cpu);
    let unread = |error: candle_core::Error| RunDirError::io(path)(io::Error::other(error.to_string()));
    Ok(tensors.map_err(unread)?.into_iter().collect())
}
