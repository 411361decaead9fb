//! Models from files, whole and damaged.

use candle_core::quantized::gguf_file::{self, Value};
use candle_core::quantized::{GgmlDType, QTensor};

use std::collections::HashMap;

use super::*;
use crate::files::gguf;

fn refusal(path: &Path) -> String {
    refusal_of(&settings_of(path))
}

/// A model as llama.cpp stores it: other names, and query and key rows in pairs.
fn write_gguf(policy: &Policy, path: &Path) {
    let config = policy.decoder().config();
    let paired = |tensor: &Tensor, heads: usize| {
        let (rows, columns) = tensor.dims2().unwrap();
        let halves = tensor.reshape((heads, 2, rows / heads / 2, columns)).unwrap().transpose(1, 2).unwrap();
        halves.contiguous().unwrap().reshape((rows, columns)).unwrap()
    };
    let tensors: Vec<(String, QTensor)> = policy
        .weights
        .iter()
        .map(|(name, weight)| {
            let tensor = weight.tensor().unwrap();
            let tensor = match () {
                () if name.ends_with("q_proj.weight") => paired(&tensor, config.num_attention_heads),
                () if name.ends_with("k_proj.weight") => paired(&tensor, config.num_key_value_heads),
                () => tensor,
            };
            (gguf::gguf_name(name).unwrap(), QTensor::quantize(&tensor, GgmlDType::F32).unwrap())
        })
        .collect();
    let tokens: Vec<Value> =
        (0..40_u8).map(|id| Value::String(char::from(if id == 1 { 0xC4 } else { b'0' + id }).to_string())).collect();
    let number = |value: usize| Value::U32(value as u32);
    let metadata = [
        ("general.architecture", Value::String("llama".into())),
        ("llama.embedding_length", number(config.hidden_size)),
        ("llama.block_count", number(config.num_hidden_layers)),
        ("llama.attention.head_count", number(config.num_attention_heads)),
        ("llama.attention.head_count_kv", number(config.num_key_value_heads)),
        ("llama.feed_forward_length", number(config.intermediate_size)),
        ("llama.context_length", number(config.max_position_embeddings)),
        ("llama.attention.layer_norm_rms_epsilon", Value::F32(1e-5)),
        ("llama.rope.freq_base", Value::F32(10_000.0)),
        ("tokenizer.ggml.model", Value::String("gpt2".into())),
        ("tokenizer.ggml.pre", Value::String("smollm".into())),
        ("tokenizer.ggml.tokens", Value::Array(tokens)),
        ("tokenizer.ggml.merges", Value::Array(vec![])),
        ("tokenizer.ggml.eos_token_id", number(5)),
        ("tokenizer.chat_template", Value::String("{{ messages }}".into())),
    ];
    let metadata: Vec<(&str, &Value)> = metadata.iter().map(|(key, value)| (*key, value)).collect();
    let tensors: Vec<(&str, &QTensor)> = tensors.iter().map(|(name, tensor)| (name.as_str(), tensor)).collect();
    gguf_file::write(&mut std::fs::File::create(path).unwrap(), &metadata, &tensors).unwrap();
}

#[test]
fn a_gguf_file_is_the_model_it_was_made_from() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("model.gguf");
    let policy = policy(DecoderConfig { head_dim: 6, ..config() }, 21);
    write_gguf(&policy, &path);
    let loaded = load(&settings_of(&path)).unwrap();
    for (name, weight) in &policy.weights {
        let found = loaded.weights[name].tensor().unwrap();
        assert_eq!(largest_difference(&weight.tensor().unwrap(), &found), 0.0, "{name}");
    }
    let tokenizer = loaded.tokenizer();
    assert_eq!(tokenizer.stop_ids(), [5]);
    assert_eq!(tokenizer.chat_template(), Some("{{ messages }}"));
    // Digits one by one, and no space before the first.
    assert_eq!(tokenizer.encode("20"), [2, 0]);
    assert_eq!(tokenizer.decode(&[2, 0]), "20");
}

#[test]
fn a_truncated_gguf_file_is_called_damaged() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("model.gguf");
    write_gguf(&policy(config(), 21), &path);
    let bytes = std::fs::read(&path).unwrap();
    for length in [3, 100, bytes.len() / 2, bytes.len() - 1] {
        std::fs::write(&path, &bytes[..length]).unwrap();
        let found = load(&settings_of(&path));
        assert!(matches!(found, Err(PolicyError::Corrupt { format: "GGUF", .. })), "{length} bytes");
    }
    std::fs::write(&path, &bytes[..bytes.len() - 100]).unwrap();
    assert!(refusal(&path).contains("bytes are there"), "{}", refusal(&path));
}

#[test]
fn a_truncated_safetensors_file_is_called_damaged() {
    let dir = tempfile::tempdir().unwrap();
    policy(config(), 22).save(dir.path()).unwrap();
    let path = dir.path().join("model.safetensors");
    let bytes = std::fs::read(&path).unwrap();
    for length in [0, 5, 300, bytes.len() - 1] {
        std::fs::write(&path, &bytes[..length]).unwrap();
        let error = refusal(dir.path());
        assert!(error.contains("model.safetensors") && error.contains("fetch it again"), "{length} bytes: {error}");
    }
}

#[test]
fn missing_things_are_named() {
    let dir = tempfile::tempdir().unwrap();
    assert!(refusal(dir.path()).contains("config.json"));
    assert!(refusal(Path::new("/nowhere/at/all")).contains("no such file or directory"));
    assert!(refusal(Path::new("/nowhere/model.gguf")).contains("/nowhere/model.gguf"));
    policy(config(), 23).save(dir.path()).unwrap();
    for file in ["model.safetensors", "tokenizer.json"] {
        let (path, kept) = (dir.path().join(file), dir.path().join("kept"));
        std::fs::rename(&path, &kept).unwrap();
        assert!(refusal(dir.path()).contains(file), "{file}");
        std::fs::rename(&kept, &path).unwrap();
    }
}

/// What is said of a model directory after `change`, without reading its weights.
fn refusal_after(change: impl FnOnce(&Path)) -> String {
    let dir = tempfile::tempdir().unwrap();
    policy(config(), 23).save(dir.path()).unwrap();
    change(dir.path());
    refusal(dir.path())
}

fn check_refusal(change: impl FnOnce(&Path), parts: &[&str]) {
    let error = refusal_after(change);
    for part in parts {
        assert!(error.contains(part), "`{part}` is not in: {error}");
    }
}

#[test]
fn what_stands_in_place_of_the_weights_is_named_with_what_to_do() {
    const POINTER: &str = "version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 9\n";
    let rename =
        |to: &'static str| move |dir: &Path| std::fs::rename(dir.join("model.safetensors"), dir.join(to)).unwrap();
    let pointer = |dir: &Path| std::fs::write(dir.join("model.safetensors"), POINTER).unwrap();
    check_refusal(pointer, &["Git LFS pointer", "git lfs pull"]);
    check_refusal(rename("pytorch_model.bin"), &["pytorch_model.bin", "safe_serialization=True"]);
    check_refusal(rename("model.safetensors.incomplete"), &["model.safetensors.incomplete", "cut off", "again"]);
    check_refusal(rename("model-00001-of-00002.safetensors"), &["no model.safetensors.index.json"]);
    let absent = |dir: &Path| {
        let index =
            r#"{"weight_map": {"a": "model-1.safetensors", "b": "model-2.safetensors", "c": "model-3.safetensors"}}"#;
        std::fs::write(dir.join("model.safetensors.index.json"), index).unwrap();
        std::fs::rename(dir.join("model.safetensors"), dir.join("model-2.safetensors")).unwrap();
    };
    check_refusal(absent, &["names 3 files, 2 of them missing", "model-1.safetensors, model-3.safetensors"]);
    let cut = |dir: &Path| {
        let path = dir.join("model.safetensors");
        let bytes = std::fs::read(&path).unwrap();
        std::fs::write(&path, &bytes[..bytes.len() - 7]).unwrap();
    };
    check_refusal(cut, &["bytes are there", "fetch it again"]);
}

#[test]
fn a_directory_of_something_else_is_named_with_what_to_do() {
    let adapter = |dir: &Path| {
        std::fs::remove_file(dir.join("config.json")).unwrap();
        std::fs::write(dir.join("adapter_config.json"), r#"{"base_model_name_or_path": "some/base"}"#).unwrap();
    };
    check_refusal(adapter, &["PEFT adapter", "some/base", "--adapter"]);
    let gguf = |dir: &Path| {
        std::fs::remove_file(dir.join("config.json")).unwrap();
        std::fs::write(dir.join("tiny.gguf"), "").unwrap();
    };
    check_refusal(gguf, &["tiny.gguf", "name the file itself"]);
    let cached = |dir: &Path| {
        std::fs::remove_file(dir.join("config.json")).unwrap();
        std::fs::create_dir_all(dir.join("snapshots/0123")).unwrap();
    };
    check_refusal(cached, &["a directory of the Hub's cache", "name the model in it: ", "/snapshots/0123"]);
    let older = |dir: &Path| std::fs::rename(dir.join("tokenizer.json"), dir.join("tokenizer.model")).unwrap();
    check_refusal(older, &["tokenizer.json is missing", "AutoTokenizer"]);
    let dir = tempfile::tempdir().unwrap();
    let [weights, half] = ["model.safetensors", "model.gguf.part"].map(|name| dir.path().join(name));
    for path in [&weights, &half] {
        std::fs::write(path, "").unwrap();
    }
    assert!(refusal(&weights).contains("name the directory"), "{}", refusal(&weights));
    assert!(refusal(&half).contains("cut off"), "{}", refusal(&half));
}

#[test]
fn a_gguf_file_that_is_none_is_named_with_what_to_do() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("model.gguf");
    std::fs::write(&path, "version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 9\n").unwrap();
    assert!(refusal(&path).contains("git lfs pull"), "{}", refusal(&path));
}

/// Saves a model, changes its configuration and loads it again.
fn refusal_with(change: impl FnOnce(&mut serde_json::Value)) -> String {
    refusal_after(|dir| change_json(&dir.join("config.json"), change))
}

#[test]
fn weights_and_tokens_of_another_number_or_shape_are_named_with_what_the_configuration_says() {
    let cases: [(&str, serde_json::Value, &[&str]); 7] = [
        ("intermediate_size", 33.into(), &["mlp.gate_proj.weight", "[32, 24]", "[33, 24]"]),
        ("num_hidden_layers", 3.into(), &["model.layers.2.input_layernorm.weight", "missing"]),
        ("tie_word_embeddings", false.into(), &["lm_head.weight", "tie_word_embeddings"]),
        ("num_hidden_layers", 1.into(), &["num_hidden_layers = 1", "2, the layers that the weights have"]),
        // Listing the tensors of so many layers would take all memory.
        ("num_hidden_layers", (1_u64 << 31).into(), &["model.layers.2.input_layernorm.weight"]),
        ("num_attention_heads", (1_u64 << 62).into(), &["num_attention_heads", "at most 2^31"]),
        ("vocab_size", 39.into(), &["40 tokens, the model embeds 39"]),
    ];
    for (key, value, parts) in cases {
        check_refusal(|dir| change_json(&dir.join("config.json"), |json| json[key] = value), parts);
    }
}

#[test]
fn numbers_that_no_model_has_are_refused_by_name() {
    for (key, value) in [
        ("rms_norm_eps", json!(-1.0)),
        ("rms_norm_eps", 0.into()),
        ("rope_theta", 0.into()),
        ("rope_theta", (-1).into()),
        ("rope_scaling", "x".into()),
        ("rope_scaling", json!([])),
        ("rope_scaling", json!({"rope_type": 5})),
        ("rope_parameters", json!({"rope_theta": "10000"})),
        (
            "rope_scaling",
            json!({"rope_type": "llama3", "factor": -8.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0,
                "original_max_position_embeddings": 8192}),
        ),
    ] {
        let error = refusal_with(|json| json[key] = value.clone());
        assert!(error.contains(key) && error.contains("expected"), "{key} = {value}: {error}");
    }
    let error = refusal_after(|dir| {
        std::fs::write(dir.join("generation_config.json"), r#"{"eos_token_id": [3, 4294967299]}"#).unwrap();
    });
    assert!(error.contains("eos_token_id = 4294967299"), "{error}");
}

#[test]
fn a_family_that_is_not_covered_is_named_with_those_that_are() {
    let error = refusal_with(|json| json["model_type"] = "mamba".into());
    assert!(error.contains("`mamba`") && error.contains("llama (Llama 1 to 3.3, SmolLM2), mistral"), "{error}");
    let qwen3 = refusal_with(|json| {
        json["model_type"] = "qwen3".into();
        json["attention_bias"] = true.into();
    });
    assert!(qwen3.contains("attention_bias = true"), "{qwen3}");
    let set = |key: &'static str, value: serde_json::Value| refusal_with(move |json| json[key] = value);
    for (key, value, found) in [
        ("rope_scaling", json!({"rope_type": "yarn", "factor": 4.0}), "yarn"),
        ("rope_scaling", json!({"type": "linear"}), "a factor above 0"),
        ("mlp_bias", true.into(), "true"),
        ("attention_bias", true.into(), "true"),
        ("use_sliding_window", true.into(), "true"),
        ("layer_types", json!(["full_attention", "sliding_attention"]), "sliding_attention"),
        ("partial_rotary_factor", 0.5.into(), "0.5"),
        ("quantization_config", json!({"quant_method": "awq"}), "awq"),
        ("hidden_act", "gelu".into(), "gelu"),
    ] {
        let error = set(key, value);
        assert!(error.contains(key) && error.contains(found), "{key}: {error}");
    }
}

#[test]
fn shards_are_read_together_and_in_half_precision() {
    let dir = tempfile::tempdir().unwrap();
    let policy = policy(config(), 25);
    policy.save(dir.path()).unwrap();
    std::fs::remove_file(dir.path().join("model.safetensors")).unwrap();
    let mut map = serde_json::Map::new();
    for (index, dtype) in [DType::F16, DType::BF16, DType::F32].into_iter().enumerate() {
        let file = format!("model-{index}.safetensors");
        let part: HashMap<String, Tensor> = policy
            .weights
            .iter()
            .skip(index)
            .step_by(3)
            .map(|(name, tensor)| {
                map.insert(name.clone(), file.clone().into());
                (name.clone(), tensor.to_dtype(dtype).unwrap())
            })
            .collect();
        candle_core::safetensors::save(&part, dir.path().join(&file)).unwrap();
    }
    let index = json!({ "weight_map": map }).to_string();
    std::fs::write(dir.path().join("model.safetensors.index.json"), index).unwrap();
    let loaded = load(&settings_of(dir.path())).unwrap();
    for (name, weight) in &policy.weights {
        let found = loaded.weights[name].tensor().unwrap();
        assert!(largest_difference(&weight.tensor().unwrap(), &found) < 0.02, "{name}");
        assert_eq!(loaded.weights[name].dtype(), DType::F32);
    }
}

#[test]
fn an_index_cannot_lead_out_of_its_directory() {
    let dir = tempfile::tempdir().unwrap();
    policy(config(), 26).save(dir.path()).unwrap();
    std::fs::remove_file(dir.path().join("model.safetensors")).unwrap();
    let index = r#"{"weight_map": {"a": "../../etc/passwd"}}"#;
    std::fs::write(dir.path().join("model.safetensors.index.json"), index).unwrap();
    assert!(refusal(dir.path()).contains("is not a file name"));
}
