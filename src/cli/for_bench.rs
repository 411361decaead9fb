//! What `grpo-2048-bench` shares with this program. It is for that package alone and may change at any time.

use std::process::ExitCode;

use clap::{Command, FromArgMatches};

use super::CliError;
pub use super::arguments::{Flags, SourceArgs, TerminalArgs};
pub use super::opened::gpu_watch::{place_of, visible_gpus};
use crate::metrics::Console;

/// The model, loaded as every command loads it.
pub mod loading {
    pub use super::super::opened::model::{device, policy_shown};
}

/// Results, on standard output.
pub mod output {
    pub use super::super::said::output::{columns, print};
}

/// The sandbox, opened as every command opens it.
pub mod playing {
    pub use super::super::opened::arena::{in_tiers, open_sandbox};
}

/// Runs a program whose command is `command` on the arguments of the process, from what was typed to the exit code.
/// `commit` is what it was built from, where the build knows.
pub fn run<T: FromArgMatches>(
    command: Command,
    commit: Option<&'static str>,
    terminal: fn(&T) -> &TerminalArgs,
    work: fn(T, &Console) -> Result<(), CliError>,
) -> ExitCode {
    super::start(command, commit, terminal, |arguments, console| work(arguments, console).map(|()| ExitCode::SUCCESS))
}
