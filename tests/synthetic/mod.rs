//! A model with random weights, and a batch that it could have sampled.

use candle_core::{DType, Device, safetensors};
use grpo_2048::config::{Config, FrozenWeights, ModelConfig, PrecisionChoice};
use grpo_2048::groups::Groups;
use grpo_2048::grpo::Batch;
use grpo_2048::policy::{DecoderConfig, ModelType, Policy, Tokenizer};
use grpo_2048::prompt::Prompt;
use grpo_2048::rollout::{Completion, CompletionId, FinishReason};
use grpo_2048::seed::Seed;

/// Number of tokens of each prompt.
pub const PROMPT: usize = 30;
/// Number of tokens of each completion.
pub const COMPLETION: usize = 120;
/// Number of completions, in two groups.
pub const ROWS: usize = 8;

/// A shape like that of a language model, with most of its weights in the vocabulary.
pub fn shape(model_type: ModelType) -> DecoderConfig {
    DecoderConfig {
        model_type,
        vocab_size: 8_000,
        hidden_size: 96,
        num_hidden_layers: 8,
        num_attention_heads: 6,
        num_key_value_heads: 2,
        head_dim: 16,
        intermediate_size: 256,
        rope_theta: 10_000.0,
        rms_norm_eps: 1e-5,
        tie_word_embeddings: true,
        max_position_embeddings: 512,
        ..DecoderConfig::LLAMA
    }
}

/// A model of this shape, with the same weights on every device and an unused tokenizer. The weights of a packed model
/// are rounded to 16 bits.
pub fn policy(shape: &DecoderConfig, config: &Config, device: &Device) -> Policy {
    let tokenizer = include_str!("tokenizer.json");
    let tokenizer = Tokenizer::from_json(tokenizer, None, Some(r#"{"eos_token_id": 0}"#)).unwrap();
    let policy = Policy::initialise(shape.clone(), tokenizer, Seed::root(1), device).unwrap();
    if config.model.lora_r == 0 {
        return policy;
    }
    let dir = tempfile::tempdir().unwrap();
    policy.save(dir.path()).unwrap();
    if config.model.frozen_weights == FrozenWeights::Packed {
        let file = dir.path().join("model.safetensors");
        let tensors = safetensors::load(&file, device).unwrap().into_iter();
        let rounded = tensors.map(|(name, tensor)| (name, tensor.to_dtype(DType::BF16).unwrap())).collect();
        safetensors::save(&rounded, file).unwrap();
    }
    let settings = ModelConfig { model: dir.path().display().to_string(), ..config.model.clone() };
    Policy::load(&settings, Seed::root(1), device).unwrap()
}

/// Settings of a step with the size of the batch.
pub fn config(lora_r: usize) -> Config {
    let mut config = Config::preset("llm").unwrap();
    config.model.lora_r = lora_r;
    // F32 on every device, because the tests compare the arithmetic and not the rounding of formats.
    config.model.precision = PrecisionChoice::F32;
    config.rollout.groups = 2;
    config.rollout.num_generations = ROWS / 2;
    config.rollout.max_completion_length = COMPLETION;
    config.grpo.elite_coef = 0.0;
    config.train.eval_samples = 0;
    config
}

/// Arbitrary tokens with ids below 1000.
pub fn ids(from: usize, count: usize) -> Vec<u32> {
    (from..from + count).map(|id| (id * 37 % 1_000) as u32).collect()
}

/// Completions with different advantages.
pub fn batch(config: &Config) -> Batch {
    let prompt = |id: u32| Prompt { id, style: "plain".into(), ids: ids(id as usize, PROMPT), ..Prompt::default() };
    let completion = |index: usize| Completion {
        id: CompletionId::new(Seed::root(0), 0),
        ids: ids(100 * index, COMPLETION),
        logprobs: vec![-9.0; COMPLETION],
        text: String::new(),
        finish: FinishReason::Stop,
    };
    let completions = Groups::new(ROWS / 2, (0..ROWS).map(completion).collect());
    let advantages = Groups::new(ROWS / 2, (0..ROWS).map(|index| index as f32 - 3.5).collect());
    Batch::new(&[prompt(0), prompt(1)], completions.each_ref(), advantages, &config.rollout, &config.grpo)
}
