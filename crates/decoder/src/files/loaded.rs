//! The parts of a model, whichever layout they were read from.

use std::collections::BTreeMap;
use std::path::PathBuf;

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
        self.config.check_names(self.weights.keys())
    }
}
