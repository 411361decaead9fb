//! Writes models and adapters as files that transformers and PEFT load.
//!
//! Takes what a configuration names; gives a Hugging Face directory with the adapter merged into the weights, or a
//! PEFT directory. Other files of the model's makers are copied unchanged.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use candle_core::{Device, Tensor};
use serde_json::{Value, json};

use crate::adapters::set;
use crate::adapters::set::AdapterSet;
use crate::decoder::Decoder;
use crate::files::hub::HubSettings;
use crate::files::loaded::Loaded;
use crate::files::{hub, loading};
use crate::weights::LoadTarget;
use crate::{DecoderConfig, PolicyError, Precision, weights};
use grpo_config::ModelConfig;

/// Files about the tokenizer and about generation that a model may have besides its weights.
const COMPANIONS: &[&str] = &[
    "tokenizer.json", "tokenizer_config.json", "special_tokens_map.json", "added_tokens.json", "vocab.json",
    "merges.txt", "tokenizer.model", "chat_template.jinja", "generation_config.json",
];

/// A summary of what was written.
#[derive(Debug, Clone)]
pub struct Exported {
    pub parameters: usize,
    /// Format of the written tensors.
    pub format: Precision,
    /// Number of layers with an adapter.
    pub adapted: usize,
    /// Whether the tokenizer brings a chat template.
    pub chat_template: bool,
}

/// Exports start from the numbers in the files in f32, whatever format a run computes in.
const EXACT: LoadTarget<'_> = LoadTarget { device: &Device::Cpu, precision: Precision::F32 };

/// Writes the model that `config` names, with its adapter merged into the weights, into an existing directory. Without
/// a `format` all weights, norms too, have that of the matrices in the model's own files, whatever its `config.json` names, or f32
/// if it has none.
pub fn export_merged(config: &ModelConfig, format: Option<Precision>, dir: &Path) -> Result<Exported, PolicyError> {
    let Loaded { config: shape, described: own, tokenizer, weights, dir: source } = loading::load(config, EXACT)?;
    // Checks that every tensor is present and has the right shape.
    Decoder::new(shape.clone(), &weights, None, Precision::F32)?;
    let numbers = weights.into_iter().map(|(name, weight)| Ok((name, weight.tensor()?)));
    let weights = numbers.collect::<Result<BTreeMap<_, _>, PolicyError>>()?;
    let (mut weights, adapted) = match config.adapter.is_empty() {
        true => (weights, 0),
        false => {
            let set = AdapterSet::load(Path::new(&config.adapter), &shape, &Device::Cpu)?;
            (set.merge(&weights)?, set.tensors.len() / 2)
        }
    };
    let format = match (format, &source) {
        (Some(format), _) => format,
        (None, Some(source)) => weights::format_of(source, &shape)?,
        (None, None) => Precision::F32,
    };
    let own = own.unwrap_or_else(|| {
        let mut described = shape.to_json();
        described["eos_token_id"] = json!(tokenizer.stop_ids());
        described
    });
    write_text(&dir.join("config.json"), &format!("{:#}\n", described(own, &shape, format)))?;
    match &source {
        Some(source) => {
            copy_companions(source, dir)?;
            if !tokenizer.names_its_ends() {
                tokenizer.save_generation(dir)?;
            }
        }
        None => tokenizer.save(dir)?,
    }
    let (mut tensors, mut parameters) = (BTreeMap::new(), 0);
    for (name, _) in shape.tensors() {
        // Tensors are taken out one by one, so that each is held in two formats only while it is converted.
        let Some(tensor) = weights.remove(&name) else { continue };
        parameters += tensor.elem_count();
        let written = tensor.to_dtype(format.format())?;
        if !weights::is_finite(&written)? {
            return Err(match weights::is_finite(&tensor)? {
                true => PolicyError::Unfit { name, format: format.torch_name() },
                false => PolicyError::NotFinite { place: "weights".into(), name },
            });
        }
        tensors.insert(name, written);
    }
    weights::write_file(&tensors, &dir.join(weights::FILE))?;
    Ok(Exported { parameters, format, adapted, chat_template: tokenizer.chat_template().is_some() })
}

/// A model's own `config.json` for weights in this format.
pub(crate) fn described(mut own: Value, shape: &DecoderConfig, format: Precision) -> Value {
    if let Some(keys) = own.as_object_mut() {
        // Both names are written: older readers know only `torch_dtype`, and newer ones prefer `dtype`.
        keys.remove("torch_dtype");
        keys.insert("dtype".into(), format.torch_name().into());
        keys.insert("torch_dtype".into(), format.torch_name().into());
        keys.insert("tie_word_embeddings".into(), shape.tie_word_embeddings.into());
        // It names code of the makers beside the file. That is not written, and a reader who trusts it would look for it.
        keys.remove("auto_map");
    }
    own
}

/// Writes the adapter that `config` names as a PEFT directory, into an existing directory. The model is not needed; if
/// it is a file of this machine, the adapter is checked against it and its tokenizer is written too.
pub fn export_adapter(config: &ModelConfig, dir: &Path) -> Result<Exported, PolicyError> {
    let (from, is_here) = (Path::new(&config.adapter), config.model == "builtin" || Path::new(&config.model).exists());
    let base = is_here.then(|| loading::load(config, EXACT)).transpose()?;
    let set = match &base {
        Some(base) => AdapterSet::load(from, &base.config, &Device::Cpu)?,
        None => AdapterSet::read(from, 0, &Device::Cpu)?,
    };
    let mut described: Value = set::described(from)?;
    let own = described["base_model_name_or_path"].clone();
    described["base_model_name_or_path"] = base_name(&config.model, &own).into();
    // Another revision is another model, which PEFT loads where none is named; and that of one model is none of another.
    if !is_here && config.revision != "main" {
        described["revision"] = config.revision.clone().into();
    } else if described["base_model_name_or_path"] != own && described.get("revision").is_some() {
        described["revision"] = Value::Null;
    }
    write_text(&dir.join(set::CONFIG), &format!("{described:#}\n"))?;
    weights::write_file(&set.tensors, &dir.join(set::WEIGHTS))?;
    match base.as_ref().map(|base| (&base.dir, &base.tokenizer)) {
        Some((Some(source), _)) => copy_companions(source, dir)?,
        Some((None, tokenizer)) => tokenizer.save(dir)?,
        None => copy_companions(&with_tokenizer(from, config, &HubSettings::given()), dir)?,
    }
    Ok(Exported {
        parameters: set.tensors.values().map(Tensor::elem_count).sum(),
        format: Precision::F32,
        adapted: set.tensors.len() / 2,
        chat_template: base.is_some_and(|base| base.tokenizer.chat_template().is_some()),
    })
}

/// Where the tokenizer of an adapter is whose model is one of the Hub: beside the adapter, or among what was fetched of the
/// model, because PEFT itself writes none. Nothing is fetched for it.
pub(crate) fn with_tokenizer(adapter: &Path, config: &ModelConfig, hub: &HubSettings) -> PathBuf {
    let has = |dir: &Path, name: &str| dir.join(name).is_file();
    let fetched = || hub::cached(&config.model, &config.revision, hub).filter(|dir| has(dir, "tokenizer.json"));
    // Its own may be of another form, with tokens that the model's has not.
    match ["tokenizer.json", "tokenizer.model", "vocab.json"].iter().any(|name| has(adapter, name)) {
        true => adapter.to_owned(),
        false => fetched().unwrap_or_else(|| adapter.to_owned()),
    }
}

/// The name of an adapter's model that holds elsewhere too: the adapter's own name for it if that is an id of the Hub, of
/// which `model` is a copy in a directory; otherwise `model`, which a relative path does not name elsewhere.
fn base_name(model: &str, own: &Value) -> String {
    let Ok(path) = Path::new(model).canonicalize() else { return model.into() };
    // A run may have named its model by a relative path, which looks like an id wherever it does not hold: it is a file, or
    // the end of the model's path.
    let ends = |own: &str| path.ends_with(own) || Path::new(model).ends_with(own);
    let is_path = |own: &str| own.ends_with(".gguf") || ends(own) || Path::new(own).exists();
    let is_id = |own: &&str| hub::is_hub_id(own) && !is_path(own);
    own.as_str().filter(is_id).map_or_else(|| path.display().to_string(), str::to_owned)
}

fn copy_companions(from: &Path, to: &Path) -> Result<(), PolicyError> {
    for name in COMPANIONS {
        let path: PathBuf = from.join(name);
        if path.is_file() {
            // Without the mode: what may not be written may be changed in the copy.
            let bytes = std::fs::read(&path).map_err(PolicyError::file(&path))?;
            std::fs::write(to.join(name), bytes).map_err(PolicyError::file(&to.join(name)))?;
        }
    }
    Ok(())
}

fn write_text(path: &Path, text: &str) -> Result<(), PolicyError> {
    std::fs::write(path, text).map_err(PolicyError::file(path))
}
