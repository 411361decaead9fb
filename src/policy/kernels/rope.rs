//! Rotary positions: sine and cosine tables and the rotation of head halves.

use candle_core::{D, Device, Result, Tensor};

use crate::policy::DecoderConfig;

/// Cosines and sines of every position up to a length.
#[derive(Debug, Clone)]
pub struct RopeTable {
    /// `(L, D/2)`.
    cos: Tensor,
    /// `(L, D/2)`.
    sin: Tensor,
}

impl RopeTable {
    /// Angles of positions `0..length`, computed in f64 and kept in f32.
    ///
    /// Source: Su et al. 2021, eq. 15; stretching as in Llama 3.1.
    pub fn new(config: &DecoderConfig, length: usize, device: &Device) -> Result<Self> {
        let frequencies = frequencies(config);
        let angles: Vec<f64> =
            (0..length).flat_map(|position| frequencies.iter().map(move |f| position as f64 * f)).collect();
        let table = |function: fn(f64) -> f64| {
            let values: Vec<f32> = angles.iter().map(|angle| function(*angle) as f32).collect();
            Tensor::from_vec(values, (length, frequencies.len()), device)
        };
        Ok(RopeTable { cos: table(f64::cos)?, sin: table(f64::sin)? })
    }

    /// Rotates the halves of each head: `x` `(B, H, T, D)` by `positions` `(B, T)` u32.
    pub fn rotate(&self, x: &Tensor, positions: &Tensor) -> Result<Tensor> {
        let (rows, steps) = positions.dims2()?;
        let half = self.cos.dim(1)?;
        let of = |table: &Tensor| table.index_select(&positions.flatten_all()?, 0)?.reshape((rows, 1, steps, half));
        let (cos, sin) = (of(&self.cos)?, of(&self.sin)?);
        let (low, high) = (x.narrow(D::Minus1, 0, half)?, x.narrow(D::Minus1, half, half)?);
        let turned_low = (low.broadcast_mul(&cos)? - high.broadcast_mul(&sin)?)?;
        let turned_high = (high.broadcast_mul(&cos)? + low.broadcast_mul(&sin)?)?;
        Tensor::cat(&[turned_low, turned_high], D::Minus1)
    }
}

/// Angle each pair of dimensions turns by a position, in radians.
fn frequencies(config: &DecoderConfig) -> Vec<f64> {
    let base = (0..config.head_dim / 2).map(|i| config.rope_theta.powf(-2.0 * i as f64 / config.head_dim as f64));
    let Some(scaling) = config.rope_scaling else { return base.collect() };
    let context = scaling.original_max_position_embeddings as f64;
    base.map(|frequency| {
        let wavelength = 2.0 * std::f64::consts::PI / frequency;
        if wavelength > context / scaling.low_freq_factor {
            frequency / scaling.factor
        } else if wavelength < context / scaling.high_freq_factor {
            frequency
        } else {
            let smooth =
                (context / wavelength - scaling.low_freq_factor) / (scaling.high_freq_factor - scaling.low_freq_factor);
            (1.0 - smooth) * frequency / scaling.factor + smooth * frequency
        }
    })
    .collect()
}
