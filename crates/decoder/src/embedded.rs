//! The embedded tokens that a forward pass begins with, and the gradients that candle's graph does not reach.
//!
//! Candle adds the gradients by tokens to that by the embedding with one thread of a GPU for each column. So where a GPU
//! computes the layers, the graph of a forward pass reaches back to the embedded tokens only, and the gradient by the
//! embedding is completed after the backward pass, to the same bits.

use candle_core::backprop::GradStore;
use candle_core::{Result as TensorResult, Tensor, Var};

use crate::layers::layer::through;
use crate::{Adapters, Decoder, PolicyError};
use grpo_tensor::{self as kernels, Spans};

/// Where the graph of a forward pass begins.
#[derive(Debug)]
pub struct EmbeddedTokens<'a> {
    decoder: &'a Decoder,
    ids: Tensor,
    /// `(N, hidden_size)`; `None` where the graph reaches back to the embedding, or no gradient by it is needed.
    cut: Option<Var>,
}

impl Decoder {
    /// [`Decoder::hidden_of`], equal to the last bit, for a backward pass, which [`EmbeddedTokens::complete`] ends.
    pub fn hidden_kept(
        &self,
        ids: &Tensor,
        spans: &Spans,
        adapters: Adapters,
    ) -> Result<(Tensor, EmbeddedTokens<'_>), PolicyError> {
        let sequences = self.sequences(ids, spans, adapters)?;
        let wanted = self.embedding.trained().is_some_and(kernels::on_gpu);
        let embedding = if wanted { self.embedding.detach() } else { self.embedding.clone() };
        let x = self.embedded(&embedding, &sequences.ids)?;
        let cut = wanted.then(|| Var::from_tensor(&x)).transpose()?;
        let x = cut.as_ref().map_or(&x, |cut| cut.as_tensor());
        let hidden = self.normed(&through(&self.layers, x, &sequences)?)?;
        Ok((hidden, EmbeddedTokens { decoder: self, ids: sequences.ids, cut }))
    }

    /// Adds the gradient by embedded tokens, `(N, hidden_size)`, to that by the trained embedding: after the head's share
    /// of a tied one, token after token, as in a single graph.
    pub(super) fn add_tokens(&self, store: &mut GradStore, ids: &Tensor, mut slope: Tensor) -> TensorResult<()> {
        let Some(embedding) = self.embedding.trained() else { return Ok(()) };
        if let Some(scale) = self.config.embedding_scale() {
            slope = (slope * scale)?;
        }
        let so_far = store.remove(embedding).map_or_else(|| embedding.zeros_like(), Ok)?;
        store.insert(embedding, kernels::add_rows(so_far, ids, &slope)?);
        Ok(())
    }
}

impl EmbeddedTokens<'_> {
    /// Completes the gradients of a loss that was computed from the hidden states.
    pub fn complete(self, store: &mut GradStore) -> TensorResult<()> {
        self.decoder.layers.iter().try_for_each(|layer| layer.move_slopes(store))?;
        let Some(cut) = self.cut else { return Ok(()) };
        let slope = store.remove(&cut);
        let slope = slope.ok_or_else(|| candle_core::Error::Msg("no gradient reaches the embedded tokens".into()))?;
        self.decoder.add_tokens(store, &self.ids, slope)
    }
}
