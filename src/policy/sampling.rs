//! The decoder one token at a time: detached weights, a preallocated cache of keys and values.
//!
//! Prompts of unequal length are padded on the left to one width, so that all rows write the same slot of the cache;
//! each row knows where its first token is, counts positions from there and never looks before it.

use candle_core::{DType, Device, Tensor};

use super::kernels::{self, Heads, RopeTable};
use super::linear::Linear;
use super::{Decoder, PolicyError};

/// Keys and values of a batch of sequences, and the weights they are computed with.
///
/// Holds a snapshot of the weights (adapters added in): a cache outlives no update.
#[derive(Debug)]
pub struct Cache {
    weights: Snapshot,
    rope: RopeTable,
    /// Keys and values of each layer, `(rows, keys, capacity, width)`.
    layers: Vec<(Tensor, Tensor)>,
    /// Slot of each row's first token.
    first: Vec<usize>,
    /// Slots written.
    length: usize,
    capacity: usize,
}

/// A projection as sampling uses it: `x W + bias`, `W` `(in, out)` and contiguous.
#[derive(Debug)]
struct Projection {
    weight: Tensor,
    bias: Option<Tensor>,
}

impl Projection {
    fn new(parts: &[&Linear]) -> candle_core::Result<Self> {
        let merged = parts.iter().map(|part| part.merged()).collect::<candle_core::Result<Vec<_>>>()?;
        let biases: Option<Vec<Tensor>> = parts.iter().map(|part| part.bias.as_ref().map(Tensor::detach)).collect();
        let bias = biases.map(|biases| Tensor::cat(&biases, 0)).transpose()?;
        Ok(Projection { weight: Tensor::cat(&merged, 0)?.t()?.contiguous()?, bias })
    }

    fn forward(&self, x: &Tensor) -> candle_core::Result<Tensor> {
        let y = x.matmul(&self.weight)?;
        match &self.bias {
            Some(bias) => y.broadcast_add(bias),
            None => Ok(y),
        }
    }
}

#[derive(Debug)]
struct SnapshotLayer {
    input_norm: Tensor,
    query_key_value: Projection,
    head_norms: Option<(Tensor, Tensor)>,
    output: Projection,
    inner_norm: Tensor,
    gate_up: Projection,
    down: Projection,
}

#[derive(Debug)]
struct Snapshot {
    embedding: Tensor,
    layers: Vec<SnapshotLayer>,
    norm: Tensor,
    head: Projection,
}

impl Snapshot {
    fn new(decoder: &Decoder) -> candle_core::Result<Self> {
        let layers = decoder.layers.iter().map(|layer| {
            Ok(SnapshotLayer {
                input_norm: layer.input_norm.detach(),
                query_key_value: Projection::new(&[&layer.query, &layer.key, &layer.value])?,
                head_norms: layer.head_norms.as_ref().map(|(query, key)| (query.detach(), key.detach())),
                output: Projection::new(&[&layer.output])?,
                inner_norm: layer.inner_norm.detach(),
                gate_up: Projection::new(&[&layer.gate, &layer.up])?,
                down: Projection::new(&[&layer.down])?,
            })
        });
        Ok(Snapshot {
            embedding: decoder.embedding.detach(),
            layers: layers.collect::<candle_core::Result<_>>()?,
            norm: decoder.norm.detach(),
            head: Projection::new(&[&decoder.head])?,
        })
    }
}

impl Cache {
    /// Sequences held.
    pub fn rows(&self) -> usize {
        self.first.len()
    }

    /// Slots written so far, padding included.
    pub fn len(&self) -> usize {
        self.length
    }

    /// Whether nothing has been written yet.
    pub fn is_empty(&self) -> bool {
        self.length == 0
    }

    /// Slots there are.
    pub fn capacity(&self) -> usize {
        self.capacity
    }

    /// Repeats each row `count` times, copies next to each other: a prompt becomes its group.
    pub fn expand(&mut self, count: usize) -> Result<(), PolicyError> {
        let rows: Vec<usize> = (0..self.rows()).flat_map(|row| std::iter::repeat_n(row, count)).collect();
        self.select(&rows)
    }

    /// Keeps these rows, in this order; a row may be named more than once.
    pub fn select(&mut self, rows: &[usize]) -> Result<(), PolicyError> {
        if let Some(row) = rows.iter().find(|row| **row >= self.rows()) {
            return Err(PolicyError::Argument {
                what: "row of the cache",
                found: row.to_string(),
                expected: format!("below {}", self.rows()),
            });
        }
        let ids: Vec<u32> = rows.iter().map(|row| *row as u32).collect();
        for (key, value) in &mut self.layers {
            let ids = Tensor::from_slice(&ids, rows.len(), key.device())?;
            *key = key.index_select(&ids, 0)?;
            *value = value.index_select(&ids, 0)?;
        }
        self.first = rows.iter().map(|row| self.first[*row]).collect();
        Ok(())
    }

    /// Positions of the next `steps` slots, `(rows, steps)` u32; padding is at position 0.
    fn positions(&self, steps: usize, device: &Device) -> candle_core::Result<Tensor> {
        let slots = self.length..self.length + steps;
        let positions: Vec<u32> =
            self.first.iter().flat_map(|first| slots.clone().map(move |s| s.saturating_sub(*first) as u32)).collect();
        Tensor::from_vec(positions, (self.rows(), steps), device)
    }

    /// `(rows, steps, length + steps)`: zero where a query may look. Padding looks at itself, to stay finite.
    fn mask(&self, steps: usize, device: &Device) -> candle_core::Result<Tensor> {
        let slots = self.length + steps;
        let mut mask = Vec::with_capacity(self.rows() * steps * slots);
        for first in &self.first {
            for query in self.length..slots {
                let seen = |slot: usize| slot == query || (*first..=query).contains(&slot);
                mask.extend((0..slots).map(|slot| if seen(slot) { 0.0 } else { f32::NEG_INFINITY }));
            }
        }
        Tensor::from_vec(mask, (self.rows(), steps, slots), device)
    }
}

impl Decoder {
    /// An empty cache for `rows` sequences of up to `capacity` tokens, with today's weights.
    pub fn new_cache(&self, rows: usize, capacity: usize) -> Result<Cache, PolicyError> {
        self.check_length(capacity)?;
        let Heads { keys, width, .. } = self.heads();
        let empty = || Tensor::zeros((rows, keys, capacity, width), DType::F32, self.device());
        let layers = (0..self.layers.len()).map(|_| Ok((empty()?, empty()?)));
        Ok(Cache {
            weights: Snapshot::new(self)?,
            rope: RopeTable::new(&self.config, capacity, self.device())?,
            layers: layers.collect::<candle_core::Result<_>>()?,
            first: vec![0; rows],
            length: 0,
            capacity,
        })
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
        cache.first = prompts.iter().map(|prompt| width - prompt.len()).collect();
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
        if cache.length + steps > cache.capacity {
            let found = cache.length + steps;
            return Err(PolicyError::TooLong { found, expected: cache.capacity, what: "capacity of the cache" });
        }
        let positions = cache.positions(steps, self.device())?;
        let mask = cache.mask(steps, self.device())?;
        let mut x = cache.weights.embedding.index_select(&ids.flatten_all()?, 0)?;
        for index in 0..self.layers.len() {
            x = self.advance_layer(index, &x, (&positions, &mask), cache)?;
        }
        cache.length += steps;
        let width = self.config.hidden_size;
        let last = x.reshape((rows, steps, width))?.narrow(1, steps - 1, 1)?.contiguous()?.reshape((rows, width))?;
        let last = kernels::rms_norm(&last, &cache.weights.norm, self.config.rms_norm_eps)?;
        Ok(cache.weights.head.forward(&last)?)
    }

    fn advance_layer(
        &self,
        index: usize,
        x: &Tensor,
        (positions, mask): (&Tensor, &Tensor),
        cache: &mut Cache,
    ) -> candle_core::Result<Tensor> {
        let (heads, epsilon) = (self.heads(), self.config.rms_norm_eps);
        let (rows, steps) = positions.dims2()?;
        let layer = &cache.weights.layers[index];
        let normed = kernels::rms_norm(x, &layer.input_norm, epsilon)?;
        let all = layer.query_key_value.forward(&normed)?.reshape((rows, steps, (), heads.width))?;
        let part = |from: usize, count: usize| all.narrow(2, from, count)?.contiguous();
        let mut query = part(0, heads.queries)?;
        let mut key = part(heads.queries, heads.keys)?;
        let value = part(heads.queries + heads.keys, heads.keys)?.transpose(1, 2)?.contiguous()?;
        if let Some((query_norm, key_norm)) = &layer.head_norms {
            query = kernels::rms_norm(&query, query_norm, epsilon)?;
            key = kernels::rms_norm(&key, key_norm, epsilon)?;
        }
        let query = cache.rope.rotate(&query.transpose(1, 2)?.contiguous()?, positions)?;
        let key = cache.rope.rotate(&key.transpose(1, 2)?.contiguous()?, positions)?;
        let (keys, values) = &cache.layers[index];
        keys.slice_set(&key.contiguous()?, 2, cache.length)?;
        values.slice_set(&value, 2, cache.length)?;
        let seen = cache.length + steps;
        let mixed = kernels::plain_attention([&query, &keys.narrow(2, 0, seen)?, &values.narrow(2, 0, seen)?], mask)?;
        let x = (x + layer.output.forward(&mixed.reshape((rows * steps, ()))?)?)?;
        let normed = kernels::rms_norm(&x, &layer.inner_norm, epsilon)?;
        let both = layer.gate_up.forward(&normed)?;
        let inner = self.config.intermediate_size;
        let gate = both.narrow(1, 0, inner)?.contiguous()?;
        let up = both.narrow(1, inner, inner)?.contiguous()?;
        &x + layer.down.forward(&kernels::silu_mul(&gate, &up)?)?
    }
}
