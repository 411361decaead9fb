//! Writes settings as a `config.json` that transformers reads.

use serde_json::{Value, json};

use crate::ModelType;
use crate::families::architecture::{DecoderConfig, RopeScaling};

impl RopeScaling {
    fn to_json(self) -> Value {
        if self.is_linear() {
            return json!({ "rope_type": "linear", "factor": self.factor });
        }
        let mut value = json!(self);
        value["rope_type"] = "llama3".into();
        value
    }
}

impl DecoderConfig {
    /// The content of a `config.json` for this configuration.
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
        if matches!(self.model_type, ModelType::Mistral | ModelType::Phi3) {
            value["sliding_window"] = json!(self.sliding_window.map(|window| window.tokens));
        }
        if self.model_type == ModelType::Phi3 {
            value["partial_rotary_factor"] = self.partial_rotary_factor.into();
            value["original_max_position_embeddings"] = self.max_position_embeddings.into();
            // Without this key transformers takes a default token id, which is beyond the end of small vocabularies.
            value["pad_token_id"] = Value::Null;
        }
        if self.model_type.is_gemma() {
            self.write_gemma(&mut value);
        }
        if let Some(experts) = &self.experts {
            value["num_experts"] = experts.num_experts.into();
            value["num_experts_per_tok"] = experts.num_experts_per_tok.into();
            value["moe_intermediate_size"] = experts.moe_intermediate_size.into();
            value["norm_topk_prob"] = experts.norm_topk_prob.into();
            value["decoder_sparse_step"] = experts.decoder_sparse_step.into();
            value["mlp_only_layers"] = json!(experts.mlp_only_layers);
        }
        if let Some(long) = &self.long_rope {
            value["max_position_embeddings"] = long.max_position_embeddings.into();
            value["rope_scaling"] = json!({
                "rope_type": "longrope",
                "type": "longrope",
                "short_factor": long.short_factor,
                "long_factor": long.long_factor,
                "attention_factor": long.attention_factor,
            });
        }
        value
    }

    fn write_gemma(&self, value: &mut Value) {
        value["hidden_activation"] = "gelu_pytorch_tanh".into();
        value["hidden_act"] = "gelu_pytorch_tanh".into();
        value["query_pre_attn_scalar"] = self.query_pre_attn_scalar.unwrap_or(self.head_dim).into();
        value["attn_logit_softcapping"] = json!(self.attn_logit_softcapping);
        value["final_logit_softcapping"] = json!(self.final_logit_softcapping);
        if let Some(window) = self.sliding_window {
            value["sliding_window"] = window.tokens.into();
            let kind = |layer| if self.window(layer).is_some() { "sliding_attention" } else { "full_attention" };
            value["layer_types"] = (0..self.num_hidden_layers).map(kind).collect();
            value["sliding_window_pattern"] = window.full_every.into();
            if let Some(theta) = window.rope_theta {
                value["rope_local_base_freq"] = theta.into();
            }
        }
    }
}
