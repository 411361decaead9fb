//! Checkpoints: everything that a run needs to continue, written completely or not at all.
//!
//! A checkpoint holds the trained weights (full model or PEFT adapter), the moments of the optimiser, the state of the
//! trainer, and completions that were sampled ahead of the next step. It needs no state of random generators, because
//! every stream is derived from the root seed and the number of the step.

use std::fs;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::groups::Groups;
use crate::grpo::{Division, EntropyController, Optimizer};
use crate::metrics::{EvaluationRecord, StepRecord};
use crate::policy::Policy;
use crate::rollout::Completion;

use super::TrainError;
use super::ahead;
use super::curriculum::Curriculum;
use super::elites::Elites;
use super::hall_of_fame::HallOfFame;
use super::run_dir::{Retention, RunDir, RunDirError, step_of};

const STATE: &str = "trainer_state.json";
const CHANCE: &str = "rng_state.json";
pub(crate) const OPTIMIZER: &str = "optimizer.safetensors";

/// The state of the loop besides weights and moments. Keys are named as in Hugging Face's `trainer_state.json`.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct TrainerState {
    /// Number of steps done.
    pub global_step: usize,
    /// Number of steps that the run was asked for.
    pub max_steps: usize,
    /// Always null, because prompts are drawn at random. Programs that read Hugging Face's files expect the key.
    pub epoch: Option<f64>,
    /// Tokens of prompts and completions so far.
    pub num_input_tokens_seen: u64,
    /// One record per step.
    pub log_history: Vec<StepRecord>,
    pub evaluations: Vec<EvaluationRecord>,
    pub hall_of_fame: HallOfFame,
    /// The best programs of each style, which updates imitate.
    #[serde(default)]
    pub elites: Elites,
    /// What the groups of each prompt have come to, if that decides which prompts are drawn.
    #[serde(default, skip_serializing_if = "Curriculum::is_empty")]
    pub curriculum: Curriculum,
    #[serde(default)]
    pub entropy: EntropyController,
    pub division: Option<Division>,
}

impl TrainerState {
    /// Refuses values that the loop cannot have written into this checkpoint.
    fn check(&self, checkpoint: &Path) -> Result<(), TrainError> {
        let refuse = |reason: String| Err(TrainError::Checkpoint { path: checkpoint.join(STATE), reason });
        if step_of(checkpoint).is_some_and(|step| step != self.global_step) {
            return refuse(format!(
                "global_step = {}; expected the step of {}",
                self.global_step,
                checkpoint.display()
            ));
        }
        match self.division {
            Some(Division { micro_batch, logit_bytes, .. }) if micro_batch == 0 || logit_bytes == 0 => {
                refuse(format!("division of {micro_batch} completions and {logit_bytes} bytes; expected both above 0"))
            }
            _ => Ok(()),
        }
    }
}

/// The state of all random generators, which is the root seed and a step because every stream is derived from these.
#[derive(Debug, PartialEq, Serialize, Deserialize)]
struct Chance {
    root_seed: u64,
    /// Number of steps done, which is the index of the next step from 0.
    next_step: usize,
}

pub struct Contents<'a> {
    pub policy: &'a Policy,
    pub optimizer: &'a Optimizer,
    pub state: &'a TrainerState,
    pub root_seed: u64,
    /// Completions of the next step, if they were sampled ahead.
    pub ahead: Option<&'a Groups<Completion>>,
}

/// Writes `checkpoint-N` for the state's step N and removes older ones that `retention` does not keep.
pub fn save(dir: &RunDir, contents: &Contents<'_>, retention: Retention) -> Result<PathBuf, TrainError> {
    let Contents { policy, optimizer, state, root_seed, ahead } = *contents;
    let name = format!("checkpoint-{}", state.global_step);
    let chance = Chance { root_seed, next_step: state.global_step };
    let path = dir.write_whole_dir::<TrainError>(&name, |path| {
        policy.save(path)?;
        optimizer.save(&path.join(OPTIMIZER))?;
        write_json(&path.join(CHANCE), &chance)?;
        ahead.map_or(Ok(()), |completions| ahead::save(path, completions))?;
        Ok(write_json(&path.join(STATE), state)?)
    })?;
    dir.advance(&name, retention)?;
    Ok(path)
}

/// Restores weights and moments, and returns the state of the trainer.
pub fn load(
    path: &Path,
    policy: &mut Policy,
    optimizer: &mut Optimizer,
    root_seed: u64,
) -> Result<TrainerState, TrainError> {
    let state: TrainerState = read_json(&path.join(STATE))?;
    let chance: Chance = read_json(&path.join(CHANCE))?;
    if chance != (Chance { root_seed, next_step: state.global_step }) {
        return Err(TrainError::Checkpoint {
            path: path.join(CHANCE),
            reason: format!(
                "belongs to seed {} and step {}, expected seed {root_seed} and step {}",
                chance.root_seed, chance.next_step, state.global_step
            ),
        });
    }
    state.check(path)?;
    policy.restore(path)?;
    optimizer.restore(&path.join(OPTIMIZER))?;
    Ok(state)
}

fn write_json(path: &Path, value: &impl Serialize) -> Result<(), RunDirError> {
    let text = serde_json::to_vec_pretty(value).map_err(|error| RunDirError::io(path)(error.into()))?;
    fs::write(path, text).map_err(RunDirError::io(path))
}

fn read_json<T: for<'de> Deserialize<'de>>(path: &Path) -> Result<T, TrainError> {
    let unreadable = |reason: String| TrainError::Checkpoint { path: path.to_owned(), reason };
    let text = fs::read(path).map_err(|error| unreadable(error.to_string()))?;
    serde_json::from_slice(&text).map_err(|error| unreadable(error.to_string()))
}
