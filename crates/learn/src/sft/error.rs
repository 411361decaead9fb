//! Why supervised training ends.

use std::path::PathBuf;

use crate::arena::ArenaError;
use crate::grpo::LearnError;
use crate::policy::PolicyError;
use crate::prompt::PromptError;
use crate::train::run_dir::RunDirError;

/// An error that ends supervised training.
#[derive(Debug, thiserror::Error)]
pub enum SftError {
    /// A file cannot be read or written.
    #[error("{path}: {source}")]
    File { path: PathBuf, source: std::io::Error },
    /// The output directory cannot be used.
    #[error(transparent)]
    Dir(#[from] RunDirError),
    /// The directory has something else in it.
    #[error("--output-dir {path}: is not empty and holds no run of sft; choose an empty or new directory")]
    Foreign { path: PathBuf },
    /// The directory has a run with other settings.
    #[error(
        "--output-dir {path}: holds a run with other settings{named}; choose another directory, or delete it",
        named = if differing.is_empty() { ", of an earlier version".into() } else { format!(": {}", differing.join(", ")) }
    )]
    OtherRun {
        path: PathBuf,
        /// Keys that differ, with both values; none are known of a run that an earlier version began.
        differing: Vec<String>,
    },
    /// The vocabulary could not be learnt.
    #[error("vocabulary: {0}")]
    Vocabulary(#[from] tokenizers::Error),
    /// The loss is infinite or NaN.
    #[error("step {step}: the loss is {loss}; lower sft.learning_rate")]
    Diverged { step: usize, loss: f64 },
    /// No program fits into the model's context.
    #[error("no program fits: the model reads {longest} tokens at most, and the prompt alone has {prompt}")]
    NothingFits {
        /// `max_position_embeddings` of the model.
        longest: usize,
        /// Number of tokens of the longest prompt.
        prompt: usize,
    },
    /// There is nothing to read of the tasks, or nothing to measure the loss on.
    #[error(
        "{found} of {tasks} tasks can be read, expected one to train on and one to measure the loss on: a task's reference is read if \
         it begins like the program in the prompt and fits into the model's context"
    )]
    NoLessons {
        /// Number of tasks that can be read.
        found: usize,
        /// Number of all tasks.
        tasks: usize,
    },
    /// The machine failed while programs were judged.
    #[error(transparent)]
    Arena(#[from] ArenaError),
    /// The tokenizer has no token that ends a text.
    #[error("the tokenizer names no end: expected eos_token in tokenizer_config.json or eos_token_id in config.json")]
    NoEnd,
    /// The update was refused.
    #[error(transparent)]
    Learn(#[from] LearnError),
    /// The model failed.
    #[error(transparent)]
    Policy(#[from] PolicyError),
    /// The prompts cannot be built.
    #[error(transparent)]
    Prompt(#[from] PromptError),
    /// A tensor operation failed.
    #[error(transparent)]
    Tensor(#[from] candle_core::Error),
}
