//! Errors of training, for the user.

use crate::cli::said::CliError;
use crate::train::TrainError;

/// The user can mend the output directory, lengths and memory; every other error fails the run.
pub(super) fn train_error(error: TrainError) -> CliError {
    match error {
        TrainError::Memory(error) => CliError::user(format!("train.memory_mib = {}: {error}", error.limit >> 20)),
        error if error.is_user() => CliError::user(error),
        other => CliError::run(other),
    }
}
