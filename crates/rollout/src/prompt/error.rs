//! Why prompts cannot be built.

use crate::environment::game2048::prompts::PromptFileError;

#[derive(Debug, thiserror::Error)]
pub enum PromptError {
    #[error(transparent)]
    File(#[from] PromptFileError),
    #[error(
        "prompts/{style}.md: the built-in model was not trained on this style; add it to the corpus, or, \
         if an earlier version made the model, just run `grpo-2048 sft`"
    )]
    UnknownStyle { style: String },
    #[error("the model has no chat template: it is a base model, or its tokenizer_config.json is not complete")]
    NoChatTemplate,
    #[error("rollout.turns: {reason}")]
    NoTurns { reason: String },
    #[error("chat template: {message}")]
    Template { message: String },
}
