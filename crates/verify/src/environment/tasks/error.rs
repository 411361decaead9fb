//! Errors of a file of tasks, reported together with their lines.

use std::fmt;
use std::path::PathBuf;

/// Most problems that are reported in full.
pub(super) const TOLD_MAX: usize = 20;

/// Why a file of tasks was refused. Its author can correct all of these.
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
    /// A file that is too large for memory.
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
    /// Lines that are not tasks.
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

/// A problem in one line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problem {
    /// Line of the file, from 1.
    pub line: usize,
    /// The place in the task, what was found there, and what is allowed.
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

/// A problem within a line whose number is not known yet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct RowFault(pub String);

impl RowFault {
    /// A problem of `field`.
    pub fn at(field: &str, message: impl fmt::Display) -> RowFault {
        RowFault(format!("{field}: {message}"))
    }
}
