//! The decoder: one stack of layers for the Llama, Qwen2 and Qwen3 families.
//!
//! Takes settings and weights; gives hidden states and logits that candle can differentiate. Sampling, which keeps a
//! cache and no graph, is in `sampling`. Does not know text.

use std::collections::BTreeMap;

use candle_core::{DType, Device, Tensor};

use super::kernels::{self, Heads, Kernels, Middle, RopeTable, Scoring};
use super::linear::{Adapters, Linear, residual, side_by_side};
use super::{AdapterSet, DecoderConfig, PolicyError, Precision};

/// One layer's weights.
#[derive(Debug, Clone)]
pub(super) struct Layer {
    pub input_norm: Tensor,
    pub query: Linear,
    pub key: Linear,
    pub value: Linear,
    pub head_norms: Option<(Tensor, Tensor)>,
    pub output: Linear,
    pub inner_norm: Tensor,
    pub gate: Linear,
    pub up: Linear,
    pub down: Linear,
}

/// A decoder-only language model.
#[derive(Debug, Clone)]
pub struct Decoder {
    pub(super) config: DecoderConfig,
    pub(super) precision: Precision,
    pub(super) embedding: Tensor,
    pub(super) layers: Vec<Layer>,
    pub(super) norm: Tensor,
    pub(super) head: Linear,
}

/// Sequences of equal length, and how the layers run over them.
#[derive(Debug)]
pub(super) struct Sequences {
    /// `(B * T,)`.
    pub ids: Tensor,
    /// `B`.
    pub rows: usize,
    pub rope: RopeTable,
    pub adapters: Adapters,
}

/// Takes tensors out of a map by name, checking shapes.
struct Source<'a> {
    weights: &'a BTreeMap<String, Tensor>,
    adapters: Option<&'a AdapterSet>,
}

impl Source<'_> {
    fn tensor(&self, name: &str, expected: &[usize]) -> Result<Tensor, PolicyError> {
        let Some(tensor) = self.weights.get(name) else {
            let tied = "; set tie_word_embeddings if the output projection is the embedding";
            let hint = if name.starts_with("lm_head") { tied } else { "" };
            return Err(PolicyError::MissingTensor {
                name: name.into(),
                expected: expected.to_vec(),
                hint: hint.into(),
            });
        };
        if tensor.dims() != expected {
            return Err(PolicyError::WrongShape {
                name: name.into(),
                found: tensor.dims().to_vec(),
                expected: expected.to_vec(),
            });
        }
        Ok(tensor.clone())
    }

    fn linear(&self, name: &str, shape: [usize; 2], bias: bool) -> Result<Linear, PolicyError> {
        let [outputs, _] = shape;
        let bias = if bias { Some(self.tensor(&format!("{name}.bias"), &[outputs])?) } else { None };
        let lora = self.adapters.and_then(|adapters| adapters.on(name));
        Ok(Linear { weight: self.tensor(&format!("{name}.weight"), &shape)?, bias, lora })
    }
}

impl Decoder {
    /// Puts a decoder together from `weights` (Hugging Face names) and adapters. Tensors that are variables are trained,
    /// the others are not; layers compute in `precision`, whatever the format of their weights.
    pub(super) fn new(
        config: DecoderConfig,
        weights: &BTreeMap<String, Tensor>,
        adapters: Option<&AdapterSet>,
        precision: Precision,
    ) -> Result<Self, PolicyError> {
        config.check()?;
        let source = Source { weights, adapters };
        let embedding = source.tensor("model.embed_tokens.weight", &[config.vocab_size, config.hidden_size])?;
        let layers = (0..config.num_hidden_layers).map(|index| layer(&config, &source, index));
        let layers = layers.collect::<Result<Vec<_>, _>>()?;
        let norm = source.tensor("model.norm.weight", &[config.hidden_size])?;
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
            _ if kernels::on_gpu(&self.embedding) => Kernels::OnGpu,
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

    pub(super) fn heads(&self) -> Heads {
        let DecoderConfig { num_attention_heads, num_key_value_heads, head_dim, .. } = self.config;
        Heads { queries: num_attention_heads, keys: num_key_value_heads, width: head_dim }
    }

    /// Hidden states after the last norm, differentiable. Each token sees itself and those before it, so padding on
    /// the right changes nothing before it.
    ///
    /// * `ids`: `(B, T)` u32. Returns `(B, T, hidden_size)`.
    pub fn hidden(&self, ids: &Tensor, adapters: Adapters) -> Result<Tensor, PolicyError> {
        let sequences = self.sequences(ids, adapters)?;
        let mut x = self.embedded(&self.embedding, &sequences.ids)?;
        for layer in &self.layers {
            x = self.layer(layer, &x, &sequences)?;
        }
        Ok(self.normed(&x, &sequences)?)
    }

    /// Rows of an embedding, `(N, hidden_size)`, as the layers see them; `ids`: `(N,)`.
    pub(super) fn embedded(&self, embedding: &Tensor, ids: &Tensor) -> candle_core::Result<Tensor> {
        embedding.index_select(ids, 0)?.to_dtype(self.precision.format())
    }

    /// Sequences of `ids`, `(B, T)`, as the layers see them.
    pub(super) fn sequences(&self, ids: &Tensor, adapters: Adapters) -> Result<Sequences, PolicyError> {
        let (rows, steps) = ids.dims2()?;
        self.check_length(steps)?;
        let rope = RopeTable::new(&self.config, steps, self.device())?;
        Ok(Sequences { ids: ids.flatten_all()?, rows, rope, adapters })
    }

    /// What the last layer gives, `(B * T, hidden_size)`, as the head expects it, `(B, T, hidden_size)`.
    pub(super) fn normed(&self, x: &Tensor, sequences: &Sequences) -> candle_core::Result<Tensor> {
        let x = kernels::rms_norm(x, &self.norm, self.config.rms_norm_eps)?;
        x.reshape((sequences.rows, (), self.config.hidden_size))
    }

    /// Log-probability of each target and entropy of the distribution it is drawn from, in nats; differentiable.
    /// Logits are never held beyond a chunk of rows.
    ///
    /// * `hidden`: `(N, hidden_size)`; `targets`: `(N,)` u32. Returns `(N,)` and `(N,)`.
    pub fn score(&self, hidden: &Tensor, targets: &Tensor, how: Scoring) -> Result<(Tensor, Tensor), PolicyError> {
        Ok(kernels::score_tokens(hidden, &self.head.weight, targets, how)?)
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
        Ok(self.head.forward(&hidden, &Adapters::Off)?.reshape(dims)?)
    }

    /// Refuses sequences beyond what the model was trained for.
    pub(super) fn check_length(&self, tokens: usize) -> Result<(), PolicyError> {
        let expected = self.config.max_position_embeddings;
        if tokens > expected {
            return Err(PolicyError::TooLong { found: tokens, expected, what: "max_position_embeddings of the model" });
        }
        Ok(())
    }

    /// `x`: `(B * T, hidden_size)`.
    pub(super) fn layer(&self, layer: &Layer, x: &Tensor, sequences: &Sequences) -> candle_core::Result<Tensor> {
        self.fed_forward(layer, &self.attended(layer, x, sequences)?, &sequences.adapters)
    }

    /// The first half of a layer.
    fn attended(&self, layer: &Layer, x: &Tensor, sequences: &Sequences) -> candle_core::Result<Tensor> {
        let Sequences { rows, rope, adapters, .. } = sequences;
        let (rows, heads, norm) = (*rows, self.heads(), (&layer.input_norm, self.config.rms_norm_eps));
        let maps = [&layer.query, &layer.key, &layer.value];
        let middle = || Middle::Attention { rows, heads, rope: rope.clone() };
        if layer.head_norms.is_none()
            && let Some(x) = residual(x, norm, (&maps, &layer.output), middle, adapters)?
        {
            return Ok(x);
        }
        let normed = kernels::rms_norm(x, norm.0, norm.1)?;
        let mut qkv = side_by_side(&maps, &normed, adapters)?;
        if let Some(norms) = &layer.head_norms {
            qkv = norm_heads(&qkv, norms, heads, norm.1)?;
        }
        let mixed = kernels::causal_attention(&qkv, rows, heads, rope)?;
        x + layer.output.forward(&mixed, adapters)?
    }

    /// The second half.
    fn fed_forward(&self, layer: &Layer, x: &Tensor, adapters: &Adapters) -> candle_core::Result<Tensor> {
        let (norm, maps) = ((&layer.inner_norm, self.config.rms_norm_eps), [&layer.gate, &layer.up]);
        if let Some(x) = residual(x, norm, (&maps, &layer.down), || Middle::Gate, adapters)? {
            return Ok(x);
        }
        let gate_up = side_by_side(&maps, &kernels::rms_norm(x, norm.0, norm.1)?, adapters)?;
        x + layer.down.forward(&kernels::silu_mul(&gate_up)?, adapters)?
    }
}

/// Norms each query and key head (Qwen3). `qkv`: `(N, (queries + 2 keys) * width)`.
pub(super) fn norm_heads(
    qkv: &Tensor,
    (query_norm, key_norm): &(Tensor, Tensor),
    heads: Heads,
    epsilon: f64,
) -> candle_core::Result<Tensor> {
    let (count, total) = qkv.dims2()?;
    let Heads { queries, keys, width } = heads;
    let all = qkv.reshape((count, queries + 2 * keys, width))?;
    let query = kernels::rms_norm(&all.narrow(1, 0, queries)?, query_norm, epsilon)?;
    let key = kernels::rms_norm(&all.narrow(1, queries, keys)?, key_norm, epsilon)?;
    Tensor::cat(&[query, key, all.narrow(1, queries + keys, keys)?], 1)?.reshape((count, total))
}

fn layer(config: &DecoderConfig, source: &Source<'_>, index: usize) -> Result<Layer, PolicyError> {
    let (hidden, inner) = (config.hidden_size, config.intermediate_size);
    let queries = config.num_attention_heads * config.head_dim;
    let keys = config.num_key_value_heads * config.head_dim;
    let name = |part: &str| format!("model.layers.{index}.{part}");
    let norm = |part: &str, width: usize| source.tensor(&name(&format!("{part}.weight")), &[width]);
    let linear = |part: &str, outputs: usize, inputs: usize| source.linear(&name(part), [outputs, inputs], false);
    let attention =
        |part: &str, outputs: usize| source.linear(&name(part), [outputs, hidden], config.model_type.has_qkv_bias());
    let head_norms = match config.model_type.has_head_norms() {
        true => Some((norm("self_attn.q_norm", config.head_dim)?, norm("self_attn.k_norm", config.head_dim)?)),
        false => None,
    };
    Ok(Layer {
        input_norm: norm("input_layernorm", hidden)?,
        query: attention("self_attn.q_proj", queries)?,
        key: attention("self_attn.k_proj", keys)?,
        value: attention("self_attn.v_proj", keys)?,
        head_norms,
        output: linear("self_attn.o_proj", hidden, queries)?,
        inner_norm: norm("post_attention_layernorm", hidden)?,
        gate: linear("mlp.gate_proj", inner, hidden)?,
        up: linear("mlp.up_proj", inner, hidden)?,
        down: linear("mlp.down_proj", hidden, inner)?,
    })
}
