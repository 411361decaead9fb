//! Half a layer as one operation on a GPU: norm, maps, attention or gate, one more map, and the residual sum.

use candle_core::{DType, Result, Tensor};

use crate::attached::attached;
use crate::lora::Adapted;
use crate::{Heads, RopeTable, attention, gate, norm};

/// The operation between the maps.
#[derive(Debug, Clone)]
pub enum Middle {
    /// [`crate::causal_attention`].
    Attention {
        /// Number of sequences.
        rows: usize,
        heads: Heads,
        rope: RopeTable,
    },
    /// [`crate::gated`] with SiLU.
    Gate,
}

/// `x + last(middle(first(norm(x))))`, whose operands are in no graph.
#[derive(Debug, Clone)]
pub struct Residual {
    /// Weight of the norm, `(H,)`, not trained, and its epsilon.
    pub norm: (Tensor, f64),
    /// Maps of the norm's output.
    pub first: Adapted,
    pub middle: Middle,
    /// The map of the middle's output.
    pub last: Adapted,
}

/// Intermediate results that the backward pass needs besides `x`.
struct Between {
    /// Output of the first maps.
    mapped: Tensor,
    /// Output of the middle, where computing it again takes long.
    mixed: Option<Tensor>,
}

impl Residual {
    /// Computes `x + last(middle(first(norm(x))))`; `None` if no GPU can, if there is dropout, or if the norm is
    /// trained.
    ///
    /// Candle's graph sees none of the intermediate results: candle adds each gradient to a tensor of zeros first,
    /// which for the widest tensors of a layer takes longer than to compute the gradient.
    ///
    /// * `x`: `(N, H)`, like the result.
    pub fn apply(&self, x: &Tensor) -> Result<Option<Tensor>> {
        if !self.first.is_served(x) || !self.last.is_served(x) || self.norm.0.track_op() {
            return Ok(None);
        }
        // A node has at most three arguments, so all factors are passed as one.
        let factors = [&self.first.a, &self.first.b, &self.last.a, &self.last.b];
        let flat = factors.iter().map(|factor| factor.to_dtype(DType::F32)?.flatten_all());
        let flat = Tensor::cat(&flat.collect::<Result<Vec<_>>>()?, 0)?;
        let (op, inputs, wanted) = (self.over(&flat.detach())?, x.detach().contiguous()?, x.track_op());
        let (value, between) = op.forward(&inputs)?;
        let value = attached(value, &[x, &flat], move |grad| {
            let (dx, dfactors) = op.backward((&inputs, wanted), &between, grad)?;
            Ok([dx, Some(dfactors), None])
        });
        value.map(Some)
    }

    /// The same operation with its factors taken from `flat`, where they lie one after the other.
    fn over(&self, flat: &Tensor) -> Result<Residual> {
        let mut from = 0;
        let mut next = |factor: &Tensor| {
            let part = flat.narrow(0, from, factor.elem_count())?.reshape(factor.shape());
            from += factor.elem_count();
            part
        };
        let first = Adapted { a: next(&self.first.a)?, b: next(&self.first.b)?, ..self.first.clone() };
        let last = Adapted { a: next(&self.last.a)?, b: next(&self.last.b)?, ..self.last.clone() };
        Ok(Residual { first, last, ..self.clone() })
    }

    fn normed(&self, x: &Tensor) -> Result<Tensor> {
        norm::gpu::rms_norm(x, &self.norm.0, self.norm.1)
    }

    fn mix(&self, mapped: &Tensor) -> Result<Tensor> {
        match &self.middle {
            Middle::Attention { rows, heads, rope } => {
                attention::gpu::causal_attention(mapped, *rows, *heads, rope.angles())
            }
            Middle::Gate => gate::gpu::silu_mul(mapped),
        }
    }

    fn mix_slope(&self, mapped: &Tensor, slope: &Tensor) -> Result<Tensor> {
        match &self.middle {
            Middle::Attention { rows, heads, rope } => {
                attention::gpu::causal_attention_slope(mapped, *rows, *heads, rope.angles(), slope)
            }
            Middle::Gate => gate::gpu::silu_mul_slope(mapped, slope),
        }
    }

    fn forward(&self, x: &Tensor) -> Result<(Tensor, Between)> {
        let mapped = self.first.on_gpu(&self.normed(x)?)?;
        let mixed = self.mix(&mapped)?;
        let value = (x + self.last.on_gpu(&mixed)?)?;
        // A gate is cheap to compute again: one pass over memory.
        let mixed = matches!(self.middle, Middle::Attention { .. }).then_some(mixed);
        Ok((value, Between { mapped, mixed }))
    }

    /// Gradients by `x`, if it is wanted, and by the factors, concatenated.
    fn backward(
        &self,
        (x, wanted): (&Tensor, bool),
        Between { mapped, mixed }: &Between,
        grad: &Tensor,
    ) -> Result<(Option<Tensor>, Tensor)> {
        let mixed = mixed.as_ref().map_or_else(|| self.mix(mapped), |mixed| Ok(mixed.clone()))?;
        let [dmixed, da_last, db_last] = self.last.slopes_on_gpu((&mixed, true), grad)?;
        drop(mixed);
        let Some(dmixed) = dmixed else { candle_core::bail!("no gradient reaches what lies between the maps") };
        let dmapped = self.mix_slope(mapped, &dmixed)?;
        drop(dmixed);
        let [dnormed, da, db] = self.first.slopes_on_gpu((&self.normed(x)?, wanted), &dmapped)?;
        let through_norm = |dnormed: Tensor| {
            let (dx, _) = norm::gpu::rms_norm_slopes(x, (&self.norm.0, false), self.norm.1, &dnormed)?;
            dx + grad
        };
        let factors = [da, db, da_last, db_last].into_iter().flatten().map(|factor| factor.flatten_all());
        Ok((dnormed.map(through_norm).transpose()?, Tensor::cat(&factors.collect::<Result<Vec<_>>>()?, 0)?))
    }
}
