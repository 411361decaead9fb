//! Root-mean-square norm, on a GPU.

use candle_core::{DType, Result, Tensor};

use crate::gpu::launch::{Gpu, WARPS};
use crate::gpu::params::THREADS;
use crate::gpu::params::params;

/// Rows whose share of the weight's gradient is summed at once.
const BLOCK: usize = 256;

params! {
    /// Divides rows by their root mean square.
    RmsNorm { out: u64, x: u64, weight: u64, rows: u64, width: u32, epsilon: f32 }
    /// Gradient by the input.
    RmsNormSlope {
        dx: u64, inverses: u64, slope: u64, x: u64, weight: u64, rows: u64, width: u32, epsilon: f32, is_wide: u32,
        padding: u32,
    }
    /// Gradient by the weight, as partial sums.
    RmsNormWeight { partial: u64, slope: u64, x: u64, inverses: u64, rows: u64, width: u32, block: u32 }
    /// Sums of columns.
    SumRows { out: u64, from: u64, rows: u32, width: u32 }
}

/// `x / sqrt(mean(x^2) + epsilon) * weight` over the last dimension, in the format of `x`; `x` is contiguous.
pub(crate) fn rms_norm(x: &Tensor, weight: &Tensor, epsilon: f64) -> Result<Tensor> {
    let (gpu, width) = (Gpu::of(x)?, weight.elem_count());
    let weight = weight.to_dtype(DType::F32)?.contiguous()?;
    let (out, rows) = (gpu.empty(x.shape(), x.dtype())?, x.elem_count() / width);
    let params = RmsNorm {
        out: gpu.address(&out)?,
        x: gpu.address(x)?,
        weight: gpu.address(&weight)?,
        rows: rows as u64,
        width: width as u32,
        epsilon: epsilon as f32,
    };
    // Safety: `out` is as large as `x`, which has `rows` rows as wide as `weight`.
    unsafe { gpu.typed("rms_norm", x.dtype(), rows.div_ceil(WARPS), &params)? };
    Ok(out)
}

/// Gradients by `x` and, if `of_weight`, by `weight`; `slope` is the gradient of the output, contiguous, in the format of
/// `x`. Without `of_weight` it may be in f32 as products leave it, and is rounded as it is read.
pub(crate) fn rms_norm_slopes(
    x: &Tensor,
    weight: &Tensor,
    epsilon: f64,
    slope: &Tensor,
    of_weight: bool,
) -> Result<(Tensor, Option<Tensor>)> {
    let (gpu, width) = (Gpu::of(x)?, weight.elem_count());
    let factors = weight.to_dtype(DType::F32)?.contiguous()?;
    let (dx, rows) = (gpu.empty(x.shape(), x.dtype())?, x.elem_count() / width);
    let inverses = of_weight.then(|| gpu.empty(rows, DType::F32)).transpose()?;
    let params = RmsNormSlope {
        dx: gpu.address(&dx)?,
        inverses: inverses.as_ref().map_or(Ok(0), |inverses| gpu.address(inverses))?,
        slope: gpu.address(slope)?,
        x: gpu.address(x)?,
        weight: gpu.address(&factors)?,
        rows: rows as u64,
        width: width as u32,
        epsilon: epsilon as f32,
        is_wide: u32::from(slope.dtype() != x.dtype()),
        padding: 0,
    };
    // Safety: `dx`, `x` and `slope` have `rows` rows as wide as the weight.
    unsafe { gpu.typed("rms_norm_slope", x.dtype(), rows.div_ceil(WARPS), &params)? };
    let Some(inverses) = inverses else { return Ok((dx, None)) };
    let dweight = weight_slope(&gpu, [x, slope, &inverses], width)?.reshape(weight.shape())?;
    Ok((dx, Some(dweight.to_dtype(weight.dtype())?)))
}

fn weight_slope(gpu: &Gpu, [x, slope, inverses]: [&Tensor; 3], width: usize) -> Result<Tensor> {
    let rows = inverses.elem_count();
    let blocks = rows.div_ceil(BLOCK);
    let (partial, dweight) = (gpu.empty((blocks, width), DType::F32)?, gpu.empty(width, DType::F32)?);
    let params = RmsNormWeight {
        partial: gpu.address(&partial)?,
        slope: gpu.address(slope)?,
        x: gpu.address(x)?,
        inverses: gpu.address(inverses)?,
        rows: rows as u64,
        width: width as u32,
        block: BLOCK as u32,
    };
    let sums = SumRows { out: gpu.address(&dweight)?, from: params.partial, rows: blocks as u32, width: width as u32 };
    let columns = width.div_ceil(THREADS);
    let kernel = crate::gpu::params::name("rms_norm_weight", x.dtype())?;
    // Safety: `partial` has a row for each block of rows.
    unsafe { gpu.launch(&kernel, [blocks, columns], &params)? };
    // Safety: the kernel reads as many rows as were written.
    unsafe { gpu.launch("sum_rows", [columns, 1], &sums)? };
    Ok(dweight)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gpu::emulated;
    use crate::tests::random;

    #[test]
    fn a_gradient_in_f32_is_rounded_as_it_is_read() {
        // Widths that are and are not read 16 bytes at a time.
        for width in [24, 37] {
            let (x, weight) = (random(&[5, width], 1).to_dtype(DType::BF16).unwrap(), random(&[width], 3));
            let slope = random(&[5, width], 2);
            emulated(|| {
                let found = |slope: &Tensor| {
                    let (dx, _) = rms_norm_slopes(&x, &weight, 1e-5, slope, false).unwrap();
                    dx.to_dtype(DType::F32).unwrap().to_vec2::<f32>().unwrap()
                };
                let (wide, narrow) = (found(&slope), found(&slope.to_dtype(DType::BF16).unwrap()));
                assert!(wide == narrow && wide.iter().flatten().all(|x| x.is_finite()), "{width}");
            });
        }
    }
}
