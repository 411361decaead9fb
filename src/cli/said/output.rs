//! Prints results to standard output. A reader that closes it early, such as `head`, is no error.

use std::borrow::Cow;
use std::io::{self, Write};

use serde::Serialize;
use textwrap::WordSplitter;

use super::CliError;

pub fn print(text: &str) -> Result<(), CliError> {
    let mut stdout = io::stdout().lock();
    match stdout.write_all(text.as_bytes()).and_then(|()| stdout.flush()) {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => Err(CliError::run(error)),
        _ => Ok(()),
    }
}

/// Prints a result as JSON in one line.
pub fn json(result: &impl Serialize) -> Result<(), CliError> {
    print(&format!("{}\n", serde_json::to_string(result).map_err(CliError::run)?))
}

/// The text in lines of at most `room` columns, broken between words alone.
pub fn wrapped(text: &str, room: usize) -> Vec<String> {
    let options = textwrap::Options::new(room).break_words(false).word_splitter(WordSplitter::NoHyphenation);
    textwrap::wrap(text, &options).into_iter().map(Cow::into_owned).collect()
}

/// Columns of the terminal on standard output; `None` where it is a file or a pipe.
pub fn columns() -> Option<usize> {
    let terminal = console::Term::stdout();
    terminal.is_term().then(|| terminal.size().1.into())
}
