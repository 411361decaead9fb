//! What is to be sampled.

use super::identity::GroupRequest;
use crate::config::RolloutConfig;
use crate::policy::Policy;

#[derive(Debug, Clone, Copy)]
pub struct Assignment<'a> {
    /// The policy; its tokenizer alone where servers sample.
    pub policy: &'a Policy,
    pub config: &'a RolloutConfig,
    pub requests: &'a [GroupRequest<'a>],
}
