//! Errors of commands, with their messages and exit codes.

use std::error::Error;
use std::fmt::Display;
use std::path::Path;
use std::process::ExitCode;
use std::{io, iter};

use super::{near, output};
use crate::arena::ArenaError;
use crate::causes::with_causes;
use crate::config::ConfigError;
use crate::files;
use crate::judge::{JudgeError, LinesError};
use crate::metrics::visible;
use crate::sft::SftError;
use crate::train::TrainError;

/// Exit code of a run that its guard stopped.
const STOPPED: u8 = 3;
/// Exit code of a program that was interrupted: 128 + SIGINT.
pub const INTERRUPTED: u8 = 130;

/// Why a command ended early.
#[derive(Debug, thiserror::Error)]
pub enum CliError {
    /// The user's input was wrong: exit code 2.
    #[error("{message}")]
    User {
        /// The flag, key or file, what was found, what is allowed.
        message: String,
        /// What to do about it.
        hint: Option<String>,
    },
    /// The run failed: exit code 1.
    #[error(transparent)]
    Run(Box<dyn Error + Send + Sync>),
    /// The guard stopped the run: exit code 3. Everything worth keeping is saved.
    #[error("{message}")]
    Stopped {
        /// What collapsed, with figures, and what is left.
        message: String,
        /// What to do about it.
        hint: String,
    },
    /// Ctrl-C: exit code 130. Everything worth keeping is saved.
    #[error("interrupted")]
    Interrupted,
}

/// What to do about a path at which there is no file.
pub const SPECIAL_HINT: &str = "write what it gives to a file first, and name that";

impl CliError {
    /// The user's mistake, in the words of the error that found it.
    pub fn user(error: impl Display) -> CliError {
        CliError::User { message: error.to_string(), hint: None }
    }

    /// The user's mistake, with a hint.
    pub fn user_hint(error: impl Display, hint: impl Into<String>) -> CliError {
        CliError::User { message: error.to_string(), hint: Some(hint.into()) }
    }

    /// The user's mistake with a path, with a hint where it is misspelt.
    pub fn user_path(error: impl Display, path: &Path) -> CliError {
        CliError::User { message: error.to_string(), hint: near::path_hint(path) }
    }

    /// Refuses a named pipe, a socket or a device, which a reader may wait for without end. `named` is the path with the
    /// flag that names it.
    pub fn refuse_special(named: impl Display, path: &Path) -> Result<(), CliError> {
        files::special(path).map_or(Ok(()), |found| {
            Err(CliError::user_hint(format!("{named}: found {found}; expected a file"), SPECIAL_HINT))
        })
    }

    /// Refuses a file that cannot be written where it is named, before there is work to lose. `named` is the path with the flag that
    /// names it, `example` the name of such a file.
    pub fn refuse_unwritable(named: impl Display, path: &Path, example: &str) -> Result<(), CliError> {
        if path.is_dir() {
            let hint = format!("expected a file to write, such as {example}");
            return Err(CliError::user_hint(format!("{named}: is a directory"), hint));
        }
        let directory = files::directory_of(path);
        if !directory.is_dir() {
            let message = format!("{named}: no such directory: {}", directory.display());
            return Err(CliError::user_hint(message, "create it, or name a file somewhere else"));
        }
        Ok(())
    }

    /// The machine's or the program's fault, unless what could not be tried is the user's own game or task.
    pub fn run(error: impl Error + Send + Sync + 'static) -> CliError {
        match untried(&error) {
            Some(ArenaError::Environment { .. }) => CliError::user(with_causes(&error)),
            _ => match room(&error) {
                Some(hint) => CliError::Run(format!("{}; {hint}", with_causes(&error)).into()),
                None => CliError::Run(Box::new(error)),
            },
        }
    }

    pub fn code(&self) -> u8 {
        match self {
            CliError::User { .. } => 2,
            CliError::Run(_) => 1,
            CliError::Stopped { .. } => STOPPED,
            CliError::Interrupted => INTERRUPTED,
        }
    }

    /// Prints the error and returns the exit code.
    pub fn report(&self) -> ExitCode {
        let red = console::Style::new().for_stderr().red().bold();
        output::complain(&match self {
            CliError::User { message, hint } => {
                let hint = hint.as_ref().map(|hint| format!("hint: {}\n", shown(hint))).unwrap_or_default();
                format!("{} {}\n{hint}", red.apply_to("error:"), shown(message))
            }
            CliError::Run(error) => format!("{} {}\n", red.apply_to("error:"), shown(&with_causes(error.as_ref()))),
            CliError::Stopped { message, hint } => {
                format!("{} {message}\nhint: {hint}\n", red.apply_to("stopped:"))
            }
            CliError::Interrupted => String::new(),
        });
        ExitCode::from(self.code())
    }
}

impl From<ConfigError> for CliError {
    fn from(error: ConfigError) -> Self {
        match error {
            ConfigError::UnknownKey { origin, key, hint } => {
                CliError::user_hint(format!("{origin}: unknown key `{key}`"), hint.trim_start_matches("; "))
            }
            ConfigError::Value { key, found, expected } => CliError::user_hint(format!("{key} = {found}"), expected),
            ConfigError::Foreign { origin, refused, hint } => {
                CliError::user_hint(ConfigError::listed(&origin, &refused), hint)
            }
            ConfigError::UnknownPreset { found, known } => {
                CliError::user_hint(format!("--preset {found}: unknown preset"), format!("there are: {known}"))
            }
            other => CliError::user(other),
        }
    }
}

/// The user can mend the output directory, lengths and memory; every other error fails the run.
impl From<TrainError> for CliError {
    fn from(error: TrainError) -> Self {
        match error {
            TrainError::Memory(error) => CliError::user(format!("train.memory_mib = {}: {error}", error.limit >> 20)),
            error if error.is_user() => CliError::user(error),
            other => CliError::run(other),
        }
    }
}

/// The message without control characters, which file names or quoted text may hold. Line breaks are our own and stay.
fn shown(message: &str) -> String {
    message.split('\n').map(visible).collect::<Vec<_>>().join("\n")
}

/// Why programs could not be tried, if that is what ended a command.
fn untried<'a>(error: &'a (dyn Error + 'static)) -> Option<&'a ArenaError> {
    if let Some(LinesError::Machine { source, .. }) = error.downcast_ref() {
        return untried(source);
    }
    match (error.downcast_ref(), error.downcast_ref(), error.downcast_ref()) {
        (Some(TrainError::Arena(arena)), ..)
        | (_, Some(SftError::Arena(arena)), _)
        | (.., Some(JudgeError::Arena(arena))) => Some(arena),
        _ => error.downcast_ref(),
    }
}

/// What to do about an error, or its cause where it names the file, if the machine takes no more of the file.
fn room(error: &(dyn Error + 'static)) -> Option<&'static str> {
    let mut causes = iter::successors(Some(error), |&error| error.source());
    causes.find_map(|cause| output::room(cause.downcast_ref::<io::Error>()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_game_that_fails_is_the_users_to_mend_wherever_it_is_found_out() {
        let broken =
            || ArenaError::Environment { completion: 3, game: "dice.py".into(), message: "step raised".into() };
        let found = [
            CliError::run(broken()),
            CliError::run(TrainError::from(broken())),
            CliError::run(JudgeError::from(broken())),
        ];
        for error in found.into_iter().chain([CliError::run(SftError::from(broken()))]) {
            assert_eq!((error.code(), error.to_string().as_str()), (2, "dice.py: step raised"));
        }
        let line = |source| CliError::run(LinesError::Machine { name: "stdin".into(), line: 7, source });
        let told = line(JudgeError::from(broken()));
        let expected = "stdin:7: not judged\n  because: dice.py: step raised";
        assert_eq!((told.code(), told.to_string().as_str()), (2, expected));
        let ours = || ArenaError::Panicked { completion: 3, message: "index".into() };
        assert_eq!(CliError::run(ours()).code(), 1);
        assert_eq!(CliError::run(TrainError::from(ours())).code(), 1);
        assert_eq!(line(JudgeError::from(ours())).code(), 1);
    }

    #[test]
    fn a_full_disk_is_told_with_what_to_do_wherever_it_is_found_out() {
        let told = |kind: io::ErrorKind| {
            let path = || "run/metrics.jsonl".into();
            let of_metrics = crate::metrics::SinkError::File { path: path(), source: kind.into() };
            let of_policy = crate::policy::PolicyError::File { path: path(), source: kind.into() };
            let [sink, train] = [CliError::run(of_metrics), CliError::run(TrainError::from(of_policy))];
            assert_eq!((sink.code(), train.code(), sink.to_string()), (1, 1, train.to_string()));
            train.to_string()
        };
        let full = "run/metrics.jsonl: no storage space; make room there, or name a place on another disk";
        assert_eq!(told(io::ErrorKind::StorageFull), full);
        let limited =
            "run/metrics.jsonl: file too large; raise the limit on files (ulimit -f), or name a place on another disk";
        assert_eq!(told(io::ErrorKind::FileTooLarge), limited);
        assert_eq!(told(io::ErrorKind::PermissionDenied), "run/metrics.jsonl: permission denied");
        let room = format!("no storage space; {}", output::MAKE_ROOM);
        let unnamed = CliError::run(io::Error::from(io::ErrorKind::StorageFull));
        assert_eq!((unnamed.code(), unnamed.to_string()), (1, room.clone()));
        let printed = |kind: io::ErrorKind| output::unprinted(&kind.into()).to_string();
        assert_eq!(printed(io::ErrorKind::StorageFull), format!("standard output: {room}"));
        assert_eq!(printed(io::ErrorKind::PermissionDenied), "standard output: permission denied");
    }

    #[test]
    fn a_cause_is_told_once() {
        let source = std::io::Error::other("disk on fire");
        let error = crate::metrics::SinkError::File { path: "metrics.jsonl".into(), source };
        assert_eq!(with_causes(&error), "metrics.jsonl: disk on fire");
    }
}
