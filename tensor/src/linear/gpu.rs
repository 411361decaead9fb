//! Single products: gradients of weights that are trained, and logits.

use candle_core::{DType, Result, Tensor};

use crate::gpu::launch::Gpu;
use crate::gpu::products::{Matrices, Products};

/// Gradient by a weight of f32, `(out, in)`; `slope`: `(N, out)` and `x`: `(N, in)`, contiguous and in one format. Nothing
/// of them is widened in memory: products of half formats are exact in f32.
pub(crate) fn weight_slope(slope: &Tensor, x: &Tensor) -> Result<Tensor> {
    let (gpu, (inner, rows)) = (Gpu::of(x)?, slope.dims2()?);
    let factors = (gpu.matrices(slope)?.t(), gpu.matrices(x)?);
    wide_product(&gpu, factors, [rows, inner, x.dim(1)?], x.dtype())
}

/// `x W^T` in f32; `x`: `(N, in)` and `weight`: `(out, in)`, contiguous and in one format.
pub(crate) fn wide_linear(x: &Tensor, weight: &Tensor) -> Result<Tensor> {
    let (gpu, (rows, inner)) = (Gpu::of(x)?, x.dims2()?);
    let factors = (gpu.matrices(x)?, gpu.matrices(weight)?.t());
    wide_product(&gpu, factors, [rows, inner, weight.dim(0)?], x.dtype())
}

/// `(rows, inner)` times `(inner, columns)`, in f32.
fn wide_product(gpu: &Gpu, factors: (Matrices, Matrices), sizes: [usize; 3], dtype: DType) -> Result<Tensor> {
    let out = gpu.empty((sizes[0], sizes[2]), DType::F32)?;
    let product = Products::one((gpu.matrices(&out)?, DType::F32), factors, sizes, dtype);
    // Safety: callers name the shapes and the matrices of tensors that they hold.
    unsafe { gpu.products(&product)? };
    Ok(out)
}
