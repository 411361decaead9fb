//! One layer: its weights, and its forward pass with a graph.
//!
//! Takes tensors by their names; gives the residual stream after the layer. Sampling, which has a key-value cache and
//! no graph, is in `sampling`.

use std::collections::BTreeMap;

use candle_core::{Result as TensorResult, Tensor};

use super::experts::Router;
use super::linear::{Adapters, Linear, joined, side_by_side};
use super::{AdapterSet, DecoderConfig, PolicyError};
use grpo_tensor::{self as kernels, Activation, Heads, Middle, Residual, Rotations, Spans, Weight};

/// A batch of sequences, and what the layers need to know of them.
#[derive(Debug)]
pub(super) struct Sequences {
    /// `(N,)`.
    pub ids: Tensor,
    pub spans: Spans,
    pub rotations: Rotations,
    pub adapters: Adapters,
}

#[derive(Debug, Clone)]
pub(super) struct Layer {
    pub heads: Heads,
    pub input_norm: Norm,
    /// One fused map, or three.
    pub query_key_value: Vec<Linear>,
    pub head_norms: Option<(Norm, Norm)>,
    pub output: Linear,
    /// Norm of the attention's output (Gemma).
    pub attended_norm: Option<Norm>,
    pub inner_norm: Norm,
    pub activation: Activation,
    /// One block for all tokens, or the experts.
    pub blocks: Vec<Block>,
    pub router: Option<Router>,
    /// Norm of the feed-forward block's output (Gemma).
    pub fed_norm: Option<Norm>,
}

/// A feed-forward block.
#[derive(Debug, Clone)]
pub(super) struct Block {
    /// One fused map, or two.
    pub gate_up: Vec<Linear>,
    pub down: Linear,
}

impl Block {
    fn forward(&self, x: &Tensor, activation: Activation, adapters: &Adapters) -> TensorResult<Tensor> {
        let gate_up = side_by_side(&self.gate_up.iter().collect::<Vec<_>>(), x, adapters)?;
        self.down.forward(&kernels::gated(&gate_up, activation)?, adapters)
    }
}

/// A root-mean-square norm.
#[derive(Debug, Clone)]
pub(super) struct Norm {
    pub weight: Tensor,
    epsilon: f64,
    /// Whether 1 is added to the weight (Gemma).
    centred: bool,
}

impl Norm {
    /// The factors of the normed values.
    pub fn factors(&self) -> TensorResult<Tensor> {
        if self.centred { &self.weight + 1.0 } else { Ok(self.weight.clone()) }
    }

    /// `x`: `(..., width)`, like the result.
    pub fn forward(&self, x: &Tensor) -> TensorResult<Tensor> {
        kernels::rms_norm(x, &self.factors()?, self.epsilon)
    }
}

/// The parameters of half a layer, `x + last(middle(first(norm(x))))`.
struct HalfLayer<'a> {
    norm: &'a Norm,
    first: &'a [&'a Linear],
    last: &'a Linear,
}

impl HalfLayer<'_> {
    /// Half a layer as one operation; `None` if no GPU can compute it so.
    fn on_gpu(
        &self,
        x: &Tensor,
        middle: impl FnOnce() -> TensorResult<Middle>,
        adapters: &Adapters,
    ) -> TensorResult<Option<Tensor>> {
        if !kernels::on_gpu(x) {
            return Ok(None);
        }
        let (first, last) = (joined(self.first, adapters)?, joined(&[self.last], adapters)?);
        let (Some(first), Some(last)) = (first, last) else { return Ok(None) };
        Residual { norm: self.norm.factors()?, epsilon: self.norm.epsilon, first, middle: middle()?, last }.apply(x)
    }
}

/// Takes tensors out of a map by name, and checks their shapes.
pub(super) struct Source<'a> {
    pub weights: &'a BTreeMap<String, Weight>,
    pub adapters: Option<&'a AdapterSet>,
}

impl Source<'_> {
    pub fn tensor(&self, name: &str, expected: &[usize]) -> Result<Tensor, PolicyError> {
        Ok(self.weight(name, expected)?.tensor()?)
    }

    pub fn weight(&self, name: &str, expected: &[usize]) -> Result<Weight, PolicyError> {
        let Some(weight) = self.weights.get(name) else {
            let tied = "; set tie_word_embeddings if the output projection is the embedding";
            let hint = if name.starts_with("lm_head") { tied } else { "" };
            return Err(PolicyError::MissingTensor {
                name: name.into(),
                expected: expected.to_vec(),
                hint: hint.into(),
            });
        };
        if weight.dims() != expected {
            return Err(PolicyError::WrongShape {
                name: name.into(),
                found: weight.dims(),
                expected: expected.to_vec(),
            });
        }
        Ok(weight.clone())
    }

    pub fn norm(&self, name: &str, width: usize, config: &DecoderConfig) -> Result<Norm, PolicyError> {
        let weight = self.tensor(&format!("{name}.weight"), &[width])?;
        Ok(Norm { weight, epsilon: config.rms_norm_eps, centred: config.model_type.is_gemma() })
    }

    pub fn linear(&self, name: &str, shape: [usize; 2], bias: bool) -> Result<Linear, PolicyError> {
        let [outputs, _] = shape;
        let bias = if bias { Some(self.tensor(&format!("{name}.bias"), &[outputs])?) } else { None };
        let lora = self.adapters.and_then(|adapters| adapters.on(name));
        Ok(Linear { weight: self.weight(&format!("{name}.weight"), &shape)?, bias, lora })
    }
}

impl Layer {
    /// The layer of this index.
    pub fn new(config: &DecoderConfig, source: &Source<'_>, index: usize) -> Result<Self, PolicyError> {
        let hidden = config.hidden_size;
        let queries = config.num_attention_heads * config.head_dim;
        let name = |part: &str| format!("model.layers.{index}.{part}");
        let norm = |part: &str, width: usize| source.norm(&name(part), width, config);
        let gemma = config.model_type.is_gemma();
        let inner_norm = if gemma { "pre_feedforward_layernorm" } else { "post_attention_layernorm" };
        let outer_norm = |part: &str| gemma.then(|| norm(part, hidden)).transpose();
        let linear = |part: &str, outputs: usize, inputs: usize| source.linear(&name(part), [outputs, inputs], false);
        let bias = config.model_type.has_qkv_bias();
        let attention = config.query_key_value().into_iter();
        let attention = attention.map(|(part, outputs)| source.linear(&name(part), [outputs, hidden], bias));
        let block = |(block, inner): (String, usize)| -> Result<Block, PolicyError> {
            let gate_up = config.gate_up(inner).into_iter();
            let gate_up = gate_up.map(|(part, outputs)| linear(&format!("{block}.{part}"), outputs, hidden));
            Ok(Block {
                gate_up: gate_up.collect::<Result<_, _>>()?,
                down: linear(&format!("{block}.down_proj"), hidden, inner)?,
            })
        };
        let router = config.experts_of(index).map(|experts| -> Result<Router, PolicyError> {
            let weight = source.tensor(&name("mlp.gate.weight"), &[experts.num_experts, hidden])?;
            Ok(Router { weight, per_token: experts.num_experts_per_tok, normed: experts.norm_topk_prob })
        });
        let head_norms = match config.model_type.has_head_norms() {
            true => Some((norm("self_attn.q_norm", config.head_dim)?, norm("self_attn.k_norm", config.head_dim)?)),
            false => None,
        };
        Ok(Layer {
            heads: Heads { scores: config.scores(index), ..config.heads() },
            input_norm: norm("input_layernorm", hidden)?,
            query_key_value: attention.collect::<Result<_, _>>()?,
            head_norms,
            output: linear("self_attn.o_proj", hidden, queries)?,
            attended_norm: outer_norm("post_attention_layernorm")?,
            inner_norm: norm(inner_norm, hidden)?,
            activation: config.model_type.activation(),
            blocks: config.blocks(index).into_iter().map(block).collect::<Result<_, _>>()?,
            router: router.transpose()?,
            fed_norm: outer_norm("post_feedforward_layernorm")?,
        })
    }

    /// `x`: `(N, hidden_size)`, like the result.
    pub fn forward(&self, x: &Tensor, sequences: &Sequences) -> TensorResult<Tensor> {
        self.fed_forward(&self.attended(x, sequences)?, &sequences.adapters)
    }

    /// The first half: attention and its residual sum.
    fn attended(&self, x: &Tensor, sequences: &Sequences) -> TensorResult<Tensor> {
        let Sequences { spans, rotations, adapters, .. } = sequences;
        let (heads, rope) = (self.heads, rotations.of(&self.heads));
        let maps: Vec<&Linear> = self.query_key_value.iter().collect();
        let middle = || Ok(Middle::Attention { rows: spans.rows()?, heads, rope: rope.clone() });
        let plain = heads.scores.are_plain(spans.longest()) && rope.turns_all(heads.width);
        let half = HalfLayer { norm: &self.input_norm, first: &maps, last: &self.output };
        if plain
            && self.head_norms.is_none()
            && self.attended_norm.is_none()
            && let Some(x) = half.on_gpu(x, middle, adapters)?
        {
            return Ok(x);
        }
        let mut qkv = side_by_side(&maps, &self.input_norm.forward(x)?, adapters)?;
        if let Some((query, key)) = &self.head_norms {
            qkv = norm_heads(&qkv, &query.factors()?, &key.factors()?, heads, query.epsilon)?;
        }
        let mixed = kernels::causal_attention(&qkv, spans, heads, rope)?;
        x + normed(self.attended_norm.as_ref(), self.output.forward(&mixed, adapters)?)?
    }

    /// The second half: the feed-forward block and its residual sum.
    fn fed_forward(&self, x: &Tensor, adapters: &Adapters) -> TensorResult<Tensor> {
        if let [Block { gate_up, down }] = &self.blocks[..]
            && self.activation == Activation::Silu
            && self.router.is_none()
            && self.fed_norm.is_none()
        {
            let half = HalfLayer { norm: &self.inner_norm, first: &Vec::from_iter(gate_up), last: down };
            if let Some(x) = half.on_gpu(x, || Ok(Middle::Gate), adapters)? {
                return Ok(x);
            }
        }
        let block = |index: usize, x: &Tensor| self.blocks[index].forward(x, self.activation, adapters);
        let normed_x = self.inner_norm.forward(x)?;
        let fed = match &self.router {
            Some(router) => router.mix(&normed_x, block)?,
            None => block(0, &normed_x)?,
        };
        x + normed(self.fed_norm.as_ref(), fed)?
    }
}

fn normed(norm: Option<&Norm>, x: Tensor) -> TensorResult<Tensor> {
    norm.map_or(Ok(x.clone()), |norm| norm.forward(&x))
}

/// Norms each query and key head (Qwen3, Gemma 3). `qkv`: `(N, (queries + 2 keys) * width)`.
pub(super) fn norm_heads(
    qkv: &Tensor,
    query_norm: &Tensor,
    key_norm: &Tensor,
    heads: Heads,
    epsilon: f64,
) -> TensorResult<Tensor> {
    let (count, total) = qkv.dims2()?;
    let Heads { queries, keys, width, .. } = heads;
    let all = qkv.reshape((count, queries + 2 * keys, width))?;
    let query = kernels::rms_norm(&all.narrow(1, 0, queries)?, query_norm, epsilon)?;
    let key = kernels::rms_norm(&all.narrow(1, queries, keys)?, key_norm, epsilon)?;
    Tensor::cat(&[query, key, all.narrow(1, queries + keys, keys)?], 1)?.reshape((count, total))
}
