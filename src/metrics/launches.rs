//! `launches.jsonl`: each time a process took up the run, and how it ended.
//!
//! A line when it begins and one when it ends; a launch without its second line goes on still, or was killed.

use std::fs::OpenOptions;
use std::io::Write;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::{Event, Sink, SinkError};

/// Name of the file in the output directory.
pub const LAUNCHES_FILE: &str = "launches.jsonl";

/// What a process is, in words for people.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Process {
    /// The arguments it was given, its own name first.
    pub command: Vec<String>,
    /// Version of the program.
    pub version: String,
    /// What it was built from, where the build knew.
    pub commit: Option<String>,
    /// Processor, cores and memory.
    pub machine: String,
    /// Where tensors live.
    pub device: String,
}

/// How a launch ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LaunchEnd {
    /// All steps are done.
    Finished,
    /// The user, or a scheduler, stopped it.
    Interrupted,
    /// The guard stopped it.
    Guard,
    /// An error stopped it.
    Failed,
}

/// One line of the file.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "event", rename_all = "snake_case")]
pub enum LaunchRecord {
    /// A process took up the run.
    Begun {
        /// Seconds since 1970.
        at: f64,
        /// Steps that were done before.
        step: usize,
        /// What it is.
        #[serde(flatten)]
        process: Process,
    },
    /// It let go of it.
    Ended {
        /// Seconds since 1970.
        at: f64,
        /// Steps that are done.
        step: usize,
        /// How.
        how: LaunchEnd,
    },
}

/// Notes when a process takes up a run, and keeps count of its steps.
pub struct LaunchSink<'a> {
    process: Process,
    /// Seconds since 1970.
    clock: &'a dyn Fn() -> f64,
    file: Option<PathBuf>,
    step: usize,
}

impl<'a> LaunchSink<'a> {
    /// A sink that tells of `process`.
    pub fn new(process: Process, clock: &'a dyn Fn() -> f64) -> LaunchSink<'a> {
        LaunchSink { process, clock, file: None, step: 0 }
    }

    /// Notes the end of the launch; of one that never began, nothing.
    pub fn ended(&self, how: LaunchEnd) -> Result<(), SinkError> {
        match &self.file {
            Some(file) => append(file, &LaunchRecord::Ended { at: (self.clock)(), step: self.step, how }),
            None => Ok(()),
        }
    }
}

impl Sink for LaunchSink<'_> {
    fn note(&mut self, event: &Event<'_>) -> Result<(), SinkError> {
        match event {
            Event::RunStarted(header) => {
                let file = header.output_dir.join(LAUNCHES_FILE);
                self.step = header.resumed_from;
                let process = self.process.clone();
                append(&file, &LaunchRecord::Begun { at: (self.clock)(), step: self.step, process })?;
                self.file = Some(file);
            }
            Event::StepDone(record) => self.step = record.step,
            _ => {}
        }
        Ok(())
    }
}

fn append(path: &Path, record: &LaunchRecord) -> Result<(), SinkError> {
    let line = serde_json::to_string(record).expect("string keys and finite numbers");
    let opened = OpenOptions::new().append(true).create(true).open(path);
    // A launch that was killed while it wrote leaves half a line: the next begins one of its own.
    let torn = std::fs::read(path).is_ok_and(|text| text.last().is_some_and(|&last| last != b'\n'));
    let begin = if torn { "\n" } else { "" };
    let written = opened.and_then(|mut file| file.write_all(format!("{begin}{line}\n").as_bytes()));
    written.map_err(|source| SinkError::File { path: path.to_owned(), source })
}

#[cfg(test)]
mod tests {
    use super::super::{RunHeader, StepRecord};
    use super::*;

    #[test]
    fn each_launch_says_when_it_began_and_how_it_ended() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join(LAUNCHES_FILE);
        let header = |resumed_from| RunHeader { output_dir: dir.path().into(), resumed_from, ..RunHeader::default() };
        let process = Process { version: "1".into(), ..Process::default() };
        let mut killed = LaunchSink::new(process.clone(), &|| 5.0);
        killed.ended(LaunchEnd::Failed).unwrap();
        assert!(!file.exists(), "of a launch that never began nothing is told");
        killed.note(&Event::RunStarted(&header(0))).unwrap();
        std::fs::OpenOptions::new().append(true).open(&file).unwrap().write_all(b"{\"event\":\"en").unwrap();

        let mut second = LaunchSink::new(process.clone(), &|| 9.0);
        second.note(&Event::RunStarted(&header(3))).unwrap();
        second.note(&Event::StepDone(&StepRecord { step: 4, ..StepRecord::default() })).unwrap();
        second.ended(LaunchEnd::Interrupted).unwrap();
        let text = std::fs::read_to_string(&file).unwrap();
        let read: Vec<LaunchRecord> = text.lines().filter_map(|line| serde_json::from_str(line).ok()).collect();
        let begun = |at, step| LaunchRecord::Begun { at, step, process: process.clone() };
        assert_eq!(
            read,
            [begun(5.0, 0), begun(9.0, 3), LaunchRecord::Ended { at: 9.0, step: 4, how: LaunchEnd::Interrupted }]
        );
    }
}
