//! A model that scores tokens.
//!
//! Takes a [`ModelConfig`]; gives a decoder that can be sampled and differentiated, its tokenizer, and the variables
//! that training may move: all weights, or low-rank adapters over frozen ones. Knows files of weights in every form
//! people bring them. Does not know prompts, programs, rewards or losses.

mod architecture;
mod decoder;
mod error;
pub mod kernels;
mod linear;
mod sampling;
mod tokenizer;
mod weights;

#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::path::Path;

use candle_core::{Device, Tensor, Var};

pub use architecture::{DecoderConfig, RopeScaling, SUPPORTED};
pub use decoder::Decoder;
pub use error::PolicyError;
pub use linear::Adapters;
pub use sampling::Cache;
pub use tokenizer::Tokenizer;

use crate::config::ModelConfig;
use crate::seed::Seed;

/// A decoder, its tokenizer and what of it is trained.
#[derive(Debug)]
pub struct Policy {
    decoder: Decoder,
    tokenizer: Tokenizer,
    /// Every weight of the model; variables where it is trained in full.
    weights: BTreeMap<String, Tensor>,
    trainable: BTreeMap<String, Var>,
}

impl Policy {
    /// A model with fresh weights, all of them trained.
    pub fn initialise(
        config: DecoderConfig,
        tokenizer: Tokenizer,
        seed: Seed,
        device: &Device,
    ) -> Result<Self, PolicyError> {
        config.check()?;
        let weights = weights::initial(&config, seed, device)?;
        Self::full(config, tokenizer, weights)
    }

    /// Loads the model that `config` names.
    pub fn load(config: &ModelConfig, _seed: Seed, device: &Device) -> Result<Self, PolicyError> {
        let dir = Path::new(&config.model);
        let path = dir.join("config.json");
        let text = std::fs::read_to_string(&path).map_err(PolicyError::file(&path))?;
        let settings = DecoderConfig::from_json(&text, &path)?;
        Self::full(settings, Tokenizer::from_dir(dir)?, weights::read_dir(dir, device)?)
    }

    /// All weights are variables.
    fn full(
        config: DecoderConfig,
        tokenizer: Tokenizer,
        weights: BTreeMap<String, Tensor>,
    ) -> Result<Self, PolicyError> {
        if tokenizer.vocab_size() > config.vocab_size {
            return Err(PolicyError::VocabularyMismatch { found: tokenizer.vocab_size(), expected: config.vocab_size });
        }
        let names = config.tensors().into_iter().map(|(name, _)| name);
        let trainable: BTreeMap<String, Var> = names
            .filter_map(|name| weights.get(&name).map(|tensor| Ok((name, Var::from_tensor(tensor)?))))
            .collect::<Result<_, PolicyError>>()?;
        let weights = trainable.iter().map(|(name, var)| (name.clone(), var.as_tensor().clone())).collect();
        let decoder = Decoder::new(config, &weights, &BTreeMap::new(), 0.0)?;
        Ok(Policy { decoder, tokenizer, weights, trainable })
    }

    /// The model itself.
    pub fn decoder(&self) -> &Decoder {
        &self.decoder
    }

    /// Text to ids and back.
    pub fn tokenizer(&self) -> &Tokenizer {
        &self.tokenizer
    }

    /// The variables that training moves, by their Hugging Face or PEFT names.
    pub fn trainable(&self) -> &BTreeMap<String, Var> {
        &self.trainable
    }

    /// Sets every trained variable, as a checkpoint holds them.
    pub fn set_trainable(&self, tensors: &BTreeMap<String, Tensor>) -> Result<(), PolicyError> {
        for (name, var) in &self.trainable {
            let expected = var.dims().to_vec();
            let Some(tensor) = tensors.get(name) else {
                return Err(PolicyError::MissingTensor { name: name.clone(), expected, hint: String::new() });
            };
            if tensor.dims() != expected {
                return Err(PolicyError::WrongShape { name: name.clone(), found: tensor.dims().to_vec(), expected });
            }
        }
        for (name, var) in &self.trainable {
            var.set(&tensors[name].to_device(var.device())?.to_dtype(var.dtype())?)?;
        }
        Ok(())
    }

    /// Writes a Hugging Face model directory, tokenizer included. The directory must exist.
    pub fn save(&self, dir: &Path) -> Result<(), PolicyError> {
        let path = dir.join("config.json");
        std::fs::write(&path, format!("{:#}\n", self.decoder.config().to_json())).map_err(PolicyError::file(&path))?;
        let weights = self.weights.iter().map(|(name, tensor)| (name.clone(), tensor));
        weights::write_file(weights, &dir.join("model.safetensors"))?;
        self.tokenizer.save(dir)
    }
}
