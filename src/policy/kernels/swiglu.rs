//! Gate of the feed-forward block.

use candle_core::{Result, Tensor};

/// `silu(gate) * up`, element by element.
///
/// Source: Shazeer 2020, SwiGLU.
pub fn silu_mul(gate: &Tensor, up: &Tensor) -> Result<Tensor> {
    plain(gate, up)
}

fn plain(gate: &Tensor, up: &Tensor) -> Result<Tensor> {
    gate.silu()? * up
}
