//! Parameters of the kernels of decoding and of the optimiser, field by field as in `*.cuh`, and the sizes of their
//! launches.

use super::params::params;
pub(super) use super::params::{Params, THREADS, name};

params! {
    /// Looks up rows of the embedding.
    Embed { hidden: u64, embedding: u64, ids: u64, width: u32, padding: u32 }
    /// Adds to the residual stream and computes its norm.
    AddNorm { normed: u64, hidden: u64, delta: u64, weight: u64, width: u32, epsilon: f32 }
    /// Rotates queries and keys, and writes keys and values to the cache.
    Rotate {
        query: u64, keys: u64, values: u64, qkv: u64, bias: u64, query_norm: u64, key_norm: u64, angles: u64,
        first: u64, slot: u64, queries: u32, key_heads: u32, head: u32, capacity: u32, epsilon: f32, padding: u32,
    }
    /// Attention over the cache, in splits of slots that are combined afterwards.
    Attend {
        mixed: u64, partial: u64, query: u64, keys: u64, values: u64, first: u64, slot: u64,
        queries: u32, key_heads: u32, head: u32, capacity: u32, split: u32, scale: f32,
    }
    /// Adds the low-rank terms of maps that lie side by side.
    Adapt {
        out: u64, joint: u64, b: u64, rows: u32, outputs: u32, rank: u32, parts: u32, first: u32, second: u32,
        scale: f32, padding: u32,
    }
    /// Applies the gate of the feed-forward layer.
    SiluMul { inner: u64, gate_up: u64, width: u32, padding: u32 }
    /// Draws a token for each row.
    Sample {
        ids: u64, tokens: u64, logps: u64, logits: u64, uniforms: u64, step: u64,
        vocabulary: u32, chunk: u32, inverse_temperature: f32, padding: u32,
    }
    /// Moves on to the next slot.
    Advance { slot: u64, step: u64 }
    /// Copies the cache of prompts to the rows of their groups.
    FillCache {
        to: u64, from: u64, of: u64, key_heads: u32, capacity: u32, from_capacity: u32, head: u32, slots: u32,
        padding: u32,
    }
    /// Consecutive numbers of one variable, as many as a block works on.
    Piece { value: u64, gradient: u64, mean: u64, square: u64, count: u32, keep: f32 }
    /// Sums squared gradients.
    SquareSums { sums: u64, pieces: u64 }
    /// One update by AdamW.
    AdamW { pieces: u64, scale: f32, beta1: f32, beta2: f32, rate: f32, inverse_root: f32, epsilon: f32 }
    /// Copies live rows over rows that have ended.
    MoveRows { cache: u64, from: u64, to: u64, key_heads: u32, capacity: u32, head: u32, slots: u32 }
}

/// Factors of one update by AdamW.
#[derive(Debug, Clone, Copy)]
pub struct AdamWRates {
    /// Factor of the gradients.
    pub scale: f64,
    /// Decay of the first moment (mean of gradients).
    pub beta1: f64,
    /// Decay of the second moment (mean of squared gradients).
    pub beta2: f64,
    /// Learning rate, including the bias correction of the first moment.
    pub rate: f64,
    /// Square root of the bias correction of the second moment.
    pub root_correction: f64,
    /// Added to the square root of the second moment.
    pub epsilon: f64,
}

/// Threads per block of `attend` and `combine`.
pub(super) const ATTEND_THREADS: usize = 128;
/// Threads per block of `sample`.
pub(super) const SAMPLE_THREADS: usize = 1024;
/// Threads per block of `rotate`; each one rotates a pair of dimensions.
pub(super) const ROTATE_THREADS: usize = 128;
/// Rows that one block of `adapt` serves.
pub(super) const ADAPT_ROWS: usize = 8;
/// Query heads that one block of `attend` serves.
pub(super) const GROUP: usize = 8;
/// Widest head that the kernels serve.
pub(super) const LARGEST_HEAD: usize = 256;
/// Heads are read in pieces of this width, which the width of a head must be a multiple of.
pub(super) const HEAD_STEP: usize = 8;
/// Largest vocabulary that `sample` serves.
pub(super) const LARGEST_VOCABULARY: usize = 512 * 1024;
/// Written instead of a token when the logits are not finite.
pub(super) const NOT_FINITE: u32 = u32::MAX;
