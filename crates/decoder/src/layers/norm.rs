//! Norms: of the residual stream, of a block's output, and of heads.

use candle_core::{Result as TensorResult, Tensor};

use grpo_tensor::{self as kernels, Heads};

/// A root-mean-square norm.
#[derive(Debug, Clone)]
pub(crate) struct Norm {
    pub weight: Tensor,
    pub epsilon: f64,
    /// Whether 1 is added to the weight (Gemma).
    pub centred: bool,
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

/// `x` normed, if there is a norm.
pub(crate) fn normed(norm: Option<&Norm>, x: Tensor) -> TensorResult<Tensor> {
    norm.map_or(Ok(x.clone()), |norm| norm.forward(&x))
}

/// Norms each query and key head (Qwen3, Gemma 3). `qkv`: `(N, (queries + 2 keys) * width)`.
pub(crate) fn norm_heads(
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
