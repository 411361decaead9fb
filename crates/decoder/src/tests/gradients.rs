//! Gradients: the same whatever is kept for them, and none that nobody asked for.

use std::collections::BTreeSet;

use candle_core::Var;
use candle_core::backprop::GradStore;

use super::*;
use crate::adapters::linear;
use grpo_tensor::{ScoreSettings, Spans};

/// Random adapters over random frozen weights.
fn adapted(config: DecoderConfig) -> Policy {
    let base = policy(config.clone(), 1);
    let weights = base.weights.into_iter().map(|(name, tensor)| (name, tensor.detach())).collect();
    let loaded = Loaded { config: config.clone(), described: None, tokenizer: tokenizer(), weights, dir: None };
    let mut settings = Config::preset("builtin").unwrap().model;
    (settings.lora_r, settings.lora_alpha) = (3, 6.0);
    let mut set = AdapterSet::fresh(&config, &settings, Seed::root(2), &Device::Cpu).unwrap();
    for (index, tensor) in set.tensors.values_mut().enumerate() {
        *tensor = weights::normal(tensor.dims(), 0.3, Seed::root(50 + index as u64), &Device::Cpu).unwrap();
    }
    Policy::adapted(loaded, set, "test", Precision::F32).unwrap()
}

/// Every family, trained in full and with adapters.
fn policies() -> Vec<(String, Policy)> {
    let both = |(name, config): (&str, DecoderConfig)| {
        [(name.to_owned(), policy(config.clone(), 1)), (format!("{name} with LoRA"), adapted(config))]
    };
    families().into_iter().flat_map(both).collect()
}

fn batch() -> Tensor {
    Tensor::new(ids(3, 21, 5), &Device::Cpu).unwrap()
}

/// A loss of log-probabilities and entropies, uneven over the places.
fn loss(policy: &Policy, hidden: &Tensor) -> Tensor {
    let tokens = hidden.elem_count() / policy.decoder().config().hidden_size;
    let hidden = hidden.reshape((tokens, ())).unwrap();
    let targets = (batch().flatten_all().unwrap().to_vec1::<u32>().unwrap().into_iter()).map(|id| (id + 11) % 40);
    let targets = Tensor::from_vec(targets.collect::<Vec<_>>(), tokens, &Device::Cpu).unwrap();
    let how = ScoreSettings { temperature: 0.9, logit_bytes: 0 };
    let (logp, entropy) = policy.decoder().score(&hidden, &targets, how).unwrap();
    let uneven = weights::normal(&[tokens], 1.0, Seed::root(8), &Device::Cpu).unwrap();
    ((logp + entropy).unwrap() * uneven).unwrap().sum_all().unwrap()
}

fn one_graph(policy: &Policy) -> GradStore {
    loss(policy, &policy.decoder().hidden(&batch(), Adapters::On).unwrap()).backward().unwrap()
}

fn numbers(tensor: &Tensor) -> Vec<f32> {
    tensor.flatten_all().unwrap().to_vec1().unwrap()
}

#[test]
fn i13_gradients_by_layer_are_those_of_one_graph_bit_for_bit() {
    for (name, policy) in policies() {
        let expected = one_graph(&policy);
        let (hidden, layers) = policy
            .decoder()
            .hidden_checkpointed(&batch().flatten_all().unwrap(), &Spans::equal(3, 21), Adapters::On)
            .unwrap();
        let mut found = BTreeMap::new();
        let mut collect = |store: GradStore| {
            let gradients = policy.trainable().iter().filter_map(|(name, var)| Some((name, store.get(var)?.clone())));
            gradients.for_each(|(name, gradient)| assert!(found.insert(name.clone(), gradient).is_none(), "{name}"));
            Ok(())
        };
        layers.backward(loss(&policy, &hidden).backward().unwrap(), &mut collect).unwrap();
        let whole = policy.decoder().hidden(&batch(), Adapters::On).unwrap();
        assert!(numbers(&hidden) == numbers(&whole), "{name}: hidden states differ");
        assert_eq!(found.len(), policy.trainable().len(), "{name}");
        for (variable, var) in policy.trainable() {
            let same = numbers(&found[variable]) == numbers(expected.get(var).unwrap());
            assert!(same, "{name}: gradient of {variable} differs");
        }
    }
}

#[test]
fn frozen_weights_cost_no_gradients() {
    for (name, config) in families() {
        let policy = adapted(config);
        let store = one_graph(&policy);
        let ids = |vars: &mut dyn Iterator<Item = &Var>| vars.map(|var| format!("{:?}", var.id())).collect();
        let trained: BTreeSet<String> = ids(&mut policy.trainable().values());
        let all: BTreeSet<String> = store.get_ids().map(|id| format!("{id:?}")).collect();
        assert!(all.is_superset(&trained), "{name}");
        for (weight, tensor) in &policy.weights {
            assert!(store.get(tensor.dense().unwrap()).is_none(), "{name}: gradient of the frozen {weight}");
        }
        // Besides: constants of the loss, and what enters the first layer.
        let others = all.len() - trained.len();
        assert!(others <= 4, "{name}: {others} gradients that nobody asked for");
    }
}

#[test]
fn adapters_of_unlike_rank_run_apart() {
    let (x, zeros) = (weights::normal(&[5, 4], 1.0, Seed::root(1), &Device::Cpu).unwrap(), |shape: (usize, usize)| {
        Tensor::ones(shape, DType::F32, &Device::Cpu).unwrap()
    });
    let linear = |outputs: usize, rank: usize| linear::Linear {
        weight: zeros((outputs, 4)).into(),
        bias: None,
        lora: Some(linear::Lora {
            a: zeros((rank, 4)),
            b: zeros((outputs, rank)),
            scale: 0.5,
            dropout: 0.0,
            number: 0,
        }),
    };
    let (first, second) = (linear(3, 2), linear(2, 1));
    let together = linear::side_by_side(&[&first, &second], &x, &Adapters::On).unwrap();
    let apart = [&first, &second].map(|part| part.forward(&x, &Adapters::On).unwrap());
    assert!(numbers(&together) == numbers(&Tensor::cat(&apart, 1).unwrap()));
}
