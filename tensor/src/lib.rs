//! Tensor operations of the decoder and their gradients, for the CPU and for GPUs.
//!
//! Each operation has a folder with all its forms. `plain` is composed of tensor operations that candle
//! differentiates; the other forms are tested against it. `by_tensors` computes the same outside candle's graph and
//! has its own backward pass, so that frozen weights cost no gradients and little is kept; it serves every device and
//! every number format. On a GPU it hands the work to `gpu`, which launches the kernels in `cuda/`. The fused form
//! makes a single pass over the numbers and serves f32 on the CPU. Whatever the format of the layers, norms,
//! rotations, softmax, low-rank terms and logits are computed in f32 and rounded once at the end.
//!
//! Threads share work by whole rows only, so results do not depend on the number of threads.

mod adamw;
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
mod select;
mod serving;

#[cfg(test)]
mod tests;

pub use adamw::{adamw, sum_of_squares};
pub use attached::with_slope;
pub use attention::cached::{KeyValues, cached_attention};
pub use attention::gpu::SCORE_BYTES;
pub use attention::rope::{Angles, RopeTable, Rotations};
pub use attention::spans::Spans;
pub use attention::window::Window;
pub use attention::{Heads, Scores, causal_attention};
pub use gate::{Activation, gated};
pub use head::log_probs::token_log_probs;
pub use head::{ScoreSettings, score_capped_tokens, score_tokens};
pub use linear::blocks::Blocks;
pub use linear::packed::{Map, Packed};
pub use linear::weight::Weight;
pub use linear::{linear, project, wide_linear};
pub use lora::dropout::Masks;
pub use lora::residual::{FactorSlopes, Middle, Prepared, Residual, residuals};
pub use lora::{Adapted, Frozen, adapted_linear, add_bias, add_frozen_bias};
pub use nccl::Nccl;
pub use norm::rms_norm;
pub use select::{add_rows, select_rows};
pub use serving::{Kernels, on_gpu};
