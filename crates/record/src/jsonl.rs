//! `metrics.jsonl`: one line per step and one per evaluation, written immediately.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use super::{Event, Sink, SinkError};
use crate::files;

/// Name of the file in the output directory.
pub const METRICS_FILE: &str = "metrics.jsonl";

/// Appends [`StepRecord`](super::StepRecord)s and evaluations to a file of the output directory, one line each.
#[derive(Default)]
pub struct JsonlSink {
    open: Option<(PathBuf, File)>,
}

impl JsonlSink {
    /// Continues the file `path` after `step` steps. Lines of later steps and an incomplete last line are removed. A
    /// file that does not exist is created.
    pub fn open(path: &Path, step: usize) -> Result<JsonlSink, SinkError> {
        let text = match fs::read(path) {
            Ok(bytes) => bytes,
            Err(error) if error.kind() == io::ErrorKind::NotFound => Vec::new(),
            Err(error) => return Err(SinkError::at(path)(error)),
        };
        let kept = lines_up_to(&text, step);
        if kept.len() != text.len() {
            files::write_whole(path, &kept).map_err(SinkError::at(path))?;
        }
        let file = OpenOptions::new().append(true).create(true).open(path).map_err(SinkError::at(path))?;
        Ok(JsonlSink { open: Some((path.to_owned(), file)) })
    }

    fn line(&mut self, record: &impl serde::Serialize) -> Result<(), SinkError> {
        let Some((path, file)) = &mut self.open else { return Ok(()) };
        let mut line = serde_json::to_vec(record).map_err(|error| SinkError::at(path)(error.into()))?;
        line.push(b'\n');
        // Each line is one unbuffered write, so that readers and a kill -9 find complete lines and at most one
        // incomplete at the end.
        file.write_all(&line).map_err(SinkError::at(path))
    }
}

impl Sink for JsonlSink {
    fn note(&mut self, event: &Event<'_>) -> Result<(), SinkError> {
        match event {
            Event::RunStarted(header) => {
                *self = JsonlSink::open(&header.output_dir.join(METRICS_FILE), header.resumed_from)?;
                Ok(())
            }
            Event::StepDone(record) => self.line(record),
            Event::Evaluated(record) => self.line(record),
            _ => Ok(()),
        }
    }
}

/// The complete lines that belong to steps up to `step`.
fn lines_up_to(text: &[u8], step: usize) -> Vec<u8> {
    let mut kept = Vec::with_capacity(text.len());
    for line in text.split_inclusive(|&byte| byte == b'\n') {
        let number = serde_json::from_slice::<serde_json::Value>(line).ok().and_then(|value| value["step"].as_u64());
        if line.ends_with(b"\n") && number.is_some_and(|number| number <= step as u64) {
            kept.extend_from_slice(line);
        }
    }
    kept
}

#[cfg(test)]
mod tests {
    use super::super::StepRecord;
    use super::*;

    fn step(step: usize) -> StepRecord {
        StepRecord { step, reward: step as f64 / 10.0, ..StepRecord::default() }
    }

    #[test]
    fn a_resumed_file_equals_an_unbroken_one() {
        let dir = tempfile::tempdir().unwrap();
        let (unbroken, broken) = (dir.path().join("unbroken.jsonl"), dir.path().join("broken.jsonl"));
        let mut sink = JsonlSink::open(&unbroken, 0).unwrap();
        (1..=4).for_each(|n| sink.note(&Event::StepDone(&step(n))).unwrap());
        let mut sink = JsonlSink::open(&broken, 0).unwrap();
        (1..=3).for_each(|n| sink.note(&Event::StepDone(&step(n))).unwrap());
        sink.open.as_mut().unwrap().1.write_all(b"{\"step\":4,\"rew").unwrap();
        let mut sink = JsonlSink::open(&broken, 2).unwrap();
        (3..=4).for_each(|n| sink.note(&Event::StepDone(&step(n))).unwrap());
        assert_eq!(fs::read(&broken).unwrap(), fs::read(&unbroken).unwrap());
    }

    #[test]
    fn a_torn_last_line_is_dropped_even_when_no_step_is() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("metrics.jsonl");
        fs::write(&path, "{\"step\":1}\n{\"step\":2").unwrap();
        drop(JsonlSink::open(&path, 2).unwrap());
        assert_eq!(fs::read_to_string(&path).unwrap(), "{\"step\":1}\n");
    }
}
