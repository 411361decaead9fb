//! Half a layer as one operation on a GPU: norm, maps, attention or gate, one more map, and the residual sum.

use candle_core::{DType, Result, Tensor};

use crate::attached::attached;
use crate::gpu::launch::Gpu;
use crate::gpu::params::{THREADS, params};
use crate::lora::{Adapted, gpu};
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

params! {
    /// Adds numbers to numbers.
    Add { sum: u64, term: u64, count: u64 }
}

/// Adds `term` to the numbers of `sum`, which nobody else holds; both are contiguous, and of one shape and format. Candle's
/// own sum starts a thread for each number, most of which have nothing to do.
fn add_to(sum: &Tensor, term: &Tensor) -> Result<()> {
    let (gpu, count) = (Gpu::of(sum)?, sum.elem_count());
    let params = Add { sum: gpu.address(sum)?, term: gpu.address(term)?, count: count as u64 };
    // Safety: both tensors have as many numbers.
    unsafe { gpu.typed("add", sum.dtype(), count.div_ceil(8 * THREADS), &params) }
}

/// `x + last(middle(first(norm(x))))`, whose operands are in no graph.
#[derive(Debug, Clone)]
pub struct Residual {
    /// Weight of the norm, `(H,)`, not trained.
    pub norm: Tensor,
    /// Added to the mean square inside the norm's square root.
    pub epsilon: f64,
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
        if !self.first.is_served(x) || !self.last.is_served(x) || self.norm.track_op() {
            return Ok(None);
        }
        // A node has at most three arguments, so all factors are passed as one.
        let factors = [&self.first.a, &self.first.b, &self.last.a, &self.last.b];
        let flat = factors.iter().map(|factor| factor.to_dtype(DType::F32)?.flatten_all());
        let flat = Tensor::cat(&flat.collect::<Result<Vec<_>>>()?, 0)?;
        let (op, inputs, of_x) = (self.over(&flat.detach())?, x.detach().contiguous()?, x.track_op());
        let (value, between) = op.forward(&inputs)?;
        let value = attached(value, &[x, &flat], move |grad| {
            let (dx, dfactors) = op.backward(&inputs, &between, grad, of_x)?;
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
        norm::gpu::rms_norm(x, &self.norm, self.epsilon)
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
        let mapped = gpu::adapted_linear(&self.normed(x)?, &self.first)?;
        let mixed = self.mix(&mapped)?;
        let value = gpu::adapted_linear(&mixed, &self.last)?;
        add_to(&value, x)?;
        // A gate is cheap to compute again: one pass over memory.
        let mixed = matches!(self.middle, Middle::Attention { .. }).then_some(mixed);
        Ok((value, Between { mapped, mixed }))
    }

    /// Gradients by `x`, if `of_x`, and by the factors, concatenated.
    fn backward(
        &self,
        x: &Tensor,
        Between { mapped, mixed }: &Between,
        grad: &Tensor,
        of_x: bool,
    ) -> Result<(Option<Tensor>, Tensor)> {
        let mixed = mixed.as_ref().map_or_else(|| self.mix(mapped), |mixed| Ok(mixed.clone()))?;
        let [dmixed, da_last, db_last] = gpu::adapted_linear_slopes(&mixed, &self.last, grad, true)?;
        drop(mixed);
        let Some(dmixed) = dmixed else { candle_core::bail!("no gradient reaches what lies between the maps") };
        let dmapped = self.mix_slope(mapped, &dmixed)?;
        drop(dmixed);
        let [dnormed, da, db] = gpu::adapted_linear_slopes(&self.normed(x)?, &self.first, &dmapped, of_x)?;
        let through_norm = |dnormed: Tensor| {
            let (dx, _) = norm::gpu::rms_norm_slopes(x, &self.norm, self.epsilon, &dnormed, false)?;
            add_to(&dx, grad)?;
            Ok::<_, candle_core::Error>(dx)
        };
        let factors = [da, db, da_last, db_last].into_iter().flatten().map(|factor| factor.flatten_all());
        Ok((dnormed.map(through_norm).transpose()?, Tensor::cat(&factors.collect::<Result<Vec<_>>>()?, 0)?))
    }
}

#[cfg(test)]
mod tests {
    use candle_core::Device;

    use super::*;
    use crate::gpu::emulated;

    #[test]
    fn sums_of_a_gpu_have_the_bits_of_candles_sums() {
        for (count, from) in [(1, 0), (8, 0), (4099, 0), (4100, 1)] {
            for format in [DType::F32, DType::BF16, DType::F16] {
                let part = |seed: usize| {
                    let numbers = (0..from + count).map(|i| ((i * 7919 + seed) % 1009) as f32 / 37.0 - 13.0);
                    let whole = Tensor::from_iter(numbers, &Device::Cpu).unwrap().to_dtype(format).unwrap();
                    whole.narrow(0, from, count).unwrap()
                };
                let numbers = |sum: &Tensor| sum.to_dtype(DType::F32).unwrap().to_vec1::<f32>().unwrap();
                let expected = (part(1) + part(2)).unwrap();
                emulated(|| {
                    let sum = part(1);
                    add_to(&sum, &part(2)).unwrap();
                    assert_eq!(numbers(&sum), numbers(&expected), "{count} of {format:?}");
                });
            }
        }
    }
}
