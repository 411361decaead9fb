//! Judges items from JSON lines as the lines arrive.
//!
//! A thread reads lines and starts their judgements; the caller receives the judgements in the order of the lines.
//! Reading ahead is bounded, so that the input may be endless, and an answer waits only for the answers before it.

use std::io::{BufRead, BufReader, Read};
use std::sync::Arc;
use std::sync::mpsc::{SyncSender, sync_channel};

use grpo_sandbox::THREAD_STACK;

use super::{COMPLETION_BYTES_MAX, Item, Judge, JudgeError, Judgement, Pending, object};

/// Bytes of the longest line: a completion, with room for JSON's escapes.
pub const ITEM_BYTES_MAX: usize = 8 << 20;

/// What some editors and tables write before the first line.
const BYTE_ORDER_MARK: &[u8] = "\u{feff}".as_bytes();

/// Most items that are judged at once: several batches of a trainer. Each holds a program of at most 64 KiB.
const AHEAD: usize = 512;

/// Why judging ended early. All earlier lines have been answered.
#[derive(Debug, thiserror::Error)]
pub enum LinesError {
    /// A line that is no item, which is its author's fault.
    #[error("{name}:{line}: {reason}")]
    Line {
        name: String,
        /// Its number, from 1.
        line: usize,
        reason: String,
    },
    /// An error of the host while judging a line.
    #[error("{name}:{line}: not judged")]
    Machine {
        name: String,
        /// Its number, from 1.
        line: usize,
        source: JudgeError,
    },
    /// An error of the system while reading, starting a thread, or answering.
    #[error("{what}: {source}")]
    System { what: String, source: std::io::Error },
}

/// Judges every line of `input`; messages call the input `name`. `answer` receives the judgements in the order of the
/// lines, each as soon as it and all before it are complete; if `answer` fails, judging ends.
///
/// Without workers, the reading thread plays the programs. The caller's stack should have [`THREAD_STACK`] bytes.
pub fn judge_lines(
    judge: &Arc<Judge>,
    input: impl Read + Send + 'static,
    name: &str,
    answer: &mut dyn FnMut(&Judgement) -> std::io::Result<()>,
) -> Result<(), LinesError> {
    let (sender, pending) = sync_channel::<Sent>(AHEAD);
    let mut lines = Lines { input: BufReader::new(input), name: name.to_owned(), line: 0 };
    let reader = Arc::clone(judge);
    let thread = std::thread::Builder::new().name("judge-lines".into()).stack_size(THREAD_STACK);
    // The thread is not joined: it may be blocked on input that is no longer needed.
    thread
        .spawn(move || lines.send_all(&reader, &sender))
        .map_err(|source| LinesError::System { what: "cannot start a thread".into(), source })?;
    for sent in pending {
        let (line, pending) = sent?;
        let judgement = judge.finish(pending).map_err(|error| at_line(name, line, error))?;
        answer(&judgement).map_err(|source| LinesError::System { what: "cannot answer".into(), source })?;
    }
    Ok(())
}

/// A line that is being judged.
type Sent = Result<(usize, Pending), LinesError>;

fn at_line(name: &str, line: usize, error: JudgeError) -> LinesError {
    let name = name.to_owned();
    match error {
        JudgeError::Arena(_) => LinesError::Machine { name, line, source: error },
        JudgeError::UnknownTask { .. } | JudgeError::TooLong { .. } | JudgeError::Listed { .. } => {
            LinesError::Line { name, line, reason: error.to_string() }
        }
    }
}

struct Lines<R> {
    input: BufReader<R>,
    name: String,
    /// Number of lines read.
    line: usize,
}

impl<R: Read> Lines<R> {
    /// Starts to judge lines until one is wrong, the input ends, or nobody receives them.
    fn send_all(&mut self, judge: &Judge, sender: &SyncSender<Sent>) {
        while let Some(item) = self.next().transpose() {
            let begun = item.and_then(|item| {
                let begun = judge.begin(item, self.line).map_err(|error| at_line(&self.name, self.line, error));
                Ok((self.line, begun?))
            });
            let is_last = begun.is_err();
            if sender.send(begun).is_err() || is_last {
                return;
            }
        }
    }

    /// The item of the next line that is not blank.
    fn next(&mut self) -> Result<Option<Item>, LinesError> {
        loop {
            self.line += 1;
            let mut line = Vec::new();
            let mut most = (&mut self.input).take(ITEM_BYTES_MAX as u64 + 1);
            let read = most.read_until(b'\n', &mut line);
            read.map_err(|source| LinesError::System { what: self.name.clone(), source })?;
            if line.is_empty() {
                return Ok(None);
            }
            if line.len() > ITEM_BYTES_MAX {
                let reason =
                    format!("longer than {ITEM_BYTES_MAX} bytes; a completion may have {COMPLETION_BYTES_MAX}");
                return Err(self.wrong(reason));
            }
            let line = line.strip_prefix(BYTE_ORDER_MARK).filter(|_| self.line == 1).unwrap_or(&line);
            // Without its end, after which a column would be that of the next line.
            let line = line.trim_ascii_end();
            if !line.is_empty() {
                return object::read(line).map(Some).map_err(|error| self.wrong(no_item(&error)));
            }
        }
    }

    fn wrong(&self, reason: String) -> LinesError {
        LinesError::Line { name: self.name.clone(), line: self.line, reason }
    }
}

/// What is wrong with a line in which an item was expected.
pub(super) fn no_item(error: &serde_json::Error) -> String {
    let words = error.to_string();
    // Within a single line only the column matters.
    let words = if error.is_eof() { "ends too early" } else { words.split(" at line ").next().unwrap_or_default() };
    let place = if error.is_data() { String::new() } else { format!(" at column {}", error.column()) };
    format!("{words}{place}; expected {{\"id\": \"...\", \"completion\": \"...\"}}")
}
