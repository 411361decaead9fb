//! A model that scores tokens.
//!
//! Takes a [`ModelConfig`]; gives a decoder that can be sampled and differentiated, its tokenizer, and the variables
//! that training may move: all weights, or low-rank adapters over frozen ones. Knows files of weights in every form
//! people bring them. Does not know prompts, programs, rewards or losses.

mod adapter;
mod architecture;
mod builtin;
mod checkpointing;
mod decoder;
mod device;
mod directory;
mod error;
mod export;
mod gguf;
mod hub;
pub mod kernels;
mod linear;
mod loading;
mod sampling;
mod shapes;
mod tokenizer;
mod weights;

#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::path::Path;

use candle_core::{Tensor, Var};

pub use architecture::{DecoderConfig, RopeScaling, SUPPORTED};
pub use checkpointing::{Activations, LayerInputs};
pub use decoder::Decoder;
pub use device::{Device, device_name, open_device};
pub use error::PolicyError;
pub use export::{Exported, WeightFormat, export_adapter, export_merged};
pub use hub::hub_cache_dir;
pub use linear::Adapters;
pub use loading::Location;
pub use sampling::{Cache, Snapshot};
pub use shapes::{KNOWN_SHAPES, KnownShape};
pub use tokenizer::Tokenizer;

use adapter::AdapterSet;
use loading::Loaded;

use crate::config::ModelConfig;
use crate::seed::Seed;

/// A decoder, its tokenizer and what of it is trained.
#[derive(Debug)]
pub struct Policy {
    decoder: Decoder,
    tokenizer: Tokenizer,
    /// Every weight of the model; variables where it is trained in full.
    weights: BTreeMap<String, Tensor>,
    /// Adapters over frozen weights, where those are what is trained.
    adapters: Option<AdapterSet>,
    trainable: BTreeMap<String, Var>,
    /// Where the weights came from, as an adapter's configuration names it.
    origin: String,
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
        Self::full(Loaded { config, tokenizer, weights, dir: None }, "fresh")
    }

    /// Loads the model that `config` names. Adapters are trained where `config` names one or gives a rank, all
    /// weights otherwise; `seed` draws fresh adapters.
    pub fn load(config: &ModelConfig, seed: Seed, device: &Device) -> Result<Self, PolicyError> {
        Self::of_loaded(loading::load(config, device)?, config, seed, device)
    }

    /// A model of a known shape with weights drawn by chance, for measuring; what is trained of it is as `config` says.
    /// It has no words, so none of its completions ends before its time.
    pub fn random(shape: &KnownShape, config: &ModelConfig, seed: Seed, device: &Device) -> Result<Self, PolicyError> {
        let weights = weights::drawn(&shape.config, |_| shape.spread, seed, device)?;
        let (config_of_shape, tokenizer) = (shape.config.clone(), Tokenizer::wordless());
        let loaded = Loaded { config: config_of_shape, tokenizer, weights, dir: None };
        Self::of_loaded(loaded, &ModelConfig { model: shape.name.into(), ..config.clone() }, seed, device)
    }

    /// The same model without its words: none of its completions ends before its time. For measuring.
    pub fn without_words(self) -> Self {
        Policy { tokenizer: Tokenizer::wordless(), ..self }
    }

    fn of_loaded(loaded: Loaded, config: &ModelConfig, seed: Seed, device: &Device) -> Result<Self, PolicyError> {
        if !config.adapter.is_empty() {
            let set = AdapterSet::load(Path::new(&config.adapter), &loaded.config, device)?;
            return Self::adapted(loaded, set, &config.model);
        }
        if config.lora_r > 0 {
            let set = AdapterSet::fresh(&loaded.config, config, seed, device)?;
            return Self::adapted(loaded, set, &config.model);
        }
        Self::full(loaded, &config.model)
    }

    /// All weights are variables.
    fn full(loaded: Loaded, origin: &str) -> Result<Self, PolicyError> {
        let names = loaded.config.tensors().into_iter().map(|(name, _)| name);
        let vars = names.filter_map(|name| loaded.weights.get(&name).map(|tensor| (name, tensor)));
        let trainable = variables(vars)?;
        let weights = tracked(&trainable);
        let decoder = Decoder::new(loaded.config, &weights, &BTreeMap::new(), 0.0)?;
        let (tokenizer, origin) = (loaded.tokenizer, origin.to_owned());
        Ok(Policy { decoder, tokenizer, weights, adapters: None, trainable, origin })
    }

    /// Only the adapters are variables.
    fn adapted(loaded: Loaded, mut set: AdapterSet, origin: &str) -> Result<Self, PolicyError> {
        let trainable = variables(set.tensors.iter().map(|(name, tensor)| (name.clone(), tensor)))?;
        set.tensors = tracked(&trainable);
        let decoder = Decoder::new(loaded.config, &loaded.weights, &bare(&set.tensors), set.scale())?;
        let (tokenizer, origin) = (loaded.tokenizer, origin.to_owned());
        Ok(Policy { decoder, tokenizer, weights: loaded.weights, adapters: Some(set), trainable, origin })
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

    /// A copy of the model as it is now, that no training moves: what a KL penalty refers to.
    pub fn frozen_decoder(&self) -> Result<Decoder, PolicyError> {
        let copies = |tensors: &BTreeMap<String, Tensor>| {
            let copies = tensors.iter().map(|(name, tensor)| Ok((name.clone(), tensor.detach().copy()?)));
            copies.collect::<Result<BTreeMap<_, _>, PolicyError>>()
        };
        let (adapters, scale) = match &self.adapters {
            Some(set) => (copies(&bare(&set.tensors))?, set.scale()),
            None => (BTreeMap::new(), 0.0),
        };
        Decoder::new(self.decoder.config().clone(), &copies(&self.weights)?, &adapters, scale)
    }

    /// Writes what is trained, with the tokenizer, into a directory that exists: a Hugging Face model directory, or
    /// a PEFT adapter.
    pub fn save(&self, dir: &Path) -> Result<(), PolicyError> {
        self.tokenizer.save(dir)?;
        if let Some(set) = &self.adapters {
            return set.save(dir, &self.origin);
        }
        let path = dir.join("config.json");
        let text = format!("{:#}\n", self.decoder.config().to_json());
        std::fs::write(&path, text).map_err(PolicyError::file(&path))?;
        let weights = self.weights.iter().map(|(name, tensor)| (name.clone(), tensor));
        weights::write_file(weights, &dir.join(weights::FILE))
    }

    /// Sets what is trained to what [`Policy::save`] wrote into `dir`.
    pub fn restore(&mut self, dir: &Path) -> Result<(), PolicyError> {
        let file = if self.adapters.is_some() { adapter::WEIGHTS } else { weights::FILE };
        self.set_trainable(&weights::read_file(&dir.join(file), self.decoder.device())?)
    }
}

fn variables<'a>(tensors: impl Iterator<Item = (String, &'a Tensor)>) -> Result<BTreeMap<String, Var>, PolicyError> {
    tensors.map(|(name, tensor)| Ok((name, Var::from_tensor(tensor)?))).collect()
}

/// The tensors of variables, through which gradients find them.
fn tracked(variables: &BTreeMap<String, Var>) -> BTreeMap<String, Tensor> {
    variables.iter().map(|(name, var)| (name.clone(), var.as_tensor().clone())).collect()
}

/// Adapters under the names of the model's own modules.
fn bare(adapters: &BTreeMap<String, Tensor>) -> BTreeMap<String, Tensor> {
    let bare = |name: &str| name.strip_prefix(adapter::PREFIX).unwrap_or(name).to_owned();
    adapters.iter().map(|(name, tensor)| (bare(name), tensor.clone())).collect()
}
