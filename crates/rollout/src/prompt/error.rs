//! Why prompts cannot be built.

use crate::environment::game2048::prompts::PromptFileError;

/// Why prompts could not be made.
#[derive(Debug, thiserror::Error)]
pub enum PromptError {
    /// A malformed prompt file.
    #[error(transparent)]
    File(#[from] PromptFileError),
    /// A style that is not in the model's vocabulary.
    #[error(
        "prompts/{style}.md: the built-in model was not trained on this style; add it to the corpus and run `grpo-2048 sft`"
    )]
    UnknownStyle { style: String },
    /// A base model without a chat template.
    #[error("the model has no chat template: it is a base model, or its tokenizer_config.json is not complete")]
    NoChatTemplate,
    /// Several turns for a model that cannot be told anything.
    #[error("rollout.turns: {reason}")]
    NoTurns { reason: String },
    /// A template that cannot be rendered.
    #[error("chat template: {message}")]
    Template { message: String },
}
