//! Linear maps with optional low-rank adapters.

use std::sync::Arc;

use candle_core::{DType, Result, Tensor};

use grpo_base::seed::{Purpose, Seed};
use grpo_tensor::{self as kernels, Adapted, Frozen, Masks, Weight};

/// Whether the forward pass uses the adapters. For a model without adapters all variants are the same.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Adapters {
    /// The policy: base weights and adapters.
    On,
    /// The base model alone, bit for bit.
    Off,
    /// The policy during training: dropout on the input of the adapters, by these seeds. Without dropout this is the
    /// policy, bit for bit.
    Thinned(Dropout),
}

/// The seeds of dropout in one pass over some sequences.
///
/// A mask depends on the seed of its row and on the layer, so it is the same however rows are batched.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Dropout {
    rows: Arc<[Seed]>,
}

impl Dropout {
    /// One seed for each row.
    pub fn new(rows: impl IntoIterator<Item = Seed>) -> Self {
        Dropout { rows: rows.into_iter().collect() }
    }

    /// The masks of the layer with this number.
    pub(crate) fn masks(&self, layer: u64, probability: f64) -> Masks {
        Masks::new(self.rows.iter().map(|row| row.child(Purpose::Dropout, layer).rng()).collect(), probability)
    }
}

/// A low-rank term `scale * B A x`.
#[derive(Debug, Clone)]
pub(crate) struct Lora {
    /// `(r, in)`.
    pub a: Tensor,
    /// `(out, r)`.
    pub b: Tensor,
    /// Factor of the term, [`AdapterSet::scale`](crate::adapters::set::AdapterSet::scale).
    pub scale: f64,
    /// Probability of dropout on `x`.
    pub dropout: f64,
    /// Number of the map, from which the seeds of its dropout derive.
    pub number: u64,
}

impl Lora {
    /// `weight` with the term added, detached; the sum is rounded to the format of `weight`.
    pub fn merged_into(&self, weight: &Tensor) -> Result<Tensor> {
        let term = (self.b.detach().matmul(&self.a.detach())? * self.scale)?;
        (weight.to_dtype(DType::F32)? + term)?.to_dtype(weight.dtype())
    }
}

/// `x W^T + bias`, plus the term of the adapter.
#[derive(Debug, Clone)]
pub(crate) struct Linear {
    /// `(out, in)`.
    pub weight: Weight,
    /// `(out,)`.
    pub bias: Option<Tensor>,
    pub lora: Option<Lora>,
}

impl Linear {
    /// * `x`: `(N, in)`. Returns `(N, out)`.
    pub fn forward(&self, x: &Tensor, adapters: &Adapters) -> Result<Tensor> {
        if let Some(adapted) = adapted(&[self], x, adapters)? {
            return Ok(adapted);
        }
        let y = self.weight.linear(x)?;
        match &self.bias {
            Some(bias) if bias.track_op() => kernels::add_bias(&y, bias),
            Some(bias) => kernels::add_frozen_bias(&y, bias),
            None => Ok(y),
        }
    }

    /// The weight with the adapter merged into it, detached.
    pub fn merged(&self) -> Result<Tensor> {
        let weight = self.weight.tensor()?.detach();
        self.lora.as_ref().map_or(Ok(weight.clone()), |lora| lora.merged_into(&weight))
    }
}

/// The outputs of several maps of one `x`, side by side.
///
/// * `x`: `(N, in)`. Returns `(N, sum of outs)`.
pub(crate) fn side_by_side(parts: &[&Linear], x: &Tensor, adapters: &Adapters) -> Result<Tensor> {
    if let Some(adapted) = adapted(parts, x, adapters)? {
        return Ok(adapted);
    }
    // Trained weights are concatenated first, which costs one product and one gradient of `x`. Concatenating frozen
    // weights would copy the model at every pass, so their outputs are concatenated instead.
    if parts.iter().any(|part| part.lora.is_some() || part.weight.trained().is_none()) {
        let outputs = parts.iter().map(|part| part.forward(x, adapters)).collect::<Result<Vec<_>>>()?;
        return Tensor::cat(&outputs, 1);
    }
    let weights: Vec<&Tensor> = parts.iter().filter_map(|part| part.weight.trained()).collect();
    let biases: Option<Vec<&Tensor>> = parts.iter().map(|part| part.bias.as_ref()).collect();
    let bias = biases.map(|biases| Tensor::cat(&biases, 0)).transpose()?;
    Linear { weight: Tensor::cat(&weights, 0)?.into(), bias, lora: None }.forward(x, adapters)
}

/// The outputs of frozen maps with adapters of one rank and scale, as one operation; `None` for other maps.
fn adapted(parts: &[&Linear], x: &Tensor, adapters: &Adapters) -> Result<Option<Tensor>> {
    joined(parts, adapters)?.map(|adapted| kernels::adapted_linear(x, &adapted)).transpose()
}

/// Frozen maps with their adapters joined; `None` unless all adapters have one rank and scale.
pub(crate) fn joined(parts: &[&Linear], adapters: &Adapters) -> Result<Option<Adapted>> {
    let Some(lora) = parts.iter().map(|part| part.lora.as_ref()).collect::<Option<Vec<&Lora>>>() else {
        return Ok(None);
    };
    let Some((first, rest)) = lora.split_first() else { return Ok(None) };
    let alike = rest.iter().all(|lora| lora.scale == first.scale && lora.a.dims()[0] == first.a.dims()[0]);
    if *adapters == Adapters::Off || !alike {
        return Ok(None);
    }
    let factors = |factor: fn(&Lora) -> &Tensor| match rest {
        [] => Ok(factor(first).clone()),
        _ => Tensor::cat(&lora.iter().map(|lora| factor(lora)).collect::<Vec<_>>(), 0),
    };
    let masks = |lora: &Lora| match adapters {
        Adapters::Thinned(dropout) if lora.dropout > 0.0 => Some(dropout.masks(lora.number, lora.dropout)),
        _ => None,
    };
    let frozen = |(part, lora): (&&Linear, &&Lora)| Frozen {
        weight: part.weight.clone(),
        bias: part.bias.clone(),
        dropout: masks(lora),
    };
    let maps = parts.iter().zip(&lora).map(frozen).collect();
    Ok(Some(Adapted { a: factors(|lora| &lora.a)?, b: factors(|lora| &lora.b)?, scale: first.scale, maps }))
}
