//! Loads a model by its name, wherever it is.

use std::path::{Path, PathBuf};

use crate::files::hub;
use crate::files::hub::HubSettings;
use crate::files::loaded::Loaded;
use crate::files::{directory, gguf};
use crate::weights::{Held, LoadTarget};
use crate::{DecoderConfig, PolicyError, Precision, Tokenizer, weights};
use grpo_config::{FrozenWeights, ModelConfig};

/// The files of the small model that is embedded in the binary.
const CONFIG: &str = include_str!("../../builtin/config.json");
const TOKENIZER: &str = include_str!("../../builtin/tokenizer.json");
const TOKENIZER_CONFIG: &str = include_str!("../../builtin/tokenizer_config.json");
const GENERATION_CONFIG: &str = include_str!("../../builtin/generation_config.json");
const WEIGHTS: &[u8] = include_bytes!("../../builtin/model.safetensors");

/// The location of a model on this machine.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Location {
    /// Inside the binary.
    Builtin,
    /// One `.gguf` file.
    Gguf(PathBuf),
    /// A directory in Hugging Face layout.
    Directory(PathBuf),
}

impl Location {
    /// Finds the model that `config` names; a model of the Hugging Face Hub is fetched unless it is in the cache.
    pub fn of(config: &ModelConfig) -> Result<Self, PolicyError> {
        Self::found(config, &HubSettings::given())
    }

    /// The same on this machine alone: nothing is fetched.
    ///
    /// # Errors
    /// Those of [`of`](Self::of), and a model of the Hub that is not in the cache.
    pub fn here(config: &ModelConfig) -> Result<Self, PolicyError> {
        Self::found(config, &HubSettings { offline: true, ..HubSettings::given() })
    }

    fn found(config: &ModelConfig, settings: &HubSettings) -> Result<Self, PolicyError> {
        let path = Path::new(&config.model);
        let refuse = |missing: &str, advice: &str| {
            Err(PolicyError::Incomplete { path: path.into(), missing: missing.into(), advice: advice.into() })
        };
        if config.model == "builtin" {
            return Ok(Location::Builtin);
        }
        if path.is_dir() {
            return Ok(Location::Directory(path.into()));
        }
        if path.extension().is_some_and(|extension| extension == "gguf") {
            return Ok(Location::Gguf(path.into()));
        }
        if path.is_file() && directory::is_cut_off(path) {
            return refuse("is a download that was cut off", "fetch it again");
        }
        if path.is_file() {
            return refuse("is neither a directory nor a .gguf file", "name the directory that the model is in");
        }
        if hub::is_hub_id(&config.model) {
            return Ok(Location::Directory(hub::fetch(&config.model, &config.revision, settings)?));
        }
        Err(PolicyError::UnknownModel { found: config.model.clone() })
    }

    /// The files that are there of those that the model is read from: what describes it, its tokenizer with the chat template,
    /// and its weights; none of the one inside the binary.
    ///
    /// # Errors
    /// An index of weights that cannot be read.
    pub fn files(&self) -> Result<Vec<PathBuf>, PolicyError> {
        // A card is no part of the model.
        let describing = hub::REQUIRED.iter().chain(hub::OPTIONAL).filter(|name| **name != "README.md");
        let mut paths: Vec<PathBuf> = match self {
            Location::Builtin => Vec::new(),
            Location::Gguf(path) => vec![path.clone()],
            Location::Directory(dir) => {
                let names = describing.map(PathBuf::from).chain(weights::files_of(dir)?);
                names.map(|name| dir.join(name)).collect()
            }
        };
        paths.retain(|path| path.exists());
        Ok(paths)
    }

    /// The commit of a model in the Hub's cache, which has a directory for each.
    pub fn commit(&self) -> Option<&str> {
        let Location::Directory(dir) = self else { return None };
        dir.parent().filter(|parent| parent.ends_with("snapshots"))?;
        dir.file_name()?.to_str()
    }
}

impl std::fmt::Display for Location {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Location::Builtin => formatter.write_str("inside this program"),
            Location::Gguf(path) | Location::Directory(path) => {
                write!(formatter, "{}", path.canonicalize().unwrap_or_else(|_| path.clone()).display())
            }
        }
    }
}

/// Reads the model that `config` names.
pub(crate) fn load(config: &ModelConfig, target: LoadTarget<'_>) -> Result<Loaded, PolicyError> {
    let location = Location::of(config)?;
    let held = held(config, target)?;
    let loaded = match location {
        Location::Builtin => load_builtin(target)?,
        Location::Gguf(path) => gguf::load(&path, target, held)?,
        Location::Directory(path) => load_dir(&path, target, held)?,
    };
    loaded.check()?;
    if config.frozen_weights == FrozenWeights::Packed && loaded.weights.values().all(|weight| weight.dense().is_some())
    {
        return Err(not_packed("with weights of 32 bits", "a .gguf file of fewer, or weights in bf16 or f16"));
    }
    Ok(loaded)
}

/// Whether matrices stay in their blocks, by the settings.
fn held(config: &ModelConfig, LoadTarget { device, precision }: LoadTarget<'_>) -> Result<Held, PolicyError> {
    let hindrance = match precision {
        _ if in_full(config) => Some(("with all weights trained", "adapters: set model.lora_r or model.adapter")),
        _ if !device.is_cpu() => Some(("on a GPU", "model.device = \"cpu\"")),
        Precision::F32 => None,
        _ => Some(("with layers in a half format", "model.precision = \"f32\"")),
    };
    match (config.frozen_weights, hindrance) {
        (FrozenWeights::Packed, Some((found, expected))) => Err(not_packed(found, expected)),
        (FrozenWeights::Dense, _) | (_, Some(_)) => Ok(Held::Dense),
        (_, None) => Ok(Held::Packed),
    }
}

fn not_packed(found: &str, expected: &str) -> PolicyError {
    let expected = format!("{expected}; or \"auto\"");
    PolicyError::argument("model.frozen_weights", format!("\"packed\" {found}"), expected)
}

/// Reads the embedded files.
fn load_builtin(target: LoadTarget<'_>) -> Result<Loaded, PolicyError> {
    let path = Path::new("builtin");
    Ok(Loaded {
        config: DecoderConfig::from_json(CONFIG, path)?,
        described: None,
        tokenizer: Tokenizer::from_json(TOKENIZER, Some(TOKENIZER_CONFIG), Some(GENERATION_CONFIG))?,
        weights: weights::dense(weights::read_bytes(WEIGHTS, path, target)?),
        dir: None,
    })
}

/// Reads a directory in Hugging Face layout.
fn load_dir(dir: &Path, target: LoadTarget<'_>, held: Held) -> Result<Loaded, PolicyError> {
    directory::check_config(dir)?;
    let path = dir.join("config.json");
    let text = std::fs::read_to_string(&path).map_err(PolicyError::file(&path))?;
    // An unsupported family is reported before missing files, which would not help.
    let config = DecoderConfig::from_json(&text, &path)?;
    directory::check_parts(dir)?;
    let tokenizer = Tokenizer::from_dir(dir)?.within(config.vocab_size)?;
    let described = serde_json::from_str(&text).ok();
    let weights = weights::read_dir(dir, target, held)?;
    Ok(Loaded { config, described, tokenizer, weights, dir: Some(dir.into()) })
}

/// Whether all weights are trained.
pub(crate) fn in_full(config: &ModelConfig) -> bool {
    config.adapter.is_empty() && config.lora_r == 0
}
