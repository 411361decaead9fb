//! Products with frozen weights and trained low-rank terms, on a GPU.
//!
//! The factors of the terms are f32, and f32 products are slow on a GPU. Each factor is therefore split into its value
//! rounded to the layers' format and the rounding error in that format (`factors.cuh`). A term then is one more
//! product in that format, with an inner dimension three times as long, that accumulates into the product with the
//! frozen weight; a bias adds two numbers to that dimension.

use candle_core::{DType, Result, Tensor};

use super::{Adapted, Frozen};
use crate::attached::Slopes;
use crate::gpu::launch::Gpu;
use crate::gpu::params::{THREADS, params};
use crate::gpu::products::{Matrices, Products};

params! {
    /// Splits numbers into their rounded values and rounding errors.
    SplitFactors {
        out: u64, from: u64, tail: u64, out_row: u64, in_row: u64, in_rest: u64, out_low: u64, out_again: u64,
        out_tail: u64, rows: u64, width: u32, blocks: u32, in_block: u32, out_block: u32, scale: f32, zeros: u32,
    }
}

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
    /// `(3 * maps * rank, in)`: the maps' rounded first factors, the same again, and the rounding errors.
    a: Tensor,
    /// `(sum of outs, deep)`: the rounded second factors, the same again, the rounding errors, and biases.
    b: Tensor,
    has_bias: bool,
}

/// [`adapted_linear`](super::adapted_linear) without a graph; `x` and the factors are contiguous, the factors in f32.
pub(crate) fn adapted_linear(x: &Tensor, adapted: &Adapted) -> Result<Tensor> {
    let terms = Terms::new(x, adapted)?;
    let out = terms.gpu.empty((x.dim(0)?, terms.b.dim(0)?), x.dtype())?;
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

/// Gradients by `x`, if `of_x`, and by both factors; `slope` is the gradient of the output, contiguous.
pub(crate) fn adapted_linear_slopes(x: &Tensor, adapted: &Adapted, slope: &Tensor, of_x: bool) -> Result<Slopes> {
    let (terms, maps) = (Terms::new(x, adapted)?, &adapted.maps);
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

/// Splits numbers into two of type `dtype`.
///
/// # Safety
///
/// As for [`Gpu::launch`].
unsafe fn split(gpu: &Gpu, dtype: DType, params: &SplitFactors) -> Result<()> {
    let columns = params.width + u32::from(params.out_tail != 0) + params.zeros;
    let threads = params.rows as usize * (params.blocks * columns) as usize;
    // Safety: the caller's promise.
    unsafe { gpu.typed("split_factors", dtype, threads.div_ceil(THREADS), params) }
}

/// The sum of the two halves of a matrix.
fn joined(halves: &Tensor, dim: usize) -> Result<Tensor> {
    let half = halves.dim(dim)? / 2;
    halves.narrow(dim, 0, half)? + halves.narrow(dim, half, half)?
}

impl<'a> Terms<'a> {
    fn new(x: &'a Tensor, Adapted { a, b, scale, maps }: &'a Adapted) -> Result<Self> {
        let (gpu, dtype) = (Gpu::of(x)?, x.dtype());
        let ((ranks, inputs), (total, rank)) = (a.dims2()?, b.dims2()?);
        let has_bias = maps.iter().any(|map| map.bias.is_some());
        let deep = deep(rank, has_bias);
        let (split_a, split_b) = (gpu.empty((3 * ranks, inputs), dtype)?, gpu.empty((total, deep), dtype)?);
        let plain = SplitFactors {
            out: gpu.address(&split_a)?,
            from: gpu.address(a)?,
            tail: 0,
            out_row: inputs as u64,
            in_row: inputs as u64,
            in_rest: 0,
            out_low: (2 * ranks * inputs) as u64,
            out_again: (ranks * inputs) as u64,
            out_tail: 0,
            rows: ranks as u64,
            width: inputs as u32,
            blocks: 1,
            in_block: 0,
            out_block: 0,
            scale: 1.0,
            zeros: 0,
        };
        // Safety: `split_a` is three times as long as `a`.
        unsafe { split(&gpu, dtype, &plain)? };
        let bias = if has_bias { Some(biases(maps)?) } else { None };
        let with_tail = SplitFactors {
            out: gpu.address(&split_b)?,
            from: gpu.address(b)?,
            tail: bias.as_ref().map_or(Ok(0), |bias| gpu.address(bias))?,
            out_row: deep as u64,
            in_row: rank as u64,
            out_low: 2 * rank as u64,
            out_again: rank as u64,
            out_tail: if has_bias { 3 * rank as u64 } else { 0 },
            rows: total as u64,
            width: rank as u32,
            zeros: zeros(rank, has_bias),
            ..plain
        };
        // Safety: a row of `split_b` has `deep` numbers, and so many are written.
        unsafe { split(&gpu, dtype, &with_tail)? };
        Ok(Terms { gpu, maps, x, rank, scale: *scale as f32, deep, a: split_a, b: split_b, has_bias })
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
        let first = self.gpu.matrices(&self.a)?.after(ranks * inputs);
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
        let (dlow, a) = (self.gpu.matrices(dlow)?, self.gpu.matrices(&self.a)?);
        self.run(Products::one(to, dlow, a, [count, 3 * self.rank * self.maps.len(), inputs]).added())?;
        dx.to_dtype(dtype)
    }

    /// A map's part of the result of [`Terms::low`].
    fn of_map(&self, low: &Tensor, index: usize) -> Result<Matrices> {
        Ok(self.gpu.matrices(low)?.after(index * self.deep))
    }

    /// The second factor of the map whose outputs begin at `column`.
    fn second(&self, column: usize) -> Result<Matrices> {
        Ok(self.gpu.matrices(&self.b)?.after(column * self.deep))
    }

    fn run(&self, products: Products) -> Result<()> {
        // Safety: what is read and written lies within the tensors of the matrices.
        unsafe { self.gpu.products(&products) }
    }
}

/// Numbers of a row of split factors: three parts, a bias, and zeros up to the next multiple of 8. With another inner
/// dimension a product of 16-bit numbers leaves the fast kernels of a GPU.
fn deep(rank: usize, has_bias: bool) -> usize {
    filled(rank, has_bias).next_multiple_of(8)
}

fn filled(rank: usize, has_bias: bool) -> usize {
    3 * rank + if has_bias { 2 } else { 0 }
}

fn zeros(rank: usize, has_bias: bool) -> u32 {
    (deep(rank, has_bias) - filled(rank, has_bias)) as u32
}

/// The biases side by side, in f32; zero for a map without bias.
fn biases(maps: &[Frozen]) -> Result<Tensor> {
    let parts = maps.iter().map(|map| match &map.bias {
        Some(bias) => bias.to_dtype(DType::F32),
        None => Tensor::zeros(map.weight.dim(0)?, DType::F32, map.weight.device()),
    });
    Tensor::cat(&parts.collect::<Result<Vec<_>>>()?, 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_inner_dimension_of_a_term_is_a_multiple_of_eight() {
        assert_eq!(
            [(32, true), (32, false), (4, true), (5, false)].map(|(rank, bias)| deep(rank, bias)),
            [104, 96, 16, 16]
        );
        assert_eq!((zeros(32, true), zeros(32, false), zeros(4, true)), (6, 0, 2));
    }
}
