//! What a grader is asked, how it is reached, and what its answer says.

use std::time::Duration;

use serde_json::Value;

use crate::environment::Value as PythonValue;
use crate::environment::tasks::Task;
use crate::plural::cut;

/// A completion that a grader is asked about.
#[derive(Debug, Clone)]
pub struct Asked<'a> {
    pub task: &'a Task,
    /// What a policy might have written.
    pub completion: String,
}

/// The form in which completions and prompts are handed over.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Form {
    Text,
    /// As lists of chat messages, which TRL calls conversational.
    Chat,
}

/// A way to a grader.
pub(super) trait Transport: Send + Sync {
    /// One reward for each completion, in their order; `None` where it abstained. All are lost if the error says why.
    fn ask(&self, items: &[Value], limit: Duration) -> Result<Vec<Option<f64>>, String>;
}

/// An answer as JSON. What Python writes and JSON lacks, `NaN` and `Infinity`, is an object with the key `float`.
pub(super) fn parsed(text: &str) -> Option<Value> {
    if let Ok(answer) = serde_json::from_str(text) {
        return Some(answer);
    }
    let answer = PythonValue::from_plain_json(text).ok()?;
    serde_json::from_str(&answer.to_json()).ok()
}

/// The reward that an answer is: a number, null, a text such as "nan", or an object with the key `reward`.
pub(super) fn reward(answer: &Value) -> Result<Option<f64>, String> {
    let found = answer.get("reward").unwrap_or(answer);
    let found = found.get("float").unwrap_or(found);
    match found {
        Value::Null => Ok(None),
        Value::Bool(is_right) => Ok(Some(f64::from(u8::from(*is_right)))),
        Value::Number(number) => Ok(number.as_f64()),
        Value::String(text) => text.trim().parse().map(Some).map_err(|_| no_reward(text)),
        Value::Array(_) | Value::Object(_) => Err(no_reward(&answer.to_string())),
    }
}

pub(super) fn no_reward(found: &str) -> String {
    format!("answered {:?}, expected a reward", shortened(found))
}

/// The first characters of a text, as messages show it.
pub(super) fn shortened(text: &str) -> String {
    const SHOWN: usize = 120;
    cut(text, SHOWN)
}
