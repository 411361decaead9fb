//! Products with weights, without the gradients nobody asked for.

use candle_core::{CpuStorage, CustomOp2, Layout, Result, Shape, Tensor};

/// `x W^T`. A weight that is not trained costs no gradient of its own, where candle's product would compute one.
///
/// * `x`: `(N, in)`; `weight`: `(out, in)`. Returns `(N, out)`.
pub fn linear(x: &Tensor, weight: &Tensor) -> Result<Tensor> {
    if !x.device().is_cpu() {
        return plain(x, weight);
    }
    x.contiguous()?.apply_op2(&weight.contiguous()?, Linear)
}

pub(super) fn plain(x: &Tensor, weight: &Tensor) -> Result<Tensor> {
    x.matmul(&weight.t()?)
}

struct Linear;

impl CustomOp2 for Linear {
    fn name(&self) -> &'static str {
        "linear"
    }

    fn cpu_fwd(&self, x: &CpuStorage, lx: &Layout, weight: &CpuStorage, lw: &Layout) -> Result<(CpuStorage, Shape)> {
        use candle_core::backend::BackendStorage;
        let ((count, inputs), (outputs, _)) = (lx.shape().dims2()?, lw.shape().dims2()?);
        let transposed = lw.transpose(0, 1)?;
        let out = x.matmul(weight, (1, count, outputs, inputs), lx, &transposed)?;
        Ok((out, (count, outputs).into()))
    }

    fn bwd(&self, x: &Tensor, weight: &Tensor, _: &Tensor, grad: &Tensor) -> Result<(Option<Tensor>, Option<Tensor>)> {
        let dx = if x.track_op() { Some(grad.matmul(&weight.detach())?) } else { None };
        let dweight = if weight.track_op() { Some(grad.t()?.matmul(&x.detach())?) } else { None };
        Ok((dx, dweight))
    }
}
