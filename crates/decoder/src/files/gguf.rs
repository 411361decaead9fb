//! Models in a single `.gguf` file.
//!
//! Takes the Llama, Qwen2 and Qwen3 architectures as llama.cpp writes them; gives weights under their Hugging Face
//! names, the tokenizer and the chat template. Frozen matrices may stay in their quantised blocks; all other weights
//! are expanded to plain numbers.

mod header;
mod tokens;

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{BufReader, Read, Seek};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;

use candle_core::quantized::gguf_file::Content;
use candle_core::{Device, Tensor};

use crate::files::finite;
use crate::files::gguf::header::Header;
use crate::files::loaded::Loaded;
use crate::weights::{Held, LoadTarget};
use crate::{DecoderConfig, PolicyError, RopeScaling, weights};
use grpo_tensor::{Blocks, Weight};

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
pub(crate) fn load(
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
    let content = content(&mut reader).map_err(|error| other_format(&error).unwrap_or_else(|| corrupt(error)))?;
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
        if !finite::in_gguf(tensor.dtype(), &tensor.data()?) {
            return Err(PolicyError::NotFinite { place: path.display().to_string(), name: stored.clone() });
        }
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
    Ok(Loaded { tokenizer, config, described: None, weights, dir: None })
}

/// Reads what stands before the tensors of a file.
pub(crate) fn content(reader: &mut BufReader<File>) -> candle_core::Result<Content> {
    // candle divides by the alignment that the file names, which may be 0.
    let content = catch_unwind(AssertUnwindSafe(|| Content::read(reader)));
    content.unwrap_or_else(|_| candle_core::bail!("its header cannot be read"))
}

/// Formats of llama.cpp that are not read, by their numbers in a file.
///
/// Source: `ggml_type` in `ggml.h` of llama.cpp.
const OTHER_FORMATS: &[(u32, &str)] = &[
    (16, "IQ2_XXS"),
    (17, "IQ2_XS"),
    (18, "IQ3_XXS"),
    (19, "IQ1_S"),
    (20, "IQ4_NL"),
    (21, "IQ3_S"),
    (22, "IQ2_S"),
    (23, "IQ4_XS"),
    (29, "IQ1_M"),
    (34, "TQ1_0"),
    (35, "TQ2_0"),
    (39, "MXFP4"),
];

/// The refusal of a file that is whole and has tensors in one of the other formats; `None` if the reader failed otherwise.
fn other_format(error: &candle_core::Error) -> Option<PolicyError> {
    let message = error.to_string();
    let number: u32 = message.lines().next()?.strip_prefix("unknown dtype for tensor ")?.parse().ok()?;
    let (_, name) = OTHER_FORMATS.iter().find(|(known, _)| *known == number)?;
    let expected = "F32, F16, BF16, Q2_K to Q6_K, Q4_0, Q4_1, Q5_0, Q5_1 or Q8_0; fetch another file of the model, \
                    such as Q4_K_M";
    Some(PolicyError::setting("format of tensors", *name, expected))
}

/// The divisor of each rotary frequency, in models with the scaling of Llama 3.1.
const ROPE_DIVISORS: &str = "rope_freqs.weight";

/// The scaling settings that give these divisors.
fn llama3_scaling(divisors: &[f32], config: &DecoderConfig) -> Result<RopeScaling, PolicyError> {
    let factor = divisors.iter().copied().fold(1.0, f32::max);
    let scaling = RopeScaling { factor: f64::from(factor), ..LLAMA3 };
    let frequencies = |rope_scaling| DecoderConfig { rope_scaling, ..config.clone() }.angles().frequencies;
    let (plain, stretched) = (frequencies(None), frequencies(Some(scaling)));
    let expected = plain.iter().zip(&stretched).map(|(plain, stretched)| plain / stretched);
    let near = |(found, expected): (&f32, f64)| (f64::from(*found) / expected - 1.0).abs() < DIVISOR_TOLERANCE;
    if divisors.len() == config.head_dim / 2 && divisors.iter().zip(expected).all(near) {
        return Ok(scaling);
    }
    let expected = "frequencies stretched as in Llama 3.1; load the safetensors of this model";
    Err(PolicyError::setting(ROPE_DIVISORS, format!("{divisors:?}"), expected))
}

/// The name of a tensor in a GGUF file.
pub(crate) fn gguf_name(name: &str) -> Option<String> {
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
