//! Attention of new tokens over a cache of keys and values.

use candle_core::{DType, Device, Result, Tensor};
use rayon::prelude::*;

use super::attention::{self, Heads, softmax};
use super::rope::{RopeTable, Turn};
use super::rows::{wide, with_slice};

/// Slots scored at once; the cache has room for whole blocks.
const BLOCK: usize = 32;

/// Multiplications of one call that are worth several threads; waking them costs about as much as 100,000.
const WORTH_THREADS: usize = 1 << 22;

/// Keys and values of one layer for every row.
#[derive(Debug)]
pub enum KeyValues {
    /// On the CPU in f32: keys `(rows, keys, capacity / BLOCK, width, BLOCK)`, so that one query meets many keys in a vector
    /// register and memory is read in order; values `(rows, keys, capacity, width)`.
    Blocks {
        /// Rotated keys.
        keys: Vec<f32>,
        /// Values.
        values: Vec<f32>,
    },
    /// On any device, in any format: both `(rows, keys, capacity, width)`.
    Tensors {
        /// Rotated keys.
        keys: Tensor,
        /// Values.
        values: Tensor,
    },
}

/// Which slots of the cache are in use.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Window {
    /// Slot of each row's first token.
    pub first: Vec<usize>,
    /// Slots written before this call.
    pub length: usize,
    /// Slots there are; a multiple of the block.
    pub capacity: usize,
}

impl Window {
    /// An empty cache with room for `capacity` tokens.
    pub fn new(rows: usize, capacity: usize) -> Self {
        Window { first: vec![0; rows], length: 0, capacity: capacity.next_multiple_of(BLOCK) }
    }

    /// Positions of the next `steps` slots, `(rows, steps)` u32; padding is at position 0.
    fn positions(&self, steps: usize, device: &Device) -> Result<Tensor> {
        let slots = self.length..self.length + steps;
        let positions: Vec<u32> =
            self.first.iter().flat_map(|first| slots.clone().map(move |s| s.saturating_sub(*first) as u32)).collect();
        Tensor::from_vec(positions, (self.first.len(), steps), device)
    }

    /// `(rows, steps, length + steps)`: zero where a query may look. Padding looks at itself, to stay finite.
    fn mask(&self, steps: usize, device: &Device) -> Result<Tensor> {
        let slots = self.length + steps;
        let mut mask = Vec::with_capacity(self.first.len() * steps * slots);
        for first in &self.first {
            for query in self.length..slots {
                let seen = |slot: usize| slot == query || (*first..=query).contains(&slot);
                mask.extend((0..slots).map(|slot| if seen(slot) { 0.0 } else { f32::NEG_INFINITY }));
            }
        }
        Tensor::from_vec(mask, (self.first.len(), steps, slots), device)
    }
}

impl KeyValues {
    /// Room for every slot of `window`, in the format of queries, keys and values.
    pub fn new(window: &Window, heads: Heads, (device, format): (&Device, DType)) -> Result<Self> {
        let shape = (window.first.len(), heads.keys, window.capacity, heads.width);
        if device.is_cpu() && format == DType::F32 {
            let count = shape.0 * shape.1 * shape.2 * shape.3;
            return Ok(KeyValues::Blocks { keys: vec![0.0; count], values: vec![0.0; count] });
        }
        Self::tensors(window, heads, format, device)
    }

    /// The same as tensors, which tensor operations work on.
    pub fn tensors(window: &Window, heads: Heads, dtype: DType, device: &Device) -> Result<Self> {
        let shape = (window.first.len(), heads.keys, window.capacity, heads.width);
        let empty = || Tensor::zeros(shape, dtype, device);
        Ok(KeyValues::Tensors { keys: empty()?, values: empty()? })
    }

    /// Keys and values where they are tensors.
    #[cfg(any(feature = "cuda", test))]
    pub fn into_tensors(self) -> Result<(Tensor, Tensor)> {
        match self {
            KeyValues::Tensors { keys, values } => Ok((keys, values)),
            KeyValues::Blocks { .. } => candle_core::bail!("keys and values are blocks of the CPU, not tensors"),
        }
    }

    /// Keeps these rows, in this order; a row may be named more than once. `count` is how many rows there are.
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

/// Writes new keys and values to the next slots and lets the new queries attend to all slots of their row so far.
///
/// * `qkv`: `(rows * T, (queries + 2 keys) * width)`. Returns `(rows * T, queries * width)`; padding gives zeros or
///   numbers without meaning.
pub fn cached_attention(
    qkv: &Tensor,
    cache: &mut KeyValues,
    window: &Window,
    heads: Heads,
    rope: &RopeTable,
) -> Result<Tensor> {
    let rows = window.first.len();
    let steps = qkv.dim(0)? / rows;
    match cache {
        KeyValues::Tensors { keys, values } => {
            let [query, key, value] = attention::split(qkv, rows, heads)?;
            let positions = window.positions(steps, qkv.device())?;
            keys.slice_set(&rope.rotate(&key, &positions)?.contiguous()?, 2, window.length)?;
            values.slice_set(&value, 2, window.length)?;
            let seen = window.length + steps;
            let (keys, values) = (keys.narrow(2, 0, seen)?, values.narrow(2, 0, seen)?);
            let query = rope.rotate(&query, &positions)?;
            attention::plain([&query, &keys, &values], &window.mask(steps, qkv.device())?)
        }
        KeyValues::Blocks { keys, values } => {
            let width = heads.queries * heads.width;
            let mut out = vec![0.0; rows * steps * width];
            let row_size = heads.keys * heads.width * window.capacity;
            with_slice(qkv, |qkv| {
                let qkv = qkv.chunks(steps * heads.total()).zip(&window.first);
                let cached = keys.chunks_mut(row_size).zip(values.chunks_mut(row_size));
                let work = out.chunks_mut(steps * width).zip(qkv).zip(cached);
                let work: Vec<_> = work
                    .map(|((out, (qkv, first)), (keys, values))| {
                        (out, qkv, Row { keys, values, first: *first, capacity: window.capacity, heads, rope })
                    })
                    .collect();
                let advance = |(out, qkv, mut row): (&mut [f32], &[f32], Row<'_>)| {
                    wide(
                        #[inline(always)]
                        || row.advance(out, qkv, window.length),
                    );
                };
                if rows * steps * width * (window.length + steps) < WORTH_THREADS {
                    work.into_iter().for_each(advance);
                } else {
                    work.into_par_iter().for_each(advance);
                }
                Ok(())
            })?;
            Tensor::from_vec(out, (rows * steps, width), qkv.device())
        }
    }
}

/// One sequence of the cache.
struct Row<'a> {
    keys: &'a mut [f32],
    values: &'a mut [f32],
    first: usize,
    capacity: usize,
    heads: Heads,
    rope: &'a RopeTable,
}

impl Row<'_> {
    /// Feeds the tokens of `qkv` to slots `length..`.
    #[inline(always)]
    fn advance(&mut self, out: &mut [f32], qkv: &[f32], length: usize) {
        let (width, total) = (self.heads.width, self.heads.total());
        let out_width = self.heads.queries * width;
        let mut scores = vec![0.0; self.capacity];
        let mut turned = vec![0.0; width];
        let tokens = qkv.chunks_exact(total).zip(out.chunks_exact_mut(out_width)).enumerate();
        for (step, (qkv, out)) in tokens {
            let slot = length + step;
            // Padding before the first token: nothing to write and nothing to see.
            if slot < self.first {
                continue;
            }
            let (queries, rest) = qkv.split_at(out_width);
            let (keys, values) = rest.split_at(self.heads.keys * width);
            self.write(keys, values, slot, &mut turned);
            let group = self.heads.queries / self.heads.keys;
            for (head, out) in out.chunks_exact_mut(width).enumerate() {
                let query = &queries[head * width..][..width];
                self.rope.turn(&mut turned, query, slot - self.first, Turn::Forward);
                self.attend(out, &turned, &mut scores, (head / group, slot));
            }
        }
    }

    #[inline(always)]
    fn write(&mut self, keys: &[f32], values: &[f32], slot: usize, turned: &mut [f32]) {
        let width = self.heads.width;
        for (head, (key, value)) in keys.chunks_exact(width).zip(values.chunks_exact(width)).enumerate() {
            let start = head * width * self.capacity;
            self.rope.turn(turned, key, slot - self.first, Turn::Forward);
            let block = &mut self.keys[start + slot / BLOCK * BLOCK * width..][..BLOCK * width];
            for (value, keys) in turned.iter().zip(block.chunks_exact_mut(BLOCK)) {
                keys[slot % BLOCK] = *value;
            }
            self.values[start + slot * width..][..width].copy_from_slice(value);
        }
    }

    /// One query over slots `first..=slot` of one key head.
    #[inline(always)]
    fn attend(&self, out: &mut [f32], query: &[f32], scores: &mut [f32], (head, slot): (usize, usize)) {
        let (width, scale) = (self.heads.width, self.heads.scale());
        let start = head * width * self.capacity;
        let keys = &self.keys[start..][..width * self.capacity];
        let values = &self.values[start..][..width * self.capacity];
        // Whole blocks: what lies outside the window is scored too and left out below.
        let blocks = self.first / BLOCK..slot / BLOCK + 1;
        let keys = keys[blocks.start * BLOCK * width..].chunks_exact(BLOCK * width);
        let scored = scores[blocks.start * BLOCK..blocks.end * BLOCK].as_chunks_mut::<BLOCK>().0;
        for (keys, scores) in keys.zip(scored) {
            // Two sets of sums: one addition need not wait for the one before it.
            let mut sums = [[0.0_f32; BLOCK]; 2];
            let pairs = keys.as_chunks::<BLOCK>().0.as_chunks::<2>().0;
            for (query, [even, odd]) in query.as_chunks::<2>().0.iter().zip(pairs) {
                for lane in 0..BLOCK {
                    sums[0][lane] += query[0] * even[lane];
                    sums[1][lane] += query[1] * odd[lane];
                }
            }
            for lane in 0..BLOCK {
                scores[lane] = (sums[0][lane] + sums[1][lane]) * scale;
            }
        }
        let seen = &mut scores[self.first..=slot];
        softmax(seen);
        let values = &values[self.first * width..(slot + 1) * width];
        for (block, out) in out.chunks_mut(BLOCK).enumerate() {
            mix(out, seen, values, (block * BLOCK, width));
        }
    }
}

/// Sum of `weights` times `out.len()` columns of `values` from `column` on; rows of `values` are `width` long.
#[inline(always)]
fn mix(out: &mut [f32], weights: &[f32], values: &[f32], (column, width): (usize, usize)) {
    if let Some(out) = out.first_chunk_mut::<BLOCK>() {
        let columns =
            |values: &'_ [f32]| -> [f32; BLOCK] { *values[column..].first_chunk().expect("a whole block of columns") };
        let mut sums = [[0.0_f32; BLOCK]; 2];
        let (pairs, rest) = weights.as_chunks::<2>();
        let mut rows = values.chunks_exact(2 * width);
        for (weights, values) in pairs.iter().zip(&mut rows) {
            let (even, odd) = values.split_at(width);
            let (even, odd) = (columns(even), columns(odd));
            for lane in 0..BLOCK {
                sums[0][lane] += weights[0] * even[lane];
                sums[1][lane] += weights[1] * odd[lane];
            }
        }
        if let Some(weight) = rest.first() {
            let last = columns(rows.remainder());
            for lane in 0..BLOCK {
                sums[0][lane] += weight * last[lane];
            }
        }
        for lane in 0..BLOCK {
            out[lane] = sums[0][lane] + sums[1][lane];
        }
        return;
    }
    out.fill(0.0);
    for (weight, values) in weights.iter().zip(values.chunks_exact(width)) {
        for (out, value) in out.iter_mut().zip(&values[column..]) {
            *out += weight * value;
        }
    }
}
