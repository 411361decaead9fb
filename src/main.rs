//! The `grpo-2048` program: everything is in the library.

mod start;

use std::process::ExitCode;

fn main() -> ExitCode {
    grpo_2048::cli::keep_hangups_ignored();
    start::start(grpo_2048::cli::run)
}
