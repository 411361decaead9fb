//! Quantised weights that stay in their blocks of few bits, and the f32 numbers that the blocks stand for.
//!
//! A file keeps the blocks of one output together. Here the blocks of 16 outputs are interleaved, because products
//! read them so ([`crate::linear::tile`]): blocks are reordered once, and none of their bits changes. The expanded
//! numbers equal those of the file format's own formula, to the last bit.

mod expand;
mod formats;

use std::ops::Range;

use candle_core::quantized::GgmlDType;
use candle_core::{Device, Result, Tensor, bail};
use rayon::prelude::*;

use crate::linear::tile::PANEL;
use formats::Kind;

#[cfg(test)]
pub(crate) use expand::ways;

/// Inputs that are expanded at once; a multiple of every format's block. The expanded numbers of 16 outputs, and the
/// rows that they are multiplied with, stay in the L1 cache.
pub(crate) const SLICE: usize = 256;

/// A frozen weight `(out, in)` in blocks, on the CPU. Each panel of 16 outputs is contiguous, and the last panel is
/// padded with zeros.
#[derive(Debug)]
pub struct Blocks {
    kind: Kind,
    inputs: usize,
    outputs: usize,
    bytes: Vec<u8>,
}

impl Blocks {
    /// Whether a weight in this format with so many inputs can stay in it.
    pub fn hold(format: GgmlDType, inputs: usize) -> bool {
        Kind::of(format).is_some_and(|kind| inputs.is_multiple_of(kind.inputs()))
    }

    /// Bytes that a weight `(out, in)` takes; `None` if it cannot stay in the format.
    pub fn size(format: GgmlDType, [outputs, inputs]: [usize; 2]) -> Option<usize> {
        let kind = Kind::of(format).filter(|kind| inputs.is_multiple_of(kind.inputs()))?;
        Some(outputs.div_ceil(PANEL) * (inputs / kind.inputs()) * kind.bytes())
    }

    /// Reorders the stored bytes of a weight `(out, in)`, which are row-major; output `index` is row `order(index)` of
    /// the file.
    pub fn new(
        format: GgmlDType,
        stored: &[u8],
        [outputs, inputs]: [usize; 2],
        order: impl Fn(usize) -> usize + Sync,
    ) -> Result<Self> {
        let Some((kind, size)) = Kind::of(format).zip(Blocks::size(format, [outputs, inputs])) else {
            bail!("blocks: {format:?} with {inputs} inputs");
        };
        let blocks = inputs / kind.inputs();
        if stored.len() != outputs * blocks * kind.stored_bytes() {
            bail!("blocks: {} bytes for {outputs} rows of {inputs} numbers in {format:?}", stored.len());
        }
        let mut bytes = vec![0; size];
        bytes.par_chunks_mut((blocks * kind.bytes()).max(1)).enumerate().for_each(|(panel, bytes)| {
            for (lane, output) in (panel * PANEL..outputs.min((panel + 1) * PANEL)).enumerate() {
                let row = &stored[order(output) * blocks * kind.stored_bytes()..];
                let row = row.chunks_exact(kind.stored_bytes());
                bytes.chunks_exact_mut(kind.bytes()).zip(row).for_each(|(block, stored)| kind.put(lane, stored, block));
            }
        });
        Ok(Blocks { kind, inputs, outputs, bytes })
    }

    pub fn dims(&self) -> [usize; 2] {
        [self.outputs, self.inputs]
    }

    pub fn held(&self) -> usize {
        self.bytes.len()
    }

    /// Expands some inputs of a panel, a whole number of blocks, to `(inputs, 16)`.
    pub(crate) fn expand(&self, panel: usize, inputs: Range<usize>, out: &mut [f32]) {
        let (each, bytes) = (self.kind.inputs(), self.kind.bytes());
        let begin = panel * (self.inputs / each) + inputs.start / each;
        let blocks = &self.bytes[begin * bytes..][..inputs.len() / each * bytes];
        expand::expand(self.kind, blocks, out.as_chunks_mut().0);
    }

    /// Expands the first panel by one of [`ways`].
    #[cfg(test)]
    pub(crate) fn expanded_by(&self, way: expand::Expand) -> Vec<f32> {
        let mut out = vec![0.0; PANEL * self.inputs];
        let blocks = &self.bytes[..self.inputs / self.kind.inputs() * self.kind.bytes()];
        // Safety: `way` is one of this machine's.
        unsafe { way(self.kind, blocks, out.as_chunks_mut().0) };
        out
    }

    /// Expands the whole weight to `(out, in)`.
    pub fn numbers(&self) -> Vec<f32> {
        let mut numbers = vec![0.0; self.outputs * self.inputs];
        numbers.par_chunks_mut((PANEL * self.inputs).max(1)).enumerate().for_each(|(panel, numbers)| {
            let mut expanded = [0.0; SLICE * PANEL];
            for from in (0..self.inputs).step_by(SLICE) {
                let slice = from..self.inputs.min(from + SLICE);
                self.expand(panel, slice.clone(), &mut expanded[..slice.len() * PANEL]);
                for (lane, row) in numbers.chunks_exact_mut(self.inputs).enumerate() {
                    let expanded = expanded.as_chunks::<PANEL>().0;
                    row[slice.clone()].iter_mut().zip(expanded).for_each(|(number, values)| *number = values[lane]);
                }
            }
        });
        numbers
    }

    /// Expands the rows of some outputs to `(N, in)`; `ids`: `(N,)` u32.
    pub(crate) fn rows(&self, ids: &Tensor) -> Result<Tensor> {
        let ids = ids.to_vec1::<u32>()?;
        if let Some(id) = ids.iter().find(|id| **id as usize >= self.outputs) {
            bail!("blocks: row {id} of {}", self.outputs);
        }
        let mut rows = vec![0.0; ids.len() * self.inputs];
        rows.par_chunks_mut(self.inputs.max(1)).zip(&ids).for_each_init(
            || vec![0.0; self.inputs * PANEL],
            |panel, (row, id)| {
                let (index, lane) = (*id as usize / PANEL, *id as usize % PANEL);
                self.expand(index, 0..self.inputs, panel);
                row.iter_mut().zip(panel.as_chunks::<PANEL>().0).for_each(|(number, values)| *number = values[lane]);
            },
        );
        Tensor::from_vec(rows, (ids.len(), self.inputs), &Device::Cpu)
    }
}
