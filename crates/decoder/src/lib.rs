//! The language model.
//!
//! Takes a [`ModelConfig`]; gives a decoder that can be sampled and differentiated, its tokenizer, and the variables
//! that training may change: all weights, or low-rank adapters over frozen weights. Reads weights in every usual file
//! format. Does not know prompts, programs, rewards or losses.

#![forbid(unsafe_code)]

mod adapters;
mod checkpointing;
mod decoder;
mod decoding;
mod embedded;
mod error;
mod families;
mod files;
mod independent;
mod layers;
mod precision;
mod token_batch;
mod tokenizer;
mod weights;

#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::path::Path;

use candle_core::{Tensor, Var};
use grpo_base::seed::Seed;
use grpo_config::ModelConfig;
use serde_json::Value;

pub use adapters::linear::{Adapters, Dropout};
pub use adapters::set::ADAPTER_FILES;
pub use checkpointing::{Activations, LayerInputs};
pub use decoder::Decoder;
pub use decoding::sampling::{Cache, READ_AT_ONCE, prefill_bytes};
pub use decoding::snapshot::Snapshot;
pub use embedded::EmbeddedTokens;
pub use error::PolicyError;
pub use families::architecture::{DecoderConfig, Experts, LongRope, RopeScaling, SlidingWindow};
pub use families::family::ModelType;
#[doc(hidden)]
pub use families::shapes::{KNOWN_SHAPES, KnownShape};
pub use files::export::{Exported, export_adapter, export_merged};
pub use files::hub::hub_cache_dir;
pub use files::hub::push::{HubRepo, PushError, Pushed, Visibility, check_push, push};
pub use files::loading::Location;
pub use files::origin::Origin;
pub use grpo_tensor::device::{
    CudaExamination, Device, DeviceMemory, DriverFound, LibraryFound, Target, Unusable, Version, device_memory,
    device_name, examine_cuda, explained, gpu_identities, gpu_identity, is_out_of_memory, loading_seconds, memory_rate,
    peak_memory, reset_peak_memory, trim_memory,
};
pub use grpo_tensor::gpu::{AdamWRates, CHUNK, DeviceBatch, Drawing, Drawn, Moved, device_adamw, device_square_sums};
pub use grpo_tensor::{adamw, sum_of_squares};
pub use independent::Agreement;
pub use precision::Precision;
pub use token_batch::{TokenBatch, TokenRow, shared_beginning};
pub use tokenizer::Tokenizer;

use adapters::set::{self, AdapterSet};
use files::export;
use files::loaded::Loaded;
use files::loading::{self, in_full};
use files::origin::anchored;
use grpo_tensor::Weight;
use layers::joint::lay_together;
use weights::LoadTarget;

/// A decoder, its tokenizer and its trained variables.
#[derive(Debug)]
pub struct Policy {
    decoder: Decoder,
    /// The whole `config.json`, if the model came with one that others may read.
    described: Option<Value>,
    tokenizer: Tokenizer,
    /// Every weight of the model; variables if all weights are trained.
    weights: BTreeMap<String, Weight>,
    /// Adapters over frozen weights, if these are trained.
    adapters: Option<AdapterSet>,
    trainable: BTreeMap<String, Var>,
    /// The origin of the weights, as an adapter's configuration names it.
    origin: String,
}

impl Policy {
    /// A model with fresh weights, all of them trained, in f32.
    pub fn initialise(
        config: DecoderConfig,
        tokenizer: Tokenizer,
        seed: Seed,
        device: &Device,
    ) -> Result<Self, PolicyError> {
        config.check()?;
        let weights = weights::initial(&config, seed, device)?;
        let weights = weights::dense(weights);
        let loaded = Loaded { config, described: None, tokenizer, weights, dir: None };
        Self::full(loaded, "fresh", Precision::F32)
    }

    /// Loads the model that `config` names. If `config` names an adapter or a rank, adapters are trained, otherwise
    /// all weights; `seed` draws fresh adapters.
    pub fn load(config: &ModelConfig, seed: Seed, device: &Device) -> Result<Self, PolicyError> {
        let precision = Precision::of(config.precision, device)?;
        // Trained weights change by less than a 16-bit format resolves.
        let kept = if in_full(config) { Precision::F32 } else { precision };
        Self::of_loaded(loading::load(config, LoadTarget { device, precision: kept })?, config, seed, device)
    }

    /// A model of a known shape with random weights, for `grpo-2048-bench`; `config` says what is trained. Its tokenizer
    /// has no tokens, so every completion reaches its longest length.
    #[doc(hidden)]
    pub fn random(shape: &KnownShape, config: &ModelConfig, seed: Seed, device: &Device) -> Result<Self, PolicyError> {
        let kept = if in_full(config) { Precision::F32 } else { Precision::of(config.precision, device)? };
        let weights = weights::drawn(&shape.config, |_| shape.spread, kept.format(), seed, device)?;
        let (tokenizer, weights) = (Tokenizer::wordless(), weights::dense(weights));
        let loaded = Loaded { config: shape.config.clone(), described: None, tokenizer, weights, dir: None };
        Self::of_loaded(loaded, &ModelConfig { model: shape.name.into(), ..config.clone() }, seed, device)
    }

    /// The same model with a tokenizer without tokens, so that every completion reaches its longest length. For
    /// `grpo-2048-bench`.
    #[doc(hidden)]
    pub fn without_words(self) -> Self {
        Policy { tokenizer: Tokenizer::wordless(), ..self }
    }

    fn of_loaded(loaded: Loaded, config: &ModelConfig, seed: Seed, device: &Device) -> Result<Self, PolicyError> {
        let precision = Precision::of(config.precision, device)?;
        precision.set_products(config.tf32, device);
        let origin = anchored(&config.model);
        if in_full(config) {
            return Self::full(loaded, &origin, precision);
        }
        let set = match config.adapter.as_str() {
            "" => AdapterSet::fresh(&loaded.config, config, seed, device)?,
            dir => AdapterSet::load(Path::new(dir), &loaded.config, device)?,
        };
        Self::adapted(loaded, set, &origin, precision)
    }

    /// All weights are variables, in f32; layers that compute in a 16-bit format round them as they read them.
    fn full(loaded: Loaded, origin: &str, precision: Precision) -> Result<Self, PolicyError> {
        let names = loaded.config.tensors().into_iter().map(|(name, _)| name);
        let vars = names.filter_map(|name| loaded.weights.get(&name)?.dense().map(|tensor| (name, tensor)));
        let trainable = variables(vars)?;
        let weights = weights::dense(tracked(&trainable));
        let decoder = Decoder::new(loaded.config, &weights, None, precision)?;
        let Loaded { described, tokenizer, .. } = loaded;
        Ok(Policy { decoder, described, tokenizer, weights, adapters: None, trainable, origin: origin.to_owned() })
    }

    /// Only the adapters are variables.
    fn adapted(
        mut loaded: Loaded,
        mut set: AdapterSet,
        origin: &str,
        precision: Precision,
    ) -> Result<Self, PolicyError> {
        lay_together(&mut loaded.weights, &loaded.config)?;
        let trainable = variables(set.tensors.iter().map(|(name, tensor)| (name.clone(), tensor)))?;
        set.tensors = tracked(&trainable);
        let decoder = Decoder::new(loaded.config, &loaded.weights, Some(&set), precision)?;
        let Loaded { described, tokenizer, weights, .. } = loaded;
        Ok(Policy { decoder, described, tokenizer, weights, adapters: Some(set), trainable, origin: origin.to_owned() })
    }

    /// The decoder, whose forward pass includes the adapters.
    pub fn decoder(&self) -> &Decoder {
        &self.decoder
    }

    /// The tokenizer, with the model's stop ids and chat template.
    pub fn tokenizer(&self) -> &Tokenizer {
        &self.tokenizer
    }

    /// The rank of the adapters; `None` where every weight is trained.
    pub fn rank(&self) -> Option<usize> {
        self.adapters.as_ref().map(|set| set.rank)
    }

    /// Probability of dropout on the input of the adapters in training; 0 without adapters.
    pub fn dropout(&self) -> f64 {
        self.adapters.as_ref().map_or(0.0, |set| set.dropout)
    }

    /// Bytes of the weights, if some of them stay in the blocks of their file.
    pub fn packed_bytes(&self) -> Option<u64> {
        let is_packed = self.weights.values().any(|weight| weight.dense().is_none());
        is_packed.then(|| self.weights.values().map(|weight| weight.held() as u64).sum())
    }

    /// The trained variables, by their Hugging Face or PEFT names.
    pub fn trainable(&self) -> &BTreeMap<String, Var> {
        &self.trainable
    }

    /// Sets every trained variable from a checkpoint.
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

    /// The present model as training does not change it, as reference of a KL penalty. What is trained is copied; frozen
    /// weights are shared.
    pub fn frozen_decoder(&self) -> Result<Decoder, PolicyError> {
        let config = self.decoder.config().clone();
        let Some(set) = &self.adapters else {
            let weights = self.weights.iter().map(|(name, weight)| Ok((name.clone(), weight.copied()?)));
            let weights = weights.collect::<Result<_, PolicyError>>()?;
            return Decoder::new(config, &weights, None, self.decoder.precision());
        };
        let copies = set.tensors.iter().map(|(name, tensor)| Ok((name.clone(), tensor.detach().copy()?)));
        let tensors = copies.collect::<Result<_, PolicyError>>()?;
        Decoder::new(config, &self.weights, Some(&AdapterSet { tensors, ..set.clone() }), self.decoder.precision())
    }

    /// Writes the trained variables and the tokenizer into an existing directory: a Hugging Face model directory, or a
    /// PEFT adapter. Weights that have diverged are refused before anything is written.
    pub fn save(&self, dir: &Path) -> Result<(), PolicyError> {
        let trained = || self.trainable.iter().map(|(name, var)| (name, var.as_tensor()));
        weights::check_finite(trained())?;
        self.tokenizer.save(dir)?;
        if let Some(set) = &self.adapters {
            return set.save(dir, &self.origin);
        }
        let path = dir.join("config.json");
        let shape = self.decoder.config();
        let described = match self.described.clone() {
            Some(own) => export::described(own, shape, Precision::F32),
            None => shape.to_json(),
        };
        std::fs::write(&path, format!("{described:#}\n")).map_err(PolicyError::file(&path))?;
        weights::write_file(trained(), &dir.join(weights::FILE))
    }

    /// Writes the trained adapters as a PEFT directory, into an existing directory.
    pub fn save_adapter(&self, dir: &Path) -> Result<(), PolicyError> {
        match &self.adapters {
            Some(set) => set.save(dir, &self.origin),
            None => Err(PolicyError::Adapter { message: "none is trained, but every weight".into() }),
        }
    }

    /// Sets the trained variables to those that [`Policy::save`] wrote into `dir`.
    pub fn restore(&mut self, dir: &Path) -> Result<(), PolicyError> {
        let file = if self.adapters.is_some() { set::WEIGHTS } else { weights::FILE };
        let target = LoadTarget { device: self.decoder.device(), precision: Precision::F32 };
        let tensors = weights::read_file(&dir.join(file), target)?;
        if let Some(set) = &self.adapters {
            // Adapters that are not among the variables would be passed over.
            AdapterSet { tensors: tensors.clone(), ..set.clone() }.check(self.decoder.config())?;
        }
        self.set_trainable(&tensors)
    }
}

/// Opens the device that a setting names: "auto", "cpu", "cuda" or "cuda:N". If "auto" finds no GPU that can be used,
/// this is the CPU, together with the reason.
pub fn open_device(name: &str) -> Result<(Device, Option<Unusable>), PolicyError> {
    let refused = |reason| PolicyError::Device { found: name.to_owned(), reason };
    grpo_tensor::device::open_device(name).map_err(refused)
}

fn variables<'a>(tensors: impl Iterator<Item = (String, &'a Tensor)>) -> Result<BTreeMap<String, Var>, PolicyError> {
    tensors.map(|(name, tensor)| Ok((name, Var::from_tensor(tensor)?))).collect()
}

/// The tensors of variables, by which candle tracks their gradients.
fn tracked(variables: &BTreeMap<String, Var>) -> BTreeMap<String, Tensor> {
    variables.iter().map(|(name, var)| (name.clone(), var.as_tensor().clone())).collect()
}
