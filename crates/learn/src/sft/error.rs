//! Why supervised training ends.

use std::path::PathBuf;

use crate::grpo::LearnError;
use crate::policy::PolicyError;
use crate::prompt::PromptError;

/// An error that ends supervised training.
#[derive(Debug, thiserror::Error)]
pub enum SftError {
    /// A file cannot be read or written.
    #[error("{path}: {source}")]
    File {
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: std::io::Error,
    },
    /// The directory has a run with other settings.
    #[error("{path}: holds a run with other settings ({found}); choose another --output-dir or delete it")]
    OtherRun {
        /// The checkpoint.
        path: PathBuf,
        /// Its settings.
        found: String,
    },
    /// The vocabulary could not be learnt.
    #[error("vocabulary: {0}")]
    Vocabulary(#[from] tokenizers::Error),
    /// The loss is infinite or NaN.
    #[error("step {step}: the loss is {loss}; lower sft.learning_rate")]
    Diverged {
        /// The step.
        step: usize,
        /// Its value.
        loss: f64,
    },
    /// No program fits into the model's context.
    #[error("no program fits: the model reads {longest} tokens at most, and the prompt alone has {prompt}")]
    NothingFits {
        /// `max_position_embeddings` of the model.
        longest: usize,
        /// Number of tokens of the longest prompt.
        prompt: usize,
    },
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
