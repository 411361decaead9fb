//! Models in one `.gguf` file, dequantised.
//!
//! Takes the Llama, Qwen2 and Qwen3 architectures as llama.cpp writes them; gives weights under their Hugging Face
//! names, the tokenizer and the chat template. Quantised weights are not kept: on the CPU they would be slower, and
//! they cannot be trained.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::io::BufReader;
use std::path::Path;

use candle_core::quantized::gguf_file::{Content, Value};
use candle_core::quantized::tokenizer::TokenizerFromGguf;
use candle_core::{Device, Tensor};
use tokenizers::pre_tokenizers::PreTokenizerWrapper;
use tokenizers::pre_tokenizers::byte_level::ByteLevel;
use tokenizers::pre_tokenizers::digits::Digits;
use tokenizers::pre_tokenizers::sequence::Sequence;

use super::loading::Loaded;
use super::{DecoderConfig, PolicyError, SUPPORTED, Tokenizer};

/// Parts of a layer by their names in Hugging Face files and in GGUF files.
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

/// Reads a model.
pub(super) fn load(path: &Path, device: &Device) -> Result<Loaded, PolicyError> {
    let file = File::open(path).map_err(PolicyError::file(path))?;
    let mut reader = BufReader::new(file);
    let corrupt = |error: candle_core::Error| PolicyError::Corrupt {
        path: path.into(),
        format: "GGUF",
        // The reader attaches a backtrace; its first line is the message.
        message: error.to_string().lines().next().unwrap_or_default().into(),
    };
    let content = Content::read(&mut reader).map_err(corrupt)?;
    let header = Header { content: &content, path };
    let config = header.config()?;
    let mut weights = BTreeMap::new();
    for (name, _) in config.tensors() {
        let Some(stored) = gguf_name(&name).filter(|stored| content.tensor_infos.contains_key(stored)) else {
            // Named as missing when the decoder is put together.
            continue;
        };
        let tensor = content.tensor(&mut reader, &stored, device).map_err(corrupt)?.dequantize(device)?;
        weights.insert(name.clone(), header.unpermuted(tensor, &name, &config)?);
    }
    Ok(Loaded { tokenizer: header.tokenizer()?, config, weights })
}

/// Name of a tensor in a GGUF file.
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

/// What stands before the tensors.
struct Header<'a> {
    content: &'a Content,
    path: &'a Path,
}

impl Header<'_> {
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
        if !SUPPORTED.contains(&architecture) {
            return Err(PolicyError::UnsupportedModel {
                path: self.path.into(),
                found: architecture.into(),
                supported: SUPPORTED.join(", "),
            });
        }
        let infos = &self.content.tensor_infos;
        if infos.contains_key("rope_freqs.weight") {
            return Err(PolicyError::Setting {
                key: "rope_freqs.weight".into(),
                found: "stretched rotary frequencies".into(),
                expected: "none in a .gguf file; load the safetensors of this model".into(),
            });
        }
        let embedding = infos.get("token_embd.weight").map(|info| info.shape.dims().to_vec());
        let Some([vocab_size, hidden_size]) = embedding.as_deref() else {
            return Err(self.corrupt("no embedding `token_embd.weight`".into()));
        };
        let heads = self.count("attention.head_count")?;
        let float = |key: &str| self.value(key).and_then(|value| value.to_f32().ok()).map(f64::from);
        let head_dim = self.value("attention.key_length").and_then(whole);
        let config = DecoderConfig {
            vocab_size: *vocab_size,
            hidden_size: *hidden_size,
            num_hidden_layers: self.count("block_count")?,
            num_attention_heads: heads,
            num_key_value_heads: self.value("attention.head_count_kv").and_then(whole).unwrap_or(heads),
            head_dim: head_dim.unwrap_or(hidden_size / heads.max(1)),
            intermediate_size: self.count("feed_forward_length")?,
            rope_theta: float("rope.freq_base").unwrap_or(10_000.0),
            rope_scaling: None,
            rms_norm_eps: float("attention.layer_norm_rms_epsilon").unwrap_or(1e-5),
            tie_word_embeddings: !infos.contains_key("output.weight"),
            qkv_bias: infos.contains_key("blk.0.attn_q.bias"),
            qk_norm: infos.contains_key("blk.0.attn_q_norm.weight"),
            max_position_embeddings: self.count("context_length")?,
        };
        config.check()?;
        Ok(config)
    }

    /// Undoes the order in which llama.cpp stores the query and key rows of Llama models: pairs that turn together
    /// stand side by side there, and half a head apart here.
    fn unpermuted(&self, tensor: Tensor, name: &str, config: &DecoderConfig) -> Result<Tensor, PolicyError> {
        let heads = match () {
            () if self.architecture() != "llama" => return Ok(tensor),
            () if name.ends_with("q_proj.weight") => config.num_attention_heads,
            () if name.ends_with("k_proj.weight") => config.num_key_value_heads,
            () => return Ok(tensor),
        };
        let dims = tensor.dims().to_vec();
        if dims.len() != 2 || !dims[0].is_multiple_of(2 * heads) {
            let expected = vec![heads * config.head_dim, config.hidden_size];
            return Err(PolicyError::WrongShape { name: name.into(), found: dims, expected });
        }
        let pairs = tensor.reshape((heads, dims[0] / heads / 2, 2, dims[1]))?;
        Ok(pairs.transpose(1, 2)?.contiguous()?.reshape(dims)?)
    }

    fn tokenizer(&self) -> Result<Tokenizer, PolicyError> {
        let mut inner = tokenizers::Tokenizer::from_gguf(self.content)
            .map_err(|error| self.corrupt(format!("tokenizer: {}", error.to_string().lines().next().unwrap_or(""))))?;
        if self.text("tokenizer.ggml.pre") == Some("smollm") {
            // Not known to the reader, which falls back to a prefix space and whole numbers.
            let parts: Vec<PreTokenizerWrapper> =
                vec![Digits::new(true).into(), ByteLevel::new(false, true, true).into()];
            inner.with_pre_tokenizer(Some(Sequence::new(parts)));
        }
        let id = |key: &str| self.content.metadata.get(key).and_then(whole).map(|id| id as u32);
        let stop_ids: BTreeSet<u32> =
            ["tokenizer.ggml.eos_token_id", "tokenizer.ggml.eot_token_id"].into_iter().filter_map(id).collect();
        let template = self.text("tokenizer.chat_template").map(str::to_owned);
        let token = |key: &str| id(key).and_then(|id| inner.id_to_token(id));
        let ends = (token("tokenizer.ggml.bos_token_id"), token("tokenizer.ggml.eos_token_id"));
        Ok(Tokenizer::from_parts(inner, stop_ids.into_iter().collect(), template).with_ends(ends))
    }
}

/// A whole number of whatever width the file chose.
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
