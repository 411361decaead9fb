//! Compares the decoder with transformers and torch. The scripts in `tests/goldens` wrote the expected numbers.

use std::collections::BTreeMap;
use std::path::Path;

use candle_core::{D, Tensor};
use grpo_2048::config::{Config, ModelConfig};
use grpo_2048::policy::{Adapters, Policy};
use grpo_2048::seed::Seed;

use crate::tiny::{device, goldens, largest, mean_loss, tiny};

fn largest_difference(a: &Tensor, b: &Tensor) -> f32 {
    assert_eq!(a.dims(), b.dims());
    largest(&(a - b).unwrap())
}

#[test]
fn logits_losses_and_gradients_are_those_of_torch() {
    for family in ["llama", "qwen2", "qwen3", "mistral", "phi3", "gemma2", "gemma3", "qwen3_moe"] {
        let expected = goldens().join(family).join("expected.safetensors");
        let expected: BTreeMap<String, Tensor> =
            candle_core::safetensors::load(expected, device()).unwrap().into_iter().collect();
        let policy = tiny(family, false);
        let ids = expected["ids"].to_dtype(candle_core::DType::U32).unwrap();
        let logits = policy.decoder().logits(&policy.decoder().hidden(&ids, Adapters::On).unwrap()).unwrap();
        let found = largest_difference(&logits, &expected["logits"]);
        assert!(found < 1e-4, "{family}: logits differ by {found}");
        let loss = mean_loss(&policy, &ids);
        let found = (loss.to_scalar::<f32>().unwrap() - expected["loss"].to_vec1::<f32>().unwrap()[0]).abs();
        assert!(found < 1e-5, "{family}: loss differs by {found}");
        let gradients = loss.backward().unwrap();
        for (name, var) in policy.trainable() {
            let gradient = gradients.get(var).unwrap_or_else(|| panic!("{family}: {name} has no gradient"));
            let found = largest_difference(gradient, &expected[&format!("grad.{name}")]);
            assert!(found < 2e-5, "{family}: gradient of {name} differs by {found}");
        }
    }
}

#[derive(serde::Deserialize)]
struct Continuation {
    prompt: String,
    prompt_ids: Vec<u32>,
    continuation_ids: Vec<u32>,
    continuation: String,
}

#[test]
fn smollm2_continues_greedily_as_in_transformers() {
    let model = Path::new(env!("CARGO_MANIFEST_DIR")).join("models/smollm2/SmolLM2-135M-Instruct.Q4_1.gguf");
    if !model.exists() {
        println!("skipped: {} is not there; `make smollm2` fetches it", model.display());
        return;
    }
    let text = std::fs::read_to_string(goldens().join("smollm2.json")).unwrap();
    let golden: Continuation = serde_json::from_str(&text).unwrap();
    let preset = Config::preset("builtin").unwrap().model;
    let settings = ModelConfig { model: model.display().to_string(), lora_r: 4, ..preset };
    let policy = Policy::load(&settings, Seed::root(0), device()).unwrap();
    let (decoder, tokenizer) = (policy.decoder(), policy.tokenizer());
    assert_eq!(tokenizer.encode(&golden.prompt), golden.prompt_ids);
    let capacity = golden.prompt_ids.len() + golden.continuation_ids.len();
    let mut cache = decoder.new_cache(1, capacity).unwrap();
    let mut logits = decoder.prefill(&[&golden.prompt_ids], &mut cache).unwrap();
    let mut continuation = Vec::new();
    while continuation.len() < golden.continuation_ids.len() {
        let next = logits.argmax(D::Minus1).unwrap().to_vec1::<u32>().unwrap();
        logits = decoder.feed(&[&next], &mut cache).unwrap();
        continuation.extend(next);
    }
    assert_eq!(tokenizer.decode(&continuation), golden.continuation);
    assert_eq!(continuation, golden.continuation_ids);
}
