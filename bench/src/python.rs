//! The same rewards in plain Python, by an interpreter of this machine with scripts that are part of the program.

use std::ffi::OsStr;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde::{Deserialize, Serialize};
use tempfile::TempDir;

use super::model::SCRIPTS;
use super::table::{Played, WayRun};
use super::{BenchError, Cost};

const POOL_SCRIPT: (&str, &str) = ("process_pool.py", include_str!("../peers/process_pool.py"));
const START_SCRIPT: (&str, &str) = ("interpreter_start.py", include_str!("../peers/interpreter_start.py"));

/// How a process for a program starts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum StartMethod {
    /// As a copy of a running interpreter. It is the fastest, but not safe in a trainer that uses a GPU.
    Fork,
    /// As a new interpreter.
    Spawn,
    /// Not at all: programs play one after the other in one process, and only the time of their calls counts. They are
    /// not isolated and have no time limit.
    Calls,
}

impl StartMethod {
    /// All of them.
    pub const ALL: [StartMethod; 3] = [StartMethod::Fork, StartMethod::Spawn, StartMethod::Calls];

    /// The name in the script.
    pub fn name(self) -> &'static str {
        match self {
            StartMethod::Fork => "fork",
            StartMethod::Spawn => "spawn",
            StartMethod::Calls => "calls",
        }
    }
}

/// An interpreter and its scripts.
pub struct Python {
    interpreter: PathBuf,
    scripts: TempDir,
}

/// The input of the pool's script, which explains the fields.
#[derive(Serialize)]
pub(super) struct Batch<'a> {
    pub programs: &'a [String],
    pub workers: usize,
    pub timeout_s: Option<f64>,
    pub start: StartMethod,
    pub freeze_after: u32,
    pub moves_max: u32,
    pub seed: u64,
}

/// The output of the pool's script.
#[derive(Deserialize)]
struct Answer {
    #[serde(flatten)]
    cost: Cost,
    games: Vec<Game>,
}

#[derive(Deserialize)]
struct Game {
    ending: String,
    score: u64,
    moves: u64,
}

impl Python {
    /// The interpreter with this name or path, if it runs and has the modules for the scripts of rewards.
    pub fn find(interpreter: &OsStr) -> Result<Option<Python>, BenchError> {
        let needed = "import multiprocessing.connection, resource; multiprocessing.get_context('fork')";
        Self::with_scripts(interpreter, needed, &[POOL_SCRIPT, START_SCRIPT])
    }

    /// The same, if it has the modules for the scripts of models.
    pub fn with_torch(interpreter: &OsStr) -> Result<Option<Python>, BenchError> {
        let needed = "import importlib.util as u; assert all(map(u.find_spec, ['torch', 'transformers', 'peft']))";
        Self::with_scripts(interpreter, needed, SCRIPTS)
    }

    fn with_scripts(interpreter: &OsStr, needed: &str, texts: &[(&str, &str)]) -> Result<Option<Python>, BenchError> {
        let mut check = Command::new(interpreter);
        check.args(["-c", needed]);
        let runs = check.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).status();
        if !runs.is_ok_and(|status| status.success()) {
            return Ok(None);
        }
        let scripts = tempfile::tempdir().map_err(BenchError::Scripts)?;
        for (name, text) in texts {
            std::fs::write(scripts.path().join(name), text).map_err(BenchError::Scripts)?;
        }
        Ok(Some(Python { interpreter: interpreter.into(), scripts }))
    }

    /// Plays a batch, with a process for each program.
    pub(super) fn pool(&self, batch: &Batch<'_>) -> Result<WayRun, BenchError> {
        let work = serde_json::to_string(batch).expect("a batch is JSON");
        let answer: Answer = self.ask(POOL_SCRIPT.0, None, &work)?;
        if answer.games.len() != batch.programs.len() {
            let (found, expected) = (answer.games.len(), batch.programs.len());
            return Err(self.error(format!("found {found} games, expected {expected}")));
        }
        let played = answer.games.into_iter().map(|game| Played {
            result: format!("{} {} {}", game.ending, game.score, game.moves),
            stopped: game.ending == "timed_out",
            moves: game.moves,
        });
        Ok(WayRun { cost: answer.cost, played: played.collect() })
    }

    /// The mean cost of one start of an interpreter, over `count` starts.
    pub(super) fn start(&self, count: usize) -> Result<Cost, BenchError> {
        self.ask(START_SCRIPT.0, Some(count), "")
    }

    /// Runs a script with `text` as its input; returns its output, which is JSON.
    pub(super) fn ask<T: serde::de::DeserializeOwned>(
        &self,
        script: &str,
        argument: Option<usize>,
        text: &str,
    ) -> Result<T, BenchError> {
        let output = self.output(&self.scripts.path().join(script), argument, text);
        let output = output.map_err(|error| self.error(error.to_string()))?;
        if !output.status.success() {
            let words = String::from_utf8_lossy(&output.stderr);
            return Err(self.error(format!("{script} ended with {}: {}", output.status, words.trim_end())));
        }
        serde_json::from_slice(&output.stdout).map_err(|error| self.error(format!("{script} answered badly: {error}")))
    }

    fn output(&self, script: &Path, argument: Option<usize>, text: &str) -> io::Result<std::process::Output> {
        let mut command = Command::new(&self.interpreter);
        // A fixed hash seed gives sets a fixed order, as in the sandbox, so that runs differ only by their timing.
        command.arg(script).args(argument.map(|count| count.to_string())).env("PYTHONHASHSEED", "0");
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn()?;
        let sent = child.stdin.take().map_or(Ok(()), |mut stdin| stdin.write_all(text.as_bytes()));
        let output = child.wait_with_output()?;
        // If the script failed before it had read its input, its own message is more useful than the error of writing.
        if output.status.success() { sent.map(|()| output) } else { Ok(output) }
    }

    fn error(&self, message: String) -> BenchError {
        BenchError::Python { python: self.interpreter.clone(), message }
    }
}
