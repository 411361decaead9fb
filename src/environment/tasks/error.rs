//! Why a file of tasks is refused: all of it at once, with the lines.

use std::fmt;
use std::path::PathBuf;

/// Problems that are told in full.
pub(super) const TOLD_MAX: usize = 20;

/// Why a file of tasks was refused. All of it is its author's to mend.
#[derive(Debug, thiserror::Error)]
pub enum TasksError {
    /// A file that cannot be read.
    #[error("{path}: {source}")]
    Read {
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: std::io::Error,
    },
    /// A file that is too large to be held.
    #[error("{path}: larger than {limit} MiB; split it into several files")]
    Large {
        /// The file.
        path: PathBuf,
        /// What is allowed.
        limit: u64,
    },
    /// A file without a task.
    #[error("{path}: no tasks; expected one JSON object a line (`grpo-2048 tasks new DIR` writes a start)")]
    Empty {
        /// The file.
        path: PathBuf,
    },
    /// Lines that are no tasks.
    #[error("{}", told(.path, .problems, *.more))]
    Lines {
        /// The file.
        path: PathBuf,
        /// The first of them.
        problems: Vec<Problem>,
        /// How many more there are.
        more: usize,
    },
}

/// One thing that is wrong with a line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problem {
    /// Line of the file, from 1.
    pub line: usize,
    /// Where in the task, what was found there, what is allowed.
    pub message: String,
}

fn told(path: &std::path::Path, problems: &[Problem], more: usize) -> String {
    let lines = problems.iter().map(|problem| format!("{}:{}: {}", path.display(), problem.line, problem.message));
    let mut text = lines.collect::<Vec<_>>().join("\n");
    if more > 0 {
        text.push_str(&format!("\nand {more} more like these"));
    }
    text
}

/// A problem within a line, before anybody knows which line it is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Fault(pub String);

impl Fault {
    /// Something wrong with `field`.
    pub fn at(field: &str, message: impl fmt::Display) -> Fault {
        Fault(format!("{field}: {message}"))
    }
}
