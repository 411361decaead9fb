//! Products on a GPU with a result in f32: gradients of trained weights, and logits.

use candle_core::{DType, Result, Tensor};

use crate::gpu::launch::Gpu;
use crate::gpu::products::{Matrices, Products};

/// Gradient by an f32 weight, `(out, in)`; `slope`: `(N, out)` and `x`: `(N, in)`, contiguous and in one format.
/// Neither is converted to f32 in memory, because products of 16-bit formats are exact in f32.
pub(crate) fn weight_slope(slope: &Tensor, x: &Tensor) -> Result<Tensor> {
    let (gpu, (inner, rows)) = (Gpu::of(x)?, slope.dims2()?);
    wide_product(&gpu, gpu.matrices(slope)?.t(), gpu.matrices(x)?, [rows, inner, x.dim(1)?])
}

/// `x W^T` in f32; `x`: `(N, in)` and `weight`: `(out, in)`, contiguous and in one format.
pub(crate) fn wide_linear(x: &Tensor, weight: &Tensor) -> Result<Tensor> {
    let (gpu, (rows, inner)) = (Gpu::of(x)?, x.dims2()?);
    wide_product(&gpu, gpu.matrices(x)?, gpu.matrices(weight)?.t(), [rows, inner, weight.dim(0)?])
}

/// `(rows, inner)` times `(inner, columns)`, in f32.
fn wide_product(gpu: &Gpu, left: Matrices, right: Matrices, sizes: [usize; 3]) -> Result<Tensor> {
    let out = gpu.empty((sizes[0], sizes[2]), DType::F32)?;
    let product = Products::one(gpu.matrices(&out)?, left, right, sizes);
    // Safety: callers pass matrices of tensors that they hold, with the shapes of these.
    unsafe { gpu.products(&product)? };
    Ok(out)
}
