//! Grouped-query attention over a causal window.

use candle_core::{D, Result, Tensor};

use super::RopeTable;

/// How the width of queries, keys and values splits into heads.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Heads {
    /// Query heads.
    pub queries: usize,
    /// Key and value heads; divides the query heads.
    pub keys: usize,
    /// Width of a head.
    pub width: usize,
}

/// Self-attention of whole sequences: token `t` sees tokens `0..=t`. Rotates queries and keys by their position.
///
/// * `query`: `(B, T, queries * width)`; `key`, `value`: `(B, T, keys * width)`.
/// * Returns `(B, T, queries * width)`.
pub fn causal_attention(qkv: [&Tensor; 3], heads: Heads, rope: &RopeTable) -> Result<Tensor> {
    let [query, key, value] = qkv;
    let (rows, steps, _) = query.dims3()?;
    let positions = Tensor::arange(0, steps as u32, query.device())?.broadcast_as((rows, steps))?;
    let query = rope.rotate(&split(query, heads.queries)?, &positions)?;
    let key = rope.rotate(&split(key, heads.keys)?, &positions)?;
    let mask: Vec<f32> =
        (0..steps).flat_map(|t| (0..steps).map(move |s| if s <= t { 0.0 } else { f32::NEG_INFINITY })).collect();
    let mask = Tensor::from_vec(mask, (1, steps, steps), query.device())?;
    plain_attention([&query, &key, &split(value, heads.keys)?], &mask)
}

/// Attention by tensor operations, over heads that are already apart.
///
/// * `query`: `(B, queries, T, width)`; `key`, `value`: `(B, keys, L, width)`.
/// * `mask`: `(B or 1, T, L)`, added to the scores.
/// * Returns `(B, T, queries * width)`.
///
/// Source: Vaswani et al. 2017, eq. 1; Ainslie et al. 2023 for the groups.
pub fn plain_attention(qkv: [&Tensor; 3], mask: &Tensor) -> Result<Tensor> {
    let [query, key, value] = qkv;
    let (rows, queries, steps, width) = query.dims4()?;
    let (_, keys, slots, _) = key.dims4()?;
    let group = queries / keys;
    let query = query.contiguous()?.reshape((rows, keys, group * steps, width))?;
    let scale = 1.0 / (width as f64).sqrt();
    let scores = (query.matmul(&key.transpose(2, 3)?.contiguous()?)? * scale)?;
    let mask = mask.unsqueeze(1)?.unsqueeze(1)?;
    let scores = scores.reshape((rows, keys, group, steps, slots))?.broadcast_add(&mask)?;
    let weights = candle_nn::ops::softmax(&scores, D::Minus1)?.reshape((rows, keys, group * steps, slots))?;
    let mixed = weights.matmul(&value.contiguous()?)?.reshape((rows, queries, steps, width))?;
    mixed.transpose(1, 2)?.reshape((rows, steps, queries * width))
}

/// `(B, T, heads * width)` as `(B, heads, T, width)`.
pub(crate) fn split(x: &Tensor, heads: usize) -> Result<Tensor> {
    let (rows, steps, width) = x.dims3()?;
    x.reshape((rows, steps, heads, width / heads))?.transpose(1, 2)?.contiguous()
}
