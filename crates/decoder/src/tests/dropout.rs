//! LoRA dropout as PEFT has it. `tests/goldens/dropout.py` wrote the numbers.

use super::peft::{copied, golden_adapter, tiny, tiny_with};
use super::*;
use crate::Dropout;
use grpo_base::seed::Purpose;

const PROBABILITY: f64 = 0.25;

/// The tiny Llama under the adapter of the goldens, which names a dropout of `probability`.
fn policy(probability: f64) -> Policy {
    let (dir, adapter) = (tempfile::tempdir().unwrap(), copied(&goldens().join("llama/adapter")));
    change_json(&adapter.path().join("adapter_config.json"), |config| config["lora_dropout"] = probability.into());
    load(&tiny_with("llama", dir.path(), adapter.path())).unwrap()
}

fn dropout(rows: u64) -> Dropout {
    Dropout::new((0..rows).map(|row| Seed::root(11).child(Purpose::Dropout, row)))
}

fn expected() -> BTreeMap<String, Tensor> {
    let path = goldens().join("dropout/expected.safetensors");
    candle_core::safetensors::load(path, &Device::Cpu).unwrap().into_iter().collect()
}

/// What each module's inputs are multiplied by, for two rows of ten tokens.
fn masks(policy: &Policy) -> BTreeMap<String, Tensor> {
    let set = policy.adapters.as_ref().unwrap();
    let modules = set.tensors.keys().filter_map(|name| name.strip_prefix(set::PREFIX)?.strip_suffix(".lora_A.weight"));
    let factors = modules.map(|module| {
        let lora = set.on(module).unwrap();
        let masks = dropout(2).masks(lora.number, lora.dropout);
        (module.to_owned(), masks.factors([20, lora.a.dims()[1]], &Device::Cpu).unwrap())
    });
    factors.collect()
}

#[test]
#[ignore = "writes what tests/goldens/dropout.py reads"]
fn the_masks_of_dropout() {
    let masks = masks(&policy(PROBABILITY));
    weights::write_file(&masks, &goldens().join("dropout/masks.safetensors")).unwrap();
}

/// Log-probabilities of every token after the first, and gradients of their negative mean.
fn run(policy: &Policy, ids: &Tensor, adapters: Adapters) -> (Tensor, BTreeMap<String, Tensor>) {
    let (rows, steps) = ids.dims2().unwrap();
    let hidden = policy.decoder().hidden(ids, adapters).unwrap().narrow(1, 0, steps - 1).unwrap();
    let hidden = hidden.reshape((rows * (steps - 1), ())).unwrap();
    let targets = ids.narrow(1, 1, steps - 1).unwrap().flatten_all().unwrap();
    let how = grpo_tensor::ScoreSettings { temperature: 1.0, logit_bytes: 0 };
    let (logp, _) = policy.decoder().score(&hidden, &targets, how).unwrap();
    let store = logp.mean(D::Minus1).unwrap().neg().unwrap().backward().unwrap();
    let gradients = policy.trainable().iter().map(|(name, var)| (name.clone(), store.get(var).unwrap().clone()));
    (logp.reshape((rows, steps - 1)).unwrap().detach(), gradients.collect())
}

#[test]
fn dropout_is_that_of_peft_under_the_same_masks() {
    let (policy, expected) = (policy(PROBABILITY), expected());
    let written = candle_core::safetensors::load(goldens().join("dropout/masks.safetensors"), &Device::Cpu).unwrap();
    for (module, mask) in masks(&policy) {
        assert_eq!(largest_difference(&mask, &written[&module]), 0.0, "{module}: the generator draws another mask");
    }
    let ids = expected["ids"].to_dtype(DType::U32).unwrap();
    let (logp, gradients) = run(&policy, &ids, Adapters::Thinned(dropout(2)));
    let found = largest_difference(&logp, &expected["logp"]);
    assert!(found < 1e-5, "log-probabilities differ by {found}");
    for (name, gradient) in gradients {
        let expected = &expected[&format!("grad.{name}")];
        let scale = largest_difference(expected, &expected.zeros_like().unwrap());
        let found = largest_difference(&gradient, expected);
        assert!(found < 1e-4 * scale, "gradient of {name} differs by {found} of {scale}");
    }
    assert_eq!(policy.dropout(), PROBABILITY);
}

#[test]
fn nothing_is_dropped_at_zero_nor_outside_of_training() {
    let ids = expected()["ids"].to_dtype(DType::U32).unwrap();
    let (thinned, whole) = (policy(PROBABILITY), policy(0.0));
    let (logp, gradients) = run(&whole, &ids, Adapters::On);
    let (same, same_gradients) = run(&whole, &ids, Adapters::Thinned(dropout(2)));
    assert_eq!(largest_difference(&logp, &same), 0.0);
    for (name, gradient) in &gradients {
        assert_eq!(largest_difference(gradient, &same_gradients[name]), 0.0, "{name}");
    }
    assert_eq!(largest_difference(&run(&thinned, &ids, Adapters::On).0, &logp), 0.0);
    assert!(largest_difference(&run(&thinned, &ids, Adapters::Thinned(dropout(2))).0, &logp) > 1e-3);
}

#[test]
fn a_layer_at_a_time_drops_the_same() {
    let policy = policy(PROBABILITY);
    let ids = expected()["ids"].to_dtype(DType::U32).unwrap();
    let adapters = || Adapters::Thinned(dropout(2));
    let (rows, steps) = ids.dims2().unwrap();
    let spans = grpo_tensor::Spans::equal(rows, steps);
    let whole = policy.decoder().hidden_of(&ids.flatten_all().unwrap(), &spans, adapters()).unwrap();
    let (hidden, layers) =
        policy.decoder().hidden_checkpointed(&ids.flatten_all().unwrap(), &spans, adapters()).unwrap();
    assert_eq!(largest_difference(&hidden.detach(), &whole.detach()), 0.0);
    let loss = |hidden: &Tensor| hidden.sqr().unwrap().sum_all().unwrap().backward().unwrap();
    let expected = loss(&whole);
    let mut compared = 0;
    let mut compare = |store: candle_core::backprop::GradStore| {
        for (name, var) in policy.trainable() {
            let Some(found) = store.get(var) else { continue };
            assert_eq!(largest_difference(found, expected.get(var).unwrap()), 0.0, "{name}");
            compared += 1;
        }
        Ok(())
    };
    layers.backward(loss(&hidden), &mut compare).unwrap();
    assert_eq!(compared, policy.trainable().len());
}

#[test]
fn rows_share_no_beginning_where_any_map_has_dropout_before_it() {
    let dir = tempfile::tempdir().unwrap();
    let shares = |lora_dropout: f64, target: &str| {
        let lora_target_modules = vec![target.to_owned()];
        let fresh = ModelConfig { lora_r: 2, lora_dropout, lora_target_modules, ..tiny("llama", dir.path()) };
        load(&fresh).unwrap().decoder().shares_beginnings()
    };
    for target in ["all-linear", "q_proj", "o_proj", "up_proj", "down_proj"] {
        assert_eq!([shares(0.0, target), shares(0.1, target)], [true, false], "{target}");
    }
    // An adapter on the second of two layers.
    let (dir, adapter) = (tempfile::tempdir().unwrap(), copied(&golden_adapter("qwen3-second-layer")));
    let shares = |dropout: f64| {
        change_json(&adapter.path().join("adapter_config.json"), |config| config["lora_dropout"] = dropout.into());
        load(&tiny_with("qwen3", dir.path(), adapter.path())).unwrap().decoder().shares_beginnings()
    };
    assert_eq!([shares(0.0), shares(0.1)], [true, false]);
}

#[test]
fn an_adapter_keeps_its_dropout_when_it_is_saved_and_an_impossible_one_is_refused() {
    let saved = tempfile::tempdir().unwrap();
    policy(0.1).save(saved.path()).unwrap();
    let path = saved.path().join("adapter_config.json");
    assert_eq!(read_json(&path)["lora_dropout"], 0.1);
    change_json(&path, |config| config["lora_dropout"] = 1.0.into());
    let dir = tempfile::tempdir().unwrap();
    let error = refusal_of(&tiny_with("llama", dir.path(), saved.path()));
    assert!(error.contains("lora_dropout is 1"), "{error}");
    let fresh = ModelConfig { lora_r: 2, lora_dropout: 0.3, ..tiny("llama", dir.path()) };
    assert_eq!(load(&fresh).unwrap().dropout(), 0.3);
}
