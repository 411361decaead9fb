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
mod transport;

use std::time::Duration;

use serde_json::Value;

use crate::plural::counted;
use transport::Transport;
pub use transport::{Asked, Form};

/// Completions of a batch without rewards that are asked about alone, whatever comes back.
const ALONE: usize = 2;

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
            Box::new(http::Server(name.to_owned()))
        } else if name.starts_with("https://") {
            return Err("a server is asked without TLS; expected http://".to_owned());
        } else if let Some((module, function)) = function::named(name) {
            Box::new(function::Function::start(module, function)?)
        } else {
            Box::new(command::CommandLine(name.to_owned()))
        };
        Ok(Grader { name: name.to_owned(), form, each, transport })
    }

    pub fn name(&self) -> &str {
        &self.name
    }

    /// A grade for each completion, in their order. Where none comes back for all of them together, they are asked one by
    /// one, unless the first two fail by themselves as well: then the same is said of the others, each of which might take as
    /// long. One alone says nothing of the others: a grader may fail on a single task.
    pub fn grade(&self, asked: &[Asked<'_>]) -> Vec<Grade> {
        let items: Vec<Value> = asked.iter().map(|asked| columns::item(asked, self.form)).collect();
        match self.ask(&items) {
            Ok(grades) => grades,
            Err(why) if items.len() < ALONE => vec![Grade::Lost(why); items.len()],
            Err(_) => {
                let alone = |item: &Value| match self.ask(std::slice::from_ref(item)) {
                    Ok(mut grades) => grades.remove(0),
                    Err(why) => Grade::Lost(why),
                };
                let mut grades: Vec<Grade> = items[..ALONE].iter().map(alone).collect();
                let is_lost = grades.iter().all(|grade| matches!(grade, Grade::Lost(_)));
                let first = grades[0].clone();
                grades.extend(items[ALONE..].iter().map(|item| if is_lost { first.clone() } else { alone(item) }));
                grades
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

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::transport::{parsed, reward};

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

    #[test]
    fn rewards_that_python_writes_into_json_are_no_numbers_but_rewards() {
        for text in [r#"{"id": "add", "reward": NaN}"#, "NaN"] {
            assert!(reward(&parsed(text).unwrap()).unwrap().unwrap().is_nan(), "{text}");
        }
        let rewards = parsed(r#"{"rewards": [1.5, -Infinity, null]}"#).unwrap();
        let rewards = rewards["rewards"].as_array().unwrap().iter().map(|one| reward(one).unwrap());
        assert_eq!(rewards.collect::<Vec<_>>(), [Some(1.5), Some(f64::NEG_INFINITY), None]);
        assert!(parsed("PASSED").is_none());
    }
}
