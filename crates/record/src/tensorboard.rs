//! `tensorboard/events.out.tfevents...`: the metrics of `metrics.jsonl` in TensorBoard's format.
//!
//! The file consists of TFRecords, each with an `Event` of TensorBoard's protocol. They are encoded here, because only
//! four kinds of field are used. Tags are those of Hugging Face's callback: `train/reward`, and `eval/game/mean_score`
//! for `eval_game/mean_score`.

use std::fs::{self, File};
use std::io::Write;
use std::path::{Path, PathBuf};

use crc::{CRC_32_ISCSI, Crc};
use serde::Serialize;
use serde_json::Value;

use super::{EvaluationRecord, Event, METRICS_FILE, Sink, SinkError};

/// Name of the directory in the output directory.
pub const TENSORBOARD_DIR: &str = "tensorboard";

/// Appends steps and evaluations to an event file of the output directory. A resumed run starts another file, which
/// tells TensorBoard from which step on it replaces the earlier ones.
pub struct TensorBoardSink<'a> {
    /// Returns the time, in seconds since 1970.
    clock: &'a dyn Fn() -> f64,
    open: Option<(PathBuf, File)>,
    /// The metrics of a run that goes on, and the step that it goes on from, until that is evaluated again.
    resumed: Option<(PathBuf, usize)>,
}

impl<'a> TensorBoardSink<'a> {
    /// A sink that stamps events with the time of `clock`.
    pub fn new(clock: &'a dyn Fn() -> f64) -> TensorBoardSink<'a> {
        TensorBoardSink { clock, open: None, resumed: None }
    }

    fn start(&mut self, output_dir: &Path, resumed_from: usize) -> Result<(), SinkError> {
        let directory = output_dir.join(TENSORBOARD_DIR);
        fs::create_dir_all(&directory).map_err(SinkError::at(&directory))?;
        let found = fs::read_dir(&directory).and_then(Iterator::collect::<Result<Vec<_>, _>>);
        let found = found.map_err(SinkError::at(&directory))?;
        let begun = (self.clock)();
        // TensorBoard reads files in the order of their names, so a newer file needs a greater name, whatever the clock says.
        let newest = found.iter().filter_map(|entry| number_of(entry.file_name().to_str()?)).max();
        let number = newest.map_or(0, |newest| newest.saturating_add(1)).max(begun as u64);
        let path = directory.join(format!("{PREFIX}{number:010}.grpo-2048.{resumed_from:06}"));
        let file = File::create_new(&path).map_err(SinkError::at(&path))?;
        self.open = Some((path, file));
        let mut version = Message::default();
        version.double(1, begun).delimited(3, b"brain.Event:2");
        self.record(&version)?;
        // A run that was killed before its second checkpoint goes on from step 0, and has written of later steps.
        let goes_on = !found.is_empty();
        self.resumed = goes_on.then(|| (output_dir.join(METRICS_FILE), resumed_from));
        if goes_on { self.restart(resumed_from + 1) } else { Ok(()) }
    }

    /// Tells that what comes replaces what was written of `step` and later ones.
    fn restart(&mut self, step: usize) -> Result<(), SinkError> {
        let mut session = Message::default();
        session.varint(1, SESSION_START);
        let mut restart = Message::default();
        restart.double(1, (self.clock)()).varint(2, step as u64).delimited(7, &session.bytes);
        self.record(&restart)
    }

    /// Writes an evaluation. One of the step that the run goes on from is made again: it replaces the whole step, of which
    /// training is told once more.
    fn evaluated(&mut self, record: &EvaluationRecord) -> Result<(), SinkError> {
        if let Some((metrics, step)) = self.resumed.take_if(|(_, step)| *step == record.step) {
            self.restart(step)?;
            if let Some(trained) = trained(&metrics, step) {
                self.scalars(step, &trained)?;
            }
        }
        self.scalars(record.step, record)
    }

    /// Writes one event with a scalar for each number of the record.
    fn scalars(&mut self, step: usize, record: &impl Serialize) -> Result<(), SinkError> {
        let Some((path, _)) = &self.open else { return Ok(()) };
        let fields = serde_json::to_value(record).map_err(|error| SinkError::at(path)(error.into()))?;
        let mut summary = Message::default();
        for (key, value) in fields.as_object().into_iter().flatten() {
            let Some(value) = value.as_f64().filter(|_| key != "step") else { continue };
            let mut scalar = Message::default();
            scalar.delimited(1, tag(key).as_bytes()).float(2, value as f32);
            summary.delimited(1, &scalar.bytes);
        }
        let mut event = Message::default();
        event.double(1, (self.clock)()).varint(2, step as u64).delimited(5, &summary.bytes);
        self.record(&event)
    }

    fn record(&mut self, event: &Message) -> Result<(), SinkError> {
        let Some((path, file)) = &mut self.open else { return Ok(()) };
        // Each record is one write, so that a run that is killed leaves complete records and at most one incomplete at
        // the end.
        file.write_all(&framed(&event.bytes)).map_err(SinkError::at(path))
    }
}

impl Sink for TensorBoardSink<'_> {
    fn note(&mut self, event: &Event<'_>) -> Result<(), SinkError> {
        match event {
            Event::RunStarted(header) => self.start(&header.output_dir, header.resumed_from),
            Event::StepDone(record) => self.scalars(record.step, *record),
            Event::Evaluated(record) => self.evaluated(record),
            _ => Ok(()),
        }
    }
}

/// What names of event files begin with, before the time in seconds.
const PREFIX: &str = "events.out.tfevents.";

/// The number in the name of an event file.
fn number_of(name: &str) -> Option<u64> {
    name.strip_prefix(PREFIX)?.split('.').next()?.parse().ok()
}

/// `SessionLog.START` of TensorBoard's protocol.
const SESSION_START: u64 = 1;

/// The line of training of this step in a file of metrics, if there is one.
fn trained(metrics: &Path, step: usize) -> Option<Value> {
    let text = fs::read(metrics).ok()?;
    let lines = text.split(|&byte| byte == b'\n').filter_map(|line| serde_json::from_slice::<Value>(line).ok());
    lines.filter(|line| line["step"] == step).find(|line| line.get("reward").is_some())
}

/// Hugging Face's name in TensorBoard for a key of its logs.
fn tag(key: &str) -> String {
    match key.strip_prefix("eval_") {
        Some(key) => format!("eval/{key}"),
        None => format!("train/{key}"),
    }
}

/// A TFRecord: the length, its checksum, the bytes, their checksum. Numbers are little-endian.
fn framed(bytes: &[u8]) -> Vec<u8> {
    let length = (bytes.len() as u64).to_le_bytes();
    let mut record = Vec::with_capacity(bytes.len() + 16);
    record.extend_from_slice(&length);
    record.extend_from_slice(&masked(&length).to_le_bytes());
    record.extend_from_slice(bytes);
    record.extend_from_slice(&masked(bytes).to_le_bytes());
    record
}

/// CRC-32C (Castagnoli), which its catalogue names after iSCSI.
const CASTAGNOLI: Crc<u32> = Crc::<u32>::new(&CRC_32_ISCSI);

/// The masked CRC-32C of TFRecord files. The mask keeps the checksum of bytes that contain checksums meaningful.
fn masked(bytes: &[u8]) -> u32 {
    CASTAGNOLI.checksum(bytes).rotate_right(15).wrapping_add(0xa282_ead8)
}

/// A protocol buffer message under construction.
#[derive(Default)]
struct Message {
    bytes: Vec<u8>,
}

impl Message {
    fn key(&mut self, field: u64, wire: u64) {
        self.number(field << 3 | wire);
    }

    fn number(&mut self, mut value: u64) {
        while value >= 0x80 {
            self.bytes.push(value as u8 | 0x80);
            value >>= 7;
        }
        self.bytes.push(value as u8);
    }

    fn varint(&mut self, field: u64, value: u64) -> &mut Message {
        self.key(field, 0);
        self.number(value);
        self
    }

    fn double(&mut self, field: u64, value: f64) -> &mut Message {
        self.key(field, 1);
        self.bytes.extend_from_slice(&value.to_le_bytes());
        self
    }

    fn float(&mut self, field: u64, value: f32) -> &mut Message {
        self.key(field, 5);
        self.bytes.extend_from_slice(&value.to_le_bytes());
        self
    }

    /// Text or another message, after its length.
    fn delimited(&mut self, field: u64, value: &[u8]) -> &mut Message {
        self.key(field, 2);
        self.number(value.len() as u64);
        self.bytes.extend_from_slice(value);
        self
    }
}

#[cfg(test)]
mod tests;
