//! Factors of low-rank terms as the products of a GPU read them.
//!
//! The factors are f32, and f32 products are slow on a GPU. Each is therefore split into its value rounded to the layers'
//! format and the rounding error in that format (`factors.cuh`).

use candle_core::{DType, Result, Tensor};

use super::{Adapted, Frozen};
use crate::gpu::launch::Gpu;
use crate::gpu::params::{THREADS, params};

params! {
    /// Splits numbers into their rounded values and rounding errors.
    SplitFactors {
        out: u64, from: u64, tail: u64, out_row: u64, in_row: u64, in_rest: u64, out_low: u64, out_again: u64,
        out_tail: u64, rows: u64, width: u32, blocks: u32, in_block: u32, out_block: u32, scale: f32, zeros: u32,
    }
}

/// Both factors of some maps, split.
#[derive(Debug, Clone)]
pub(crate) struct Split {
    /// `(3 * maps * rank, in)`: the maps' rounded first factors, the same again, and the rounding errors.
    pub a: Tensor,
    /// `(sum of outs, deep)`: the rounded second factors, the same again, the rounding errors, and biases.
    pub b: Tensor,
}

impl Split {
    /// Splits contiguous factors in f32 into numbers of type `dtype`.
    pub fn new(Adapted { a, b, maps, .. }: &Adapted, dtype: DType) -> Result<Self> {
        let gpu = Gpu::of(a)?;
        let ((ranks, inputs), (total, rank)) = (a.dims2()?, b.dims2()?);
        let has_bias = has_bias(maps);
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
        Ok(Split { a: split_a, b: split_b })
    }
}

/// Splits numbers into two of type `dtype`.
///
/// # Safety
///
/// As for [`Gpu::launch`].
pub(super) unsafe fn split(gpu: &Gpu, dtype: DType, params: &SplitFactors) -> Result<()> {
    let columns = params.width + u32::from(params.out_tail != 0) + params.zeros;
    let threads = params.rows as usize * (params.blocks * columns) as usize;
    // Safety: the caller's promise.
    unsafe { gpu.typed("split_factors", dtype, threads.div_ceil(THREADS), params) }
}

/// Whether the second factors of these maps have biases beside them.
pub(super) fn has_bias(maps: &[Frozen]) -> bool {
    maps.iter().any(|map| map.bias.is_some())
}

/// Numbers of a row of split factors: three parts, a bias, and zeros up to the next multiple of 8. With another inner
/// dimension a product of 16-bit numbers leaves the fast kernels of a GPU.
pub(super) fn deep(rank: usize, has_bias: bool) -> usize {
    filled(rank, has_bias).next_multiple_of(8)
}

fn filled(rank: usize, has_bias: bool) -> usize {
    3 * rank + if has_bias { 2 } else { 0 }
}

pub(super) fn zeros(rank: usize, has_bias: bool) -> u32 {
    (deep(rank, has_bias) - filled(rank, has_bias)) as u32
}

/// The biases side by side, in f32; zero for a map without bias.
pub(super) fn biases(maps: &[Frozen]) -> Result<Tensor> {
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
