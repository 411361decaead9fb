//! Reads the settings of a `config.json` by family: defaults of missing keys, and refusals by name.

use std::path::Path;

use serde::Deserialize;
use serde_json::{Map, Value, json};

use crate::families::architecture::{DecoderConfig, Experts, LongRope, RopeScaling, SlidingWindow};
use crate::families::family;
use crate::{ModelType, PolicyError};

/// The keys of `config.json` that are read. All other keys are ignored: the file belongs to the model's makers.
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
    hidden_activation: Option<String>,
    use_bidirectional_attention: Option<bool>,
    is_causal: Option<bool>,
    sliding_window_pattern: Option<usize>,
    rope_local_base_freq: Option<f64>,
    query_pre_attn_scalar: Option<usize>,
    attn_logit_softcapping: Option<f64>,
    final_logit_softcapping: Option<f64>,
    num_experts: Option<usize>,
    num_local_experts: Option<usize>,
    num_experts_per_tok: Option<usize>,
    moe_intermediate_size: Option<usize>,
    norm_topk_prob: Option<bool>,
    decoder_sparse_step: Option<usize>,
    mlp_only_layers: Option<Vec<usize>>,
    max_position_embeddings: usize,
    original_max_position_embeddings: Option<usize>,
}

/// Keys that a file must have, or the family's defaults.
const REQUIRED: [&str; 7] = [
    "vocab_size", "hidden_size", "num_hidden_layers", "num_attention_heads", "intermediate_size", "rms_norm_eps",
    "max_position_embeddings",
];

/// The refusal of a file without a required key. Only the context is no size of the weights, so that anyone may write it.
fn absent(key: &str, path: &Path) -> PolicyError {
    let advice = match key {
        "max_position_embeddings" => "write the longest context there that the model was trained for, in tokens",
        _ => "fetch the file from where the model came from",
    };
    PolicyError::Incomplete { path: path.to_owned(), missing: format!("`{key}` is missing"), advice: advice.into() }
}

impl DecoderConfig {
    /// Reads `text`, the content of the file at `path` (named in errors only).
    pub fn from_json(text: &str, path: &Path) -> Result<Self, PolicyError> {
        let corrupt = |message: String| PolicyError::Corrupt { path: path.to_owned(), format: "config.json", message };
        let mut file: Map<String, Value> = serde_json::from_str(text).map_err(|error| corrupt(error.to_string()))?;
        let model_type = file.get("model_type").and_then(Value::as_str).unwrap_or("(none)");
        let Some(model_type) = ModelType::of_name(model_type) else {
            return Err(PolicyError::UnsupportedModel {
                path: path.to_owned(),
                found: model_type.into(),
                supported: family::in_words(ModelType::ALL),
            });
        };
        if let Value::Object(silent) = silent(model_type) {
            for (key, value) in silent {
                file.entry(key).or_insert(value);
            }
        }
        if let Some(key) = REQUIRED.into_iter().find(|key| file.get(*key).is_none_or(Value::is_null)) {
            return Err(absent(key, path));
        }
        let raw: Raw = serde_json::from_value(Value::Object(file)).map_err(|error| corrupt(error.to_string()))?;
        raw.resolve(model_type)
    }
}

/// The defaults of transformers for keys that a file does not name.
fn silent(model_type: ModelType) -> Value {
    match model_type {
        ModelType::Mistral => json!({ "sliding_window": 4096 }),
        ModelType::Phi3 => json!({ "original_max_position_embeddings": 4096 }),
        ModelType::Gemma2 => json!({
            "head_dim": 256,
            "hidden_activation": GELU,
            "query_pre_attn_scalar": 256,
            "attn_logit_softcapping": 50.0,
            "final_logit_softcapping": 30.0,
            "sliding_window": 4096,
            "rms_norm_eps": 1e-6,
            "tie_word_embeddings": true,
        }),
        ModelType::Gemma3 => json!({
            "head_dim": 256,
            "hidden_activation": GELU,
            "query_pre_attn_scalar": 256,
            "sliding_window": 4096,
            "sliding_window_pattern": 6,
            "rms_norm_eps": 1e-6,
            "tie_word_embeddings": true,
        }),
        _ => Value::Null,
    }
}

/// The name of Gemma's gate in files.
const GELU: &str = "gelu_pytorch_tanh";

/// Default bases of Gemma 3's rotary frequencies: of layers that see all tokens, and of layers with a window.
const GEMMA3_THETA: (f64, f64) = (1_000_000.0, 10_000.0);

fn refuse(key: &str, found: impl ToString, expected: &str) -> PolicyError {
    PolicyError::setting(key, found, expected)
}

impl Raw {
    /// Refuses, by name, settings that would change the numbers and are not implemented.
    fn check(&self, model_type: ModelType) -> Result<(), PolicyError> {
        for (key, rope) in [("rope_scaling", &self.rope_scaling), ("rope_parameters", &self.rope_parameters)] {
            if let Some(found) = rope.as_ref().filter(|rope| !rope.is_null() && !is_rope(rope)) {
                return Err(refuse(key, found, "null, or an object with a rope_type that is text, and numbers"));
            }
        }
        if model_type == ModelType::Gemma3 {
            self.check_kinds()?;
        }
        let rotated = self.rotated().filter(|part| *part != 1.0 && model_type != ModelType::Phi3);
        let gemma = model_type.is_gemma();
        let (act, known) = match gemma {
            true => (&self.hidden_activation, GELU),
            false => (&self.hidden_act, "silu"),
        };
        let both_ways = self.use_bidirectional_attention.filter(|on| *on);
        // Files of Gemma 3 may name a cap, but transformers does not use it.
        let cap = self.attn_logit_softcapping.filter(|_| model_type == ModelType::Gemma3);
        let quantized = self.quantization_config.as_ref().filter(|value| !value.is_null());
        let method = quantized.map(|value| value.get("quant_method").unwrap_or(value).to_string());
        // In the families where this is a setting, it gives the output projection a bias too, which is not
        // implemented.
        let bias = self.attention_bias.filter(|on| *on && !model_type.has_qkv_bias());
        // Versions of transformers differ on which of the two they take.
        let inner = self.rope().filter(|rope| rope_type(rope) == "llama3");
        let inner = inner.and_then(|rope| rope.get("original_max_position_embeddings")?.as_u64());
        let outer = self.original_max_position_embeddings.map(|tokens| tokens as u64);
        let outer = outer.filter(|outer| inner.is_some_and(|inner| inner != *outer));
        let wrong = [
            ("mlp_bias", self.mlp_bias.filter(|on| *on).map(|on| on.to_string()), "false"),
            ("use_sliding_window", self.use_sliding_window.filter(|on| *on).map(|on| on.to_string()), "false"),
            ("layer_types", self.other_layer(model_type).cloned(), "full_attention in every layer"),
            ("partial_rotary_factor", rotated.map(|part| part.to_string()), "1"),
            ("quantization_config", method, "none; load the model before it was quantised, or its .gguf file"),
            (if gemma { "hidden_activation" } else { "hidden_act" }, act.clone().filter(|act| act != known), known),
            ("use_bidirectional_attention", both_ways.map(|on| on.to_string()), "false"),
            ("is_causal", self.is_causal.filter(|on| !on).map(|on| on.to_string()), "true"),
            ("attn_logit_softcapping", cap.map(|cap| cap.to_string()), "null"),
            ("attention_bias", bias.map(|on| on.to_string()), "false"),
            ("original_max_position_embeddings", outer.map(|it| it.to_string()), "that of the rotation, or none"),
        ];
        for (key, found, expected) in wrong {
            if let Some(found) = found {
                return Err(refuse(key, found, expected));
            }
        }
        Ok(())
    }

    /// A kind of layer that the family does not have. transformers takes a Mistral whose file has kinds for a Ministral, whose window
    /// holds in layers of its kind alone: here it holds in all of them or in none.
    fn other_layer(&self, model_type: ModelType) -> Option<&String> {
        let kinds = self.layer_types.as_deref().unwrap_or_default();
        let windowed = model_type == ModelType::Mistral && kinds.iter().all(|kind| kind == "sliding_attention");
        kinds.iter().find(|kind| *kind != "full_attention" && !windowed && !model_type.is_gemma())
    }

    /// Refuses the rotation of Gemma 3 in a form that transformers passes over. The newer name has an object for each kind of
    /// layer, the older one is of the layers that see all tokens.
    fn check_kinds(&self) -> Result<(), PolicyError> {
        let has_kinds = |rope: &&Value| rope.get("full_attention").is_some() || rope.get("sliding_attention").is_some();
        let is_given = |rope: &&Value| rope.as_object().is_some_and(|keys| !keys.is_empty());
        if let Some(found) = self.rope_scaling.as_ref().filter(has_kinds) {
            return Err(refuse("rope_scaling", found, "null, or an object for the layers that see all tokens"));
        }
        match self.rope_parameters.as_ref().filter(|rope| is_given(rope) && !has_kinds(rope)) {
            Some(found) => {
                Err(refuse("rope_parameters", found, "an object for each of full_attention and sliding_attention"))
            }
            None => Ok(()),
        }
    }

    /// The object of the rotation. Newer files have all its settings in `rope_parameters`; in transformers
    /// `rope_scaling` wins all the same, unless it is empty.
    fn rope(&self) -> Option<&Value> {
        let [scaling, parameters] = [&self.rope_scaling, &self.rope_parameters].map(Option::as_ref);
        let is_given = |rope: &&Value| rope.as_object().is_some_and(|keys| !keys.is_empty());
        let rope = scaling.filter(is_given).or(parameters.filter(is_given))?;
        // Gemma 3 has one object for each kind of layer.
        Some(rope.get("full_attention").unwrap_or(rope))
    }

    /// Base of the rotary frequencies, if it is named. In Gemma 3 `rope_scaling` is added to the object of the layers
    /// that see all tokens, and does not replace it.
    fn theta(&self) -> Option<f64> {
        let of_layers = || self.rope_parameters.as_ref()?.get("full_attention")?.get("rope_theta")?.as_f64();
        self.rope_number("rope_theta").or_else(of_layers).or(self.rope_theta)
    }

    /// The object of layers with a sliding window, if it is a separate one.
    fn local_rope(&self) -> Option<&Value> {
        self.rope_parameters.as_ref()?.get("sliding_attention")
    }

    fn rope_number(&self, key: &str) -> Option<f64> {
        self.rope()?.get(key)?.as_f64()
    }

    /// Share of a head's dimensions that are rotated. In transformers that of the rotation wins over that of the file.
    fn rotated(&self) -> Option<f64> {
        self.rope_number("partial_rotary_factor").or(self.partial_rotary_factor)
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
        // Beyond its first context, LongRoPE uses other frequencies for all tokens; only the first context is
        // supported.
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
            rope_theta: self.theta().unwrap_or(if model_type == ModelType::Gemma3 { GEMMA3_THETA.0 } else { 10_000.0 }),
            rope_scaling,
            partial_rotary_factor: self.rotated().unwrap_or(1.0),
            long_rope,
            sliding_window: self.window(model_type)?,
            query_pre_attn_scalar: self.query_pre_attn_scalar.filter(|_| model_type.is_gemma()),
            attn_logit_softcapping: self.attn_logit_softcapping.filter(|_| model_type == ModelType::Gemma2),
            final_logit_softcapping: self.final_logit_softcapping.filter(|_| model_type.is_gemma()),
            experts: (model_type == ModelType::Qwen3Moe).then(|| self.experts()),
            rms_norm_eps: self.rms_norm_eps,
            tie_word_embeddings: self.tie_word_embeddings.unwrap_or(false),
            max_position_embeddings: first_context.unwrap_or(self.max_position_embeddings),
        };
        config.check()?;
        Ok(config)
    }

    fn window(&self, model_type: ModelType) -> Result<Option<SlidingWindow>, PolicyError> {
        let rope_theta = match (model_type, self.local_rope()) {
            (ModelType::Gemma3, Some(rope)) if rope_type(rope) != "default" => {
                return Err(refuse("rope_parameters.sliding_attention", rope, "rope_type `default`"));
            }
            (ModelType::Gemma3, rope) => {
                let named = rope.and_then(|rope| rope.get("rope_theta")).and_then(Value::as_f64);
                Some(named.or(self.rope_local_base_freq).unwrap_or(GEMMA3_THETA.1))
            }
            _ => None,
        };
        let window = |tokens: usize, full_every: usize| Some(SlidingWindow { tokens, full_every, rope_theta });
        match (model_type, self.sliding_window) {
            (ModelType::Mistral, _) if self.layer_types.iter().flatten().any(|kind| kind == "full_attention") => {
                Ok(None)
            }
            (ModelType::Mistral | ModelType::Phi3, tokens) => Ok(tokens.and_then(|tokens| window(tokens, 0))),
            (ModelType::Gemma2 | ModelType::Gemma3, Some(tokens)) => Ok(window(tokens, self.full_every(model_type)?)),
            (ModelType::Gemma2 | ModelType::Gemma3, None) => Err(refuse("sliding_window", "null", "a number above 0")),
            _ => Ok(None),
        }
    }

    /// Every layer of this multiple sees all tokens; 0 if no layer does.
    fn full_every(&self, model_type: ModelType) -> Result<usize, PolicyError> {
        let Some(kinds) = &self.layer_types else {
            // transformers passes over the pattern in a file of Gemma 2.
            let is_given = model_type != ModelType::Gemma2;
            return Ok(if is_given { self.sliding_window_pattern.unwrap_or(0) } else { 2 });
        };
        let full_every = kinds.iter().position(|kind| kind == "full_attention").map_or(0, |first| first + 1);
        let expected = |layer: usize| match full_every > 0 && (layer + 1).is_multiple_of(full_every) {
            true => "full_attention",
            false => "sliding_attention",
        };
        match kinds.iter().enumerate().find(|(layer, kind)| *kind != expected(*layer)) {
            Some((layer, kind)) => {
                let expected = format!("{}, as in the layers before", expected(layer));
                Err(refuse("layer_types", format!("{kind} in layer {layer}"), &expected))
            }
            None => Ok(full_every),
        }
    }

    /// Defaults are those of transformers' `Qwen3MoeConfig`.
    fn experts(&self) -> Experts {
        Experts {
            num_experts: self.num_experts.or(self.num_local_experts).unwrap_or(128),
            num_experts_per_tok: self.num_experts_per_tok.unwrap_or(8),
            moe_intermediate_size: self.moe_intermediate_size.unwrap_or(768),
            norm_topk_prob: self.norm_topk_prob.unwrap_or(false),
            decoder_sparse_step: self.decoder_sparse_step.unwrap_or(1),
            mlp_only_layers: self.mlp_only_layers.clone().unwrap_or_default(),
        }
    }

    /// Context before scaling, in tokens. In transformers that of the file wins over that of the rotation.
    fn original_context(&self) -> Option<usize> {
        let inner = || self.rope()?.get("original_max_position_embeddings")?.as_u64();
        self.original_max_position_embeddings.or_else(|| usize::try_from(inner()?).ok())
    }

    /// The divisors of single frequencies; `None` if there are none.
    fn long_rope(&self) -> Result<Option<LongRope>, PolicyError> {
        let Some(rope) = self.rope() else { return Ok(None) };
        let kind = rope_type(rope);
        // Early files of Phi-3 say `su` or `yarn` instead.
        if !["longrope", "su", "yarn"].contains(&kind) {
            return Ok(None);
        }
        let wrong = || refuse("rope_scaling", rope, "short_factor, long_factor and original_max_position_embeddings");
        let factors = |key: &str| -> Option<Vec<f64>> { serde_json::from_value(rope.get(key)?.clone()).ok() };
        let (short_factor, long_factor) = (factors("short_factor"), factors("long_factor"));
        let original = self.original_context().filter(|tokens| *tokens > 1).ok_or_else(wrong)?;
        let stretched = self.max_position_embeddings as f64 / original as f64;
        let stretched = self.rope_number("factor").unwrap_or(stretched);
        // Source: Ding et al. 2024, in the form of transformers.
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

/// Whether the keys that are read have the right types. In Gemma 3 the object holds one object for each kind of layer.
fn is_rope(value: &Value) -> bool {
    let Value::Object(keys) = value else { return false };
    keys.iter().all(|(key, value)| match key.as_str() {
        "rope_type" | "type" => value.is_string(),
        "full_attention" | "sliding_attention" => is_rope(value),
        "rope_theta" | "factor" | "partial_rotary_factor" | "attention_factor" => value.is_number() || value.is_null(),
        _ => true,
    })
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
