use super::*;

#[test]
fn every_preset_resolves_and_the_resolved_file_gives_it_back() {
    for Preset { name, .. } in PRESETS {
        let config = Config::preset(name).unwrap();
        let mut layers = Layers::default();
        layers.text("round trip", &toml::to_string(&config).unwrap()).unwrap();
        assert_eq!(layers.resolve().unwrap(), config, "{name}");
    }
}

#[test]
fn a_preset_says_what_it_is_for_and_why_it_differs() {
    let builtin = Config::preset("builtin").unwrap();
    for preset in PRESETS.iter().filter(|preset| preset.name != "builtin") {
        let config = Config::preset(preset.name).unwrap();
        assert_ne!(config, builtin, "{}", preset.name);
        assert!(config.model.lora_r > 0 && !preset.about.is_empty(), "{}", preset.name);
        assert!(preset.layers.iter().all(|text| text.starts_with("# ")), "{}", preset.name);
    }
    assert_eq!(Config::preset("h200").unwrap().model.device, "cuda");
    let ahead = |name| Config::preset(name).unwrap().train.steps_ahead;
    assert_eq!(["builtin", "llm", "laptop", "gpu-24gb", "h200"].map(ahead), [0, 0, 0, 1, 1], "where a GPU would wait");
}

#[test]
fn a_misspelt_key_names_the_nearest() {
    let error = Layers::default().assignment("rollout.num_generation=4").unwrap_err().to_string();
    assert!(error.contains("rollout.num_generation") && error.contains("`num_generations`"), "{error}");
}

#[test]
fn a_wrong_type_names_key_value_and_expectation() {
    let error = Layers::default().assignment("grpo.learning_rate=fast").unwrap_err().to_string();
    assert!(error.contains("grpo.learning_rate") && error.contains("fast") && error.contains("float"), "{error}");
}

#[test]
fn later_layers_win_and_whole_numbers_may_be_floats() {
    let mut layers = Layers::default();
    layers.preset("llm").unwrap();
    layers.assignment("rollout.temperature=1").unwrap();
    layers.assignment("model.model=some/model").unwrap();
    let config = layers.resolve().unwrap();
    assert_eq!((config.model.lora_r, config.rollout.temperature), (16, 1.0));
    assert_eq!(config.model.model, "some/model");
}

#[test]
fn an_unreachable_target_is_refused() {
    let mut layers = Layers::default();
    layers.assignment("arena.moves_max=500").unwrap();
    assert!(layers.resolve().unwrap_err().to_string().contains("unreachable"));
}

#[test]
fn a_misspelt_choice_names_key_choices_and_the_nearest() {
    let refusal = |assignment: &str| {
        let mut layers = Layers::default();
        layers.assignment(assignment).unwrap();
        layers.resolve().unwrap_err().to_string()
    };
    let expected = "model.precision = \"bf61\": expected one of auto, f32, bf16, f16; did you mean `bf16`?";
    assert_eq!(refusal("model.precision=bf61"), expected);
    let error = refusal("grpo.lr_scheduler_type=cosinus");
    assert!(error.starts_with("grpo.lr_scheduler_type = ") && error.ends_with("did you mean `cosine`?"), "{error}");
    let error = refusal("model.precision=int8");
    assert!(error.ends_with("expected one of auto, f32, bf16, f16"), "{error}");
}

#[test]
fn dropout_is_a_share_below_one() {
    for (value, holds) in [("0", true), ("0.5", true), ("1", false), ("1.5", false), ("-0.1", false)] {
        let mut layers = Layers::default();
        layers.assignment(&format!("model.lora_dropout={value}")).unwrap();
        let refused = layers.resolve().err().map(|error| error.to_string());
        assert_eq!(refused.is_none(), holds, "{value}: {refused:?}");
        assert!(refused.is_none_or(|error| error.contains("model.lora_dropout")), "{value}");
    }
}

#[test]
fn no_more_than_one_step_is_written_ahead() {
    for (value, holds) in [("0", true), ("1", true), ("2", false)] {
        let mut layers = Layers::default();
        layers.assignment(&format!("train.steps_ahead={value}")).unwrap();
        let refused = layers.resolve().err().map(|error| error.to_string());
        assert_eq!(refused.is_none(), holds, "{value}: {refused:?}");
        assert!(refused.is_none_or(|error| error.contains("train.steps_ahead = 2: expected 0 or 1")));
    }
}
