//! What a batch draws, and what has been drawn.

use candle_core::Result as TensorResult;

/// Tokens that are drawn between two looks of the host. A larger chunk notices stops later.
pub const CHUNK: usize = 8;

/// How many tokens a batch draws, and at which temperature.
#[derive(Debug, Clone, Copy)]
pub struct Drawing {
    /// Sequences per prompt.
    pub copies: usize,
    /// Tokens that a sequence may grow by.
    pub longest: usize,
    /// Divisor of the logits.
    pub temperature: f64,
    /// Whether a step is recorded and replayed, if the machine can.
    pub record: bool,
}

/// A batch on some machine.
pub(super) trait Rows {
    fn rows(&self) -> usize;
    fn enqueue(&mut self, count: usize, uniforms: &[f64]) -> TensorResult<()>;
    fn collect(&mut self) -> TensorResult<Option<Drawn>>;
    fn keep(&mut self, live: &[usize]) -> TensorResult<Vec<usize>>;
}

/// Tokens of one chunk on the host.
#[derive(Debug, Clone, PartialEq)]
pub struct Drawn {
    /// For each row a token for each place of the chunk; `None` if the logits were not finite.
    pub tokens: Vec<Vec<Option<u32>>>,
    /// Their log-probabilities, in nats.
    pub logprobs: Vec<Vec<f32>>,
}
