//! The `grpo-2048` program: everything is in the library.

// These macros panic where standard error cannot be written, as behind `2>&1 | head`.
#![deny(clippy::print_stderr)]

mod start;

use std::process::ExitCode;

fn main() -> ExitCode {
    grpo_2048::cli::keep_hangups_ignored();
    start::start(grpo_2048::cli::run)
}
