//! The feed-forward block of a layer in one operation, where a GPU runs it.

use candle_core::{DType, Result, Tensor};

use super::adapted::Adapted;
use super::attached::attached;
use super::training;

/// `down(silu(gate) * up)` of `x`, with `gate_up` the gate's and the other map's outputs side by side; none where no GPU
/// does it, or a part of it is dropped.
///
/// Of all that is computed on the way the backward pass keeps `gate_up` alone. The graph does not see it either: candle
/// adds every gradient to zeros, which for the widest tensors of a layer takes longer than to compute them.
///
/// * `x`: `(N, H)`. Returns `(N, H)`.
pub fn feed_forward(x: &Tensor, gate_up: &Adapted, down: &Adapted) -> Result<Option<Tensor>> {
    if !gate_up.is_served(x) || !down.is_served(x) {
        return Ok(None);
    }
    // A node has three arguments at most, so the factors go as one.
    let factors = [&gate_up.a, &gate_up.b, &down.a, &down.b];
    let flat = factors.iter().map(|factor| factor.to_dtype(DType::F32)?.flatten_all()).collect::<Result<Vec<_>>>()?;
    let flat = Tensor::cat(&flat, 0)?;
    let op = FeedForward::new(x, &flat, gate_up, down)?;
    let (value, between) = op.forward()?;
    attached(value, &[x, &flat], move |grad| {
        let (dx, dfactors) = op.backward(&between, grad)?;
        Ok([dx, Some(dfactors), None])
    })
    .map(Some)
}

/// The block without a graph.
struct FeedForward {
    x: Tensor,
    gate_up: Adapted,
    down: Adapted,
    /// Whether a gradient by `x` is asked for.
    of_x: bool,
}

impl FeedForward {
    /// `flat`: the factors one after the other.
    fn new(x: &Tensor, flat: &Tensor, gate_up: &Adapted, down: &Adapted) -> Result<Self> {
        let (flat, mut from) = (flat.detach(), 0);
        let mut next = |factor: &Tensor| {
            let part = flat.narrow(0, from, factor.elem_count())?.reshape(factor.shape());
            from += factor.elem_count();
            part
        };
        let mut of = |block: &Adapted| -> Result<Adapted> {
            Ok(Adapted { a: next(&block.a)?, b: next(&block.b)?, ..block.clone() })
        };
        let (gate_up, down) = (of(gate_up)?, of(down)?);
        Ok(FeedForward { x: x.detach().contiguous()?, gate_up, down, of_x: x.track_op() })
    }

    /// The result, and gate and up.
    fn forward(&self) -> Result<(Tensor, Tensor)> {
        let gate_up = self.gate_up.on_gpu(&self.x)?;
        let value = self.down.on_gpu(&training::silu_mul(&gate_up)?)?;
        Ok((value, gate_up))
    }

    /// Gradients by `x`, if it is asked for, and by the factors, one after the other.
    fn backward(&self, gate_up: &Tensor, grad: &Tensor) -> Result<(Option<Tensor>, Tensor)> {
        let [dinner, da_down, db_down] = self.down.slopes_on_gpu((&training::silu_mul(gate_up)?, true), grad)?;
        let Some(dinner) = dinner else { candle_core::bail!("feed_forward: no gradient by what the gate let through") };
        let dgate_up = training::silu_mul_slope(gate_up, &dinner)?;
        drop(dinner);
        let [dx, da, db] = self.gate_up.slopes_on_gpu((&self.x, self.of_x), &dgate_up)?;
        let factors = [da, db, da_down, db_down].into_iter().flatten().map(|factor| factor.flatten_all());
        Ok((dx, Tensor::cat(&factors.collect::<Result<Vec<_>>>()?, 0)?))
    }
}
