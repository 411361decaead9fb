//! Tests that a GPU draws tokens in the precision in which it scores them.

use candle_core::{Device, Tensor};
use grpo_2048::config::Tf32;
use grpo_2048::policy::{Adapters, CHUNK, Drawing, ModelType, Policy};
use grpo_tensor::ScoreSettings;

use super::synthetic::{config, ids, policy};
use super::{FAMILIES, config_in_bf16, fill_adapters, gpu, numbers, small};

/// Log-probabilities, in nats, of a chunk of tokens after one prompt: as they were drawn, and as they are scored.
fn drawn_and_scored(policy: &Policy, gpu: &Device) -> [Vec<f32>; 2] {
    let (decoder, prompt) = (policy.decoder(), ids(0, 20));
    let drawing = Drawing { copies: 1, longest: CHUNK, temperature: 1.0, record: true };
    let weights = decoder.snapshot().unwrap();
    let mut batch = decoder.device_batch(&weights, &[&prompt], drawing).unwrap().expect("a supported shape");
    let uniforms: Vec<f64> = (0..CHUNK).map(|place| (place as f64 * 0.618) % 1.0).collect();
    batch.enqueue(CHUNK, &uniforms).unwrap();
    let drawn = batch.collect().unwrap().unwrap();
    let tokens: Vec<u32> = drawn.tokens[0].iter().map(|token| token.expect("finite logits")).collect();
    let all: Vec<u32> = prompt.iter().chain(&tokens).copied().collect();
    let all = Tensor::from_vec(all, (1, prompt.len() + CHUNK), gpu).unwrap();
    let hidden = decoder.hidden(&all, Adapters::On).unwrap().narrow(1, prompt.len() - 1, CHUNK).unwrap();
    let hidden = hidden.reshape((CHUNK, ())).unwrap();
    let targets = Tensor::from_vec(tokens, CHUNK, gpu).unwrap();
    let how = ScoreSettings { temperature: 1.0, logit_bytes: 1 << 20 };
    let scored = decoder.score(&hidden, &targets, how).unwrap().0;
    [drawn.logprobs[0].clone(), numbers(&scored)]
}

fn apart(here: &[f32], there: &[f32]) -> f32 {
    here.iter().zip(there).map(|(here, there)| (here - there).abs()).sum::<f32>() / here.len() as f32
}

/// What rounding to 11 bits moves is moved on both sides. Attention is computed by one kernel as tokens are drawn and by
/// products as they are scored, so that something is left.
#[test]
fn tokens_are_drawn_in_the_precision_in_which_they_are_scored() {
    let Some(gpu) = gpu() else { return };
    let with = |tf32: Tf32| {
        let mut config = config(8);
        config.model.tf32 = tf32;
        drawn_and_scored(&policy(&small(ModelType::Qwen2), &config, &gpu), &gpu)
    };
    let [exact, rounded] = [Tf32::Off, Tf32::On].map(with);
    // Later tests compare numbers of f32.
    with(Tf32::Off);
    let moved = apart(&exact[1], &rounded[1]);
    let (without, with) = (apart(&exact[0], &exact[1]), apart(&rounded[0], &rounded[1]));
    assert!(without < 1e-5, "without TF32 drawn and scored are {without} apart");
    assert!(with < 0.5 * moved, "with TF32 drawn and scored are {with} apart, and TF32 moves scores by {moved}");
}

/// In bf16 adapters are kept apart from the weights, and kernels add their terms.
#[test]
fn tokens_are_drawn_with_the_terms_of_adapters_with_which_they_are_scored() {
    let Some(gpu) = gpu() else { return };
    for family in FAMILIES {
        let policy = policy(&small(family), &config_in_bf16(), &gpu);
        let without = drawn_and_scored(&policy, &gpu);
        fill_adapters(&policy, 0.1, &gpu);
        let with = drawn_and_scored(&policy, &gpu);
        let moved = apart(&with[1], &without[1]);
        let found = apart(&with[0], &with[1]);
        assert!(found < 0.05 && found < 0.2 * moved, "{family}: {found} apart, where adapters move scores by {moved}");
    }
}
