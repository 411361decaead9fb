//! What is read of the files of a model, and what of them is refused rather than passed over.

use candle_core::quantized::gguf_file::Content;
use safetensors::tensor::TensorView;
use serde_json::{Value, json};

use super::peft::{copied, golden_adapter, tiny_with};
use super::*;

/// A saved model of these tests after `change`, loaded.
fn loaded(of: DecoderConfig, change: impl FnOnce(&Path)) -> Result<Policy, PolicyError> {
    let dir = tempfile::tempdir().unwrap();
    policy(of, 41).save(dir.path()).unwrap();
    change(dir.path());
    load(&settings_of(dir.path()))
}

fn refusal(change: impl FnOnce(&Path)) -> String {
    loaded(config(), change).unwrap_err().to_string()
}

fn rotation(of: DecoderConfig, keys: &[(&'static str, Value)]) -> Result<DecoderConfig, String> {
    let mut json = of.to_json();
    for (key, value) in keys {
        json[*key] = value.clone();
    }
    DecoderConfig::from_json(&json.to_string(), Path::new("config.json")).map_err(|error| error.to_string())
}

#[test]
fn the_older_name_of_the_rotation_wins_over_the_newer_as_in_transformers() {
    let newer = ("rope_parameters", json!({"rope_type": "default", "rope_theta": 500.0}));
    let yarn = ("rope_scaling", json!({"rope_type": "yarn", "factor": 4.0}));
    let error = rotation(config(), &[newer.clone(), yarn]).unwrap_err();
    assert!(error.contains("rope_scaling") && error.contains("yarn"), "{error}");
    let linear = ("rope_scaling", json!({"rope_type": "linear", "factor": 2.0}));
    let found = rotation(config(), &[newer.clone(), linear]).unwrap();
    assert_eq!((found.rope_scaling, found.rope_theta), (Some(RopeScaling::linear(2.0)), config().rope_theta));
    for empty in [Value::Null, json!({})] {
        let found = rotation(config(), &[newer.clone(), ("rope_scaling", empty)]).unwrap();
        assert_eq!((found.rope_scaling, found.rope_theta), (None, 500.0));
    }
    // In Gemma 3 it is added to the settings of one kind of layer.
    let kinds = json!({"full_attention": {"rope_theta": 700.0}, "sliding_attention": {"rope_theta": 70.0}});
    let found =
        rotation(gemma3(), &[("rope_parameters", kinds), ("rope_scaling", json!({"factor": 8.0, "type": "linear"}))]);
    let found = found.unwrap();
    let sliding = found.sliding_window.unwrap().rope_theta;
    assert_eq!((found.rope_scaling, found.rope_theta, sliding), (Some(RopeScaling::linear(8.0)), 700.0, Some(70.0)));
}

#[test]
fn a_key_that_a_configuration_lacks_is_named_with_what_to_write() {
    let lacking = |key: &'static str| rotation(config(), &[(key, Value::Null)]).unwrap_err();
    assert_eq!(
        lacking("max_position_embeddings"),
        "config.json: `max_position_embeddings` is missing; write the longest context there that the model was trained for, in tokens"
    );
    let weights = lacking("hidden_size");
    assert_eq!(weights, "config.json: `hidden_size` is missing; fetch the file from where the model came from");
}

#[test]
fn weights_in_one_file_are_read_before_those_that_an_index_names() {
    let index = r#"{"weight_map": {"model.norm.weight": "model-1.safetensors"}}"#;
    let beside = |dir: &Path| std::fs::write(dir.join("model.safetensors.index.json"), index).unwrap();
    let found = loaded(config(), beside).unwrap();
    for (name, weight) in &policy(config(), 41).weights {
        let weight = weight.tensor().unwrap();
        assert_eq!(largest_difference(&weight, &found.weights[name].tensor().unwrap()), 0.0, "{name}");
    }
}

#[test]
fn a_file_that_a_model_may_lack_is_refused_where_it_is_there_and_cannot_be_read() {
    for name in ["chat_template.jinja", "tokenizer_config.json", "generation_config.json"] {
        let error = refusal(|dir| std::fs::write(dir.join(name), b"{\"a\": \"\xFF\"}").unwrap());
        assert!(error.contains(name) && error.contains("UTF-8"), "{error}");
    }
    for name in ["tokenizer_config.json", "generation_config.json"] {
        for text in ["{", "[]"] {
            let error = refusal(|dir| std::fs::write(dir.join(name), text).unwrap());
            assert!(error.contains(name) && error.contains("line 1"), "{error}");
        }
    }
}

/// Adds a tensor to the weights of a model, or replaces one.
fn put(dir: &Path, name: &str, tensor: Tensor) {
    let path = dir.join("model.safetensors");
    let mut tensors = candle_core::safetensors::load(&path, &Device::Cpu).unwrap();
    tensors.insert(name.into(), tensor);
    candle_core::safetensors::save(&tensors, &path).unwrap();
}

#[test]
fn weights_that_are_no_numbers_are_refused_by_file_and_name() {
    let norm = "model.layers.1.input_layernorm.weight";
    for (format, broken) in [(DType::F32, f32::NAN), (DType::BF16, f32::INFINITY), (DType::F16, f32::NEG_INFINITY)] {
        let mut numbers = vec![1.0; 24];
        numbers[17] = broken;
        let numbers = Tensor::new(numbers, &Device::Cpu).unwrap().to_dtype(format).unwrap();
        let error = refusal(|dir| put(dir, norm, numbers));
        assert!(error.contains("model.safetensors") && error.contains(norm) && error.contains("not finite"), "{error}");
    }
    // Masks of older files hold infinities.
    let mask = Tensor::new(f32::NEG_INFINITY, &Device::Cpu).unwrap();
    assert!(loaded(config(), |dir| put(dir, "model.layers.0.self_attn.masked_bias", mask)).is_ok());
}

#[test]
fn tensors_of_a_quantised_model_are_refused_by_name_and_no_reason_to_fetch_them_again() {
    let ones = |format: DType| Tensor::ones(24, DType::F32, &Device::Cpu).unwrap().to_dtype(format).unwrap();
    let map = "model.layers.0.mlp.up_proj";
    for (name, format, said) in [
        ("model.norm.weight".to_owned(), DType::I16, "format of tensors = I16 of `model.norm.weight`"),
        (format!("{map}.qweight"), DType::I32, "I32 of `model.layers.0.mlp.up_proj.qweight`"),
        (format!("{map}.weight_scale"), DType::F32, "that of quantised weights, with `model.layers.0.mlp.up_proj"),
        (format!("{map}.weight_scale_inv"), DType::BF16, "up_proj.weight_scale_inv`"),
    ] {
        let error = refusal(|dir| put(dir, &name, ones(format)));
        assert!(error.contains(said) && error.contains(".gguf") && !error.contains("fetch it again"), "{error}");
    }
    let positions = ones(DType::I64);
    assert!(loaded(config(), |dir| put(dir, "model.position_ids", positions)).is_ok(), "no weight");
    // Neither is a mask, in a format that no tensor has here.
    let masked = loaded(config(), |dir| {
        let path = dir.join("model.safetensors");
        let bytes = std::fs::read(&path).unwrap();
        let views = safetensors::SafeTensors::deserialize(&bytes).unwrap();
        let mask = TensorView::new(safetensors::Dtype::BOOL, vec![2, 2], &[0, 1, 1, 0]).unwrap();
        let tensors = views.tensors().into_iter().chain([("model.causal_mask".to_owned(), mask)]);
        std::fs::write(&path, safetensors::serialize(tensors, None).unwrap()).unwrap();
    });
    assert!(masked.is_ok());
}

#[test]
fn a_gguf_file_with_a_scale_that_is_no_number_is_refused_by_file_and_name() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("broken.gguf");
    let mut bytes = std::fs::read(goldens().join("gguf/llama-quantised.gguf")).unwrap();
    let content = Content::read(&mut std::io::Cursor::new(&bytes)).unwrap();
    let name = "token_embd.weight";
    // In blocks of this format the scale comes first.
    assert_eq!(content.tensor_infos[name].ggml_dtype, candle_core::quantized::GgmlDType::Q8_0);
    let at = (content.tensor_data_offset + content.tensor_infos[name].offset) as usize;
    bytes[at..at + 2].copy_from_slice(&0x7e00_u16.to_le_bytes());
    std::fs::write(&path, bytes).unwrap();
    for lora_r in [0, 4] {
        let error = refusal_of(&ModelConfig { lora_r, ..settings_of(&path) });
        assert!(error.contains("broken.gguf") && error.contains(name) && error.contains("not finite"), "{error}");
    }
}

#[test]
fn a_model_whose_logits_are_no_numbers_agrees_with_nothing() {
    for covered in [config(), gemma3()] {
        let policy = policy(covered, 1);
        let norm = &policy.trainable()["model.norm.weight"];
        norm.set(&(norm.as_tensor() * f64::INFINITY).unwrap().detach()).unwrap();
        let found = policy.compared(&ids(1, 9, 5)[0]).unwrap().unwrap();
        assert!(found.difference.is_nan(), "{found:?}");
    }
}

#[test]
fn biases_and_norms_that_the_family_has_not_are_refused_by_name() {
    let vector = |width: usize| Tensor::ones(width, DType::F32, &Device::Cpu).unwrap();
    for name in [
        "model.layers.0.self_attn.q_proj.bias",
        "model.layers.1.mlp.down_proj.bias",
        "model.layers.1.self_attn.k_norm.weight",
        "model.layers.0.post_feedforward_layernorm.weight",
        "lm_head.bias",
    ] {
        let error = refusal(|dir| put(dir, name, vector(24)));
        assert!(error.contains(&format!("model_type = llama with a tensor `{name}`")), "{error}");
    }
    let qwen2 = DecoderConfig { model_type: ModelType::Qwen2, ..config() };
    let error = loaded(qwen2, |dir| put(dir, "model.layers.0.self_attn.o_proj.bias", vector(24))).unwrap_err();
    assert!(error.to_string().contains("o_proj.bias"), "{error}");
    // transformers passes over these too, and none of them is part of what the decoder computes.
    let common = ["model.layers.0.self_attn.rotary_emb.inv_freq", "v_head.summary.bias"];
    let buffers = ["model.layers.0.self_attn.masked_bias", "vision_tower.layers.0.self_attn.q_proj.bias"];
    for name in [&common[..], &buffers].concat() {
        assert!(loaded(config(), |dir| put(dir, name, vector(24))).is_ok(), "{name}");
    }
}

/// Adds an output projection, the embedding times `factor`, to the weights of a model.
fn put_head(dir: &Path, factor: f64) {
    let tensors = candle_core::safetensors::load(dir.join("model.safetensors"), &Device::Cpu).unwrap();
    put(dir, "lm_head.weight", (&tensors["model.embed_tokens.weight"] * factor).unwrap());
}

#[test]
fn an_output_projection_that_is_tied_to_an_embedding_with_other_numbers_is_refused() {
    assert!(loaded(config(), |dir| put_head(dir, 1.0)).is_ok(), "some files hold the embedding twice");
    let narrow = |dir: &Path| put(dir, "lm_head.weight", Tensor::ones(24, DType::F32, &Device::Cpu).unwrap());
    for error in [refusal(|dir| put_head(dir, 1.5)), refusal(narrow)] {
        let said =
            "tie_word_embeddings = true with a tensor `lm_head.weight` that is not the embedding; expected false";
        assert!(error.contains(said), "{error}");
    }
}

#[test]
fn weights_of_which_all_names_begin_otherwise_are_told_as_such() {
    let path = |dir: &Path| dir.join("model.safetensors");
    for (before, after) in [("model.", ""), ("", "_orig_mod."), ("model.", "language_model.model.")] {
        let error = refusal(|dir| {
            let tensors = candle_core::safetensors::load(path(dir), &Device::Cpu).unwrap();
            let renamed = tensors.into_iter().map(|(name, tensor)| (name.replacen(before, after, 1), tensor));
            let renamed: std::collections::HashMap<String, Tensor> = renamed.collect();
            candle_core::safetensors::save(&renamed, path(dir)).unwrap();
        });
        let found = format!("{after}{}embed_tokens.weight", if before.is_empty() { "model." } else { "" });
        assert!(error.contains("`model.embed_tokens.weight` is missing"), "{error}");
        assert!(error.contains(&format!("it is there as `{found}`")) && error.contains("save_pretrained"), "{error}");
    }
}

#[test]
fn a_tokenizer_in_whose_place_a_pointer_of_git_lfs_stands_is_told_as_such() {
    let pointer = "version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 9\n";
    let error = refusal(|dir| std::fs::write(dir.join("tokenizer.json"), pointer).unwrap());
    assert!(error.contains("tokenizer.json: a Git LFS pointer") && error.contains("git lfs pull"), "{error}");
}

#[test]
fn a_tokenizer_that_makes_no_prompt_is_refused_by_its_file() {
    let with = |model: Value| {
        let tokenizer = json!({ "version": "1.0", "added_tokens": [], "model": model });
        refusal(|dir| std::fs::write(dir.join("tokenizer.json"), tokenizer.to_string()).unwrap())
    };
    let error = with(json!({"type": "BPE", "vocab": {"\u{e9}": 0}, "merges": []}));
    assert!(error.contains("tokenizer.json: it has no tokens for letters"), "{error}");
    let error = with(json!({"type": "WordLevel", "vocab": {"word": 0}, "unk_token": "<unk>"}));
    assert!(error.contains("tokenizer.json: it cannot encode letters"), "{error}");
    let error = with(json!({"type": "of tomorrow"}));
    assert!(error.contains("tokenizer.json: "), "{error}");
}

#[test]
fn an_end_that_is_not_in_the_vocabulary_is_refused_where_nothing_else_ends_a_text() {
    let named = |dir: &Path| std::fs::write(dir.join("tokenizer_config.json"), r#"{"eos_token": "</s>"}"#).unwrap();
    assert_eq!(loaded(config(), named).unwrap().tokenizer().end_id(), Some(3));
    let error = refusal(|dir| {
        named(dir);
        std::fs::remove_file(dir.join("generation_config.json")).unwrap();
    });
    assert!(error.contains("tokenizer_config.json: eos_token = </s>") && error.contains("tokenizer.json"), "{error}");
}

#[test]
fn an_adapter_that_adds_nothing_or_the_opposite_is_refused() {
    let (dir, adapter) = (tempfile::tempdir().unwrap(), copied(&golden_adapter("llama-all")));
    for alpha in [0.0, -16.0, 1e300] {
        change_json(&adapter.path().join("adapter_config.json"), |described| described["lora_alpha"] = alpha.into());
        let error = refusal_of(&tiny_with("llama", dir.path(), adapter.path()));
        let expected = format!("adapter_config.json: lora_alpha is {alpha:?}; expected a number of 32 bits above 0");
        assert!(error.contains(&expected), "{error}");
    }
}
