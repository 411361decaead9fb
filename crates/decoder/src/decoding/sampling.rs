//! The decoder for sampling: tokens are fed to a preallocated key-value cache.
//!
//! On the CPU in f32 every row is fed alone: any number of tokens to some rows, none to others, at any time, with the
//! same bits. Elsewhere all rows write the same slot, so prompts of unequal length are padded on the left to one width; each
//! row knows its first slot, counts positions from there and attends to no slot before it.

use std::sync::Arc;

use candle_core::{DType, Tensor};

use crate::decoding::snapshot::{Snapshot, SnapshotBlock};
use crate::layers::norm::norm_heads;
use crate::{Decoder, DecoderConfig, PolicyError};
use grpo_tensor::gpu::Prefilled;
use grpo_tensor::{self as kernels, KeyValues, Rotations, Window};

/// Tokens that pass through the layers together when rows are fed alone, unless one row has more. It bounds the memory of
/// reading; the products of so many rows are as fast as those of more.
pub const READ_AT_ONCE: usize = 8192;

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

impl Cache {
    /// Number of sequences.
    pub fn rows(&self) -> usize {
        self.window.first.len()
    }

    /// Number of slots written in each row, padding included.
    pub fn lengths(&self) -> &[usize] {
        &self.window.lengths
    }

    /// Whether nothing has been written yet.
    pub fn is_empty(&self) -> bool {
        self.window.lengths.iter().all(|length| *length == 0)
    }

    /// Whether any row may be fed while others are not.
    pub fn feeds_rows_alone(&self) -> bool {
        !matches!(self.layers.first(), Some(KeyValues::Tensors { .. }))
    }

    /// Keeps these rows, in this order; a row may be named more than once.
    pub fn select(&mut self, rows: &[usize]) -> Result<(), PolicyError> {
        let count = self.rows();
        if let Some(row) = rows.iter().find(|row| **row >= count) {
            return Err(PolicyError::argument("row of the cache", row, format!("below {count}")));
        }
        for layer in &mut self.layers {
            layer.select(rows, count)?;
        }
        self.window.select(rows);
        Ok(())
    }
}

/// Bytes of scores and their copies while prompts are fed to a GPU, where one prompt does not have more.
const PREFILL_BYTES: usize = 1 << 30;

/// Bytes of scores and their copies while so many prompts of up to `width` tokens are fed to a GPU.
pub fn prefill_bytes(config: &DecoderConfig, prompts: usize, width: usize) -> usize {
    let of_one = score_bytes(config, width);
    (prompts * of_one).min(PREFILL_BYTES.max(of_one))
}

/// Bytes of a layer's scores of one prompt of `width` tokens: scores, scaled, masked, and their softmax, in f32.
fn score_bytes(config: &DecoderConfig, width: usize) -> usize {
    4 * 4 * config.num_attention_heads * width * width
}

fn check_prompts(prompts: &[&[u32]], cache: &Cache) -> Result<(), PolicyError> {
    if prompts.len() == cache.rows() && cache.is_empty() && prompts.iter().all(|prompt| !prompt.is_empty()) {
        return Ok(());
    }
    let found = format!("{} prompts for {} rows, slots used: {:?}", prompts.len(), cache.rows(), cache.lengths());
    let expected = "one prompt of at least one token for each row of an empty cache";
    Err(PolicyError::argument("prompts to prefill", found, expected))
}

impl Decoder {
    /// Whether any row of a new cache may be fed while others are not: on the CPU in f32.
    pub fn feeds_rows_alone(&self) -> bool {
        KeyValues::are_blocks(self.device(), self.precision.format())
    }

    /// An empty cache for `rows` sequences of up to `capacity` tokens, over a snapshot of the present weights.
    pub fn new_cache(&self, rows: usize, capacity: usize) -> Result<Cache, PolicyError> {
        self.check_length(capacity)?;
        self.new_padded_cache(self.snapshot()?, rows, capacity)
    }

    /// The same over a given snapshot for sequences of different lengths, which may have padding before them: their
    /// capacity may be larger than the model's context, though none of them may be longer than that.
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
    pub(crate) fn prefilled(&self, weights: Arc<Snapshot>, prompts: &[&[u32]]) -> Result<Prefilled, PolicyError> {
        self.prefilled_within(PREFILL_BYTES, weights, prompts)
    }

    /// The same in as many parts as it takes to have scores and their copies in so many bytes, one prompt at least.
    pub(crate) fn prefilled_within(
        &self,
        bytes: usize,
        weights: Arc<Snapshot>,
        prompts: &[&[u32]],
    ) -> Result<Prefilled, PolicyError> {
        let width = prompts.iter().map(|prompt| prompt.len()).max().unwrap_or(0);
        self.check_length(width)?;
        let at_once = (bytes / score_bytes(&self.config, width).max(1)).max(1);
        let (mut logits, mut first) = (Vec::new(), Vec::new());
        let mut layers: Vec<[Vec<Tensor>; 2]> = self.layers.iter().map(|_| [Vec::new(), Vec::new()]).collect();
        for part in prompts.chunks(at_once) {
            let mut cache = self.new_padded_cache(weights.clone(), part.len(), width)?;
            let dtype = cache.weights.embedding.dtype();
            for layer in &mut cache.layers {
                *layer = KeyValues::tensors(&cache.window, self.config.heads(), self.device(), dtype)?;
            }
            check_prompts(part, &cache)?;
            logits.push(self.feed_padded(part, width, &mut cache)?);
            first.extend(cache.window.first);
            for ([keys, values], of_part) in layers.iter_mut().zip(cache.layers) {
                let (of_keys, of_values) = of_part.into_tensors()?;
                keys.push(of_keys);
                values.push(of_values);
            }
        }
        let keys_values =
            layers.into_iter().map(|[keys, values]| Ok((Tensor::cat(&keys, 0)?, Tensor::cat(&values, 0)?)));
        let keys_values = keys_values.collect::<candle_core::Result<_>>()?;
        Ok(Prefilled { logits: Tensor::cat(&logits, 0)?, keys_values, first, slots: width })
    }

    /// Feeds one prompt to each row of an empty cache.
    ///
    /// Returns the logits of each prompt's last token, `(rows, vocab_size)`.
    pub fn prefill(&self, prompts: &[&[u32]], cache: &mut Cache) -> Result<Tensor, PolicyError> {
        check_prompts(prompts, cache)?;
        self.feed(prompts, cache)
    }

    /// Feeds each row its own tokens, none where the list is empty. Unless the cache
    /// [feeds rows alone](Cache::feeds_rows_alone), it must be empty, or a row gets one token at most and none ever after it
    /// got none.
    ///
    /// Returns the logits of the last token of each row that got any, `(rows with tokens, vocab_size)`.
    pub fn feed(&self, tokens: &[&[u32]], cache: &mut Cache) -> Result<Tensor, PolicyError> {
        let longest = tokens.iter().map(|tokens| tokens.len()).max().unwrap_or(0);
        let alone = cache.feeds_rows_alone();
        if tokens.len() != cache.rows() || longest == 0 || !(alone || cache.is_empty() || longest == 1) {
            let (found, rows) = (format!("{} lists of up to {longest} tokens", tokens.len()), cache.rows());
            let expected = format!("one for each of {rows} rows, not all empty, with a token at most in padded rows");
            return Err(PolicyError::argument("tokens to feed", found, expected));
        }
        if !alone {
            return self.feed_padded(tokens, longest, cache);
        }
        let (mut logits, mut row) = (Vec::new(), 0);
        while row < tokens.len() {
            let (mut ids, mut fed) = (Vec::new(), vec![0; tokens.len()]);
            while row < tokens.len() && (ids.is_empty() || ids.len() + tokens[row].len() <= READ_AT_ONCE) {
                ids.extend_from_slice(tokens[row]);
                fed[row] = tokens[row].len();
                row += 1;
            }
            if !ids.is_empty() {
                let count = ids.len();
                logits.push(self.advance(&Tensor::from_vec(ids, count, self.device())?, fed, cache)?);
            }
        }
        Ok(Tensor::cat(&logits, 0)?)
    }

    /// Feeds rows that write the same slots, `width` each, those with fewer tokens padded on the left.
    fn feed_padded(&self, tokens: &[&[u32]], width: usize, cache: &mut Cache) -> Result<Tensor, PolicyError> {
        if cache.is_empty() {
            cache.window.first = tokens.iter().map(|tokens| width - tokens.len()).collect();
        }
        let mut ids = vec![0; tokens.len() * width];
        for (row, tokens) in ids.chunks_exact_mut(width).zip(tokens) {
            row[width - tokens.len()..].copy_from_slice(tokens);
        }
        let ids = Tensor::from_vec(ids, tokens.len() * width, self.device())?;
        let logits = self.advance(&ids, vec![width; tokens.len()], cache)?;
        let given: Vec<u32> = (0..tokens.len()).filter(|row| !tokens[*row].is_empty()).map(|row| row as u32).collect();
        if given.len() == tokens.len() {
            return Ok(logits);
        }
        let count = given.len();
        Ok(logits.index_select(&Tensor::from_vec(given, count, self.device())?, 0)?)
    }

    /// `ids`: `(N,)`, of which each row is fed as many as `fed` says; returns the logits after the last of each row that is
    /// fed any.
    fn advance(&self, ids: &Tensor, fed: Vec<usize>, cache: &mut Cache) -> Result<Tensor, PolicyError> {
        let found = cache.lengths().iter().zip(&fed).map(|(length, fed)| length + fed).max().unwrap_or(0);
        if found > cache.capacity {
            return Err(PolicyError::TooLong { found, expected: cache.capacity, what: "capacity of the cache" });
        }
        let ends = fed.iter().filter(|fed| **fed > 0).scan(0, |end, fed| {
            *end += *fed as u32;
            Some(*end - 1)
        });
        let last: Vec<u32> = ends.collect();
        cache.window.fed = fed;
        let mut x = self.embedded(&cache.weights.embedding, ids)?;
        for index in 0..self.layers.len() {
            x = self.advance_layer(index, &x, cache)?;
        }
        cache.window.advance();
        let count = last.len();
        if count < x.dim(0)? {
            x = x.index_select(&Tensor::from_vec(last, count, self.device())?, 0)?;
        }
        let x = kernels::rms_norm(&x, &cache.weights.norm, self.config.rms_norm_eps)?;
        Ok(self.capped(cache.weights.head.forward(&x.to_dtype(DType::F32)?)?)?)
    }

    /// `x`: `(N, hidden_size)`.
    fn advance_layer(&self, index: usize, x: &Tensor, cache: &mut Cache) -> candle_core::Result<Tensor> {
        let (heads, epsilon) = (self.layers[index].attention.heads, self.config.rms_norm_eps);
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
        let activation = self.layers[index].feed_forward.activation;
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
