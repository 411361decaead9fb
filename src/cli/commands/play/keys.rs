//! Keys that are typed while games are shown: a blank pauses, q ends. Typed keys are not echoed.

use std::io;
use std::time::{Duration, Instant};

use rustix::termios::{LocalModes, OptionalActions, SpecialCodeIndex, Termios, tcgetattr, tcsetattr};

/// Time between two looks for typed keys.
const LOOK: Duration = Duration::from_millis(20);
/// The byte of Ctrl-C, which raises no signal while keys are read raw.
const CTRL_C: u8 = 3;
const ESCAPE: u8 = 27;

/// What the user wants next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Wish {
    /// The next move.
    GoOn,
    /// To see no more.
    Leave,
    /// To end the program.
    Interrupt,
}

/// Standard input in raw mode until dropped. Where it is no terminal there are no keys.
pub struct Keys {
    was: Option<Termios>,
    held: bool,
}

impl Keys {
    pub fn open() -> Keys {
        let was = tcgetattr(io::stdin()).ok();
        if let Some(was) = &was {
            let mut modes = was.clone();
            modes.local_modes -= LocalModes::ICANON | LocalModes::ECHO | LocalModes::ISIG;
            // A read returns at once, and is empty where nothing was typed.
            (modes.special_codes[SpecialCodeIndex::VMIN], modes.special_codes[SpecialCodeIndex::VTIME]) = (0, 0);
            let _ = tcsetattr(io::stdin(), OptionalActions::Now, &modes);
        }
        Keys { was, held: false }
    }

    /// Whether standard input is a terminal.
    pub fn are_there(&self) -> bool {
        self.was.is_some()
    }

    /// Waits for `delay`, and longer while the games are paused.
    pub fn wait(&mut self, delay: Duration) -> Wish {
        let begin = Instant::now();
        loop {
            let wish = self.heed(&self.typed());
            if wish != Wish::GoOn {
                return wish;
            }
            let left = delay.saturating_sub(begin.elapsed());
            if left.is_zero() && !self.held {
                return Wish::GoOn;
            }
            std::thread::sleep(if self.held { LOOK } else { left.min(LOOK) });
        }
    }

    fn typed(&self) -> Vec<u8> {
        let mut typed = vec![0; 64];
        let count = if self.are_there() { rustix::io::read(io::stdin(), &mut typed[..]).unwrap_or(0) } else { 0 };
        typed.truncate(count);
        typed
    }

    /// The first wish among the typed keys. An escape alone is a key; with more bytes after it, it is the code of
    /// another key, such as an arrow.
    fn heed(&mut self, typed: &[u8]) -> Wish {
        if typed.first() == Some(&ESCAPE) && typed.len() > 1 {
            return Wish::GoOn;
        }
        for key in typed {
            match key {
                b' ' | b'p' => self.held = !self.held,
                b'q' | &ESCAPE => return Wish::Leave,
                &CTRL_C => return Wish::Interrupt,
                _ => {}
            }
        }
        Wish::GoOn
    }
}

impl Drop for Keys {
    fn drop(&mut self) {
        if let Some(was) = &self.was {
            let _ = tcsetattr(io::stdin(), OptionalActions::Now, was);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_blank_holds_and_lets_go_and_an_arrow_is_no_escape() {
        let mut keys = Keys { was: None, held: false };
        assert_eq!((keys.heed(b" x"), keys.held), (Wish::GoOn, true));
        assert_eq!((keys.heed(b"\x1b[A"), keys.held), (Wish::GoOn, true));
        assert_eq!((keys.heed(b"p"), keys.held), (Wish::GoOn, false));
        assert_eq!(
            [&b"q"[..], b"\x1b", b"\x03"].map(|typed| keys.heed(typed)),
            [Wish::Leave, Wish::Leave, Wish::Interrupt]
        );
    }
}
