//! Compares learning with torch, transformers and PEFT. `tests/goldens/learning.py` wrote the expected numbers.

use std::collections::BTreeMap;

use candle_core::{DType, Tensor};
use grpo_2048::config::{Config, GrpoConfig, LossType, RolloutConfig};
use grpo_2048::groups::Groups;
use grpo_2048::grpo::{self, AdamW, Batch, Optimizer, UpdateStats};
use grpo_2048::policy::{Adapters, Policy};
use grpo_2048::prompt::Prompt;
use grpo_2048::rollout::Completion;

use crate::tiny::{completion, device, goldens, largest, log_probs, mean_loss, prompt, tiny, values};

/// The settings of the script.
const ADAMW: AdamW = AdamW { beta1: 0.9, beta2: 0.95, epsilon: 1e-8, weight_decay: 0.1, max_grad_norm: 0.5 };
const LEARNING_RATE: f64 = 5e-3;
const PROMPTS: [&[u32]; 2] = [&[3, 17, 5], &[9, 2, 30, 11, 4]];
const COMPLETIONS: [&[u32]; 4] = [&[7, 7, 1, 19, 28, 6], &[12, 0, 31, 8], &[21, 15, 7, 3, 3, 26, 10], &[5, 29]];
const GRPO_STEPS: usize = 5;

/// A tiny model whose weights are all trained, and the same model with an adapter that PEFT wrote.
const KINDS: [(&str, bool); 2] = [("learning.safetensors", false), ("learning_lora.safetensors", true)];

/// Runs `check` for every model family, with all weights trained and with adapters.
fn everywhere(check: impl Fn(&str, &Policy, &BTreeMap<String, Tensor>)) {
    for family in ["llama", "qwen2", "qwen3"] {
        for (file, adapted) in KINDS {
            let expected = candle_core::safetensors::load(goldens().join(family).join(file), device()).unwrap();
            let policy = tiny(family, adapted);
            let name = format!("{family}{}", if adapted { " with LoRA" } else { "" });
            check(&name, &policy, &expected.into_iter().collect());
        }
    }
}

/// The largest difference relative to the largest value.
fn relative(found: &Tensor, expected: &Tensor) -> f32 {
    assert_eq!(found.dims(), expected.dims());
    largest(&(found - expected).unwrap()) / largest(expected).max(f32::MIN_POSITIVE)
}

fn ids(expected: &BTreeMap<String, Tensor>) -> Tensor {
    expected["ids"].to_dtype(DType::U32).unwrap()
}

/// Compares trained variables with the final ones of the golden run. The tolerance is relative to the change of each.
fn assert_moved_alike(
    name: &str,
    policy: &Policy,
    (start, end): (&[Vec<f32>], &str),
    golden: &BTreeMap<String, Tensor>,
) {
    for ((variable, var), start) in policy.trainable().iter().zip(start) {
        let expected = values(&golden[&format!("{end}.{variable}")]);
        let far = |values: &[f32], from: &[f32]| {
            values.iter().zip(from).fold(0.0_f32, |far, (value, from)| far.max((value - from).abs()))
        };
        let (found, moved) = (far(&values(var), &expected), far(&expected, start));
        assert!(found <= 1e-3 * moved, "{name}: {end}: {variable} ends {found} away, after moving {moved}");
    }
}

fn start(policy: &Policy) -> Vec<Vec<f32>> {
    policy.trainable().values().map(|var| values(var)).collect()
}

#[test]
fn log_probabilities_and_every_gradient_are_those_of_torch() {
    everywhere(|name, policy, golden| {
        let found = relative(&log_probs(policy, &ids(golden)), &golden["logp"]);
        assert!(found < 1e-5, "{name}: log-probabilities differ by {found}");
        let gradients = grpo::gradients(&mean_loss(policy, &ids(golden)), policy.trainable()).unwrap();
        assert_eq!(gradients.len(), golden.keys().filter(|key| key.starts_with("grad.")).count(), "{name}");
        for (variable, gradient) in gradients {
            let found = relative(&gradient, &golden[&format!("grad.{variable}")]);
            assert!(found < 1e-4, "{name}: gradient of {variable} differs by {found}");
        }
    });
}

#[test]
fn ten_steps_of_adamw_are_those_of_torch() {
    everywhere(|name, policy, golden| {
        let start = start(policy);
        let mut optimizer = Optimizer::new(policy.trainable(), ADAMW).unwrap();
        for (loss, norm) in values(&golden["adamw_losses"]).into_iter().zip(values(&golden["adamw_norms"])) {
            let found = mean_loss(policy, &ids(golden));
            let gradients = grpo::gradients(&found, policy.trainable()).unwrap();
            let found = (f64::from(found.to_scalar::<f32>().unwrap()), {
                optimizer.apply(policy.trainable(), &gradients, LEARNING_RATE).unwrap().unwrap()
            });
            assert!((found.0 / f64::from(loss) - 1.0).abs() < 1e-5, "{name}: loss {} is not {loss}", found.0);
            assert!((found.1 / f64::from(norm) - 1.0).abs() < 1e-4, "{name}: norm {} is not {norm}", found.1);
        }
        assert_moved_alike(name, policy, (&start, "adamw"), golden);
    });
}

fn settings() -> (RolloutConfig, GrpoConfig) {
    let config = Config::preset("builtin").unwrap();
    let rollout = RolloutConfig { temperature: 0.8, num_generations: 2, ..config.rollout };
    let grpo = GrpoConfig {
        adam_beta1: ADAMW.beta1,
        adam_beta2: ADAMW.beta2,
        adam_epsilon: ADAMW.epsilon,
        weight_decay: ADAMW.weight_decay,
        max_grad_norm: ADAMW.max_grad_norm,
        epsilon: 0.2,
        epsilon_high: 0.28,
        beta: 0.05,
        entropy_coef: 0.01,
        loss_type: LossType::Dapo,
        num_iterations: 2,
        mask_truncated_completions: false,
        micro_batch: 3,
        ..config.grpo
    };
    (rollout, grpo)
}

/// The completions of one step. `sampled` has the log-probabilities of all tokens, one completion after the other.
fn sampled(advantages: &Tensor, sampled: &Tensor) -> (Groups<Completion>, Groups<f32>) {
    let mut logprobs = values(sampled).into_iter();
    let completions = COMPLETIONS.map(|ids| completion(ids, logprobs.by_ref().take(ids.len()).collect()));
    (Groups::new(2, completions.to_vec()), Groups::new(2, values(advantages)))
}

#[test]
fn five_steps_of_grpo_are_those_of_torch() {
    let (rollout, config) = settings();
    let prompts: Vec<Prompt> = (0..).zip(PROMPTS).map(|(id, ids)| prompt(id, ids)).collect();
    everywhere(|name, policy, golden| {
        let start = start(policy);
        let frozen = policy.frozen_decoder().unwrap();
        let (reference, adapters) =
            if name.ends_with("LoRA") { (policy.decoder(), Adapters::Off) } else { (&frozen, Adapters::On) };
        let mut optimizer = Optimizer::new(policy.trainable(), &config).unwrap();
        for step in 0..GRPO_STEPS {
            let of_step = |key: &str| golden[key].get(step).unwrap();
            let (completions, advantages) = sampled(&of_step("advantages"), &of_step("sampled"));
            let batch = Batch::new(&prompts, completions.each_ref(), advantages, &rollout, &config);
            let logprobs = grpo::reference_logprobs(reference, adapters.clone(), &batch).unwrap();
            let batch = batch.with_reference(logprobs);
            let stats = grpo::update(policy, &mut optimizer, &batch, LEARNING_RATE, &mut |_, _| ()).unwrap().unwrap();
            let UpdateStats { loss, grad_norm, entropy, kl, clip_ratio_low, clip_ratio_high, .. } = stats;
            let found = [loss, grad_norm, entropy, kl.unwrap(), clip_ratio_low, clip_ratio_high];
            for (found, expected) in found.into_iter().zip(values(&of_step("grpo_records"))) {
                let difference = (found - f64::from(expected)).abs();
                assert!(difference < 2e-5 * f64::from(expected.abs().max(1.0)), "{name}: step {step}: {stats:?}");
            }
        }
        assert_moved_alike(name, policy, (&start, "grpo"), golden);
    });
}
