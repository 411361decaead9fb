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
        let golden = goldens().join("families").join(name);
        let dir = tempfile::tempdir().unwrap();
        let mut found_shards = 0;
        for entry in std::fs::read_dir(&golden).unwrap() {
            let path = entry.unwrap().path();
            let file = path.file_name().unwrap().to_str().unwrap().to_owned();
            found_shards += usize::from(file.starts_with("model") && file.ends_with(".safetensors"));
            std::fs::copy(&path, dir.path().join(file)).unwrap();
        }
        assert_eq!(found_shards, shards, "{name}");
        let policy = load(&super::peft::with_tokenizer(dir.path())).unwrap();
        let config = policy.decoder().config();
        assert_eq!(config.sliding_window.is_some(), name == "phi3-window");
        assert_eq!(config.rope_scaling.is_some_and(|scaling| scaling.is_linear()), linear, "{name}");
        assert_eq!(config.tie_word_embeddings, tied, "{name}");
        // What is written is what was read.
        let again = DecoderConfig::from_json(&config.to_json().to_string(), Path::new("again")).unwrap();
        assert_eq!(&again, config, "{name}");
        let expected = candle_core::safetensors::load(golden.join("expected.safetensors"), &Device::Cpu).unwrap();
        let ids = expected["ids"].to_dtype(DType::U32).unwrap();
        let found = largest_difference(&logits_of(&policy, &ids), &expected["logits"]);
        assert!(found < 2e-5, "{name}: logits differ by {found}");
    }
}

#[test]
fn long_contexts_stretch_low_frequencies_only() {
    let scaling =
        RopeScaling { factor: 8.0, low_freq_factor: 1.0, high_freq_factor: 4.0, original_max_position_embeddings: 32 };
    let config = DecoderConfig { rope_scaling: Some(scaling), ..config() };
    let found = policy(config, 9).compared(&ids(1, 40, 2)[0]).unwrap().unwrap();
    assert!(found.difference < 1e-4, "{found:?}");
}

#[test]
fn a_stretched_context_is_computed_as_far_as_its_first_frequencies_reach() {
    let dir = tempfile::tempdir().unwrap();
    let policy = load(&super::peft::tiny("phi3", dir.path())).unwrap();
    let config = policy.decoder().config();
    let again = DecoderConfig::from_json(&config.to_json().to_string(), Path::new("again")).unwrap();
    assert_eq!(&again, config);
    assert_eq!(config.long_rope.as_ref().map(|long| long.max_position_embeddings), Some(64));
    assert!(policy.decoder().new_cache(1, 32).is_ok());
    let error = policy.decoder().new_cache(1, 33).unwrap_err().to_string();
    assert!(error.contains("33 tokens") && error.contains("32 at most") && error.contains("longrope"), "{error}");
}

/// What is read of the configuration of a tiny model after `change`.
fn read_after(family: &str, change: impl FnOnce(&mut Value)) -> Result<DecoderConfig, PolicyError> {
    let path = goldens().join(family).join("config.json");
    let mut file = read_json(&path);
    change(&mut file);
    DecoderConfig::from_json(&file.to_string(), &path)
}

/// What is said of it, or that nothing is.
fn said_of(family: &str, change: impl FnOnce(&mut Value)) -> String {
    read_after(family, change).map_or_else(|error| error.to_string(), |_| "nothing".into())
}

#[test]
fn what_a_family_does_not_compute_is_refused_by_the_name_of_its_key() {
    let (sliding, stretched) = ("sliding_attention", "families/llama-stretched-low");
    let kinds = |kinds: [&str; 3]| json!(kinds);
    for (family, key, value, said) in [
        ("gemma2", "use_bidirectional_attention", json!(true), "use_bidirectional_attention = true"),
        ("gemma2", "hidden_activation", json!("gelu"), "hidden_activation = gelu; expected gelu_pytorch_tanh"),
        ("gemma2", "attention_bias", json!(true), "attention_bias = true"),
        ("gemma2", "final_logit_softcapping", json!(0.0), "final_logit_softcapping = 0"),
        ("gemma2", "sliding_window", json!(null), "sliding_window = null"),
        ("gemma3", "attn_logit_softcapping", json!(50.0), "attn_logit_softcapping = 50"),
        ("gemma3", "layer_types", kinds([sliding, "full_attention", "full_attention"]), "full_attention in layer 2"),
        ("gemma3", "layer_types", kinds([sliding, sliding, sliding]), "nothing"),
        ("mistral", "sliding_window", json!(0), "sliding_window = 0"),
        ("mistral", "layer_types", kinds([sliding, "full_attention", sliding]), "layer_types = sliding_attention"),
        ("mistral", "layer_types", kinds(["chunked_attention"; 3]), "layer_types = chunked_attention"),
        ("qwen3_moe", "num_experts_per_tok", json!(6), "num_experts_per_tok = 6; expected 1 to num_experts = 5"),
        ("qwen3_moe", "decoder_sparse_step", json!(0), "decoder_sparse_step = 0"),
        ("qwen3_moe", "decoder_sparse_step", json!(2), "nothing"),
        ("mistral", "rope_parameters", json!({"rope_type": "yarn", "factor": 4.0}), "yarn"),
        ("qwen2", "is_causal", json!(false), "is_causal = false; expected true"),
        ("qwen2", "is_causal", json!(true), "nothing"),
        (stretched, "original_max_position_embeddings", json!(48), "embeddings = 48; expected that of the rotation"),
        (stretched, "original_max_position_embeddings", json!(32), "nothing"),
        ("gemma3", "rope_parameters", json!({"rope_type": "linear", "factor": 4.0}), "expected an object for each of"),
        ("gemma3", "rope_scaling", json!({"full_attention": {"factor": 4.0}}), "expected null, or an object for"),
    ] {
        let found = said_of(family, |file| file[key] = value.clone());
        assert!(found.contains(said), "{family}, {key} = {value}: {found}");
    }
    let long = |key: &'static str| said_of("phi3", |file| file["rope_parameters"][key] = json!([1.0, 2.0, 3.0]));
    assert!(long("short_factor").contains("expected 2 numbers above 0"), "{}", long("short_factor"));
    let local = said_of("gemma3", |file| file["rope_parameters"][sliding]["rope_type"] = "linear".into());
    assert!(local.contains("sliding_attention"), "{local}");
    let images = said_of("gemma3", |file| file["model_type"] = "gemma3".into());
    assert!(images.contains("`gemma3` is not supported") && images.contains("gemma3_text"), "{images}");
}

#[test]
fn a_silent_file_means_what_transformers_takes_it_to_mean() {
    let of = |family: &str, keys: &[&str]| {
        let without = |file: &mut Value| keys.iter().for_each(|key| drop(file.as_object_mut().unwrap().remove(*key)));
        read_after(family, without).unwrap()
    };
    // Defaults of MistralConfig, Gemma2Config and Gemma3TextConfig.
    assert_eq!(of("mistral", &["sliding_window"]).window(0), Some(4096));
    // MinistralConfig, which transformers takes in place of MistralConfig where a file has kinds of layers.
    let ministral = |kind| read_after("mistral", |file| file["layer_types"] = json!([kind, kind])).unwrap();
    assert_eq!(ministral("sliding_attention"), of("mistral", &[]));
    assert!(of("mistral", &[]).window(0).is_some());
    assert_eq!(ministral("full_attention").window(0), None);
    assert_eq!(of("phi3", &["sliding_window"]).window(0), None);
    let keys = ["query_pre_attn_scalar", "attn_logit_softcapping", "final_logit_softcapping", "sliding_window"];
    let gemma2 = of("gemma2", &[&keys[..], &["head_dim", "layer_types", "tie_word_embeddings"]].concat());
    let found = (gemma2.query_pre_attn_scalar, gemma2.attn_logit_softcapping, gemma2.final_logit_softcapping);
    assert_eq!(found, (Some(256), Some(50.0), Some(30.0)));
    assert_eq!((gemma2.head_dim, gemma2.window(0), gemma2.window(1)), (256, Some(4096), None));
    assert!(gemma2.tie_word_embeddings);
    let gemma3 = of("gemma3", &["rope_parameters", "layer_types", "sliding_window_pattern"]);
    let window = gemma3.sliding_window.unwrap();
    assert_eq!((gemma3.rope_theta, window.rope_theta, window.full_every), (1e6, Some(1e4), 6));
}

#[test]
fn a_number_that_a_file_has_twice_or_for_nothing_is_read_as_transformers_reads_it() {
    // The golden file says 32 beside the rotation and within it.
    let context = |change: fn(&mut Value)| read_after("phi3", change).unwrap().max_position_embeddings;
    assert_eq!(context(|file| file["original_max_position_embeddings"] = 48.into()), 48);
    assert_eq!(context(|file| file["rope_parameters"]["original_max_position_embeddings"] = 48.into()), 32);
    let without = |file: &mut Value| drop(file.as_object_mut().unwrap().remove("original_max_position_embeddings"));
    assert_eq!(context(without), 4096, "the default of Phi3Config");
    let rotated = read_after("phi3", |file| file["partial_rotary_factor"] = 1.0.into()).unwrap();
    assert_eq!(rotated.partial_rotary_factor, 0.5, "as the rotation says");
    let gemma2 = read_after("gemma2", |file| {
        drop(file.as_object_mut().unwrap().remove("layer_types"));
        file["sliding_window_pattern"] = 3.into();
    });
    let gemma2 = gemma2.unwrap();
    assert_eq!([0, 1].map(|layer| gemma2.window(layer)), [Some(5), None]);
}
