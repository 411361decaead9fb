//! Items as JSON lines, judged as they come.
//!
//! A thread reads and has items judged; the caller takes the judgements in the order of the lines. What is read ahead is
//! bounded, so that input may be endless; an answer waits for nothing but the answers before it.

use std::io::{BufRead, BufReader, Read};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};

use grpo_sandbox::THREAD_STACK;

use super::{COMPLETION_BYTES_MAX, Item, Judge, JudgeError, Judgement, Pending};

/// Bytes of the longest line: a completion, with room for what JSON escapes.
pub const ITEM_BYTES_MAX: usize = 8 << 20;

/// Items that are judged at once, at most: some batches of a trainer. Each holds a program, 64 KiB at most.
const AHEAD: usize = 512;

/// Why judging lines ended early. Judgements of all lines before it were given.
#[derive(Debug, thiserror::Error)]
pub enum LinesError {
    /// A line that is no item: its author's to mend.
    #[error("{name}:{line}: {reason}")]
    Line {
        /// The file.
        name: String,
        /// Its number, from 1.
        line: usize,
        /// What is wrong with it.
        reason: String,
    },
    /// The machine's fault on a line.
    #[error("{name}:{line}: not judged")]
    Machine {
        /// The file.
        name: String,
        /// Its number, from 1.
        line: usize,
        /// What went wrong.
        source: JudgeError,
    },
    /// The system gave no input, no thread, or took no answer.
    #[error("{what}: {source}")]
    System {
        /// What was tried.
        what: String,
        /// What the system said.
        source: std::io::Error,
    },
}

/// Judges every line of `input`, which messages call `name`. `answer` gets the judgements in the order of the lines, each as
/// soon as it and all before it have come; when it fails, judging ends.
///
/// Without workers, programs are played by the thread that reads. The stack of the caller should hold
/// [`THREAD_STACK`].
pub fn judge_lines(
    judge: &Arc<Judge>,
    input: impl Read + Send + 'static,
    name: &str,
    answer: &mut dyn FnMut(&Judgement) -> std::io::Result<()>,
) -> Result<(), LinesError> {
    let (sender, pending) = sync_channel(AHEAD);
    let mut lines = Lines { input: BufReader::new(input), name: name.to_owned(), line: 0 };
    let reader = Arc::clone(judge);
    let thread = std::thread::Builder::new().name("judge-lines".into()).stack_size(THREAD_STACK);
    // Not waited for: it may hang on input that nobody wants any more.
    thread
        .spawn(move || lines.send_all(&reader, &sender))
        .map_err(|source| LinesError::System { what: "cannot start a thread".into(), source })?;
    answer_all(judge, name, &pending, answer)
}

/// A line that is being judged.
type Sent = Result<(usize, Pending), LinesError>;

fn answer_all(
    judge: &Judge,
    name: &str,
    pending: &Receiver<Sent>,
    answer: &mut dyn FnMut(&Judgement) -> std::io::Result<()>,
) -> Result<(), LinesError> {
    for sent in pending {
        let (line, pending) = sent?;
        let judgement = judge.finish(pending).map_err(|error| at_line(name, line, error))?;
        answer(&judgement).map_err(|source| LinesError::System { what: "cannot answer".into(), source })?;
    }
    Ok(())
}

fn at_line(name: &str, line: usize, error: JudgeError) -> LinesError {
    let name = name.to_owned();
    match error {
        JudgeError::Arena(_) => LinesError::Machine { name, line, source: error },
        JudgeError::UnknownTask { .. } | JudgeError::TooLong { .. } => {
            LinesError::Line { name, line, reason: error.to_string() }
        }
    }
}

struct Lines<R> {
    input: BufReader<R>,
    name: String,
    /// Lines read so far.
    line: usize,
}

impl<R: Read> Lines<R> {
    /// Has lines judged until one is wrong, there are no more, or nobody takes them.
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
            if !line.trim_ascii().is_empty() {
                return item(&line).map(Some).map_err(|reason| self.wrong(reason));
            }
        }
    }

    fn wrong(&self, reason: String) -> LinesError {
        LinesError::Line { name: self.name.clone(), line: self.line, reason }
    }
}

/// The item in a line, or what is wrong with it.
fn item(line: &[u8]) -> Result<Item, String> {
    serde_json::from_slice(line).map_err(|error| {
        let words = error.to_string();
        // The place within the line is the column alone.
        let words = words.split(" at line ").next().unwrap_or_default();
        let place = if error.is_data() { String::new() } else { format!(" at column {}", error.column()) };
        format!("{words}{place}; expected {{\"id\": \"...\", \"completion\": \"...\"}}")
    })
}
