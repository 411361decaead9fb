//! Single products: gradients of weights that are trained, and logits.

use candle_core::{DType, Result, Tensor};

use super::super::products::Products;
use super::Gpu;

/// Gradient by a weight of f32, `(out, in)`; `slope`: `(N, out)` and `x`: `(N, in)`, contiguous and in one format. Nothing
/// of them is widened in memory: products of half formats are exact in f32.
pub(in crate::policy) fn weight_slope(slope: &Tensor, x: &Tensor) -> Result<Tensor> {
    let (gpu, (inner, rows), columns) = (Gpu::of(x)?, slope.dims2()?, x.dim(1)?);
    let out = gpu.empty((rows, columns), DType::F32)?;
    let product = Products {
        out: gpu.matrices(&out)?,
        left: gpu.matrices(slope)?.t(),
        right: gpu.matrices(x)?,
        count: 1,
        rows,
        inner,
        columns,
        dtype: x.dtype(),
        out_dtype: DType::F32,
        scale: 1.0,
        adds: false,
    };
    // Safety: shapes and addresses are those of the tensors.
    unsafe { gpu.products(&product)? };
    Ok(out)
}

/// `x W^T` in f32; `x`: `(N, in)` and `weight`: `(out, in)`, contiguous and in one format.
pub(in crate::policy) fn wide_linear(x: &Tensor, weight: &Tensor) -> Result<Tensor> {
    let (gpu, (rows, inner), columns) = (Gpu::of(x)?, x.dims2()?, weight.dim(0)?);
    let out = gpu.empty((rows, columns), DType::F32)?;
    let product = Products {
        out: gpu.matrices(&out)?,
        left: gpu.matrices(x)?,
        right: gpu.matrices(weight)?.t(),
        count: 1,
        rows,
        inner,
        columns,
        dtype: x.dtype(),
        out_dtype: DType::F32,
        scale: 1.0,
        adds: false,
    };
    // Safety: shapes and addresses are those of the tensors.
    unsafe { gpu.products(&product)? };
    Ok(out)
}
