//! The numeric heart of the decoder.
//!
//! Each kernel exists twice: `plain`, composed of tensor operations that candle differentiates, which runs on any
//! device; and fused, one pass over the numbers with its own backward, which runs on the CPU. Tests hold the second
//! to the first. Work is split between threads by whole rows only, so results do not depend on how many there are.

mod adapted;
mod attention;
mod cached;
mod head;
mod linear;
mod log_probs;
mod norm;
mod packed;
mod rope;
mod rows;
mod swiglu;

#[cfg(test)]
mod tests;

pub use adapted::{Frozen, adapted_linear, add_frozen_bias};
pub use attention::{Heads, causal_attention};
pub use cached::{KeyValues, Window, cached_attention};
pub use head::{Scoring, score_tokens};
pub use linear::{linear, project};
pub use log_probs::token_log_probs;
pub use norm::rms_norm;
pub use packed::Packed;
pub use rope::RopeTable;
pub use swiglu::silu_mul;
