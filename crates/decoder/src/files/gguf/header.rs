//! What stands before the tensors of a `.gguf` file: the settings of the decoder, and whether the file is whole.

use std::collections::BTreeMap;
use std::path::Path;

use candle_core::quantized::gguf_file::{Content, TensorInfo, Value};

use crate::families::architecture::indices;
use crate::families::family;
use crate::{DecoderConfig, ModelType, PolicyError, RopeScaling};

/// Supported architectures by the names of llama.cpp.
const ARCHITECTURES: &[(&str, ModelType)] =
    &[("llama", ModelType::Llama), ("qwen2", ModelType::Qwen2), ("qwen3", ModelType::Qwen3)];

/// The metadata before the tensors.
pub(crate) struct Header<'a> {
    pub content: &'a Content,
    pub path: &'a Path,
}

impl Header<'_> {
    /// Refuses a file that ends before its last tensor or is smaller than all its tensors, and a part of a split
    /// model. After this check the size of the file bounds what is allocated for a tensor.
    pub fn check_whole(&self, length: u64) -> Result<(), PolicyError> {
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
        let found = indices(BTreeMap::from_iter(&self.content.tensor_infos).into_keys(), "blk.");
        match named == found {
            true => Ok(named),
            false => Err(self.setting("block_count", named, &format!("{found}, the layers that the file has"))),
        }
    }

    pub fn corrupt(&self, message: String) -> PolicyError {
        PolicyError::Corrupt { path: self.path.into(), format: "GGUF", message }
    }

    pub fn text(&self, key: &str) -> Option<&str> {
        self.content.metadata.get(key).and_then(|value| value.to_string().ok()).map(String::as_str)
    }

    fn architecture(&self) -> &str {
        self.text("general.architecture").unwrap_or("(none)")
    }

    fn value(&self, key: &str) -> Option<&Value> {
        self.content.metadata.get(&format!("{}.{key}", self.architecture()))
    }

    fn count(&self, key: &str) -> Result<usize, PolicyError> {
        self.optional_count(key)?.ok_or_else(|| self.absent(key))
    }

    fn absent(&self, key: &str) -> PolicyError {
        self.corrupt(format!("no number `{}.{key}`", self.architecture()))
    }

    /// `None` where the file leaves it to the default; another type is no default, as in llama.cpp.
    fn optional_count(&self, key: &str) -> Result<Option<usize>, PolicyError> {
        let read = |value| whole(value).ok_or_else(|| self.setting(key, format_args!("{value:?}"), "a whole number"));
        self.value(key).map(read).transpose()
    }

    fn optional_float(&self, key: &str) -> Result<Option<f64>, PolicyError> {
        let read = |value: &Value| match value {
            Value::F32(number) => Ok(f64::from(*number)),
            Value::F64(number) => Ok(*number),
            other => Err(self.setting(key, format_args!("{other:?}"), "a number with a point (F32)")),
        };
        self.value(key).map(read).transpose()
    }

    /// Refuses attention to what follows, of models that embed texts.
    fn check_causal(&self) -> Result<(), PolicyError> {
        match self.value("attention.causal") {
            None | Some(Value::Bool(true)) => Ok(()),
            Some(other) => Err(self.setting("attention.causal", format_args!("{other:?}"), "true")),
        }
    }

    pub fn config(&self) -> Result<DecoderConfig, PolicyError> {
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
        let head_dim = self.optional_count("attention.key_length")?;
        let epsilon = "attention.layer_norm_rms_epsilon";
        self.check_causal()?;
        let config = DecoderConfig {
            model_type: *model_type,
            vocab_size: *vocab_size,
            hidden_size: *hidden_size,
            num_hidden_layers: self.layers()?,
            num_attention_heads: heads,
            num_key_value_heads: self.optional_count("attention.head_count_kv")?.unwrap_or(heads),
            head_dim: head_dim.unwrap_or(hidden_size / heads.max(1)),
            intermediate_size: self.count("feed_forward_length")?,
            rope_theta: self.optional_float("rope.freq_base")?.unwrap_or(10_000.0),
            rope_scaling: self.rope_scaling()?,
            rms_norm_eps: self.optional_float(epsilon)?.ok_or_else(|| self.absent(epsilon))?,
            tie_word_embeddings: !infos.contains_key("output.weight"),
            max_position_embeddings: self.count("context_length")?,
            ..DecoderConfig::LLAMA
        };
        config.check()?;
        let rotated = self.optional_count("rope.dimension_count")?.unwrap_or(config.head_dim);
        if rotated != config.head_dim {
            return Err(self.setting("rope.dimension_count", rotated, &format!("{}, the whole head", config.head_dim)));
        }
        Ok(config)
    }

    /// Refuses biases, norms and scales that the family does not have, because ignoring them would change the numbers.
    fn check_tensors(&self, family: ModelType) -> Result<(), PolicyError> {
        let is_stray = |name: &&String| {
            let mut parts = name.rsplit('.');
            match (parts.next(), parts.next().unwrap_or_default()) {
                (Some("bias"), part) => !family.has_qkv_bias() || !["attn_q", "attn_k", "attn_v"].contains(&part),
                (Some("weight"), "attn_q_norm" | "attn_k_norm") => !family.has_head_norms(),
                (Some("weight"), part) => {
                    part.ends_with("norm") && !["attn_norm", "ffn_norm", "output_norm"].contains(&part)
                }
                (kind, _) => kind == Some("scale"),
            }
        };
        #[expect(clippy::disallowed_methods, reason = "the first by name is the same in any order")]
        let stray = self.content.tensor_infos.keys().filter(is_stray).min();
        let Some(name) = stray else { return Ok(()) };
        let found = format!("{family} with a tensor `{name}`");
        let expected = format!("the tensors of {family} alone; load the safetensors of this model");
        Err(PolicyError::setting("general.architecture", found, expected))
    }

    fn setting(&self, key: &str, found: impl ToString, expected: &str) -> PolicyError {
        PolicyError::setting(&format!("{}.{key}", self.architecture()), found, expected)
    }

    /// The scaling that the header names; the scaling of Llama 3.1 is stored as a tensor instead.
    fn rope_scaling(&self) -> Result<Option<RopeScaling>, PolicyError> {
        let kind = self.value("rope.scaling.type").and_then(|value| value.to_string().ok());
        let named = self.optional_float("rope.scaling.factor")?;
        let factor = named.or(self.optional_float("rope.scale_linear")?);
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
    pub fn order(&self, name: &str, config: &DecoderConfig) -> Option<Vec<u32>> {
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
pub(crate) fn whole(value: &Value) -> Option<usize> {
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
