//! Other people's rewards: a command, a server or a Python function that is asked for the rewards of completions.
//!
//! Takes completions with the tests of their tasks, and gives what came back for each: a reward, or why there is none. A
//! grader runs on this machine with the rights of its user, outside of the sandbox, because it is the user's own. Knows
//! nothing of what completions try, and judges nothing itself.

mod columns;
mod command;
mod function;
mod http;
mod process;

use std::time::Duration;

use serde_json::Value;

use crate::environment::tasks::Task;
use crate::plural::counted;

/// A completion that a grader is asked about.
#[derive(Debug, Clone)]
pub struct Asked<'a> {
    /// The task that it answers.
    pub task: &'a Task,
    /// What a policy might have written.
    pub completion: String,
}

/// What a grader gave for a completion.
#[derive(Debug, Clone, PartialEq)]
pub enum Grade {
    /// A number, which may be none: nan and infinities are told as they came.
    Reward(f64),
    /// Nothing, on purpose: TRL takes `None` for "not mine to reward".
    Abstained,
    /// No answer, in words: the grader ended, raised an exception or took too long.
    Lost(String),
}

/// The form in which completions and prompts are handed over.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Form {
    /// As texts.
    Text,
    /// As lists of chat messages, which TRL calls conversational.
    Chat,
}

/// A way to a grader.
trait Transport: Send + Sync {
    /// One reward for each completion, in their order; `None` where it abstained. All are lost if the error says why.
    fn ask(&self, items: &[Value], limit: Duration) -> Result<Vec<Option<f64>>, String>;
}

/// A reward of somebody else's.
pub struct Grader {
    name: String,
    form: Form,
    /// Time that it may take for one completion.
    each: Duration,
    transport: Box<dyn Transport>,
}

impl Grader {
    /// The grader of this name: `http://..` is a server, `module:function` or `file.py:function` a function of Python, and
    /// anything else a command for `sh`. It may take `each` for a completion.
    pub fn open(name: &str, form: Form, each: Duration) -> Result<Grader, String> {
        let transport: Box<dyn Transport> = if name.starts_with("http://") {
            Box::new(http::Server::new(name))
        } else if name.starts_with("https://") {
            return Err("a server is asked without TLS; expected http://".to_owned());
        } else if let Some((module, function)) = function::named(name) {
            Box::new(function::Function::start(module, function)?)
        } else {
            Box::new(command::CommandLine::new(name))
        };
        Ok(Grader { name: name.to_owned(), form, each, transport })
    }

    /// What it was called.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// A grade for each completion, in their order. Where none comes back for all of them together, they are asked one by
    /// one, unless the first fails by itself as well: then the same is said of the others.
    pub fn grade(&self, asked: &[Asked<'_>]) -> Vec<Grade> {
        let items: Vec<Value> = asked.iter().map(|asked| columns::item(asked, self.form)).collect();
        match self.ask(&items) {
            Ok(grades) => grades,
            Err(why) if items.len() < 2 => vec![Grade::Lost(why); items.len()],
            Err(_) => {
                let alone = |item: &Value| match self.ask(std::slice::from_ref(item)) {
                    Ok(mut grades) => grades.remove(0),
                    Err(why) => Grade::Lost(why),
                };
                let first = alone(&items[0]);
                let is_lost = matches!(first, Grade::Lost(_));
                let others = items[1..].iter().map(|item| if is_lost { first.clone() } else { alone(item) });
                std::iter::once(first.clone()).chain(others).collect()
            }
        }
    }

    fn ask(&self, items: &[Value]) -> Result<Vec<Grade>, String> {
        let rewards = self.transport.ask(items, self.each * items.len() as u32)?;
        if rewards.len() != items.len() {
            let (found, expected) = (counted(rewards.len(), "reward"), counted(items.len(), "completion"));
            return Err(format!("{found} for {expected}"));
        }
        Ok(rewards.into_iter().map(|reward| reward.map_or(Grade::Abstained, Grade::Reward)).collect())
    }
}

/// The reward that an answer is: a number, null, a text such as "nan", or an object with the key `reward`.
fn reward(answer: &Value) -> Result<Option<f64>, String> {
    let found = match answer {
        Value::Object(keys) => keys.get("reward").unwrap_or(answer),
        other => other,
    };
    match found {
        Value::Null => Ok(None),
        Value::Bool(is_right) => Ok(Some(f64::from(u8::from(*is_right)))),
        Value::Number(number) => Ok(number.as_f64()),
        Value::String(text) => text.trim().parse().map(Some).map_err(|_| no_reward(text)),
        Value::Array(_) | Value::Object(_) => Err(no_reward(&answer.to_string())),
    }
}

fn no_reward(found: &str) -> String {
    format!("answered {:?}, expected a reward", shortened(found))
}

/// The first characters of a text, as messages show it.
fn shortened(text: &str) -> String {
    const SHOWN: usize = 120;
    match text.char_indices().nth(SHOWN) {
        Some((at, _)) => format!("{}...", &text[..at]),
        None => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::reward;

    #[test]
    fn rewards_come_in_several_forms_and_words_are_none() {
        for (answer, expected) in [
            (json!(0.5), Ok(Some(0.5))),
            (json!(1), Ok(Some(1.0))),
            (json!(true), Ok(Some(1.0))),
            (json!(null), Ok(None)),
            (json!("-inf"), Ok(Some(f64::NEG_INFINITY))),
            (json!({"id": "add", "reward": 0.25}), Ok(Some(0.25))),
            (json!({"reward": null}), Ok(None)),
        ] {
            assert_eq!(reward(&answer), expected);
        }
        assert!(reward(&json!("nan")).unwrap().unwrap().is_nan());
        for wrong in [json!("PASSED"), json!([1]), json!({"score": 1})] {
            assert!(reward(&wrong).unwrap_err().contains("expected a reward"), "{wrong}");
        }
    }
}
