//! Products of a few rows with weights that are packed into the order in which they are read, as decoding needs them.
//!
//! The time of such a product is the time of reading its weight. General products read the weight row by row or copy
//! it into another order first; here the order is changed once, and the next part is prefetched while the present one
//! is multiplied. Weights in blocks stay in blocks: some inputs at a time are expanded in the L1 cache, where all rows
//! are multiplied with them.

use std::ops::Range;
use std::sync::Arc;

use candle_core::{Result, Tensor, bail};
use rayon::prelude::*;

use crate::Weight;
use crate::linear::blocks::{Blocks, SLICE};
use crate::linear::tile::{self, Distance, Out, PANEL, Tiles};
use crate::rows::with_slice;

/// Rows that go through the whole weight together; with more rows they no longer stay in the nearer caches.
const ROWS: usize = 96;
/// Multiplications from which a share of the work is worth handing to another thread. Measured on a core with AVX-512: so
/// many take 3 us with 8 rows, and sharing a product of 8 x 576 x 576 between two threads turns 29 us into 16, so that the
/// sharing itself costs 1 to 2 us.
const WORTH_A_THREAD: usize = 1 << 18;
/// Up to so many rows take as long as one row, because reading the weight takes as long.
const ROWS_OF_MEMORY: usize = 8;
/// Panels of blocks that are expanded together; the kernels multiply as many side by side.
const ABREAST: usize = 2;

/// A linear map `x W^T + bias + scale (x A^T) B^T`.
#[derive(Debug, Clone)]
pub struct Map {
    /// `(out, in)`, on the CPU; a dense weight is in f32.
    pub weight: Weight,
    /// `(out,)`.
    pub bias: Option<Tensor>,
    /// A low-rank term that is not merged into the weight: `A` `(r, in)`, `B` `(out, r)`, scale.
    pub term: Option<(Tensor, Tensor, f64)>,
}

/// Maps with the same input, their outputs side by side.
#[derive(Debug)]
pub struct Packed {
    parts: Vec<Part>,
    inputs: usize,
    outputs: usize,
    /// The first factors of all low-rank terms.
    low: Option<Box<Packed>>,
}

/// One map.
#[derive(Debug)]
struct Part {
    panels: Panels,
    /// Padded to the columns of the panels.
    bias: Vec<f32>,
    /// The map's columns of the outputs.
    columns: Range<usize>,
    /// The second factor of the low-rank term times the scale, as panels, and the term's first column of the products
    /// with the first factors.
    term: Option<(Vec<f32>, usize)>,
}

/// Panels of 16 outputs, the last one padded with zeros.
#[derive(Debug)]
enum Panels {
    /// `(in, 16)` each.
    Numbers(Vec<f32>),
    Blocks(Arc<Blocks>),
}

/// The rows that are multiplied.
#[derive(Clone, Copy)]
struct Rows<'a> {
    /// `(N, in)`.
    x: &'a [f32],
    /// Products with the first factors, `(N, width)`.
    low: &'a [f32],
    width: usize,
    count: usize,
    out: Out,
}

impl Packed {
    /// Packs maps on the CPU that have the same inputs.
    pub fn new(maps: &[Map]) -> Result<Self> {
        let Some(first) = maps.first() else { bail!("packed: no weight") };
        let inputs = first.weight.dim(1)?;
        let (mut parts, mut first_factors, mut outputs, mut width) = (Vec::new(), Vec::new(), 0, 0);
        for map in maps {
            let columns = outputs..outputs + map.weight.dim(0)?;
            if map.weight.dim(1)? != inputs {
                bail!("packed: weights of {inputs} and {} columns", map.weight.dim(1)?);
            }
            let panels = match &map.weight {
                Weight::Dense(tensor) => Panels::Numbers(panels_of(tensor, 1.0)?),
                Weight::Packed(blocks) => Panels::Blocks(blocks.clone()),
            };
            let mut bias = map.bias.as_ref().map_or(Ok(vec![0.0; columns.len()]), Tensor::to_vec1::<f32>)?;
            bias.resize(columns.len().next_multiple_of(PANEL), 0.0);
            let mut term = None;
            if let Some((a, b, scale)) = &map.term {
                term = Some((panels_of(b, *scale as f32)?, width));
                first_factors.push(Map { weight: a.clone().into(), bias: None, term: None });
                width += a.dim(0)?;
            }
            outputs = columns.end;
            parts.push(Part { panels, bias, columns, term });
        }
        let low = match first_factors.as_slice() {
            [] => None,
            factors => Some(Box::new(Packed::new(factors)?)),
        };
        Ok(Packed { parts, inputs, outputs, low })
    }

    /// Applies all maps. A row's result depends neither on the rows beside it nor on the number of threads: each
    /// number is one sum, in the order of the inputs.
    ///
    /// * `x`: `(N, in)`. Returns `(N, sum of outs)`.
    pub fn forward(&self, x: &Tensor) -> Result<Tensor> {
        let (rows, inputs) = x.dims2()?;
        if inputs != self.inputs {
            bail!("packed: rows of {inputs} for {} inputs", self.inputs);
        }
        let out = with_slice(x, |x| Ok(self.product(x, rows)))?;
        Tensor::from_vec(out, (rows, self.outputs), x.device())
    }

    fn product(&self, x: &[f32], count: usize) -> Vec<f32> {
        let low = self.low.as_ref().map(|low| low.product(x, count)).unwrap_or_default();
        let width = self.low.as_ref().map_or(0, |low| low.outputs);
        let mut out = Vec::with_capacity(count * self.outputs);
        self.multiply(Rows { x, low: &low, width, count, out: Out(out.as_mut_ptr()) });
        // Safety: every panel has written all its columns of every row.
        unsafe { out.set_len(count * self.outputs) };
        out
    }

    fn multiply(&self, rows: Rows<'_>) {
        let threads = rayon::current_num_threads();
        let count = self.parts.iter().map(Part::count).sum::<usize>();
        let least = WORTH_A_THREAD.div_ceil(rows.count.max(ROWS_OF_MEMORY) * PANEL * self.inputs.max(1));
        let share = count.div_ceil(4 * threads).max(least);
        if threads == 1 || share >= count {
            return self.parts.iter().for_each(|part| self.multiply_panels(part, rows, 0..part.count()));
        }
        let shares = self.parts.iter().flat_map(|part| {
            (0..part.count()).step_by(share).map(move |from| (part, from..part.count().min(from + share)))
        });
        let shares: Vec<(&Part, Range<usize>)> = shares.collect();
        shares.into_par_iter().for_each(|(part, panels)| self.multiply_panels(part, rows, panels));
    }

    /// Writes the columns of some of a part's panels.
    fn multiply_panels(&self, part: &Part, rows: Rows<'_>, panels: Range<usize>) {
        for row in (0..rows.count).step_by(ROWS) {
            let chunk = row..rows.count.min(row + ROWS);
            let tiles = |panels: &Range<usize>| Tiles {
                x: rows.x,
                stride: self.inputs,
                panels: &[],
                count: panels.len(),
                distance: Distance::Far,
                bias: Some(&part.bias[panels.start * PANEL..panels.end * PANEL]),
                out: Out(rows.out.0.wrapping_add(part.columns.start + panels.start * PANEL)),
                outputs: self.outputs,
                width: part.columns.len().min(panels.end * PANEL) - panels.start * PANEL,
            };
            match &part.panels {
                Panels::Numbers(numbers) => {
                    let panels_of = &numbers[panels.start * PANEL * self.inputs..panels.end * PANEL * self.inputs];
                    tile::multiply(Tiles { panels: panels_of, ..tiles(&panels) }, chunk.clone());
                }
                Panels::Blocks(blocks) => {
                    let mut expanded = vec![0.0; ABREAST * PANEL * SLICE.min(self.inputs)];
                    for from in panels.clone().step_by(ABREAST) {
                        let together = from..panels.end.min(from + ABREAST);
                        let some = tiles(&together);
                        expand_and_multiply(blocks, together, chunk.clone(), some, &mut expanded);
                    }
                }
            }
            if let Some((factor, first)) = &part.term {
                let rank = factor.len() / (part.count() * PANEL);
                let factor = &factor[panels.start * PANEL * rank..panels.end * PANEL * rank];
                let low = Tiles { x: &rows.low[*first..], stride: rows.width, bias: None, ..tiles(&panels) };
                tile::multiply(Tiles { panels: factor, ..low }, chunk);
            }
        }
    }
}

impl Part {
    /// Number of panels.
    fn count(&self) -> usize {
        self.bias.len() / PANEL
    }
}

/// Multiplies rows with panels that are expanded a slice at a time; each slice accumulates into the result.
fn expand_and_multiply(
    blocks: &Blocks,
    panels: Range<usize>,
    rows: Range<usize>,
    tiles: Tiles<'_>,
    expanded: &mut [f32],
) {
    let [_, inputs] = blocks.dims();
    for from in (0..inputs).step_by(SLICE) {
        let slice = from..inputs.min(from + SLICE);
        let expanded = &mut expanded[..panels.len() * slice.len() * PANEL];
        for (panel, expanded) in panels.clone().zip(expanded.chunks_exact_mut(slice.len() * PANEL)) {
            blocks.expand(panel, slice.clone(), expanded);
        }
        let bias = if from == 0 { tiles.bias } else { None };
        let near = Tiles { x: &tiles.x[from..], panels: expanded, bias, distance: Distance::Near, ..tiles };
        tile::multiply(near, rows.clone());
    }
}

/// Packs a weight `(out, in)` times `scale` into panels of `(in, 16)`.
fn panels_of(weight: &Tensor, scale: f32) -> Result<Vec<f32>> {
    let (outputs, inputs) = weight.dims2()?;
    let mut panels = vec![0.0; outputs.next_multiple_of(PANEL) * inputs];
    with_slice(weight, |weight| {
        let rows = weight.par_chunks((PANEL * inputs).max(1));
        panels.par_chunks_mut((PANEL * inputs).max(1)).zip(rows).for_each(|(panel, rows)| {
            for (lane, row) in rows.chunks_exact(inputs).enumerate() {
                for (values, value) in panel.as_chunks_mut::<PANEL>().0.iter_mut().zip(row) {
                    values[lane] = scale * *value;
                }
            }
        });
        Ok(())
    })?;
    Ok(panels)
}
