//! Tasks that a command was given by their file.

use crate::arena::Arena;
use crate::cli::opened::arena;
use crate::cli::said::CliError;
use crate::config::Config;
use crate::metrics::Console;

/// The arena of the tasks that a command was given without a flag, which messages about `--env` name.
pub fn opened(config: &Config, console: &Console) -> Result<Arena, CliError> {
    arena::open(config, console).map_err(|error| match error {
        CliError::User { message, hint } => {
            CliError::User { message: message.strip_prefix("--env ").unwrap_or(&message).to_owned(), hint }
        }
        other => other,
    })
}
