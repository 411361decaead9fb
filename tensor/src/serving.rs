//! Which form of an operation can work on a tensor.

use candle_core::{DType, Tensor};

use crate::gpu;

/// Which form of the operations computes the layers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kernels {
    /// The fused form, for f32 on the CPU.
    Fused,
    /// The form by tensor operations, for every device and every format.
    ByTensors,
    /// The kernels of a GPU.
    OnGpu,
}

/// Whether the kernels of a GPU can work on `x`.
pub fn on_gpu(x: &Tensor) -> bool {
    gpu::launch::serves(x)
}

/// Whether the fused kernels can work on these tensors.
pub(super) fn can_fuse<'a>(tensors: impl IntoIterator<Item = &'a Tensor>) -> bool {
    let can = |tensor: &Tensor| tensor.device().is_cpu() && tensor.dtype() == DType::F32 && !on_gpu(tensor);
    tensors.into_iter().all(can)
}
