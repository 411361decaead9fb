//! The fused step of AdamW on the CPU, of one variable. Source: Loshchilov and Hutter 2019, algorithm 2, in the form of PyTorch's `AdamW`.

use candle_core::{CpuStorage, InplaceOp2, InplaceOp3, Layout, Result, Storage, Tensor};
use rayon::prelude::*;

use crate::gpu::{AdamWRates, Moved};

/// Count of numbers that a thread works on at a time. Sums add such pieces in order, independent of the number of
/// threads.
const PIECE: usize = 1 << 15;

/// One update of one variable by AdamW. All of its tensors are f32, contiguous, and on the CPU.
///
/// # Errors
/// Other tensors.
pub fn adamw(moved: &Moved<'_>, rates: &AdamWRates) -> Result<()> {
    let Moved { value, gradient, mean, square, keep } = *moved;
    let AdamWRates { beta1, beta2, scale, .. } = *rates;
    mean.inplace_op2(gradient, &Average { beta: beta1, scale, squared: false })?;
    square.inplace_op2(gradient, &Average { beta: beta2, scale, squared: true })?;
    value.inplace_op3(mean, square, &Step { rates: *rates, keep })
}

/// The sum of the squares of a gradient, of any shape. Of f32 on the CPU in f64.
pub fn sum_of_squares(gradient: &Tensor) -> Result<f64> {
    let (storage, layout) = gradient.storage_and_layout();
    if let (Storage::Cpu(CpuStorage::F32(values)), Some((from, to))) = (&*storage, layout.contiguous_offsets()) {
        let square = |piece: &[f32]| piece.iter().map(|value| f64::from(*value) * f64::from(*value)).sum::<f64>();
        let pieces: Vec<f64> = values[from..to].par_chunks(PIECE).map(square).collect();
        return Ok(pieces.iter().sum());
    }
    drop(storage);
    Ok(f64::from(gradient.sqr()?.sum_all()?.to_scalar::<f32>()?))
}

/// `average = beta * average + (1 - beta) * g`, where `g` is the scaled gradient or its square.
struct Average {
    beta: f64,
    /// Factor of the gradient, for clipping and for the loss scale.
    scale: f64,
    squared: bool,
}

impl InplaceOp2 for Average {
    fn name(&self) -> &'static str {
        "moment of a gradient"
    }

    fn cpu_fwd(
        &self,
        average: &mut CpuStorage,
        average_layout: &Layout,
        gradient: &CpuStorage,
        gradient_layout: &Layout,
    ) -> Result<()> {
        let gradient = slice(gradient, gradient_layout)?;
        let (beta, rest, scale) = (self.beta as f32, (1.0 - self.beta) as f32, self.scale as f32);
        let pairs = slice_mut(average, average_layout)?.par_chunks_mut(PIECE).zip(gradient.par_chunks(PIECE));
        pairs.for_each(|(average, gradient)| {
            for (average, gradient) in average.iter_mut().zip(gradient) {
                let gradient = gradient * scale;
                let term = if self.squared { gradient * gradient } else { gradient };
                *average = beta * *average + rest * term;
            }
        });
        Ok(())
    }
}

/// `p = keep * p - rate * mean / (sqrt(square) / root_correction + epsilon)`.
struct Step {
    rates: AdamWRates,
    /// Factor of the variable for its weight decay.
    keep: f64,
}

impl InplaceOp3 for Step {
    fn name(&self) -> &'static str {
        "step of AdamW"
    }

    fn cpu_fwd(
        &self,
        values: &mut CpuStorage,
        values_layout: &Layout,
        mean: &CpuStorage,
        mean_layout: &Layout,
        square: &CpuStorage,
        square_layout: &Layout,
    ) -> Result<()> {
        let (mean, square) = (slice(mean, mean_layout)?, slice(square, square_layout)?);
        let AdamWRates { rate, epsilon, root_correction, .. } = self.rates;
        let (rate, epsilon, keep) = (rate as f32, epsilon as f32, self.keep as f32);
        let inverse = (1.0 / root_correction) as f32;
        let values = slice_mut(values, values_layout)?.par_chunks_mut(PIECE);
        values.zip(mean.par_chunks(PIECE)).zip(square.par_chunks(PIECE)).for_each(|((values, mean), square)| {
            for ((value, mean), square) in values.iter_mut().zip(mean).zip(square) {
                *value = keep * *value - rate * mean / (square.sqrt() * inverse + epsilon);
            }
        });
        Ok(())
    }
}

fn slice<'a>(storage: &'a CpuStorage, layout: &Layout) -> Result<&'a [f32]> {
    match (storage, layout.contiguous_offsets()) {
        (CpuStorage::F32(values), Some((from, to))) => Ok(&values[from..to]),
        _ => candle_core::bail!("the optimiser works on contiguous f32 values"),
    }
}

fn slice_mut<'a>(storage: &'a mut CpuStorage, layout: &Layout) -> Result<&'a mut [f32]> {
    match (storage, layout.contiguous_offsets()) {
        (CpuStorage::F32(values), Some((from, to))) => Ok(&mut values[from..to]),
        _ => candle_core::bail!("the optimiser works on contiguous f32 values"),
    }
}
