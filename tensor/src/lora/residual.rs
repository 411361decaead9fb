//! Layers as one operation on a GPU, half a layer after the other: norm, maps, attention or gate, one more map, and the
//! residual sum.

use std::sync::{Arc, Mutex, PoisonError};

use candle_core::{DType, Result, Tensor, Var, bail};

use crate::attached::attached;
use crate::attention::gpu::Attention;
use crate::gpu::launch::Gpu;
use crate::gpu::params::{THREADS, params};
use crate::lora::split::Split;
use crate::lora::{Adapted, gpu};
use crate::{Heads, RopeTable, gate, norm};

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

/// `x + last(middle(first(norm(x))))`.
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
    /// What was made of the factors before, for several passes; the factors of both maps then are in no graph.
    pub prepared: Option<Arc<Prepared>>,
}

/// The factors of half a layer, split once for several passes, and their gradients, which leave through here rather than
/// through candle's graph. The factors must not change while it lives.
#[derive(Debug)]
pub struct Prepared {
    splits: [Split; 2],
    slopes: Mutex<Option<FactorSlopes>>,
}

/// Gradients by the factors of the first and the last maps: `a` and `b` of each.
pub type FactorSlopes = [Tensor; 4];

impl Prepared {
    /// Splits the factors of the first and the last maps for layers in `format`.
    pub fn new(first: &Adapted, last: &Adapted, format: DType) -> Result<Self> {
        let splits = [Split::new(&first.detached()?, format)?, Split::new(&last.detached()?, format)?];
        Ok(Prepared { splits, slopes: Mutex::default() })
    }

    /// Takes the gradients that the last backward pass has left; `None` if none has come here.
    pub fn take_slopes(&self) -> Option<FactorSlopes> {
        self.slopes.lock().unwrap_or_else(PoisonError::into_inner).take()
    }

    fn put_slopes(&self, slopes: FactorSlopes) {
        *self.slopes.lock().unwrap_or_else(PoisonError::into_inner) = Some(slopes);
    }
}

/// Intermediate results that the backward pass needs besides `x`.
struct Between {
    /// Output of the first maps.
    mapped: Tensor,
    /// Output of the middle, where computing it again takes long.
    mixed: Option<Tensor>,
}

/// Half a layer that was computed: its operands, in no graph, its input, and what else is kept.
struct Passed {
    half: Residual,
    input: Tensor,
    between: Between,
}

/// `x` after these halves, one after the other, which [`Residual::is_served`] says a GPU can compute.
///
/// Candle's graph sees none of the intermediate results: candle adds each gradient to a tensor of zeros first, which for
/// the widest tensors of a layer takes longer than to compute the gradient, and for those between layers four passes over
/// memory.
///
/// * `x`: `(N, H)`, like the result.
pub fn residuals(x: &Tensor, halves: &[Residual]) -> Result<Tensor> {
    if halves.is_empty() {
        return Ok(x.clone());
    }
    let factors = factors_of(x, halves)?;
    let (flat, of_x, is_kept) = (factors.detach(), x.track_op(), x.track_op() || factors.track_op());
    let (mut value, mut from, mut passed) = (x.detach().contiguous()?, 0, Vec::with_capacity(halves.len()));
    for half in halves {
        let half = if half.prepared.is_some() { half.clone() } else { half.over(&flat, &mut from)? };
        let (next, between) = half.forward(&value)?;
        let input = std::mem::replace(&mut value, next);
        if is_kept {
            passed.push(Passed { half, input, between });
        }
    }
    attached(value, &[x, &factors], move |grad| {
        let (mut slope, mut flat) = (Some(grad.clone()), Vec::new());
        for (index, Passed { half, input, between }) in passed.iter().enumerate().rev() {
            let Some(grad) = slope.take() else { bail!("no gradient reaches half a layer") };
            let (dx, slopes) = half.backward(input, between, &grad, index > 0 || of_x)?;
            match &half.prepared {
                Some(prepared) => prepared.put_slopes(slopes),
                // In the order of the halves once all is reversed.
                None => flat.extend(slopes.into_iter().rev()),
            }
            slope = dx;
        }
        let flat = flat.iter().rev().map(Tensor::flatten_all).collect::<Result<Vec<_>>>()?;
        let flat = if flat.is_empty() { None } else { Some(Tensor::cat(&flat, 0)?) };
        Ok([slope, flat, None])
    })
}

/// The factors of all halves that are in a graph, one after the other, because a node has at most three arguments. If there
/// are none, a number that has the node be in the graph whatever `x` is.
fn factors_of(x: &Tensor, halves: &[Residual]) -> Result<Tensor> {
    let factors = halves.iter().filter(|half| half.prepared.is_none()).flat_map(Residual::factors);
    let flat = factors.map(|factor| factor.to_dtype(DType::F32)?.flatten_all()).collect::<Result<Vec<_>>>()?;
    match flat.is_empty() {
        true => Ok(Var::zeros(1, DType::F32, x.device())?.into_inner()),
        false => Tensor::cat(&flat, 0),
    }
}

impl Residual {
    /// Whether the kernels of a GPU can compute this half for `x`: there is no dropout, and the norm is not trained.
    pub fn is_served(&self, x: &Tensor) -> bool {
        self.first.is_served(x) && self.last.is_served(x) && !self.norm.track_op()
    }

    fn factors(&self) -> FactorSlopes {
        [&self.first.a, &self.first.b, &self.last.a, &self.last.b].map(Tensor::clone)
    }

    /// The same operation with its factors taken from `flat`, where they lie one after the other from `from` on.
    fn over(&self, flat: &Tensor, from: &mut usize) -> Result<Residual> {
        let mut next = |factor: &Tensor| {
            let part = flat.narrow(0, *from, factor.elem_count())?.reshape(factor.shape());
            *from += factor.elem_count();
            part
        };
        let first = Adapted { a: next(&self.first.a)?, b: next(&self.first.b)?, ..self.first.clone() };
        let last = Adapted { a: next(&self.last.a)?, b: next(&self.last.b)?, ..self.last.clone() };
        Ok(Residual { first, last, ..self.clone() })
    }

    /// What was prepared, or the same made for one pass.
    fn split(&self, format: DType) -> Result<Arc<Prepared>> {
        match &self.prepared {
            Some(prepared) => Ok(prepared.clone()),
            None => Prepared::new(&self.first, &self.last, format).map(Arc::new),
        }
    }

    fn normed(&self, x: &Tensor) -> Result<Tensor> {
        norm::gpu::rms_norm(x, &self.norm, self.epsilon)
    }

    /// What the middle makes of `mapped`; with the gradient of that, the gradient by `mapped`.
    fn mix(&self, mapped: &Tensor, slope: Option<&Tensor>) -> Result<Tensor> {
        match &self.middle {
            Middle::Attention { rows, heads, rope } => {
                let attention = Attention::new(mapped, *rows, *heads, rope.angles())?;
                slope.map_or_else(|| attention.forward(mapped), |slope| attention.backward(mapped, slope))
            }
            Middle::Gate => gate::gpu::silu_mul(mapped, slope),
        }
    }

    fn forward(&self, x: &Tensor) -> Result<(Tensor, Between)> {
        let prepared = self.split(x.dtype())?;
        let [first, last] = &prepared.splits;
        let mapped = gpu::adapted_linear(&self.normed(x)?, &self.first, first)?;
        let mixed = self.mix(&mapped, None)?;
        let value = gpu::adapted_linear(&mixed, &self.last, last)?;
        add_to(&value, x)?;
        // A gate is cheap to compute again: one pass over memory.
        let mixed = matches!(self.middle, Middle::Attention { .. }).then_some(mixed);
        Ok((value, Between { mapped, mixed }))
    }

    /// Gradients by `x`, if `of_x`, and by the factors.
    fn backward(
        &self,
        x: &Tensor,
        Between { mapped, mixed }: &Between,
        grad: &Tensor,
        of_x: bool,
    ) -> Result<(Option<Tensor>, FactorSlopes)> {
        let prepared = self.split(x.dtype())?;
        let [first, last] = &prepared.splits;
        let mixed = mixed.as_ref().map_or_else(|| self.mix(mapped, None), |mixed| Ok(mixed.clone()))?;
        let [dmixed, da_last, db_last] = gpu::adapted_linear_slopes(&mixed, &self.last, last, grad, true)?;
        drop(mixed);
        let Some(dmixed) = dmixed else { bail!("no gradient reaches what lies between the maps") };
        let dmapped = self.mix(mapped, Some(&dmixed))?;
        drop(dmixed);
        let [dnormed, da, db] = gpu::adapted_linear_slopes(&self.normed(x)?, &self.first, first, &dmapped, of_x)?;
        let through_norm = |dnormed: Tensor| {
            let (dx, _) = norm::gpu::rms_norm_slopes(x, &self.norm, self.epsilon, &dnormed, false)?;
            add_to(&dx, grad)?;
            Ok::<_, candle_core::Error>(dx)
        };
        let (Some(da), Some(db), Some(da_last), Some(db_last)) = (da, db, da_last, db_last) else {
            bail!("no gradient reaches the factors")
        };
        Ok((dnormed.map(through_norm).transpose()?, [da, db, da_last, db_last]))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gpu::emulated;
    use crate::tests::random;

    #[test]
    fn sums_of_a_gpu_have_the_bits_of_candles_sums() {
        for (count, from) in [(1, 0), (8, 0), (4099, 0), (4100, 1)] {
            for format in [DType::F32, DType::BF16, DType::F16] {
                let part = |seed: u64| {
                    let whole = random(&[from + count], seed).as_detached_tensor().to_dtype(format).unwrap();
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
