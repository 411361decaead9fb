//! Attention of new tokens over a key-value cache.

use std::{array, mem};

use candle_core::{DType, Device, Result, Tensor};
use rayon::prelude::*;

use crate::attention::fused::softmax;
use crate::attention::rope::{RopeTable, Turn};
use crate::attention::window::{BLOCK, Window};
use crate::attention::{self, Heads};
use crate::rows::{add_product, soon, wide_fused, with_slice};

/// f32 numbers that are summed side by side in one vector register; a block holds two such groups.
const LANES: usize = BLOCK / 2;

/// Queries of one key head that are worked on at once, so that the cache is read once for all of them. More than three
/// would not fit into the vector registers.
const TOGETHER: usize = 3;

/// Multiplications of queries and keys from which a share of the work is worth handing to another thread. Measured on a
/// core with AVX-512: with their values they take about 3 us, twice what handing them over costs.
const WORTH_A_THREAD: usize = 1 << 16;

/// Keys and values of one layer, for every row.
#[derive(Debug)]
pub enum KeyValues {
    /// On the CPU in f32, in blocks of slots, so that one query meets many keys in a vector register and memory is
    /// read in order.
    Blocks {
        /// Rotated keys, `(rows, keys, capacity / BLOCK, width, BLOCK)`.
        keys: Vec<f32>,
        /// `(rows, keys, capacity, width)`.
        values: Vec<f32>,
    },
    /// On any device, in any format.
    Tensors {
        /// Rotated keys, `(rows, keys, capacity, width)`.
        keys: Tensor,
        /// `(rows, keys, capacity, width)`.
        values: Tensor,
    },
}

impl KeyValues {
    /// Whether keys and values on this device, in this format, are blocks, of which each row is written alone.
    pub fn are_blocks(device: &Device, format: DType) -> bool {
        device.is_cpu() && format == DType::F32
    }

    /// Room for every slot of `window`, in the format that queries, keys and values have.
    pub fn new(window: &Window, heads: Heads, device: &Device, format: DType) -> Result<Self> {
        let shape = (window.first.len(), heads.keys, window.capacity, heads.width);
        if Self::are_blocks(device, format) {
            let count = shape.0 * shape.1 * shape.2 * shape.3;
            return Ok(KeyValues::Blocks { keys: vec![0.0; count], values: vec![0.0; count] });
        }
        Self::tensors(window, heads, device, format)
    }

    /// Like [`KeyValues::new`], but always as tensors, for callers that use tensor operations.
    pub fn tensors(window: &Window, heads: Heads, device: &Device, format: DType) -> Result<Self> {
        let shape = (window.first.len(), heads.keys, window.capacity, heads.width);
        let empty = || Tensor::zeros(shape, format, device);
        Ok(KeyValues::Tensors { keys: empty()?, values: empty()? })
    }

    /// The keys and values, if they are tensors.
    pub fn into_tensors(self) -> Result<(Tensor, Tensor)> {
        match self {
            KeyValues::Tensors { keys, values } => Ok((keys, values)),
            KeyValues::Blocks { .. } => candle_core::bail!("keys and values are blocks of the CPU, not tensors"),
        }
    }

    /// Keeps these rows, in this order; a row may be named more than once. `count` is the present number of rows.
    pub fn select(&mut self, rows: &[usize], count: usize) -> Result<()> {
        match self {
            KeyValues::Blocks { keys, values } => {
                for all in [keys, values] {
                    let width = all.len() / count;
                    let mut kept = vec![0.0; rows.len() * width];
                    let copies = kept.par_chunks_mut(width.max(1)).zip(rows);
                    copies.for_each(|(kept, row)| kept.copy_from_slice(&all[row * width..][..width]));
                    *all = kept;
                }
            }
            KeyValues::Tensors { keys, values } => {
                let ids: Vec<u32> = rows.iter().map(|row| *row as u32).collect();
                let ids = Tensor::from_vec(ids, rows.len(), keys.device())?;
                *keys = keys.index_select(&ids, 0)?;
                *values = values.index_select(&ids, 0)?;
            }
        }
        Ok(())
    }
}

/// Writes the keys and values of new tokens to the slots that `window` says, and lets the new queries attend to all
/// slots of their row so far.
///
/// * `qkv`: `(N, (queries + 2 keys) * width)`, row after row; `N` is the sum of `window.fed`.
/// * Returns `(N, queries * width)`; the results of padding mean nothing.
pub fn cached_attention(
    qkv: &Tensor,
    cache: &mut KeyValues,
    window: &Window,
    heads: Heads,
    rope: &RopeTable,
) -> Result<Tensor> {
    match cache {
        KeyValues::Tensors { keys, values } => {
            let [query, key, value] = attention::split(qkv, window.first.len(), heads)?;
            let (positions, slots) = (window.positions(qkv.device())?, window.slots());
            keys.slice_set(&rope.rotate(&key, &positions)?.contiguous()?, 2, slots.start)?;
            values.slice_set(&value, 2, slots.start)?;
            let (keys, values) = (keys.narrow(2, 0, slots.end)?, values.narrow(2, 0, slots.end)?);
            let query = rope.rotate(&query, &positions)?;
            attention::plain([&query, &keys, &values], &window.mask(heads.scores, qkv.device())?, heads)
        }
        KeyValues::Blocks { keys, values } => {
            let (count, width) = (window.fed.iter().sum::<usize>(), heads.queries * heads.width);
            let mut out = vec![0.0; count * width];
            let row_size = heads.keys * heads.width * window.capacity;
            with_slice(qkv, |qkv| {
                let (mut qkv, mut rest) = (qkv, out.as_mut_slice());
                let cached = keys.chunks_mut(row_size).zip(values.chunks_mut(row_size));
                let places = window.lengths.iter().zip(&window.fed);
                let (mut work, mut products) = (Vec::new(), 0);
                for ((length, fed), (keys, values)) in places.zip(cached).filter(|((_, fed), _)| **fed > 0) {
                    let (own, others) = qkv.split_at(fed * heads.total());
                    let (out, others_out) = mem::take(&mut rest).split_at_mut(fed * width);
                    (qkv, rest) = (others, others_out);
                    work.push((out, own, *length, Row { keys, values, capacity: window.capacity, heads, rope }));
                    products += fed * width * (length + fed);
                }
                let advance = |(out, qkv, length, mut row): (&mut [f32], &[f32], usize, Row<'_>)| {
                    wide_fused(
                        #[inline(always)]
                        |fused| row.advance(out, qkv, length, fused),
                    );
                };
                let least = WORTH_A_THREAD.div_ceil((products / work.len().max(1)).max(1));
                if rayon::current_num_threads() == 1 || least >= work.len() {
                    work.into_iter().for_each(advance);
                } else {
                    work.into_par_iter().with_min_len(least).for_each(advance);
                }
                Ok(())
            })?;
            Tensor::from_vec(out, (count, width), qkv.device())
        }
    }
}

/// Where queries stand that share a key head.
#[derive(Clone, Copy)]
struct QueryPlace {
    /// Their key head.
    head: usize,
    /// Their token's slot, the last that they see.
    slot: usize,
}

/// One sequence of the cache.
struct Row<'a> {
    keys: &'a mut [f32],
    values: &'a mut [f32],
    capacity: usize,
    heads: Heads,
    rope: &'a RopeTable,
}

impl Row<'_> {
    /// Feeds the tokens of `qkv` to the slots from `length` on.
    #[inline(always)]
    fn advance(&mut self, out: &mut [f32], qkv: &[f32], length: usize, fused: bool) {
        let (width, total) = (self.heads.width, self.heads.total());
        let (out_width, group) = (self.heads.queries * width, self.heads.queries / self.heads.keys);
        let mut scores = vec![0.0; TOGETHER * self.capacity];
        let mut turned = vec![0.0; TOGETHER * width];
        let tokens = qkv.chunks_exact(total).zip(out.chunks_exact_mut(out_width)).enumerate();
        for (step, (qkv, out)) in tokens {
            let slot = length + step;
            let (queries, rest) = qkv.split_at(out_width);
            let (keys, values) = rest.split_at(self.heads.keys * width);
            self.write(keys, values, slot, &mut turned[..width]);
            let groups = queries.chunks_exact(group * width).zip(out.chunks_exact_mut(group * width));
            for (head, (queries, out)) in groups.enumerate() {
                let some = queries.chunks(TOGETHER * width).zip(out.chunks_mut(TOGETHER * width));
                for (queries, out) in some {
                    for (query, turned) in queries.chunks_exact(width).zip(turned.chunks_exact_mut(width)) {
                        self.rope.turn(turned, query, slot, Turn::Forward);
                    }
                    let at = QueryPlace { head, slot };
                    match queries.len() / width {
                        1 => self.attend::<1, 2>(out, &turned, &mut scores, at, fused),
                        2 => self.attend::<2, 4>(out, &turned, &mut scores, at, fused),
                        _ => self.attend::<TOGETHER, { 2 * TOGETHER }>(out, &turned, &mut scores, at, fused),
                    }
                }
            }
        }
    }

    #[inline(always)]
    fn write(&mut self, keys: &[f32], values: &[f32], slot: usize, turned: &mut [f32]) {
        let width = self.heads.width;
        for (head, (key, value)) in keys.chunks_exact(width).zip(values.chunks_exact(width)).enumerate() {
            let start = head * width * self.capacity;
            self.rope.turn(turned, key, slot, Turn::Forward);
            let block = &mut self.keys[start + slot / BLOCK * BLOCK * width..][..BLOCK * width];
            for (value, keys) in turned.iter().zip(block.chunks_exact_mut(BLOCK)) {
                keys[slot % BLOCK] = *value;
            }
            self.values[start + slot * width..][..width].copy_from_slice(value);
        }
    }

    /// Attention of `COUNT` queries over the slots that they see; `SUMS` is twice `COUNT`.
    #[inline(always)]
    fn attend<const COUNT: usize, const SUMS: usize>(
        &self,
        out: &mut [f32],
        queries: &[f32],
        scores: &mut [f32],
        QueryPlace { head, slot }: QueryPlace,
        fused: bool,
    ) {
        let (width, scale, capacity) = (self.heads.width, self.heads.scale(), self.capacity);
        let first = self.heads.scores.first_seen(0, slot);
        let start = head * width * capacity;
        let keys = &self.keys[start..][..width * capacity];
        let values = &self.values[start..][..width * capacity];
        let queries: [&[f32]; COUNT] = array::from_fn(|index| &queries[index * width..][..width]);
        // While keys are read, the values are prefetched; while values are read, the keys of the next head. The next
        // row's keys follow the last head's.
        let (from_keys, from_values) = (values.as_ptr(), keys.as_ptr_range().end);
        // Blocks are scored whole; scores outside the window are left out below.
        for block in first / BLOCK..slot / BLOCK + 1 {
            let start = block * BLOCK * width;
            let rows = Rows { all: &keys[start..][..BLOCK * width], stride: BLOCK, column: 0 };
            let sums: [[f32; LANES]; SUMS] = weighted_rows(queries, rows, from_keys.wrapping_add(start), fused);
            for (index, sums) in sums.iter().enumerate() {
                let place = index / 2 * capacity + block * BLOCK + index % 2 * LANES;
                for (score, sum) in scores[place..][..LANES].iter_mut().zip(sums) {
                    *score = sum * scale;
                }
            }
        }
        for scores in scores.chunks_exact_mut(capacity).take(COUNT) {
            if let Some(cap) = self.heads.scores.cap {
                scores[first..=slot].iter_mut().for_each(|score| *score = cap * (*score / cap).tanh());
            }
            softmax(&mut scores[first..=slot]);
        }
        let weights: [&[f32]; COUNT] = array::from_fn(|index| &scores[index * capacity..][first..=slot]);
        let start = first * width;
        let values = &values[start..(slot + 1) * width];
        let whole = width / BLOCK * BLOCK;
        for column in (0..whole).step_by(BLOCK) {
            let rows = Rows { all: values, stride: width, column };
            let sums: [[f32; LANES]; SUMS] = weighted_rows(weights, rows, from_values.wrapping_add(start), fused);
            for (index, sums) in sums.iter().enumerate() {
                out[index / 2 * width + column + index % 2 * LANES..][..LANES].copy_from_slice(sums);
            }
        }
        for (out, weights) in out.chunks_exact_mut(width).zip(weights) {
            let out = &mut out[whole..];
            out.fill(0.0);
            for (weight, values) in weights.iter().zip(values.chunks_exact(width)) {
                for (out, value) in out.iter_mut().zip(&values[whole..]) {
                    *out = add_product(fused, *out, *weight, *value);
                }
            }
        }
    }
}

/// A block of columns of a matrix.
struct Rows<'a> {
    all: &'a [f32],
    /// Numbers in a row.
    stride: usize,
    /// First column of the block.
    column: usize,
}

/// Weighted sums of rows, for `COUNT` lists of weights. `ahead` is the start of a matrix of the same shape that will
/// be read soon and is prefetched. Returns both halves of the block for each list.
#[inline(always)]
fn weighted_rows<const COUNT: usize, const SUMS: usize>(
    factors: [&[f32]; COUNT],
    Rows { all, stride, column }: Rows<'_>,
    ahead: *const f32,
    fused: bool,
) -> [[f32; LANES]; SUMS] {
    let count = all.len() / stride;
    let factors: [&[f32]; COUNT] = factors.map(|factors| &factors[..count]);
    let mut sums = [[0.0_f32; LANES]; SUMS];
    for (place, row) in all.chunks_exact(stride).enumerate() {
        soon(ahead.wrapping_add(place * stride + column));
        soon(ahead.wrapping_add(place * stride + column + LANES));
        let row: &[f32; BLOCK] = row[column..].first_chunk().expect("a whole block of columns");
        // The loops run over indices with constant bounds, because the compiler keeps only such sums in vector
        // registers.
        for index in 0..SUMS {
            // Safety: there are as many factors as rows.
            let factor = unsafe { *factors[index / 2].get_unchecked(place) };
            for lane in 0..LANES {
                sums[index][lane] = add_product(fused, sums[index][lane], factor, row[index % 2 * LANES + lane]);
            }
        }
    }
    sums
}
