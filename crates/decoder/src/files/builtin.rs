//! The small model that is embedded in the binary.

use std::path::Path;

use crate::files::loaded::Loaded;
use crate::weights::LoadTarget;
use crate::{DecoderConfig, PolicyError, Tokenizer, weights};

const CONFIG: &str = include_str!("../../builtin/config.json");
const TOKENIZER: &str = include_str!("../../builtin/tokenizer.json");
const TOKENIZER_CONFIG: &str = include_str!("../../builtin/tokenizer_config.json");
const GENERATION_CONFIG: &str = include_str!("../../builtin/generation_config.json");
const WEIGHTS: &[u8] = include_bytes!("../../builtin/model.safetensors");

/// Reads the embedded files.
pub(crate) fn load(target: LoadTarget<'_>) -> Result<Loaded, PolicyError> {
    let path = Path::new("builtin");
    Ok(Loaded {
        config: DecoderConfig::from_json(CONFIG, path)?,
        described: None,
        tokenizer: Tokenizer::from_json(TOKENIZER, Some(TOKENIZER_CONFIG), Some(GENERATION_CONFIG))?,
        weights: weights::dense(weights::read_bytes(WEIGHTS, path, target)?),
        dir: None,
    })
}
