//! Models from files, whole and damaged.

use candle_core::quantized::gguf_file::{self, Value};
use candle_core::quantized::{GgmlDType, QTensor};

use super::*;

fn load(path: &Path) -> Result<Policy, PolicyError> {
    let mut settings = Config::preset("builtin").unwrap().model;
    settings.model = path.display().to_string();
    Policy::load(&settings, Seed::root(0), &Device::Cpu)
}

fn refusal(path: &Path) -> String {
    load(path).unwrap_err().to_string()
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
        .map(|(name, tensor)| {
            let tensor = match () {
                () if name.ends_with("q_proj.weight") => paired(tensor, config.num_attention_heads),
                () if name.ends_with("k_proj.weight") => paired(tensor, config.num_key_value_heads),
                () => tensor.clone(),
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
    let loaded = load(&path).unwrap();
    for (name, tensor) in &policy.weights {
        assert_eq!(largest_difference(tensor, &loaded.weights[name]), 0.0, "{name}");
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
        assert!(matches!(load(&path), Err(PolicyError::Corrupt { format: "GGUF", .. })), "{length} bytes");
    }
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

/// Saves a model, changes its configuration and loads it again.
fn refusal_with(change: impl FnOnce(&mut serde_json::Value)) -> String {
    let dir = tempfile::tempdir().unwrap();
    policy(config(), 24).save(dir.path()).unwrap();
    let path = dir.path().join("config.json");
    let mut json = serde_json::from_str(&std::fs::read_to_string(&path).unwrap()).unwrap();
    change(&mut json);
    std::fs::write(&path, json.to_string()).unwrap();
    refusal(dir.path())
}

#[test]
fn weights_of_another_shape_are_named_with_both_shapes() {
    let error = refusal_with(|json| json["intermediate_size"] = 33.into());
    assert!(
        error.contains("mlp.gate_proj.weight") && error.contains("[32, 24]") && error.contains("[33, 24]"),
        "{error}"
    );
    let error = refusal_with(|json| json["num_hidden_layers"] = 3.into());
    assert!(error.contains("model.layers.2.input_layernorm.weight") && error.contains("missing"), "{error}");
    let error = refusal_with(|json| json["tie_word_embeddings"] = false.into());
    assert!(error.contains("lm_head.weight") && error.contains("tie_word_embeddings"), "{error}");
}

#[test]
fn a_family_that_is_not_covered_is_named_with_those_that_are() {
    let error = refusal_with(|json| json["model_type"] = "mamba".into());
    assert!(error.contains("`mamba`") && error.contains("llama, qwen2, qwen3"), "{error}");
    let error = refusal_with(|json| json["rope_scaling"] = serde_json::json!({"rope_type": "yarn", "factor": 4.0}));
    assert!(error.contains("rope_scaling") && error.contains("yarn"), "{error}");
}

#[test]
fn a_tokenizer_with_more_tokens_than_the_model_is_refused() {
    let error = refusal_with(|json| json["vocab_size"] = 39.into());
    assert!(error.contains("40") && error.contains("39"), "{error}");
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
    let index = serde_json::json!({ "weight_map": map }).to_string();
    std::fs::write(dir.path().join("model.safetensors.index.json"), index).unwrap();
    let loaded = load(dir.path()).unwrap();
    for (name, tensor) in &policy.weights {
        assert!(largest_difference(tensor, &loaded.weights[name]) < 0.02, "{name}");
        assert_eq!(loaded.weights[name].dtype(), DType::F32);
    }
}

#[test]
fn an_index_cannot_lead_out_of_its_directory() {
    let dir = tempfile::tempdir().unwrap();
    policy(config(), 26).save(dir.path()).unwrap();
    let index = r#"{"weight_map": {"a": "../../etc/passwd"}}"#;
    std::fs::write(dir.path().join("model.safetensors.index.json"), index).unwrap();
    assert!(refusal(dir.path()).contains("is not a file name"));
}

#[test]
fn the_built_in_model_loads_and_scores() {
    let policy = load(Path::new("builtin")).unwrap();
    let ids = policy.tokenizer().encode("def strategy(board):\n");
    assert!(!ids.is_empty() && !policy.tokenizer().stop_ids().is_empty());
    let logits = full_logits(&policy, &[ids]);
    assert!(logits.flatten_all().unwrap().to_vec1::<f32>().unwrap().iter().all(|logit| logit.is_finite()));
}
