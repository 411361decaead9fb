//! A grader that is a server: `POST` of `{"completions": [..], ..}`, answered with `{"rewards": [..]}`.

use std::time::Duration;

use serde_json::{Map, Value};
use ureq::Agent;

use super::transport::{Transport, no_reward, parsed, reward, shortened};

/// Time limit for connecting.
const CONNECT: Duration = Duration::from_secs(10);

/// A server at this address.
pub(super) struct Server(pub String);

impl Transport for Server {
    fn ask(&self, items: &[Value], limit: Duration) -> Result<Vec<Option<f64>>, String> {
        let config = Agent::config_builder()
            .timeout_global(Some(limit))
            .timeout_connect(Some(CONNECT.min(limit)))
            .http_status_as_error(false)
            .proxy(None)
            .build();
        let request = config.new_agent().post(&self.0).header("content-type", "application/json");
        let mut answer = request.send(columns(items).to_string()).map_err(|error| error.to_string())?;
        let text = answer.body_mut().read_to_string().map_err(|error| error.to_string())?;
        if !answer.status().is_success() {
            return Err(format!("HTTP {}: {}", answer.status(), shortened(&text)));
        }
        let answer = parsed(&text).ok_or_else(|| no_reward(&text))?;
        match answer.get("rewards").unwrap_or(&answer) {
            Value::Array(rewards) => rewards.iter().map(reward).collect(),
            _ => Err(no_reward(&text)),
        }
    }
}

/// The items as TRL would hand them over: a list for each column, those of prompts and completions in the plural.
fn columns(items: &[Value]) -> Value {
    let mut columns = Map::new();
    for (key, value) in items.iter().filter_map(Value::as_object).flatten() {
        let name = match key.as_str() {
            "prompt" => "prompts",
            "completion" => "completions",
            other => other,
        };
        if let Value::Array(column) = columns.entry(name).or_insert_with(|| Value::Array(Vec::new())) {
            column.push(value.clone());
        }
    }
    Value::Object(columns)
}
