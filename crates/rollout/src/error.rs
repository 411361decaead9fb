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

/// Why a prompt and its completion do not fit into a context of `limit` tokens.
fn too_long(prompt: usize, completion: usize, limit: usize) -> String {
    let positions = format!("the {limit} positions of the model");
    match limit.saturating_sub(prompt) {
        0 => format!(
            "a prompt of {prompt} tokens leaves no room for a completion in {positions}; name a model with a longer context"
        ),
        most => format!(
            "rollout.max_completion_length = {completion}: with a prompt of {prompt} tokens that is more than {positions}; \
             expected at most {most}"
        ),
    }
}

#[derive(Debug, thiserror::Error)]
pub enum RolloutError {
    #[error("{}", too_long(*prompt, *completion, *limit))]
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
    /// Found before the run starts.
    #[error(
        "rollout.adapter_dir {path}: no adapter can be written there: {place}: {source}; expected a directory, there or yet \
         to be made, that this user may write to and servers see"
    )]
    AdapterDir {
        path: PathBuf,
        /// The part of the path that is there.
        place: PathBuf,
        source: std::io::Error,
    },
    #[error(transparent)]
    Policy(#[from] PolicyError),
    #[error(transparent)]
    Tensor(#[from] candle_core::Error),
}
