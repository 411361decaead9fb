//! Products of some rows with a weight that is read again and again, as decoding does: the weight lies in memory in the
//! order in which it is read.
//!
//! With few rows a product waits for its weight. General products read it row by row or copy it into another order
//! first; here that is done once, and what comes next is asked for while what is there is multiplied.

use std::ops::Range;

use candle_core::{Result, Tensor, bail};
use rayon::prelude::*;

use super::rows::with_slice;
use super::tile::{self, Out, PANEL, Tiles};

/// Rows that go through the whole weight together; with more they no longer stay in the nearer caches.
const ROWS: usize = 96;
/// Multiplications that are worth handing to another thread.
const WORTH_A_THREAD: usize = 1 << 18;
/// Up to so many rows take as long as one: that is how long memory takes.
const ROWS_OF_MEMORY: usize = 8;

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
        let least = WORTH_A_THREAD.div_ceil(rows.max(ROWS_OF_MEMORY) * PANEL * self.inputs.max(1));
        let share = count.div_ceil(4 * rayon::current_num_threads()).max(least);
        if rayon::current_num_threads() == 1 || share >= count {
            return self.multiply_panels(x, out, rows, 0..count);
        }
        let shares = (0..count.div_ceil(share)).into_par_iter();
        shares.for_each(|index| self.multiply_panels(x, out, rows, index * share..count.min((index + 1) * share)));
    }

    /// Writes the columns of some panels.
    fn multiply_panels(&self, x: &[f32], out: Out, rows: usize, panels: Range<usize>) {
        let columns = panels.start * PANEL..panels.end * PANEL;
        let tiles = Tiles {
            x,
            panels: &self.panels[columns.start * self.inputs..columns.end * self.inputs],
            bias: &self.bias[columns.clone()],
            out: Out(out.0.wrapping_add(columns.start)),
            outputs: self.outputs,
            width: columns.end.min(self.outputs) - columns.start,
        };
        for row in (0..rows).step_by(ROWS) {
            tile::multiply(tiles, row..rows.min(row + ROWS));
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
