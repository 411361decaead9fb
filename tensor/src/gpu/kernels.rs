//! Parameters of the kernels of decoding and of the optimiser (`*.cuh`), field by field as there, and how each is
//! launched.

use super::params::params;
pub(super) use super::params::{Params, THREADS, name};

params! {
    /// Rows of the embedding.
    Embed { hidden: u64, embedding: u64, ids: u64, width: u32, padding: u32 }
    /// Residual sum and norm.
    AddNorm { normed: u64, hidden: u64, delta: u64, weight: u64, width: u32, epsilon: f32 }
    /// Queries, keys and values, turned and put into the cache.
    Rotate {
        query: u64, keys: u64, values: u64, qkv: u64, bias: u64, query_norm: u64, key_norm: u64, angles: u64,
        first: u64, slot: u64, queries: u32, key_heads: u32, head: u32, capacity: u32, epsilon: f32, padding: u32,
    }
    /// Attention over the cache, in splits.
    Attend {
        mixed: u64, partial: u64, query: u64, keys: u64, values: u64, first: u64, slot: u64,
        queries: u32, key_heads: u32, head: u32, capacity: u32, split: u32, scale: f32,
    }
    /// Low-rank terms of maps side by side.
    Adapt {
        out: u64, low: u64, b: u64, rows: u32, outputs: u32, rank: u32, parts: u32, first: u32, second: u32,
        scale: f32, padding: u32,
    }
    /// The gate of the feed-forward layer.
    SiluMul { inner: u64, gate_up: u64, width: u32, padding: u32 }
    /// One token a row.
    Sample {
        ids: u64, tokens: u64, logps: u64, logits: u64, uniforms: u64, step: u64,
        vocabulary: u32, chunk: u32, inverse_temperature: f32, padding: u32,
    }
    /// One slot further.
    Advance { slot: u64, step: u64 }
    /// Prompts copied to the rows of their groups.
    FillCache {
        to: u64, from: u64, of: u64, key_heads: u32, capacity: u32, from_capacity: u32, head: u32, slots: u32,
        padding: u32,
    }
    /// Neighbouring numbers of one variable.
    Piece { value: u64, gradient: u64, mean: u64, square: u64, count: u32, keep: f32 }
    /// Sums of squared gradients.
    SquareSums { sums: u64, pieces: u64 }
    /// One step of the optimiser.
    AdamW { pieces: u64, scale: f32, beta1: f32, beta2: f32, rate: f32, inverse_root: f32, epsilon: f32 }
    /// Rows copied over rows that nobody needs.
    MoveRows { cache: u64, from: u64, to: u64, key_heads: u32, capacity: u32, head: u32, slots: u32 }
}

/// Threads of `attend` and `combine`.
pub(super) const ATTEND_THREADS: usize = 128;
/// Threads of `rotate`: a pair of dimensions each.
pub(super) const ROTATE_THREADS: usize = 128;
/// Rows that one block of `adapt` serves.
pub(super) const ADAPT_ROWS: usize = 8;
/// Query heads that one block of `attend` serves.
pub(super) const GROUP: usize = 8;
/// Widest head.
pub(super) const LARGEST_HEAD: usize = 256;
/// Heads are read in pieces of this width.
pub(super) const HEAD_STEP: usize = 8;
/// Largest vocabulary.
pub(super) const LARGEST_VOCABULARY: usize = 512 * 1024;
/// A token that could not be drawn.
pub(super) const NOT_FINITE: u32 = u32::MAX;
