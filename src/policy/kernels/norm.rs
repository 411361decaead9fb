//! Root-mean-square norm.

use candle_core::{D, Result, Tensor};

/// `x / sqrt(mean(x^2) + epsilon) * weight` over the last dimension.
///
/// * `x`: `(..., H)`; `weight`: `(H,)`.
///
/// Source: Zhang and Sennrich 2019, eq. 4.
pub fn rms_norm(x: &Tensor, weight: &Tensor, epsilon: f64) -> Result<Tensor> {
    plain(x, weight, epsilon)
}

fn plain(x: &Tensor, weight: &Tensor, epsilon: f64) -> Result<Tensor> {
    let mean_square = x.sqr()?.mean_keepdim(D::Minus1)?;
    x.broadcast_div(&(mean_square + epsilon)?.sqrt()?)?.broadcast_mul(weight)
}
