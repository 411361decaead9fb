//! Frozen weights in the blocks of their file: the numbers of a dense model, and what cannot be had.

use std::collections::HashMap;

use super::*;
use crate::Dropout;
use grpo_config::FrozenWeights;
use grpo_tensor::ScoreSettings;

/// A file with every quantisation, with adapters over it that have learned something.
fn model(name: &str, frozen_weights: FrozenWeights) -> Policy {
    let policy = Policy::load(&settings(name, frozen_weights), Seed::root(1), &Device::Cpu).unwrap();
    disturb(&policy, 0.05, 0);
    policy
}

fn settings(name: &str, frozen_weights: FrozenWeights) -> ModelConfig {
    let file = goldens().join("gguf").join(format!("{name}.gguf"));
    ModelConfig { frozen_weights, lora_r: 3, lora_dropout: 0.2, ..settings_of(&file) }
}

fn numbers(tensor: &Tensor) -> Vec<u32> {
    tensor.flatten_all().unwrap().to_vec1::<f32>().unwrap().into_iter().map(f32::to_bits).collect()
}

/// Log-probabilities, entropies and gradients of everything that is trained.
fn update(policy: &Policy, adapters: Adapters) -> Vec<Vec<u32>> {
    let (ids, how) = (ids(3, 21, 5), ScoreSettings { temperature: 0.9, logit_bytes: 0 });
    let targets = Tensor::from_vec(ids.concat(), 3 * 21, &Device::Cpu).unwrap();
    let hidden = policy.decoder().hidden(&Tensor::new(ids, &Device::Cpu).unwrap(), adapters).unwrap();
    let (logp, entropy) = policy.decoder().score(&hidden.reshape((3 * 21, ())).unwrap(), &targets, how).unwrap();
    let gradients = (&logp + &entropy).unwrap().sum_all().unwrap().backward().unwrap();
    let gradients = policy.trainable().values().filter_map(|var| gradients.get(var)).map(numbers);
    [numbers(&logp), numbers(&entropy)].into_iter().chain(gradients).collect()
}

#[test]
fn an_update_over_packed_weights_is_that_over_dense_ones_to_the_last_bit() {
    for name in ["llama-quantised", "qwen2"] {
        let [packed, dense] = [FrozenWeights::Auto, FrozenWeights::Dense].map(|frozen| model(name, frozen));
        assert_eq!(dense.packed_bytes(), None);
        assert!(packed.packed_bytes().unwrap() < 4 * packed.decoder().config().parameters() as u64, "{name}");
        let thinned = Adapters::Thinned(Dropout::new((0..3).map(Seed::root)));
        for adapters in [Adapters::On, Adapters::Off, thinned] {
            let found = update(&packed, adapters.clone());
            assert!(found == update(&dense, adapters.clone()), "{name}, {adapters:?}");
            assert_eq!(found.len() - 2, if adapters == Adapters::Off { 0 } else { packed.trainable().len() });
        }
    }
}

#[test]
fn what_is_sampled_over_packed_weights_is_what_is_scored() {
    for name in ["llama-quantised", "qwen2"] {
        let policy = model(name, FrozenWeights::Packed);
        let (ids, scored) = (ids(2, 9, 1), full_logits(&policy, &ids(2, 9, 1)));
        let scale = largest_difference(&scored, &scored.zeros_like().unwrap());
        for (place, error) in (3..).zip(errors_of_decoding(&policy, &ids, 4)) {
            assert!(error / scale < 1e-5, "{name}: token {place} differs by {error} of {scale}");
        }
    }
}

#[test]
fn a_frozen_copy_and_a_saved_adapter_keep_to_packed_weights() {
    let mut policy = model("llama-quantised", FrozenWeights::Packed);
    let (frozen, expected) = (policy.frozen_decoder().unwrap(), update(&policy, Adapters::On));
    let dir = tempfile::tempdir().unwrap();
    policy.save(dir.path()).unwrap();
    for var in policy.trainable().values() {
        var.set(&var.zeros_like().unwrap()).unwrap();
    }
    assert!(update(&policy, Adapters::On) != expected);
    policy.decoder = frozen;
    assert!(update(&policy, Adapters::On)[..2] == expected[..2]);
    policy.restore(dir.path()).unwrap();
    let adapter = dir.path().display().to_string();
    let settings = ModelConfig { adapter, lora_r: 0, ..settings("llama-quantised", FrozenWeights::Packed) };
    let loaded = Policy::load(&settings, Seed::root(2), &Device::Cpu).unwrap();
    assert!(loaded.packed_bytes().is_some() && update(&loaded, Adapters::On) == expected);
    let [merged, dense] = [FrozenWeights::Packed, FrozenWeights::Dense].map(|frozen_weights| {
        let out = tempfile::tempdir().unwrap();
        export_merged(&ModelConfig { frozen_weights, ..settings.clone() }, None, out.path()).unwrap();
        std::fs::read(out.path().join(weights::FILE)).unwrap()
    });
    assert!(merged == dense);
}

#[test]
fn weights_of_16_bits_stay_16_bits() {
    let dir = tempfile::tempdir().unwrap();
    let base = policy(config(), 3);
    base.save(dir.path()).unwrap();
    for format in [DType::BF16, DType::F16] {
        let of = |(name, weight): (&String, &Weight)| (name.clone(), weight.to_dtype(format).unwrap());
        let tensors: HashMap<String, Tensor> = base.weights.iter().map(of).collect();
        candle_core::safetensors::save(&tensors, dir.path().join(weights::FILE)).unwrap();
        let load = |frozen_weights| {
            let settings = ModelConfig { model: dir.path().display().to_string(), ..settings("", frozen_weights) };
            Policy::load(&settings, Seed::root(1), &Device::Cpu).unwrap()
        };
        let (packed, dense) = (load(FrozenWeights::Packed), load(FrozenWeights::Dense));
        assert!(packed.packed_bytes().unwrap() < 3 * packed.decoder().config().parameters() as u64);
        assert!(update(&packed, Adapters::On) == update(&dense, Adapters::On), "{format:?}");
    }
}

#[test]
fn what_cannot_stay_packed_is_refused_with_what_can() {
    let packed = settings("qwen2", FrozenWeights::Packed);
    let error = refusal_of(&ModelConfig { lora_r: 0, ..packed.clone() });
    let expected = "model.frozen_weights: found \"packed\" with all weights trained, expected adapters: set model.lora_r \
                    or model.adapter; or \"auto\"";
    assert_eq!(error, expected);
    let error = refusal_of(&ModelConfig { precision: grpo_config::PrecisionChoice::Bf16, ..packed.clone() });
    assert!(error.contains("in a half format, expected model.precision = \"f32\""), "{error}");
    let error = refusal_of(&ModelConfig { model: "builtin".into(), ..packed });
    assert!(error.contains("with weights of 32 bits, expected a .gguf file of fewer"), "{error}");
}
