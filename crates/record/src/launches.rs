//! `launches.jsonl`: when each process began to work on the run, and how it ended.
//!
//! A launch writes a line when it begins and one when it ends. Without the second line it is still running or was
//! killed.

use std::fs::OpenOptions;
use std::io::Write;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::{Event, Sink, SinkError};

/// Name of the file in the output directory.
pub const LAUNCHES_FILE: &str = "launches.jsonl";

/// Description of a process, for people.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Process {
    /// Its arguments, with the name of the program first.
    pub command: Vec<String>,
    pub version: String,
    /// The commit that it was built from, if the build knew it.
    pub commit: Option<String>,
    /// The machine: processor, cores and memory.
    pub machine: String,
    /// The device that holds tensors.
    pub device: String,
}

/// How a launch ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LaunchEnd {
    /// All steps are done.
    Finished,
    /// The user or a scheduler stopped it.
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
    /// A process began to work on the run.
    Begun {
        /// Seconds since 1970.
        at: f64,
        /// Number of steps done before.
        step: usize,
        #[serde(flatten)]
        process: Process,
    },
    /// The process ended.
    Ended {
        /// Seconds since 1970.
        at: f64,
        /// Number of steps done.
        step: usize,
        how: LaunchEnd,
    },
}

/// Records the begin and end of a launch, and counts its steps.
pub struct LaunchSink<'a> {
    process: Process,
    /// Seconds since 1970.
    clock: &'a dyn Fn() -> f64,
    file: Option<PathBuf>,
    /// Number of steps done.
    step: usize,
}

impl<'a> LaunchSink<'a> {
    /// A sink for the launches of `process`.
    pub fn new(process: Process, clock: &'a dyn Fn() -> f64) -> LaunchSink<'a> {
        LaunchSink { process, clock, file: None, step: 0 }
    }

    /// Records the end of the launch, if it has begun.
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
    // A launch that was killed while writing leaves an incomplete line, so the next one starts a new line.
    let torn = std::fs::read(path).is_ok_and(|text| text.last().is_some_and(|&last| last != b'\n'));
    let begin = if torn { "\n" } else { "" };
    let written = opened.and_then(|mut file| file.write_all(format!("{begin}{line}\n").as_bytes()));
    written.map_err(SinkError::at(path))
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
