//! Half a layer as one operation of a GPU.

use candle_core::{Result as TensorResult, Tensor};

use crate::adapters::linear::{Adapters, Linear, joined};
use crate::layers::norm::Norm;
use grpo_tensor::{self as kernels, Middle, Residual};

/// The parameters of half a layer, `x + last(middle(first(norm(x))))`.
pub(crate) struct HalfLayer<'a> {
    pub norm: &'a Norm,
    pub first: &'a [&'a Linear],
    pub last: &'a Linear,
}

impl HalfLayer<'_> {
    /// Half a layer as one operation; `None` if no GPU can compute it so.
    pub fn on_gpu(
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
