//! Why programs could not be tried.

use std::path::PathBuf;

use grpo_sandbox::{Difference, HostError};

/// Why a batch has no evaluations. Never a program's doing.
#[derive(Debug, thiserror::Error)]
pub enum ArenaError {
    /// The sandbox itself failed twice, the second time alone on the machine; or a program left the compiled tier where only
    /// that was asked for.
    #[error("completion {completion}: {}", failed(source))]
    Host {
        /// Index of the completion whose game it was.
        completion: usize,
        source: HostError,
    },
    /// The tiers of the sandbox differ on a program, and that was to stop.
    #[error("completion {completion}: {difference}; sandbox.on_difference = \"judge\" goes on with CPython's verdict")]
    TiersDiffer {
        /// Index of the completion whose program it is.
        completion: usize,
        difference: Box<Difference>,
    },
    /// The sandbox failed on the reference of a task, the second time alone on the machine; or the reference left the compiled
    /// tier where only that was asked for.
    #[error("{path}:{line} ({id}): the reference could not be run: {}", failed(source))]
    Reference { path: String, line: usize, id: String, source: HostError },
    /// Our own code panicked in a game.
    #[error("completion {completion}: a worker panicked: {message}; this is a bug in grpo-2048")]
    Panicked {
        /// Index of the completion whose game it was.
        completion: usize,
        message: String,
    },
    /// The user's own game failed, and not through what a program did: no score would mean anything.
    #[error("{}: {message}", game.display())]
    Environment {
        /// Index of the completion whose game it was.
        completion: usize,
        game: PathBuf,
        /// What it was asked, at which move, and what it did.
        message: String,
    },
    /// The system gave no threads.
    #[error("cannot start {workers} worker threads; lower arena.parallel_rewards, or --parallel-rewards if given")]
    Threads { workers: usize, source: std::io::Error },
}

fn failed(error: &HostError) -> &'static str {
    match error {
        HostError::LeftTier(_) => "sandbox.tier = \"compiled\" does not run its program to the end",
        _ => "the sandbox failed, and once more with nothing beside it",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn threads_that_the_system_refuses_are_told_with_a_key_that_commands_without_the_flag_have_too() {
        let refused = ArenaError::Threads { workers: 64, source: std::io::ErrorKind::WouldBlock.into() };
        assert!(refused.to_string().contains("64 worker threads; lower arena.parallel_rewards"), "{refused}");
    }
}
