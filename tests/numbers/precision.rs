//! Compares the tiny models of `tests/goldens` in bf16 and f16 with themselves in f32.

use candle_core::{D, DType, Tensor};
use grpo_2048::config::{Config, GrpoConfig, ModelConfig, PrecisionChoice, RolloutConfig};
use grpo_2048::groups::Groups;
use grpo_2048::grpo::{self, Batch, Gradients, Optimizer};
use grpo_2048::policy::{Adapters, Policy};
use grpo_2048::seed::Seed;
use grpo_tensor::{self as kernels, ScoreSettings};

use crate::tiny::{completion, device, prompt, tiny, tiny_in, values};

const FAMILIES: [&str; 3] = ["llama", "qwen2", "qwen3"];

/// The relative rounding error of a format, half a unit in the last place.
fn unit(precision: PrecisionChoice) -> f32 {
    if precision == PrecisionChoice::Bf16 { 1.0 / 256.0 } else { 1.0 / 2048.0 }
}

/// Runs `check` for every model family, with all weights trained and with adapters, in bf16 and f16, with the model in
/// f32.
fn everywhere(check: impl Fn(&str, f32, &Policy, &Policy)) {
    for family in FAMILIES {
        for adapted in [false, true] {
            for precision in [PrecisionChoice::Bf16, PrecisionChoice::F16] {
                let name = format!("{family}{} in {precision:?}", if adapted { " with LoRA" } else { "" });
                check(&name, unit(precision), &tiny_in(family, adapted, precision), &tiny(family, adapted));
            }
        }
    }
}

fn ids() -> Tensor {
    let ids: Vec<u32> = (0..3 * 12).map(|place| (place * 7 + place * place) % 32).collect();
    Tensor::from_vec(ids, (3, 12), device()).unwrap()
}

fn root_mean_square(values: impl ExactSizeIterator<Item = f32>) -> f32 {
    let count = values.len() as f32;
    (values.map(|value| value * value).sum::<f32>() / count).sqrt()
}

/// Root mean square of the difference relative to that of the expected values.
fn relative(found: &Tensor, expected: &Tensor) -> f32 {
    assert_eq!(found.dims(), expected.dims());
    let (found, expected) = (values(found), values(expected));
    let off = root_mean_square(found.iter().zip(&expected).map(|(a, b)| a - b).collect::<Vec<_>>().into_iter());
    off / root_mean_square(expected.into_iter()).max(f32::MIN_POSITIVE)
}

// The errors are measured in relative rounding errors. The limits are about the errors of PyTorch and PEFT in the same
// formats with the same models and tokens: logits 2.3 to 5.2, all gradients together 4.0 to 17.8, one gradient up to
// 28.4.

fn logits(policy: &Policy) -> Tensor {
    policy.decoder().logits(&policy.decoder().hidden(&ids(), Adapters::On).unwrap()).unwrap()
}

#[test]
fn logits_are_f32_and_off_by_a_few_roundings() {
    everywhere(|name, unit, narrow, exact| {
        let found = logits(narrow);
        assert_eq!(found.dtype(), DType::F32);
        let found = relative(&found, &logits(exact)) / unit;
        println!("{name}: logits are off by {found:.2} roundings");
        assert!(found < 4.0, "{name}: logits are off by {found} roundings");
    });
}

/// Gradients of the mean negative log-probability of every token after the first.
fn gradients(policy: &Policy) -> Gradients {
    let (decoder, ids) = (policy.decoder(), ids());
    let (rows, steps) = ids.dims2().unwrap();
    let hidden = decoder.hidden(&ids, Adapters::On).unwrap().narrow(1, 0, steps - 1).unwrap();
    let hidden = hidden.reshape((rows * (steps - 1), ())).unwrap();
    let targets = ids.narrow(1, 1, steps - 1).unwrap().flatten_all().unwrap();
    let (logp, _) = decoder.score(&hidden, &targets, ScoreSettings { temperature: 1.0, logit_bytes: 0 }).unwrap();
    // The loss is scaled, as f16 requires.
    let loss = (logp.mean(D::Minus1).unwrap().neg().unwrap() * 65_536.0).unwrap();
    grpo::gradients(&loss, policy.trainable()).unwrap()
}

#[test]
fn gradients_of_what_is_trained_are_f32_and_off_by_a_few_roundings() {
    everywhere(|name, unit, narrow, exact| {
        let (found, expected) = (gradients(narrow), gradients(exact));
        let (mut worst, mut squares) = ((0.0, ""), [0.0; 2]);
        for (variable, gradient) in &found {
            assert!(gradient.dtype() == DType::F32 && narrow.trainable()[variable].dtype() == DType::F32, "{variable}");
            let off = relative(gradient, &expected[variable]) / unit;
            worst = if off > worst.0 { (off, variable) } else { worst };
            let square = expected[variable].sqr().unwrap().sum_all().unwrap().to_scalar::<f32>().unwrap();
            squares = [squares[0] + off * off * square, squares[1] + square];
        }
        let all = (squares[0] / squares[1]).sqrt();
        println!("{name}: gradients are off by {all:.2} roundings, {} by {:.2}", worst.1, worst.0);
        assert!(all < 18.0, "{name}: gradients are off by {all} roundings");
        assert!(worst.0 < 48.0, "{name}: the gradient of {} is off by {} roundings", worst.1, worst.0);
    });
}

/// Log-probabilities of each next token in nats: with the cache, one token at a time, and as in an update.
fn sampled_and_scored(policy: &Policy, ids: &Tensor) -> (Vec<f32>, Vec<f32>) {
    const PROMPT: usize = 3;
    let decoder = policy.decoder();
    let (rows, steps) = ids.dims2().unwrap();
    let all = ids.to_vec2::<u32>().unwrap();
    let mut cache = decoder.new_cache(rows, steps).unwrap();
    let prompts: Vec<&[u32]> = all.iter().map(|row| &row[..PROMPT]).collect();
    let mut logits = decoder.prefill(&prompts, &mut cache).unwrap();
    let mut sampled = Vec::new();
    for place in PROMPT..steps {
        assert_eq!(logits.dtype(), DType::F32);
        let next = ids.narrow(1, place, 1).unwrap().flatten_all().unwrap();
        sampled.push(kernels::token_log_probs(&logits, &next).unwrap().0);
        let next: Vec<&[u32]> = all.iter().map(|row| &row[place..=place]).collect();
        logits = decoder.feed(&next, &mut cache).unwrap();
    }
    let sampled = Tensor::stack(&sampled, 1).unwrap();
    let hidden = decoder.hidden(ids, Adapters::On).unwrap().narrow(1, PROMPT - 1, steps - PROMPT).unwrap();
    let hidden = hidden.flatten_to(1).unwrap();
    let targets = ids.narrow(1, PROMPT, steps - PROMPT).unwrap().flatten_all().unwrap();
    let how = ScoreSettings { temperature: 1.0, logit_bytes: 0 };
    (values(&sampled), values(&decoder.score(&hidden, &targets, how).unwrap().0))
}

#[test]
fn what_is_sampled_is_what_is_scored() {
    everywhere(|name, _, narrow, _| check_sampling(name, narrow, &ids()));
}

/// The built-in model with adapters that are not zero, in each format.
#[test]
fn what_a_trained_model_samples_is_what_is_scored() {
    let ids: Vec<u32> = (0..3 * 60).map(|place| (place * 7 + place * place) % 1000).collect();
    let ids = Tensor::from_vec(ids, (3, 60), device()).unwrap();
    for precision in [PrecisionChoice::F32, PrecisionChoice::Bf16, PrecisionChoice::F16] {
        let settings = ModelConfig { lora_r: 8, precision, ..Config::preset("builtin").unwrap().model };
        let policy = Policy::load(&settings, Seed::root(0), device()).unwrap();
        for var in policy.trainable().values() {
            let wave = Tensor::arange(0_u32, var.elem_count() as u32, device()).unwrap().to_dtype(DType::F32).unwrap();
            let noise = (wave.sin().unwrap() * 0.02).unwrap().reshape(var.shape()).unwrap();
            var.set(&(var.as_detached_tensor() + noise).unwrap()).unwrap();
        }
        check_sampling(&format!("builtin in {precision:?}"), &policy, &ids);
    }
}

fn check_sampling(name: &str, policy: &Policy, ids: &Tensor) {
    let alarm = Config::preset("llm").unwrap().guard.warn_logp_difference as f32;
    let (sampled, scored) = sampled_and_scored(policy, ids);
    let differences: Vec<f32> = sampled.iter().zip(&scored).map(|(a, b)| (a - b).abs()).collect();
    let mean = differences.iter().sum::<f32>() / differences.len() as f32;
    let largest = differences.iter().copied().fold(0.0, f32::max);
    println!("{name}: sampled and scored differ by {mean:.5} nats in the mean, {largest:.5} at most");
    assert!(mean < alarm / 2.0, "{name}: {mean} in the mean, {largest} at most");
}

/// A batch of one group with the tokens of the tiny vocabulary.
fn batch(policy: &Policy, config: &GrpoConfig) -> Batch {
    let rollout = RolloutConfig { num_generations: 2, temperature: 1.0, ..Config::preset("llm").unwrap().rollout };
    assert!(policy.decoder().config().vocab_size > 31);
    let of = |ids: &[u32]| completion(ids, vec![-3.0; ids.len()]);
    let completions = Groups::new(2, vec![of(&[7, 7, 1, 19, 28, 6]), of(&[12, 0, 31, 8])]);
    Batch::new(&[prompt(0, &[3, 17, 5])], completions.each_ref(), Groups::new(2, vec![1.0, -1.0]), &rollout, config)
}

#[test]
fn updates_in_half_formats_follow_those_in_f32() {
    let config = GrpoConfig { num_iterations: 2, entropy_coef: 0.01, beta: 0.0, ..Config::preset("llm").unwrap().grpo };
    everywhere(|name, unit, narrow, exact| {
        let update = |policy: &Policy| {
            let optimizer = Optimizer::new(policy.trainable(), &config).unwrap();
            let mut optimizer = optimizer.in_precision(policy.decoder().precision());
            let batch = batch(policy, &config);
            grpo::update(policy, &mut optimizer, &batch, 1e-4, &mut |_, _| ()).unwrap().unwrap()
        };
        let (found, expected) = (update(narrow), update(exact));
        assert_eq!(found.overflowed, 0, "{name}");
        let off = (found.grad_norm / expected.grad_norm - 1.0).abs() as f32;
        assert!(off < 18.0 * unit, "{name}: gradient norm {} beside {}", found.grad_norm, expected.grad_norm);
        assert!((found.entropy - expected.entropy).abs() < f64::from(8.0 * unit), "{name}: {}", found.entropy);
    });
}
