//! The settings of a decoder, read from and written as a Hugging Face `config.json`.
//!
//! Takes the JSON of the Llama, Qwen2 and Qwen3 families; gives sizes and switches, and the name and shape of every
//! tensor they ask for. Does not know weights.

use std::path::Path;

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::{ModelType, PolicyError, family};

/// Frequencies stretched for long contexts: the low ones, as Llama 3.1 does, or all of them.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct RopeScaling {
    /// By how much low frequencies are stretched.
    pub factor: f64,
    /// Wavelengths longer than `original_max_position_embeddings / low_freq_factor` are stretched in full.
    pub low_freq_factor: f64,
    /// Wavelengths shorter than `original_max_position_embeddings / high_freq_factor` are left alone.
    pub high_freq_factor: f64,
    /// Context the model was first trained for, in tokens.
    pub original_max_position_embeddings: usize,
}

impl RopeScaling {
    /// Every frequency stretched alike: all wavelengths count as long.
    pub fn linear(factor: f64) -> Self {
        let endless = f64::INFINITY;
        RopeScaling { factor, low_freq_factor: endless, high_freq_factor: endless, original_max_position_embeddings: 1 }
    }

    /// Whether every frequency is stretched alike.
    pub fn is_linear(&self) -> bool {
        self.low_freq_factor.is_infinite()
    }

    fn to_json(self) -> Value {
        if self.is_linear() {
            return json!({ "rope_type": "linear", "factor": self.factor });
        }
        let mut value = json!(self);
        value["rope_type"] = "llama3".into();
        value
    }
}

/// Sizes and switches of a decoder of the Llama family. Names are those of `config.json`.
#[derive(Debug, Clone, PartialEq)]
pub struct DecoderConfig {
    /// The family, which says what the layers do beside their sizes.
    pub model_type: ModelType,
    /// Rows of the embedding.
    pub vocab_size: usize,
    /// Width of the residual stream.
    pub hidden_size: usize,
    /// Layers.
    pub num_hidden_layers: usize,
    /// Query heads.
    pub num_attention_heads: usize,
    /// Key and value heads; divides the query heads.
    pub num_key_value_heads: usize,
    /// Width of one head; even.
    pub head_dim: usize,
    /// Width inside the feed-forward block.
    pub intermediate_size: usize,
    /// Base of the rotary frequencies.
    pub rope_theta: f64,
    /// Stretched frequencies, if any.
    pub rope_scaling: Option<RopeScaling>,
    /// Added to the mean square before the root.
    pub rms_norm_eps: f64,
    /// Whether the output projection is the embedding.
    pub tie_word_embeddings: bool,
    /// Longest context the model was trained for, in tokens.
    pub max_position_embeddings: usize,
}

/// Keys of `config.json` that we read. All other keys are left alone: the file belongs to the model's makers.
#[derive(Deserialize)]
struct Raw {
    vocab_size: usize,
    hidden_size: usize,
    num_hidden_layers: usize,
    num_attention_heads: usize,
    num_key_value_heads: Option<usize>,
    head_dim: Option<usize>,
    intermediate_size: usize,
    rope_theta: Option<f64>,
    rope_scaling: Option<Value>,
    rope_parameters: Option<Value>,
    rms_norm_eps: f64,
    tie_word_embeddings: Option<bool>,
    attention_bias: Option<bool>,
    mlp_bias: Option<bool>,
    use_sliding_window: Option<bool>,
    layer_types: Option<Vec<String>>,
    partial_rotary_factor: Option<f64>,
    quantization_config: Option<Value>,
    hidden_act: Option<String>,
    max_position_embeddings: usize,
}

impl DecoderConfig {
    /// Reads `text`, the content of the file at `path` (named in errors only).
    pub fn from_json(text: &str, path: &Path) -> Result<Self, PolicyError> {
        let corrupt = |message: String| PolicyError::Corrupt { path: path.to_owned(), format: "config.json", message };
        let value: Value = serde_json::from_str(text).map_err(|error| corrupt(error.to_string()))?;
        let model_type = value.get("model_type").and_then(Value::as_str).unwrap_or("(none)");
        let Some(model_type) = ModelType::of_name(model_type) else {
            return Err(PolicyError::UnsupportedModel {
                path: path.to_owned(),
                found: model_type.into(),
                supported: family::in_words(ModelType::ALL),
            });
        };
        let raw: Raw = serde_json::from_value(value).map_err(|error| corrupt(error.to_string()))?;
        raw.resolve(model_type)
    }

    /// The file that `transformers` reads this configuration from.
    pub fn to_json(&self) -> Value {
        let mut value = json!({
            "architectures": [self.model_type.class()],
            "model_type": self.model_type.name(),
            "vocab_size": self.vocab_size,
            "hidden_size": self.hidden_size,
            "num_hidden_layers": self.num_hidden_layers,
            "num_attention_heads": self.num_attention_heads,
            "num_key_value_heads": self.num_key_value_heads,
            "head_dim": self.head_dim,
            "intermediate_size": self.intermediate_size,
            "hidden_act": "silu",
            "rope_theta": self.rope_theta,
            "rms_norm_eps": self.rms_norm_eps,
            "tie_word_embeddings": self.tie_word_embeddings,
            "attention_bias": false,
            "max_position_embeddings": self.max_position_embeddings,
            "torch_dtype": "float32",
        });
        if let Some(scaling) = &self.rope_scaling {
            value["rope_scaling"] = scaling.to_json();
        }
        value
    }

    /// Refuses sizes that cannot work together.
    pub fn check(&self) -> Result<(), PolicyError> {
        let refuse = |key: &str, found: usize, expected: &str| PolicyError::Setting {
            key: key.into(),
            found: found.to_string(),
            expected: expected.into(),
        };
        for (key, value) in [
            ("vocab_size", self.vocab_size),
            ("hidden_size", self.hidden_size),
            ("num_hidden_layers", self.num_hidden_layers),
            ("num_attention_heads", self.num_attention_heads),
            ("num_key_value_heads", self.num_key_value_heads),
            ("intermediate_size", self.intermediate_size),
            ("max_position_embeddings", self.max_position_embeddings),
        ] {
            if value == 0 {
                return Err(refuse(key, value, "a number above 0"));
            }
        }
        if !self.num_attention_heads.is_multiple_of(self.num_key_value_heads) {
            return Err(refuse("num_key_value_heads", self.num_key_value_heads, "a divisor of num_attention_heads"));
        }
        if self.head_dim == 0 || !self.head_dim.is_multiple_of(2) {
            return Err(refuse("head_dim", self.head_dim, "an even number above 0"));
        }
        Ok(())
    }

    /// Name and shape of every tensor, in the order of the forward pass.
    pub fn tensors(&self) -> Vec<(String, Vec<usize>)> {
        let (hidden, inner) = (self.hidden_size, self.intermediate_size);
        let queries = self.num_attention_heads * self.head_dim;
        let keys = self.num_key_value_heads * self.head_dim;
        let mut tensors = vec![("model.embed_tokens.weight".into(), vec![self.vocab_size, hidden])];
        for layer in 0..self.num_hidden_layers {
            let mut push = |name: &str, shape: &[usize]| {
                tensors.push((format!("model.layers.{layer}.{name}"), shape.to_vec()));
            };
            push("input_layernorm.weight", &[hidden]);
            for (name, out) in [("q_proj", queries), ("k_proj", keys), ("v_proj", keys)] {
                push(&format!("self_attn.{name}.weight"), &[out, hidden]);
                if self.model_type.has_qkv_bias() {
                    push(&format!("self_attn.{name}.bias"), &[out]);
                }
            }
            if self.model_type.has_head_norms() {
                push("self_attn.q_norm.weight", &[self.head_dim]);
                push("self_attn.k_norm.weight", &[self.head_dim]);
            }
            push("self_attn.o_proj.weight", &[hidden, queries]);
            push("post_attention_layernorm.weight", &[hidden]);
            push("mlp.gate_proj.weight", &[inner, hidden]);
            push("mlp.up_proj.weight", &[inner, hidden]);
            push("mlp.down_proj.weight", &[hidden, inner]);
        }
        tensors.push(("model.norm.weight".into(), vec![hidden]));
        if !self.tie_word_embeddings {
            tensors.push(("lm_head.weight".into(), vec![self.vocab_size, hidden]));
        }
        tensors
    }

    /// Numbers in all tensors.
    pub fn parameters(&self) -> usize {
        self.tensors().iter().map(|(_, shape)| shape.iter().product::<usize>()).sum()
    }
}

impl Raw {
    /// Refuses settings that would change the numbers and are not implemented, by name.
    fn check(&self, model_type: ModelType) -> Result<(), PolicyError> {
        let rope_part = |key: &str| self.rope().and_then(|rope| rope.get(key)).and_then(Value::as_f64);
        let rotated = self.partial_rotary_factor.or_else(|| rope_part("partial_rotary_factor"));
        let other_layer = self.layer_types.iter().flatten().find(|kind| *kind != "full_attention");
        let quantized = self.quantization_config.as_ref().filter(|value| !value.is_null());
        let method = quantized.map(|value| value.get("quant_method").unwrap_or(value).to_string());
        // Where it is a setting, the output projection has a bias too.
        let bias = self.attention_bias.filter(|on| *on && model_type != ModelType::Qwen2);
        let wrong = [
            ("mlp_bias", self.mlp_bias.filter(|on| *on).map(|on| on.to_string()), "false"),
            ("use_sliding_window", self.use_sliding_window.filter(|on| *on).map(|on| on.to_string()), "false"),
            ("layer_types", other_layer.cloned(), "full_attention in every layer"),
            ("partial_rotary_factor", rotated.filter(|part| *part != 1.0).map(|part| part.to_string()), "1"),
            ("quantization_config", method, "none; load the model before it was quantised, or its .gguf file"),
            ("hidden_act", self.hidden_act.clone().filter(|act| act != "silu"), "silu"),
            ("attention_bias", bias.map(|on| on.to_string()), "false"),
        ];
        for (key, found, expected) in wrong {
            if let Some(found) = found {
                return Err(PolicyError::Setting { key: key.into(), found, expected: expected.into() });
            }
        }
        Ok(())
    }

    /// Newer files keep everything about the rotation in one object.
    fn rope(&self) -> Option<&Value> {
        self.rope_parameters.as_ref().or(self.rope_scaling.as_ref())
    }

    fn resolve(self, model_type: ModelType) -> Result<DecoderConfig, PolicyError> {
        self.check(model_type)?;
        let rope = self.rope();
        let theta = self.rope_theta.or_else(|| rope.and_then(|rope| rope.get("rope_theta")).and_then(Value::as_f64));
        let config = DecoderConfig {
            model_type,
            vocab_size: self.vocab_size,
            hidden_size: self.hidden_size,
            num_hidden_layers: self.num_hidden_layers,
            num_attention_heads: self.num_attention_heads,
            num_key_value_heads: self.num_key_value_heads.unwrap_or(self.num_attention_heads),
            head_dim: self.head_dim.unwrap_or(self.hidden_size / self.num_attention_heads.max(1)),
            intermediate_size: self.intermediate_size,
            rope_theta: theta.unwrap_or(10_000.0),
            rope_scaling: rope.map(scaling).transpose()?.flatten(),
            rms_norm_eps: self.rms_norm_eps,
            tie_word_embeddings: self.tie_word_embeddings.unwrap_or(false),
            max_position_embeddings: self.max_position_embeddings,
        };
        config.check()?;
        Ok(config)
    }
}

fn scaling(value: &Value) -> Result<Option<RopeScaling>, PolicyError> {
    let kind = value.get("rope_type").or_else(|| value.get("type")).and_then(Value::as_str).unwrap_or("default");
    let refuse = |expected: &str| PolicyError::Setting {
        key: "rope_scaling".into(),
        found: value.to_string(),
        expected: expected.into(),
    };
    let factor = || value.get("factor").and_then(Value::as_f64).filter(|factor| *factor > 0.0);
    match kind {
        _ if value.is_null() => Ok(None),
        "default" => Ok(None),
        "linear" => factor().map(|factor| Some(RopeScaling::linear(factor))).ok_or_else(|| refuse("a factor above 0")),
        "llama3" => serde_json::from_value(value.clone())
            .map(Some)
            .map_err(|_| refuse("factor, low_freq_factor, high_freq_factor and original_max_position_embeddings")),
        _ => Err(refuse("rope_type `default`, `linear` or `llama3`")),
    }
}
