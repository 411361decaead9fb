//! The tiny models of `tests/goldens`.

use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use candle_core::{D, Device, Tensor};
use grpo_2048::config::{Config, ModelConfig, PrecisionChoice};
use grpo_2048::policy::{Adapters, Policy, open_device};
use grpo_2048::prompt::Prompt;
use grpo_2048::rollout::{Completion, CompletionId, FinishReason};
use grpo_2048::seed::Seed;
use grpo_tensor as kernels;

/// Their device: the processor, or the device in `GRPO_2048_TEST_DEVICE`.
pub fn device() -> &'static Device {
    static DEVICE: OnceLock<Device> = OnceLock::new();
    DEVICE.get_or_init(|| {
        let name = std::env::var("GRPO_2048_TEST_DEVICE").unwrap_or_else(|_| "cpu".into());
        open_device(&name).unwrap_or_else(|error| panic!("GRPO_2048_TEST_DEVICE={name}: {error}")).0
    })
}

/// The directory of the models.
pub fn goldens() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/goldens")
}

/// A tiny model in f32, with the adapter that PEFT wrote or with all weights trained, and with an unused tokenizer.
pub fn tiny(family: &str, adapted: bool) -> Policy {
    tiny_in(family, adapted, PrecisionChoice::F32)
}

/// The same in another precision.
pub fn tiny_in(family: &str, adapted: bool, precision: PrecisionChoice) -> Policy {
    let dir = tempfile::tempdir().unwrap();
    for file in ["config.json", "model.safetensors"] {
        std::fs::copy(goldens().join(family).join(file), dir.path().join(file)).unwrap();
    }
    std::fs::write(dir.path().join("tokenizer.json"), include_str!("../synthetic/tokenizer.json")).unwrap();
    let adapter = if adapted { goldens().join(family).join("adapter").display().to_string() } else { String::new() };
    let model = dir.path().display().to_string();
    let settings = ModelConfig { model, adapter, precision, ..Config::preset("builtin").unwrap().model };
    Policy::load(&settings, Seed::root(0), device()).unwrap()
}

/// A prompt of these tokens.
pub fn prompt(id: u32, ids: &[u32]) -> Prompt {
    Prompt { id, style: "plain".into(), ids: ids.to_vec(), ..Prompt::default() }
}

/// A completion of these tokens, with their log-probabilities when they were sampled, in nats.
pub fn completion(ids: &[u32], logprobs: Vec<f32>) -> Completion {
    Completion {
        id: CompletionId::new(Seed::root(0), 0),
        ids: ids.to_vec(),
        logprobs,
        text: String::new(),
        finish: FinishReason::Stop,
    }
}

pub fn values(tensor: &Tensor) -> Vec<f32> {
    tensor.flatten_all().unwrap().to_vec1().unwrap()
}

/// The largest magnitude.
pub fn largest(tensor: &Tensor) -> f32 {
    tensor.abs().unwrap().flatten_all().unwrap().max(0).unwrap().to_scalar().unwrap()
}

/// Log-probabilities of every token after the first, in nats, `(B, T - 1)`, differentiable.
pub fn log_probs(policy: &Policy, ids: &Tensor) -> Tensor {
    let (rows, steps) = ids.dims2().unwrap();
    let logits = policy.decoder().logits(&policy.decoder().hidden(ids, Adapters::On).unwrap()).unwrap();
    let before = logits.narrow(1, 0, steps - 1).unwrap().reshape((rows * (steps - 1), ())).unwrap();
    let targets = ids.narrow(1, 1, steps - 1).unwrap().flatten_all().unwrap();
    let (logp, _) = kernels::token_log_probs(&before, &targets).unwrap();
    logp.reshape((rows, steps - 1)).unwrap()
}

pub fn mean_loss(policy: &Policy, ids: &Tensor) -> Tensor {
    log_probs(policy, ids).flatten_all().unwrap().mean(D::Minus1).unwrap().neg().unwrap()
}
