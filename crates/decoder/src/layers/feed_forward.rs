//! The second half of a layer: the feed-forward block, or the experts, and its residual sum.

use candle_core::{Result as TensorResult, Tensor};

use crate::adapters::linear::{Adapters, Linear, side_by_side};
use crate::layers::experts::Router;
use crate::layers::half::{HalfLayer, PreparedHalf};
use crate::layers::norm::{Norm, normed};
use crate::layers::source::Source;
use crate::{DecoderConfig, PolicyError};
use grpo_tensor::{self as kernels, Activation, Middle, Residual};

/// A feed-forward block.
#[derive(Debug, Clone)]
pub(crate) struct Block {
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

#[derive(Debug, Clone)]
pub(crate) struct FeedForward {
    pub inner_norm: Norm,
    pub activation: Activation,
    /// One block for all tokens, or the experts.
    pub blocks: Vec<Block>,
    pub router: Option<Router>,
    /// Norm of the feed-forward block's output (Gemma).
    pub fed_norm: Option<Norm>,
    pub prepared: Option<PreparedHalf>,
}

impl FeedForward {
    /// The feed-forward half of the layer with this index.
    pub fn new(config: &DecoderConfig, source: &Source<'_>, index: usize) -> Result<Self, PolicyError> {
        let hidden = config.hidden_size;
        let name = |part: &str| format!("model.layers.{index}.{part}");
        let norm = |part: &str| source.norm(&name(part), hidden, config);
        let gemma = config.model_type.is_gemma();
        let inner_norm = if gemma { "pre_feedforward_layernorm" } else { "post_attention_layernorm" };
        let linear = |part: &str, outputs: usize, inputs: usize| source.linear(&name(part), [outputs, inputs], false);
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
        Ok(FeedForward {
            inner_norm: norm(inner_norm)?,
            activation: config.model_type.activation(),
            blocks: config.blocks(index).into_iter().map(block).collect::<Result<_, _>>()?,
            router: router.transpose()?,
            fed_norm: gemma.then(|| norm("post_feedforward_layernorm")).transpose()?,
            prepared: None,
        })
    }

    /// This half as one operation of a GPU; `None` if no GPU can compute it so for `x`.
    pub fn on_gpu(&self, x: &Tensor, adapters: &Adapters) -> TensorResult<Option<Residual>> {
        self.half().map_or(Ok(None), |half| half.on_gpu(x, || Ok(Middle::Gate), adapters))
    }

    /// The parameters of this half; `None` if it has more than these.
    pub fn half(&self) -> Option<HalfLayer<'_>> {
        let [Block { gate_up, down }] = &self.blocks[..] else { return None };
        let plain = self.activation == Activation::Silu && self.router.is_none() && self.fed_norm.is_none();
        let (norm, first, prepared) = (&self.inner_norm, gate_up.iter().collect(), self.prepared.as_ref());
        plain.then_some(HalfLayer { norm, first, last: down, prepared })
    }

    /// `x`: `(N, hidden_size)`, like the result.
    pub fn forward(&self, x: &Tensor, adapters: &Adapters) -> TensorResult<Tensor> {
        let block = |index: usize, x: &Tensor| self.blocks[index].forward(x, self.activation, adapters);
        let normed_x = self.inner_norm.forward(x)?;
        let fed = match &self.router {
            Some(router) => router.mix(&normed_x, block)?,
            None => block(0, &normed_x)?,
        };
        x + normed(self.fed_norm.as_ref(), fed)?
    }
}
