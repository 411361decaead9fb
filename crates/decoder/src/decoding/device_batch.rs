//! Prepares decoding on a GPU: the weights in the form that its kernels read, and the prompts.

use std::sync::Arc;

use candle_core::{DType, Result as TensorResult, Tensor};
use grpo_tensor::gpu::{
    AdapterView, DecoderView, DeviceBatch, Drawing, LayerView, MapsView, MatrixView, Sizes, WeightLayout,
};

use crate::adapters::linear::{Linear, Lora};
use crate::decoding::snapshot::{Projection, Snapshot, SnapshotLayer};
use crate::{Decoder, PolicyError};

impl Decoder {
    /// Starts a batch of these prompts on the model's GPU; `None` on a CPU, and for a model that the kernels do not
    /// support.
    pub fn device_batch(
        &self,
        weights: &Arc<Snapshot>,
        prompts: &[&[u32]],
        drawing: Drawing,
    ) -> Result<Option<DeviceBatch>, PolicyError> {
        if !self.device().is_cuda() || !self.is_served(weights, longest(prompts, drawing)) {
            return Ok(None);
        }
        let view = self.view(weights)?;
        Ok(DeviceBatch::begin(&view, &self.prefilled(weights.clone(), prompts)?, drawing)?)
    }

    /// Starts a batch whose kernels run on this processor, for tests; `None` where there is no C++ compiler.
    ///
    /// # Panics
    ///
    /// If the kernels do not support the model.
    #[doc(hidden)]
    pub fn emulated_batch(&self, prompts: &[&[u32]], drawing: Drawing) -> Result<Option<DeviceBatch>, PolicyError> {
        self.emulated_in(WeightLayout::Joined, prompts, drawing)
    }

    /// The same with weights in this layout.
    pub(crate) fn emulated_in(
        &self,
        layout: WeightLayout,
        prompts: &[&[u32]],
        drawing: Drawing,
    ) -> Result<Option<DeviceBatch>, PolicyError> {
        let weights = self.snapshot()?;
        assert!(self.is_served(&weights, longest(prompts, drawing)));
        let prefilled = self.prefilled(weights.clone(), prompts)?;
        Ok(DeviceBatch::emulated(&self.view(&weights)?, layout, &prefilled, drawing)?)
    }

    /// Whether a GPU's kernels can run this model, with sequences of so many tokens.
    pub(crate) fn is_served(&self, weights: &Snapshot, tokens: usize) -> bool {
        let dtype = weights.embedding.dtype();
        self.config().unserved(tokens).is_none()
            && matches!(dtype, DType::F32 | DType::BF16 | DType::F16)
            && weights.layers.iter().all(is_alike)
    }

    /// A view of a model that [`Decoder::is_served`] accepts.
    pub(crate) fn view(&self, weights: &Snapshot) -> TensorResult<DecoderView> {
        let config = self.config();
        let layers = weights.layers.iter().zip(&self.layers).map(|(layer, source)| {
            // Models with several blocks are not served.
            let (block, of_block) = (&layer.blocks[0], &source.feed_forward.blocks[0]);
            Ok(LayerView {
                input_norm: layer.input_norm.clone(),
                query_key_value: maps(&layer.query_key_value, &source.attention.query_key_value)?,
                head_norms: layer.head_norms.clone(),
                output: maps(&layer.output, std::slice::from_ref(&source.attention.output))?,
                inner_norm: layer.inner_norm.clone(),
                gate_up: maps(&block.gate_up, &of_block.gate_up)?,
                down: maps(&block.down, std::slice::from_ref(&of_block.down))?,
            })
        });
        Ok(DecoderView {
            sizes: Sizes {
                hidden_size: config.hidden_size,
                intermediate_size: config.intermediate_size,
                vocab_size: config.vocab_size,
                heads: config.heads(),
                rms_norm_eps: config.rms_norm_eps,
                angles: config.angles(),
            },
            embedding: weights.embedding.tensor()?,
            layers: layers.collect::<TensorResult<_>>()?,
            norm: weights.norm.clone(),
            // The snapshot's head may be in f32; products on a GPU convert to f32 as they read, so the original
            // serves.
            head: self.head.weight.tensor()?.detach(),
        })
    }
}

/// Tokens of the longest sequence.
fn longest(prompts: &[&[u32]], drawing: Drawing) -> usize {
    prompts.iter().map(|prompt| prompt.len()).max().unwrap_or(0) + drawing.longest
}

fn maps(projection: &Projection, source: &[Linear]) -> TensorResult<MapsView> {
    match projection {
        // Only the CPU packs weights, and it decodes through this path only in tests.
        Projection::Packed(_) => {
            let merged = source.iter().map(|map| {
                Ok(Linear { weight: map.merged()?.into(), bias: map.bias.as_ref().map(Tensor::detach), lora: None })
            });
            side_by_side(&merged.collect::<TensorResult<Vec<_>>>()?)
        }
        Projection::Merged { weight, bias } => {
            let matrices = vec![MatrixView { weight: weight.clone(), transposed: false }];
            Ok(MapsView { matrices, bias: bias.clone(), adapter: None })
        }
        Projection::Apart(maps) => side_by_side(maps),
        Projection::Widening(weight) => {
            let matrices = vec![MatrixView { weight: weight.clone(), transposed: true }];
            Ok(MapsView { matrices, bias: None, adapter: None })
        }
    }
}

/// The maps' weights unchanged, with their biases and adapters joined.
fn side_by_side(maps: &[Linear]) -> TensorResult<MapsView> {
    let matrices = maps.iter().map(|map| Ok(MatrixView { weight: map.weight.tensor()?, transposed: true }));
    let biases: Option<Vec<&Tensor>> = maps.iter().map(|map| map.bias.as_ref()).collect();
    Ok(MapsView {
        matrices: matrices.collect::<TensorResult<_>>()?,
        bias: biases.map(|biases| Tensor::cat(&biases, 0)).transpose()?,
        adapter: adapter(maps)?,
    })
}

fn adapter(maps: &[Linear]) -> TensorResult<Option<AdapterView>> {
    let Some(first) = maps.iter().find_map(|map| map.lora.as_ref()) else { return Ok(None) };
    let (rank, inputs) = first.a.dims2()?;
    let factor = |map: &Linear, of: fn(&Lora) -> &Tensor, shape: (usize, usize)| match &map.lora {
        Some(lora) => of(lora).to_dtype(DType::F32),
        None => Tensor::zeros(shape, DType::F32, map.weight.device()),
    };
    let a = maps.iter().map(|map| factor(map, |lora| &lora.a, (rank, inputs))).collect::<TensorResult<Vec<_>>>()?;
    let b = maps.iter().map(|map| factor(map, |lora| &lora.b, (map.weight.dim(0)?, rank)));
    let b = b.collect::<TensorResult<Vec<_>>>()?;
    Ok(Some(AdapterView { a: Tensor::cat(&a, 0)?, b: Tensor::cat(&b, 0)?, scale: first.scale }))
}

/// Whether all adapters of a projection have one rank and one scale.
fn is_alike(layer: &SnapshotLayer) -> bool {
    let blocks = layer.blocks.iter().flat_map(|block| [&block.gate_up, &block.down]);
    [&layer.query_key_value, &layer.output].into_iter().chain(blocks).all(|projection| {
        let Projection::Apart(maps) = projection else { return true };
        let mut kinds = maps.iter().filter_map(|map| map.lora.as_ref()).map(|lora| (lora.a.dims()[0], lora.scale));
        kinds.next().is_none_or(|first| kinds.all(|kind| kind == first))
    })
}
