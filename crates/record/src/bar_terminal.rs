//! The terminal that bars are drawn on, which may be closed meanwhile.

use std::io;

use console::Term;
use indicatif::{ProgressDrawTarget, TermLike};
use parking_lot::Mutex;

/// Redraws a second.
const RATE: u8 = 20;

/// Standard error without its errors. indicatif panics where lines cannot be taken away to print others, and a run goes on, or
/// writes its checkpoint, after somebody has closed the window.
#[derive(Debug)]
struct BarTerminal(Mutex<Term>);

/// Bars on standard error.
pub(super) fn on_stderr() -> ProgressDrawTarget {
    ProgressDrawTarget::term_like_with_hz(Box::new(BarTerminal(Mutex::new(Term::buffered_stderr()))), RATE)
}

impl TermLike for BarTerminal {
    fn width(&self) -> u16 {
        self.0.lock().size().1
    }

    fn height(&self) -> u16 {
        self.0.lock().size().0
    }

    fn move_cursor_up(&self, lines: usize) -> io::Result<()> {
        passed_over(self.0.lock().move_cursor_up(lines))
    }

    fn move_cursor_down(&self, lines: usize) -> io::Result<()> {
        passed_over(self.0.lock().move_cursor_down(lines))
    }

    fn move_cursor_right(&self, columns: usize) -> io::Result<()> {
        passed_over(self.0.lock().move_cursor_right(columns))
    }

    fn move_cursor_left(&self, columns: usize) -> io::Result<()> {
        passed_over(self.0.lock().move_cursor_left(columns))
    }

    fn write_line(&self, text: &str) -> io::Result<()> {
        passed_over(self.0.lock().write_line(text))
    }

    fn write_str(&self, text: &str) -> io::Result<()> {
        passed_over(self.0.lock().write_str(text))
    }

    fn clear_line(&self) -> io::Result<()> {
        passed_over(self.0.lock().clear_line())
    }

    fn flush(&self) -> io::Result<()> {
        let mut terminal = self.0.lock();
        if terminal.flush().is_err() {
            // It would keep all that it could not write, for ever.
            *terminal = Term::buffered_stderr();
        }
        Ok(())
    }
}

/// Nobody is left to read what could not be written.
fn passed_over(_: io::Result<()>) -> io::Result<()> {
    Ok(())
}
