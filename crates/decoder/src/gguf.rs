//! Models in a single `.gguf` file.
//!
//! Takes the Llama, Qwen2 and Qwen3 architectures as llama.cpp writes them; gives weights under their Hugging Face
//! names, the tokenizer and the chat template. Frozen matrices may stay in their quantised blocks; all other weights
//! are expanded to plain numbers.

mod tokens;

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{BufReader, Read, Seek};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;

use candle_core::quantized::gguf_file::{Content, TensorInfo, Value};
use candle_core::{Device, Tensor};

use super::loaded::Loaded;
use super::weights::{Held, LoadTarget};
use super::{DecoderConfig, ModelType, PolicyError, RopeScaling, family, weights};
use grpo_tensor::{Blocks, Weight};

/// Supported architectures by the names of llama.cpp.
const ARCHITECTURES: &[(&str, ModelType)] =
    &[("llama", ModelType::Llama), ("qwen2", ModelType::Qwen2), ("qwen3", ModelType::Qwen3)];

/// Names of a layer's parts in Hugging Face files and in GGUF files.
const LAYER_NAMES: &[(&str, &str)] = &[
    ("input_layernorm", "attn_norm"),
    ("self_attn.q_proj", "attn_q"),
    ("self_attn.k_proj", "attn_k"),
    ("self_attn.v_proj", "attn_v"),
    ("self_attn.q_norm", "attn_q_norm"),
    ("self_attn.k_norm", "attn_k_norm"),
    ("self_attn.o_proj", "attn_output"),
    ("post_attention_layernorm", "ffn_norm"),
    ("mlp.gate_proj", "ffn_gate"),
    ("mlp.up_proj", "ffn_up"),
    ("mlp.down_proj", "ffn_down"),
];

/// Scaling of the rotary frequencies of Llama 3.1, 3.2 and 3.3, which share all numbers but the factor.
const LLAMA3: RopeScaling =
    RopeScaling { factor: 1.0, low_freq_factor: 1.0, high_freq_factor: 4.0, original_max_position_embeddings: 8192 };

/// Tolerated relative difference of a file's divisors, which are stored in f32.
const DIVISOR_TOLERANCE: f64 = 1e-4;

/// Reads a model.
pub(super) fn load(
    path: &Path,
    LoadTarget { device, precision }: LoadTarget<'_>,
    held: Held,
) -> Result<Loaded, PolicyError> {
    let mut file = File::open(path).map_err(PolicyError::file(path))?;
    let mut start = Vec::new();
    file.by_ref().take(64).read_to_end(&mut start).map_err(PolicyError::file(path))?;
    weights::refuse_pointer(&start, path)?;
    file.rewind().map_err(PolicyError::file(path))?;
    let length = file.metadata().map_err(PolicyError::file(path))?.len();
    let mut reader = BufReader::new(file);
    let corrupt = |error: candle_core::Error| PolicyError::Corrupt {
        path: path.into(),
        format: "GGUF",
        // The reader attaches a backtrace; only its first line is the message.
        message: error.to_string().lines().next().unwrap_or_default().into(),
    };
    // The reader divides by the alignment that the file names, which may be 0.
    let content = catch_unwind(AssertUnwindSafe(|| Content::read(&mut reader)));
    let content = content.unwrap_or_else(|_| candle_core::bail!("its header cannot be read")).map_err(corrupt)?;
    let header = Header { content: &content, path };
    header.check_whole(length)?;
    let mut config = header.config()?;
    let tokenizer = tokens::tokenizer(&header)?;
    let mut weights = BTreeMap::new();
    for (name, expected) in config.tensors() {
        let stored = gguf_name(&name).and_then(|stored| content.tensor_infos.get_key_value(&stored));
        // The decoder reports a missing tensor when it is put together.
        let Some((stored, info)) = stored else { continue };
        if info.shape.dims() != expected {
            return Err(PolicyError::WrongShape { name, found: info.shape.dims().to_vec(), expected });
        }
        let tensor = content.tensor(&mut reader, stored, device).map_err(corrupt)?;
        let (format, order) = (tensor.dtype(), header.order(&name, &config));
        let weight = match *tensor.shape().dims() {
            [outputs, inputs] if held == Held::Packed && Blocks::hold(format, inputs) => {
                let order = |row| order.as_ref().map_or(row, |order| order[row] as usize);
                Weight::Packed(Blocks::new(format, &tensor.data()?, [outputs, inputs], order)?.into())
            }
            _ => {
                let numbers = tensor.dequantize(device)?;
                let order = order.map(|order| Tensor::new(order, device)).transpose()?;
                let numbers = order.map_or(Ok(numbers.clone()), |order| numbers.index_select(&order, 0))?;
                weights::in_format(&name, &numbers, precision)?.into()
            }
        };
        weights.insert(name, weight);
    }
    if content.tensor_infos.contains_key(ROPE_DIVISORS) {
        let divisors = content.tensor(&mut reader, ROPE_DIVISORS, &Device::Cpu).map_err(corrupt)?;
        let divisors = divisors.dequantize(&Device::Cpu)?.flatten_all()?.to_vec1::<f32>()?;
        config.rope_scaling = Some(llama3_scaling(&divisors, &config)?);
    }
    Ok(Loaded { tokenizer, config, weights, dir: None })
}

/// The divisor of each rotary frequency, in models with the scaling of Llama 3.1.
const ROPE_DIVISORS: &str = "rope_freqs.weight";

/// The scaling settings that give these divisors.
fn llama3_scaling(divisors: &[f32], config: &DecoderConfig) -> Result<RopeScaling, PolicyError> {
    let factor = divisors.iter().copied().fold(1.0, f32::max);
    let scaling = RopeScaling { factor: f64::from(factor), ..LLAMA3 };
    let context = scaling.original_max_position_embeddings as f64;
    let expected = (0..divisors.len()).map(|pair| {
        let frequency = config.rope_theta.powf(-2.0 * pair as f64 / config.head_dim as f64);
        let turns = context * frequency / (2.0 * std::f64::consts::PI);
        let smooth = (turns - scaling.low_freq_factor) / (scaling.high_freq_factor - scaling.low_freq_factor);
        let smooth = smooth.clamp(0.0, 1.0);
        1.0 / ((1.0 - smooth) / scaling.factor + smooth)
    });
    let expected: Vec<f64> = expected.collect();
    let near = |(found, expected): (&f32, &f64)| (f64::from(*found) / expected - 1.0).abs() < DIVISOR_TOLERANCE;
    if divisors.len() == config.head_dim / 2 && divisors.iter().zip(&expected).all(near) {
        return Ok(scaling);
    }
    Err(PolicyError::Setting {
        key: ROPE_DIVISORS.into(),
        found: format!("{divisors:?}"),
        expected: "frequencies stretched as in Llama 3.1; load the safetensors of this model".into(),
    })
}

/// The name of a tensor in a GGUF file.
pub(super) fn gguf_name(name: &str) -> Option<String> {
    let known = match name {
        "model.embed_tokens.weight" => Some("token_embd.weight"),
        "model.norm.weight" => Some("output_norm.weight"),
        "lm_head.weight" => Some("output.weight"),
        _ => None,
    };
    if let Some(known) = known {
        return Some(known.into());
    }
    let (layer, part) = name.strip_prefix("model.layers.")?.split_once('.')?;
    let (part, kind) = part.rsplit_once('.')?;
    let (_, stored) = LAYER_NAMES.iter().find(|(ours, _)| *ours == part)?;
    Some(format!("blk.{layer}.{stored}.{kind}"))
}

/// The metadata before the tensors.
struct Header<'a> {
    content: &'a Content,
    path: &'a Path,
}

impl Header<'_> {
    /// Refuses a file that ends before its last tensor or is smaller than all its tensors, and a part of a split
    /// model. After this check the size of the file bounds what is allocated for a tensor.
    fn check_whole(&self, length: u64) -> Result<(), PolicyError> {
        let parts = self.content.metadata.get("split.count").and_then(whole).unwrap_or(1);
        if parts > 1 {
            return Err(PolicyError::Incomplete {
                path: self.path.into(),
                missing: format!("is one of {parts} files that the model was split into"),
                advice: "join them with `llama-gguf-split --merge FIRST OUT.gguf`".into(),
            });
        }
        let (mut expected, mut together) = (0, self.content.tensor_data_offset);
        for (name, info) in BTreeMap::from_iter(&self.content.tensor_infos) {
            let from = self.content.tensor_data_offset.checked_add(info.offset);
            let (Some(from), Some(bytes)) = (from, stored_bytes(info)) else {
                let dims = info.shape.dims();
                return Err(self.corrupt(format!("tensor `{name}` of shape {dims:?} at {} cannot be", info.offset)));
            };
            expected = from.saturating_add(bytes).max(expected);
            together = together.saturating_add(bytes);
        }
        match expected.max(together) {
            expected if length < expected => Err(self.corrupt(format!("{length} of its {expected} bytes are there"))),
            _ => Ok(()),
        }
    }

    /// Number of layers, which must agree with the tensors of the file.
    fn layers(&self) -> Result<usize, PolicyError> {
        let named = self.count("block_count")?;
        let found = super::architecture::indices(BTreeMap::from_iter(&self.content.tensor_infos).into_keys(), "blk.");
        match named == found {
            true => Ok(named),
            false => Err(self.setting("block_count", named, &format!("{found}, the layers that the file has"))),
        }
    }

    fn corrupt(&self, message: String) -> PolicyError {
        PolicyError::Corrupt { path: self.path.into(), format: "GGUF", message }
    }

    fn text(&self, key: &str) -> Option<&str> {
        self.content.metadata.get(key).and_then(|value| value.to_string().ok()).map(String::as_str)
    }

    fn architecture(&self) -> &str {
        self.text("general.architecture").unwrap_or("(none)")
    }

    fn value(&self, key: &str) -> Option<&Value> {
        self.content.metadata.get(&format!("{}.{key}", self.architecture()))
    }

    fn count(&self, key: &str) -> Result<usize, PolicyError> {
        let value = self.value(key).and_then(whole);
        value.ok_or_else(|| self.corrupt(format!("no number `{}.{key}`", self.architecture())))
    }

    fn config(&self) -> Result<DecoderConfig, PolicyError> {
        let architecture = self.architecture();
        let Some((_, model_type)) = ARCHITECTURES.iter().find(|(name, _)| *name == architecture) else {
            let families: Vec<ModelType> = ARCHITECTURES.iter().map(|(_, family)| *family).collect();
            return Err(PolicyError::UnsupportedModel {
                path: self.path.into(),
                found: architecture.into(),
                supported: family::in_words(&families),
            });
        };
        let infos = &self.content.tensor_infos;
        self.check_tensors(*model_type)?;
        let embedding = infos.get("token_embd.weight").map(|info| info.shape.dims().to_vec());
        let Some([vocab_size, hidden_size]) = embedding.as_deref() else {
            return Err(self.corrupt("no embedding `token_embd.weight`".into()));
        };
        let heads = self.count("attention.head_count")?;
        let float = |key: &str| self.value(key).and_then(|value| value.to_f32().ok()).map(f64::from);
        let head_dim = self.value("attention.key_length").and_then(whole);
        let config = DecoderConfig {
            model_type: *model_type,
            vocab_size: *vocab_size,
            hidden_size: *hidden_size,
            num_hidden_layers: self.layers()?,
            num_attention_heads: heads,
            num_key_value_heads: self.value("attention.head_count_kv").and_then(whole).unwrap_or(heads),
            head_dim: head_dim.unwrap_or(hidden_size / heads.max(1)),
            intermediate_size: self.count("feed_forward_length")?,
            rope_theta: float("rope.freq_base").unwrap_or(10_000.0),
            rope_scaling: self.rope_scaling()?,
            rms_norm_eps: float("attention.layer_norm_rms_epsilon").unwrap_or(1e-5),
            tie_word_embeddings: !infos.contains_key("output.weight"),
            max_position_embeddings: self.count("context_length")?,
            ..DecoderConfig::LLAMA
        };
        config.check()?;
        let rotated = self.value("rope.dimension_count").and_then(whole).unwrap_or(config.head_dim);
        if rotated != config.head_dim {
            return Err(self.setting("rope.dimension_count", rotated, &format!("{}, the whole head", config.head_dim)));
        }
        Ok(config)
    }

    /// Refuses tensors that the family does not have, because ignoring them would change the numbers.
    fn check_tensors(&self, family: ModelType) -> Result<(), PolicyError> {
        let is_stray = |name: &&String| {
            let is_bias = [".attn_q.bias", ".attn_k.bias", ".attn_v.bias"].iter().any(|end| name.ends_with(end));
            let is_norm = [".attn_q_norm.weight", ".attn_k_norm.weight"].iter().any(|end| name.ends_with(end));
            (is_bias && !family.has_qkv_bias()) || (is_norm && !family.has_head_norms())
        };
        #[expect(clippy::disallowed_methods, reason = "the first by name is the same in any order")]
        let stray = self.content.tensor_infos.keys().filter(is_stray).min();
        match stray {
            Some(name) => Err(PolicyError::Setting {
                key: "general.architecture".into(),
                found: format!("{family} with a tensor `{name}`"),
                expected: format!("the tensors of {family} alone; load the safetensors of this model"),
            }),
            None => Ok(()),
        }
    }

    fn setting(&self, key: &str, found: impl ToString, expected: &str) -> PolicyError {
        let key = format!("{}.{key}", self.architecture());
        PolicyError::Setting { key, found: found.to_string(), expected: expected.into() }
    }

    /// The scaling that the header names; the scaling of Llama 3.1 is stored as a tensor instead.
    fn rope_scaling(&self) -> Result<Option<RopeScaling>, PolicyError> {
        let float = |key: &str| self.value(key).and_then(|value| value.to_f32().ok()).map(f64::from);
        let kind = self.value("rope.scaling.type").and_then(|value| value.to_string().ok());
        let factor = float("rope.scaling.factor").or_else(|| float("rope.scale_linear"));
        match (kind.map(String::as_str), factor) {
            (Some("none"), _) | (None, None) => Ok(None),
            (Some("linear") | None, Some(1.0)) => Ok(None),
            (Some("linear") | None, Some(factor)) if factor > 0.0 => Ok(Some(RopeScaling::linear(factor))),
            (kind, _) => {
                Err(self.setting("rope.scaling.type", kind.unwrap_or("linear"), "none or linear, with a factor"))
            }
        }
    }

    /// Undoes the order in which llama.cpp stores query and key rows of Llama models: it puts the two rows that are
    /// rotated together side by side, while here they are half a head apart. Returns the file's row for each row;
    /// `None` if the orders agree.
    fn order(&self, name: &str, config: &DecoderConfig) -> Option<Vec<u32>> {
        let heads = match () {
            () if self.architecture() != "llama" => return None,
            () if name.ends_with("q_proj.weight") => config.num_attention_heads,
            () if name.ends_with("k_proj.weight") => config.num_key_value_heads,
            () => return None,
        };
        let (rows, half) = ((heads * config.head_dim) as u32, (config.head_dim / 2) as u32);
        Some((0..rows).map(|row| row / (2 * half) * 2 * half + row % half * 2 + row / half % 2).collect())
    }
}

/// Bytes of a tensor in the file; `None` if the size is not valid.
fn stored_bytes(info: &TensorInfo) -> Option<u64> {
    let dims = info.shape.dims();
    let count = dims.iter().try_fold(1_usize, |count, dim| count.checked_mul(*dim)).filter(|count| *count > 0)?;
    let blocks = count.is_multiple_of(info.ggml_dtype.block_size()).then(|| count / info.ggml_dtype.block_size())?;
    blocks.checked_mul(info.ggml_dtype.type_size())?.try_into().ok()
}

/// An integer of any width.
fn whole(value: &Value) -> Option<usize> {
    match value {
        Value::U8(value) => Some(usize::from(*value)),
        Value::U16(value) => Some(usize::from(*value)),
        Value::U32(value) => usize::try_from(*value).ok(),
        Value::U64(value) => usize::try_from(*value).ok(),
        Value::I32(value) => usize::try_from(*value).ok(),
        Value::I64(value) => usize::try_from(*value).ok(),
        _ => None,
    }
}
