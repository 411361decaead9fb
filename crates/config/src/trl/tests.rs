use std::collections::BTreeMap;

use super::*;
use crate::{Config, Layers, keys};

/// The keys and defaults of TRL, written by `tests/goldens/trl_keys.py`.
fn golden() -> Value {
    serde_json::from_str(include_str!("../../../../tests/goldens/trl_keys.json")).unwrap()
}

fn read(text: &str) -> Result<Import, ConfigError> {
    import("run.yaml", text, &Layers::default().merged)
}

/// The imported settings; a later value of a key replaces an earlier one.
fn settings(text: &str) -> BTreeMap<&'static str, String> {
    let import = read(text).unwrap_or_else(|error| panic!("{text}: {error}"));
    let mut layers = Layers::default();
    layers.trl("run.yaml", text).unwrap();
    import.settings.into_iter().map(|((key, _), _)| (key, layers.found(key).unwrap().to_string())).collect()
}

fn set(text: &str, key: &str) -> Option<String> {
    settings(text).get(key).cloned()
}

fn refusal(text: &str) -> String {
    read(text).map(|import| import.settings).expect_err(text).to_string()
}

#[test]
fn a_key_that_is_there_twice_is_named_without_words_for_programmers() {
    assert_eq!(refusal("beta: 0.1\nbeta: 0.2\n"), "run.yaml: duplicate mapping key: beta at line 2, column 1");
    let words = refusal("beta: 0.1\n---\nseed: 2\n");
    assert!(words.starts_with("run.yaml: multiple YAML documents detected at line "), "{words}");
}

#[test]
fn keys_of_transformers_4_are_known_and_their_defaults_ask_for_nothing() {
    // What the fields of its TrainingArguments are besides those of version 5.
    let defaults = [
        ("adafactor", "false"),
        ("dispatch_batches", "null"),
        ("fp16_backend", "auto"),
        ("fp16_opt_level", "O1"),
        ("fsdp_min_num_params", "0"),
        ("fsdp_transformer_layer_cls_to_wrap", "null"),
        ("half_precision_backend", "auto"),
        ("jit_mode_eval", "false"),
        ("mp_parameters", "''"),
        ("past_index", "-1"),
        ("per_gpu_eval_batch_size", "null"),
        ("per_gpu_train_batch_size", "null"),
        ("push_to_hub_model_id", "null"),
        ("push_to_hub_organization", "null"),
        ("push_to_hub_token", "null"),
        ("ray_scope", "last"),
        ("split_batches", "null"),
        ("torchdynamo", "null"),
        ("tpu_metrics_debug", "false"),
        ("tpu_num_cores", "null"),
        ("use_ipex", "false"),
        ("use_legacy_prediction_loop", "false"),
        ("use_mps_device", "false"),
        // Of the trainers that TRL had beside it.
        ("gradient_checkpointing_use_reentrant", "false"),
    ];
    let text: String = defaults.iter().map(|(key, value)| format!("{key}: {value}\n")).collect();
    assert!(settings(&text).is_empty());
    assert!(refusal("adafactor: true").contains("the optimiser is AdamW"));
    assert!(refusal("past_index: 0").contains("leave it away"));
    assert!(refusal("per_gpu_train_batch_size: 4").contains("say that"));
}

#[test]
fn a_constant_rate_has_no_warm_up_unless_its_name_says_so() {
    for warm_up in ["", "warmup_steps: 10\n", "max_steps: 100\nwarmup_ratio: 0.1\n", "warmup_steps: 0.1\n"] {
        for text in
            [format!("lr_scheduler_type: constant\n{warm_up}"), format!("{warm_up}lr_scheduler_type: constant\n")]
        {
            assert_eq!(set(&text, "grpo.warmup_steps").as_deref(), Some("0"), "{text}");
            assert_eq!(set(&text, "grpo.lr_scheduler_type").as_deref(), Some("\"constant\""), "{text}");
        }
    }
    assert_eq!(set("lr_scheduler_type: constant_with_warmup", "grpo.warmup_steps"), None);
    let with = "lr_scheduler_type: constant_with_warmup\nwarmup_steps: 10";
    assert_eq!(set(with, "grpo.warmup_steps").as_deref(), Some("10"));
}

#[test]
fn null_is_refused_where_it_is_no_absent_key_in_trl() {
    for key in ["max_completion_length", "max_grad_norm", "vllm_importance_sampling_clip_max"] {
        let words = refusal(&format!("{key}: null"));
        assert!(words.contains(&format!("{key} = null: ")) && words.contains("say a number"), "{words}");
    }
    let off = "vllm_importance_sampling_correction: false\nvllm_importance_sampling_clip_max: null";
    assert_eq!(settings(off).len(), 1, "only that there is none");
    let answers = read("save_total_limit: null\neval_strategy: steps\nlogging_steps: 5").unwrap().answers;
    assert!(answers[0].note.starts_with("TRL then keeps every checkpoint"), "{:?}", answers[0]);
    assert!(answers[1].note.starts_with("the file has no eval_steps, for which TRL takes logging_steps"));
}

#[test]
fn every_key_of_trl_has_one_answer() {
    let golden = golden();
    for (class, keys) in golden["keys"].as_object().unwrap() {
        for key in keys.as_object().unwrap().keys() {
            assert!(table::handling(key).is_some(), "{class}.{key}: no line in table.rs");
        }
    }
    let mut seen = BTreeMap::new();
    table::keys().for_each(|key| *seen.entry(key).or_insert(0) += 1);
    let twice: Vec<_> = seen.iter().filter(|(_, count)| **count > 1).collect();
    assert!(twice.is_empty(), "{twice:?}");
}

#[test]
fn what_a_key_becomes_is_a_key_of_ours() {
    let ours = keys();
    for (names, fate) in table::KEYS {
        if let Handling::Is(key) | Handling::Switches(key) = fate {
            assert!(ours.iter().any(|known| known == key), "{names:?}: {key}");
        }
    }
}

#[test]
fn the_defaults_of_trl_are_a_file_that_is_taken() {
    let golden = golden();
    let mut file = Map::new();
    golden["keys"].as_object().unwrap().values().for_each(|keys| file.extend(keys.as_object().unwrap().clone()));
    // JSON is also YAML.
    let text = Value::Object(file.clone()).to_string();
    let mut import = read(&text).unwrap();
    assert_eq!(import.answers.len(), file.len());
    let needs: Vec<_> = import.needs.drain(..).map(|need| need.key).collect();
    assert_eq!(needs, ["train.max_steps"], "3 epochs of what?");
    let mut layers = Layers::default();
    layers.trl("run.yaml", &text).unwrap();
    layers.assignment("train.max_steps=10").unwrap();
    let config = layers.resolve().unwrap();
    assert_eq!((config.grpo.learning_rate, config.grpo.epsilon, config.grpo.epsilon_high), (1e-6, 0.2, 0.2));
    assert_eq!((config.rollout.groups, config.rollout.num_generations), (1, 8));
    assert_eq!((config.model.lora_r, config.rollout.max_completion_length, config.train.seed), (0, 512, 42));
}

#[test]
fn groups_are_counted_as_trl_counts_them() {
    for batch in golden()["batches"].as_array().unwrap() {
        let text = batch["given"].to_string();
        let updates = batch["updates"].as_f64();
        if updates.is_none_or(|updates| updates > 1.0) {
            assert!(read(&text).is_err(), "{batch}");
        } else if text != "{}" {
            let groups = batch["prompts"].as_f64().unwrap() / updates.unwrap();
            assert_eq!(set(&text, "rollout.groups"), Some(groups.to_string()), "{batch}");
        }
    }
    assert!(settings("{}").is_empty(), "a file that says nothing changes nothing");
    let words = refusal("per_device_train_batch_size: 8\nsteps_per_generation: 4");
    assert!(words.contains("32 completions are sampled at a time and 8 learnt from"), "{words}");
    assert!(words.contains("say gradient_accumulation_steps: 4"), "{words}");
    assert_eq!(words.matches("learnt from").count(), 1, "one reason for both keys: {words}");
    let several = "per_device_train_batch_size: 8\ngradient_accumulation_steps: 2\nsteps_per_generation: 1";
    let told = read(several).unwrap().answers[0].to_string();
    assert!(told.ends_with("on one device, averaged together, as TRL does not)"), "{told}");
    let alike = read(&format!("{several}\nloss_type: dr_grpo")).unwrap().answers[0].to_string();
    assert!(alike.ends_with("on one device)"), "{alike}");
    let words = refusal(&format!("{several}\nscale_rewards: batch"));
    assert!(words.contains("8 completions are sampled at a time and 16 learnt from"), "{words}");
    let words = refusal("per_device_train_batch_size: 8\ngeneration_batch_size: 4");
    assert!(words.contains("4 completions are sampled at a time, which are no whole number of 8"), "{words}");
}

#[test]
fn steps_are_updates_by_their_number_in_a_step() {
    let text =
        "max_steps: 100\nnum_iterations: 4\nsave_steps: 0.25\nwarmup_ratio: 0.1\neval_steps: 10\neval_strategy: steps";
    let found = settings(text);
    // 100 updates are 25 steps of 4. A quarter of them, 25 updates, are 7 steps; a tenth, 10 updates, are 3.
    let expected = [
        ("grpo.num_iterations", "4"),
        ("grpo.warmup_steps", "3"),
        ("train.eval_steps", "3"),
        ("train.max_steps", "25"),
        ("train.save_steps", "7"),
    ];
    assert_eq!(found, expected.map(|(key, value)| (key, value.to_owned())).into());
    for (steps, of_both) in [(0, "3"), (8, "2")] {
        let text = format!("{text}\nwarmup_steps: {steps}");
        assert_eq!(set(&text, "grpo.warmup_steps").as_deref(), Some(of_both), "{steps}");
    }
    assert_eq!(set("max_steps: 9\nwarmup_ratio: 0.0\nwarmup_steps: 0", "grpo.warmup_steps").as_deref(), Some("0"));
    assert_eq!(set("max_steps: -1", "train.max_steps"), None);
    assert_eq!(set("save_steps: 50.0", "train.save_steps").as_deref(), Some("50"));
    let Some(Err(ConfigError::Foreign { refused, .. })) = answer("warmup_ratio", "0.1") else { panic!("a number") };
    assert_eq!(refused, ["warmup_ratio = 0.1: is a share of the run; say a number of steps"]);
}

#[test]
fn a_share_is_one_of_the_steps_that_the_run_has_in_the_end() {
    let mut layers = Layers::default();
    layers.preset("llm").unwrap();
    let file = "num_train_epochs: 2\nwarmup_ratio: 0.1\nsave_steps: 0.5\neval_steps: 0.25\neval_strategy: steps";
    layers.trl("run.yaml", file).unwrap();
    let counted = |layers: &Layers| {
        let config = layers.clone().resolve().unwrap();
        (config.grpo.warmup_steps, config.train.save_steps, config.train.eval_steps)
    };
    assert_eq!(counted(&layers), (10, 50, 25), "nothing says more than the preset's 100");
    let mut epochs = layers.clone();
    epochs.count_epochs(44, "two passes".into()).unwrap();
    assert_eq!(counted(&epochs), (5, 22, 11));
    assert_eq!(epochs.answers()[1].to_string(), "warmup_ratio = 0.1 -> grpo.warmup_steps = 5 (0.1 of 44)");
    layers.assignment("train.save_steps=7").unwrap();
    layers.value("--steps", "train.max_steps", 20).unwrap();
    assert_eq!(counted(&layers), (2, 7, 5), "what is said over the file stays");
}

#[test]
fn values_are_taken_with_trls_spellings() {
    let cases = [
        // PyYAML reads 1e-6 as text, which TRL's parser converts to a number. The quotes have the same effect here.
        ("learning_rate: 1e-6", "grpo.learning_rate", "0.000001"),
        ("learning_rate: '2.0e-5'", "grpo.learning_rate", "0.00002"),
        ("beta: 0", "grpo.beta", "0.0"),
        ("scale_rewards: true", "grpo.scale_rewards", "\"group\""),
        ("scale_rewards: False", "grpo.scale_rewards", "\"none\""),
        ("scale_rewards: batch", "grpo.scale_rewards", "\"batch\""),
        ("epsilon: 0.1", "grpo.epsilon_high", "0.1"),
        ("epsilon: 0.1\nepsilon_high: 0.3", "grpo.epsilon_high", "0.3"),
        ("epsilon: 0.1\nepsilon_high: null", "grpo.epsilon_high", "0.1"),
        ("bf16: true\ndtype: float32", "model.precision", "\"bf16\""),
        ("fp16: yes", "model.precision", "\"f16\""),
        ("bf16: false", "model.precision", "\"f32\""),
        ("bf16: false\nfp16: false", "model.precision", "\"f32\""),
        ("fp16: false\ndtype: float32", "model.precision", "\"f32\""),
        ("torch_dtype: bfloat16", "model.precision", "\"bf16\""),
        ("use_peft: true", "model.lora_r", "16"),
        ("use_peft: false\nlora_r: 8", "model.lora_r", "0"),
        ("lora_r: 8", "model.lora_r", "8"),
        ("use_peft: true", "model.lora_alpha", "32.0"),
        ("lora_r: 8", "model.lora_alpha", "32.0"),
        ("use_peft: true\nlora_r: 8\nlora_alpha: 16", "model.lora_alpha", "16.0"),
        ("lora_target_modules: all-linear", "model.lora_target_modules", "[\"all-linear\"]"),
        ("lora_target_modules:\n- q_proj\n- v_proj", "model.lora_target_modules", "[\"q_proj\", \"v_proj\"]"),
        ("lr_scheduler_type: constant_with_warmup", "grpo.lr_scheduler_type", "\"constant\""),
        ("top_k: -1", "rollout.top_k", "0"),
        ("report_to: [tensorboard, wandb]", "train.tensorboard", "true"),
        ("report_to: none", "train.tensorboard", "false"),
        ("entropy_coef: 0.01", "grpo.entropy_target", "0.0"),
        ("gradient_checkpointing: true", "grpo.gradient_checkpointing", "\"on\""),
        ("eval_strategy: no", "train.eval_steps", "0"),
        ("use_cpu: true", "model.device", "\"cpu\""),
        ("vllm_importance_sampling_correction: false", "rollout.correction", "\"none\""),
        ("vllm_importance_sampling_mode: sequence_mask", "rollout.correction", "\"mask\""),
        ("vllm_importance_sampling_mode: sequence_mask", "rollout.correction_level", "\"sequence\""),
        ("vllm_importance_sampling_mode: token_truncate", "rollout.correction", "\"truncate\""),
        ("vllm_importance_sampling_mode: token_truncate", "rollout.correction_level", "\"token\""),
        ("vllm_importance_sampling_clip_max: 2", "rollout.correction_cap", "2.0"),
        ("vllm_importance_sampling_cap: 2.5", "rollout.correction_cap", "2.5"),
        ("vllm_importance_sampling_clip_min: 0.5", "rollout.correction_floor", "0.5"),
    ];
    assert_eq!(set("fp16: false", "model.precision"), None, "TRL trains in bf16 then");
    for (text, key, expected) in cases {
        assert_eq!(set(text, key).as_deref(), Some(expected), "{text}");
    }
}

#[test]
fn what_is_not_done_here_is_refused_unless_it_asks_for_nothing() {
    let cases = [
        ("off_policy_mask_threshold: 0.5", "off_policy_mask_threshold = 0.5: "),
        ("optim: adafactor", "optim = \"adafactor\": "),
        ("sync_ref_model: true", "sync_ref_model = true: "),
        ("load_in_4bit: true", "quantised .gguf file"),
        ("reward_weights: [1.0, 0.5]", "one reward"),
        ("repetition_penalty: 1.1", "repetition_penalty = 1.1: "),
        ("lr_scheduler_type: polynomial", "expected constant, constant_with_warmup, linear or cosine"),
        ("beta: 0.1\nuse_bias_correction_kl: true", "without the ratio"),
        ("vllm_importance_sampling_mode: geometric_mask", "expected token_truncate, token_mask, sequence_truncate or"),
        ("beta: small", "beta = \"small\": expected a number"),
        ("seed: -1", "seed = -1: expected a whole number, 0 or more"),
        ("max_completion_length: 1.5", "expected a whole number"),
        ("num_generations: eight", "num_generations = \"eight\": num_generations: expected a number"),
        ("- 1", "expected a mapping"),
        ("seed: 1\nbeta: .nan", "line 2"),
        ("a: b: c", "run.yaml: "),
    ];
    for (text, expected) in cases {
        assert!(refusal(text).contains(expected), "{text}: {}", refusal(text));
    }
    let off = "vllm_importance_sampling_correction: false\nvllm_importance_sampling_mode: token_mask";
    assert_eq!(settings(off).len(), 1, "only that there is none");
    for text in ["use_dora: false", "delta: null", "repetition_penalty: 1", "optim: adamw_torch", "env: {}"] {
        assert!(settings(text).is_empty(), "{text}");
    }
}

#[test]
fn a_norm_of_zero_clips_no_gradient_as_in_transformers() {
    let mut layers = Layers::default();
    layers.trl("run.yaml", "max_grad_norm: 0").unwrap();
    assert_eq!(layers.resolve().unwrap().grpo.max_grad_norm, 1e30);
}

#[test]
fn a_value_out_of_range_names_the_key_of_the_file_too() {
    let mut layers = Layers::default();
    layers.trl("run.yaml", "max_grad_norm: -2\nloss_type: vespo").unwrap();
    let words = layers.clone().resolve().unwrap_err().to_string();
    assert!(words.starts_with("grpo.loss_type = \"vespo\" (run.yaml: loss_type): expected one of"), "{words}");
    layers.assignment("grpo.loss_type=grpo").unwrap();
    let words = layers.clone().resolve().unwrap_err().to_string();
    assert!(words.starts_with("grpo.max_grad_norm = -2 (run.yaml: max_grad_norm): expected"), "{words}");
    layers.assignment("grpo.max_grad_norm=-1").unwrap();
    let words = layers.resolve().unwrap_err().to_string();
    assert!(words.starts_with("grpo.max_grad_norm = -1: "), "not the file's any more: {words}");
}

#[test]
fn a_dataset_is_taken_where_the_tasks_are_named() {
    let mut layers = Layers::default();
    layers.preset("llm").unwrap();
    layers.trl("run.yaml", "dataset_name: openai/gsm8k\nnum_train_epochs: 1").unwrap();
    assert!(layers.clone().resolve().is_err());
    layers.value("--env", "environment.env", "tasks.jsonl").unwrap();
    assert_eq!(layers.epochs(), Some((1.0, "run.yaml: num_train_epochs")), "a preset does not know");
    assert!(layers.clone().resolve().is_ok());
    layers.assignment("train.max_steps=3").unwrap();
    assert_eq!((layers.epochs(), layers.answers().len()), (None, 2));
    assert_eq!(layers.origin("train.max_steps"), Some("--set train.max_steps=3"));
    assert!(layers.resolve().is_ok());
}

#[test]
fn what_trl_would_add_or_switch_off_is_not_passed_by() {
    let words = refusal("router_aux_loss_coef: 0.01");
    assert!(words.contains("routers of experts get no loss of their own"), "{words}");
    let words = refusal("multi_objective_aggregation: normalize_then_sum");
    assert!(words.contains("advantages are normalised once"), "{words}");
    assert!(read("router_aux_loss_coef: 0.0\nmulti_objective_aggregation: sum_then_normalize").is_ok());
    let without = "use_peft: true\nlora_dropout: 0.3\ndisable_dropout: true";
    assert_eq!(set(without, "model.lora_dropout").as_deref(), Some("0.0"));
    assert_eq!(set("lora_dropout: 0.3\ndisable_dropout: false", "model.lora_dropout").as_deref(), Some("0.3"));
    let words = refusal("max_steps: 9\nwarmup_steps: -5");
    assert!(words.contains("expected a number of steps, 0 or more"), "{words}");
}

#[test]
fn answers_say_what_became_of_a_key() {
    let text = "beta: 0.04\nuse_vllm: true\nmin_p: null\nnum_generations: 4";
    let answers: Vec<String> = read(text).unwrap().answers.iter().map(ToString::to_string).collect();
    assert_eq!(answers[0], "beta = 0.04 -> grpo.beta = 0.04");
    assert!(answers[1].starts_with("use_vllm = true: no effect, completions come from this program's own decoder, or"));
    assert_eq!(answers[2], "min_p = null: no effect, null leaves things as they are");
    assert!(
        answers[3].starts_with("num_generations = 4 -> rollout.groups = 2, rollout.num_generations = 4 (groups: 8 ")
    );
    let preset = Config::preset("llm").unwrap();
    assert_eq!(preset.grpo.beta, 0.0, "the file is what sets it");
}
