//! Shapes of well-known models, for measurements without their files.

use crate::{DecoderConfig, ModelType};

/// A model without its weights.
#[derive(Debug)]
pub struct KnownShape {
    /// The model's usual name.
    pub name: &'static str,
    /// Sizes and switches, as in its `config.json`.
    pub config: DecoderConfig,
    /// Standard deviation of the makers' initial weights (`initializer_range`).
    pub spread: f64,
}

/// Qwen2.5-0.5B; the other shapes start from it.
const QWEN: DecoderConfig = DecoderConfig {
    model_type: ModelType::Qwen2,
    vocab_size: 151_936,
    hidden_size: 896,
    num_hidden_layers: 24,
    num_attention_heads: 14,
    num_key_value_heads: 2,
    head_dim: 64,
    intermediate_size: 4864,
    rope_theta: 1e6,
    rms_norm_eps: 1e-6,
    tie_word_embeddings: true,
    max_position_embeddings: 32_768,
    ..DecoderConfig::LLAMA
};

/// All known shapes.
pub const KNOWN_SHAPES: &[KnownShape] = &[
    KnownShape {
        name: "smollm2-135m",
        config: DecoderConfig {
            model_type: ModelType::Llama,
            vocab_size: 49_152,
            hidden_size: 576,
            num_hidden_layers: 30,
            num_attention_heads: 9,
            num_key_value_heads: 3,
            head_dim: 64,
            intermediate_size: 1536,
            rope_theta: 1e5,
            rms_norm_eps: 1e-5,
            max_position_embeddings: 8192,
            ..QWEN
        },
        spread: 1.0 / 24.0,
    },
    KnownShape { name: "qwen2.5-0.5b", config: QWEN, spread: 0.02 },
    KnownShape {
        name: "qwen2.5-1.5b",
        config: DecoderConfig {
            hidden_size: 1536,
            num_hidden_layers: 28,
            num_attention_heads: 12,
            head_dim: 128,
            intermediate_size: 8960,
            ..QWEN
        },
        spread: 0.02,
    },
    KnownShape {
        name: "qwen2.5-7b",
        config: DecoderConfig {
            vocab_size: 152_064,
            hidden_size: 3584,
            num_hidden_layers: 28,
            num_attention_heads: 28,
            num_key_value_heads: 4,
            head_dim: 128,
            intermediate_size: 18_944,
            tie_word_embeddings: false,
            ..QWEN
        },
        spread: 0.02,
    },
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shapes_have_as_many_weights_as_their_makers_say() {
        // Numbers of parameters in the published files.
        let published = [134_515_008, 494_032_768, 1_543_714_304, 7_615_616_512];
        for (shape, published) in KNOWN_SHAPES.iter().zip(published) {
            shape.config.check().unwrap();
            assert_eq!(shape.config.parameters(), published, "{}", shape.name);
        }
    }
}
