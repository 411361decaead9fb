//! Why supervised training ends.

use std::path::PathBuf;

use crate::arena::ArenaError;
use crate::grpo::LearnError;
use crate::policy::PolicyError;
use crate::prompt::PromptError;
use crate::train::run_dir::RunDirError;

use super::left_out::LeftOut;

#[derive(Debug, thiserror::Error)]
pub enum SftError {
    #[error(transparent)]
    Dir(#[from] RunDirError),
    #[error("--output-dir {path}: is not empty and holds no run of sft; choose an empty or new directory")]
    Foreign { path: PathBuf },
    #[error(
        "--output-dir {path}: holds a run with other settings{named}; choose another directory, or delete it",
        named = if differing.is_empty() { ", of an earlier version".into() } else { format!(": {}", differing.join(", ")) }
    )]
    OtherRun {
        path: PathBuf,
        /// Keys that differ, with both values; none are known of a run that an earlier version began.
        differing: Vec<String>,
    },
    #[error("{path}: {reason}; the run cannot go on from it: remove it, and the same command begins anew")]
    Damaged {
        /// The checkpoint.
        path: PathBuf,
        /// The file that is not what was written.
        reason: String,
    },
    #[error("vocabulary: {0}")]
    Vocabulary(#[from] tokenizers::Error),
    #[error("step {step}: the loss is {loss}; lower sft.learning_rate")]
    Diverged { step: usize, loss: f64 },
    #[error("no program fits: the model reads {longest} tokens at most, and the prompt alone has {prompt}")]
    NothingFits {
        /// `max_position_embeddings` of the model.
        longest: usize,
        prompt: usize,
    },
    #[error(
        "{found} of {tasks} tasks can be read, expected one to train on and one to measure the loss on: a task's reference is read if \
         it fits into the model's context and passes its own tests when it begins like the program in the prompt; the task says in \"opening\" \
         how its program begins"
    )]
    NoLessons {
        found: usize,
        tasks: usize,
        /// Those of which nothing is read.
        left_out: Vec<LeftOut>,
    },
    #[error(transparent)]
    Arena(#[from] ArenaError),
    #[error("the tokenizer names no end: expected eos_token in tokenizer_config.json or eos_token_id in config.json")]
    NoEnd,
    #[error(transparent)]
    Learn(#[from] LearnError),
    #[error(transparent)]
    Policy(#[from] PolicyError),
    #[error(transparent)]
    Prompt(#[from] PromptError),
    #[error(transparent)]
    Tensor(#[from] candle_core::Error),
}
