//! Products of some rows with a weight that is read again and again, as decoding does: the weight lies in memory in the
//! order in which it is read.
//!
//! With few rows a product waits for its weight. General products read it row by row or copy it into another order
//! first; here that is done once, and what comes next is asked for while what is there is multiplied.

use candle_core::{Result, Tensor, bail};
use rayon::prelude::*;

use super::rows::with_slice;

/// Columns that lie side by side.
const PANEL: usize = 16;
/// Rows that go through the whole weight together; with more they no longer stay in the nearer caches.
const ROWS: usize = 96;
/// Multiplications of a product that are worth several threads.
const WORTH_THREADS: usize = 1 << 24;

/// A weight `(out, in)` and a bias `(out,)`, kept as panels of `(in, 16)`, the last one filled up with zeros.
#[derive(Debug)]
pub struct Packed {
    panels: Vec<f32>,
    /// As many as the panels have columns.
    bias: Vec<f32>,
    inputs: usize,
    outputs: usize,
}

impl Packed {
    /// Of weights `(out, in)` on the CPU, one below the other, each with its bias.
    pub fn new(parts: &[(Tensor, Option<Tensor>)]) -> Result<Self> {
        let Some((first, _)) = parts.first() else { bail!("packed: no weight") };
        let inputs = first.dim(1)?;
        let outputs = parts.iter().map(|(weight, _)| weight.dim(0)).sum::<Result<usize>>()?;
        let columns = outputs.next_multiple_of(PANEL);
        let (mut panels, mut bias, mut column) = (vec![0.0; columns * inputs], vec![0.0; columns], 0);
        for (weight, of_part) in parts {
            let (rows, width) = weight.dims2()?;
            if width != inputs {
                bail!("packed: weights of {inputs} and {width} columns");
            }
            with_slice(weight, |weight| {
                pack(&mut panels, weight, inputs, column);
                Ok(())
            })?;
            if let Some(of_part) = of_part {
                bias[column..column + rows].copy_from_slice(&of_part.to_vec1::<f32>()?);
            }
            column += rows;
        }
        Ok(Packed { panels, bias, inputs, outputs })
    }

    /// `x W^T + bias`. A row's numbers depend neither on the rows beside it nor on the number of threads: each is one
    /// sum, in the order of the inputs.
    ///
    /// * `x`: `(N, in)`. Returns `(N, out)`.
    pub fn forward(&self, x: &Tensor) -> Result<Tensor> {
        let (rows, inputs) = x.dims2()?;
        if inputs != self.inputs {
            bail!("packed: rows of {inputs} for {} inputs", self.inputs);
        }
        let mut out = Vec::with_capacity(rows * self.outputs);
        with_slice(x, |x| {
            self.multiply(x, Out(out.as_mut_ptr()), rows);
            Ok(())
        })?;
        // Safety: every panel has written all its columns of every row.
        unsafe { out.set_len(rows * self.outputs) };
        Tensor::from_vec(out, (rows, self.outputs), x.device())
    }

    fn multiply(&self, x: &[f32], out: Out, rows: usize) {
        let count = self.bias.len() / PANEL;
        let threads = rayon::current_num_threads();
        if threads == 1 || rows * self.outputs * self.inputs < WORTH_THREADS {
            return self.multiply_panels(x, out, rows, 0..count);
        }
        let share = count.div_ceil(4 * threads).max(1);
        let shares = (0..count.div_ceil(share)).into_par_iter();
        shares.for_each(|index| self.multiply_panels(x, out, rows, index * share..count.min((index + 1) * share)));
    }

    /// Writes the columns of some panels.
    fn multiply_panels(&self, x: &[f32], out: Out, rows: usize, panels: std::ops::Range<usize>) {
        let mut row = 0;
        while row < rows {
            let block = row..rows.min(row + ROWS);
            for panel in panels.clone() {
                let columns = panel * PANEL;
                let tile = Tile {
                    x,
                    // The next panel begins where this one ends.
                    panel: &self.panels[columns * self.inputs..][..PANEL * self.inputs],
                    bias: self.bias[columns..].first_chunk().expect("whole panels"),
                    out: Out(out.0.wrapping_add(columns)),
                    outputs: self.outputs,
                    width: PANEL.min(self.outputs - columns),
                };
                widest(tile, block.clone());
            }
            row = block.end;
        }
    }
}

/// Copies the rows of `weight` to the columns of `panels` from `column` on.
fn pack(panels: &mut [f32], weight: &[f32], inputs: usize, column: usize) {
    let end = column + weight.len() / inputs;
    panels.par_chunks_mut(PANEL * inputs).enumerate().for_each(|(index, panel)| {
        let columns = column.max(index * PANEL)..end.min((index + 1) * PANEL);
        for place in columns {
            let row = &weight[(place - column) * inputs..][..inputs];
            for (values, value) in panel.as_chunks_mut::<PANEL>().0.iter_mut().zip(row) {
                values[place % PANEL] = *value;
            }
        }
    });
}

/// Where results go. Threads write different columns.
#[derive(Clone, Copy)]
struct Out(*mut f32);

// Safety: see above; nobody reads before all have written.
unsafe impl Send for Out {}
unsafe impl Sync for Out {}

/// One panel and what it is multiplied with.
#[derive(Clone, Copy)]
struct Tile<'a> {
    x: &'a [f32],
    panel: &'a [f32],
    bias: &'a [f32; PANEL],
    /// The panel's first column of the first row.
    out: Out,
    outputs: usize,
    /// Columns that are there.
    width: usize,
}

/// Multiplies with the widest instructions the machine has.
#[inline(always)]
fn widest(tile: Tile<'_>, rows: std::ops::Range<usize>) {
    #[cfg(target_arch = "x86_64")]
    {
        #[target_feature(enable = "avx512f,fma")]
        fn avx512(tile: Tile<'_>, rows: std::ops::Range<usize>) {
            tile.multiply::<12, true>(rows);
        }
        #[target_feature(enable = "avx2,fma")]
        fn avx2(tile: Tile<'_>, rows: std::ops::Range<usize>) {
            tile.multiply::<6, true>(rows);
        }
        if is_x86_feature_detected!("avx512f") && is_x86_feature_detected!("fma") {
            // Safety: the machine has these instructions.
            return unsafe { avx512(tile, rows) };
        }
        if is_x86_feature_detected!("avx2") && is_x86_feature_detected!("fma") {
            // Safety: the machine has these instructions.
            return unsafe { avx2(tile, rows) };
        }
    }
    tile.multiply::<6, { cfg!(target_arch = "aarch64") }>(rows);
}

impl Tile<'_> {
    /// As many rows at once as there are registers for, `MOST` (6 or more), then the rest. `FUSED`: a product and its sum
    /// are rounded once, which needs an instruction for it.
    #[inline(always)]
    fn multiply<const MOST: usize, const FUSED: bool>(&self, rows: std::ops::Range<usize>) {
        let (mut row, end, first) = (rows.start, rows.end, rows.start);
        // Four and four beat six and two.
        let most = if end - row == 8 { 4 } else { MOST };
        while row < end {
            let (ahead, left) = (row == first, (end - row).min(most));
            row += match left {
                left if left == MOST => self.rows::<MOST, FUSED>(row, ahead),
                6.. => self.rows::<6, FUSED>(row, ahead),
                4 | 5 => self.rows::<4, FUSED>(row, ahead),
                2 | 3 => self.rows::<2, FUSED>(row, ahead),
                _ => self.rows::<1, FUSED>(row, ahead),
            };
        }
    }

    /// So many rows from `row` on. `ahead`: asks for the next panel meanwhile.
    #[inline(always)]
    fn rows<const COUNT: usize, const FUSED: bool>(&self, row: usize, ahead: bool) -> usize {
        let inputs = self.panel.len() / PANEL;
        let x: [&[f32]; COUNT] = std::array::from_fn(|index| &self.x[(row + index) * inputs..][..inputs]);
        let mut sums = [*self.bias; COUNT];
        for (place, weights) in self.panel.as_chunks::<PANEL>().0.iter().enumerate() {
            if ahead {
                soon(self.panel.as_ptr().wrapping_add(self.panel.len() + place * PANEL));
            }
            for (sums, x) in sums.iter_mut().zip(&x) {
                // Safety: there are as many inputs as chunks in the panel.
                let x = unsafe { *x.get_unchecked(place) };
                for (sum, weight) in sums.iter_mut().zip(weights) {
                    *sum = if FUSED { x.mul_add(*weight, *sum) } else { x * weight + *sum };
                }
            }
        }
        for (index, sums) in sums.iter().enumerate() {
            // Safety: within the rows and columns that `Packed::forward` has reserved; nobody else writes them.
            unsafe {
                let out = self.out.0.add((row + index) * self.outputs);
                std::ptr::copy_nonoverlapping(sums.as_ptr(), out, self.width);
            }
        }
        COUNT
    }
}

/// Asks memory for what will be read soon; an address that is not there is ignored.
#[inline(always)]
fn soon(address: *const f32) {
    #[cfg(target_arch = "x86_64")]
    {
        use std::arch::x86_64::{_MM_HINT_T1, _mm_prefetch};
        // Safety: a prefetch reads nothing as far as the program can tell, and never faults.
        unsafe { _mm_prefetch::<_MM_HINT_T1>(address.cast()) };
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = address;
}
