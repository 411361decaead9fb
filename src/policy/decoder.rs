//! The decoder: one stack of layers for all families.
//!
//! Takes settings and weights; gives hidden states and logits that candle can differentiate. Sampling, which keeps a
//! cache and no graph, is in `sampling`. Does not know text.

use std::collections::BTreeMap;

use candle_core::{DType, Device, Tensor};

use super::layers::{Layer, Norm, Source};
use super::linear::{Adapters, Linear};
use super::{AdapterSet, DecoderConfig, PolicyError, Precision};
use grpo_tensor::{self as kernels, Kernels, Rotations, Scoring, Spans, Weight};

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

/// Sequences, and how the layers run over them.
#[derive(Debug)]
pub(super) struct Sequences {
    /// `(N,)`.
    pub ids: Tensor,
    pub spans: Spans,
    pub rotations: Rotations,
    pub adapters: Adapters,
}

impl Decoder {
    /// Puts a decoder together from `weights` (Hugging Face names) and adapters. Tensors that are variables are trained,
    /// the others are not; layers compute in `precision`, whatever the format of their weights.
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

    /// Sizes and switches.
    pub fn config(&self) -> &DecoderConfig {
        &self.config
    }

    /// Format of the products of the layers.
    pub fn precision(&self) -> Precision {
        self.precision
    }

    /// Which kernels the layers go through.
    pub fn kernels(&self) -> Kernels {
        match self.precision {
            // Its smallest numbers are too small for what a GPU makes of low-rank terms.
            Precision::F16 => Kernels::ByTensors,
            _ if self.embedding.dense().is_some_and(kernels::on_gpu) => Kernels::OnGpu,
            Precision::F32 if self.device().is_cpu() => Kernels::Fused,
            _ => Kernels::ByTensors,
        }
    }

    /// Where the weights live.
    pub fn device(&self) -> &Device {
        self.embedding.device()
    }

    /// What kind of number the frozen weights are.
    pub fn dtype(&self) -> DType {
        self.embedding.dtype()
    }

    /// Whether sequences may be unlike and share their beginning. Otherwise [`Decoder::hidden_of`] wants them padded on the
    /// right to one length.
    pub fn shares_beginnings(&self) -> bool {
        // What dropout takes from a row depends on the place in it.
        let maps = self.layers.first().map_or(&[][..], |layer| &layer.query_key_value);
        let dropout = maps.iter().any(|map| map.lora.as_ref().is_some_and(|lora| lora.dropout.0 > 0.0));
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

    /// The same of sequences that lie one after the other.
    ///
    /// * `ids`: `(N,)` u32. Returns `(N, hidden_size)`.
    pub fn hidden_of(&self, ids: &Tensor, spans: &Spans, adapters: Adapters) -> Result<Tensor, PolicyError> {
        let sequences = self.sequences(ids, spans, adapters)?;
        let mut x = self.embedded(&self.embedding, &sequences.ids)?;
        for layer in &self.layers {
            x = layer.forward(&x, &sequences)?;
        }
        Ok(self.normed(&x)?)
    }

    /// Rows of an embedding, `(N, hidden_size)`, as the layers see them; `ids`: `(N,)`.
    pub(super) fn embedded(&self, embedding: &Weight, ids: &Tensor) -> candle_core::Result<Tensor> {
        let rows = embedding.rows(ids)?.to_dtype(self.precision.format())?;
        self.config.embedding_scale().map_or(Ok(rows.clone()), |scale| rows * scale)
    }

    /// Sequences of `ids`, `(N,)`, as the layers see them.
    pub(super) fn sequences(&self, ids: &Tensor, spans: &Spans, adapters: Adapters) -> Result<Sequences, PolicyError> {
        self.check_length(spans.longest())?;
        let rotations = self.config.rotations(spans.longest(), self.device())?;
        Ok(Sequences { ids: ids.clone(), spans: spans.clone(), rotations, adapters })
    }

    /// What the last layer gives, `(N, hidden_size)`, as the head expects it.
    pub(super) fn normed(&self, x: &Tensor) -> candle_core::Result<Tensor> {
        self.norm.forward(x)
    }

    /// Log-probability of each target and entropy of the distribution it is drawn from, in nats; differentiable.
    /// Logits are never held beyond a chunk of rows.
    ///
    /// * `hidden`: `(N, hidden_size)`; `targets`: `(N,)` u32. Returns `(N,)` and `(N,)`.
    pub fn score(&self, hidden: &Tensor, targets: &Tensor, how: Scoring) -> Result<(Tensor, Tensor), PolicyError> {
        let weight = &self.head.weight;
        Ok(match self.config.final_logit_softcapping {
            None => kernels::score_tokens(hidden, weight, targets, how)?,
            Some(cap) => kernels::score_capped_tokens(hidden, weight, targets, how, cap)?,
        })
    }

    /// Scores of every token of the vocabulary, before softmax; differentiable.
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

    /// Logits under their bound, if they have one.
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
