//! A copy of the decoder's weights for sampling: detached, in the layout that suits products with few rows.

use std::sync::Arc;

use candle_core::{DType, Tensor};

use crate::adapters::linear::{Adapters, Linear, Lora, side_by_side};
use crate::layers::experts::Router;
use crate::layers::feed_forward::Block;
use crate::layers::layer::Layer;
use crate::layers::norm::Norm;
use crate::{Decoder, PolicyError, Precision};
use grpo_tensor::{self as kernels, Map, Packed, Weight};

/// A projection in the form that sampling uses.
#[derive(Debug)]
pub(crate) enum Projection {
    /// Packed weights, on the CPU in f32.
    Packed(Packed),
    /// `x W + bias`; `W` is `(in, out)` and contiguous, with the adapters merged into it.
    Merged { weight: Tensor, bias: Option<Tensor> },
    /// Frozen base and adapters kept separate, as scoring has them. In a 16-bit format their sum would be rounded,
    /// which changes log-probabilities by more than an update does: the sampling policy would not be the scored
    /// policy.
    Apart(Vec<Linear>),
    /// The model's own head in a 16-bit format, `(out, in)`, on a GPU; its outputs are f32.
    Widening(Tensor),
}

impl Projection {
    /// The head's projection, whose logits are f32 in every precision.
    fn of_head(head: &Linear, precision: Precision) -> candle_core::Result<Self> {
        let as_it_is = head.weight.dtype() == precision.format() && precision != Precision::F32;
        match head.weight.dense() {
            Some(weight) if as_it_is && head.lora.is_none() && kernels::on_gpu(weight) => {
                Ok(Projection::Widening(weight.detach()))
            }
            _ => Projection::new(&[head], Precision::F32),
        }
    }

    /// The projection of maps with the same input, side by side.
    fn new(parts: &[&Linear], precision: Precision) -> candle_core::Result<Self> {
        if precision != Precision::F32 && parts.iter().any(|part| part.lora.is_some()) {
            return Ok(Projection::Apart(parts.iter().map(|part| copied(part)).collect::<candle_core::Result<_>>()?));
        }
        if precision == Precision::F32 && parts.iter().all(|part| part.weight.device().is_cpu()) {
            return Projection::packed(parts);
        }
        let format = precision.format();
        let weights =
            parts.iter().map(|part| part.merged()?.to_dtype(format)).collect::<candle_core::Result<Vec<_>>>()?;
        let biases: Option<Vec<Tensor>> = parts.iter().map(|part| Some(part.bias.as_ref()?.detach())).collect();
        let bias = biases.map(|biases| Tensor::cat(&biases, 0)).transpose()?;
        Ok(Projection::Merged { weight: Tensor::cat(&weights, 0)?.t()?.contiguous()?, bias })
    }

    /// Adapters are merged into dense weights, and kept separate from weights in blocks.
    fn packed(parts: &[&Linear]) -> candle_core::Result<Self> {
        let map = |part: &&Linear| {
            let (weight, term) = match &part.weight {
                Weight::Dense(_) => (part.merged()?.to_dtype(DType::F32)?.into(), None),
                packed => {
                    (packed.clone(), part.lora.as_ref().map(|lora| (lora.a.detach(), lora.b.detach(), lora.scale)))
                }
            };
            Ok(Map { weight, bias: part.bias.clone(), term })
        };
        let maps = parts.iter().map(map).collect::<candle_core::Result<Vec<_>>>()?;
        Ok(Projection::Packed(Packed::new(&maps)?))
    }

    pub(crate) fn forward(&self, x: &Tensor) -> candle_core::Result<Tensor> {
        match self {
            Projection::Packed(packed) => packed.forward(x),
            Projection::Merged { weight, bias: Some(bias) } => kernels::add_bias(&kernels::project(x, weight)?, bias),
            Projection::Merged { weight, bias: None } => kernels::project(x, weight),
            Projection::Apart(parts) => side_by_side(&parts.iter().collect::<Vec<_>>(), x, &Adapters::On),
            Projection::Widening(weight) => kernels::wide_linear(&x.to_dtype(weight.dtype())?, weight),
        }
    }
}

/// A detached map, with a copy of the adapter that no update changes.
fn copied(part: &Linear) -> candle_core::Result<Linear> {
    let copy = |lora: &Lora| -> candle_core::Result<Lora> {
        Ok(Lora { a: lora.a.detach().copy()?, b: lora.b.detach().copy()?, ..lora.clone() })
    };
    Ok(Linear {
        weight: part.weight.detach(),
        bias: part.bias.as_ref().map(Tensor::detach),
        lora: part.lora.as_ref().map(copy).transpose()?,
    })
}

#[derive(Debug)]
pub(crate) struct SnapshotLayer {
    pub input_norm: Tensor,
    pub query_key_value: Projection,
    pub head_norms: Option<(Tensor, Tensor)>,
    pub output: Projection,
    pub attended_norm: Option<Tensor>,
    pub inner_norm: Tensor,
    pub blocks: Vec<SnapshotBlock>,
    pub router: Option<SnapshotRouter>,
    pub fed_norm: Option<Tensor>,
}

#[derive(Debug)]
pub(crate) struct SnapshotBlock {
    pub gate_up: Projection,
    pub down: Projection,
}

/// A router whose weight is a projection like all others, because a general product rounds a token's logits differently
/// with few tokens beside it than with many: where rows are fed alone, a token's experts must not depend on other rows.
#[derive(Debug)]
pub(crate) struct SnapshotRouter {
    /// How the blocks are chosen and mixed; its weight is not read.
    router: Router,
    /// Gives the blocks' logits, in f32 in every precision.
    logits: Projection,
}

impl SnapshotRouter {
    fn new(router: &Router) -> candle_core::Result<Self> {
        let weight = router.weight.detach();
        let map = Linear { weight: weight.clone().into(), bias: None, lora: None };
        let logits = Projection::new(&[&map], Precision::F32)?;
        Ok(SnapshotRouter { router: Router { weight, ..router.clone() }, logits })
    }

    /// [`Router::mix`] by the weight at the time of the snapshot.
    pub(crate) fn mix(
        &self,
        x: &Tensor,
        expert: impl Fn(usize, &Tensor) -> candle_core::Result<Tensor>,
    ) -> candle_core::Result<Tensor> {
        self.router.mix_by(&self.logits.forward(&x.to_dtype(DType::F32)?)?, x, expert)
    }
}

/// A copy of the weights for sampling: detached, with adapters merged where the format allows, in the layout that
/// suits products with few rows.
#[derive(Debug)]
pub struct Snapshot {
    pub(crate) embedding: Weight,
    pub(crate) layers: Vec<SnapshotLayer>,
    pub(crate) norm: Tensor,
    pub(crate) head: Projection,
}

impl Snapshot {
    fn new(decoder: &Decoder) -> candle_core::Result<Self> {
        let precision = decoder.precision;
        let projection = |parts: &[Linear]| Projection::new(&parts.iter().collect::<Vec<_>>(), precision);
        let block = |block: &Block| -> candle_core::Result<SnapshotBlock> {
            let down = projection(std::slice::from_ref(&block.down))?;
            Ok(SnapshotBlock { gate_up: projection(&block.gate_up)?, down })
        };
        let factors = |norm: &Norm| norm.factors().map(|factors| factors.detach());
        let layers = decoder.layers.iter().map(|Layer { attention, feed_forward }| {
            let head_norms = attention.head_norms.as_ref();
            let head_norms =
                head_norms.map(|(query, key)| Ok::<_, candle_core::Error>((factors(query)?, factors(key)?)));
            Ok(SnapshotLayer {
                input_norm: factors(&attention.input_norm)?,
                query_key_value: projection(&attention.query_key_value)?,
                head_norms: head_norms.transpose()?,
                output: projection(std::slice::from_ref(&attention.output))?,
                attended_norm: attention.attended_norm.as_ref().map(factors).transpose()?,
                inner_norm: factors(&feed_forward.inner_norm)?,
                blocks: feed_forward.blocks.iter().map(block).collect::<candle_core::Result<_>>()?,
                router: feed_forward.router.as_ref().map(SnapshotRouter::new).transpose()?,
                fed_norm: feed_forward.fed_norm.as_ref().map(factors).transpose()?,
            })
        });
        Ok(Snapshot {
            embedding: match &decoder.embedding {
                Weight::Dense(tensor) => Weight::Dense(tensor.detach().to_dtype(precision.format())?),
                packed => packed.clone(),
            },
            layers: layers.collect::<candle_core::Result<_>>()?,
            norm: factors(&decoder.norm)?,
            head: Projection::of_head(&decoder.head, precision)?,
        })
    }
}

impl Decoder {
    /// A snapshot of the present weights, which any number of caches may share.
    pub fn snapshot(&self) -> Result<Arc<Snapshot>, PolicyError> {
        Ok(Arc::new(Snapshot::new(self)?))
    }
}
