//! The parts of a model, whichever layout they were read from.

use std::collections::BTreeMap;
use std::path::PathBuf;

use candle_core::{DType, Tensor};
use serde_json::Value;

use crate::{DecoderConfig, PolicyError, Tokenizer};
use grpo_tensor::Weight;

/// The parts of a model, before it is decided what is trained.
pub(crate) struct Loaded {
    pub config: DecoderConfig,
    /// The whole `config.json`, if the model came with one that others may read.
    pub described: Option<Value>,
    pub tokenizer: Tokenizer,
    /// Weights by Hugging Face name.
    pub weights: BTreeMap<String, Weight>,
    /// The directory in Hugging Face layout that the model came from, if any.
    pub dir: Option<PathBuf>,
}

impl Loaded {
    /// Refuses parts that do not belong together.
    pub fn check(&self) -> Result<(), PolicyError> {
        let (found, expected) = (self.tokenizer.vocab_size(), self.config.vocab_size);
        if found > expected {
            return Err(PolicyError::VocabularyMismatch { found, expected });
        }
        self.config.check_names(self.weights.keys())?;
        self.check_head()
    }

    /// Refuses an output projection of its own that the settings tie to the embedding: newer versions of transformers compute
    /// with it, older ones with the embedding.
    fn check_head(&self) -> Result<(), PolicyError> {
        let (head, embedding) = (self.weights.get("lm_head.weight"), self.weights.get("model.embed_tokens.weight"));
        let (true, Some(head), Some(embedding)) = (self.config.tie_word_embeddings, head, embedding) else {
            return Ok(());
        };
        if are_equal(head, embedding)? {
            return Ok(());
        }
        let found = "true with a tensor `lm_head.weight` that is not the embedding";
        let expected = "false, if that is the output projection, or weights without it";
        Err(PolicyError::setting("tie_word_embeddings", found, expected))
    }
}

/// Rows that are compared at once, so that packed weights are not expanded as a whole.
const COMPARED_ROWS: u32 = 1024;

/// Whether two matrices hold the same numbers.
fn are_equal(one: &Weight, other: &Weight) -> candle_core::Result<bool> {
    if one.dims() != other.dims() {
        return Ok(false);
    }
    let count = one.dim(0)? as u32;
    for first in (0..count).step_by(COMPARED_ROWS as usize) {
        let ids = Tensor::arange(first, count.min(first + COMPARED_ROWS), one.device())?;
        let numbers = |weight: &Weight| weight.rows(&ids)?.to_dtype(DType::F32)?.to_vec2::<f32>();
        if numbers(one)? != numbers(other)? {
            return Ok(false);
        }
    }
    Ok(true)
}
