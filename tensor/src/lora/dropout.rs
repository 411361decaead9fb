//! Dropout on the input of low-rank terms.
//!
//! A mask depends only on the random stream of its row and on the place in the row. It is therefore the same however
//! rows are batched, whatever the number of threads, and each time it is drawn, so no mask is kept between the passes.

use candle_core::{DType, Device, Result, Tensor, bail};
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::RngCore;
use rayon::prelude::*;

/// A number is dropped by 16 random bits, so a probability is rounded to a multiple of one over this.
const STEPS: u32 = 1 << 16;

/// Dropout masks of the input of one layer.
#[derive(Debug, Clone)]
pub struct Masks {
    /// The random stream of each row, at its start.
    rows: Vec<ChaCha8Rng>,
    /// Of [`STEPS`] equally likely values, those that drop a number.
    dropped: u32,
}

impl Masks {
    /// Masks that drop each number with this probability, by the random stream of its row.
    pub fn new(rows: Vec<ChaCha8Rng>, probability: f64) -> Self {
        let dropped = ((probability * f64::from(STEPS)).round() as u32).min(STEPS - 1);
        Masks { rows, dropped }
    }

    /// Drops numbers of `x`, f32, `(B * T, in)`, and enlarges the others so that the expectation stays.
    ///
    /// Source: Srivastava et al. 2014, in the form of PyTorch.
    pub(crate) fn apply(&self, x: &Tensor) -> Result<Tensor> {
        let (count, width) = x.dims2()?;
        x * self.factors([count, width], x.device())?
    }

    /// The factor of each number, `(B * T, in)`: 0 or the enlargement.
    pub fn factors(&self, [count, width]: [usize; 2], device: &Device) -> Result<Tensor> {
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
