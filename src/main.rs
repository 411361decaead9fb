//! The `grpo-2048` program: everything is in the library.

// These macros panic where standard error cannot be written, as behind `2>&1 | head`.
#![deny(clippy::print_stderr)]

mod start;

use std::ffi::c_int;
use std::process::ExitCode;

use nix::sys::signal::{SaFlags, SigAction, SigHandler, SigSet, Signal, sigaction};

fn main() -> ExitCode {
    grpo_2048::cli::keep_hangups_ignored();
    outlive_file_limits();
    start::start(grpo_2048::cli::run)
}

/// Lets a write beyond the limit on file sizes (`ulimit -f`) fail as any other does: its signal would end the program without a word.
/// The signal is caught, because programs that are started inherit what is blocked or ignored, and not what is caught.
fn outlive_file_limits() {
    extern "C" fn nothing(_: c_int) {}
    let caught = SigAction::new(SigHandler::Handler(nothing), SaFlags::SA_RESTART, SigSet::empty());
    // SAFETY: the handler does nothing. Of a signal that may be caught nothing is refused.
    let _ = unsafe { sigaction(Signal::SIGXFSZ, &caught) };
}
