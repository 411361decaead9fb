//! A tiny policy over an artificial vocabulary, for tests of sampling and learning.

use candle_core::Device;

use crate::config::{Config, RolloutConfig};
use crate::policy::{DecoderConfig, KNOWN_SHAPES, Policy, Tokenizer};
use crate::prompt::Prompt;
use crate::seed::Seed;

/// Number of words. Word `i` is `w{i}` and has the id `i`.
pub const WORDS: usize = 16;
/// The word that ends a completion.
pub const END: u32 = 1;
/// A chat template like SmolLM2's, without its default system message.
pub const CHATML: &str = "{% for message in messages %}{{'<|im_start|>' + message['role'] + '\n' + message['content'] + '<|im_end|>' + '\n'}}{% endfor %}{% if add_generation_prompt %}{{ '<|im_start|>assistant\n' }}{% endif %}";

fn tokenizer(words: usize) -> Tokenizer {
    let vocab: serde_json::Map<String, serde_json::Value> =
        (0..words).map(|word| (format!("w{word}"), word.into())).collect();
    let text = serde_json::json!({
        "version": "1.0", "truncation": null, "padding": null, "added_tokens": [], "normalizer": null,
        "pre_tokenizer": {"type": "WhitespaceSplit"}, "post_processor": null, "decoder": null,
        "model": {"type": "WordLevel", "vocab": vocab, "unk_token": "w0"}
    });
    let generation = format!("{{\"eos_token_id\": {END}}}");
    Tokenizer::from_json(&text.to_string(), None, Some(&generation)).unwrap()
}

/// Grouped queries, two layers, random weights.
pub fn tiny_policy() -> Policy {
    let config = DecoderConfig {
        vocab_size: WORDS,
        hidden_size: 16,
        num_hidden_layers: 2,
        num_attention_heads: 2,
        num_key_value_heads: 1,
        head_dim: 8,
        intermediate_size: 24,
        rope_theta: 10_000.0,
        rms_norm_eps: 1e-5,
        tie_word_embeddings: true,
        max_position_embeddings: 64,
        ..DecoderConfig::LLAMA
    };
    Policy::initialise(config, tokenizer(WORDS), Seed::root(3), &Device::Cpu).unwrap()
}

/// The shape of the built-in model with random weights, for measurements.
pub fn builtin_sized_policy() -> Policy {
    let config = DecoderConfig {
        vocab_size: 768,
        hidden_size: 160,
        num_hidden_layers: 4,
        num_attention_heads: 5,
        num_key_value_heads: 5,
        head_dim: 32,
        intermediate_size: 448,
        max_position_embeddings: 512,
        ..tiny_policy().decoder().config().clone()
    };
    Policy::initialise(config, tokenizer(768), Seed::root(3), &Device::Cpu).unwrap()
}

/// The shape of SmolLM2-135M with random weights and few words, for measurements.
pub fn small_language_model() -> Policy {
    let known = KNOWN_SHAPES.iter().find(|shape| shape.name == "smollm2-135m").expect("a known shape");
    let config = DecoderConfig { vocab_size: 768, max_position_embeddings: 2048, ..known.config.clone() };
    Policy::initialise(config, tokenizer(768), Seed::root(3), &Device::Cpu).unwrap()
}

/// Prompts of unequal length.
pub fn prompts() -> Vec<Prompt> {
    let prompt = |(id, ids): (u32, &[u32])| Prompt {
        id,
        style: "plain".into(),
        text: ids.iter().map(|id| format!("w{id}")).collect::<Vec<_>>().join(" "),
        ids: ids.to_vec(),
        ..Prompt::default()
    };
    [(0, [2u32, 3, 4].as_slice()), (1, &[5, 6, 7, 8, 9, 10])].map(prompt).to_vec()
}

/// Settings for sampling from the whole distribution, up to `longest` tokens, in groups of `size`.
pub fn rollout_config(size: usize, longest: usize) -> RolloutConfig {
    let rollout = Config::preset("builtin").unwrap().rollout;
    RolloutConfig { num_generations: size, max_completion_length: longest, ..rollout }
}
