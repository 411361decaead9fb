//! Grouped-query self-attention of whole sequences, differentiable.

use candle_core::{CpuStorage, CustomOp1, D, DType, Device, Layout, Result, Shape, Tensor};
use rayon::prelude::*;

use super::attached::attached;
use super::can_fuse;
use super::rope::{RopeTable, Turn};
use super::rows::{Into, Matrix, dot, exp, max, product, slice, sum, wide, with_slice};
use super::training;

/// Queries scored at once; keeps a block of scores in the nearest cache.
const BLOCK: usize = 32;

/// How the width of queries, keys and values splits into heads.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Heads {
    /// Query heads.
    pub queries: usize,
    /// Key and value heads; divides the query heads.
    pub keys: usize,
    /// Width of a head.
    pub width: usize,
    /// What becomes of the scores.
    pub scores: Scores,
}

/// What becomes of scores before the softmax, where it is not what Llama does.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Scores {
    /// What they are multiplied by; one over the root of a head's width where none is named.
    pub scale: Option<f32>,
    /// Bound that they are bent under, `cap * tanh(score / cap)` (Gemma 2).
    pub cap: Option<f32>,
    /// Tokens that a token sees, itself included; all before it where none is named.
    pub window: Option<usize>,
}

impl Scores {
    /// Whether sequences of so many tokens have scores as Llama has them, which is what the fastest kernels compute.
    pub fn are_plain(&self, steps: usize) -> bool {
        self.cap.is_none() && self.window.is_none_or(|window| steps <= window)
    }

    /// The first slot that a token in `slot` sees, of those from `first` on.
    pub(super) fn first_seen(&self, first: usize, slot: usize) -> usize {
        self.window.map_or(first, |window| first.max((slot + 1).saturating_sub(window)))
    }
}

impl Heads {
    /// With scores as Llama has them.
    pub fn new(queries: usize, keys: usize, width: usize) -> Self {
        Heads { queries, keys, width, scores: Scores::default() }
    }

    /// Width of queries, keys and values side by side.
    pub fn total(&self) -> usize {
        (self.queries + 2 * self.keys) * self.width
    }

    /// What scores are multiplied by.
    pub(in crate::policy) fn scale(&self) -> f32 {
        self.scores.scale.unwrap_or_else(|| 1.0 / (self.width as f32).sqrt())
    }
}

/// Self-attention of whole sequences: token `t` sees tokens `0..=t`. Rotates queries and keys by their position.
///
/// * `qkv`: `(B * T, (queries + 2 keys) * width)`: queries, keys and values side by side; `rows` is `B`.
/// * Returns `(B * T, queries * width)`.
pub fn causal_attention(qkv: &Tensor, rows: usize, heads: Heads, rope: &RopeTable) -> Result<Tensor> {
    let steps = qkv.dim(0)? / rows;
    if !can_fuse([qkv]) || !heads.scores.are_plain(steps) {
        return by_tensors(qkv, rows, heads, rope);
    }
    qkv.contiguous()?.apply_op1(CausalAttention { steps, heads, rope: rope.clone() })
}

pub(super) fn plain_causal(qkv: &Tensor, rows: usize, heads: Heads, rope: &RopeTable) -> Result<Tensor> {
    let [query, key, value] = turned(qkv, rows, heads, rope)?;
    plain([&query, &key, &value], &causal_mask(qkv.dim(0)? / rows, heads.scores, qkv.device())?, heads)
}

/// Queries, keys and values apart, the first two rotated.
fn turned(qkv: &Tensor, rows: usize, heads: Heads, rope: &RopeTable) -> Result<[Tensor; 3]> {
    let [query, key, value] = split(qkv, rows, heads)?;
    let turned = |x: &Tensor| rope.rotate_from_start(x, Turn::Forward);
    Ok([turned(&query)?, turned(&key)?, value])
}

/// `(1, T, T)`: zero where a token may look, negative infinity elsewhere.
fn causal_mask(steps: usize, scores: Scores, device: &Device) -> Result<Tensor> {
    let positions = Tensor::arange(0, steps as u32, device)?;
    let (queries, keys) = (positions.reshape((steps, 1))?, positions.reshape((1, steps))?);
    let mut seen = queries.broadcast_ge(&keys)?;
    if let Some(window) = scores.window {
        let ends = Tensor::arange(window as u32, (window + steps) as u32, device)?.reshape((1, steps))?;
        seen = (seen * queries.broadcast_lt(&ends)?)?;
    }
    let hidden = Tensor::full(f32::NEG_INFINITY, (steps, steps), device)?;
    seen.where_cond(&hidden.zeros_like()?, &hidden)?.unsqueeze(0)
}

/// Keeps queries, keys and values alone: weights are computed again for the backward pass.
pub(super) fn by_tensors(qkv: &Tensor, rows: usize, heads: Heads, rope: &RopeTable) -> Result<Tensor> {
    let (inputs, rope) = (qkv.detach(), rope.clone());
    let plain_scores = heads.scores.are_plain(qkv.dim(0)? / rows) && rope.turns_all(heads.width);
    if plain_scores && training::serves(qkv) {
        let inputs = inputs.contiguous()?;
        let value = training::causal_attention(&inputs, rows, heads, rope.angles())?;
        return attached(value, &[qkv], move |grad| {
            let slope = training::causal_attention_slope(&inputs, rows, heads, rope.angles(), grad)?;
            Ok([Some(slope), None, None])
        });
    }
    let value = plain_causal(&inputs, rows, heads, &rope)?;
    attached(value, &[qkv], move |grad| Ok([Some(slope(&inputs, rows, heads, &rope, grad)?), None, None]))
}

/// Gradient by queries, keys and values side by side.
fn slope(qkv: &Tensor, rows: usize, heads: Heads, rope: &RopeTable, grad: &Tensor) -> Result<Tensor> {
    let Heads { queries, keys, width, .. } = heads;
    let steps = qkv.dim(0)? / rows;
    // Query heads of one key head below each other.
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

/// Attention by tensor operations, over heads that are already apart, in f32; returned in the format of `query`.
///
/// * `query`: `(B, queries, T, width)`; `key`, `value`: `(B, keys, L, width)`.
/// * `mask`: `(B or 1, T, L)`, added to the scores.
/// * Returns `(B * T, queries * width)`.
///
/// Source: Vaswani et al. 2017, eq. 1; Ainslie et al. 2023 for the groups.
pub(super) fn plain(qkv: [&Tensor; 3], mask: &Tensor, heads: Heads) -> Result<Tensor> {
    let [query, key, value] = qkv;
    let (rows, queries, steps, width) = query.dims4()?;
    let (weights, _) = weights(query, &key.to_dtype(DType::F32)?, mask, heads)?;
    let mixed = weights.matmul(&value.to_dtype(DType::F32)?.contiguous()?)?.reshape((rows, queries, steps, width))?;
    mixed.transpose(1, 2)?.reshape((rows * steps, queries * width))?.to_dtype(query.dtype())
}

/// How much each query takes of each value, in f32: `(B, keys, queries / keys * T, L)`, the query heads of one key head
/// below each other; and the slope by which scores are bent, where they are. `key` is in f32.
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
    // Candle's faster softmax records no backward.
    let weights = match scores.track_op() {
        true => candle_nn::ops::softmax(&scores, D::Minus1)?,
        false => candle_nn::ops::softmax_last_dim(&scores)?,
    };
    Ok((weights.reshape((rows, keys, group * steps, slots))?, bend))
}

/// Queries, keys and values `(B, heads, T, width)` out of what lies side by side.
pub(super) fn split(qkv: &Tensor, rows: usize, heads: Heads) -> Result<[Tensor; 3]> {
    let all = qkv.reshape((rows, qkv.dim(0)? / rows, heads.queries + 2 * heads.keys, heads.width))?;
    let part = |from: usize, count: usize| all.narrow(2, from, count)?.transpose(1, 2)?.contiguous();
    Ok([part(0, heads.queries)?, part(heads.queries, heads.keys)?, part(heads.queries + heads.keys, heads.keys)?])
}

struct CausalAttention {
    steps: usize,
    heads: Heads,
    rope: RopeTable,
}

/// One key head of one sequence, rotated: what all its query heads share.
struct KeyHead<'a> {
    /// `(T, width)`.
    keys: &'a [f32],
    /// `(T, width)`, rows `stride` apart.
    values: &'a [f32],
    stride: usize,
}

impl CausalAttention {
    /// Copies one head of a sequence into rows of its own, rotated.
    #[inline(always)]
    fn gather(&self, out: &mut [f32], qkv: &[f32], column: usize) {
        let (width, total) = (self.heads.width, self.heads.total());
        for (position, out) in out.chunks_exact_mut(width).enumerate() {
            self.rope.turn(out, &qkv[position * total + column..][..width], position, Turn::Forward);
        }
    }

    /// Fills `weights` (rows of `steps`) with the attention of queries `from..to` over the keys they see.
    fn weights(&self, weights: &mut [f32], queries: &[f32], keys: &[f32], (from, to): (usize, usize)) {
        let (width, steps) = (self.heads.width, self.steps);
        let queries = Matrix::new(&queries[from * width..], to - from, width, width);
        let keys = Matrix::new(keys, to, width, width).t();
        product(weights, steps, queries, keys, (self.heads.scale(), Into::Overwrite));
        wide(
            #[inline(always)]
            || {
                for (row, query) in weights.chunks_mut(steps).zip(from..to) {
                    let (seen, hidden) = row[..to].split_at_mut(query + 1);
                    softmax(seen);
                    hidden.fill(0.0);
                }
            },
        );
    }

    fn forward_sequence(&self, out: &mut [f32], qkv: &[f32]) {
        let Heads { queries, keys, width, .. } = self.heads;
        let (steps, out_width, total) = (self.steps, queries * width, self.heads.total());
        let (mut key, mut query) = (vec![0.0; steps * width], vec![0.0; steps * width]);
        let mut weights = vec![0.0; BLOCK * steps];
        for head in 0..queries {
            let key_head = head / (queries / keys);
            if head.is_multiple_of(queries / keys) {
                self.gather(&mut key, qkv, (queries + key_head) * width);
            }
            self.gather(&mut query, qkv, head * width);
            let values = &qkv[(queries + keys + key_head) * width..];
            for from in (0..steps).step_by(BLOCK) {
                let to = (from + BLOCK).min(steps);
                self.weights(&mut weights, &query, &key, (from, to));
                let seen = Matrix::new(&weights, to - from, to, steps);
                let values = Matrix::new(values, to, width, total);
                let out = &mut out[from * out_width + head * width..];
                product(out, out_width, seen, values, (1.0, Into::Overwrite));
            }
        }
    }

    fn backward_sequence(&self, dqkv: &mut [f32], qkv: &[f32], grad: &[f32]) {
        let Heads { queries, keys, width, .. } = self.heads;
        let (steps, total) = (self.steps, self.heads.total());
        let mut key = vec![0.0; steps * width];
        let mut dkey = vec![0.0; steps * width];
        for key_head in 0..keys {
            let value_column = (queries + keys + key_head) * width;
            self.gather(&mut key, qkv, (queries + key_head) * width);
            dkey.fill(0.0);
            let shared = KeyHead { keys: &key, values: &qkv[value_column..], stride: total };
            for head in key_head * (queries / keys)..(key_head + 1) * (queries / keys) {
                self.backward_head((dqkv, &mut dkey), qkv, grad, &shared, head);
            }
            self.scatter(dqkv, &dkey, (queries + key_head) * width);
        }
    }

    /// Gradients of one query head: its own columns of `dqkv`, and its share of keys and values.
    fn backward_head(
        &self,
        (dqkv, dkey): (&mut [f32], &mut [f32]),
        qkv: &[f32],
        grad: &[f32],
        shared: &KeyHead<'_>,
        head: usize,
    ) {
        let Heads { queries, keys, width, .. } = self.heads;
        let (steps, out_width, total) = (self.steps, queries * width, self.heads.total());
        let value_column = (queries + keys + head / (queries / keys)) * width;
        let (mut query, mut dquery) = (vec![0.0; steps * width], vec![0.0; steps * width]);
        let (mut weights, mut dweights) = (vec![0.0; BLOCK * steps], vec![0.0; BLOCK * steps]);
        self.gather(&mut query, qkv, head * width);
        for from in (0..steps).step_by(BLOCK) {
            let to = (from + BLOCK).min(steps);
            let rows = to - from;
            self.weights(&mut weights, &query, shared.keys, (from, to));
            let grad = Matrix::new(&grad[from * out_width + head * width..], rows, width, out_width);
            let seen = Matrix::new(&weights, rows, to, steps);
            product(&mut dqkv[value_column..], total, seen.t(), grad, (1.0, Into::Add));
            let values = Matrix::new(shared.values, to, width, shared.stride);
            product(&mut dweights, steps, grad, values.t(), (1.0, Into::Overwrite));
            softmax_gradient(&mut dweights[..rows * steps], &weights, steps, to);
            let dscores = Matrix::new(&dweights, rows, to, steps);
            let scale = self.heads.scale();
            let keys = Matrix::new(shared.keys, to, width, width);
            product(&mut dquery[from * width..], width, dscores, keys, (scale, Into::Overwrite));
            let queries = Matrix::new(&query[from * width..], rows, width, width);
            product(dkey, width, dscores.t(), queries, (scale, Into::Add));
        }
        self.scatter(dqkv, &dquery, head * width);
    }

    /// Writes one head's gradients back to their columns, rotated back.
    fn scatter(&self, dqkv: &mut [f32], head: &[f32], column: usize) {
        let (width, total) = (self.heads.width, self.heads.total());
        for (position, head) in head.chunks_exact(width).enumerate() {
            self.rope.turn(&mut dqkv[position * total + column..][..width], head, position, Turn::Back);
        }
    }
}

#[inline(always)]
pub(super) fn softmax(scores: &mut [f32]) {
    let top = max(scores);
    for score in scores.iter_mut() {
        *score = exp(*score - top);
    }
    let inverse = 1.0 / sum(scores);
    for score in scores {
        *score *= inverse;
    }
}

/// Turns gradients of weights into gradients of scores, row by row: `w (dw - sum w dw)`.
fn softmax_gradient(dweights: &mut [f32], weights: &[f32], stride: usize, seen: usize) {
    wide(
        #[inline(always)]
        || {
            for (dweights, weights) in dweights.chunks_mut(stride).zip(weights.chunks(stride)) {
                let (dweights, weights) = (&mut dweights[..seen], &weights[..seen]);
                let mean = dot(dweights, weights);
                for (dweight, weight) in dweights.iter_mut().zip(weights) {
                    *dweight = weight * (*dweight - mean);
                }
            }
        },
    );
}

impl CustomOp1 for CausalAttention {
    fn name(&self) -> &'static str {
        "causal_attention"
    }

    fn cpu_fwd(&self, qkv: &CpuStorage, layout: &Layout) -> Result<(CpuStorage, Shape)> {
        let qkv = slice(qkv, layout)?;
        let (count, total) = layout.shape().dims2()?;
        let width = self.heads.queries * self.heads.width;
        let mut out = vec![0.0; count * width];
        let sequences = out.par_chunks_mut(self.steps * width).zip(qkv.par_chunks(self.steps * total));
        sequences.for_each(|(out, qkv)| self.forward_sequence(out, qkv));
        Ok((CpuStorage::F32(out), (count, width).into()))
    }

    fn bwd(&self, qkv: &Tensor, _: &Tensor, grad: &Tensor) -> Result<Option<Tensor>> {
        let (count, total) = qkv.dims2()?;
        let width = self.heads.queries * self.heads.width;
        let mut dqkv = vec![0.0; count * total];
        with_slice(qkv, |qkv| {
            with_slice(grad, |grad| {
                let sequences = dqkv.par_chunks_mut(self.steps * total).zip(qkv.par_chunks(self.steps * total));
                let sequences = sequences.zip(grad.par_chunks(self.steps * width));
                sequences.for_each(|((dqkv, qkv), grad)| self.backward_sequence(dqkv, qkv, grad));
                Ok(())
            })
        })?;
        Ok(Some(Tensor::from_vec(dqkv, (count, total), qkv.device())?))
    }
}
