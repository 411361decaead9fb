//! Why sampling failed.

use std::path::PathBuf;

use crate::policy::PolicyError;

#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[error("{server}: {found}; {hint}")]
pub struct ServerFault {
    /// The address of the server.
    pub server: String,
    pub found: String,
    pub hint: String,
}

#[derive(Debug, thiserror::Error)]
pub enum RolloutError {
    #[error(
        "rollout.max_completion_length = {completion}: with a prompt of {prompt} tokens that is more than the {limit} \
         positions of the model; expected at most {}", limit.saturating_sub(*prompt)
    )]
    TooLong { prompt: usize, completion: usize, limit: usize },
    #[error("completion {index}, token {token}: found a logit that is no finite number; the weights have diverged")]
    NotFinite {
        /// Index of the completion in its step.
        index: usize,
        /// Index of the token in it.
        token: usize,
    },
    /// A server cannot serve this run. Found before the run starts.
    #[error("--rollouts {_0}")]
    Unfit(ServerFault),
    /// Requests to servers failed repeatedly.
    #[error("--rollouts {_0}; --resume goes on from the newest checkpoint")]
    Server(ServerFault),
    #[error("rollout.adapter_dir {path}: {source}")]
    Adapter { path: PathBuf, source: std::io::Error },
    #[error(transparent)]
    Policy(#[from] PolicyError),
    #[error(transparent)]
    Tensor(#[from] candle_core::Error),
}
