//! What came of a supervised run.

#[derive(Debug, Clone, PartialEq)]
pub struct SftSummary {
    pub steps: usize,
    /// Number of tokens, including prompts.
    pub tokens: usize,
    /// `held_out_loss` before the first step. Both are NaN of a run that an earlier version ended.
    pub first_loss: f64,
    /// Mean negative log-probability of the target tokens of held-out programs, in nats per token.
    pub held_out_loss: f64,
    /// Whether the observer stopped it. There is a checkpoint to continue from.
    pub interrupted: bool,
}
