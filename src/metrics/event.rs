//! What the loop tells while it runs.

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::StepRecord;

/// One thing that happened in a run, in the order of happening.
#[derive(Debug, Clone, Copy)]
pub enum Event<'a> {
    /// The run begins, or goes on from a checkpoint.
    RunStarted(&'a RunHeader),
    /// Step `step` begins; the first one is 1.
    StepStarted {
        /// Number of the step.
        step: usize,
    },
    /// Sampling goes on.
    Decoding {
        /// Completion tokens sampled so far in this step.
        tokens: usize,
        /// Completions that have ended.
        finished: usize,
        /// Completions of the step.
        total: usize,
    },
    /// One more completion has its reward.
    Scored {
        /// Completions scored so far in this step.
        done: usize,
        /// Completions of the step.
        total: usize,
    },
    /// What one completion turned out to be.
    CompletionScored(&'a ScoredCompletion),
    /// The update goes on.
    Updating {
        /// Micro-batches done.
        done: usize,
        /// Micro-batches in all.
        total: usize,
    },
    /// A step is complete.
    StepDone(&'a StepRecord),
    /// A held-out evaluation is complete.
    Evaluated(&'a EvaluationRecord),
    /// A checkpoint is on disk, whole.
    Saved {
        /// Its directory.
        path: &'a Path,
    },
    /// Something worth a line.
    Message(&'a str),
}

/// What is fixed for a whole run.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct RunHeader {
    /// The model, as the user named it.
    pub model: String,
    /// Weights of the model.
    pub parameters: usize,
    /// Weights that are trained.
    pub trainable: usize,
    /// Where tensors live, in words.
    pub device: String,
    /// Last step of the run.
    pub max_steps: usize,
    /// Steps that were done before, when resumed; otherwise 0.
    pub resumed_from: usize,
    /// Prompts a step.
    pub groups: usize,
    /// Completions a prompt.
    pub num_generations: usize,
    /// Worker threads that play; 0 is sequential.
    pub parallel_rewards: usize,
    /// Games a program.
    pub games: usize,
    /// Where the run writes.
    pub output_dir: PathBuf,
    /// Root of all chance.
    pub seed: u64,
    /// Whether this is a control with shuffled rewards.
    pub control: bool,
}

/// One completion with its verdict, as a reader wants it.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ScoredCompletion {
    /// Step it belongs to; 0 in an evaluation.
    pub step: usize,
    /// Position in the step, group after group.
    pub index: usize,
    /// Text of the program, or of the whole completion when no program was found in it.
    pub source: String,
    /// One of `played`, `rejected`, `faulted`.
    pub verdict: String,
    /// Why it was rejected, faulted, or how its games ended; may be empty.
    pub reason: String,
    /// The reward.
    pub reward: f64,
    /// What the reward is made of.
    pub parts: Vec<(String, f64)>,
    /// Mean score over the games played; 0 when none was.
    pub mean_score: f64,
    /// Best tile over its games; 0 when none was played.
    pub max_tile: u32,
    /// Games played.
    pub games: usize,
    /// Last board of the first game.
    pub final_board: Option<[[u32; 4]; 4]>,
}

/// A held-out evaluation of the policy.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct EvaluationRecord {
    /// Steps done when it was made; 0 is the untrained model.
    pub step: usize,
    /// Completions sampled.
    #[serde(rename = "eval_samples")]
    pub samples: usize,
    /// Games each of them played.
    #[serde(rename = "eval_games")]
    pub games: usize,
    /// Mean reward.
    #[serde(rename = "eval_reward")]
    pub reward: f64,
    /// Mean over completions of the mean score of their games; 0 for one that does not play.
    #[serde(rename = "eval_game/mean_score")]
    pub mean_score: f64,
    /// Best tile of any game.
    #[serde(rename = "eval_game/max_tile")]
    pub max_tile: u32,
    /// Share of completions that play.
    #[serde(rename = "eval_game/frac_played")]
    pub frac_played: f64,
    /// Seconds it took.
    #[serde(rename = "eval_runtime")]
    pub runtime: f64,
}
