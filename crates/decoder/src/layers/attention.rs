//! The first half of a layer: attention and its residual sum.

use candle_core::{Result as TensorResult, Tensor};

use crate::adapters::linear::{Linear, side_by_side};
use crate::layers::half::{HalfLayer, PreparedHalf};
use crate::layers::norm::{Norm, norm_heads, normed};
use crate::layers::sequences::Sequences;
use crate::layers::source::Source;
use crate::{DecoderConfig, PolicyError};
use grpo_tensor::{self as kernels, Heads, Middle, Residual};

#[derive(Debug, Clone)]
pub(crate) struct Attention {
    pub heads: Heads,
    pub input_norm: Norm,
    /// One fused map, or three.
    pub query_key_value: Vec<Linear>,
    pub head_norms: Option<(Norm, Norm)>,
    pub output: Linear,
    /// Norm of the attention's output (Gemma).
    pub attended_norm: Option<Norm>,
    pub prepared: Option<PreparedHalf>,
}

impl Attention {
    /// The attention of the layer with this index.
    pub fn new(config: &DecoderConfig, source: &Source<'_>, index: usize) -> Result<Self, PolicyError> {
        let hidden = config.hidden_size;
        let queries = config.num_attention_heads * config.head_dim;
        let name = |part: &str| format!("model.layers.{index}.{part}");
        let norm = |part: &str, width: usize| source.norm(&name(part), width, config);
        let bias = config.model_type.has_qkv_bias();
        let maps = config.query_key_value().into_iter();
        let maps = maps.map(|(part, outputs)| source.linear(&name(part), [outputs, hidden], bias));
        let head_norms = match config.model_type.has_head_norms() {
            true => Some((norm("self_attn.q_norm", config.head_dim)?, norm("self_attn.k_norm", config.head_dim)?)),
            false => None,
        };
        let is_gemma = config.model_type.is_gemma();
        Ok(Attention {
            heads: Heads { scores: config.scores(index), ..config.heads() },
            input_norm: norm("input_layernorm", hidden)?,
            query_key_value: maps.collect::<Result<_, _>>()?,
            head_norms,
            output: source.linear(&name("self_attn.o_proj"), [hidden, queries], false)?,
            attended_norm: is_gemma.then(|| norm("post_attention_layernorm", hidden)).transpose()?,
            prepared: None,
        })
    }

    /// This half as one operation of a GPU; `None` if no GPU can compute it so for `x`.
    pub fn on_gpu(&self, x: &Tensor, sequences: &Sequences) -> TensorResult<Option<Residual>> {
        let Sequences { spans, rotations, adapters, .. } = sequences;
        let (heads, rope) = (self.heads, rotations.of(&self.heads));
        let middle = || Ok(Middle::Attention { rows: spans.rows()?, heads, rope: rope.clone() });
        match self.half() {
            Some(half) if heads.scores.are_plain(spans.longest()) && rope.turns_all(heads.width) => {
                half.on_gpu(x, middle, adapters)
            }
            _ => Ok(None),
        }
    }

    /// The parameters of this half; `None` if it has more than these.
    pub fn half(&self) -> Option<HalfLayer<'_>> {
        let plain = self.head_norms.is_none() && self.attended_norm.is_none();
        let (norm, first, prepared) = (&self.input_norm, self.query_key_value.iter().collect(), self.prepared.as_ref());
        plain.then_some(HalfLayer { norm, first, last: &self.output, prepared })
    }

    /// `x`: `(N, hidden_size)`, like the result.
    pub fn forward(&self, x: &Tensor, sequences: &Sequences) -> TensorResult<Tensor> {
        let Sequences { spans, rotations, adapters, .. } = sequences;
        let (heads, rope) = (self.heads, rotations.of(&self.heads));
        let maps: Vec<&Linear> = self.query_key_value.iter().collect();
        let mut qkv = side_by_side(&maps, &self.input_norm.forward(x)?, adapters)?;
        if let Some((query, key)) = &self.head_norms {
            qkv = norm_heads(&qkv, &query.factors()?, &key.factors()?, heads, query.epsilon)?;
        }
        let mixed = kernels::causal_attention(&qkv, spans, heads, rope)?;
        x + normed(self.attended_norm.as_ref(), self.output.forward(&mixed, adapters)?)?
    }
}
