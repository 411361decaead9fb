//! One layer: its weights, and its forward pass with a graph.
//!
//! Takes tensors by their names; gives the residual stream after the layer. Sampling, which has a key-value cache and
//! no graph, is in `decoding`.

use candle_core::{Result as TensorResult, Tensor};

use crate::layers::attention::Attention;
use crate::layers::feed_forward::FeedForward;
use crate::layers::sequences::Sequences;
use crate::layers::source::Source;
use crate::{DecoderConfig, PolicyError};

#[derive(Debug, Clone)]
pub(crate) struct Layer {
    pub attention: Attention,
    pub feed_forward: FeedForward,
}

impl Layer {
    /// The layer of this index.
    pub fn new(config: &DecoderConfig, source: &Source<'_>, index: usize) -> Result<Self, PolicyError> {
        let (attention, feed_forward) =
            (Attention::new(config, source, index)?, FeedForward::new(config, source, index)?);
        Ok(Layer { attention, feed_forward })
    }

    /// `x`: `(N, hidden_size)`, like the result.
    pub fn forward(&self, x: &Tensor, sequences: &Sequences) -> TensorResult<Tensor> {
        self.feed_forward.forward(&self.attention.forward(x, sequences)?, &sequences.adapters)
    }
}
