//! Frozen maps with the factors of their low-rank terms.

use candle_core::{DType, Result, Tensor};

use crate::linear::weight::Weight;
use crate::lora::dropout::Masks;
use crate::on_gpu;

/// A frozen linear map, `x W^T + bias`.
#[derive(Debug, Clone)]
pub struct Frozen {
    /// `(out, in)`.
    pub weight: Weight,
    /// `(out,)`.
    pub bias: Option<Tensor>,
    /// Dropout of `x` as the low-rank term's input.
    pub dropout: Option<Masks>,
}

impl Frozen {
    /// Applies the dropout to `x`, in f32. Applied to the gradient by the term's input, it gives the gradient by `x`.
    pub(super) fn dropped(&self, x: Tensor) -> Result<Tensor> {
        match &self.dropout {
            Some(masks) => masks.apply(&x),
            None => Ok(x),
        }
    }
}

/// Frozen maps with the same input, and the factors of their low-rank terms.
#[derive(Debug, Clone)]
pub struct Adapted {
    /// First factors, `(maps * r, in)`, stacked.
    pub a: Tensor,
    /// Second factors, `(sum of outs, r)`, stacked.
    pub b: Tensor,
    /// Factor of the low-rank terms.
    pub scale: f64,
    pub maps: Vec<Frozen>,
}

impl Adapted {
    /// Whether a GPU's kernels can map `x`. They do not serve f16, whose range is too small for the smallest numbers
    /// of the factors, nor dropout.
    pub(crate) fn is_served(&self, x: &Tensor) -> bool {
        on_gpu(x) && x.dtype() != DType::F16 && self.maps.iter().all(|map| map.dropout.is_none())
    }

    /// The same without a graph, the factors contiguous and in f32, as the kernels of a GPU read them.
    pub(super) fn detached(&self) -> Result<Self> {
        let wide = |factor: &Tensor| factor.detach().to_dtype(DType::F32)?.contiguous();
        Ok(Adapted { a: wide(&self.a)?, b: wide(&self.b)?, ..self.clone() })
    }
}
