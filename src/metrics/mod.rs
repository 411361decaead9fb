//! What a run says about itself: names, units, and where they go.
//!
//! The loop tells [`Event`]s to every [`Sink`]: a JSONL file, TensorBoard's, a trace, and the terminal. Takes plain numbers and texts; knows no tensor and no sandbox, and changes nothing of what it watches.

mod board;
mod columns;
mod console;
mod crc32c;
mod event;
mod headline;
mod jsonl;
mod launches;
mod phase;
mod record;
mod sparkline;
mod tensorboard;
mod terminal;
mod trace;

pub use board::{Stream, TileSize, board_lines, is_hidden, numbered, visible};
pub use columns::{aligned, remarked};
pub use console::{Console, Count, Narration, Progress};
pub use event::{Activity, EvaluationRecord, Event, GamePlayed, Period, Player, RunHeader, ScoredCompletion};
pub use headline::duration;
pub use jsonl::{JsonlSink, METRICS_FILE};
pub use launches::{LAUNCHES_FILE, LaunchEnd, LaunchRecord, LaunchSink, Process};
pub use record::{StepRecord, shortest};
pub use sparkline::sparkline;
pub use tensorboard::{TENSORBOARD_DIR, TensorBoardSink};
pub use terminal::{Show, TerminalSink};
pub use trace::TraceSink;

/// Why something could not be recorded.
#[derive(Debug, thiserror::Error)]
pub enum SinkError {
    /// A file that cannot be written or read back.
    #[error("{path}: {source}")]
    File {
        /// The file.
        path: std::path::PathBuf,
        /// What the system said.
        source: std::io::Error,
    },
}

/// Something that is told what happens, as it happens.
pub trait Sink {
    /// Takes note of one event. An error stops the run: a record that silently ends is worse than none.
    fn note(&mut self, event: &Event<'_>) -> Result<(), SinkError>;
}

/// Tells several sinks, in order.
#[derive(Default)]
pub struct Sinks<'a> {
    sinks: Vec<&'a mut dyn Sink>,
}

impl<'a> Sinks<'a> {
    /// Adds one more.
    pub fn push(&mut self, sink: &'a mut dyn Sink) {
        self.sinks.push(sink);
    }
}

impl Sink for Sinks<'_> {
    fn note(&mut self, event: &Event<'_>) -> Result<(), SinkError> {
        self.sinks.iter_mut().try_for_each(|sink| sink.note(event))
    }
}
