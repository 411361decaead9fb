//! Products with weights. Gradients are computed only by what is trained.

pub(crate) mod blocks;
mod gpu;
pub(crate) mod packed;
pub(crate) mod tile;
pub(crate) mod weight;

use candle_core::{CpuStorage, CustomOp2, DType, Layout, Result, Shape, Tensor};

use crate::attached::attached;
use crate::rows::{Matrix, matmul, slice, with_slice};
use crate::serving::{can_fuse, on_gpu};

/// `x W^T`. No gradient is computed by a weight that is not trained, whereas candle's product computes one.
///
/// * `x`: `(N, in)`; `weight`: `(out, in)`, in any format. Returns `(N, out)`, computed in the format of `x`.
pub fn linear(x: &Tensor, weight: &Tensor) -> Result<Tensor> {
    if !can_fuse([x, weight]) {
        return by_tensors(x, weight);
    }
    x.contiguous()?.apply_op2(&weight.contiguous()?, Linear)
}

pub(crate) fn plain(x: &Tensor, weight: &Tensor) -> Result<Tensor> {
    x.matmul(&weight.to_dtype(x.dtype())?.t()?)
}

pub(crate) fn by_tensors(x: &Tensor, weight: &Tensor) -> Result<Tensor> {
    let (inputs, factors) = (x.contiguous()?.detach(), weight.detach());
    let wanted = (x.track_op(), weight.track_op());
    attached(plain(&inputs, &factors)?, &[x, weight], move |grad| {
        let dx = wanted.0.then(|| grad.matmul(&factors.to_dtype(grad.dtype())?)).transpose()?;
        // Computed in the format of the weight, because sums over rows are long.
        let of_weight = || match factors.dtype() {
            DType::F32 if on_gpu(grad) => gpu::weight_slope(grad, &inputs),
            format => grad.to_dtype(format)?.t()?.matmul(&inputs.to_dtype(format)?),
        };
        Ok([dx, wanted.1.then(of_weight).transpose()?, None])
    })
}

/// `x weight`, without gradients. Candle's own product counts the processor's cores at every call and wakes other
/// threads for little work, which at one token a sequence costs as much as the product itself.
///
/// * `x`: `(N, in)`; `weight`: `(in, out)` in the same format. Returns `(N, out)`.
pub fn project(x: &Tensor, weight: &Tensor) -> Result<Tensor> {
    if !can_fuse([x, weight]) {
        return x.matmul(weight);
    }
    let ((count, inputs), outputs) = (x.dims2()?, weight.dim(1)?);
    let out = with_slice(x, |x| {
        with_slice(weight, |weight| {
            Ok(matmul(Matrix::new(x, count, inputs, inputs), Matrix::new(weight, inputs, outputs, outputs)))
        })
    })?;
    Tensor::from_vec(out, (count, outputs), x.device())
}

/// `x W^T` in f32, without gradients. A GPU reads 16-bit formats without converting them in memory.
///
/// * `x`: `(N, in)`; `weight`: `(out, in)`, frozen, in the format of `x`. Returns `(N, out)`.
pub fn wide_linear(x: &Tensor, weight: &Tensor) -> Result<Tensor> {
    match on_gpu(x) {
        true => gpu::wide_linear(&x.contiguous()?, &weight.contiguous()?),
        false => x.to_dtype(DType::F32)?.matmul(&weight.to_dtype(DType::F32)?.t()?),
    }
}

struct Linear;

impl CustomOp2 for Linear {
    fn name(&self) -> &'static str {
        "linear"
    }

    fn cpu_fwd(&self, x: &CpuStorage, lx: &Layout, weight: &CpuStorage, lw: &Layout) -> Result<(CpuStorage, Shape)> {
        let ((count, inputs), (outputs, _)) = (lx.shape().dims2()?, lw.shape().dims2()?);
        let (x, weight) = (slice(x, lx)?, slice(weight, lw)?);
        let out = matmul(Matrix::new(x, count, inputs, inputs), Matrix::new(weight, outputs, inputs, inputs).t());
        Ok((CpuStorage::F32(out), (count, outputs).into()))
    }

    fn bwd(&self, x: &Tensor, weight: &Tensor, _: &Tensor, grad: &Tensor) -> Result<(Option<Tensor>, Option<Tensor>)> {
        let dx = if x.track_op() { Some(grad.matmul(&weight.detach())?) } else { None };
        let dweight = if weight.track_op() { Some(grad.t()?.matmul(&x.detach())?) } else { None };
        Ok((dx, dweight))
    }
}
