//! Rotary position embeddings (RoPE): tables of cosines and sines, and the rotation of a head's halves.

use std::sync::Arc;

use candle_core::{D, DType, Device, Result, Tensor};

use crate::Heads;

/// The rotation angles of a model.
#[derive(Debug, Clone, PartialEq)]
pub struct Angles {
    /// Angle per position of each pair of dimensions, in radians, `(D/2,)`.
    pub frequencies: Vec<f64>,
    /// Factor of cosines and sines: 1, or the attention factor of LongRoPE.
    pub size: f64,
}

impl Angles {
    /// The unscaled angles of heads of `width` dimensions.
    ///
    /// Source: Su et al. 2021, eq. 15.
    pub fn plain(theta: f64, width: usize) -> Angles {
        let frequency = |i| theta.powf(-2.0 * i as f64 / width as f64);
        Angles { frequencies: (0..width / 2).map(frequency).collect(), size: 1.0 }
    }
}

/// Cosines and sines of every position up to a length.
#[derive(Debug, Clone)]
pub struct RopeTable {
    /// `(L, D/2)`.
    cos: Tensor,
    /// `(L, D/2)`.
    sin: Tensor,
    /// Both tables for the fused kernels, one row per position: `D/2` cosines, then `D/2` sines.
    rows: Arc<Vec<f32>>,
    half: usize,
}

/// The tables of all layers.
#[derive(Debug, Clone)]
pub struct Rotations {
    full: RopeTable,
    /// The table of layers with a sliding window, if they have other angles.
    sliding: Option<RopeTable>,
}

impl Rotations {
    /// Tables of positions `0..length`. `sliding`: the angles of layers with a sliding window, if they differ.
    pub fn new(full: &Angles, sliding: Option<&Angles>, length: usize, device: &Device) -> Result<Self> {
        let sliding = sliding.map(|sliding| RopeTable::new(sliding, length, device)).transpose()?;
        Ok(Rotations { full: RopeTable::new(full, length, device)?, sliding })
    }

    /// The table of a layer with these heads.
    pub fn of(&self, heads: &Heads) -> &RopeTable {
        match &self.sliding {
            Some(sliding) if heads.scores.window.is_some() => sliding,
            _ => &self.full,
        }
    }
}

/// Direction of a rotation.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Turn {
    Forward,
    /// The transpose of the rotation, which the backward pass needs.
    Back,
}

impl RopeTable {
    /// The table of positions `0..length`, computed in f64 and kept in f32.
    pub fn new(angles: &Angles, length: usize, device: &Device) -> Result<Self> {
        let Angles { frequencies, size } = angles;
        let half = frequencies.len();
        let angles: Vec<f64> =
            (0..length).flat_map(|position| frequencies.iter().map(move |f| position as f64 * f)).collect();
        let cos: Vec<f32> = angles.iter().map(|angle| (angle.cos() * size) as f32).collect();
        let sin: Vec<f32> = angles.iter().map(|angle| (angle.sin() * size) as f32).collect();
        let rows = cos.chunks(half).zip(sin.chunks(half)).flat_map(|(cos, sin)| cos.iter().chain(sin)).copied();
        let rows = Arc::new(rows.collect());
        let table = |values: Vec<f32>| Tensor::from_vec(values, (length, half), device);
        Ok(RopeTable { cos: table(cos)?, sin: table(sin)?, rows, half })
    }

    /// Whether all dimensions of a head of this width are rotated.
    pub fn turns_all(&self, width: usize) -> bool {
        2 * self.half == width
    }

    /// Cosines and sines by position, `(L, D/2)` each, in f32.
    pub(crate) fn angles(&self) -> [&Tensor; 2] {
        [&self.cos, &self.sin]
    }

    /// One row per position: cosines, then sines.
    pub(crate) fn rows(&self) -> &[f32] {
        &self.rows
    }

    /// Rotates the halves of each head of `x` `(B, H, T, D)` by `positions` `(B, T)` u32. Computed in f32, returned in
    /// the format of `x`.
    pub fn rotate(&self, x: &Tensor, positions: &Tensor) -> Result<Tensor> {
        let (rows, steps) = positions.dims2()?;
        let of = |table: &Tensor| table.index_select(&positions.flatten_all()?, 0)?.reshape((rows, 1, steps, ()));
        turned(x, &of(&self.cos)?, &of(&self.sin)?)
    }

    /// Rotates by positions `0..T` in every row.
    pub(crate) fn rotate_from_start(&self, x: &Tensor, turn: Turn) -> Result<Tensor> {
        let steps = x.dim(2)?;
        let (cos, sin) = (self.cos.narrow(0, 0, steps)?, self.sin.narrow(0, 0, steps)?);
        let sin = if turn == Turn::Forward { sin } else { sin.neg()? };
        turned(x, &cos, &sin)
    }

    /// Rotates one head's vector into `out`.
    #[inline(always)]
    pub(crate) fn turn(&self, out: &mut [f32], x: &[f32], position: usize, turn: Turn) {
        let half = self.half;
        let (cos, sin) = self.rows[position * 2 * half..][..2 * half].split_at(half);
        // Dimensions beyond both halves are not rotated.
        out[2 * half..].copy_from_slice(&x[2 * half..]);
        let ((low, high), (out_low, out_high)) = (x[..2 * half].split_at(half), out[..2 * half].split_at_mut(half));
        let sign = if turn == Turn::Forward { 1.0 } else { -1.0 };
        for i in 0..half {
            let sin = sign * sin[i];
            out_low[i] = low[i] * cos[i] - high[i] * sin;
            out_high[i] = high[i] * cos[i] + low[i] * sin;
        }
    }
}

/// Rotates `x`, `(B, H, T, D)`; `cos` and `sin` are broadcast over it.
fn turned(x: &Tensor, cos: &Tensor, sin: &Tensor) -> Result<Tensor> {
    let (format, half) = (x.dtype(), cos.dim(D::Minus1)?);
    let x = x.to_dtype(DType::F32)?;
    let (low, high) = (x.narrow(D::Minus1, 0, half)?, x.narrow(D::Minus1, half, half)?);
    let turned_low = (low.broadcast_mul(cos)? - high.broadcast_mul(sin)?)?;
    let turned_high = (high.broadcast_mul(cos)? + low.broadcast_mul(sin)?)?;
    let width = x.dim(D::Minus1)?;
    if width == 2 * half {
        return Tensor::cat(&[turned_low, turned_high], D::Minus1)?.to_dtype(format);
    }
    // Dimensions beyond both halves are not rotated.
    let rest = x.narrow(D::Minus1, 2 * half, width - 2 * half)?;
    Tensor::cat(&[turned_low, turned_high, rest], D::Minus1)?.to_dtype(format)
}
