//! Directories as transformers saves them. `tests/goldens/families.py` wrote them, with their logits.

use super::*;

#[test]
fn stretched_rotations_heads_shards_and_formats_give_the_logits_of_transformers() {
    for (name, shards, linear, tied) in [
        ("llama-stretched-low", 1, false, true),
        ("llama-stretched-all", 4, true, false),
        ("qwen2-untied", 3, false, false),
        ("qwen3-tied", 1, false, true),
        ("mistral-sees-all", 1, false, false),
        ("phi3-window", 1, false, true),
    ] {
        let golden = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/goldens/families").join(name);
        let dir = tempfile::tempdir().unwrap();
        let mut found_shards = 0;
        for entry in std::fs::read_dir(&golden).unwrap() {
            let path = entry.unwrap().path();
            let file = path.file_name().unwrap().to_str().unwrap().to_owned();
            found_shards += usize::from(file.starts_with("model") && file.ends_with(".safetensors"));
            std::fs::copy(&path, dir.path().join(file)).unwrap();
        }
        assert_eq!(found_shards, shards, "{name}");
        let settings = super::peft::with_tokenizer(dir.path());
        let policy = Policy::load(&settings, Seed::root(0), &Device::Cpu).unwrap();
        let config = policy.decoder().config();
        assert_eq!(config.sliding_window.is_some(), name == "phi3-window");
        assert_eq!(config.rope_scaling.is_some_and(|scaling| scaling.is_linear()), linear, "{name}");
        assert_eq!(config.tie_word_embeddings, tied, "{name}");
        // What is written is what was read.
        let again = DecoderConfig::from_json(&config.to_json().to_string(), Path::new("again")).unwrap();
        assert_eq!(&again, config, "{name}");
        let expected = candle_core::safetensors::load(golden.join("expected.safetensors"), &Device::Cpu).unwrap();
        let ids = expected["ids"].to_dtype(DType::U32).unwrap();
        let hidden = policy.decoder().hidden(&ids, Adapters::On).unwrap();
        let found = largest_difference(&policy.decoder().logits(&hidden).unwrap(), &expected["logits"]);
        assert!(found < 2e-5, "{name}: logits differ by {found}");
    }
}

#[test]
fn a_stretched_context_is_computed_as_far_as_its_first_frequencies_reach() {
    let dir = tempfile::tempdir().unwrap();
    let policy = Policy::load(&super::peft::tiny("phi3", dir.path()), Seed::root(0), &Device::Cpu).unwrap();
    let config = policy.decoder().config();
    let again = DecoderConfig::from_json(&config.to_json().to_string(), Path::new("again")).unwrap();
    assert_eq!(&again, config);
    assert_eq!(config.long_rope.as_ref().map(|long| long.max_position_embeddings), Some(64));
    assert!(policy.decoder().new_cache(1, 32).is_ok());
    let error = policy.decoder().new_cache(1, 33).unwrap_err().to_string();
    assert!(error.contains("33 tokens") && error.contains("32 at most") && error.contains("longrope"), "{error}");
}
