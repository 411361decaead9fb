//! Grouped-query self-attention of whole sequences, differentiable.

pub(crate) mod cached;
mod fused;
pub(crate) mod gpu;
mod heads;
pub(crate) mod rope;
pub(crate) mod spans;
pub(crate) mod window;

use candle_core::{D, DType, Device, Result, Tensor};

use crate::attached::attached;
use crate::attention::gpu::Attention;
use crate::attention::rope::{RopeTable, Turn};
use crate::attention::spans::Spans;
use crate::attention::window::Window;
use crate::serving::{can_fuse, on_gpu};
pub use heads::{Heads, Scores};

/// Causal self-attention of whole sequences. A token sees itself, the tokens before it and the shared beginning.
/// Queries and keys are rotated by their position.
///
/// * `qkv`: `(N, (queries + 2 keys) * width)`: queries, keys and values side by side; `N` is the number of tokens.
/// * Returns `(N, queries * width)`.
pub fn causal_attention(qkv: &Tensor, spans: &Spans, heads: Heads, rope: &RopeTable) -> Result<Tensor> {
    if !can_fuse([qkv]) || !heads.scores.are_plain(spans.longest()) {
        return by_tensors(qkv, spans.rows()?, heads, rope);
    }
    qkv.contiguous()?.apply_op1(fused::CausalAttention { spans: spans.clone(), heads, rope: rope.clone() })
}

pub(crate) fn plain_causal(qkv: &Tensor, rows: usize, heads: Heads, rope: &RopeTable) -> Result<Tensor> {
    let [query, key, value] = turned(qkv, rows, heads, rope)?;
    plain([&query, &key, &value], &causal_mask(qkv.dim(0)? / rows, heads.scores, qkv.device())?, heads)
}

/// Queries, keys and values as separate tensors, queries and keys rotated.
fn turned(qkv: &Tensor, rows: usize, heads: Heads, rope: &RopeTable) -> Result<[Tensor; 3]> {
    let [query, key, value] = split(qkv, rows, heads)?;
    let turned = |x: &Tensor| rope.rotate_from_start(x, Turn::Forward);
    Ok([turned(&query)?, turned(&key)?, value])
}

/// `(1, T, T)`: zero where a query sees the key, negative infinity elsewhere, as for a call that fills an empty cache.
fn causal_mask(steps: usize, scores: Scores, device: &Device) -> Result<Tensor> {
    Window { fed: vec![steps], ..Window::new(1, steps) }.mask(scores, device)
}

/// Keeps only `qkv` for the backward pass, which computes the weights again.
pub(crate) fn by_tensors(qkv: &Tensor, rows: usize, heads: Heads, rope: &RopeTable) -> Result<Tensor> {
    let (inputs, rope) = (qkv.detach(), rope.clone());
    let plain_scores = heads.scores.are_plain(qkv.dim(0)? / rows) && rope.turns_all(heads.width);
    if plain_scores && on_gpu(qkv) {
        let inputs = inputs.contiguous()?;
        let value = Attention::new(&inputs, rows, heads, rope.angles())?.forward(&inputs)?;
        return attached(value, &[qkv], move |grad| {
            let slope = Attention::new(&inputs, rows, heads, rope.angles())?.backward(&inputs, grad)?;
            Ok([Some(slope), None, None])
        });
    }
    let value = plain_causal(&inputs, rows, heads, &rope)?;
    attached(value, &[qkv], move |grad| Ok([Some(slope(&inputs, rows, heads, &rope, grad)?), None, None]))
}

/// Gradient by `qkv`.
fn slope(qkv: &Tensor, rows: usize, heads: Heads, rope: &RopeTable, grad: &Tensor) -> Result<Tensor> {
    let Heads { queries, keys, width, .. } = heads;
    let steps = qkv.dim(0)? / rows;
    // The query heads of one key head are stacked in one matrix.
    let grouped = |x: Tensor| x.to_dtype(DType::F32)?.reshape((rows, keys, queries / keys * steps, width));
    let [query, key, value] = turned(qkv, rows, heads, rope)?;
    let (key, value) = (key.to_dtype(DType::F32)?, value.to_dtype(DType::F32)?);
    let (weights, bend) = weights(&query, &key, &causal_mask(steps, heads.scores, qkv.device())?, heads)?;
    let grad = grouped(grad.reshape((rows, steps, queries, width))?.transpose(1, 2)?.contiguous()?)?;
    let dvalue = weights.t()?.matmul(&grad)?;
    let dweights = grad.matmul(&value.t()?)?;
    let mean = (&dweights * &weights)?.sum_keepdim(D::Minus1)?;
    let mut dscores = ((dweights.broadcast_sub(&mean)? * weights)? * f64::from(heads.scale()))?;
    if let Some(bend) = bend {
        dscores = (dscores * bend)?;
    }
    let dquery = dscores.matmul(&key)?.reshape((rows, queries, steps, width))?;
    let dkey = dscores.t()?.matmul(&grouped(query)?)?;
    let back = |x: Tensor| rope.rotate_from_start(&x, Turn::Back);
    let all = Tensor::cat(&[back(dquery)?, back(dkey)?, dvalue], 1)?;
    all.transpose(1, 2)?.reshape((rows * steps, heads.total()))?.to_dtype(qkv.dtype())
}

/// Attention by tensor operations, over separate heads. Computed in f32, returned in the format of `query`.
///
/// * `query`: `(B, queries, T, width)`; `key`, `value`: `(B, keys, L, width)`.
/// * `mask`: `(B or 1, T, L)`, added to the scores.
/// * Returns `(B * T, queries * width)`.
///
/// Source: Vaswani et al. 2017, eq. 1; Ainslie et al. 2023 for the groups.
pub(crate) fn plain(qkv: [&Tensor; 3], mask: &Tensor, heads: Heads) -> Result<Tensor> {
    let [query, key, value] = qkv;
    let (rows, queries, steps, width) = query.dims4()?;
    let (weights, _) = weights(query, &key.to_dtype(DType::F32)?, mask, heads)?;
    let mixed = weights.matmul(&value.to_dtype(DType::F32)?.contiguous()?)?.reshape((rows, queries, steps, width))?;
    mixed.transpose(1, 2)?.reshape((rows * steps, queries * width))?.to_dtype(query.dtype())
}

/// Weights of attention, in f32: `(B, keys, queries / keys * T, L)`, the query heads of one key head stacked in one
/// matrix. Returns also the derivative of the soft cap, if scores are capped. `key` is in f32.
fn weights(query: &Tensor, key: &Tensor, mask: &Tensor, heads: Heads) -> Result<(Tensor, Option<Tensor>)> {
    let (rows, queries, steps, width) = query.dims4()?;
    let (_, keys, slots, _) = key.dims4()?;
    let group = queries / keys;
    let query = query.to_dtype(DType::F32)?.contiguous()?.reshape((rows, keys, group * steps, width))?;
    let scale = heads.scores.scale.map_or_else(|| 1.0 / (width as f64).sqrt(), f64::from);
    let mut scores = (query.matmul(&key.transpose(2, 3)?.contiguous()?)? * scale)?;
    let mut bend = None;
    if let Some(cap) = heads.scores.cap.map(f64::from) {
        let bent = (scores / cap)?.tanh()?;
        bend = Some((1.0 - bent.detach().sqr()?)?);
        scores = (bent * cap)?;
    }
    let mask = mask.unsqueeze(1)?.unsqueeze(1)?;
    let scores = scores.reshape((rows, keys, group, steps, slots))?.broadcast_add(&mask)?;
    // Candle's faster softmax has no backward pass.
    let weights = match scores.track_op() {
        true => candle_nn::ops::softmax(&scores, D::Minus1)?,
        false => candle_nn::ops::softmax_last_dim(&scores)?,
    };
    Ok((weights.reshape((rows, keys, group * steps, slots))?, bend))
}

/// Splits `qkv` into queries, keys and values, `(B, heads, T, width)` each.
pub(crate) fn split(qkv: &Tensor, rows: usize, heads: Heads) -> Result<[Tensor; 3]> {
    let all = qkv.reshape((rows, qkv.dim(0)? / rows, heads.queries + 2 * heads.keys, heads.width))?;
    let part = |from: usize, count: usize| all.narrow(2, from, count)?.transpose(1, 2)?.contiguous();
    Ok([part(0, heads.queries)?, part(heads.queries, heads.keys)?, part(heads.queries + heads.keys, heads.keys)?])
}
