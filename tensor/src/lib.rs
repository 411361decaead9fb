//! The numeric heart of the decoder: operations on tensors, with their gradients, for the processor and for GPUs.
//!
//! A folder is an operation, in all its forms. `plain` is composed of tensor operations that candle differentiates; it is what
//! the others are tested against. `by_tensors` computes the same without a graph and has a backward of its own, so that
//! frozen weights cost no gradients and little is kept; it serves every device and every number format, and on a GPU
//! hands the work to `gpu`, launches of the kernels in `cuda/`. The fused one makes a single pass over the numbers and serves f32 on the CPU.
//! Whatever the format of the layers, norms, rotations, softmax, low-rank terms and logits are computed in f32, and
//! rounded once at the end.
//!
//! Work is split between threads by whole rows only, so results do not depend on how many there are.

mod attached;
mod attention;
pub mod device;
mod gate;
pub mod gpu;
mod head;
mod linear;
mod lora;
mod nccl;
mod norm;
mod rows;

#[cfg(test)]
mod tests;

use candle_core::{DType, Tensor};

pub use attached::with_slope;
pub use attention::cached::{KeyValues, Window, cached_attention};
pub use attention::gpu::SCORE_BYTES;
pub use attention::rope::{Angles, RopeTable, Rotations};
pub use attention::spans::Spans;
pub use attention::{Heads, Scores, causal_attention};
pub use gate::{Activation, gated};
pub use head::log_probs::token_log_probs;
pub use head::{Scoring, score_capped_tokens, score_tokens};
pub use linear::blocks::Blocks;
pub use linear::packed::{Map, Packed};
pub use linear::weight::Weight;
pub use linear::{linear, project, wide_linear};
pub use lora::dropout::Masks;
pub use lora::residual::{Middle, Residual};
pub use lora::{Adapted, Frozen, adapted_linear, add_bias, add_frozen_bias};
pub use nccl::Nccl;
pub use norm::rms_norm;

/// Which of the kernels layers go through.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kernels {
    /// Those for f32 on the CPU.
    Fused,
    /// Those for every device and every format.
    ByTensors,
    /// Those of a GPU.
    OnGpu,
}

/// Whether a GPU's own kernels work on it.
pub fn on_gpu(x: &Tensor) -> bool {
    gpu::launch::serves(x)
}

/// Whether the fused kernels can work on these.
fn can_fuse<'a>(tensors: impl IntoIterator<Item = &'a Tensor>) -> bool {
    let can = |tensor: &Tensor| tensor.device().is_cpu() && tensor.dtype() == DType::F32 && !on_gpu(tensor);
    tensors.into_iter().all(can)
}
