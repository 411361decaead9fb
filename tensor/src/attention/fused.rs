//! Grouped-query self-attention of whole sequences on the CPU, in f32.

use candle_core::{CpuStorage, CustomOp1, Layout, Result, Shape, Tensor};
use rayon::prelude::*;

use crate::Heads;
use crate::attention::rope::{RopeTable, Turn};
use crate::attention::spans::{Span, Spans};
use crate::rows::{Matrix, dot, exp, max, slice, sum, wide, with_slice};

/// Queries scored at once: the scores of one block of them stay in the L1 cache.
const BLOCK: usize = 32;

pub(super) struct CausalAttention {
    pub spans: Spans,
    pub heads: Heads,
    pub rope: RopeTable,
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

/// Queries of a sequence that are scored at once: those of its own tokens `from..to`.
#[derive(Clone, Copy)]
struct QueryBlock {
    span: Span,
    from: usize,
    to: usize,
}

impl QueryBlock {
    /// All queries of a sequence, in order.
    fn all(span: Span) -> impl Iterator<Item = Self> {
        (0..span.own).step_by(BLOCK).map(move |from| QueryBlock { span, from, to: (from + BLOCK).min(span.own) })
    }

    fn rows(&self) -> usize {
        self.to - self.from
    }

    /// Keys that the last query sees.
    fn seen(&self) -> usize {
        self.span.shared + self.to
    }
}

/// The columns of one head.
#[derive(Clone, Copy)]
struct HeadColumns {
    /// The first of them.
    column: usize,
    /// Numbers from one row to the next.
    stride: usize,
}

/// What the backward pass reads of a batch for one of its sequences.
#[derive(Clone, Copy)]
struct SequenceGrad<'a> {
    span: Span,
    /// `(N, total)`: the whole batch.
    qkv: &'a [f32],
    /// Gradient of the outputs of the sequence's own tokens, `(own, queries * width)`.
    grad: &'a [f32],
}

impl CausalAttention {
    /// Copies one head of a span's own tokens to `out`, rotated.
    #[inline(always)]
    fn turned(&self, out: &mut [f32], qkv: &[f32], column: usize, span: Span) {
        let (width, total) = (self.heads.width, self.heads.total());
        for (step, out) in out.chunks_exact_mut(width).enumerate() {
            let x = &qkv[(span.start + step) * total + column..][..width];
            self.rope.turn(out, x, span.shared + step, Turn::Forward);
        }
    }

    /// Collects the keys and values of one head that a sequence sees.
    fn gather(&self, out: &mut KeyHead, qkv: &[f32], span: Span, key_head: usize) {
        let Heads { queries, keys, width, .. } = self.heads;
        let (shared, own) = out.keys.split_at_mut(span.shared * width);
        let column = (queries + key_head) * width;
        self.turned(shared, qkv, column, span.beginning());
        self.turned(own, qkv, column, span);
        let (column, total) = ((queries + keys + key_head) * width, self.heads.total());
        let tokens = (0..span.shared).chain(span.start..span.start + span.own);
        for (value, token) in out.values.chunks_exact_mut(width).zip(tokens) {
            value.copy_from_slice(&qkv[token * total + column..][..width]);
        }
    }

    /// Fills `weights`, rows of `span.seen()`, with the weights of some queries over the keys they see.
    fn weights(&self, weights: &mut [f32], queries: &[f32], keys: &[f32], block: QueryBlock) {
        let (width, QueryBlock { span, from, to }) = (self.heads.width, block);
        let queries = Matrix::new(&queries[from * width..], block.rows(), width, width);
        let keys = Matrix::new(keys, block.seen(), width, width).t();
        queries.times(keys).scaled(self.heads.scale()).write(weights, span.seen());
        wide(
            #[inline(always)]
            || {
                for (row, query) in weights.chunks_mut(span.seen()).zip(from..to) {
                    let (before, after) = row[..block.seen()].split_at_mut(span.shared + query + 1);
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
            self.turned(&mut query, qkv, head * width, span);
            for block in QueryBlock::all(span) {
                self.weights(&mut weights, &query, &shared.keys, block);
                let seen = Matrix::new(&weights, block.rows(), block.seen(), span.seen());
                let values = Matrix::new(&shared.values, block.seen(), width, width);
                seen.times(values).write(&mut out[block.from * out_width + head * width..], out_width);
            }
        }
    }

    /// Fills `dqkv`, the gradient by the sequence's own tokens. Returns the sequence's share of the gradient by the
    /// shared tokens, `(shared, 2 keys * width)`: keys, then values.
    fn backward_sequence(&self, dqkv: &mut [f32], of: SequenceGrad<'_>) -> Vec<f32> {
        let (Heads { queries, keys, width, .. }, span) = (self.heads, of.span);
        let (mut shared, mut slope) = (KeyHead::new(span.seen(), width), KeyHead::new(span.seen(), width));
        let mut dshared = vec![0.0; span.shared * 2 * keys * width];
        for key_head in 0..keys {
            self.gather(&mut shared, of.qkv, span, key_head);
            slope.keys.fill(0.0);
            slope.values.fill(0.0);
            for head in key_head * (queries / keys)..(key_head + 1) * (queries / keys) {
                self.backward_head(dqkv, &mut slope, of, &shared, head);
            }
            let of_shared = |head: usize| HeadColumns { column: head * width, stride: 2 * keys * width };
            let of_own = |head: usize| self.columns(queries + head);
            let (to, own) = slope.keys.split_at(span.shared * width);
            self.scatter(&mut dshared, to, of_shared(key_head), 0);
            self.scatter(dqkv, own, of_own(key_head), span.shared);
            let (to, own) = slope.values.split_at(span.shared * width);
            copy(&mut dshared, to, width, of_shared(keys + key_head));
            copy(dqkv, own, width, of_own(keys + key_head));
        }
        dshared
    }

    /// Gradients of one query head: fills its columns of `dqkv`, and accumulates its share of the gradients by keys
    /// and values.
    fn backward_head(
        &self,
        dqkv: &mut [f32],
        slope: &mut KeyHead,
        SequenceGrad { span, qkv, grad }: SequenceGrad<'_>,
        shared: &KeyHead,
        head: usize,
    ) {
        let width = self.heads.width;
        let (total_seen, out_width) = (span.seen(), self.heads.queries * width);
        let (mut query, mut dquery) = (vec![0.0; span.own * width], vec![0.0; span.own * width]);
        let (mut weights, mut dweights) = (vec![0.0; BLOCK * total_seen], vec![0.0; BLOCK * total_seen]);
        self.turned(&mut query, qkv, head * width, span);
        for block in QueryBlock::all(span) {
            let (from, rows, seen_by) = (block.from, block.rows(), block.seen());
            self.weights(&mut weights, &query, &shared.keys, block);
            let grad = Matrix::new(&grad[from * out_width + head * width..], rows, width, out_width);
            let seen = Matrix::new(&weights, rows, seen_by, total_seen);
            seen.t().times(grad).add_to(&mut slope.values, width);
            let values = Matrix::new(&shared.values, seen_by, width, width);
            grad.times(values.t()).write(&mut dweights, total_seen);
            softmax_gradient(&mut dweights[..rows * total_seen], &weights, total_seen, seen_by);
            let dscores = Matrix::new(&dweights, rows, seen_by, total_seen);
            let scale = self.heads.scale();
            let keys = Matrix::new(&shared.keys, seen_by, width, width);
            dscores.times(keys).scaled(scale).write(&mut dquery[from * width..], width);
            let queries = Matrix::new(&query[from * width..], rows, width, width);
            dscores.t().times(queries).scaled(scale).add_to(&mut slope.keys, width);
        }
        self.scatter(dqkv, &dquery, self.columns(head), span.shared);
    }

    /// The columns of a head in `qkv`: of queries, then keys, then values.
    fn columns(&self, head: usize) -> HeadColumns {
        HeadColumns { column: head * self.heads.width, stride: self.heads.total() }
    }

    /// Writes one head's gradients to their column, rotated back. The first of them is at position `first`.
    fn scatter(&self, out: &mut [f32], head: &[f32], to: HeadColumns, first: usize) {
        let (width, HeadColumns { column, stride }) = (self.heads.width, to);
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
fn copy(out: &mut [f32], head: &[f32], width: usize, HeadColumns { column, stride }: HeadColumns) {
    for (step, head) in head.chunks_exact(width).enumerate() {
        out[step * stride + column..][..width].copy_from_slice(head);
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
                self.backward_sequence(dqkv, SequenceGrad { span, qkv, grad })
            });
            let dshared: Vec<Vec<f32>> = dshared.collect();
            self.add_shared(&mut dqkv, &dshared);
            Ok(())
        };
        with_slice(qkv, |qkv| with_slice(grad, |grad| backward(qkv, grad)))?;
        Ok(Some(Tensor::from_vec(dqkv, (count, total), qkv.device())?))
    }
}
