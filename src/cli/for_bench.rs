//! What `grpo-2048-bench` says and opens the way this program does. For that package alone: it changes as the two need it.

use std::process::ExitCode;

use clap::{Command, FromArgMatches};

pub use super::gpu_watch::visible_gpus;
pub use super::options::{Flags, SourceArgs};
pub use super::terminal::TerminalArgs;
use super::{CliError, Console};

/// The model, loaded as every command loads it.
pub mod loading {
    pub use super::super::loading::{device, policy_shown};
}

/// Results, on standard output.
pub mod output {
    pub use super::super::output::{columns, print};
}

/// The sandbox, opened as every command opens it.
pub mod playing {
    pub use super::super::playing::{in_tiers, open_sandbox};
}

/// Runs a program whose command is `command` on the arguments of the process, from what was typed to the exit code.
/// `commit` is what it was built from, where the build knows.
pub fn run<T: FromArgMatches>(
    command: Command,
    commit: Option<&'static str>,
    terminal: fn(&T) -> &TerminalArgs,
    work: fn(T, &Console) -> Result<(), CliError>,
) -> ExitCode {
    let arguments: T = match super::parsed(command, commit) {
        Ok(arguments) => arguments,
        Err(answered) => return answered,
    };
    let terminal = terminal(&arguments);
    let console = terminal.console();
    super::start_logging(&console, terminal.verbose);
    super::ended(work(arguments, &console), &console)
}
