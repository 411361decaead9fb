//! The `grpo-2048-bench` program: everything is in the library.

/// What is measured runs as it does in `grpo-2048`: with its allocator, stack and threads.
#[path = "../../src/start.rs"]
mod start;

use std::process::ExitCode;

fn main() -> ExitCode {
    start::start(grpo_2048_bench::cli::run)
}
