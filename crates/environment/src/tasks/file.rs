//! Reads a file with one task per line, within bounds, and to its end even if some lines have errors.

use std::collections::HashMap;
use std::fs::File;
use std::io::Read;
use std::path::Path;

use rayon::prelude::*;

use super::error::{RowFault, TOLD_MAX};
use super::{Problem, Task, TasksError, convert, row};
use crate::files;
use crate::value::Value;

/// Mebibytes of the largest file; parsed, it takes several times as much memory.
const FILE_MIB_MAX: u64 = 1024;

/// Reads all tasks of a file, or reports the errors of its lines.
pub(super) fn read(path: &Path) -> Result<Vec<Task>, TasksError> {
    let failed = |source| TasksError::Read { path: path.to_owned(), source };
    let mut bytes = Vec::new();
    let limit = FILE_MIB_MAX << 20;
    File::open(path).and_then(|file| file.take(limit + 1).read_to_end(&mut bytes)).map_err(failed)?;
    if bytes.len() as u64 > limit {
        return Err(TasksError::Large { path: path.to_owned(), limit: FILE_MIB_MAX });
    }
    parse(path, &bytes)
}

/// The tasks in the content of a file, whose name messages give.
pub(super) fn parse(path: &Path, bytes: &[u8]) -> Result<Vec<Task>, TasksError> {
    let mut found = Found::default();
    let text = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
    let read: Vec<_> = files::lines(text).par_iter().map(|line| task(line)).collect();
    for (number, task) in (1..).zip(read) {
        match task {
            Ok(None) => {}
            Ok(Some(task)) => found.add(Task { line: number, ..task }),
            Err(faults) => faults.into_iter().for_each(|fault| found.refuse(number, fault)),
        }
    }
    if !found.problems.is_empty()
        && let Some(message) = in_one_piece(text)
    {
        let problems = vec![Problem { line: 1, message: message.to_owned() }];
        return Err(TasksError::Lines { path: path.to_owned(), problems, more: 0 });
    }
    match (found.problems.is_empty(), found.tasks.is_empty()) {
        (false, _) => Err(TasksError::Lines { path: path.to_owned(), problems: found.problems, more: found.more }),
        (true, true) => Err(TasksError::Empty { path: path.to_owned() }),
        (true, false) => Ok(found.tasks),
    }
}

/// The message for a file that is JSON as a whole, of which single lines say nothing.
fn in_one_piece(text: &[u8]) -> Option<&'static str> {
    let text = std::str::from_utf8(text).ok()?.trim();
    match Value::from_plain_json(text).ok()? {
        Value::List(rows) if matches!(rows.first(), Some(Value::Dict(_))) => {
            Some("a JSON list; expected one JSON object a line, as of `jq -c '.[]' FILE`")
        }
        Value::Dict(_) if text.contains('\n') => {
            Some("a JSON object over several lines; expected one JSON object a line, as of `jq -c . FILE`")
        }
        _ => None,
    }
}

#[derive(Default)]
struct Found {
    tasks: Vec<Task>,
    lines: HashMap<String, usize>,
    problems: Vec<Problem>,
    more: usize,
}

impl Found {
    fn add(&mut self, task: Task) {
        if let Some(first) = self.lines.insert(task.id.clone(), task.line) {
            self.refuse(task.line, RowFault::at("id", format!("`{}` is the id of line {first} already", task.id)));
        }
        self.tasks.push(task);
    }

    fn refuse(&mut self, line: usize, RowFault(message): RowFault) {
        if self.problems.len() < TOLD_MAX {
            self.problems.push(Problem { line, message });
        } else {
            self.more += 1;
        }
    }
}

/// Parses a line; `None` if it is blank.
fn task(line: &[u8]) -> Result<Option<Task>, Vec<RowFault>> {
    if let Some(fault) = RowFault::of_length(line.len()) {
        return Err(vec![fault]);
    }
    let text = std::str::from_utf8(line).map_err(|error| {
        vec![RowFault(format!("byte {} of the line is not UTF-8; save the file as UTF-8", error.valid_up_to() + 1))]
    })?;
    if text.trim().is_empty() {
        return Ok(None);
    }
    let value = Value::from_distinct_json(text).map_err(|error| vec![RowFault(format!("not JSON: {error}"))])?;
    row::task(&value).map(Some).map_err(|faults| match convert::format_of(&value) {
        Some(format) => {
            vec![RowFault(format!("a row of {format}; `grpo-2048 tasks convert` makes a file of tasks of such rows"))]
        }
        None => faults,
    })
}
