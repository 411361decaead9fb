//! Grouped-query self-attention of whole sequences, differentiable.

pub(crate) mod cached;
pub(crate) mod gpu;
mod heads;
pub(crate) mod rope;
pub(crate) mod spans;

use candle_core::{CpuStorage, CustomOp1, D, DType, Device, Layout, Result, Shape, Tensor};
use rayon::prelude::*;

use crate::attached::attached;
use crate::attention::rope::{RopeTable, Turn};
use crate::attention::spans::{Span, Spans};
use crate::rows::{Into, Matrix, dot, exp, max, product, slice, sum, wide, with_slice};
use crate::{can_fuse, on_gpu};
pub use heads::{Heads, Scores};

/// Queries scored at once: the scores of one block of them stay in the L1 cache.
const BLOCK: usize = 32;

/// Causal self-attention of whole sequences. A token sees itself, the tokens before it and the shared beginning.
/// Queries and keys are rotated by their position.
///
/// * `qkv`: `(N, (queries + 2 keys) * width)`: queries, keys and values side by side; `N` is the number of tokens.
/// * Returns `(N, queries * width)`.
pub fn causal_attention(qkv: &Tensor, spans: &Spans, heads: Heads, rope: &RopeTable) -> Result<Tensor> {
    if !can_fuse([qkv]) || !heads.scores.are_plain(spans.longest()) {
        return by_tensors(qkv, spans.rows()?, heads, rope);
    }
    qkv.contiguous()?.apply_op1(CausalAttention { spans: spans.clone(), heads, rope: rope.clone() })
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

/// `(1, T, T)`: zero where a query sees the key, negative infinity elsewhere.
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

/// Keeps only `qkv` for the backward pass, which computes the weights again.
pub(crate) fn by_tensors(qkv: &Tensor, rows: usize, heads: Heads, rope: &RopeTable) -> Result<Tensor> {
    let (inputs, rope) = (qkv.detach(), rope.clone());
    let plain_scores = heads.scores.are_plain(qkv.dim(0)? / rows) && rope.turns_all(heads.width);
    if plain_scores && on_gpu(qkv) {
        let inputs = inputs.contiguous()?;
        let value = gpu::causal_attention(&inputs, rows, heads, rope.angles())?;
        return attached(value, &[qkv], move |grad| {
            let slope = gpu::causal_attention_slope(&inputs, rows, heads, rope.angles(), grad)?;
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

struct CausalAttention {
    spans: Spans,
    heads: Heads,
    rope: RopeTable,
}

/// Keys and values of one key head of a sequence; its query heads share them.
struct KeyHead {
    /// Rotated, `(seen, width)`.
    keys: Vec<f32>,
    /// `(seen, width)`.
    values: Vec<f32>,
}

impl KeyHead {
    fn new(seen: usize, width: usize) -> Self {
        KeyHead { keys: vec![0.0; seen * width], values: vec![0.0; seen * width] }
    }
}

impl CausalAttention {
    /// Copies one head of the tokens from `start` on to `out`, rotated. The first of these tokens is at position
    /// `first`.
    #[inline(always)]
    fn turned(&self, out: &mut [f32], qkv: &[f32], column: usize, (start, first): (usize, usize)) {
        let (width, total) = (self.heads.width, self.heads.total());
        for (step, out) in out.chunks_exact_mut(width).enumerate() {
            let x = &qkv[(start + step) * total + column..][..width];
            self.rope.turn(out, x, first + step, Turn::Forward);
        }
    }

    /// Collects the keys and values of one head that a sequence sees.
    fn gather(&self, out: &mut KeyHead, qkv: &[f32], span: Span, key_head: usize) {
        let Heads { queries, keys, width, .. } = self.heads;
        let (shared, own) = out.keys.split_at_mut(span.shared * width);
        let column = (queries + key_head) * width;
        self.turned(shared, qkv, column, (0, 0));
        self.turned(own, qkv, column, (span.start, span.shared));
        let (column, total) = ((queries + keys + key_head) * width, self.heads.total());
        let tokens = (0..span.shared).chain(span.start..span.start + span.own);
        for (value, token) in out.values.chunks_exact_mut(width).zip(tokens) {
            value.copy_from_slice(&qkv[token * total + column..][..width]);
        }
    }

    /// Fills `weights`, rows of `span.seen()`, with the weights of a sequence's own queries `from..to` over the keys
    /// they see.
    fn weights(&self, weights: &mut [f32], queries: &[f32], keys: &[f32], (span, from, to): (Span, usize, usize)) {
        let (width, seen) = (self.heads.width, span.shared + to);
        let queries = Matrix::new(&queries[from * width..], to - from, width, width);
        let keys = Matrix::new(keys, seen, width, width).t();
        product(weights, span.seen(), queries, keys, (self.heads.scale(), Into::Overwrite));
        wide(
            #[inline(always)]
            || {
                for (row, query) in weights.chunks_mut(span.seen()).zip(from..to) {
                    let (before, after) = row[..seen].split_at_mut(span.shared + query + 1);
                    softmax(before);
                    after.fill(0.0);
                }
            },
        );
    }

    /// `out` holds the sequence's own tokens, `qkv` the whole batch.
    fn forward_sequence(&self, out: &mut [f32], qkv: &[f32], span: Span) {
        let Heads { queries, keys, width, .. } = self.heads;
        let out_width = queries * width;
        let (mut shared, mut query) = (KeyHead::new(span.seen(), width), vec![0.0; span.own * width]);
        let mut weights = vec![0.0; BLOCK * span.seen()];
        for head in 0..queries {
            if head.is_multiple_of(queries / keys) {
                self.gather(&mut shared, qkv, span, head / (queries / keys));
            }
            self.turned(&mut query, qkv, head * width, (span.start, span.shared));
            for from in (0..span.own).step_by(BLOCK) {
                let to = (from + BLOCK).min(span.own);
                self.weights(&mut weights, &query, &shared.keys, (span, from, to));
                let seen = Matrix::new(&weights, to - from, span.shared + to, span.seen());
                let values = Matrix::new(&shared.values, span.shared + to, width, width);
                let out = &mut out[from * out_width + head * width..];
                product(out, out_width, seen, values, (1.0, Into::Overwrite));
            }
        }
    }

    /// Fills `dqkv`, the gradient by the sequence's own tokens. `grad` is the gradient of their outputs, `qkv` holds
    /// the whole batch. Returns the sequence's share of the gradient by the shared tokens, `(shared, 2 keys * width)`:
    /// keys, then values.
    fn backward_sequence(&self, dqkv: &mut [f32], qkv: &[f32], grad: &[f32], span: Span) -> Vec<f32> {
        let Heads { queries, keys, width, .. } = self.heads;
        let (mut shared, mut slope) = (KeyHead::new(span.seen(), width), KeyHead::new(span.seen(), width));
        let mut dshared = vec![0.0; span.shared * 2 * keys * width];
        for key_head in 0..keys {
            self.gather(&mut shared, qkv, span, key_head);
            slope.keys.fill(0.0);
            slope.values.fill(0.0);
            for head in key_head * (queries / keys)..(key_head + 1) * (queries / keys) {
                self.backward_head((dqkv, &mut slope), (qkv, grad), &shared, (span, head));
            }
            let [key_column, value_column] = [key_head, keys + key_head].map(|head| head * width);
            let (to, own) = slope.keys.split_at(span.shared * width);
            self.scatter(&mut dshared, to, (key_column, 2 * keys * width), 0);
            self.scatter(dqkv, own, (queries * width + key_column, self.heads.total()), span.shared);
            let (to, own) = slope.values.split_at(span.shared * width);
            copy(&mut dshared, to, width, (value_column, 2 * keys * width));
            copy(dqkv, own, width, (queries * width + value_column, self.heads.total()));
        }
        dshared
    }

    /// Gradients of one query head: fills its columns of `dqkv`, and accumulates its share of the gradients by keys
    /// and values.
    fn backward_head(
        &self,
        (dqkv, slope): (&mut [f32], &mut KeyHead),
        (qkv, grad): (&[f32], &[f32]),
        shared: &KeyHead,
        (span, head): (Span, usize),
    ) {
        let width = self.heads.width;
        let (total_seen, out_width) = (span.seen(), self.heads.queries * width);
        let (mut query, mut dquery) = (vec![0.0; span.own * width], vec![0.0; span.own * width]);
        let (mut weights, mut dweights) = (vec![0.0; BLOCK * total_seen], vec![0.0; BLOCK * total_seen]);
        self.turned(&mut query, qkv, head * width, (span.start, span.shared));
        for from in (0..span.own).step_by(BLOCK) {
            let to = (from + BLOCK).min(span.own);
            let (rows, seen_by) = (to - from, span.shared + to);
            self.weights(&mut weights, &query, &shared.keys, (span, from, to));
            let grad = Matrix::new(&grad[from * out_width + head * width..], rows, width, out_width);
            let seen = Matrix::new(&weights, rows, seen_by, total_seen);
            product(&mut slope.values, width, seen.t(), grad, (1.0, Into::Add));
            let values = Matrix::new(&shared.values, seen_by, width, width);
            product(&mut dweights, total_seen, grad, values.t(), (1.0, Into::Overwrite));
            softmax_gradient(&mut dweights[..rows * total_seen], &weights, total_seen, seen_by);
            let dscores = Matrix::new(&dweights, rows, seen_by, total_seen);
            let scale = self.heads.scale();
            let keys = Matrix::new(&shared.keys, seen_by, width, width);
            product(&mut dquery[from * width..], width, dscores, keys, (scale, Into::Overwrite));
            let queries = Matrix::new(&query[from * width..], rows, width, width);
            product(&mut slope.keys, width, dscores.t(), queries, (scale, Into::Add));
        }
        self.scatter(dqkv, &dquery, (head * width, self.heads.total()), span.shared);
    }

    /// Writes one head's gradients to their column, rotated back. The first of them is at position `first`.
    fn scatter(&self, out: &mut [f32], head: &[f32], (column, stride): (usize, usize), first: usize) {
        let width = self.heads.width;
        for (step, head) in head.chunks_exact(width).enumerate() {
            self.rope.turn(&mut out[step * stride + column..][..width], head, first + step, Turn::Back);
        }
    }

    /// Splits a batch with `width` numbers per token into the parts of the sequences.
    fn split<'a>(&self, mut all: &'a mut [f32], width: usize) -> Vec<(Span, &'a mut [f32])> {
        let part = |span: Span| {
            let (part, rest) = std::mem::take(&mut all).split_at_mut(span.own * width);
            all = rest;
            (span, part)
        };
        self.spans.parts().map(part).collect()
    }

    /// Accumulates the sequences' shares of the gradient by the shared tokens, in the order of the sequences.
    fn add_shared(&self, dqkv: &mut [f32], of_sequences: &[Vec<f32>]) {
        let Heads { queries, keys, width, .. } = self.heads;
        let columns = queries * width..self.heads.total();
        for dshared in of_sequences {
            let tokens = dqkv.chunks_exact_mut(self.heads.total()).zip(dshared.chunks_exact(2 * keys * width));
            for (dqkv, dshared) in tokens {
                dqkv[columns.clone()].iter_mut().zip(dshared).for_each(|(sum, slope)| *sum += slope);
            }
        }
    }
}

/// Writes one head's rows to its column.
fn copy(out: &mut [f32], head: &[f32], width: usize, (column, stride): (usize, usize)) {
    for (step, head) in head.chunks_exact(width).enumerate() {
        out[step * stride + column..][..width].copy_from_slice(head);
    }
}

#[inline(always)]
pub(crate) fn softmax(scores: &mut [f32]) {
    let top = max(scores);
    for score in scores.iter_mut() {
        *score = exp(*score - top);
    }
    let inverse = 1.0 / sum(scores);
    for score in scores {
        *score *= inverse;
    }
}

/// Turns gradients by weights into gradients by scores, row by row and in place: `w (dw - sum w dw)`.
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
        let (count, _) = layout.shape().dims2()?;
        let width = self.heads.queries * self.heads.width;
        let mut out = vec![0.0; count * width];
        self.split(&mut out, width).into_par_iter().for_each(|(span, out)| self.forward_sequence(out, qkv, span));
        Ok((CpuStorage::F32(out), (count, width).into()))
    }

    fn bwd(&self, qkv: &Tensor, _: &Tensor, grad: &Tensor) -> Result<Option<Tensor>> {
        let (count, total) = qkv.dims2()?;
        let width = self.heads.queries * self.heads.width;
        let mut dqkv = vec![0.0; count * total];
        let mut backward = |qkv: &[f32], grad: &[f32]| {
            let sequences = self.split(&mut dqkv, total).into_par_iter();
            let dshared = sequences.map(|(span, dqkv)| {
                let grad = &grad[span.start * width..][..span.own * width];
                self.backward_sequence(dqkv, qkv, grad, span)
            });
            let dshared: Vec<Vec<f32>> = dshared.collect();
            self.add_shared(&mut dqkv, &dshared);
            Ok(())
        };
        with_slice(qkv, |qkv| with_slice(grad, |grad| backward(qkv, grad)))?;
        Ok(Some(Tensor::from_vec(dqkv, (count, total), qkv.device())?))
    }
}
