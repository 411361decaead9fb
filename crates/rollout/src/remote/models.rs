//! The models that a server lists: the one without adapters, and adapters by their names.

use serde_json::Value;

use super::http::{AnswerFault, Client};

/// The server's name of the model without adapters, and its maximum length, which is at least `tokens`, if it tells.
pub(super) fn base_model(client: &Client, url: &str, tokens: usize) -> Result<(String, Option<usize>), AnswerFault> {
    let models = models(client, url)?;
    let base = models.iter().find(|model| model.get("parent").is_none_or(Value::is_null));
    let Some(name) = base.and_then(|base| base["id"].as_str()) else {
        return Err(AnswerFault::rubbish("no model in /v1/models"));
    };
    match base.and_then(|base| base["max_model_len"].as_u64()).map(|room| room as usize) {
        Some(room) if room < tokens => Err(AnswerFault::new(
            format!("room for {room} tokens, a prompt and rollout.max_completion_length take {tokens}"),
            "raise --max-model-len there, or lower --max-completion-length here",
        )),
        room => Ok((name.to_owned(), room)),
    }
}

/// Whether the server lists a model of this name.
pub(super) fn knows(client: &Client, url: &str, name: &str) -> Result<bool, AnswerFault> {
    Ok(models(client, url)?.iter().any(|model| model["id"] == name))
}

/// The server's models, with and without adapters.
pub(super) fn models(client: &Client, url: &str) -> Result<Vec<Value>, AnswerFault> {
    match client.get(&format!("{url}/v1/models"))?.get_mut("data").map(Value::take) {
        Some(Value::Array(models)) => Ok(models),
        _ => Err(AnswerFault::rubbish("no list in /v1/models")),
    }
}
