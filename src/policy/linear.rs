//! Linear maps, with the low-rank adapters that may sit on them.

use candle_core::{Result, Tensor};

use super::kernels::{self, Frozen};

/// Whether the forward pass goes through the adapters. Without adapters both are the same.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Adapters {
    /// The policy: base weights and adapters.
    On,
    /// The base model alone, bit for bit.
    Off,
}

/// A low-rank term `scale * B A x`.
#[derive(Debug, Clone)]
pub(super) struct Lora {
    /// `(r, in)`.
    pub a: Tensor,
    /// `(out, r)`.
    pub b: Tensor,
    /// `lora_alpha / r`.
    pub scale: f64,
}

/// `x W^T + bias`, plus the adapter's term.
#[derive(Debug, Clone)]
pub(super) struct Linear {
    /// `(out, in)`.
    pub weight: Tensor,
    /// `(out,)`.
    pub bias: Option<Tensor>,
    pub lora: Option<Lora>,
}

impl Linear {
    /// * `x`: `(N, in)`. Returns `(N, out)`.
    pub fn forward(&self, x: &Tensor, adapters: Adapters) -> Result<Tensor> {
        if let Some(adapted) = adapted(&[self], x, adapters) {
            return adapted;
        }
        let y = kernels::linear(x, &self.weight)?;
        match &self.bias {
            Some(bias) if bias.track_op() => y.broadcast_add(bias),
            Some(bias) => kernels::add_frozen_bias(&y, bias),
            None => Ok(y),
        }
    }

    /// The weight as sampling uses it: detached, adapter added in.
    pub fn merged(&self) -> Result<Tensor> {
        let weight = self.weight.detach();
        match &self.lora {
            Some(lora) => weight + (lora.b.detach().matmul(&lora.a.detach())? * lora.scale)?,
            None => Ok(weight),
        }
    }
}

/// The outputs of several maps of one `x`, side by side.
///
/// * `x`: `(N, in)`. Returns `(N, sum of outs)`.
pub(super) fn side_by_side(parts: &[&Linear], x: &Tensor, adapters: Adapters) -> Result<Tensor> {
    if let Some(adapted) = adapted(parts, x, adapters) {
        return adapted;
    }
    // Trained weights are joined first: one product, and one gradient of `x`. Joining frozen ones would copy the
    // model at every pass, so there the outputs are joined.
    if parts.iter().any(|part| part.lora.is_some() || !part.weight.track_op()) {
        let outputs = parts.iter().map(|part| part.forward(x, adapters)).collect::<Result<Vec<_>>>()?;
        return Tensor::cat(&outputs, 1);
    }
    let weights: Vec<&Tensor> = parts.iter().map(|part| &part.weight).collect();
    let biases: Option<Vec<&Tensor>> = parts.iter().map(|part| part.bias.as_ref()).collect();
    let bias = biases.map(|biases| Tensor::cat(&biases, 0)).transpose()?;
    Linear { weight: Tensor::cat(&weights, 0)?, bias, lora: None }.forward(x, adapters)
}

/// The outputs of frozen maps with adapters of one kind, in one operation; none where the maps are anything else.
fn adapted(parts: &[&Linear], x: &Tensor, adapters: Adapters) -> Option<Result<Tensor>> {
    let lora = parts.iter().map(|part| part.lora.as_ref()).collect::<Option<Vec<&Lora>>>()?;
    let (first, rest) = lora.split_first()?;
    let alike = rest.iter().all(|lora| lora.scale == first.scale && lora.a.dims()[0] == first.a.dims()[0]);
    if adapters == Adapters::Off || !alike {
        return None;
    }
    let joined = |factor: fn(&Lora) -> &Tensor| match rest {
        [] => Ok(factor(first).clone()),
        _ => Tensor::cat(&lora.iter().map(|lora| factor(lora)).collect::<Vec<_>>(), 0),
    };
    let frozen = |part: &&Linear| Frozen { weight: part.weight.clone(), bias: part.bias.clone() };
    let maps: Vec<Frozen> = parts.iter().map(frozen).collect();
    let factors = joined(|lora| &lora.a).and_then(|a| Ok((a, joined(|lora| &lora.b)?)));
    Some(factors.and_then(|(a, b)| kernels::adapted_linear(x, (&a, &b), first.scale, &maps)))
}
