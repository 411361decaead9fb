//! Gate of the feed-forward block, on a GPU.

use candle_core::{Result, Tensor};

use crate::gpu::launch::Gpu;
use crate::gpu::params::params;

params! {
    /// Gates and the values that they scale.
    Gate { out: u64, gate_up: u64, slope: u64, width: u32, padding: u32 }
}

/// `silu(gate) * up`; `gate_up` is `(N, 2 I)`, contiguous, the gate first. With the gradient of that, contiguous, the
/// gradient by `gate_up`.
pub(crate) fn silu_mul(gate_up: &Tensor, slope: Option<&Tensor>) -> Result<Tensor> {
    let (gpu, (rows, width)) = (Gpu::of(gate_up)?, gate_up.dims2()?);
    let (kernel, out_width) = if slope.is_some() { ("gate_slope", width) } else { ("gate", width / 2) };
    let out = gpu.empty((rows, out_width), gate_up.dtype())?;
    let params = Gate {
        out: gpu.address(&out)?,
        gate_up: gpu.address(gate_up)?,
        slope: slope.map_or(Ok(0), |slope| gpu.address(slope))?,
        width: (width / 2) as u32,
        padding: 0,
    };
    // Safety: `out` is half as wide as `gate_up`; with a slope it is as wide, and `slope` is half as wide.
    unsafe { gpu.typed(kernel, gate_up.dtype(), rows, &params)? };
    Ok(out)
}
