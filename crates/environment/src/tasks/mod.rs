//! Tasks: texts that ask for a program, and tests that the program must pass.
//!
//! Takes a file with one task per line, and decides for each answer of a program whether it passes a test. The
//! expected answers stay on the host. Runs nothing: answers that a reference must compute are filled in by a caller
//! with a sandbox.

mod briefing;
pub mod convert;
mod directory;
mod error;
mod exceptions;
mod file;
mod honeypot;
mod output;
mod reordered;
mod replay;
mod row;
mod source;
mod suites;
mod task;
#[cfg(test)]
mod tests;
mod words;

use std::path::{Path, PathBuf};
use std::sync::OnceLock;

pub use directory::{DIRECTORY_FILE, Directory, DirectoryError, Module, RulesFile};
pub use error::{Problem, TasksError};
pub use exceptions::ExceptionTypes;
pub use honeypot::{NoHoneypot, honeypot};
pub use suites::{Known, Suite, SuiteRows};

pub use task::{Answer, Function, Kind, SECONDS_MAX, Split, TESTS_MAX, Task, Test};

/// All tasks of a file, in its order.
#[derive(Debug, Clone)]
pub struct Tasks {
    path: PathBuf,
    name: String,
    tasks: Vec<Task>,
    /// The author's system text, if any.
    system: Option<String>,
    /// The author's worked example, if any.
    example: Option<super::Example>,
}

impl Tasks {
    /// Reads and checks a whole file.
    pub fn open(path: &Path) -> Result<Tasks, TasksError> {
        let name = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        Ok(Tasks { path: path.to_owned(), name, tasks: file::read(path)?, system: None, example: None })
    }

    /// Tasks in the text of a file, made of the rows of `path`.
    pub fn of_rows(path: &Path, name: &str, text: &str) -> Result<Tasks, TasksError> {
        let tasks = file::parse(path, text.as_bytes())?;
        Ok(Tasks { path: path.to_owned(), name: name.to_owned(), tasks, system: None, example: None })
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    pub fn name(&self) -> &str {
        &self.name
    }

    /// All tasks, in the order of the file.
    pub fn tasks(&self) -> &[Task] {
        &self.tasks
    }

    /// All tasks, to fill in the answers of their references.
    pub fn tasks_mut(&mut self) -> &mut [Task] {
        self.tasks.iter_mut().for_each(|task| task.constant = OnceLock::new());
        &mut self.tasks
    }

    /// Number of tasks for training.
    pub fn trained(&self) -> usize {
        self.tasks.iter().filter(|task| task.split == Split::Train).count()
    }

    pub fn honeypots(&self) -> usize {
        self.tasks.iter().filter(|task| task.is_honeypot).count()
    }

    /// Whether any task is for evaluation only.
    pub fn holds_out(&self) -> bool {
        self.tasks.iter().any(|task| task.split == Split::HeldOut)
    }
}
