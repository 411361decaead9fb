use std::collections::BTreeSet;

use super::*;

#[test]
fn a_whole_number_that_is_too_large_is_not_said_to_be_none() {
    let refused = Layers::default().assignment("train.seed=99999999999999999999").unwrap_err().to_string();
    assert!(refused.contains("expected at most 9223372036854775807 (from --set"), "{refused}");
}

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
        assert!(!preset.about.is_empty(), "{}", preset.name);
        assert_eq!(config.model.lora_r > 0, !["demo", "search"].contains(&preset.name), "{}", preset.name);
        assert!(preset.layers.iter().all(|text| text.starts_with("# ")), "{}", preset.name);
    }
    assert_eq!(Config::preset("h200").unwrap().model.device, "cuda");
    let ahead = |name| Config::preset(name).unwrap().train.steps_ahead;
    assert_eq!(
        ["builtin", "llm", "laptop", "gpu-24gb", "h200"].map(ahead),
        [0, 0, 0, 1, 1].map(|count| StepsAhead::try_from(count).unwrap()),
        "where a GPU would wait"
    );
}

/// Why a configuration with these assignments is refused, if it is.
fn refusal(assignments: &[&str]) -> Option<String> {
    let mut layers = Layers::default();
    let laid = assignments.iter().try_for_each(|assignment| layers.assignment(assignment));
    laid.and_then(|()| layers.resolve().map(drop)).err().map(|error| error.to_string())
}

#[test]
fn a_section_of_a_file_is_a_table_and_an_item_of_a_list_has_its_value() {
    for (text, found) in [("grpo = 1", "1"), ("[[grpo]]\nbeta = 1", "[{ beta = 1 }]")] {
        let error = Layers::default().text("run.toml", text).unwrap_err().to_string();
        let expected = "expected a section, [grpo] with a line for each setting (from run.toml)";
        assert_eq!(error, format!("grpo = {found}: {expected}"));
    }
    let error = refusal(&["rollout.servers=[1]"]).unwrap();
    assert!(error.starts_with("rollout.servers[0] = [1]: "), "{error}");
}

#[test]
fn later_layers_win_and_whole_numbers_may_be_floats() {
    let mut layers = Layers::default();
    layers.preset("llm").unwrap();
    layers.assignment("rollout.temperature=1").unwrap();
    layers.assignment("model.model=some/model").unwrap();
    let config = layers.resolve().unwrap();
    assert_eq!((config.model.lora_r, config.rollout.temperature), (64, 1.0));
    assert_eq!(config.model.model, "some/model");
}

#[test]
fn numbers_are_taken_as_people_type_them() {
    let mut layers = Layers::default();
    for assignment in ["rollout.temperature=.7", "grpo.beta=1.", "sft.total_tokens=12e6", "train.max_steps=1e1"] {
        layers.assignment(assignment).unwrap();
    }
    let config = layers.resolve().unwrap();
    assert_eq!((config.rollout.temperature, config.grpo.beta), (0.7, 1.0));
    assert_eq!((config.sft.total_tokens, config.train.max_steps), (12_000_000, 10));
    for (wrong, found) in [("train.max_steps=1.5", "1.5"), ("train.max_steps=.7", "\".7\""), ("grpo.beta=.", "\".\"")] {
        assert!(refusal(&[wrong]).unwrap().contains(&format!(" = {found}: expected ")), "{wrong}");
    }
}

#[test]
fn text_is_taken_as_it_was_typed_whatever_it_looks_like() {
    let mut layers = Layers::default();
    for assignment in
        ["environment.env=2048", "model.revision=1234567", "train.output_dir=2026-01-31", "model.adapter=true"]
    {
        layers.assignment(assignment).unwrap();
    }
    let config = layers.resolve().unwrap();
    assert_eq!((config.environment.env.as_str(), config.model.revision.as_str()), ("2048", "1234567"));
    assert_eq!((config.train.output_dir.to_str(), config.model.adapter.as_str()), (Some("2026-01-31"), "true"));
    assert!(refusal(&["model.tf32=true"]).unwrap().contains("expected one of auto, on, off"));
    assert!(refusal(&["model.revision=[1]"]).unwrap().contains("expected string"));
    assert!(refusal(&["grpo.beta=true"]).unwrap().contains("expected float"));
}

#[test]
fn a_misspelt_choice_names_key_choices_and_the_nearest() {
    let expected = "model.precision = \"bf61\": expected one of auto, f32, bf16, f16; did you mean `bf16`?";
    assert_eq!(refusal(&["model.precision=bf61"]).as_deref(), Some(expected));
    let error = refusal(&["grpo.lr_scheduler_type=cosinus"]).unwrap();
    assert!(error.starts_with("grpo.lr_scheduler_type = ") && error.ends_with("did you mean `cosine`?"), "{error}");
    let error = refusal(&["model.precision=int8"]).unwrap();
    assert!(error.ends_with("expected one of auto, f32, bf16, f16"), "{error}");
}

#[test]
fn a_key_that_is_gone_is_answered_with_what_to_do_with_its_line() {
    let error = refusal(&["sandbox.backstop_seconds=10"]).unwrap();
    assert!(
        error.ends_with(
            "; it is a key of 0.1.0 and gone, fuel alone bounds a call: leave it out (no run of 0.1.0 can be resumed)"
        ),
        "{error}"
    );
}

#[test]
fn settings_that_nothing_can_be_done_with_are_refused_with_what_is_allowed() {
    let cispo = ["grpo.loss_type=cispo", "grpo.epsilon_high=5"];
    let accepted: [&[&str]; 10] = [
        &cispo,
        &["grpo.loss_type=sapo", "grpo.sapo_temperature_neg=1.5"],
        &["grpo.loss_type=sapo", "grpo.importance_sampling_level=sequence"],
        &["grpo.loss_type=grpo", "grpo.importance_sampling_level=sequence", "grpo.delta=4"],
        &["grpo.delta=4"],
        &["grpo.top_entropy_quantile=0.2", "grpo.scale_rewards=mean"],
        &["grpo.epsilon=1", "grpo.epsilon_high=0"],
        &["reward.length_penalty=1", "reward.length_penalty_from=0"],
        &["model.lora_dropout=0.5"],
        &["train.steps_ahead=1"],
    ];
    for assignments in accepted {
        assert_eq!(refusal(assignments), None, "{assignments:?}");
    }
    let refused: [(&[&str], &str, &str); 20] = [
        (&["grpo.loss_type=cispo"], "grpo.epsilon_high = 0.28: ", "5 is usual"),
        (
            &["grpo.scale_rewards=entropic", "grpo.learn_from_best=1", "grpo.learn_from_worst=1"],
            "grpo.scale_rewards = entropic: ",
            "groups of two",
        ),
        (
            &["grpo.scale_rewards=entropic", "grpo.learn_from_best=4", "rollout.num_generations=2"],
            "grpo.scale_rewards = entropic: ",
            "groups of two are learnt from, or more of a group (rollout.num_generations above 2)",
        ),
        (&[&cispo[..], &["grpo.delta=8"]].concat(), "grpo.delta = 8: expected 0", "\"dapo\", \"grpo\", \"dr_grpo\""),
        (&["grpo.loss_type=sapo", "grpo.delta=4"], "grpo.delta = 4: expected 0", "unclipped side"),
        (&["grpo.delta=1.28"], "grpo.delta = 1.28: expected 0", "here 1.28"),
        (&["grpo.delta=-1"], "grpo.delta = -1: expected 0", "4 is usual"),
        (
            &[&cispo[..], &["grpo.importance_sampling_level=sequence"]].concat(),
            "grpo.importance_sampling_level = \"sequence\": expected \"token\"",
            "grpo.loss_type = \"grpo\" for GSPO",
        ),
        (&["grpo.epsilon=1.5"], "grpo.epsilon = 1.5: expected 0 to 1", ""),
        (&["grpo.epsilon_high=-0.1"], "grpo.epsilon_high = -0.1: expected a number, 0 or more", ""),
        (&["grpo.sapo_temperature_pos=0"], "grpo.sapo_temperature_pos = 0: ", "above 0"),
        (&["grpo.top_entropy_quantile=0"], "grpo.top_entropy_quantile = 0: ", "above 0, at most 1"),
        (&["reward.length_penalty_from=1"], "reward.length_penalty_from = 1: ", "0 to below 1"),
        (&["grpo.loss_type=cipso"], "grpo.loss_type = \"cipso\": ", "did you mean `cispo`?"),
        (&["grpo.loss_type=dpo"], "grpo.loss_type = \"dpo\": ", "dpo is another algorithm"),
        (&["grpo.scale_rewards=means"], "grpo.scale_rewards = \"means\": ", "did you mean `mean`?"),
        (&["grpo.learning_rate=fast"], "grpo.learning_rate = \"fast\": ", "float"),
        (&["arena.moves_max=500"], "arena.moves_max = 500: ", "unreachable"),
        (&["model.lora_dropout=1"], "model.lora_dropout = 1: ", "0 to below 1"),
        (&["train.steps_ahead=2"], "train.steps_ahead = 2: expected 0 or 1", ""),
    ];
    for (assignments, beginning, part) in refused {
        let error = refusal(assignments).unwrap();
        assert!(error.starts_with(beginning) && error.contains(part), "{assignments:?}: {error}");
    }
}

/// The keys of a type in `default.toml` that take the value with a preset. Each other names itself in its refusal; a share
/// that the guard warns of may name the share that stops the run, which must fit it.
fn taking(preset: &str, of_type: &str, value: impl Into<Value> + Clone) -> BTreeSet<String> {
    let defaults: Table = DEFAULT_TOML.parse().unwrap();
    let is_of_type = |key: &String| {
        let (section, name) = key.split_once('.').unwrap();
        defaults[section][name].type_str() == of_type
    };
    let is_taken = |key: &String| {
        let mut layers = Layers::default();
        layers.preset(preset).unwrap();
        layers.value("test", key, value.clone()).unwrap();
        let refused = layers.resolve().err().map(|error| error.to_string());
        let is_named = |error: &String| error.starts_with(&format!("{key} = ")) || key.starts_with("guard.warn_");
        assert!(refused.iter().all(is_named), "{key}: {refused:?}");
        refused.is_none()
    };
    keys().into_iter().filter(is_of_type).filter(is_taken).collect()
}

fn listed(keys: &str) -> BTreeSet<String> {
    keys.split_whitespace().map(str::to_owned).collect()
}

#[test]
fn no_number_takes_what_nothing_can_be_computed_with() {
    for preset in ["builtin", "llm"] {
        for value in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY, -1.0, 1e300] {
            assert_eq!(taking(preset, "float", value), listed(""), "{value} with {preset}");
        }
    }
    let tiny = taking("builtin", "float", 1e-39);
    for key in ["model.lora_alpha", "rollout.temperature", "grpo.adam_epsilon", "grpo.learning_rate"] {
        assert!(!tiny.contains(key), "{key} is 0 as f32");
    }
}

#[test]
fn zero_is_taken_where_it_means_something() {
    let floats = "model.lora_dropout rollout.min_p rollout.correction_floor reward.scale reward.fuel_bonus \
                  reward.length_penalty reward.length_penalty_from reward.turns_gamma grpo.adam_beta1 grpo.adam_beta2 \
                  grpo.weight_decay grpo.epsilon grpo.epsilon_high grpo.delta grpo.beta grpo.entropy_coef \
                  grpo.entropy_target grpo.elite_coef grpo.elite_free_nats grpo.elite_prior grpo.advantage_std_floor guard.warn_tied \
                  guard.warn_parsed guard.warn_clipped guard.stop_unique guard.stop_entropy guard.stop_succeeded \
                  train.eval_temperature sft.weight_decay sft.error_rate";
    assert_eq!(taking("builtin", "float", 0.0), listed(floats));
    let whole = "model.lora_r rollout.top_k rollout.resample_tied sandbox.check_one_in arena.parallel_rewards \
                 grpo.warmup_steps grpo.elite_from_step grpo.elite_min_games grpo.elite_replays grpo.learn_from_best \
                 grpo.learn_from_worst train.seed train.steps_ahead train.memory_mib train.eval_steps \
                 train.eval_samples guard.grace_steps sft.warmup_steps sft.eval_samples";
    assert_eq!(taking("builtin", "integer", 0), listed(whole));
}

#[test]
fn only_counts_that_mean_never_or_all_take_the_largest_number() {
    // The length is held to the context of the model.
    let unbounded = "rollout.max_completion_length rollout.top_k arena.freeze_after arena.moves_max grpo.warmup_steps \
                     grpo.elite_from_step grpo.elite_min_games grpo.elite_replays grpo.learn_from_best grpo.learn_from_worst train.seed \
                     train.max_steps train.save_steps train.save_total_limit train.eval_steps guard.grace_steps \
                     guard.window sft.warmup_steps sft.total_tokens";
    assert_eq!(taking("builtin", "integer", i64::MAX), listed(unbounded));
}

/// That settings and fields are the same, every configuration that is read shows: no field has a default of its own.
#[test]
fn every_setting_is_explained() {
    let mut above = "";
    for line in DEFAULT_TOML.lines() {
        let is_setting = line.contains(" = ") && !line.starts_with('#');
        assert!(!is_setting || above.starts_with("# "), "{line} is not explained");
        above = line;
    }
}

/// The lines of README.md.
#[test]
fn the_lines_of_the_page_work() -> Result<(), ConfigError> {
    use crate as grpo_config;

    let mut layers = grpo_config::Layers::default();
    layers.assignment("reward.tests=share")?;
    let config = layers.resolve()?;
    assert_ne!(config.reward.tests, Config::preset("builtin")?.reward.tests);
    Ok(())
}
