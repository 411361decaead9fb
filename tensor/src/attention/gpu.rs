//! Causal self-attention of whole sequences.
//!
//! Scores are computed a block at a time: some tokens of some sequences, and only the keys up to the block's last
//! token. The backward pass computes them again.

use std::ops::Range;

use candle_core::{DType, Result, Tensor};

use crate::Heads;
use crate::gpu::launch::{Gpu, WARPS};
use crate::gpu::params::params;
use crate::gpu::products::{Matrices, Products};

params! {
    /// Splits queries, keys and values, which lie side by side, into heads.
    SplitHeads {
        query: u64, key: u64, value: u64, qkv: u64, cosines: u64, sines: u64,
        tokens: u32, queries: u32, key_heads: u32, head: u32,
    }
    /// Moves query heads between the two layouts: by head, and side by side.
    MoveHeads {
        apart: u64, together: u64, tokens: u32, queries: u32, key_heads: u32, head: u32, apart_is_read: u32,
        padding: u32,
    }
    /// Turns scores into weights of attention, and gradients by weights into gradients by scores.
    Softmax {
        weights: u64, scores: u64, rows: u64,
        stride: u32, columns: u32, rows_each: u32, group: u32, first: u32, scale: f32,
    }
}

/// How much of the scores exists at once.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Limits {
    /// Bytes of f32 scores at once. The scores of one token are held even if they are more.
    pub score_bytes: usize,
    /// Tokens of a sequence in one block. With fewer tokens, fewer scores of later keys are computed in vain.
    pub tokens: usize,
}

/// Bytes of f32 scores that exist at once: enough to keep all of a GPU busy, and little of its memory.
pub const SCORE_BYTES: usize = 256 << 20;

const LIMITS: Limits = Limits { score_bytes: SCORE_BYTES, tokens: 256 };

/// Some tokens of some sequences.
struct Block {
    sequences: Range<usize>,
    tokens: Range<usize>,
}

impl Block {
    /// Numbers from one row of scores to the next, so that each row begins at a multiple of 16 bytes in every format.
    fn stride(&self) -> usize {
        self.tokens.end.next_multiple_of(8)
    }
}

/// Queries, keys and values, or their gradients, separated by head.
struct Apart {
    /// `(sequences, key heads, tokens, group, width)`.
    query: Tensor,
    /// `(sequences, key heads, tokens, width)`.
    key: Tensor,
    /// `(sequences, key heads, tokens, width)`.
    value: Tensor,
}

/// Causal self-attention, by the sizes of one pass.
pub(crate) struct Attention<'a> {
    gpu: Gpu,
    heads: Heads,
    sequences: usize,
    tokens: usize,
    dtype: DType,
    /// Cosines and sines, `(positions, width / 2)` each, f32.
    angles: [&'a Tensor; 2],
    pub limits: Limits,
}

impl<'a> Attention<'a> {
    /// * `qkv`: `(sequences * tokens, total)`, contiguous; `angles`: cosines and sines by position, f32.
    pub fn new(qkv: &Tensor, sequences: usize, heads: Heads, angles: [&'a Tensor; 2]) -> Result<Self> {
        let tokens = qkv.dim(0)? / sequences;
        Ok(Attention { gpu: Gpu::of(qkv)?, heads, sequences, tokens, dtype: qkv.dtype(), angles, limits: LIMITS })
    }

    /// Query heads that share a key head.
    fn group(&self) -> usize {
        self.heads.queries / self.heads.keys
    }

    /// Returns `(sequences * tokens, queries * width)`.
    pub fn forward(&self, qkv: &Tensor) -> Result<Tensor> {
        let Heads { queries, width, .. } = self.heads;
        let apart = self.split(qkv)?;
        let mixed = self.gpu.empty(apart.query.shape(), self.dtype)?;
        let (scores, weights) = self.scratch()?;
        for block in self.blocks() {
            self.weigh(&block, &apart, &scores, &weights)?;
            let (weights, values) = (self.of_scores(&block, &weights)?, self.of_keys(&block, &apart.value)?);
            self.product(&block, Shape::BySeen, self.of_queries(&block, &mixed)?, weights, values)?;
        }
        let out = self.gpu.empty((self.sequences * self.tokens, queries * width), self.dtype)?;
        self.move_heads(&mixed, &out, 1)?;
        Ok(out)
    }

    /// Gradient by `qkv`; `slope` is the gradient of the output, contiguous.
    pub fn backward(&self, qkv: &Tensor, slope: &Tensor) -> Result<Tensor> {
        let apart = self.split(qkv)?;
        let Apart { query, key, value } = &apart;
        let mixed = self.gpu.empty(query.shape(), self.dtype)?;
        self.move_heads(&mixed, slope, 0)?;
        let wide = |like: &Tensor| self.gpu.empty(like.shape(), DType::F32);
        let slopes = Apart { query: wide(query)?, key: wide(key)?, value: wide(value)? };
        let (scores, weights) = self.scratch()?;
        for block in self.blocks() {
            self.weigh(&block, &apart, &scores, &weights)?;
            let (of_weights, of_scores) = (self.of_scores(&block, &weights)?, self.of_scores(&block, &scores)?);
            let [of_query, of_mixed] = [query, &mixed].map(|tensor| self.of_queries(&block, tensor));
            let (of_query, of_mixed) = (of_query?, of_mixed?);
            let to_values = self.of_keys(&block, &slopes.value)?;
            self.product(&block, Shape::ToKeys, to_values, of_weights.t(), of_mixed)?;
            self.product(&block, Shape::Scores, of_scores, of_mixed, self.of_keys(&block, value)?.t())?;
            self.softmax(&block, "causal_softmax_slope", &scores, &weights)?;
            let to_queries = self.of_queries(&block, &slopes.query)?;
            self.product(&block, Shape::BySeen, to_queries, of_weights, self.of_keys(&block, key)?)?;
            let to_keys = self.of_keys(&block, &slopes.key)?;
            self.product(&block, Shape::ToKeys, to_keys, of_weights.t(), of_query)?;
        }
        let out = self.gpu.empty(qkv.shape(), self.dtype)?;
        self.heads_kernel("merge_heads", &slopes, &out)?;
        Ok(out)
    }

    /// The last tokens of a sequence come first: they see all keys, so their block writes the gradients by all keys
    /// and values, and the blocks after it accumulate into them.
    fn blocks(&self) -> Vec<Block> {
        let bytes_of_a_token = self.heads.queries * self.tokens.next_multiple_of(8) * DType::F32.size_in_bytes();
        let fitting = self.limits.score_bytes / bytes_of_a_token;
        let step = self.limits.tokens.min(self.tokens).min(fitting).max(1);
        let together = (fitting / step).clamp(1, self.sequences);
        let mut blocks = Vec::new();
        for first in (0..self.sequences).step_by(together) {
            for last in (1..=self.tokens.div_ceil(step)).rev() {
                let tokens = (last - 1) * step..(last * step).min(self.tokens);
                blocks.push(Block { sequences: first..(first + together).min(self.sequences), tokens });
            }
        }
        blocks
    }

    /// Room for the scores of the largest block, and for the weights made of the scores.
    fn scratch(&self) -> Result<(Tensor, Tensor)> {
        let of = |block: &Block| block.sequences.len() * self.heads.queries * block.tokens.len() * block.stride();
        let largest = self.blocks().iter().map(of).max().unwrap_or(0);
        Ok((self.gpu.empty(largest, DType::F32)?, self.gpu.empty(largest, self.dtype)?))
    }

    /// Fills `weights` with the weights of attention of a block's tokens.
    fn weigh(&self, block: &Block, of: &Apart, scores: &Tensor, weights: &Tensor) -> Result<()> {
        let (query, key) = (self.of_queries(block, &of.query)?, self.of_keys(block, &of.key)?.t());
        self.product(block, Shape::Scores, self.of_scores(block, scores)?, query, key)?;
        self.softmax(block, "causal_softmax", scores, weights)
    }

    fn softmax(&self, block: &Block, kernel: &str, scores: &Tensor, weights: &Tensor) -> Result<()> {
        let rows_each = block.tokens.len() * self.group();
        let rows = block.sequences.len() * self.heads.keys * rows_each;
        let params = Softmax {
            weights: self.gpu.address(weights)?,
            scores: self.gpu.address(scores)?,
            rows: rows as u64,
            stride: block.stride() as u32,
            columns: block.tokens.end as u32,
            rows_each: rows_each as u32,
            group: self.group() as u32,
            first: block.tokens.start as u32,
            scale: self.heads.scale(),
        };
        // Safety: both tensors have room for the largest block.
        unsafe { self.gpu.typed(kernel, self.dtype, rows.div_ceil(WARPS), &params) }
    }

    /// A block's rows of a tensor that is shaped as the queries are.
    fn of_queries(&self, block: &Block, tensor: &Tensor) -> Result<Matrices> {
        let (width, row) = (self.heads.width, self.group() * self.heads.width);
        let first = (block.sequences.start * self.heads.keys * self.tokens + block.tokens.start) * row;
        Ok(self.matrices(tensor, width, self.tokens * row)?.after(first))
    }

    /// The rows that a block sees of a tensor that is shaped as the keys are.
    fn of_keys(&self, block: &Block, tensor: &Tensor) -> Result<Matrices> {
        let (stride, step) = (self.heads.width, self.tokens * self.heads.width);
        Ok(self.matrices(tensor, stride, step)?.after(block.sequences.start * self.heads.keys * step))
    }

    fn of_scores(&self, block: &Block, tensor: &Tensor) -> Result<Matrices> {
        self.matrices(tensor, block.stride(), block.tokens.len() * self.group() * block.stride())
    }

    /// `step` numbers from one matrix to the next, `stride` from one of its rows to the next.
    fn matrices(&self, tensor: &Tensor, stride: usize, step: usize) -> Result<Matrices> {
        Ok(Matrices { stride, step, ..self.gpu.matrices(tensor)? })
    }

    fn product(&self, block: &Block, shape: Shape, out: Matrices, left: Matrices, right: Matrices) -> Result<()> {
        let (rows, seen, width) = (block.tokens.len() * self.group(), block.tokens.end, self.heads.width);
        let (rows, inner, columns, adds) = match shape {
            Shape::Scores => (rows, width, seen, false),
            Shape::BySeen => (rows, seen, width, false),
            Shape::ToKeys => (seen, rows, width, block.tokens.end < self.tokens),
        };
        let count = block.sequences.len() * self.heads.keys;
        let products = Products { out, left, right, count, rows, inner, columns, adds };
        // Safety: blocks lie within the tensors of their matrices.
        unsafe { self.gpu.products(&products) }
    }

    fn split(&self, qkv: &Tensor) -> Result<Apart> {
        let Heads { keys, width, .. } = self.heads;
        let (sequences, tokens) = (self.sequences, self.tokens);
        let of_keys = || self.gpu.empty((sequences, keys, tokens, width), self.dtype);
        let query = self.gpu.empty((sequences, keys, tokens, self.group(), width), self.dtype)?;
        let apart = Apart { query, key: of_keys()?, value: of_keys()? };
        self.heads_kernel("split_heads", &apart, qkv)?;
        Ok(apart)
    }

    fn heads_kernel(&self, kernel: &str, apart: &Apart, together: &Tensor) -> Result<()> {
        let [cosines, sines] = self.angles;
        let params = SplitHeads {
            query: self.gpu.address(&apart.query)?,
            key: self.gpu.address(&apart.key)?,
            value: self.gpu.address(&apart.value)?,
            qkv: self.gpu.address(together)?,
            cosines: self.gpu.address(cosines)?,
            sines: self.gpu.address(sines)?,
            tokens: self.tokens as u32,
            queries: self.heads.queries as u32,
            key_heads: self.heads.keys as u32,
            head: self.heads.width as u32,
        };
        // Safety: the tensors hold every head of every token, and the angles hold every position.
        unsafe { self.gpu.typed(kernel, self.dtype, self.sequences * self.tokens, &params) }
    }

    fn move_heads(&self, apart: &Tensor, together: &Tensor, apart_is_read: u32) -> Result<()> {
        let params = MoveHeads {
            apart: self.gpu.address(apart)?,
            together: self.gpu.address(together)?,
            tokens: self.tokens as u32,
            queries: self.heads.queries as u32,
            key_heads: self.heads.keys as u32,
            head: self.heads.width as u32,
            apart_is_read,
            padding: 0,
        };
        // Safety: both tensors hold all query heads of every token.
        unsafe { self.gpu.typed("move_heads", self.dtype, self.sequences * self.tokens, &params) }
    }
}

/// Which product of a block is computed.
#[derive(Clone, Copy)]
enum Shape {
    /// A row for each query, a column for each key that the block sees.
    Scores,
    /// A row for each query, summed over the keys.
    BySeen,
    /// A row for each key, summed over the queries, of this block and those before.
    ToKeys,
}
