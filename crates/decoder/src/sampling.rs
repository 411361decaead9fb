//! The decoder for sampling: detached weights, and a preallocated key-value cache.
//!
//! Prompts of unequal length are padded on the left to one width, so that all rows write the same slot of the cache;
//! each row knows its first slot, counts positions from there and attends to no slot before it.

use std::sync::Arc;

use candle_core::{DType, Tensor};

use super::experts::Router;
use super::layers::{Block, Norm, norm_heads};
use super::linear::{Adapters, Linear, Lora, side_by_side};
use super::{Decoder, PolicyError, Precision};
use grpo_tensor::gpu::Prefilled;
use grpo_tensor::{self as kernels, KeyValues, Map, Packed, Rotations, Weight, Window};

/// The key-value cache of a batch of sequences, and the weights that compute it.
///
/// The weights are a snapshot, so a cache is valid until the next update only.
#[derive(Debug)]
pub struct Cache {
    weights: Arc<Snapshot>,
    rotations: Rotations,
    layers: Vec<KeyValues>,
    window: Window,
    /// Tokens that a row may hold, as requested.
    capacity: usize,
}

/// A projection in the form that sampling uses.
#[derive(Debug)]
pub(super) enum Projection {
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

    fn forward(&self, x: &Tensor) -> candle_core::Result<Tensor> {
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
pub(super) struct SnapshotLayer {
    pub input_norm: Tensor,
    pub query_key_value: Projection,
    pub head_norms: Option<(Tensor, Tensor)>,
    pub output: Projection,
    pub attended_norm: Option<Tensor>,
    pub inner_norm: Tensor,
    pub blocks: Vec<SnapshotBlock>,
    pub router: Option<Router>,
    pub fed_norm: Option<Tensor>,
}

#[derive(Debug)]
pub(super) struct SnapshotBlock {
    pub gate_up: Projection,
    pub down: Projection,
}

/// A copy of the weights for sampling: detached, with adapters merged where the format allows, in the layout that
/// suits products with few rows.
#[derive(Debug)]
pub struct Snapshot {
    pub(super) embedding: Weight,
    pub(super) layers: Vec<SnapshotLayer>,
    pub(super) norm: Tensor,
    pub(super) head: Projection,
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
        let layers = decoder.layers.iter().map(|layer| {
            let head_norms = layer.head_norms.as_ref();
            let head_norms =
                head_norms.map(|(query, key)| Ok::<_, candle_core::Error>((factors(query)?, factors(key)?)));
            Ok(SnapshotLayer {
                input_norm: factors(&layer.input_norm)?,
                query_key_value: projection(&layer.query_key_value)?,
                head_norms: head_norms.transpose()?,
                output: projection(std::slice::from_ref(&layer.output))?,
                attended_norm: layer.attended_norm.as_ref().map(factors).transpose()?,
                inner_norm: factors(&layer.inner_norm)?,
                blocks: layer.blocks.iter().map(block).collect::<candle_core::Result<_>>()?,
                router: layer.router.as_ref().map(Router::copied).transpose()?,
                fed_norm: layer.fed_norm.as_ref().map(factors).transpose()?,
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

impl Cache {
    /// Number of sequences.
    pub fn rows(&self) -> usize {
        self.window.first.len()
    }

    /// Number of slots written, padding included.
    pub fn len(&self) -> usize {
        self.window.length
    }

    /// Whether nothing has been written yet.
    pub fn is_empty(&self) -> bool {
        self.window.length == 0
    }

    /// Tokens that a row may hold.
    pub fn capacity(&self) -> usize {
        self.capacity
    }

    /// Repeats each row `count` times, the copies next to each other: a prompt becomes its group.
    pub fn expand(&mut self, count: usize) -> Result<(), PolicyError> {
        let rows: Vec<usize> = (0..self.rows()).flat_map(|row| std::iter::repeat_n(row, count)).collect();
        self.select(&rows)
    }

    /// Keeps these rows, in this order; a row may be named more than once.
    pub fn select(&mut self, rows: &[usize]) -> Result<(), PolicyError> {
        let count = self.rows();
        if let Some(row) = rows.iter().find(|row| **row >= count) {
            return Err(PolicyError::Argument {
                what: "row of the cache",
                found: row.to_string(),
                expected: format!("below {count}"),
            });
        }
        for layer in &mut self.layers {
            layer.select(rows, count)?;
        }
        self.window.first = rows.iter().map(|row| self.window.first[*row]).collect();
        Ok(())
    }
}

impl Decoder {
    /// A snapshot of the present weights, which any number of caches may share.
    pub fn snapshot(&self) -> Result<Arc<Snapshot>, PolicyError> {
        Ok(Arc::new(Snapshot::new(self)?))
    }

    /// An empty cache for `rows` sequences of up to `capacity` tokens, over a snapshot of the present weights.
    pub fn new_cache(&self, rows: usize, capacity: usize) -> Result<Cache, PolicyError> {
        self.check_length(capacity)?;
        self.new_cache_over(self.snapshot()?, rows, capacity)
    }

    /// An empty cache over a given snapshot.
    pub fn new_cache_over(&self, weights: Arc<Snapshot>, rows: usize, capacity: usize) -> Result<Cache, PolicyError> {
        self.check_length(capacity)?;
        self.new_padded_cache(weights, rows, capacity)
    }

    /// The same for sequences of different lengths, which have padding before them: their capacity may be larger than the
    /// model's context, though none of them may be longer than that.
    pub fn new_padded_cache(&self, weights: Arc<Snapshot>, rows: usize, capacity: usize) -> Result<Cache, PolicyError> {
        let window = Window::new(rows, capacity);
        let format = self.precision.format();
        let layers = self.layers.iter().map(|_| KeyValues::new(&window, self.config.heads(), self.device(), format));
        Ok(Cache {
            weights,
            rotations: self.config.rotations(capacity, self.device())?,
            layers: layers.collect::<candle_core::Result<_>>()?,
            window,
            capacity,
        })
    }

    /// Feeds prompts by tensor operations, on any device; decoding on a GPU starts from the result.
    pub(super) fn prefilled(&self, weights: Arc<Snapshot>, prompts: &[&[u32]]) -> Result<Prefilled, PolicyError> {
        let width = prompts.iter().map(|prompt| prompt.len()).max().unwrap_or(0);
        let mut cache = self.new_cache_over(weights, prompts.len(), width)?;
        let dtype = cache.weights.embedding.dtype();
        for layer in &mut cache.layers {
            *layer = KeyValues::tensors(&cache.window, self.config.heads(), self.device(), dtype)?;
        }
        let logits = self.prefill(prompts, &mut cache)?;
        let keys_values = cache.layers.into_iter().map(KeyValues::into_tensors);
        let keys_values = keys_values.collect::<candle_core::Result<_>>()?;
        Ok(Prefilled { logits, keys_values, first: cache.window.first, slots: cache.window.length })
    }

    /// Feeds one prompt to each row of an empty cache.
    ///
    /// Returns the logits of each prompt's last token, `(rows, vocab_size)`.
    pub fn prefill(&self, prompts: &[&[u32]], cache: &mut Cache) -> Result<Tensor, PolicyError> {
        if prompts.len() != cache.rows() || !cache.is_empty() || prompts.iter().any(|prompt| prompt.is_empty()) {
            return Err(PolicyError::Argument {
                what: "prompts to prefill",
                found: format!("{} prompts for {} rows with {} slots used", prompts.len(), cache.rows(), cache.len()),
                expected: "one prompt of at least one token for each row of an empty cache".into(),
            });
        }
        let width = prompts.iter().map(|prompt| prompt.len()).max().unwrap_or(0);
        cache.window.first = prompts.iter().map(|prompt| width - prompt.len()).collect();
        let mut ids = vec![0; prompts.len() * width];
        for (row, prompt) in ids.chunks_exact_mut(width).zip(prompts) {
            row[width - prompt.len()..].copy_from_slice(prompt);
        }
        let ids = Tensor::from_vec(ids, (prompts.len(), width), self.device())?;
        self.advance(&ids, cache)
    }

    /// Feeds one token to each row.
    ///
    /// * `ids`: `(rows,)` u32. Returns the logits of the next token, `(rows, vocab_size)`.
    pub fn step(&self, ids: &Tensor, cache: &mut Cache) -> Result<Tensor, PolicyError> {
        let rows = ids.dims1()?;
        if rows != cache.rows() {
            return Err(PolicyError::Argument {
                what: "tokens of a step",
                found: rows.to_string(),
                expected: format!("one for each of {} rows", cache.rows()),
            });
        }
        self.advance(&ids.reshape((rows, 1))?, cache)
    }

    /// `ids`: `(rows, T)`; returns the logits after the last of them.
    fn advance(&self, ids: &Tensor, cache: &mut Cache) -> Result<Tensor, PolicyError> {
        let (rows, steps) = ids.dims2()?;
        let found = cache.len() + steps;
        if found > cache.capacity {
            return Err(PolicyError::TooLong { found, expected: cache.capacity, what: "capacity of the cache" });
        }
        let mut x = self.embedded(&cache.weights.embedding, &ids.flatten_all()?)?;
        for index in 0..self.layers.len() {
            x = self.advance_layer(index, &x, cache)?;
        }
        cache.window.length += steps;
        let width = self.config.hidden_size;
        let last = x.reshape((rows, steps, width))?.narrow(1, steps - 1, 1)?.contiguous()?.reshape((rows, width))?;
        let last = kernels::rms_norm(&last, &cache.weights.norm, self.config.rms_norm_eps)?;
        Ok(self.capped(cache.weights.head.forward(&last.to_dtype(DType::F32)?)?)?)
    }

    /// `x`: `(rows * T, hidden_size)`.
    fn advance_layer(&self, index: usize, x: &Tensor, cache: &mut Cache) -> candle_core::Result<Tensor> {
        let (heads, epsilon) = (self.layers[index].heads, self.config.rms_norm_eps);
        let layer = &cache.weights.layers[index];
        let normed = kernels::rms_norm(x, &layer.input_norm, epsilon)?;
        let mut qkv = layer.query_key_value.forward(&normed)?;
        if let Some((query, key)) = &layer.head_norms {
            qkv = norm_heads(&qkv, query, key, heads, epsilon)?;
        }
        let rope = cache.rotations.of(&heads);
        let mixed = kernels::cached_attention(&qkv, &mut cache.layers[index], &cache.window, heads, rope)?;
        let normed = |norm: &Option<Tensor>, x: Tensor| match norm {
            Some(norm) => kernels::rms_norm(&x, norm, epsilon),
            None => Ok(x),
        };
        let x = (x + normed(&layer.attended_norm, layer.output.forward(&mixed)?)?)?;
        let activation = self.layers[index].activation;
        let block = |block: usize, x: &Tensor| {
            let SnapshotBlock { gate_up, down } = &layer.blocks[block];
            down.forward(&kernels::gated(&gate_up.forward(x)?, activation)?)
        };
        let inner = kernels::rms_norm(&x, &layer.inner_norm, epsilon)?;
        let fed = match &layer.router {
            Some(router) => router.mix(&inner, block)?,
            None => block(0, &inner)?,
        };
        x + normed(&layer.fed_norm, fed)?
    }
}
