//! What is to be sampled.

use super::identity::GroupRequest;
use crate::config::RolloutConfig;
use crate::policy::Policy;

/// A batch of completions to be sampled.
#[derive(Debug, Clone, Copy)]
pub struct Assignment<'a> {
    /// The policy; its tokenizer alone where servers sample.
    pub policy: &'a Policy,
    /// The settings of sampling.
    pub config: &'a RolloutConfig,
    /// The completions to sample.
    pub requests: &'a [GroupRequest<'a>],
}
