//! What a model came with beside its weights is saved again with them.

use serde_json::{Value, json};

use super::*;

fn read(dir: &Path, name: &str) -> Value {
    read_json(&dir.join(name))
}

/// A model whose files say more than is read.
fn rich(dir: &Path) -> Vec<(&'static str, Value)> {
    policy(config(), 51).save(dir).unwrap();
    let mut described = read(dir, "config.json");
    for (key, value) in [
        ("torch_dtype", json!("bfloat16")),
        ("bos_token_id", json!(1)),
        ("eos_token_id", json!(3)),
        ("pad_token_id", json!(2)),
        ("initializer_range", json!(0.02)),
    ] {
        described[key] = value;
    }
    let tokens = json!({
        "tokenizer_class": "LlamaTokenizer", "model_max_length": 64, "padding_side": "left",
        "bos_token": {"content": "1", "lstrip": false}, "eos_token": "3", "pad_token": "2",
        "additional_special_tokens": ["4"],
        "chat_template": [{"name": "default", "template": "one"}, {"name": "tool_use", "template": "two"}],
    });
    let generation = json!({
        "do_sample": true, "temperature": 0.6, "top_p": 0.9, "bos_token_id": 1, "eos_token_id": 3, "pad_token_id": 2,
    });
    let files =
        vec![("config.json", described), ("tokenizer_config.json", tokens), ("generation_config.json", generation)];
    for (name, content) in &files {
        std::fs::write(dir.join(name), content.to_string()).unwrap();
    }
    files
}

fn loaded(dir: &Path, lora_r: usize) -> Policy {
    load(&ModelConfig { lora_r, ..settings_of(dir) }).unwrap()
}

#[test]
fn a_model_that_is_trained_in_full_keeps_all_settings_of_its_makers() {
    let (dir, saved, again) =
        (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let mut expected = rich(dir.path());
    // The weights are saved in another format, which both names of it say.
    for key in ["dtype", "torch_dtype"] {
        expected[0].1[key] = "float32".into();
    }
    let policy = loaded(dir.path(), 0);
    drop(dir);
    policy.save(saved.path()).unwrap();
    loaded(saved.path(), 0).save(again.path()).unwrap();
    for (name, content) in &expected {
        for place in [&saved, &again] {
            assert_eq!(&read(place.path(), name), content, "{name}");
        }
    }
    let (before, after) = (policy.tokenizer(), loaded(saved.path(), 0));
    let all = |tokenizer: &Tokenizer| {
        let template = tokenizer.chat_template().map(str::to_owned);
        (tokenizer.stop_ids().to_vec(), tokenizer.bos_token().map(str::to_owned), template)
    };
    assert_eq!(all(before), all(after.tokenizer()));
    assert_eq!(all(before), (vec![3], Some("1".into()), Some("one".into())));
}

#[test]
fn settings_of_the_tokenizer_stay_beside_a_trained_adapter_too() {
    let (dir, saved) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let expected = rich(dir.path());
    std::fs::write(dir.path().join("chat_template.jinja"), "the file").unwrap();
    loaded(dir.path(), 2).save(saved.path()).unwrap();
    for (name, content) in &expected[1..] {
        let mut found = read(saved.path(), name);
        if *name == "tokenizer_config.json" {
            // The file wins over the template in the configuration, and is saved there.
            assert_eq!(found["chat_template"], "the file");
            found["chat_template"] = content["chat_template"].clone();
        }
        assert_eq!(&found, content, "{name}");
    }
    assert!(!saved.path().join("config.json").exists());
}

#[test]
fn an_end_that_only_the_configuration_names_is_saved_where_it_is_looked_for_first() {
    let (dir, saved) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    rich(dir.path());
    std::fs::write(dir.path().join("tokenizer_config.json"), "{}").unwrap();
    std::fs::write(dir.path().join("generation_config.json"), r#"{"top_p": 0.5, "eos_token_id": null}"#).unwrap();
    loaded(dir.path(), 2).save(saved.path()).unwrap();
    let expected = json!({"top_p": 0.5, "eos_token_id": [3]});
    assert_eq!(read(saved.path(), "generation_config.json"), expected);
    // And with what is merged, where the other files are copied.
    let merged = tempfile::tempdir().unwrap();
    let adapter = saved.path().display().to_string();
    export_merged(&ModelConfig { adapter, ..settings_of(dir.path()) }, None, merged.path()).unwrap();
    assert_eq!(read(merged.path(), "generation_config.json"), expected);
}

#[test]
fn what_only_the_configuration_says_of_texts_is_exported_where_it_is_looked_for_first() {
    let dir = tempfile::tempdir().unwrap();
    rich(dir.path());
    let merged = || {
        let merged = tempfile::tempdir().unwrap();
        export_merged(&settings_of(dir.path()), None, merged.path()).unwrap();
        merged
    };
    std::fs::remove_file(dir.path().join("generation_config.json")).unwrap();
    let expected = json!({"bos_token_id": 1, "eos_token_id": [3], "pad_token_id": 2});
    assert_eq!(read(merged().path(), "generation_config.json"), expected);
    // Nothing says what ends a text: no file says that nothing does, on which transformers fails.
    std::fs::write(dir.path().join("tokenizer_config.json"), "{}").unwrap();
    change_json(&dir.path().join("config.json"), |json| {
        for key in ["bos_token_id", "eos_token_id", "pad_token_id"] {
            json.as_object_mut().unwrap().remove(key);
        }
    });
    assert!(!merged().path().join("generation_config.json").exists());
}

#[test]
fn files_that_may_not_be_written_are_copied_and_changed() {
    let dir = tempfile::tempdir().unwrap();
    rich(dir.path());
    let path = dir.path().join("generation_config.json");
    std::fs::write(&path, r#"{"top_p": 0.5}"#).unwrap();
    let mut mode = std::fs::metadata(&path).unwrap().permissions();
    mode.set_readonly(true);
    std::fs::set_permissions(&path, mode).unwrap();
    let merged = tempfile::tempdir().unwrap();
    export_merged(&settings_of(dir.path()), None, merged.path()).unwrap();
    // To root all files may be written.
    let copy = std::fs::metadata(merged.path().join("generation_config.json")).unwrap();
    assert!(!copy.permissions().readonly());
}

#[test]
fn code_of_the_makers_that_is_not_written_is_not_named() {
    let (dir, saved) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    rich(dir.path());
    let named = json!({"AutoConfig": "configuration_phi3.Phi3Config"});
    change_json(&dir.path().join("config.json"), |described| described["auto_map"] = named);
    loaded(dir.path(), 0).save(saved.path()).unwrap();
    assert_eq!(read(saved.path(), "config.json").get("auto_map"), None);
}

#[test]
fn weights_are_exported_in_the_format_of_their_files_whatever_the_configuration_says() {
    let dir = tempfile::tempdir().unwrap();
    rich(dir.path());
    let file = dir.path().join(weights::FILE);
    let exported = |format| {
        let merged = tempfile::tempdir().unwrap();
        export_merged(&settings_of(dir.path()), format, merged.path()).map(|exported| exported.format)
    };
    assert_eq!(read(dir.path(), "config.json")["torch_dtype"], "bfloat16");
    assert_eq!(exported(None).unwrap(), Precision::F32, "what the files say");
    let target = LoadTarget { device: &Device::Cpu, precision: Precision::F32 };
    let mut tensors = weights::read_file(&file, target).unwrap();
    let name = "model.embed_tokens.weight".to_owned();
    let large = (tensors[&name].ones_like().unwrap() * 1e5).unwrap();
    tensors.insert(name, large);
    weights::write_file(&tensors, &file).unwrap();
    let refused = exported(Some(Precision::F16)).unwrap_err().to_string();
    assert!(refused.contains("holds numbers that float16 does not reach; expected --dtype bf16 or f32"), "{refused}");
    // Norms stay as they are beside matrices of 16 bits.
    for (name, tensor) in &mut tensors {
        *tensor = weights::in_format(name, tensor, Precision::Bf16).unwrap();
    }
    // So does what is no part of the model.
    let head = Tensor::zeros((1, 4), DType::F32, &Device::Cpu).unwrap();
    tensors.insert("v_head.summary.weight".into(), head);
    weights::write_file(&tensors, &file).unwrap();
    assert_eq!(exported(None).unwrap(), Precision::Bf16);
}
