//! Dropout of what goes into low-rank terms.
//!
//! A mask depends on the chance of its row and on the places there alone, so it is the same however rows are put
//! together, whatever the number of threads, and each time it is drawn: nothing is kept between the passes.

use candle_core::{DType, Device, Result, Tensor, bail};
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::RngCore;
use rayon::prelude::*;

/// Steps that a probability is rounded to: numbers are dropped by 16 bits of chance each.
const STEPS: u32 = 1 << 16;

/// What is dropped before one layer.
#[derive(Debug, Clone)]
pub struct Masks {
    /// One for each row, at its beginning.
    rows: Vec<ChaCha8Rng>,
    /// Of all [`STEPS`].
    dropped: u32,
}

impl Masks {
    /// Each number is dropped with this probability, by the chance of its row.
    pub fn new(rows: Vec<ChaCha8Rng>, probability: f64) -> Self {
        let dropped = ((probability * f64::from(STEPS)).round() as u32).min(STEPS - 1);
        Masks { rows, dropped }
    }

    /// `x`, f32, `(B * T, in)`, with some of its numbers zero and the others larger, so that the mean stays.
    ///
    /// Source: Srivastava et al. 2014, in the form PyTorch gives it.
    pub(crate) fn apply(&self, x: &Tensor) -> Result<Tensor> {
        let (count, width) = x.dims2()?;
        x * self.factors((count, width), x.device())?
    }

    /// What each number is multiplied by, `(B * T, in)`.
    pub fn factors(&self, (count, width): (usize, usize), device: &Device) -> Result<Tensor> {
        let rows = self.rows.len();
        if rows == 0 || !count.is_multiple_of(rows) {
            bail!("dropout: {rows} rows of chance for {count} rows of activations");
        }
        let of_a_row = count / rows * width;
        let mut kept = vec![0_u8; count * width];
        kept.par_chunks_mut(of_a_row.max(1)).zip(&self.rows).for_each(|(kept, row)| {
            let mut chance = vec![0; 2 * kept.len()];
            row.clone().fill_bytes(&mut chance);
            for (kept, chance) in kept.iter_mut().zip(chance.as_chunks::<2>().0) {
                *kept = u8::from(u32::from(u16::from_le_bytes(*chance)) >= self.dropped);
            }
        });
        let scale = f64::from(STEPS) / f64::from(STEPS - self.dropped);
        Tensor::from_vec(kept, (count, width), device)?.to_dtype(DType::F32)? * scale
    }
}
