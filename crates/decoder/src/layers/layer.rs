//! One layer: its weights, and its forward pass with a graph.
//!
//! Takes tensors by their names; gives the residual stream after the layer. Sampling, which has a key-value cache and
//! no graph, is in `decoding`.

use candle_core::backprop::GradStore;
use candle_core::{DType, Result as TensorResult, Tensor};

use crate::adapters::linear::Linear;
use crate::layers::attention::Attention;
use crate::layers::feed_forward::FeedForward;
use crate::layers::half::HalfLayer;
use crate::layers::sequences::Sequences;
use crate::layers::source::Source;
use crate::{DecoderConfig, PolicyError};
use grpo_tensor as kernels;

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

    /// All linear maps of the layer.
    pub fn maps(&self) -> impl Iterator<Item = &Linear> {
        let Layer { attention, feed_forward } = self;
        let of_blocks = feed_forward.blocks.iter().flat_map(|block| block.gate_up.iter().chain([&block.down]));
        attention.query_key_value.iter().chain([&attention.output]).chain(of_blocks)
    }

    /// The layer with the factors of its adapters joined and split, for layers in `format`, where a GPU computes a half as
    /// one operation.
    pub fn prepared(&self, format: DType) -> TensorResult<Layer> {
        let mut layer = self.clone();
        let prepare = |half: Option<HalfLayer<'_>>| half.map_or(Ok(None), |half| half.prepare(format));
        layer.attention.prepared = prepare(self.attention.half())?;
        layer.feed_forward.prepared = prepare(self.feed_forward.half())?;
        Ok(layer)
    }

    /// Moves the gradients by prepared factors to `store`.
    pub fn move_slopes(&self, store: &mut GradStore) -> TensorResult<()> {
        let mut halves = [self.attention.half(), self.feed_forward.half()].into_iter().flatten();
        halves.try_for_each(|half| half.move_slopes(store))
    }

    /// `x`: `(N, hidden_size)`, like the result.
    pub fn forward(&self, x: &Tensor, sequences: &Sequences) -> TensorResult<Tensor> {
        through(std::slice::from_ref(self), x, sequences)
    }
}

/// `x` after these layers, one after the other. Neighbouring halves that a GPU computes as one operation each are one
/// together.
///
/// * `x`: `(N, hidden_size)`, like the result.
pub(crate) fn through(layers: &[Layer], x: &Tensor, sequences: &Sequences) -> TensorResult<Tensor> {
    let (mut x, mut waiting) = (x.clone(), Vec::new());
    for layer in layers {
        match layer.attention.on_gpu(&x, sequences)? {
            Some(half) => waiting.push(half),
            None => {
                x = kernels::residuals(&x, &std::mem::take(&mut waiting))?;
                x = layer.attention.forward(&x, sequences)?;
            }
        }
        match layer.feed_forward.on_gpu(&x, &sequences.adapters)? {
            Some(half) => waiting.push(half),
            None => {
                x = kernels::residuals(&x, &std::mem::take(&mut waiting))?;
                x = layer.feed_forward.forward(&x, &sequences.adapters)?;
            }
        }
    }
    kernels::residuals(&x, &waiting)
}
