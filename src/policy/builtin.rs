//! The built-in model, embedded in the program.

use std::collections::BTreeMap;
use std::path::Path;

use candle_core::{Device, Tensor};

use super::{DecoderConfig, PolicyError, Tokenizer, weights};

/// What `--model` calls it.
pub(super) const NAME: &str = "builtin";

const CONFIG: &str = include_str!("../../models/builtin/config.json");
const GENERATION: &str = include_str!("../../models/builtin/generation_config.json");
const TOKENIZER: &str = include_str!("../../models/builtin/tokenizer.json");
const TOKENIZER_CONFIG: &str = include_str!("../../models/builtin/tokenizer_config.json");
const WEIGHTS: &[u8] = include_bytes!("../../models/builtin/model.safetensors");

/// Settings, tokenizer and f32 weights.
pub(super) fn read(device: &Device) -> Result<(DecoderConfig, Tokenizer, BTreeMap<String, Tensor>), PolicyError> {
    let origin = Path::new("models/builtin");
    let config = DecoderConfig::from_json(CONFIG, &origin.join("config.json"))?;
    let tokenizer = Tokenizer::from_json(TOKENIZER, Some(TOKENIZER_CONFIG), Some(GENERATION))?;
    Ok((config, tokenizer, weights::read_bytes(WEIGHTS, &origin.join("model.safetensors"), device)?))
}
