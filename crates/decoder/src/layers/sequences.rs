//! What the layers need to know of a batch.

use candle_core::Tensor;

use crate::adapters::linear::Adapters;
use grpo_tensor::{Rotations, Spans};

/// A batch of sequences, and what the layers need to know of them.
#[derive(Debug)]
pub(crate) struct Sequences {
    /// `(N,)`.
    pub ids: Tensor,
    pub spans: Spans,
    pub rotations: Rotations,
    pub adapters: Adapters,
}
