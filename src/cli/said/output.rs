//! Prints results to standard output, or writes them to a file. A reader that closes it early, such as `head`, is no error.

use std::borrow::Cow;
use std::fmt::Display;
use std::fs::{self, File};
use std::io::{self, ErrorKind, Write};
use std::path::Path;

use serde::Serialize;
use textwrap::WordSplitter;

use super::CliError;
use crate::files::{self, WholeFile};
use crate::json_line;
use crate::metrics;

/// What to do about a full disk.
pub const MAKE_ROOM: &str = "make room there, or name a place on another disk";
/// Stands in a table where a number would mean nothing.
pub const NOTHING: &str = "-";
/// Columns of a terminal that has room for what is said as it stands.
const ROOMY: usize = 80;
/// How a command of ours begins. A line with one stays whole, so that it can be copied.
const COMMAND: &str = "grpo-2048 ";

pub fn print(text: &str) -> Result<(), CliError> {
    print_to_reader(text).map(|_| ())
}

/// The same, for what is printed again and again: false says that nobody reads any more.
pub fn print_to_reader(text: &str) -> Result<bool, CliError> {
    let mut stdout = io::stdout().lock();
    match stdout.write_all(text.as_bytes()).and_then(|()| stdout.flush()) {
        Ok(()) => Ok(true),
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(false),
        Err(error) => Err(unprinted(&error)),
    }
}

/// Why standard output took no more.
pub(super) fn unprinted(error: &io::Error) -> CliError {
    full("standard output", error).unwrap_or_else(|| CliError::Run(format!("standard output: {error}").into()))
}

/// Prints words and tables for a reader: where the terminal is narrow, long lines go on in the next.
pub fn tell(text: &str) -> Result<(), CliError> {
    print(&fitted(text))
}

/// The text as [`tell`] prints it.
pub fn fitted(text: &str) -> Cow<'_, str> {
    narrow().map_or(Cow::Borrowed(text), |columns| Cow::Owned(narrowed(text, columns)))
}

/// The lines of a text, those that are longer than `columns` broken between words, with the rest indented.
fn narrowed(text: &str, columns: usize) -> String {
    let line = |line: &str| {
        if console::measure_text_width(line) <= columns || line.contains(COMMAND) {
            return format!("{line}\n");
        }
        let words = line.trim_start();
        let indent = &line[..line.len() - words.len()];
        let lines = wrapped(words, columns.saturating_sub(indent.len() + 2).max(20));
        format!("{indent}{}\n", lines.join(&format!("\n{indent}  ")))
    };
    text.lines().map(line).collect()
}

/// Prints lines to standard error. Errors are ignored: where nobody reads there any more, or its disk is full, the exit code
/// still says how the command ended.
pub fn complain(lines: &str) {
    let _ = io::stderr().lock().write_all(lines.as_bytes());
}

/// Prints a result as JSON in one line.
pub fn json(result: &impl Serialize) -> Result<(), CliError> {
    print(&json_line(result).map_err(CliError::run)?)
}

/// Writes a result to a file, whole or not at all, or to a device. `named` is the path with the flag that names it.
pub fn write_file(named: impl Display, path: &Path, bytes: &[u8]) -> Result<(), CliError> {
    write_file_by(&named, path, |file| file.write_all(bytes).map_err(|error| unwritten(&named, &error)))
}

/// The same of a result that `write` writes piece by piece.
pub fn write_file_by<T>(
    named: impl Display,
    path: &Path,
    write: impl FnOnce(&mut (dyn Write + Send)) -> Result<T, CliError>,
) -> Result<T, CliError> {
    let failed = |error: io::Error| unwritten(&named, &error);
    // A link stays, and what it leads to is replaced.
    let target = path.canonicalize().unwrap_or_else(|_| path.to_owned());
    if files::special(&target).is_some() {
        return write(&mut File::create(&target).map_err(failed)?);
    }
    let mut file = WholeFile::create(&target).map_err(failed)?;
    let written = write(&mut file)?;
    file.finish().map_err(failed)?;
    Ok(written)
}

/// Refuses a file that is there and holds what `is_alike` does not know, as it may have been written by hand. `named` is the
/// path with the flag that names it.
pub fn refuse_other(named: impl Display, path: &Path, is_alike: impl FnOnce(&[u8]) -> bool) -> Result<(), CliError> {
    match path.is_file() && !fs::read(path).is_ok_and(|there| there.is_empty() || is_alike(&there)) {
        true => {
            Err(CliError::user_hint(format!("{named}: is there already, and holds something else"), "name a new file"))
        }
        false => Ok(()),
    }
}

/// Why there is no such file, and what to do about it.
pub fn unwritten(named: impl Display, error: &io::Error) -> CliError {
    let hint = match error.kind() {
        ErrorKind::NotFound | ErrorKind::NotADirectory => "name a file in a directory that exists",
        ErrorKind::PermissionDenied | ErrorKind::ReadOnlyFilesystem => "name a file that you may write",
        ErrorKind::IsADirectory => "name a file in it",
        _ => "name another file",
    };
    full(&named, error).unwrap_or_else(|| CliError::user_hint(format!("{named}: {error}"), hint))
}

/// The error of a full disk or a limit on files, which is the machine's fault; none where the error is another.
pub fn full(named: impl Display, error: &io::Error) -> Option<CliError> {
    room(error).map(|hint| CliError::Run(format!("{named}: {error}; {hint}").into()))
}

/// What to do where the machine takes no more of a file; none where the error is another.
pub fn room(error: &io::Error) -> Option<&'static str> {
    match error.kind() {
        ErrorKind::FileTooLarge => Some("raise the limit on files (ulimit -f), or name a place on another disk"),
        _ => files::is_full(error).then_some(MAKE_ROOM),
    }
}

/// The text in lines of at most `room` columns, broken between words alone.
pub fn wrapped(text: &str, room: usize) -> Vec<String> {
    let options = textwrap::Options::new(room).break_words(false).word_splitter(WordSplitter::NoHyphenation);
    textwrap::wrap(text, &options).into_iter().map(Cow::into_owned).collect()
}

/// The rows of a table, as wide as the terminal is; the first one is the head, the first column names.
pub fn aligned(rows: &[Vec<String>]) -> String {
    metrics::aligned(rows, 1, columns())
}

/// The same of a table whose last column has remarks, after `words` columns of names. Only a narrow terminal divides it.
pub fn remarked(rows: &[Vec<String>], words: usize) -> String {
    metrics::remarked(rows, words, narrow())
}

/// Columns of the terminal on standard output; `None` where it is a file or a pipe.
pub fn columns() -> Option<usize> {
    let terminal = console::Term::stdout();
    terminal.is_term().then(|| terminal.size().1.into())
}

/// The same where they are fewer than usual.
fn narrow() -> Option<usize> {
    columns().filter(|columns| *columns < ROOMY)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_line_goes_on_in_the_next_and_commands_and_short_lines_stay_whole() {
        let table = "              score  how games ended\na.py             12  freeze 2\n";
        assert_eq!(narrowed(table, 36), table);
        let broken = "              score  how games\n                ended\na.py             12  freeze 2\n";
        assert_eq!(narrowed(table, 35), broken);
        let command = "go on       grpo-2048 train --resume runs/train-001 --steps 24\n";
        assert_eq!(narrowed(command, 50), command);
        let path = "best        runs/a/path/that/is/longer/than/the/screen/best.py\n";
        assert_eq!(narrowed(path, 50), "best\n  runs/a/path/that/is/longer/than/the/screen/best.py\n");
        let coloured = "\u{1b}[33m25%\u{1b}[0m of the programs play\n\n";
        assert_eq!(narrowed(coloured, 24), coloured, "escape codes take no columns");
    }
}
