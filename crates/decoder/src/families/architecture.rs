//! The settings of a decoder, read from and written to a Hugging Face `config.json`.
//!
//! Gives the sizes and switches of every family, and the name and shape of every tensor. Does not know weights.

mod angles;
mod checks;
mod reading;
mod writing;

use serde::{Deserialize, Serialize};

use crate::{ModelType, PolicyError};
use grpo_tensor::gpu::Sizes;
use grpo_tensor::{Heads, Scores};

pub(crate) use checks::indices;

/// Rotary frequencies scaled for long contexts: the low ones, as in Llama 3.1, or all of them.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct RopeScaling {
    /// Divisor of the low frequencies.
    pub factor: f64,
    /// Wavelengths longer than `original_max_position_embeddings / low_freq_factor` are scaled in full.
    pub low_freq_factor: f64,
    /// Wavelengths shorter than `original_max_position_embeddings / high_freq_factor` are not scaled.
    pub high_freq_factor: f64,
    /// Context that the model was first trained for, in tokens.
    pub original_max_position_embeddings: usize,
}

impl RopeScaling {
    /// Linear scaling: every frequency is divided by `factor`, because all wavelengths count as long.
    pub fn linear(factor: f64) -> Self {
        let endless = f64::INFINITY;
        RopeScaling { factor, low_freq_factor: endless, high_freq_factor: endless, original_max_position_embeddings: 1 }
    }

    /// Whether every frequency is scaled alike.
    pub fn is_linear(&self) -> bool {
        self.low_freq_factor.is_infinite()
    }
}

/// Rotary frequencies with a divisor for each, for a context beyond the one that the model was first trained for.
///
/// Source: Ding et al. 2024, LongRoPE.
#[derive(Debug, Clone, PartialEq)]
pub struct LongRope {
    /// Divisors within the first context. Only these are used.
    pub short_factor: Vec<f64>,
    /// Divisors beyond the first context.
    pub long_factor: Vec<f64>,
    /// Factor of cosines and sines.
    pub attention_factor: f64,
    /// Context with the long divisors, in tokens.
    pub max_position_embeddings: usize,
}

/// Layers whose tokens see only the last few tokens.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SlidingWindow {
    /// Tokens that a token sees, itself included.
    pub tokens: usize,
    /// Every layer of this multiple is an exception, whose tokens see all tokens before them; 0 means no layer is.
    pub full_every: usize,
    /// Base of the rotary frequencies in the layers with a window, if it differs (Gemma 3).
    pub rope_theta: Option<f64>,
}

/// Layers with many feed-forward blocks (experts), of which each token goes through a few.
#[derive(Debug, Clone, PartialEq)]
pub struct Experts {
    /// Blocks in such a layer.
    pub num_experts: usize,
    /// Blocks that a token goes through.
    pub num_experts_per_tok: usize,
    /// Inner width of a block.
    pub moe_intermediate_size: usize,
    /// Whether the weights of a token's blocks are normalised to sum to 1.
    pub norm_topk_prob: bool,
    /// Every layer of this multiple has experts.
    pub decoder_sparse_step: usize,
    /// Layers that have no experts all the same.
    pub mlp_only_layers: Vec<usize>,
}

/// Sizes and switches of a decoder. Names are those of `config.json`.
#[derive(Debug, Clone, PartialEq)]
pub struct DecoderConfig {
    /// The family, which says how the layers compute beside their sizes.
    pub model_type: ModelType,
    /// Rows of the embedding.
    pub vocab_size: usize,
    /// Width of the residual stream.
    pub hidden_size: usize,
    /// Number of layers.
    pub num_hidden_layers: usize,
    /// Query heads.
    pub num_attention_heads: usize,
    /// Key and value heads; divides the query heads.
    pub num_key_value_heads: usize,
    /// Width of one head; even.
    pub head_dim: usize,
    /// Inner width of the feed-forward block.
    pub intermediate_size: usize,
    /// Base of the rotary frequencies.
    pub rope_theta: f64,
    /// Scaling of the rotary frequencies, if any.
    pub rope_scaling: Option<RopeScaling>,
    /// Share of a head's dimensions that are rotated, from the first on (Phi-4-mini).
    pub partial_rotary_factor: f64,
    /// Divisors of single frequencies (Phi-3 with long contexts).
    pub long_rope: Option<LongRope>,
    /// Layers whose tokens see only the last few tokens.
    pub sliding_window: Option<SlidingWindow>,
    /// The factor of attention scores is one over the root of this number; `None` means the width of a head (Gemma).
    pub query_pre_attn_scalar: Option<usize>,
    /// Soft cap of attention scores (Gemma 2).
    pub attn_logit_softcapping: Option<f64>,
    /// Soft cap of logits (Gemma 2).
    pub final_logit_softcapping: Option<f64>,
    /// Layers with experts, if any (Qwen3 with experts).
    pub experts: Option<Experts>,
    /// Added to the mean square inside a norm's square root.
    pub rms_norm_eps: f64,
    /// Whether the output projection is the embedding.
    pub tie_word_embeddings: bool,
    /// Longest context that the model was trained for, in tokens; with [`LongRope`], the first context.
    pub max_position_embeddings: usize,
}

impl DecoderConfig {
    /// A Llama with all sizes 0, which other configurations start from.
    pub const LLAMA: DecoderConfig = DecoderConfig {
        model_type: ModelType::Llama,
        vocab_size: 0,
        hidden_size: 0,
        num_hidden_layers: 0,
        num_attention_heads: 0,
        num_key_value_heads: 0,
        head_dim: 0,
        intermediate_size: 0,
        rope_theta: 10_000.0,
        rope_scaling: None,
        partial_rotary_factor: 1.0,
        long_rope: None,
        sliding_window: None,
        query_pre_attn_scalar: None,
        attn_logit_softcapping: None,
        final_logit_softcapping: None,
        experts: None,
        rms_norm_eps: 1e-5,
        tie_word_embeddings: false,
        max_position_embeddings: 0,
    };

    /// Dimensions of a head that are rotated.
    pub fn rotary_dim(&self) -> usize {
        (self.head_dim as f64 * self.partial_rotary_factor) as usize
    }

    /// Tokens that a token of this layer sees, itself included; `None` if it sees all tokens before it.
    pub fn window(&self, layer: usize) -> Option<usize> {
        let window = self.sliding_window?;
        let full = window.full_every > 0 && (layer + 1).is_multiple_of(window.full_every);
        (!full).then_some(window.tokens)
    }

    /// Whether every layer computes scores as Llama does, in sequences of so many tokens. The fastest kernels need
    /// this.
    pub fn has_plain_scores(&self, tokens: usize) -> bool {
        let sees_all = self.sliding_window.is_none_or(|window| tokens <= window.tokens || window.full_every == 1);
        sees_all && self.attn_logit_softcapping.is_none()
    }

    /// What a GPU's kernels for decoding do not know of this model, with sequences of so many tokens; `None` if they run it.
    pub fn unserved(&self, tokens: usize) -> Option<String> {
        if self.model_type.is_gemma() || self.experts.is_some() {
            let what = if self.experts.is_some() { "experts" } else { "layers of Gemma" };
            return Some(format!("the model has {what}"));
        }
        if self.rotary_dim() != self.head_dim {
            return Some(format!("the model rotates {} of {} dimensions of a head", self.rotary_dim(), self.head_dim));
        }
        if !self.has_plain_scores(tokens) {
            return Some("the model has attention that is not plain".into());
        }
        let served = Sizes::are_served(&self.heads(), self.vocab_size);
        (!served).then(|| format!("heads of {} or a vocabulary of {}", self.head_dim, self.vocab_size))
    }

    /// Name and shape of every tensor, in the order of the forward pass.
    pub fn tensors(&self) -> Vec<(String, Vec<usize>)> {
        let hidden = self.hidden_size;
        let queries = self.num_attention_heads * self.head_dim;
        let mut tensors = vec![("model.embed_tokens.weight".into(), vec![self.vocab_size, hidden])];
        for layer in 0..self.num_hidden_layers {
            let mut push = |name: &str, shape: &[usize]| {
                tensors.push((format!("model.layers.{layer}.{name}"), shape.to_vec()));
            };
            push("input_layernorm.weight", &[hidden]);
            for (name, out) in self.query_key_value() {
                push(&format!("{name}.weight"), &[out, hidden]);
                if self.model_type.has_qkv_bias() {
                    push(&format!("{name}.bias"), &[out]);
                }
            }
            if self.model_type.has_head_norms() {
                push("self_attn.q_norm.weight", &[self.head_dim]);
                push("self_attn.k_norm.weight", &[self.head_dim]);
            }
            push("self_attn.o_proj.weight", &[hidden, queries]);
            push("post_attention_layernorm.weight", &[hidden]);
            if self.model_type.is_gemma() {
                push("pre_feedforward_layernorm.weight", &[hidden]);
                push("post_feedforward_layernorm.weight", &[hidden]);
            }
            for (block, inner) in self.blocks(layer) {
                for (name, out) in self.gate_up(inner) {
                    push(&format!("{block}.{name}.weight"), &[out, hidden]);
                }
                push(&format!("{block}.down_proj.weight"), &[hidden, inner]);
            }
            if let Some(experts) = self.experts_of(layer) {
                push("mlp.gate.weight", &[experts.num_experts, hidden]);
            }
        }
        tensors.push(("model.norm.weight".into(), vec![hidden]));
        if !self.tie_word_embeddings {
            tensors.push(("lm_head.weight".into(), vec![self.vocab_size, hidden]));
        }
        tensors
    }

    /// Factor of the embeddings, if there is one.
    pub(crate) fn embedding_scale(&self) -> Option<f64> {
        self.model_type.is_gemma().then(|| (self.hidden_size as f64).sqrt())
    }

    /// How this layer's attention scores are computed.
    pub(crate) fn scores(&self, layer: usize) -> Scores {
        Scores {
            scale: self.query_pre_attn_scalar.map(|scalar| (1.0 / (scalar as f64).sqrt()) as f32),
            cap: self.attn_logit_softcapping.map(|cap| cap as f32),
            window: self.window(layer),
        }
    }

    /// Heads with the scores of Llama.
    pub(crate) fn heads(&self) -> Heads {
        Heads::new(self.num_attention_heads, self.num_key_value_heads, self.head_dim)
    }

    /// Maps to queries, keys and values, with the widths of their outputs.
    pub(crate) fn query_key_value(&self) -> Vec<(&'static str, usize)> {
        let queries = self.num_attention_heads * self.head_dim;
        let keys = self.num_key_value_heads * self.head_dim;
        match self.model_type.is_fused() {
            true => vec![("self_attn.qkv_proj", queries + 2 * keys)],
            false => vec![("self_attn.q_proj", queries), ("self_attn.k_proj", keys), ("self_attn.v_proj", keys)],
        }
    }

    /// The experts of this layer, if it has any.
    pub fn experts_of(&self, layer: usize) -> Option<&Experts> {
        let experts = self.experts.as_ref()?;
        let sparse = (layer + 1).is_multiple_of(experts.decoder_sparse_step);
        (sparse && !experts.mlp_only_layers.contains(&layer)).then_some(experts)
    }

    /// Names of this layer's feed-forward blocks, with their inner widths.
    pub(crate) fn blocks(&self, layer: usize) -> Vec<(String, usize)> {
        let Some(experts) = self.experts_of(layer) else { return vec![("mlp".into(), self.intermediate_size)] };
        let name = |index| (format!("mlp.experts.{index}"), experts.moe_intermediate_size);
        (0..experts.num_experts).map(name).collect()
    }

    /// Gate and up maps of a block, with the widths of their outputs; `inner` is the block's inner width.
    pub(crate) fn gate_up(&self, inner: usize) -> Vec<(&'static str, usize)> {
        match self.model_type.is_fused() {
            true => vec![("gate_up_proj", 2 * inner)],
            false => vec![("gate_proj", inner), ("up_proj", inner)],
        }
    }

    /// Number of parameters.
    pub fn parameters(&self) -> usize {
        self.tensors().iter().map(|(_, shape)| shape.iter().product::<usize>()).sum()
    }
}
