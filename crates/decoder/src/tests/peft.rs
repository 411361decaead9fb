//! Adapters made by PEFT, and what of PEFT is refused. `tests/goldens/adapters.py` wrote the numbers.

use super::*;

/// One of the tiny models that transformers wrote, with a tokenizer that nobody asks.
pub(super) fn tiny(family: &str, dir: &Path) -> ModelConfig {
    for file in ["config.json", "model.safetensors"] {
        std::fs::copy(goldens().join(family).join(file), dir.join(file)).unwrap();
    }
    with_tokenizer(dir)
}

/// Puts a tokenizer of 32 characters beside a model.
pub(super) fn with_tokenizer(dir: &Path) -> ModelConfig {
    std::fs::write(dir.join("tokenizer.json"), characters(32).to_string()).unwrap();
    settings_of(dir)
}

/// The same with an adapter.
pub(super) fn tiny_with(family: &str, dir: &Path, adapter: &Path) -> ModelConfig {
    ModelConfig { adapter: adapter.display().to_string(), ..tiny(family, dir) }
}

/// A copy of an adapter.
pub(super) fn copied(adapter: &Path) -> tempfile::TempDir {
    let copy = tempfile::tempdir().unwrap();
    for file in ["adapter_config.json", "adapter_model.safetensors"] {
        std::fs::copy(adapter.join(file), copy.path().join(file)).unwrap();
    }
    copy
}

pub(super) const CASES: &[(&str, &str, usize)] = &[
    ("llama", "llama-all", 14),
    ("llama", "llama-attention", 4),
    ("qwen2", "qwen2-rslora", 14),
    ("qwen3", "qwen3-second-layer", 3),
    ("mistral", "mistral-all", 14),
    ("phi3", "phi3-all", 8),
    ("gemma2", "gemma2-all", 14),
    ("gemma3", "gemma3-all", 21),
    ("qwen3_moe", "qwen3_moe-attention", 12),
];

pub(super) fn golden_adapter(name: &str) -> std::path::PathBuf {
    goldens().join("adapters").join(name)
}

/// Token ids and the logits that PEFT found for them.
pub(super) fn expected(name: &str) -> (Tensor, Tensor) {
    let path = golden_adapter(name).join("expected.safetensors");
    let tensors = candle_core::safetensors::load(path, &Device::Cpu).unwrap();
    (tensors["ids"].to_dtype(DType::U32).unwrap(), tensors["logits"].clone())
}

#[test]
fn adapters_of_peft_give_the_logits_of_peft() {
    for (family, name, modules) in CASES {
        let dir = tempfile::tempdir().unwrap();
        let settings = tiny_with(family, dir.path(), &golden_adapter(name));
        let policy = load(&settings).unwrap();
        assert_eq!(policy.trainable().len(), 2 * modules, "{name}");
        let (ids, expected) = expected(name);
        let found = largest_difference(&logits_of(&policy, &ids), &expected);
        assert!(found < 2e-5, "{name}: logits differ by {found}");
        // Saved again it is the same adapter.
        let saved = tempfile::tempdir().unwrap();
        policy.save(saved.path()).unwrap();
        let again = ModelConfig { adapter: saved.path().display().to_string(), ..settings };
        assert!(largest_difference(&logits_of(&load(&again).unwrap(), &ids), &expected) < 2e-5, "{name}");
    }
}

#[test]
fn an_adapter_on_some_layers_names_them_whole() {
    for (name, family, expected) in [
        ("llama-attention", "llama", vec!["q_proj", "v_proj"]),
        (
            "qwen3-second-layer",
            "qwen3",
            vec!["model.layers.1.mlp.gate_proj", "model.layers.1.self_attn.k_proj", "model.layers.1.self_attn.o_proj"],
        ),
    ] {
        let (dir, saved) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        load(&tiny_with(family, dir.path(), &golden_adapter(name))).unwrap().save(saved.path()).unwrap();
        let config = read_json(&saved.path().join("adapter_config.json"));
        let found: Vec<&str> =
            config["target_modules"].as_array().unwrap().iter().map(|name| name.as_str().unwrap()).collect();
        assert_eq!(found, expected);
    }
}

#[test]
fn fresh_adapters_sit_where_they_are_asked_for_and_scale_as_asked() {
    let dir = tempfile::tempdir().unwrap();
    let mut settings = tiny("llama", dir.path());
    (settings.lora_r, settings.lora_alpha) = (4, 6.0);
    settings.lora_target_modules = vec!["k_proj".into(), "down_proj".into()];
    let shape = loading::load(&settings, weights::LoadTarget { device: &Device::Cpu, precision: Precision::F32 })
        .unwrap()
        .config;
    let fresh = |settings: &ModelConfig| AdapterSet::fresh(&shape, settings, Seed::root(0), &Device::Cpu).unwrap();
    let set = fresh(&settings);
    assert_eq!(set.tensors.len(), 2 * 2 * 2);
    assert!(set.tensors.keys().all(|name| name.contains("k_proj") || name.contains("down_proj")));
    assert_eq!(set.scale(), 1.5);
    settings.use_rslora = true;
    assert_eq!(fresh(&settings).scale(), 3.0);
    settings.lora_target_modules = vec!["all-linear".into()];
    assert_eq!(fresh(&settings).tensors.len(), 2 * 2 * 7);
}

#[test]
fn a_target_that_the_family_has_not_is_named_with_those_it_has() {
    let dir = tempfile::tempdir().unwrap();
    let mut settings = tiny("phi3", dir.path());
    (settings.lora_r, settings.lora_target_modules) = (4, vec!["down_proj".into(), "q_proj".into()]);
    let error = refusal_of(&settings);
    assert!(error.contains("q_proj") && error.contains("down_proj, gate_up_proj, o_proj, qkv_proj"), "{error}");
    settings.lora_target_modules = vec!["qkv_proj".into(), "gate_up_proj".into()];
    assert_eq!(load(&settings).unwrap().trainable().len(), 2 * 2 * 2);
}

#[test]
fn what_is_not_plain_lora_is_refused_by_name() {
    let dir = tempfile::tempdir().unwrap();
    let refusal = |key: &str, value: Value| {
        let adapter = copied(&golden_adapter("llama-all"));
        change_json(&adapter.path().join("adapter_config.json"), |config| config[key] = value);
        load(&tiny_with("llama", dir.path(), adapter.path())).map(drop).map_err(|error| error.to_string())
    };
    for (key, value) in [
        ("use_dora", json!(true)),
        ("modules_to_save", json!(["lm_head"])),
        ("bias", json!("lora_only")),
        ("fan_in_fan_out", json!(true)),
        ("rank_pattern", json!({"q_proj": 8})),
        ("alpha_pattern", json!({"q_proj": 8})),
        ("init_lora_weights", json!("pissa")),
        ("trainable_token_indices", json!([1])),
        ("layer_replication", json!([[0, 2]])),
        ("a_method_of_tomorrow", json!({"on": true})),
    ] {
        let error = refusal(key, value).unwrap_err();
        assert!(error.contains(key), "{error}");
        // What changed the base model as well is converted first.
        assert_eq!(error.contains("merge_and_unload"), key != "init_lora_weights", "{error}");
    }
    assert!(refusal("peft_type", "IA3".into()).unwrap_err().contains("IA3"));
    // Neither of these changes what it computes.
    assert_eq!(refusal("init_lora_weights", "gaussian".into()), Ok(()));
    assert_eq!(refusal("lora_dropout", 0.1.into()), Ok(()));
}

#[test]
fn an_adapter_without_safetensors_is_not_opened() {
    let (dir, adapter) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let config = "adapter_config.json";
    std::fs::copy(golden_adapter("llama-all").join(config), adapter.path().join(config)).unwrap();
    std::fs::write(adapter.path().join("adapter_model.bin"), "").unwrap();
    let error = refusal_of(&tiny_with("llama", dir.path(), adapter.path()));
    assert!(error.contains("adapter_model.bin") && error.contains("safetensors"), "{error}");
}
