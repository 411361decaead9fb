//! `grpo-2048 tasks new`: a start that passes its own check.

use std::fs;
use std::path::PathBuf;

use clap::Args;

use crate::cli::said::{CliError, output};

const ENV: &str = include_str!("new/env.toml");
const TASKS: &str = include_str!("new/tasks.jsonl");

/// Write ten small tasks to start from
///
/// The directory gets an env.toml, which says what every request is preceded by, and a tasks.jsonl with one task a
/// line. Every task has a reference and passes `grpo-2048 check`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  grpo-2048 tasks new mine
  grpo-2048 check --env mine
  grpo-2048 train --env mine --model HuggingFaceTB/SmolLM2-135M-Instruct")]
pub struct NewArgs {
    /// Directory to make
    #[arg(value_name = "DIR")]
    dir: PathBuf,
}

impl NewArgs {
    /// Writes both files, unless one of them exists.
    pub fn run(self) -> Result<(), CliError> {
        let files = [(self.dir.join("env.toml"), ENV), (self.dir.join("tasks.jsonl"), TASKS)];
        if let Some((path, _)) = files.iter().find(|(path, _)| path.exists()) {
            return Err(CliError::user_hint(format!("{}: is there already", path.display()), "name a new directory"));
        }
        fs::create_dir_all(&self.dir).map_err(|error| {
            CliError::user_hint(format!("{}: {error}", self.dir.display()), "name a directory that can be made")
        })?;
        for (path, text) in &files {
            output::write_file(path.display(), path, text.as_bytes())?;
        }
        let lines = files.iter().map(|(path, _)| format!("{}\n", path.display()));
        output::print(&lines.collect::<String>())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::environment::tasks::{Directory, Kind, RulesFile, Tasks};

    #[test]
    fn the_start_is_read_as_an_environment_of_ten_tasks() {
        let dir = tempfile::tempdir().unwrap();
        let mine = dir.path().join("new/mine");
        NewArgs { dir: mine.clone() }.run().unwrap();
        let directory = Directory::open(&mine).unwrap();
        let example = directory.example.unwrap();
        assert_eq!(directory.name, "mine");
        assert!(!example.program.ends_with('\n'), "a fence comes right after it");
        let RulesFile::Tasks(path) = directory.rules else { panic!("tasks") };
        let tasks = Tasks::open(&path).unwrap();
        let scripts = tasks.tasks().iter().filter(|task| task.kind == Kind::Script).count();
        let held_out = tasks.tasks().len() - tasks.trained();
        assert_eq!((tasks.tasks().len(), scripts, held_out), (10, 1, 3));
        assert!(tasks.tasks().iter().all(|task| task.reference.is_some() && task.hidden().len() >= 8));
        assert!(NewArgs { dir: mine }.run().is_err(), "what is there is not overwritten");
    }
}
