//! Whether prompts and completions fit into the model's context.

use super::error::RolloutError;
use crate::config::RolloutConfig;
use crate::policy::Policy;
use crate::prompt::Prompt;

/// Refuses prompts and completions that exceed the model's context.
pub fn check_length<'a>(
    policy: &Policy,
    prompts: impl IntoIterator<Item = &'a Prompt>,
    config: &RolloutConfig,
) -> Result<(), RolloutError> {
    // What a conversation has had already counts towards the maximum length of its completion.
    let prompt = prompts.into_iter().map(|prompt| prompt.ids.len() - prompt.earlier.tokens).max().unwrap_or(0);
    let (completion, limit) = (config.max_completion_length, policy.decoder().config().max_position_embeddings);
    if prompt + completion > limit {
        return Err(RolloutError::TooLong { prompt, completion, limit });
    }
    Ok(())
}
