//! Settings out of a `config.json`, by family: what a silent file means, and what is refused by name.

use serde::Deserialize;
use serde_json::{Map, Value};

use super::{DecoderConfig, LongRope, RopeScaling, SlidingWindow};
use crate::policy::{ModelType, PolicyError};

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
    sliding_window: Option<usize>,
    layer_types: Option<Vec<String>>,
    partial_rotary_factor: Option<f64>,
    quantization_config: Option<Value>,
    hidden_act: Option<String>,
    max_position_embeddings: usize,
    original_max_position_embeddings: Option<usize>,
}

/// Why a file was refused.
pub(super) enum Refusal {
    /// A key that is missing or of another kind.
    Unreadable(serde_json::Error),
    /// A value that does not work.
    Setting(PolicyError),
}

/// Settings of a file of this family.
pub(super) fn resolve(model_type: ModelType, mut file: Map<String, Value>) -> Result<DecoderConfig, Refusal> {
    for (key, value) in silent(model_type) {
        file.entry(*key).or_insert_with(|| (*value).into());
    }
    let raw: Raw = serde_json::from_value(Value::Object(file)).map_err(Refusal::Unreadable)?;
    raw.resolve(model_type).map_err(Refusal::Setting)
}

/// What transformers takes where a file does not name a key, if it is anything.
fn silent(model_type: ModelType) -> &'static [(&'static str, u32)] {
    match model_type {
        ModelType::Mistral => &[("sliding_window", 4096)],
        _ => &[],
    }
}

fn refuse(key: &str, found: impl ToString, expected: &str) -> PolicyError {
    PolicyError::Setting { key: key.into(), found: found.to_string(), expected: expected.into() }
}

impl Raw {
    /// Refuses settings that would change the numbers and are not implemented, by name.
    fn check(&self, model_type: ModelType) -> Result<(), PolicyError> {
        let rotated = self.rotated().filter(|part| *part != 1.0 && model_type != ModelType::Phi3);
        let other_layer = self.layer_types.iter().flatten().find(|kind| *kind != "full_attention");
        let quantized = self.quantization_config.as_ref().filter(|value| !value.is_null());
        let method = quantized.map(|value| value.get("quant_method").unwrap_or(value).to_string());
        // Where it is a setting, the output projection has a bias too.
        let bias = self.attention_bias.filter(|on| *on && model_type != ModelType::Qwen2);
        let wrong = [
            ("mlp_bias", self.mlp_bias.filter(|on| *on).map(|on| on.to_string()), "false"),
            ("use_sliding_window", self.use_sliding_window.filter(|on| *on).map(|on| on.to_string()), "false"),
            ("layer_types", other_layer.cloned(), "full_attention in every layer"),
            ("partial_rotary_factor", rotated.map(|part| part.to_string()), "1"),
            ("quantization_config", method, "none; load the model before it was quantised, or its .gguf file"),
            ("hidden_act", self.hidden_act.clone().filter(|act| act != "silu"), "silu"),
            ("attention_bias", bias.map(|on| on.to_string()), "false"),
        ];
        for (key, found, expected) in wrong {
            if let Some(found) = found {
                return Err(refuse(key, found, expected));
            }
        }
        Ok(())
    }

    /// Newer files keep everything about the rotation in one object.
    fn rope(&self) -> Option<&Value> {
        self.rope_parameters.as_ref().or(self.rope_scaling.as_ref()).filter(|rope| !rope.is_null())
    }

    fn rope_number(&self, key: &str) -> Option<f64> {
        self.rope()?.get(key)?.as_f64()
    }

    /// Share of a head that is rotated.
    fn rotated(&self) -> Option<f64> {
        self.partial_rotary_factor.or_else(|| self.rope_number("partial_rotary_factor"))
    }

    fn resolve(self, model_type: ModelType) -> Result<DecoderConfig, PolicyError> {
        self.check(model_type)?;
        let long_rope = match model_type {
            ModelType::Phi3 => self.long_rope()?,
            _ => None,
        };
        let rope_scaling = match &long_rope {
            Some(_) => None,
            None => self.rope().map(scaling).transpose()?.flatten(),
        };
        // Beyond its first context, a stretched model takes other frequencies for all tokens.
        let first_context = long_rope.as_ref().and_then(|_| self.original_context());
        let config = DecoderConfig {
            model_type,
            vocab_size: self.vocab_size,
            hidden_size: self.hidden_size,
            num_hidden_layers: self.num_hidden_layers,
            num_attention_heads: self.num_attention_heads,
            num_key_value_heads: self.num_key_value_heads.unwrap_or(self.num_attention_heads),
            head_dim: self.head_dim.unwrap_or(self.hidden_size / self.num_attention_heads.max(1)),
            intermediate_size: self.intermediate_size,
            rope_theta: self.rope_theta.or_else(|| self.rope_number("rope_theta")).unwrap_or(10_000.0),
            rope_scaling,
            partial_rotary_factor: self.rotated().unwrap_or(1.0),
            long_rope,
            sliding_window: self.window(model_type),
            rms_norm_eps: self.rms_norm_eps,
            tie_word_embeddings: self.tie_word_embeddings.unwrap_or(false),
            max_position_embeddings: first_context.unwrap_or(self.max_position_embeddings),
        };
        config.check()?;
        Ok(config)
    }

    fn window(&self, model_type: ModelType) -> Option<SlidingWindow> {
        match model_type {
            ModelType::Mistral | ModelType::Phi3 => {
                self.sliding_window.map(|tokens| SlidingWindow { tokens, full_every: 0 })
            }
            _ => None,
        }
    }

    /// Context before it was stretched, in tokens.
    fn original_context(&self) -> Option<usize> {
        let own = self.rope().and_then(|rope| rope.get("original_max_position_embeddings")).and_then(Value::as_u64);
        own.and_then(|tokens| usize::try_from(tokens).ok()).or(self.original_max_position_embeddings)
    }

    /// Frequencies divided one by one; none where they are as they are.
    fn long_rope(&self) -> Result<Option<LongRope>, PolicyError> {
        let Some(rope) = self.rope() else { return Ok(None) };
        let kind = rope_type(rope);
        // `su` and `yarn` are what early files of Phi-3 say.
        if !["longrope", "su", "yarn"].contains(&kind) {
            return Ok(None);
        }
        let wrong = || refuse("rope_scaling", rope, "short_factor, long_factor and original_max_position_embeddings");
        let factors = |key: &str| -> Option<Vec<f64>> { serde_json::from_value(rope.get(key)?.clone()).ok() };
        let (short_factor, long_factor) = (factors("short_factor"), factors("long_factor"));
        let original = self.original_context().filter(|tokens| *tokens > 1).ok_or_else(wrong)?;
        let stretched = self.max_position_embeddings as f64 / original as f64;
        let stretched = self.rope_number("factor").unwrap_or(stretched);
        // Ding et al. 2024, as transformers has it.
        let attention_factor = match stretched > 1.0 {
            true => (1.0 + stretched.ln() / (original as f64).ln()).sqrt(),
            false => 1.0,
        };
        Ok(Some(LongRope {
            short_factor: short_factor.ok_or_else(wrong)?,
            long_factor: long_factor.ok_or_else(wrong)?,
            attention_factor: self.rope_number("attention_factor").unwrap_or(attention_factor),
            max_position_embeddings: self.max_position_embeddings,
        }))
    }
}

fn rope_type(rope: &Value) -> &str {
    rope.get("rope_type").or_else(|| rope.get("type")).and_then(Value::as_str).unwrap_or("default")
}

fn scaling(value: &Value) -> Result<Option<RopeScaling>, PolicyError> {
    let refuse = |expected: &str| refuse("rope_scaling", value, expected);
    let factor = || value.get("factor").and_then(Value::as_f64).filter(|factor| *factor > 0.0);
    match rope_type(value) {
        "default" => Ok(None),
        "linear" => factor().map(|factor| Some(RopeScaling::linear(factor))).ok_or_else(|| refuse("a factor above 0")),
        "llama3" => serde_json::from_value(value.clone())
            .map(Some)
            .map_err(|_| refuse("factor, low_freq_factor, high_freq_factor and original_max_position_embeddings")),
        _ => Err(refuse("rope_type `default`, `linear` or `llama3`")),
    }
}
