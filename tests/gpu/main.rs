//! Tests that a GPU computes the same numbers as the processor. Without a GPU each test prints so and passes, or fails
//! if GPU_CHECK=1 is set.

mod memory;
mod precision;
#[path = "../synthetic/mod.rs"]
mod synthetic;

use std::collections::BTreeMap;

use candle_core::{DType, Device, Tensor, Var};
use grpo_2048::config::{Config, PrecisionChoice};
use grpo_2048::grpo::{self, Optimizer, UpdateStats};
use grpo_2048::policy::{
    Adapters, CHUNK, DecoderConfig, Drawing, ModelType, Policy, device_memory, examine_cuda, open_device,
};
use grpo_tensor::ScoreSettings;

use synthetic::{COMPLETION, ROWS, batch, config, ids, policy, shape};

/// The model families, which differ by biases and norms of the queries.
const FAMILIES: [ModelType; 3] = [ModelType::Llama, ModelType::Qwen2, ModelType::Qwen3];

/// Small enough for an emulated GPU.
fn small(family: ModelType) -> DecoderConfig {
    DecoderConfig { vocab_size: 1_000, num_hidden_layers: 3, ..shape(family) }
}

fn gpu() -> Option<Device> {
    match open_device("cuda") {
        Ok((device, _)) => Some(device),
        Err(error) => {
            let asked = std::env::var("GPU_CHECK").is_ok_and(|value| value == "1");
            assert!(!asked, "GPU_CHECK=1 and no GPU: {error}");
            eprintln!("no GPU: not run ({error})");
            None
        }
    }
}

fn numbers(tensor: &Tensor) -> Vec<f32> {
    tensor.to_dtype(DType::F32).unwrap().flatten_all().unwrap().to_vec1().unwrap()
}

/// The largest difference relative to the largest number.
fn difference(here: &Tensor, there: &Tensor) -> f32 {
    assert_eq!(here.dims(), there.dims());
    let (here, there) = (numbers(here), numbers(there));
    assert!(there.iter().all(|number| number.is_finite()));
    let largest =
        |numbers: &mut dyn Iterator<Item = f32>| numbers.fold(0.0, |most, number| f32::max(most, number.abs()));
    largest(&mut here.iter().zip(&there).map(|(a, b)| a - b)) / largest(&mut here.iter().copied())
}

/// Rows of token ids.
fn tokens(rows: usize, count: usize, device: &Device) -> Tensor {
    let all = (0..rows).flat_map(|row| ids(50 * row, count)).collect::<Vec<_>>();
    Tensor::from_vec(all, (rows, count), device).unwrap()
}

/// Settings of a step in bf16.
fn config_in_bf16() -> Config {
    let mut config = config(8);
    config.model.precision = PrecisionChoice::Bf16;
    config
}

/// Compares the logits of every family, with hidden states of this type.
fn expect_logits_of_the_processor(config: &Config, dtype: DType, tolerance: f32) {
    let Some(gpu) = gpu() else { return };
    for family in FAMILIES {
        let logits = |device: &Device| {
            let policy = policy(&small(family), config, device);
            let hidden = policy.decoder().hidden(&tokens(3, 40, device), Adapters::On).unwrap();
            assert_eq!(hidden.dtype(), dtype);
            policy.decoder().logits(&hidden).unwrap()
        };
        let found = difference(&logits(&Device::Cpu), &logits(&gpu));
        assert!(found < tolerance, "{family}: logits differ by {found}");
    }
}

#[test]
fn logits_are_those_of_the_processor() {
    expect_logits_of_the_processor(&config(8), DType::F32, 1e-4);
}

/// Tolerance of bf16, which rounds differently if sums have another order.
#[test]
fn logits_in_bf16_are_those_of_the_processor_but_for_a_few_roundings() {
    expect_logits_of_the_processor(&config_in_bf16(), DType::BF16, 8.0 / 256.0);
}

#[test]
fn log_probabilities_and_entropies_are_those_of_the_processor() {
    let Some(gpu) = gpu() else { return };
    for family in FAMILIES {
        let scored = |device: &Device| {
            let policy = policy(&small(family), &config(8), device);
            let decoder = policy.decoder();
            let ids = tokens(3, 40, device);
            let hidden = decoder.hidden(&ids, Adapters::On).unwrap().narrow(1, 0, 39).unwrap();
            let hidden = hidden.reshape((3 * 39, ())).unwrap();
            let targets = ids.narrow(1, 1, 39).unwrap().flatten_all().unwrap();
            decoder.score(&hidden, &targets, ScoreSettings { temperature: 0.8, logit_bytes: 1 << 20 }).unwrap()
        };
        let (here, there) = (scored(&Device::Cpu), scored(&gpu));
        let found = [difference(&here.0, &there.0), difference(&here.1, &there.1)];
        assert!(
            found.iter().all(|&found| found < 1e-4),
            "{family}: log-probabilities and entropies differ by {found:?}"
        );
    }
}

#[test]
fn decoding_with_a_cache_is_that_of_the_processor() {
    let Some(gpu) = gpu() else { return };
    for family in FAMILIES {
        // The prompts have different lengths, so that padding matters.
        let decoded = |device: &Device| {
            let policy = policy(&small(family), &config(8), device);
            let decoder = policy.decoder();
            let mut cache = decoder.new_cache(2, 64).unwrap();
            let mut logits = vec![decoder.prefill(&[&ids(0, 20), &ids(7, 11)], &mut cache).unwrap()];
            for step in 0..6 {
                logits.push(decoder.feed(&[&ids(step, 1), &ids(step + 9, 1)], &mut cache).unwrap());
            }
            Tensor::cat(&logits, 0).unwrap()
        };
        let found = difference(&decoded(&Device::Cpu), &decoded(&gpu));
        assert!(found < 1e-4, "{family}: logits of decoding differ by {found}");
    }
}

#[test]
fn tokens_drawn_on_the_gpu_are_those_that_their_numbers_fall_on() {
    let Some(gpu) = gpu() else { return };
    let prompts = [ids(0, 20), ids(7, 11)];
    let prompts: Vec<&[u32]> = prompts.iter().map(Vec::as_slice).collect();
    let drawing = Drawing { copies: 3, longest: 2 * CHUNK + 4, temperature: 0.9, record: true };
    for family in FAMILIES {
        let [here, there] = [&Device::Cpu, &gpu].map(|device| policy(&small(family), &config(8), device));
        let weights = there.decoder().snapshot().unwrap();
        let mut batch = there.decoder().device_batch(&weights, &prompts, drawing).unwrap().expect("a supported shape");
        let mut cache = here.decoder().new_cache(2, 20 + drawing.longest).unwrap();
        let logits = here.decoder().prefill(&prompts, &mut cache).unwrap();
        cache.select(&[0, 0, 0, 1, 1, 1]).unwrap();
        let mut logits = logits.index_select(&Tensor::new(&[0u32, 0, 0, 1, 1, 1], &Device::Cpu).unwrap(), 0).unwrap();
        // The first token runs without a CUDA graph, the others with one; then the same with fewer rows.
        for (number, count) in [CHUNK, CHUNK, 4].into_iter().enumerate() {
            if number == 2 {
                let order = batch.keep(&[1, 4, 5]).unwrap();
                cache.select(&order).unwrap();
                let order: Vec<u32> = order.iter().map(|row| *row as u32).collect();
                logits = logits.index_select(&Tensor::new(order, &Device::Cpu).unwrap(), 0).unwrap();
            }
            let uniforms: Vec<f64> =
                (0..batch.rows() * count).map(|i| ((i * 7919 + number * 104_729) % 1000) as f64 / 1000.0).collect();
            batch.enqueue(count, &uniforms).unwrap();
            let drawn = batch.collect().unwrap().unwrap();
            for place in 0..count {
                let expected = candle_nn::ops::log_softmax(&(&logits / 0.9).unwrap(), 1).unwrap();
                let tokens: Vec<u32> = drawn.tokens.iter().map(|row| row[place].expect("finite logits")).collect();
                for (row, logps) in expected.to_vec2::<f32>().unwrap().into_iter().enumerate() {
                    let (token, uniform) = (tokens[row] as usize, uniforms[row * count + place]);
                    let found = drawn.logprobs[row][place];
                    assert!((found - logps[token]).abs() < 1e-3, "{family}: {found} is not {}", logps[token]);
                    let below: f64 = logps[..token].iter().map(|logp| f64::from(*logp).exp()).sum();
                    let above = below + f64::from(logps[token]).exp();
                    assert!(
                        below - 1e-3 <= uniform && uniform <= above + 1e-3,
                        "{family}: {uniform}, {below}..{above}"
                    );
                }
                logits = here.decoder().feed(&tokens.chunks(1).collect::<Vec<_>>(), &mut cache).unwrap();
            }
        }
    }
}

/// The trained variables, by name.
type Trained = Vec<(String, Vec<f32>)>;

/// The change of each variable by an update.
fn moved(policy: &Policy, before: &Trained) -> Trained {
    let after = weights(policy);
    let moved = before.iter().zip(after).map(|((_, before), (name, after))| {
        (name, before.iter().zip(&after).map(|(before, after)| after - before).collect())
    });
    moved.collect()
}

fn weights(policy: &Policy) -> Trained {
    policy.trainable().iter().map(|(name, var)| (name.clone(), numbers(var))).collect()
}

/// Compares what two updates report: they may differ by a share of each number, and a little more.
fn expect_alike(name: &str, here: &UpdateStats, there: &UpdateStats, share: f64, more: f64) {
    for (what, here, there) in [
        ("loss", here.loss, there.loss),
        ("norm of the gradient", here.grad_norm, there.grad_norm),
        ("entropy", here.entropy, there.entropy),
    ] {
        assert!((here - there).abs() <= share * here.abs() + more, "{name}: {what} {here} became {there}");
    }
}

/// Makes two updates, because B is zero at first, so that the first update does not change A.
fn updated_twice(policy: &Policy, config: &Config) -> [UpdateStats; 2] {
    let mut optimizer = Optimizer::new(policy.trainable(), &config.grpo).unwrap();
    let mut update = || grpo::update(policy, &mut optimizer, &batch(config), 1e-3, &mut |_, _| ());
    [update().unwrap().unwrap(), update().unwrap().unwrap()]
}

#[test]
fn an_update_is_that_of_the_processor() {
    let Some(gpu) = gpu() else { return };
    for family in FAMILIES {
        for lora_r in [8, 0] {
            let config = config(lora_r);
            let updated = |device: &Device| {
                let policy = policy(&small(family), &config, device);
                let before = weights(&policy);
                (updated_twice(&policy, &config), moved(&policy, &before))
            };
            let (here, there) = (updated(&Device::Cpu), updated(&gpu));
            for (here, there) in here.0.iter().zip(&there.0) {
                expect_alike(&format!("{family}, rank {lora_r}"), here, there, 2e-3, 1e-5);
            }
            for ((name, here), (_, there)) in here.1.iter().zip(&there.1) {
                // Adam divides by the size of the gradient, so single weights with very small gradients may change in
                // either direction.
                let sum = |numbers: &mut dyn Iterator<Item = f32>| numbers.map(f32::abs).sum::<f32>();
                let apart = sum(&mut here.iter().zip(there).map(|(a, b)| a - b)) / sum(&mut here.iter().copied());
                assert!(apart < 0.02, "{family}, rank {lora_r}: {name} moved elsewhere by {apart}");
            }
        }
    }
    assert_eq!(ROWS * COMPLETION, 960, "as many tokens as the tolerances were chosen for");
}

/// Root mean square of the difference relative to that of the numbers.
fn apart(here: &[f32], there: &[f32]) -> f64 {
    let square = |numbers: &mut dyn Iterator<Item = f32>| numbers.map(|x| f64::from(x).powi(2)).sum::<f64>();
    assert!(here.len() == there.len() && there.iter().all(|number| number.is_finite()));
    (square(&mut here.iter().zip(there).map(|(a, b)| a - b)) / square(&mut here.iter().copied())).sqrt()
}

/// Sets B of all adapters to numbers from `-most` to `most`.
fn fill_adapters(policy: &Policy, most: f32, device: &Device) {
    for (name, var) in policy.trainable().iter().filter(|(name, _)| name.contains("lora_B")) {
        let values = (0..var.elem_count()).map(|i| ((i * 37 + name.len()) % 101) as f32 / 50.0 * most - most);
        let values = Tensor::from_vec(values.collect::<Vec<f32>>(), var.shape(), device).unwrap();
        var.set(&values).unwrap();
    }
}

/// Numbers of sequences and tokens that are unfavourable for kernels: with one block of attention, and with two.
const LENGTHS: [(usize, usize); 2] = [(3, 37), (1, 261)];

/// The log-probabilities, in nats, of this number of sequences and tokens, and the gradients of the trained variables.
fn scored(
    device: &Device,
    config: &Config,
    family: ModelType,
    (rows, count): (usize, usize),
) -> BTreeMap<String, Vec<f32>> {
    let policy = policy(&small(family), config, device);
    let (decoder, ids) = (policy.decoder(), tokens(rows, count, device));
    // A has no gradient if B is zero.
    fill_adapters(&policy, 0.01, device);
    let hidden = decoder.hidden(&ids, Adapters::On).unwrap().reshape((rows * count, ())).unwrap();
    let how = ScoreSettings { temperature: 0.8, logit_bytes: 1 << 24 };
    let (logp, entropy) = decoder.score(&hidden, &ids.flatten_all().unwrap(), how).unwrap();
    let uneven = (0..rows * count).map(|i| 0.2 + (i * 7 % 5) as f32).collect::<Vec<f32>>();
    let uneven = Tensor::from_vec(uneven, rows * count, device).unwrap();
    let gradients = ((&logp + entropy).unwrap() * uneven).unwrap().sum_all().unwrap().backward().unwrap();
    let of = |(name, var): (&String, &Var)| (name.clone(), numbers(gradients.get(var).expect("a gradient")));
    let mut found: BTreeMap<String, Vec<f32>> = policy.trainable().iter().map(of).collect();
    found.insert("log-probabilities".to_owned(), numbers(&logp));
    found
}

#[test]
fn every_gradient_is_that_of_the_processor() {
    let Some(gpu) = gpu() else { return };
    for family in FAMILIES {
        for (lora_r, lengths) in [(8, LENGTHS[0]), (8, LENGTHS[1]), (0, LENGTHS[0])] {
            let [here, there] = [&Device::Cpu, &gpu].map(|device| scored(device, &config(lora_r), family, lengths));
            for (name, here) in &here {
                let found = apart(here, &there[name]);
                assert!(found < 1e-3, "{family}, rank {lora_r}, {lengths:?}: {name} is {found} apart");
            }
        }
    }
}

/// The error of bf16 relative to f32 is about the same on a GPU as on the processor.
#[test]
fn gradients_in_bf16_are_as_near_to_f32_as_those_of_the_processor() {
    let Some(gpu) = gpu() else { return };
    for family in FAMILIES {
        for lengths in LENGTHS {
            let half = config_in_bf16();
            let exact = scored(&Device::Cpu, &config(8), family, lengths);
            let [here, there] = [&Device::Cpu, &gpu].map(|device| scored(device, &half, family, lengths));
            for (name, exact) in &exact {
                let (here, there) = (apart(exact, &here[name]), apart(exact, &there[name]));
                assert!(
                    there < 2.0 * here + 4e-3,
                    "{family}, {lengths:?}: {name} is {there} apart, {here} on the processor"
                );
            }
        }
    }
}

#[test]
fn an_update_repeats_bit_for_bit() {
    let Some(gpu) = gpu() else { return };
    for config in [config(8), config_in_bf16()] {
        let run = || scored(&gpu, &config, ModelType::Qwen2, LENGTHS[1]);
        assert!(run() == run(), "{:?}", config.model.precision);
    }
}

#[test]
fn an_update_in_bf16_is_that_of_the_processor_but_for_roundings() {
    let Some(gpu) = gpu() else { return };
    for family in FAMILIES {
        let config = config_in_bf16();
        let updated = |device: &Device| updated_twice(&policy(&small(family), &config, device), &config);
        for (here, there) in updated(&Device::Cpu).iter().zip(&updated(&gpu)) {
            expect_alike(&family.to_string(), here, there, 0.05, 1e-3);
        }
    }
}

#[test]
fn a_gpu_that_is_full_says_so_and_works_on() {
    let Some(gpu) = gpu() else { return };
    let memory = device_memory(&gpu).unwrap().unwrap();
    assert!(memory.free <= memory.total && memory.total > 1 << 30, "{memory:?}");
    let too_many = (memory.total / 2) as usize;
    let refused = Tensor::zeros(too_many, DType::F32, &gpu).unwrap_err().to_string();
    assert!(refused.contains("OUT_OF_MEMORY"), "{refused}");
    let sum = Tensor::ones(1000, DType::F32, &gpu).unwrap().sum_all().unwrap();
    assert_eq!(sum.to_scalar::<f32>().unwrap(), 1000.0);
}

#[test]
fn what_is_missing_is_an_error_and_no_end_of_the_program() {
    let examination = examine_cuda().expect("a build with CUDA");
    assert!(examination.kernels.is_some(), "kernels say what they are for");
    let opened = open_device("cuda");
    assert_eq!(opened.is_ok(), examination.check(0).is_ok());
    if let Err(error) = opened {
        // Code that calls the libraries without checking that they exist must get their error codes.
        let refused = Device::new_cuda(0).map(drop).unwrap_err().to_string();
        assert!(!refused.is_empty() && !error.to_string().is_empty());
        let (device, fallback) = open_device("auto").unwrap();
        assert!(device.is_cpu() && fallback.is_some());
    }
    let (device, fallback) = open_device("cpu").unwrap();
    assert!(device.is_cpu() && fallback.is_none());
}
