//! Results go to standard output; a reader that has seen enough, such as `head`, ends nothing badly.

use std::io::{self, Write};

use serde::Serialize;

use super::CliError;

/// Prints a result as it is.
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

/// Columns of the terminal that results go to; none where it is a file or another program.
pub fn columns() -> Option<usize> {
    let terminal = console::Term::stdout();
    terminal.is_term().then(|| terminal.size().1.into())
}
