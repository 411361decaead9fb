//! From the name of a model to its parts, wherever it lives.

use std::collections::BTreeMap;
use std::path::Path;

use candle_core::{Device, Tensor};

use super::{DecoderConfig, PolicyError, Tokenizer, builtin, gguf, hub, weights};
use crate::config::ModelConfig;

/// The parts of a model, before anybody decided what of it is trained.
pub(super) struct Loaded {
    pub config: DecoderConfig,
    pub tokenizer: Tokenizer,
    /// By Hugging Face name, f32.
    pub weights: BTreeMap<String, Tensor>,
}

/// Reads the model that `config` names.
pub(super) fn load(config: &ModelConfig, device: &Device) -> Result<Loaded, PolicyError> {
    let path = Path::new(&config.model);
    let loaded = if config.model == "builtin" {
        builtin::load(device)?
    } else if path.extension().is_some_and(|extension| extension == "gguf") {
        gguf::load(path, device)?
    } else if path.is_dir() {
        load_dir(path, device)?
    } else if is_hub_id(&config.model) {
        load_dir(&hub::fetch(&config.model, &config.revision)?, device)?
    } else {
        return Err(PolicyError::UnknownModel { found: config.model.clone() });
    };
    loaded.check()?;
    Ok(loaded)
}

/// Reads a directory in Hugging Face layout.
fn load_dir(dir: &Path, device: &Device) -> Result<Loaded, PolicyError> {
    let path = dir.join("config.json");
    let text = std::fs::read_to_string(&path).map_err(PolicyError::file(&path))?;
    Ok(Loaded {
        config: DecoderConfig::from_json(&text, &path)?,
        tokenizer: Tokenizer::from_dir(dir)?,
        weights: weights::read_dir(dir, device)?,
    })
}

/// `owner/name`, and not a path that happens to be missing.
fn is_hub_id(model: &str) -> bool {
    let part = |part: &str| {
        let allowed = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
        !part.is_empty() && !part.starts_with('.') && part.chars().all(allowed)
    };
    model.split_once('/').is_some_and(|(owner, name)| part(owner) && part(name))
}

impl Loaded {
    /// Refuses parts that do not belong together.
    fn check(&self) -> Result<(), PolicyError> {
        let (found, expected) = (self.tokenizer.vocab_size(), self.config.vocab_size);
        if found > expected {
            return Err(PolicyError::VocabularyMismatch { found, expected });
        }
        Ok(())
    }
}
