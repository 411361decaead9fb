//! A grader that is a function of Python with the signature of TRL's rewards: `f(completions, **columns)`.

use std::io::Write;
use std::process::{ChildStdin, Command};
use std::time::Duration;

use parking_lot::Mutex;
use serde_json::{Value, json};

use super::process::{Process, Silence};
use super::transport::{Transport, reward};

/// Imports the function once and calls it in a fork for each batch.
const RUNNER: &str = include_str!("runner.py");
/// Time for importing the module, which may bring a whole trainer with it.
const IMPORT: Duration = Duration::from_secs(300);
/// Time beyond the limit of a batch, after which not the function but its runner has failed.
const GRACE: Duration = Duration::from_secs(30);

/// A process of `python3` that has imported the function.
pub(super) struct Function {
    running: Mutex<(Process, ChildStdin)>,
}

/// Module and function of a name such as `rewards:code_reward` or `rewards.py:code_reward`.
pub(super) fn named(name: &str) -> Option<(&str, &str)> {
    let (module, function) = name.rsplit_once(':')?;
    let is_name = |text: &str| !text.is_empty() && text.chars().all(|c| c.is_alphanumeric() || "_.".contains(c));
    let is_path = |text: &str| text.ends_with(".py") && !text.contains(char::is_whitespace);
    ((is_name(module) || is_path(module)) && is_name(function)).then_some((module, function))
}

impl Function {
    /// Starts Python and imports the function.
    pub fn start(module: &str, function: &str) -> Result<Function, String> {
        let (mut process, stdin) = Process::start(Command::new("python3").args(["-c", RUNNER, module, function]))?;
        match process.line(IMPORT) {
            Ok(_) => Ok(Function { running: Mutex::new((process, stdin)) }),
            Err(Silence::Ended) => Err(process.failure().unwrap_or_else(|| "ended while it was imported".to_owned())),
            Err(Silence::TooLong) => Err(format!("not imported within {} s", IMPORT.as_secs())),
        }
    }
}

impl Transport for Function {
    fn ask(&self, items: &[Value], limit: Duration) -> Result<Vec<Option<f64>>, String> {
        let mut running = self.running.lock();
        let (process, stdin) = &mut *running;
        let request = json!({ "items": items, "seconds": limit.as_secs_f64() });
        writeln!(stdin, "{request}").map_err(|error| format!("python3: {error}{}", process.last_words()))?;
        let line =
            process.line(limit + GRACE).map_err(|_| format!("python3 gave no answer{}", process.last_words()))?;
        let answer: Value = serde_json::from_str(&line).map_err(|error| error.to_string())?;
        match (&answer["rewards"], answer["lost"].as_str()) {
            (Value::Array(rewards), _) => rewards.iter().map(reward).collect(),
            (_, lost) => Err(lost.unwrap_or("no rewards").to_owned()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::named;

    #[test]
    fn functions_are_told_from_commands() {
        assert_eq!(named("rewards:code"), Some(("rewards", "code")));
        assert_eq!(named("open_r1.rewards:code.reward"), Some(("open_r1.rewards", "code.reward")));
        assert_eq!(named("../my-rewards.py:code"), Some(("../my-rewards.py", "code")));
        for command in ["python3 grade.py", "./grade", "docker run image:tag", "cat | jq .a:b", ":f", "m:"] {
            assert_eq!(named(command), None, "{command}");
        }
    }
}
