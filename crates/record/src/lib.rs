//! The metrics of a run: their names and units, and the sinks that record and show them.
//!
//! The loop passes [`Event`]s to every [`Sink`]: a JSONL file, TensorBoard's file, a trace, and the terminal. Sinks
//! take plain numbers and texts, know neither tensors nor the sandbox, and do not influence the run.

#![forbid(unsafe_code)]

mod bar_terminal;
mod board;
mod columns;
mod console;
mod event;
mod headline;
mod jsonl;
mod launches;
mod pace;
mod parts;
mod phase;
mod record;
mod sparkline;
mod tensorboard;
mod terminal;
mod trace;

pub use board::{Stream, TileSize, board_lines, in_page, is_hidden, numbered, visible};
pub use columns::{aligned, remarked};
pub use console::{Console, Count, Narration, Progress};
pub use event::{Activity, EvaluationRecord, Event, GamePlayed, Period, Player, RunHeader, ScoredCompletion};
pub use headline::duration;
pub use jsonl::{JsonlSink, METRICS_FILE, missing_lines};
pub use launches::{LAUNCHES_FILE, LaunchEnd, LaunchRecord, LaunchSink, Process};
pub use parts::{EliteRecord, UpdateRecord};
pub use record::{StepRecord, TurnFigures, shortest};
pub use sparkline::sparkline;
pub use tensorboard::{TENSORBOARD_DIR, TensorBoardSink};
pub use terminal::{Show, TerminalSink, verdict_style};
pub use trace::TraceSink;

use std::io;
use std::path::{Path, PathBuf};

use grpo_base::{files, json_line, plural};

/// An event could not be recorded.
#[derive(Debug, thiserror::Error)]
pub enum SinkError {
    /// A file cannot be written or read back.
    #[error("{path}: {source}")]
    File { path: PathBuf, source: io::Error },
}

impl SinkError {
    fn at(path: &Path) -> impl FnOnce(io::Error) -> SinkError {
        let path = path.to_owned();
        move |source| SinkError::File { path, source }
    }
}

/// A receiver of events, in the order in which they happen.
pub trait Sink {
    /// Handles one event. An error stops the run, because metrics that silently end are worse than none.
    fn note(&mut self, event: &Event<'_>) -> Result<(), SinkError>;
}

/// Passes each event to several sinks, in order.
#[derive(Default)]
pub struct Sinks<'a> {
    sinks: Vec<&'a mut dyn Sink>,
}

impl<'a> Sinks<'a> {
    /// Adds a sink.
    pub fn push(&mut self, sink: &'a mut dyn Sink) {
        self.sinks.push(sink);
    }
}

impl Sink for Sinks<'_> {
    fn note(&mut self, event: &Event<'_>) -> Result<(), SinkError> {
        self.sinks.iter_mut().try_for_each(|sink| sink.note(event))
    }
}
