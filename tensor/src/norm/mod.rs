//! Root-mean-square norm.

pub(crate) mod gpu;

use candle_core::{CpuStorage, CustomOp2, D, DType, Layout, Result, Shape, Tensor};
use rayon::prelude::*;

use crate::attached::attached;
use crate::rows::{ROWS_PER_TASK, dot, for_rows, slice, wide, with_slice};
use crate::serving::{can_fuse, on_gpu};

/// `x / sqrt(mean(x^2) + epsilon) * weight` over the last dimension.
///
/// * `x`: `(..., H)`; `weight`: `(H,)`. Computed in f32, returned in the format of `x`.
///
/// Source: Zhang and Sennrich 2019, eq. 4.
pub fn rms_norm(x: &Tensor, weight: &Tensor, epsilon: f64) -> Result<Tensor> {
    if !can_fuse([x, weight]) {
        return by_tensors(x, weight, epsilon);
    }
    x.contiguous()?.apply_op2(weight, RmsNorm { epsilon: epsilon as f32 })
}

pub(crate) fn plain(x: &Tensor, weight: &Tensor, epsilon: f64) -> Result<Tensor> {
    let (format, x) = (x.dtype(), x.to_dtype(DType::F32)?);
    let normed = x.broadcast_div(&root(&x, epsilon)?)?;
    normed.broadcast_mul(&weight.to_dtype(DType::F32)?)?.to_dtype(format)
}

/// Root mean square of each row, in f32.
fn root(x: &Tensor, epsilon: f64) -> Result<Tensor> {
    (x.sqr()?.mean_keepdim(D::Minus1)? + epsilon)?.sqrt()
}

pub(crate) fn by_tensors(x: &Tensor, weight: &Tensor, epsilon: f64) -> Result<Tensor> {
    let (inputs, factors, wanted) = (x.detach(), weight.detach(), weight.track_op());
    if on_gpu(x) {
        let inputs = inputs.contiguous()?;
        let value = gpu::rms_norm(&inputs, &factors, epsilon)?;
        return attached(value, &[x, weight], move |grad| {
            let (dx, dweight) = gpu::rms_norm_slopes(&inputs, &factors, epsilon, grad, wanted)?;
            Ok([Some(dx), dweight, None])
        });
    }
    let value = plain(&inputs, &factors, epsilon)?;
    attached(value, &[x, weight], move |grad| {
        let (wide, grad) = (inputs.to_dtype(DType::F32)?, grad.to_dtype(DType::F32)?);
        let root = root(&wide, epsilon)?;
        let normed = wide.broadcast_div(&root)?;
        let pull = grad.broadcast_mul(&factors.to_dtype(DType::F32)?)?;
        let along = (&pull * &normed)?.mean_keepdim(D::Minus1)?;
        let dx = (pull - normed.broadcast_mul(&along)?)?.broadcast_div(&root)?.to_dtype(inputs.dtype())?;
        let rows = |x: Tensor| x.reshape(((), factors.elem_count()));
        let dweight = wanted.then(|| rows((grad * normed)?)?.sum(0)?.to_dtype(factors.dtype())).transpose()?;
        Ok([Some(dx), dweight, None])
    })
}

struct RmsNorm {
    epsilon: f32,
}

impl RmsNorm {
    #[inline(always)]
    fn inverse(&self, x: &[f32]) -> f32 {
        1.0 / (dot(x, x) / x.len() as f32 + self.epsilon).sqrt()
    }
}

impl CustomOp2 for RmsNorm {
    fn name(&self) -> &'static str {
        "rms_norm"
    }

    fn cpu_fwd(
        &self,
        x: &CpuStorage,
        x_layout: &Layout,
        weight: &CpuStorage,
        weight_layout: &Layout,
    ) -> Result<(CpuStorage, Shape)> {
        let (x, weight) = (slice(x, x_layout)?, slice(weight, weight_layout)?);
        let width = weight.len();
        let mut out = vec![0.0; x.len()];
        for_rows(&mut out, width, |row, out| {
            let x = &x[row * width..][..width];
            wide(
                #[inline(always)]
                || {
                    let inverse = self.inverse(x);
                    for ((out, x), weight) in out.iter_mut().zip(x).zip(weight) {
                        *out = x * inverse * weight;
                    }
                },
            );
        });
        Ok((CpuStorage::F32(out), x_layout.shape().clone()))
    }

    fn bwd(&self, x: &Tensor, weight: &Tensor, _: &Tensor, grad: &Tensor) -> Result<(Option<Tensor>, Option<Tensor>)> {
        let (dx, dweight) = with_slice(x, |x| {
            with_slice(weight, |weight| with_slice(grad, |grad| Ok(self.gradients(x, weight, grad))))
        })?;
        let dx = Tensor::from_vec(dx, x.shape(), x.device())?;
        let dweight = weight.track_op().then(|| Tensor::from_vec(dweight, weight.shape(), weight.device()));
        Ok((Some(dx), dweight.transpose()?))
    }
}

impl RmsNorm {
    fn gradients(&self, x: &[f32], weight: &[f32], grad: &[f32]) -> (Vec<f32>, Vec<f32>) {
        let width = weight.len();
        let task = width * ROWS_PER_TASK;
        let mut dx = vec![0.0; x.len()];
        // Each task sums one row of weight gradients; these rows are added in order afterwards.
        let mut partial = vec![0.0; x.len().div_ceil(task) * width];
        let work = dx.par_chunks_mut(task).zip(x.par_chunks(task)).zip(grad.par_chunks(task));
        work.zip(partial.par_chunks_mut(width)).for_each(|(((dx, x), grad), dweight)| {
            wide(
                #[inline(always)]
                || {
                    let rows = dx.chunks_exact_mut(width).zip(x.chunks_exact(width)).zip(grad.chunks_exact(width));
                    for ((dx, x), grad) in rows {
                        self.row_gradient(dx, dweight, x, weight, grad);
                    }
                },
            );
        });
        let mut dweight = vec![0.0; width];
        for row in partial.chunks_exact(width) {
            for (sum, value) in dweight.iter_mut().zip(row) {
                *sum += value;
            }
        }
        (dx, dweight)
    }

    #[inline(always)]
    fn row_gradient(&self, dx: &mut [f32], dweight: &mut [f32], x: &[f32], weight: &[f32], grad: &[f32]) {
        let inverse = self.inverse(x);
        for ((dx, grad), weight) in dx.iter_mut().zip(grad).zip(weight) {
            *dx = grad * weight;
        }
        let pull = dot(dx, x) * inverse * inverse / x.len() as f32;
        for (((dx, dweight), x), grad) in dx.iter_mut().zip(dweight).zip(x).zip(grad) {
            *dx = inverse * (*dx - x * pull);
            *dweight += grad * x * inverse;
        }
    }
}
