//! Products with frozen weights and trained low-rank terms, on a GPU.
//!
//! The factors of a term are split into numbers of the layers' format. A term then is one more product in that format, with
//! an inner dimension three times as long, that accumulates into the product with the frozen weight; a bias adds two
//! numbers to that dimension.

use candle_core::{DType, Result, Tensor};

use super::split::{Split, SplitFactors, deep, has_bias, split, zeros};
use super::{Adapted, Frozen};
use crate::attached::Slopes;
use crate::gpu::launch::Gpu;
use crate::gpu::products::{Matrices, Products};

/// One pass over some maps.
struct Terms<'a> {
    gpu: Gpu,
    maps: &'a [Frozen],
    /// `(N, in)`.
    x: &'a Tensor,
    rank: usize,
    scale: f32,
    /// Numbers in a row of a map's split factors, with a bias and zeros.
    deep: usize,
    split: &'a Split,
    has_bias: bool,
}

/// [`adapted_linear`](super::adapted_linear) without a graph; `x` is contiguous, and `split` are its factors in its format.
pub(crate) fn adapted_linear(x: &Tensor, adapted: &Adapted, split: &Split) -> Result<Tensor> {
    let terms = Terms::new(x, adapted, split)?;
    let out = terms.gpu.empty((x.dim(0)?, split.b.dim(0)?), x.dtype())?;
    let low = terms.low()?;
    let ((count, inputs), mut column) = (x.dims2()?, 0);
    let weights = adapted.maps.iter().map(|map| terms.weight(map)).collect::<Result<Vec<_>>>()?;
    for together in terms.together(&weights)? {
        let outputs = together.iter().map(|weight| weight.dim(0)).sum::<Result<usize>>()?;
        let to = terms.gpu.matrices(&out)?.after(column);
        let (left, right) = (terms.gpu.matrices(x)?, terms.gpu.matrices(&together[0])?.t());
        terms.run(Products::one(to, left, right, [count, inputs, outputs]))?;
        column += outputs;
    }
    column = 0;
    for (index, weight) in weights.iter().enumerate() {
        let to = terms.gpu.matrices(&out)?.after(column);
        let (left, right) = (terms.of_map(&low, index)?, terms.second(column)?.t());
        terms.run(Products::one(to, left, right, [count, terms.deep, weight.dim(0)?]).added())?;
        column += weight.dim(0)?;
    }
    Ok(out)
}

/// Gradients by `x`, if `of_x`, and by both factors; `slope` is the gradient of the output, contiguous. That by `x` is in
/// f32 where several maps add to it, and in the format of `x` otherwise.
pub(crate) fn adapted_linear_slopes(
    x: &Tensor,
    adapted: &Adapted,
    split: &Split,
    slope: &Tensor,
    of_x: bool,
) -> Result<Slopes> {
    let (terms, maps) = (Terms::new(x, adapted, split)?, &adapted.maps);
    let ((count, total), rank) = (slope.dims2()?, terms.rank);
    let ranks = rank * maps.len();
    let low = terms.low()?;
    let dlow = terms.gpu.empty((count, 2 * ranks), DType::F32)?;
    let db = terms.gpu.empty((total, 2 * rank), DType::F32)?;
    let mut column = 0;
    for (index, map) in maps.iter().enumerate() {
        let outputs = map.weight.dim(0)?;
        let slope = terms.gpu.matrices(slope)?.after(column);
        let to = terms.gpu.matrices(&dlow)?.after(2 * rank * index);
        // The last two of a factor's three parts are its rounded values and their rounding errors.
        let second = terms.second(column)?.after(rank);
        terms.run(Products::one(to, slope, second, [count, outputs, 2 * rank]))?;
        let to = terms.gpu.matrices(&db)?.after(2 * rank * column);
        terms.run(Products::one(to, slope.t(), terms.of_map(&low, index)?, [outputs, count, 2 * rank]))?;
        column += outputs;
    }
    let dlow = terms.split_slopes(&dlow)?;
    let da = terms.gpu.empty((2 * ranks, x.dim(1)?), DType::F32)?;
    let (to, left) = (terms.gpu.matrices(&da)?, terms.gpu.matrices(&dlow)?.t());
    terms.run(Products::one(to, left, terms.gpu.matrices(x)?, [2 * ranks, count, x.dim(1)?]))?;
    let dx = of_x.then(|| terms.by_inputs(slope, &dlow)).transpose()?;
    Ok([dx, Some(joined(&da, 0)?), Some(joined(&db, 1)?)])
}

/// The sum of the two halves of a matrix.
fn joined(halves: &Tensor, dim: usize) -> Result<Tensor> {
    let half = halves.dim(dim)? / 2;
    halves.narrow(dim, 0, half)? + halves.narrow(dim, half, half)?
}

impl<'a> Terms<'a> {
    fn new(x: &'a Tensor, Adapted { b, scale, maps, .. }: &'a Adapted, split: &'a Split) -> Result<Self> {
        let (rank, has_bias) = (b.dim(1)?, has_bias(maps));
        Ok(Terms { gpu: Gpu::of(x)?, maps, x, rank, scale: *scale as f32, deep: deep(rank, has_bias), split, has_bias })
    }

    /// A map's weight, contiguous and in the format of `x`.
    fn weight(&self, map: &Frozen) -> Result<Tensor> {
        map.weight.to_dtype(self.x.dtype())?.contiguous()
    }

    /// The weights, in runs of those that lie one after the other in memory, which are multiplied by in one product. The
    /// numbers are the same: each sum is of one output.
    fn together<'w>(&self, weights: &'w [Tensor]) -> Result<Vec<&'w [Tensor]>> {
        let begins = weights.iter().map(|weight| self.gpu.address(weight)).collect::<Result<Vec<_>>>()?;
        let end = |at: usize| begins[at] + (weights[at].elem_count() * weights[at].dtype().size_in_bytes()) as u64;
        let breaks = (1..weights.len()).filter(|at| end(at - 1) != begins[*at]).chain([weights.len()]);
        Ok(breaks.scan(0, |from, to| Some(&weights[std::mem::replace(from, to)..to])).collect())
    }

    /// `scale x A^T`, split, `(N, maps * deep)`: for each map the rounded values, the rounding errors, the rounded
    /// values again, and ones for the bias.
    fn low(&self) -> Result<Tensor> {
        let ((count, inputs), (rank, maps)) = (self.x.dims2()?, (self.rank, self.maps.len()));
        let (ranks, dtype) = (rank * maps, self.x.dtype());
        let wide = self.gpu.empty((count, 2 * ranks), DType::F32)?;
        let first = self.gpu.matrices(&self.split.a)?.after(ranks * inputs);
        let (to, x) = (self.gpu.matrices(&wide)?, self.gpu.matrices(self.x)?);
        self.run(Products::one(to, x, first.t(), [count, inputs, 2 * ranks]))?;
        let low = self.gpu.empty((count, maps * self.deep), dtype)?;
        let params = SplitFactors {
            out: self.gpu.address(&low)?,
            from: self.gpu.address(&wide)?,
            tail: 0,
            out_row: (maps * self.deep) as u64,
            in_row: 2 * ranks as u64,
            in_rest: ranks as u64,
            out_low: rank as u64,
            out_again: 2 * rank as u64,
            out_tail: if self.has_bias { 3 * rank as u64 } else { 0 },
            rows: count as u64,
            width: rank as u32,
            blocks: maps as u32,
            in_block: rank as u32,
            out_block: self.deep as u32,
            scale: self.scale,
            zeros: zeros(rank, self.has_bias),
        };
        // Safety: a row of `low` has a block of `deep` numbers for each map.
        unsafe { split(&self.gpu, dtype, &params)? };
        Ok(low)
    }

    /// The gradient by `x A^T`, split: `(N, 3 * maps * rank or more)`, the rounded values of all maps, the rounding
    /// errors, and the rounded values again. `wide` holds for each map two parts, whose sum is the gradient.
    fn split_slopes(&self, wide: &Tensor) -> Result<Tensor> {
        let (count, (rank, maps)) = (wide.dim(0)?, (self.rank, self.maps.len()));
        let ranks = rank * maps;
        let stride = (3 * ranks).next_multiple_of(8);
        let out = self.gpu.empty((count, stride), self.x.dtype())?;
        let params = SplitFactors {
            out: self.gpu.address(&out)?,
            from: self.gpu.address(wide)?,
            tail: 0,
            out_row: stride as u64,
            in_row: 2 * ranks as u64,
            in_rest: rank as u64,
            out_low: ranks as u64,
            out_again: 2 * ranks as u64,
            out_tail: 0,
            rows: count as u64,
            width: rank as u32,
            blocks: maps as u32,
            in_block: 2 * rank as u32,
            out_block: rank as u32,
            scale: self.scale,
            zeros: 0,
        };
        // Safety: a row of `out` has room for three numbers of each rank of each map.
        unsafe { split(&self.gpu, self.x.dtype(), &params)? };
        Ok(out)
    }

    fn by_inputs(&self, slope: &Tensor, dlow: &Tensor) -> Result<Tensor> {
        let ((count, inputs), dtype) = (self.x.dims2()?, self.x.dtype());
        // The gradients of several maps are accumulated in f32, because the format of the layers would round each sum.
        let format = if self.maps.len() == 1 { dtype } else { DType::F32 };
        let dx = self.gpu.empty((count, inputs), format)?;
        let to = self.gpu.matrices(&dx)?;
        let mut column = 0;
        for map in self.maps {
            let weight = self.weight(map)?;
            let outputs = weight.dim(0)?;
            let (slope, weight) = (self.gpu.matrices(slope)?.after(column), self.gpu.matrices(&weight)?);
            let adds = column > 0;
            self.run(Products { adds, ..Products::one(to, slope, weight, [count, outputs, inputs]) })?;
            column += outputs;
        }
        let (dlow, a) = (self.gpu.matrices(dlow)?, self.gpu.matrices(&self.split.a)?);
        self.run(Products::one(to, dlow, a, [count, 3 * self.rank * self.maps.len(), inputs]).added())?;
        Ok(dx)
    }

    /// A map's part of the result of [`Terms::low`].
    fn of_map(&self, low: &Tensor, index: usize) -> Result<Matrices> {
        Ok(self.gpu.matrices(low)?.after(index * self.deep))
    }

    /// The second factor of the map whose outputs begin at `column`.
    fn second(&self, column: usize) -> Result<Matrices> {
        Ok(self.gpu.matrices(&self.split.b)?.after(column * self.deep))
    }

    fn run(&self, products: Products) -> Result<()> {
        // Safety: what is read and written lies within the tensors of the matrices.
        unsafe { self.gpu.products(&products) }
    }
}
