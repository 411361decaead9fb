//! The decoder: one stack of layers for all families.
//!
//! Takes settings and weights; gives hidden states and logits that candle can differentiate. Sampling, which has a
//! key-value cache and no graph, is in `decoding`. Does not know text.

use std::collections::BTreeMap;

use candle_core::{DType, Device, Tensor};

use crate::adapters::linear::{Adapters, Linear};
use crate::adapters::set::AdapterSet;
use crate::layers::layer::{Layer, through};
use crate::layers::norm::Norm;
use crate::layers::sequences::Sequences;
use crate::layers::source::Source;
use crate::{DecoderConfig, PolicyError, Precision};
use grpo_tensor::{self as kernels, Kernels, ScoreSettings, Spans, Weight};

/// A decoder-only language model.
#[derive(Debug, Clone)]
pub struct Decoder {
    pub(super) config: DecoderConfig,
    pub(super) precision: Precision,
    pub(super) embedding: Weight,
    pub(super) layers: Vec<Layer>,
    pub(super) norm: Norm,
    pub(super) head: Linear,
}

impl Decoder {
    /// Puts a decoder together from `weights` (Hugging Face names) and adapters. Tensors that are variables are
    /// trained, the others are frozen; layers compute in `precision`, whatever the format of their weights.
    pub(super) fn new(
        config: DecoderConfig,
        weights: &BTreeMap<String, Weight>,
        adapters: Option<&AdapterSet>,
        precision: Precision,
    ) -> Result<Self, PolicyError> {
        config.check()?;
        let source = Source { weights, adapters };
        let embedding = source.weight("model.embed_tokens.weight", &[config.vocab_size, config.hidden_size])?;
        let layers = (0..config.num_hidden_layers).map(|index| Layer::new(&config, &source, index));
        let layers = layers.collect::<Result<Vec<_>, _>>()?;
        let norm = source.norm("model.norm", config.hidden_size, &config)?;
        let head = match config.tie_word_embeddings {
            true => Linear { weight: embedding.clone(), bias: None, lora: None },
            false => source.linear("lm_head", [config.vocab_size, config.hidden_size], false)?,
        };
        Ok(Decoder { config, precision, embedding, layers, norm, head })
    }

    /// A decoder for several passes over the same adapters, which must not change while it lives: on a GPU their factors
    /// are joined and split once rather than in every pass. The numbers are the same; gradients by the adapters are those
    /// that [`EmbeddedTokens::complete`](crate::EmbeddedTokens::complete) and
    /// [`LayerInputs::backward`](crate::LayerInputs::backward) give.
    pub fn prepared(&self) -> Result<Decoder, PolicyError> {
        let mut decoder = self.clone();
        if self.kernels() == Kernels::OnGpu {
            let prepared = self.layers.iter().map(|layer| layer.prepared(self.precision.format()));
            decoder.layers = prepared.collect::<candle_core::Result<_>>()?;
        }
        Ok(decoder)
    }

    /// Sizes and switches of the model.
    pub fn config(&self) -> &DecoderConfig {
        &self.config
    }

    /// Format of the layers' products.
    pub fn precision(&self) -> Precision {
        self.precision
    }

    /// Which kernels compute the layers.
    pub fn kernels(&self) -> Kernels {
        match self.precision {
            // The range of f16 is too small for the rounding errors by which a GPU splits low-rank factors.
            Precision::F16 => Kernels::ByTensors,
            _ if self.embedding.dense().is_some_and(kernels::on_gpu) => Kernels::OnGpu,
            Precision::F32 if self.device().is_cpu() => Kernels::Fused,
            _ => Kernels::ByTensors,
        }
    }

    /// The device that holds the weights.
    pub fn device(&self) -> &Device {
        self.embedding.device()
    }

    /// Type of the frozen weights.
    pub fn dtype(&self) -> DType {
        self.embedding.dtype()
    }

    /// Whether sequences may differ in length and share their beginning. Otherwise [`Decoder::hidden_of`] expects them
    /// padded on the right to one length.
    pub fn shares_beginnings(&self) -> bool {
        // A dropout mask depends on the place in the row, and a shared beginning is in no single row. Adapters may be on any
        // of the maps.
        let mut maps = self.layers.iter().flat_map(Layer::maps);
        let dropout = maps.any(|map| map.lora.as_ref().is_some_and(|lora| lora.dropout > 0.0));
        let fused = self.config.has_plain_scores(self.config.max_position_embeddings);
        self.kernels() == Kernels::Fused && fused && !dropout
    }

    /// Hidden states after the last norm, differentiable. Each token sees itself and those before it, so padding on
    /// the right changes nothing before it.
    ///
    /// * `ids`: `(B, T)` u32. Returns `(B, T, hidden_size)`.
    pub fn hidden(&self, ids: &Tensor, adapters: Adapters) -> Result<Tensor, PolicyError> {
        let (rows, steps) = ids.dims2()?;
        let hidden = self.hidden_of(&ids.flatten_all()?, &Spans::equal(rows, steps), adapters)?;
        Ok(hidden.reshape((rows, steps, self.config.hidden_size))?)
    }

    /// Like [`Decoder::hidden`], for sequences that lie one after the other.
    ///
    /// * `ids`: `(N,)` u32. Returns `(N, hidden_size)`.
    pub fn hidden_of(&self, ids: &Tensor, spans: &Spans, adapters: Adapters) -> Result<Tensor, PolicyError> {
        let sequences = self.sequences(ids, spans, adapters)?;
        let x = self.embedded(&self.embedding, &sequences.ids)?;
        Ok(self.normed(&through(&self.layers, &x, &sequences)?)?)
    }

    /// Embeddings of `ids` `(N,)` as the first layer reads them, `(N, hidden_size)`.
    pub(super) fn embedded(&self, embedding: &Weight, ids: &Tensor) -> candle_core::Result<Tensor> {
        let rows = embedding.rows(ids)?.to_dtype(self.precision.format())?;
        self.config.embedding_scale().map_or(Ok(rows.clone()), |scale| rows * scale)
    }

    /// Prepares sequences of `ids`, `(N,)`, for the layers.
    pub(super) fn sequences(&self, ids: &Tensor, spans: &Spans, adapters: Adapters) -> Result<Sequences, PolicyError> {
        self.check_length(spans.longest())?;
        let rotations = self.config.rotations(spans.longest(), self.device())?;
        Ok(Sequences { ids: ids.clone(), spans: spans.clone(), rotations, adapters })
    }

    /// The final norm of the last layer's output, `(N, hidden_size)`.
    pub(super) fn normed(&self, x: &Tensor) -> candle_core::Result<Tensor> {
        self.norm.forward(x)
    }

    /// Log-probability of each target and entropy of the distribution that the target is drawn from, in nats;
    /// differentiable. Logits exist only for a chunk of rows at a time.
    ///
    /// * `hidden`: `(N, hidden_size)`; `targets`: `(N,)` u32. Returns `(N,)` and `(N,)`.
    pub fn score(
        &self,
        hidden: &Tensor,
        targets: &Tensor,
        how: ScoreSettings,
    ) -> Result<(Tensor, Tensor), PolicyError> {
        let weight = &self.head.weight;
        Ok(match self.config.final_logit_softcapping {
            None => kernels::score_tokens(hidden, weight, targets, how)?,
            Some(cap) => kernels::score_capped_tokens(hidden, weight, targets, how, cap)?,
        })
    }

    /// Logits of the whole vocabulary, differentiable.
    ///
    /// * `hidden`: `(..., hidden_size)`. Returns `(..., vocab_size)`, in f32.
    pub fn logits(&self, hidden: &Tensor) -> Result<Tensor, PolicyError> {
        let mut dims = hidden.dims().to_vec();
        let width = dims.pop().unwrap_or(0);
        let count = dims.iter().product::<usize>();
        dims.push(self.config.vocab_size);
        let hidden = hidden.reshape((count, width))?.to_dtype(DType::F32)?;
        let logits = self.head.forward(&hidden, &Adapters::Off)?;
        Ok(self.capped(logits)?.reshape(dims)?)
    }

    /// Soft-capped logits, if the model has a cap.
    pub(super) fn capped(&self, logits: Tensor) -> candle_core::Result<Tensor> {
        let Some(cap) = self.config.final_logit_softcapping else { return Ok(logits) };
        (logits / cap)?.tanh()? * cap
    }

    /// Refuses sequences beyond what the model was trained for.
    pub(super) fn check_length(&self, tokens: usize) -> Result<(), PolicyError> {
        let expected = self.config.max_position_embeddings;
        if tokens > expected {
            let what = match self.config.long_rope {
                None => "max_position_embeddings of the model",
                Some(_) => {
                    "original_max_position_embeddings of the model; the long factors of longrope are not supported"
                }
            };
            return Err(PolicyError::TooLong { found: tokens, expected, what });
        }
        Ok(())
    }
}
