//! What is exported is the model that was trained. `tests/goldens/export.py` has transformers and PEFT say so too.

use std::collections::HashMap;

use super::peft::{CASES, copied, expected, golden_adapter, tiny, tiny_with};
use super::*;
use crate::files::export::with_tokenizer;
use crate::files::hub::HubSettings;

#[test]
fn a_merged_model_gives_the_logits_of_model_and_adapter() {
    for (family, name, modules) in CASES {
        let (dir, out) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let settings = tiny_with(family, dir.path(), &golden_adapter(name));
        std::fs::write(dir.path().join("chat_template.jinja"), "{{ messages }}").unwrap();
        let exported = export_merged(&settings, None, out.path()).unwrap();
        assert_eq!((exported.adapted, exported.format), (*modules, Precision::F32), "{name}");
        assert!(exported.chat_template);
        let merged = load(&settings_of(out.path())).unwrap();
        let (ids, expected) = expected(name);
        let found = largest_difference(&logits_of(&merged, &ids), &expected);
        assert!(found < 5e-5, "{name}: logits differ by {found}");
        let copied = std::fs::read_to_string(out.path().join("chat_template.jinja")).unwrap();
        assert_eq!(copied, "{{ messages }}");
        let written = read_json(&out.path().join("config.json"));
        assert!(written["model_type"].as_str().unwrap().starts_with(family), "{name}");
    }
}

#[test]
fn the_number_format_is_that_of_the_model_unless_one_is_chosen() {
    let dir = tempfile::tempdir().unwrap();
    let settings = tiny("qwen3", dir.path());
    change_json(&dir.path().join("config.json"), |config| {
        config["dtype"] = "bfloat16".into();
        config["made_by"] = "its makers".into();
    });
    let file = dir.path().join("model.safetensors");
    let tensors = candle_core::safetensors::load(&file, &Device::Cpu).unwrap().into_iter();
    let tensors: HashMap<_, _> = tensors.map(|(name, tensor)| (name, tensor.to_dtype(DType::BF16).unwrap())).collect();
    candle_core::safetensors::save(&tensors, &file).unwrap();
    for (asked, name, dtype) in [
        (None, "bfloat16", DType::BF16),
        (Some(Precision::F16), "float16", DType::F16),
        (Some(Precision::F32), "float32", DType::F32),
    ] {
        let out = tempfile::tempdir().unwrap();
        export_merged(&settings, asked, out.path()).unwrap();
        let written = read_json(&out.path().join("config.json"));
        assert_eq!(written["dtype"], name);
        assert_eq!(written["made_by"], "its makers");
        let tensors = candle_core::safetensors::load(out.path().join("model.safetensors"), &Device::Cpu).unwrap();
        assert!(tensors.into_iter().all(|(_, tensor)| tensor.dtype() == dtype), "{name}");
    }
}

#[test]
fn an_exported_adapter_names_its_model_by_a_path_that_holds_elsewhere() {
    let (dir, out) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let settings = tiny_with("qwen2", dir.path(), &golden_adapter("qwen2-rslora"));
    let exported = export_adapter(&settings, out.path()).unwrap();
    assert_eq!(exported.adapted, 14);
    let config = read_json(&out.path().join("adapter_config.json"));
    let base = dir.path().canonicalize().unwrap().display().to_string();
    assert_eq!(config["base_model_name_or_path"].as_str(), Some(&*base));
    assert_eq!((config["use_rslora"].as_bool(), config["r"].as_u64()), (Some(true), Some(4)));
    assert!(out.path().join("tokenizer.json").is_file());
}

#[test]
fn an_exported_adapter_keeps_the_id_of_a_model_that_is_here_as_a_copy() {
    let (dir, adapter) = (tempfile::tempdir().unwrap(), copied(&golden_adapter("qwen2-rslora")));
    let settings = tiny_with("qwen2", dir.path(), adapter.path());
    let described = adapter.path().join("adapter_config.json");
    let path = dir.path().canonicalize().unwrap().display().to_string();
    // The last is a directory beside which tests run, so it is no id of the Hub.
    let here = "src/tests";
    assert!(Path::new(here).is_dir());
    for (own, expected) in [("meta-llama/Llama-3-8B", "meta-llama/Llama-3-8B"), ("live", &path), (here, &path)] {
        change_json(&described, |config| config["base_model_name_or_path"] = own.into());
        let out = tempfile::tempdir().unwrap();
        export_adapter(&settings, out.path()).unwrap();
        assert_eq!(read_json(&out.path().join("adapter_config.json"))["base_model_name_or_path"], *expected, "{own}");
    }
}

#[test]
fn an_adapter_is_exported_where_its_model_is_not() {
    let out = tempfile::tempdir().unwrap();
    let adapter = golden_adapter("qwen2-rslora");
    let settings = ModelConfig {
        model: "nowhere/at-all".into(),
        adapter: adapter.display().to_string(),
        ..Config::preset("llm").unwrap().model
    };
    assert_eq!(export_adapter(&settings, out.path()).unwrap().adapted, 14);
    let mut written = read_json(&out.path().join("adapter_config.json"));
    assert_eq!(written["base_model_name_or_path"], "nowhere/at-all");
    let given = read_json(&adapter.join("adapter_config.json"));
    written["base_model_name_or_path"] = given["base_model_name_or_path"].clone();
    assert_eq!(written, given);
    let of_then = tempfile::tempdir().unwrap();
    export_adapter(&ModelConfig { revision: "0123abcd".into(), ..settings.clone() }, of_then.path()).unwrap();
    assert_eq!(read_json(&of_then.path().join("adapter_config.json"))["revision"], "0123abcd");
    // What was exported so goes on with its own model, and with another one without that revision.
    let again = |model: &str| {
        let out = tempfile::tempdir().unwrap();
        let adapter = of_then.path().display().to_string();
        export_adapter(&ModelConfig { model: model.into(), adapter, ..settings.clone() }, out.path()).unwrap();
        read_json(&out.path().join("adapter_config.json"))["revision"].clone()
    };
    assert_eq!((again("nowhere/at-all"), again("some/other")), ("0123abcd".into(), serde_json::Value::Null));
    let tensors = |dir: &Path| candle_core::safetensors::load(dir.join("adapter_model.safetensors"), &Device::Cpu);
    let (given, written) = (tensors(&adapter).unwrap(), tensors(out.path()).unwrap());
    assert_eq!(given.len(), written.len());
    for (name, tensor) in std::collections::BTreeMap::from_iter(given) {
        assert_eq!(largest_difference(&tensor, &written[&name]), 0.0, "{name}");
    }
}

#[test]
fn the_built_in_model_becomes_a_directory_that_loads() {
    let out = tempfile::tempdir().unwrap();
    let settings = Config::preset("builtin").unwrap().model;
    export_merged(&settings, None, out.path()).unwrap();
    let (again, builtin) = (load(&settings_of(out.path())).unwrap(), load(&settings).unwrap());
    let ids = vec![builtin.tokenizer().encode("def strategy(board):\n    return \"W\"\n")];
    assert_eq!(vec![again.tokenizer().encode("def strategy(board):\n    return \"W\"\n")], ids);
    assert!(!ids[0].is_empty() && !builtin.tokenizer().stop_ids().is_empty());
    assert_eq!(again.tokenizer().stop_ids(), builtin.tokenizer().stop_ids());
    let logits = full_logits(&builtin, &ids);
    assert_eq!(largest_difference(&full_logits(&again, &ids), &logits), 0.0);
    assert!(logits.flatten_all().unwrap().to_vec1::<f32>().unwrap().iter().all(|logit| logit.is_finite()));
}

#[test]
fn the_relative_path_by_which_an_adapter_names_its_model_is_no_id_of_the_hub() {
    let (place, adapter) = (tempfile::tempdir().unwrap(), copied(&golden_adapter("qwen2-rslora")));
    let dir = place.path().join("models/tiny");
    std::fs::create_dir_all(&dir).unwrap();
    let settings = tiny_with("qwen2", &dir, adapter.path());
    let path = dir.canonicalize().unwrap().display().to_string();
    for own in ["models/tiny", "models/tiny.gguf"] {
        let described = adapter.path().join("adapter_config.json");
        change_json(&described, |config| config["base_model_name_or_path"] = own.into());
        let out = tempfile::tempdir().unwrap();
        export_adapter(&settings, out.path()).unwrap();
        assert_eq!(read_json(&out.path().join("adapter_config.json"))["base_model_name_or_path"], *path, "{own}");
    }
}

#[test]
fn an_adapter_without_a_tokenizer_has_that_of_the_model_which_was_fetched() {
    let (cache, adapter) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let snapshot = cache.path().join("models--someone--tiny/snapshots/main");
    std::fs::create_dir_all(&snapshot).unwrap();
    let hub = HubSettings { endpoint: String::new(), cache: cache.path().into(), token: None, offline: true };
    let (model, revision) = ("someone/tiny".to_owned(), "main".to_owned());
    let settings = ModelConfig { model, revision, ..Config::preset("llm").unwrap().model };
    let place = || with_tokenizer(adapter.path(), &settings, &hub);
    assert_eq!(place(), adapter.path(), "no tokenizer was fetched");
    std::fs::write(snapshot.join("tokenizer.json"), "{}").unwrap();
    assert_eq!(place(), snapshot);
    for own in ["tokenizer.json", "tokenizer.model", "vocab.json"] {
        std::fs::write(adapter.path().join(own), "{}").unwrap();
        assert_eq!(place(), adapter.path(), "{own}");
        std::fs::remove_file(adapter.path().join(own)).unwrap();
    }
}
