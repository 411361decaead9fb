//! The `grpo-2048` program: everything is in the library.

mod start;

use std::process::ExitCode;

fn main() -> ExitCode {
    start::start(grpo_2048::cli::run)
}
