//! Messages and progress bars on standard error.

use std::fs::File;
use std::io::{self, Write};
use std::mem;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use indicatif::{MultiProgress, ProgressBar, ProgressDrawTarget, ProgressStyle};
use parking_lot::Mutex;
use tracing_subscriber::fmt::MakeWriter;

use super::bar_terminal;

/// Time between redraws of progress bars.
pub(super) const TICK: Duration = Duration::from_millis(120);

/// How progress is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Progress {
    /// Progress bars at the bottom of a terminal.
    Bar,
    /// Lines of text.
    Plain,
    /// Not at all. Messages are still shown.
    None,
}

impl Progress {
    /// Bars on a terminal that can draw them, lines otherwise.
    pub fn suiting() -> Progress {
        match console::Term::stderr().is_term() && std::env::var("TERM").is_ok_and(|name| name != "dumb") {
            true => Progress::Bar,
            false => Progress::Plain,
        }
    }
}

/// Which messages are shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Narration {
    /// All messages.
    Full,
    /// Warnings only.
    Warnings,
}

/// A handle on standard error, or on the log file of a process without a terminal. All clones share the same bars.
#[derive(Clone)]
pub struct Console {
    bars: MultiProgress,
    progress: Progress,
    narration: Narration,
    terminal: bool,
    log: Option<Arc<Mutex<Log>>>,
    /// Locked while lines are written, so that none comes after the end.
    closed: Arc<Mutex<bool>>,
}

/// The log of a process without a terminal.
enum Log {
    /// Lines that are kept until there is a file.
    Kept(Vec<u8>),
    File(File),
}

impl Log {
    fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        match self {
            Log::Kept(lines) => lines.write_all(bytes),
            Log::File(file) => file.write_all(bytes),
        }
    }
}

impl Console {
    /// A console that keeps lines for a log file and shows nothing.
    pub fn for_log() -> Console {
        let log = Some(Arc::new(Mutex::new(Log::Kept(Vec::new()))));
        Console { log, ..Console::on(ProgressDrawTarget::hidden(), Progress::None, Narration::Full) }
    }

    fn on(target: ProgressDrawTarget, progress: Progress, narration: Narration) -> Console {
        let bars = MultiProgress::with_draw_target(target);
        Console { bars, progress, narration, terminal: false, log: None, closed: Arc::default() }
    }

    /// Appends all lines of the log to the file `path` from now on, starting with those that were kept. Does nothing
    /// for a console without a log.
    pub fn log_to(&self, path: &Path) -> io::Result<()> {
        let Some(log) = &self.log else { return Ok(()) };
        let mut log = log.lock();
        let mut file = Log::File(File::options().create(true).append(true).open(path)?);
        if let Log::Kept(lines) = &mut *log {
            file.write(&mem::take(lines))?;
        }
        *log = file;
        Ok(())
    }

    /// A console on standard error. Bars become lines if there is no terminal that can draw them.
    pub fn showing(progress: Progress, narration: Narration) -> Console {
        let terminal = console::Term::stderr().is_term();
        let progress = if progress == Progress::Bar { Progress::suiting() } else { progress };
        let target = match progress {
            Progress::Bar => bar_terminal::on_stderr(),
            Progress::Plain | Progress::None => ProgressDrawTarget::hidden(),
        };
        Console { terminal, ..Console::on(target, progress, narration) }
    }

    /// How progress is shown.
    pub fn progress(&self) -> Progress {
        self.progress
    }

    /// Shows a message above the bars, unless only warnings are shown and it is none. A warning begins with that word.
    pub fn print(&self, text: &str) {
        if self.narration == Narration::Full || text.starts_with("warning") {
            self.warn(text);
        }
    }

    /// Shows a message above the bars in any case. On a terminal, long lines are wrapped.
    pub fn warn(&self, text: &str) {
        match self.terminal {
            true => self.write(&wrapped(text, usize::from(console::Term::stderr().size().1))),
            false => self.write(text),
        }
    }

    /// Shows text without wrapping lines, for source and boards.
    pub fn print_as_is(&self, text: &str) {
        if self.narration == Narration::Full {
            self.write(text);
        }
    }

    /// Writes lines above the bars. Errors are ignored, because a closed standard error must not stop the program.
    fn write(&self, text: &str) {
        if let Some(log) = &self.log {
            let line = if text.ends_with('\n') { text.to_owned() } else { format!("{text}\n") };
            let _ = log.lock().write(line.as_bytes());
            return;
        }
        let closed = self.closed.lock();
        if *closed {
            return;
        }
        self.bars.suspend(|| {
            let mut stderr = io::stderr().lock();
            let _ = stderr.write_all(text.as_bytes());
            if !text.ends_with('\n') {
                let _ = stderr.write_all(b"\n");
            }
        });
    }

    /// Shows that something of unknown duration takes place: a spinner on a terminal, a line otherwise. Dropping the
    /// result removes the spinner.
    pub fn wait(&self, message: &str) -> Wait {
        if self.progress == Progress::Plain {
            self.print(message);
        }
        if self.progress != Progress::Bar {
            return Wait { spinner: None };
        }
        let style = ProgressStyle::with_template("{spinner} {msg} ({elapsed})").expect("a fixed template");
        let spinner = self.bars.add(ProgressBar::new_spinner().with_style(style).with_message(message.to_owned()));
        spinner.enable_steady_tick(TICK);
        Wait { spinner: Some(spinner) }
    }

    /// Removes the bars, and shows neither bars nor messages from now on: what a thread still says would stand below the
    /// error that ends the program.
    pub fn close(&self) {
        *self.closed.lock() = true;
        let _ = self.bars.clear();
        self.bars.set_draw_target(ProgressDrawTarget::hidden());
    }

    /// Adds a bar below the others.
    pub(super) fn add(&self, bar: ProgressBar) -> ProgressBar {
        self.bars.add(bar)
    }

    /// A bar that counts to `total`, shown on a terminal only. Dropping it removes it.
    pub fn count(&self, total: usize, what: &str) -> Count {
        let template = format!("{{spinner}} {{bar:16.cyan/white.dim}} {{pos}}/{{len}} {what}  {{wide_msg}}");
        let style = ProgressStyle::with_template(&template).expect("a fixed template").progress_chars("━╸─");
        let bar = self.bars.add(ProgressBar::new(total as u64).with_style(style));
        bar.enable_steady_tick(TICK);
        Count { bar }
    }
}

/// Wraps lines at `columns` characters and indents continuation lines.
fn wrapped(text: &str, columns: usize) -> String {
    let options = textwrap::Options::new(columns.max(20)).subsequent_indent("  ").break_words(false);
    text.lines().map(|line| textwrap::fill(line, &options)).collect::<Vec<_>>().join("\n")
}

/// A spinner; see [`Console::wait`].
pub struct Wait {
    spinner: Option<ProgressBar>,
}

impl Wait {
    /// Changes the message of the spinner.
    pub fn say(&self, message: String) {
        if let Some(spinner) = &self.spinner {
            spinner.set_message(message);
        }
    }
}

impl Drop for Wait {
    fn drop(&mut self) {
        if let Some(spinner) = &self.spinner {
            spinner.finish_and_clear();
        }
    }
}

/// A counting bar; see [`Console::count`].
pub struct Count {
    bar: ProgressBar,
}

impl Count {
    /// Sets the position, and the `words` beside the bar.
    pub fn show(&self, done: usize, words: &str) {
        self.bar.set_position(done as u64);
        self.bar.set_message(words.to_owned());
    }

    /// The same with a new total.
    pub fn show_of(&self, done: usize, total: usize, words: &str) {
        self.bar.set_length(total as u64);
        self.show(done, words);
    }
}

impl Drop for Count {
    fn drop(&mut self) {
        self.bar.finish_and_clear();
    }
}

impl<'a> MakeWriter<'a> for Console {
    type Writer = LogLine;

    fn make_writer(&'a self) -> LogLine {
        LogLine { console: self.clone(), text: Vec::new() }
    }
}

/// One log message, which is written above the bars when it is dropped.
pub struct LogLine {
    console: Console,
    text: Vec<u8>,
}

impl Write for LogLine {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.text.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Drop for LogLine {
    fn drop(&mut self) {
        if !self.text.is_empty() {
            self.console.warn(&String::from_utf8_lossy(&self.text));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_line_goes_on_indented_in_the_next_and_what_has_no_space_is_left_whole() {
        assert_eq!(wrapped("reward check: two moves 0.16", 20), "reward check: two\n  moves 0.16");
        assert_eq!(wrapped("short\n  indented\n", 20), "short\n  indented");
        assert_eq!(wrapped("saved /a/path/that/is/long/enough", 20), "saved\n  /a/path/that/is/long/enough");
        let coloured = "\u{1b}[33mone two\u{1b}[0m three four f";
        assert_eq!(wrapped(coloured, 20), coloured, "escape codes take no columns");
    }
}
