//! Errors of a file of tasks, reported together with their lines.

use std::fmt;
use std::path::{Path, PathBuf};

/// Bytes of the longest line; the largest public tasks have a tenth of it.
const LINE_MAX: usize = 32 << 20;
/// Most problems that are reported in full.
pub(super) const TOLD_MAX: usize = 20;

/// Why a file of tasks was refused. Its author can correct all of these.
#[derive(Debug, thiserror::Error)]
pub enum TasksError {
    #[error("{path}: {source}")]
    Read { path: PathBuf, source: std::io::Error },
    #[error("{path}: larger than {limit} MiB; split it into several files")]
    Large { path: PathBuf, limit: u64 },
    #[error("{path}: no tasks; expected one JSON object a line (`grpo-2048 tasks new DIR` writes a start)")]
    Empty { path: PathBuf },
    #[error("{}", told(.path, .problems, *.more))]
    Lines { path: PathBuf, problems: Vec<Problem>, more: usize },
}

impl TasksError {
    /// The file, if the first line that is refused seems to be a row of another table: it has keys that no task has, and lacks
    /// one that every task has, of which none of its own is a misspelling.
    pub fn of_other_columns(&self) -> Option<&Path> {
        let TasksError::Lines { path, problems, .. } = self else { return None };
        let first = || problems.iter().take_while(|problem| problem.line == problems[0].line);
        let says = |beginning: &str| first().any(|problem| problem.message.starts_with(beginning));
        let is_slip =
            |meant: &str| first().any(|problem| problem.message.ends_with(&format!("did you mean `{meant}`?")));
        let lacks = |key: &str| says(&format!("{key}: missing")) && !is_slip(key);
        (says("unknown key `") && ["id", "prompt"].into_iter().any(lacks)).then_some(path.as_path())
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problem {
    /// Line of the file, from 1.
    pub line: usize,
    /// The place in the task, what was found there, and what is allowed.
    pub message: String,
}

fn told(path: &Path, problems: &[Problem], more: usize) -> String {
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
    pub fn at(field: &str, message: impl fmt::Display) -> RowFault {
        RowFault(format!("{field}: {message}"))
    }

    /// What is wrong with a line of so many bytes.
    pub fn of_length(bytes: usize) -> Option<RowFault> {
        let fault = || RowFault(format!("{bytes} bytes in one line; at most {LINE_MAX} ({} MiB)", LINE_MAX >> 20));
        (bytes > LINE_MAX).then(fault)
    }
}
