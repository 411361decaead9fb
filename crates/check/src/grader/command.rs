//! A grader that is a command: JSON lines on its standard input, one reward a line on its standard output.

use std::process::Command;
use std::time::Duration;

use serde_json::Value;

use crate::plural::counted;

use super::process::{Process, Silence, feed};
use super::transport::{Transport, no_reward, parsed, reward, shortened};

/// A command for `sh`, which is started anew for each batch: what a completion does to it ends with the batch.
pub(super) struct CommandLine(pub String);

impl Transport for CommandLine {
    fn ask(&self, items: &[Value], limit: Duration) -> Result<Vec<Option<f64>>, String> {
        let (process, stdin) = Process::start(Command::new("sh").args(["-c", &self.0]))?;
        let mut process = process.leashed()?;
        feed(stdin, items.iter().map(|item| format!("{item}\n")).collect());
        let mut rewards = Vec::with_capacity(items.len());
        loop {
            let line = match process.line(limit) {
                Ok(line) if line.trim().is_empty() => continue,
                Ok(line) => line,
                Err(Silence::Ended) => break,
                Err(Silence::TooLong) => return Err(format!("no reward within {} s", limit.as_secs())),
            };
            rewards.push(reward_of(line.trim())?);
        }
        match process.failure() {
            Some(failure) => Err(failure),
            None if rewards.len() < items.len() => Err(format!(
                "it ended as if all were well, with {} for {}{}",
                counted(rewards.len(), "reward"),
                counted(items.len(), "completion"),
                process.last_words()
            )),
            None => Ok(rewards),
        }
    }
}

/// The reward of a line, which JSON may lack: Python prints `nan` and `inf`.
fn reward_of(line: &str) -> Result<Option<f64>, String> {
    match parsed(line) {
        Some(answer) => reward(&answer),
        None if line == "None" => Ok(None),
        None => line.parse().map(Some).map_err(|_| no_reward(&shortened(line))),
    }
}
