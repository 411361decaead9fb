//! Gradient checkpointing: the forward pass keeps only the input of each layer, and the backward pass computes the
//! layer again.

use candle_core::backprop::GradStore;
use candle_core::{Result, Tensor, Var};
use serde::{Deserialize, Serialize};

use crate::layers::sequences::Sequences;
use crate::{Adapters, Decoder, PolicyError};
use grpo_tensor::{self as kernels, Spans};

/// Whether the forward pass keeps what layers compute until the backward pass needs it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Activations {
    /// Kept. This is fastest, and takes most of an update's memory.
    Kept,
    /// Computed again from the input of each layer (gradient checkpointing). This is slower, and gives the same
    /// numbers.
    Recomputed,
}

/// A forward pass that has kept only the input of each layer.
#[derive(Debug)]
pub struct LayerInputs<'a> {
    decoder: &'a Decoder,
    sequences: Sequences,
    /// `(N, hidden_size)` each, in the order of the layers, without a graph.
    inputs: Vec<Tensor>,
    /// Output of the last layer, from which the graph of the loss starts.
    output: Var,
}

impl Decoder {
    /// [`Decoder::hidden_kept`], equal to the last bit, whose graph reaches back to the output of the last layer only.
    /// [`LayerInputs::backward`] does the rest of the backward pass.
    pub fn hidden_checkpointed(
        &self,
        ids: &Tensor,
        spans: &Spans,
        adapters: Adapters,
    ) -> std::result::Result<(Tensor, LayerInputs<'_>), PolicyError> {
        let sequences = self.sequences(ids, spans, adapters)?;
        let mut x = self.embedded(&self.embedding.detach(), &sequences.ids)?;
        let mut inputs = Vec::with_capacity(self.layers.len());
        for layer in &self.layers {
            let output = layer.forward(&x, &sequences)?.detach();
            inputs.push(std::mem::replace(&mut x, output));
        }
        let output = Var::from_tensor(&x)?;
        let hidden = self.normed(&output)?;
        Ok((hidden, LayerInputs { decoder: self, sequences, inputs, output }))
    }
}

impl LayerInputs<'_> {
    /// Runs the backward pass through the layers and the embedding. `store` holds the gradients of what follows the
    /// last layer. `collect` receives all gradients, those of one layer at a time.
    pub fn backward(self, mut store: GradStore, collect: &mut dyn FnMut(GradStore) -> Result<()>) -> Result<()> {
        let LayerInputs { decoder, sequences, mut inputs, output } = self;
        let trains_embedding = decoder.embedding.trained().is_some();
        let mut slope = removed(&mut store, &output)?;
        drop(output);
        for layer in decoder.layers.iter().rev() {
            let Some(input) = inputs.pop() else { break };
            // The first layer's input is the embedding, which may be frozen.
            let wanted = !inputs.is_empty() || trains_embedding;
            let input = if wanted { Var::from_tensor(&input)?.into_inner() } else { input };
            let output = layer.forward(&input, &sequences)?;
            let mut of_layer = kernels::with_slope(&output, &slope)?.backward()?;
            layer.move_slopes(&mut of_layer)?;
            if wanted {
                slope = removed(&mut of_layer, &input)?;
            }
            collect(of_layer)?;
        }
        decoder.add_tokens(&mut store, &sequences.ids, slope)?;
        collect(store)
    }
}

fn removed(store: &mut GradStore, tensor: &Tensor) -> Result<Tensor> {
    store.remove(tensor).ok_or_else(|| candle_core::Error::Msg("no gradient reaches the layers".into()))
}
