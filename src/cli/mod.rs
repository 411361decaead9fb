//! The command line: what the user typed becomes a configuration, a run, and an exit code.
//!
//! Results go to standard output, narration and the bar to standard error. Knows every part of the program and
//! decides nothing that a result depends on.
//!
//! | room | what is in it | may use |
//! |---|---|---|
//! | `commands` | a file or a folder for each command | all rooms |
//! | `opened` | models, environments, runs: what commands open, all in the same way | `arguments`, `said` |
//! | `arguments` | arguments that several commands share, and the configuration that they come to | `said` |
//! | `said` | results, findings, errors with their exit codes | |

mod arguments;
mod commands;
#[doc(hidden)]
pub mod for_bench;
mod opened;
mod said;

use std::process::ExitCode;

use clap::{Command, FromArgMatches};
use tracing_subscriber::EnvFilter;

pub use commands::command;
pub use opened::interrupt::keep_hangups_ignored;
pub use said::CliError;

use crate::metrics::Console;
use arguments::TerminalArgs;
use commands::Cli;

/// Runs the program on the arguments of the process. `commit` is what it was built from, where the build knows.
pub fn run(commit: Option<&'static str>) -> ExitCode {
    start(commands::command(), commit, |cli: &Cli| &cli.terminal, |cli, console| cli.run(console, commit))
}

/// Does `work` with the arguments of the process, as `command` reads them, and prints its error.
fn start<T: FromArgMatches>(
    command: Command,
    commit: Option<&'static str>,
    terminal: fn(&T) -> &TerminalArgs,
    work: impl FnOnce(T, &Console) -> Result<ExitCode, CliError>,
) -> ExitCode {
    let arguments: T = match parsed(command, commit) {
        Ok(arguments) => arguments,
        Err(answered) => return answered,
    };
    let terminal = terminal(&arguments);
    let console = terminal.console();
    start_logging(&console, terminal.verbose);
    work(arguments, &console).unwrap_or_else(|error| {
        // A bar that still moves would overwrite the message.
        console.close();
        error.report()
    })
}

/// The arguments of the process, as `command` reads them. Wrong arguments and requests for help are answered here; the
/// error is the exit code.
fn parsed<T: FromArgMatches>(command: Command, commit: Option<&'static str>) -> Result<T, ExitCode> {
    let typed: Vec<String> = std::env::args_os().map(|word| word.to_string_lossy().into_owned()).collect();
    arguments::color(&typed);
    let version = commit.map(|commit| format!("{} ({commit})", env!("CARGO_PKG_VERSION")));
    let command = command.version(version.unwrap_or_else(|| env!("CARGO_PKG_VERSION").to_owned()));
    let parsed = command.clone().try_get_matches().and_then(|matches| T::from_arg_matches(&matches));
    parsed.map_err(|error| {
        let error = arguments::help(&error, &command, &typed).unwrap_or(error);
        if let Some(meant) = arguments::meant(&error, &command, &typed) {
            return meant.report();
        }
        let _ = error.print();
        ExitCode::from(u8::try_from(error.exit_code()).unwrap_or(2))
    })
}

/// Messages of the libraries, above the bars. `RUST_LOG` wins over `-v`.
fn start_logging(console: &Console, verbose: u8) {
    let level = ["warn", "info", "debug"][usize::from(verbose.min(2))];
    let filter = EnvFilter::try_from_default_env().unwrap_or_else(|_| EnvFilter::new(level));
    // Setting a subscriber fails only where a test has set one before.
    let _ = tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_ansi(console::colors_enabled_stderr())
        .without_time()
        .with_target(false)
        .with_writer(console.clone())
        .try_init();
}
