//! Low-rank adapters: off is the base model, on starts from it, and files are those of PEFT.

use super::*;

fn settings(dir: &Path, adapter: &str, lora_r: usize) -> ModelConfig {
    ModelConfig { adapter: adapter.into(), lora_r, lora_alpha: 3.0, ..settings_of(dir) }
}

/// A saved base model, and a policy with adapters on it that have learned something.
fn adapted(config: DecoderConfig, dir: &Path) -> (Policy, Policy) {
    let base = policy(config, 11);
    base.save(dir).unwrap();
    let adapted = Policy::load(&settings(dir, "", 3), Seed::root(1), &Device::Cpu).unwrap();
    (base, adapted)
}

fn logits(policy: &Policy, adapters: Adapters) -> Tensor {
    let ids = Tensor::new(ids(2, 9, 1), &Device::Cpu).unwrap();
    policy.decoder().logits(&policy.decoder().hidden(&ids, adapters).unwrap()).unwrap()
}

#[test]
fn i9_switched_off_they_leave_the_base_bit_for_bit() {
    let dir = tempfile::tempdir().unwrap();
    let (_, adapted) = adapted(config(), dir.path());
    let before = logits(&adapted, Adapters::Off);
    // B starts at zero, so that training starts from the base.
    assert_eq!(largest_difference(&logits(&adapted, Adapters::On), &before), 0.0);
    disturb(&adapted, 0.2, 0);
    assert!(largest_difference(&logits(&adapted, Adapters::On), &before) > 1e-3);
    assert_eq!(largest_difference(&logits(&adapted, Adapters::Off), &before), 0.0);
    let base = Policy::load(&settings(dir.path(), "", 0), Seed::root(1), &Device::Cpu).unwrap();
    let found = largest_difference(&logits(&base, Adapters::On), &before);
    assert!(found < 1e-5, "trained in full the base differs by {found}");
}

#[test]
fn every_adapter_gets_the_gradient_that_differences_give() {
    for (family, config) in families() {
        let dir = tempfile::tempdir().unwrap();
        let (_, adapted) = adapted(config, dir.path());
        disturb(&adapted, 0.2, 0);
        let maps = match family {
            "phi3" => 2 * 4,
            "gemma3" => 3 * 7,
            // Nor do layers without experts carry any on their feed-forward blocks.
            "qwen3_moe" => 3 * 4,
            _ => 2 * 7,
        };
        assert_eq!(adapted.trainable().len(), maps * 2, "{family}");
        check_gradients(family, &adapted);
    }
}

#[test]
fn with_experts_none_are_on_feed_forward_blocks_where_peft_loses_them() {
    let (dir, saved) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let (_, mut adapted) = adapted(qwen3_moe(), dir.path());
    let fresh = |target: &str| {
        refusal_of(&ModelConfig { lora_target_modules: vec![target.into()], ..settings(dir.path(), "", 3) })
    };
    let said =
        "names gate_proj, which carries no adapter in qwen3_moe models; expected of k_proj, o_proj, q_proj, v_proj";
    assert!(fresh("gate_proj").contains(said), "{}", fresh("gate_proj"));
    adapted.save(saved.path()).unwrap();
    let parts = &read_json(&saved.path().join("adapter_config.json"))["target_modules"];
    assert_eq!(parts, &json!(["k_proj", "o_proj", "q_proj", "v_proj"]));
    // Of an earlier version, on a layer without experts.
    let path = saved.path().join("adapter_model.safetensors");
    let mut tensors = candle_core::safetensors::load(&path, &Device::Cpu).unwrap();
    let mut put = |module: &str| {
        for (side, shape) in [("A", (3, 24)), ("B", (32, 3))] {
            let name = format!("base_model.model.model.layers.0.mlp.{module}.lora_{side}.weight");
            tensors.insert(name, Tensor::ones(shape, DType::F32, &Device::Cpu).unwrap());
        }
        candle_core::safetensors::save(&tensors, &path).unwrap();
    };
    put("gate_proj");
    let loaded = refusal_of(&settings(dir.path(), &saved.path().display().to_string(), 0));
    for error in [loaded, adapted.restore(saved.path()).unwrap_err().to_string()] {
        assert!(error.contains("layers.0.mlp.gate_proj") && error.contains("PEFT loses"), "{error}");
        assert!(error.contains("export --merge") && !error.contains("merge_and_unload"), "{error}");
    }
    // On experts no version had any, but PEFT has.
    put("experts.0.gate_proj");
    let error = refusal_of(&settings(dir.path(), &saved.path().display().to_string(), 0));
    assert!(error.contains("experts.0.gate_proj") && error.contains("merge_and_unload"), "{error}");
}

#[test]
fn sampling_goes_through_the_adapters() {
    let dir = tempfile::tempdir().unwrap();
    let (_, adapted) = adapted(config(), dir.path());
    disturb(&adapted, 0.2, 0);
    let errors = errors_of_decoding(&adapted, &ids(1, 9, 1), 9);
    assert!(errors[0] < 1e-4, "differs by {}", errors[0]);
}

#[test]
fn a_saved_adapter_is_loaded_bit_for_bit_and_restored() {
    let dir = tempfile::tempdir().unwrap();
    let (_, mut adapted) = adapted(config(), dir.path());
    disturb(&adapted, 0.2, 0);
    let expected = logits(&adapted, Adapters::On);
    let saved = tempfile::tempdir().unwrap();
    adapted.save(saved.path()).unwrap();
    let name = saved.path().display().to_string();
    let loaded = load(&settings(dir.path(), &name, 0)).unwrap();
    assert_eq!(largest_difference(&logits(&loaded, Adapters::On), &expected), 0.0);
    disturb(&adapted, 0.2, 0);
    adapted.restore(saved.path()).unwrap();
    assert_eq!(largest_difference(&logits(&adapted, Adapters::On), &expected), 0.0);
    let config = read_json(&saved.path().join("adapter_config.json"));
    assert_eq!((config["r"].as_u64(), config["lora_alpha"].as_f64()), (Some(3), Some(3.0)));
    assert_eq!(config["target_modules"].as_array().unwrap().len(), 7);
    let shape = loaded.trainable()["base_model.model.model.layers.1.mlp.down_proj.lora_A.weight"].dims().to_vec();
    assert_eq!(shape, [3, 32]);
}

#[test]
fn a_frozen_copy_stays_when_the_policy_moves() {
    let policy = policy(config(), 12);
    let frozen = policy.frozen_decoder().unwrap();
    let ids = Tensor::new(ids(1, 5, 1), &Device::Cpu).unwrap();
    let before = frozen.hidden(&ids, Adapters::On).unwrap();
    let found = largest_difference(&before, &policy.decoder().hidden(&ids, Adapters::On).unwrap());
    assert!(found < 1e-5, "differs by {found}");
    disturb(&policy, 0.2, 0);
    assert_eq!(largest_difference(&before, &frozen.hidden(&ids, Adapters::On).unwrap()), 0.0);
    assert!(!before.track_op());
}

#[test]
fn an_adapter_of_another_model_is_refused_by_name() {
    let (dir, other) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    adapted(config(), dir.path());
    let (_, wide) = adapted(DecoderConfig { intermediate_size: 48, ..config() }, other.path());
    let saved = tempfile::tempdir().unwrap();
    wide.save(saved.path()).unwrap();
    let name = saved.path().display().to_string();
    let error = refusal_of(&settings(dir.path(), &name, 0));
    assert!(error.contains("mlp.") && error.contains("48") && error.contains("32"), "{error}");
}
