//! The terminal that bars are drawn on, which may be closed meanwhile.

use std::io;

use console::Term;
use indicatif::{ProgressDrawTarget, TermLike};

/// Redraws a second.
const RATE: u8 = 20;

/// Standard error without its errors. indicatif panics where lines cannot be taken away to print others, and a run goes on, or
/// writes its checkpoint, after somebody has closed the window.
#[derive(Debug)]
struct BarTerminal(Term);

/// Bars on standard error.
pub(super) fn on_stderr() -> ProgressDrawTarget {
    ProgressDrawTarget::term_like_with_hz(Box::new(BarTerminal(Term::buffered_stderr())), RATE)
}

impl TermLike for BarTerminal {
    fn width(&self) -> u16 {
        self.0.size().1
    }

    fn height(&self) -> u16 {
        self.0.size().0
    }

    fn move_cursor_up(&self, lines: usize) -> io::Result<()> {
        passed_over(self.0.move_cursor_up(lines))
    }

    fn move_cursor_down(&self, lines: usize) -> io::Result<()> {
        passed_over(self.0.move_cursor_down(lines))
    }

    fn move_cursor_right(&self, columns: usize) -> io::Result<()> {
        passed_over(self.0.move_cursor_right(columns))
    }

    fn move_cursor_left(&self, columns: usize) -> io::Result<()> {
        passed_over(self.0.move_cursor_left(columns))
    }

    fn write_line(&self, text: &str) -> io::Result<()> {
        passed_over(self.0.write_line(text))
    }

    fn write_str(&self, text: &str) -> io::Result<()> {
        passed_over(self.0.write_str(text))
    }

    fn clear_line(&self) -> io::Result<()> {
        passed_over(self.0.clear_line())
    }

    fn flush(&self) -> io::Result<()> {
        passed_over(self.0.flush())
    }
}

/// Nobody is left to read what could not be written.
fn passed_over(_: io::Result<()>) -> io::Result<()> {
    Ok(())
}
