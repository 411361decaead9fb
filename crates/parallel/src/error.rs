//! Why processes cannot train together.

use grpo_mpi::MpiError;

/// Processes cannot train together.
#[derive(Debug, thiserror::Error)]
pub enum ParallelError {
    #[error(
        "{launcher} started {size} processes, and no library of MPI was found to join them ({}); expected the one that \
         belongs to the launcher, where the loader finds it, or its path in GRPO_2048_MPI", refusals.join("; ")
    )]
    NoLibrary {
        launcher: &'static str,
        size: String,
        /// The loader's message for each library that was tried.
        refusals: Vec<String>,
    },
    #[error(
        "{launcher} started {started} processes, and {library} ({version}) knows of {found}; expected the library of MPI \
         that belongs to the launcher: name it in GRPO_2048_MPI, or start with the launcher that belongs to it"
    )]
    Mixed {
        launcher: &'static str,
        /// Number of processes according to the launcher.
        started: usize,
        library: String,
        version: String,
        /// Number of processes according to the library.
        found: usize,
    },
    #[error(transparent)]
    Mpi(#[from] MpiError),
    #[error("NCCL: {reason}")]
    Nccl { reason: String },
    #[error(transparent)]
    Tensor(#[from] candle_core::Error),
    #[error(
        "rank {rank}: said something that cannot be read: {reason}; expected the same build of grpo-2048, and the same \
         files, in all processes"
    )]
    Unreadable { rank: usize, reason: String },
    #[error(
        "the processes cannot watch each other: {reason}; every machine must reach the one of rank 0 by TCP, by its host \
         name or one of its addresses"
    )]
    Unwatched { reason: std::io::Error },
    #[error(
        "step {step}: rank {rank} has come to other results than rank 0, which is a fault of its machine or a bug; \
         --resume goes on from the newest checkpoint"
    )]
    Apart {
        /// The first process that differs from rank 0.
        rank: usize,
        step: usize,
    },
    #[error("rank {rank} differs from rank 0: {}; all processes of a run must be alike", differing.join("; "))]
    Differs {
        /// The first process that differs from rank 0.
        rank: usize,
        /// The differences, as `name: value of rank 0 -> value of this rank`.
        differing: Vec<String>,
    },
}

impl ParallelError {
    /// Whether the user's input is at fault, and not the machine.
    pub fn is_user(&self) -> bool {
        matches!(self, ParallelError::NoLibrary { .. } | ParallelError::Mixed { .. } | ParallelError::Differs { .. })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_another_build_says_is_told_with_what_all_processes_must_share() {
        let reason = "missing field `token` at line 1 column 40".to_owned();
        let told = ParallelError::Unreadable { rank: 1, reason }.to_string();
        assert!(told.starts_with("rank 1: said something that cannot be read: missing field `token`"), "{told}");
        assert!(told.ends_with("the same build of grpo-2048, and the same files, in all processes"), "{told}");
    }
}
