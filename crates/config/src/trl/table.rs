//! How each key of a TRL configuration is imported: GRPOConfig with TrainingArguments, ModelConfig, ScriptArguments.
//!
//! There is a line per key, or a line for several keys with the same answer. `tests/goldens/trl_keys.py` lists the keys
//! of a version of TRL, and a test requires that each has a line here. Keys of older versions, and of transformers 4 below
//! them, have lines too.

use super::{Word, batch, steps, words};

/// How a key is imported.
#[derive(Clone, Copy)]
pub(super) enum Handling {
    /// It is this setting, with the same values.
    Is(&'static str),
    /// It is this setting, which is "on" where it is true and "off" otherwise.
    Switches(&'static str),
    /// A function of its value gives the settings.
    Says(Word),
    /// It has no effect, for this reason.
    Idle(&'static str),
    /// It has no effect with one of these values (or none), because they are this program's behaviour. Other values are
    /// refused for this reason.
    Only(&'static [&'static str], &'static str),
    /// It sets the task, which `--env` sets here.
    Task(&'static str),
}

use Handling::{Idle, Is, Only, Says, Switches, Task};

const OWN_DECODER: &str =
    "completions come from this program's own decoder, or from servers that --rollouts names (docs/vllm.md)";
const ONE_PROCESS: &str = "one process trains on one device";
const ALL_LOGGED: &str = "every step is logged, to metrics.jsonl and TensorBoard";
const ALL_KEPT: &str = "every completion of a run is kept, in completions/";
const EVALUATES: &str = "evaluations sample train.eval_samples programs, batched as memory allows";
const FROM_FILE: &str = "tasks are lines of the file that --env names";
const NO_QUANTISED: &str = "weights are f32, bf16 or f16 here; leave it away, or give --model a quantised .gguf file";
const HUB: &str = "only push_to_hub reads it";
const MEMORY: &str = "the memory plan cuts updates to fit";

/// The keys, with spaces between those that have the same answer, in the order of TRL's documentation.
pub(super) const KEYS: &[(&str, Handling)] = &[
    // The model.
    ("model_name_or_path", Is("model.model")),
    ("model_revision", Is("model.revision")),
    ("dtype torch_dtype bf16 fp16", Says(words::precision)),
    ("tf32", Switches("model.tf32")),
    ("use_cpu no_cuda", Says(words::device)),
    ("use_mps_device", Idle("model.device = auto finds a GPU where there is one")),
    (
        "fp16_opt_level fp16_backend half_precision_backend",
        Idle("model.precision says the number format, which is computed with in one way"),
    ),
    ("attn_implementation", Idle("attention has kernels of its own")),
    ("use_peft lora_r", Says(words::lora)),
    ("lora_alpha", Is("model.lora_alpha")),
    ("lora_dropout disable_dropout", Says(words::dropout)),
    ("use_rslora", Is("model.use_rslora")),
    ("lora_target_modules", Is("model.lora_target_modules")),
    (
        "lora_target_parameters lora_modules_to_save",
        Only(&[], "adapters are on linear layers, and nothing else is trained with them; leave it away"),
    ),
    ("lora_task_type", Only(&["CAUSAL_LM"], "models are causal language models; leave it away")),
    ("use_dora", Only(&["false"], "adapters are plain LoRA; leave it away, or take use_rslora: true")),
    ("load_in_8bit load_in_4bit", Only(&["false"], NO_QUANTISED)),
    ("bnb_4bit_quant_type use_bnb_nested_quant bnb_4bit_quant_storage", Idle("only load_in_4bit reads it")),
    (
        "model_init_kwargs",
        Only(&["{}"], "a model is loaded as its files say; model.revision and model.precision are keys"),
    ),
    ("past_index", Only(&["-1"], "no model here takes what it gave for the text before; leave it away")),
    ("trust_remote_code", Idle("no code of a model is ever run")),
    ("router_aux_loss_coef", Only(&["0"], "routers of experts get no loss of their own; leave it away")),
    ("cast_lm_head_to_fp32", Idle("logits are f32 in every precision")),
    // The task.
    ("dataset_name datasets dataset_mixture", Task("`grpo-2048 tasks convert` makes tasks of a dataset's rows")),
    ("reward_funcs", Task("rewards come from running programs, against tests or in games")),
    ("reward_model_name_or_path", Only(&[], "rewards come from running programs, no model judges them; leave it away")),
    (
        "dataset_config dataset_train_split dataset_test_split dataset_streaming streaming test_split_size \
         dataset_num_proc",
        Idle(FROM_FILE),
    ),
    ("ignore_bias_buffers", Idle(ONE_PROCESS)),
    ("remove_unused_columns label_names length_column_name group_by_length", Idle(FROM_FILE)),
    (
        "env",
        Only(
            &["{}"],
            "environment variables are the shell's; set them before the command (what programs are written for is --env)",
        ),
    ),
    // The step.
    (
        "per_device_train_batch_size gradient_accumulation_steps generation_batch_size steps_per_generation \
         num_generations num_iterations",
        Says(batch::completions),
    ),
    ("per_gpu_train_batch_size", Only(&[], "newer versions of TRL call it per_device_train_batch_size; say that")),
    ("max_completion_length", Is("rollout.max_completion_length")),
    ("max_prompt_length", Idle("prompts are never cut; one that leaves no room for a completion is refused by name")),
    (
        "shuffle_dataset",
        Only(&["true"], "prompts come in an order of chance, each once before any comes again; leave it away"),
    ),
    ("train_sampling_strategy", Only(&["random"], "prompts come in an order of chance; leave it away")),
    ("temperature", Is("rollout.temperature")),
    ("top_p", Is("rollout.top_p")),
    ("top_k", Says(words::top_k)),
    ("min_p", Is("rollout.min_p")),
    (
        "repetition_penalty",
        Only(
            &["1.0"],
            "what is sampled is the policy at its temperature, cut by top_p, top_k and min_p; leave it away",
        ),
    ),
    ("generation_kwargs", Only(&["{}"], "sampling has temperature, top_p, top_k and min_p; name those")),
    ("chat_template_kwargs", Only(&["{}"], "the chat template of the model is used as it is; leave it away")),
    (
        "max_tool_calling_iterations",
        Only(&[], "programs call no tools; leave it away, or set rollout.turns to have them tried and written again"),
    ),
    (
        "cache_implementation pad_to_multiple_of ds3_gather_for_generation use_cache use_transformers_paged \
         use_transformers_continuous_batching transformers_continuous_batching_config use_vllm vllm_mode \
         vllm_model_impl vllm_enable_sleep_mode vllm_server_base_url vllm_server_host vllm_server_port \
         vllm_server_timeout vllm_group_port vllm_gpu_memory_utilization vllm_max_model_length vllm_max_model_len \
         vllm_tensor_parallel_size vllm_device vllm_dtype vllm_enable_prefix_caching",
        Idle(OWN_DECODER),
    ),
    (
        "vllm_structured_outputs_regex vllm_guided_decoding_regex",
        Only(&[], "completions are not constrained; leave it away"),
    ),
    (
        "vllm_importance_sampling_correction vllm_importance_sampling_mode \
         vllm_importance_sampling_clip_max vllm_importance_sampling_clip_min vllm_importance_sampling_cap",
        Says(words::correction),
    ),
    // The loss.
    ("beta", Is("grpo.beta")),
    ("epsilon epsilon_high", Says(words::clips)),
    ("delta", Is("grpo.delta")),
    ("loss_type", Is("grpo.loss_type")),
    ("importance_sampling_level", Is("grpo.importance_sampling_level")),
    ("sapo_temperature_neg", Is("grpo.sapo_temperature_neg")),
    ("sapo_temperature_pos", Is("grpo.sapo_temperature_pos")),
    ("vespo_k_pos vespo_lambda_pos vespo_k_neg vespo_lambda_neg", Idle("only loss_type vespo reads it")),
    ("scale_rewards", Says(words::scale_rewards)),
    ("reward_weights", Only(&[], "a program has one reward; [reward] in `grpo-2048 config` weighs its parts")),
    (
        "multi_objective_aggregation",
        Only(&["sum_then_normalize"], "advantages are normalised once, as grpo.scale_rewards says; leave it away"),
    ),
    ("mask_truncated_completions", Is("grpo.mask_truncated_completions")),
    ("top_entropy_quantile", Is("grpo.top_entropy_quantile")),
    ("entropy_coef use_adaptive_entropy", Says(words::entropy)),
    (
        "entropy_coef_min entropy_coef_max entropy_coef_delta entropy_target",
        Idle("only use_adaptive_entropy reads it; grpo.entropy_target is a share of the first step's entropy"),
    ),
    ("off_policy_mask_threshold", Only(&[], "no completion is masked for its age; leave it away")),
    ("use_bias_correction_kl", Says(words::kl)),
    ("sync_ref_model", Only(&["false"], "the reference is the model that the run starts from; leave it away")),
    ("ref_model_mixup_alpha ref_model_sync_steps", Idle("only sync_ref_model reads it")),
    ("label_smoothing_factor", Only(&["0"], "GRPO has no labels; leave it away")),
    ("neftune_noise_alpha", Only(&["0"], "embeddings get no noise; leave it away")),
    // The optimiser.
    ("learning_rate", Is("grpo.learning_rate")),
    ("lr_scheduler_type", Says(words::scheduler)),
    ("lr_scheduler_kwargs", Only(&["{}"], "schedules are constant, linear and cosine, to zero; leave it away")),
    ("warmup_steps warmup_ratio", Says(steps::of)),
    ("weight_decay", Is("grpo.weight_decay")),
    ("adam_beta1", Is("grpo.adam_beta1")),
    ("adam_beta2", Is("grpo.adam_beta2")),
    ("adam_epsilon", Is("grpo.adam_epsilon")),
    ("max_grad_norm", Says(words::max_grad_norm)),
    (
        "optim",
        Only(
            &["adamw_torch_fused", "adamw_torch", "adamw_hf"],
            "the optimiser is AdamW, its moments in f32; leave it away",
        ),
    ),
    ("adafactor", Only(&["false"], "the optimiser is AdamW, its moments in f32; leave it away")),
    ("optim_args optim_target_modules", Only(&[], "the optimiser is AdamW on all that is trained; leave it away")),
    ("gradient_checkpointing activation_checkpointing", Switches("grpo.gradient_checkpointing")),
    (
        "gradient_checkpointing_kwargs gradient_checkpointing_use_reentrant activation_checkpointing_kwargs",
        Idle("layers are computed again in one way"),
    ),
    (
        "use_liger_kernel use_liger_loss liger_kernel_config",
        Idle("log-probabilities come from hidden states in chunks anyway"),
    ),
    (
        "torch_compile torch_compile_backend torch_compile_mode torchdynamo jit_mode_eval use_ipex",
        Idle("there is no torch here"),
    ),
    ("torch_empty_cache_steps auto_find_batch_size", Idle(MEMORY)),
    // The run.
    ("output_dir", Is("train.output_dir")),
    ("overwrite_output_dir", Only(&["false"], "a run is never written over another; choose another output_dir")),
    ("max_steps num_train_epochs", Says(steps::of)),
    ("seed", Is("train.seed")),
    ("data_seed full_determinism", Idle("train.seed is the root of all chance, and runs repeat bit for bit")),
    ("resume_from_checkpoint", Only(&["false"], "`train --resume DIR` goes on with a run; leave it away")),
    (
        "ignore_data_skip restore_callback_states_from_checkpoint",
        Idle("--resume goes on as if the run had never stopped"),
    ),
    ("save_steps", Says(steps::of)),
    ("save_strategy", Says(words::save_strategy)),
    ("save_total_limit", Is("train.save_total_limit")),
    (
        "save_only_model save_on_each_node save_safetensors enable_jit_checkpoint",
        Idle("a checkpoint holds all that --resume needs, and Ctrl-C writes one"),
    ),
    (
        "load_best_model_at_end",
        Only(&["false"], "a run ends with its newest weights; `grpo-2048 eval` compares checkpoints; leave it away"),
    ),
    ("metric_for_best_model greater_is_better", Idle("only load_best_model_at_end reads it")),
    ("eval_strategy evaluation_strategy", Says(words::eval_strategy)),
    ("eval_steps", Says(steps::of)),
    (
        "do_train do_eval do_predict eval_on_start",
        Idle("held-out programs are evaluated first and last, whatever it says"),
    ),
    (
        "eval_delay per_device_eval_batch_size num_generations_eval prediction_loss_only \
         eval_accumulation_steps eval_do_concat_batches eval_use_gather_object include_for_metrics \
         include_inputs_for_metrics batch_eval_metrics bf16_full_eval fp16_full_eval \
         per_gpu_eval_batch_size use_legacy_prediction_loop",
        Idle(EVALUATES),
    ),
    // Reporting.
    ("report_to", Says(words::report_to)),
    (
        "logging_dir logging_strategy logging_steps logging_first_step logging_nan_inf_filter \
         include_num_input_tokens_seen include_tokens_per_second log_on_each_node skip_memory_metrics debug \
         tpu_metrics_debug",
        Idle(ALL_LOGGED),
    ),
    ("log_level log_level_replica disable_tqdm", Idle("-v says more, and a bar is there on a terminal alone")),
    (
        "run_name project trackio_space_id trackio_bucket_id trackio_static_space_id \
         wandb_log_unique_prompts",
        Idle("no tracker is written to"),
    ),
    (
        "log_completions log_unique_prompts log_multimodal num_completions_to_print \
         log_completions_hub_repo",
        Idle(ALL_KEPT),
    ),
    (
        "push_to_hub",
        Only(&["false"], "training uploads nothing; `grpo-2048 export --push OWNER/NAME` does; leave it away"),
    ),
    (
        "hub_token hub_private_repo hub_model_id hub_strategy hub_always_push hub_revision push_to_hub_model_id \
         push_to_hub_organization push_to_hub_token",
        Idle(HUB),
    ),
    ("ray_scope", Idle("only searches for settings read it")),
    // The machine.
    (
        "local_rank accelerator_config parallelism_config deepspeed fsdp fsdp_config \
         average_tokens_across_devices ddp_find_unused_parameters ddp_bucket_cap_mb ddp_broadcast_buffers \
         ddp_static_graph ddp_backend ddp_timeout fsdp_min_num_params fsdp_transformer_layer_cls_to_wrap \
         mp_parameters tpu_num_cores dispatch_batches split_batches",
        Idle(ONE_PROCESS),
    ),
    (
        "dataloader_drop_last dataloader_num_workers dataloader_pin_memory dataloader_persistent_workers \
         dataloader_prefetch_factor dataloader_multiprocessing_context dataloader_in_order",
        Idle("prompts are rendered once, before the first step"),
    ),
];

/// How `key` is imported; none if TRL has no such key.
pub(super) fn handling(key: &str) -> Option<Handling> {
    KEYS.iter().find(|(keys, _)| keys.split_whitespace().any(|known| known == key)).map(|(_, handling)| *handling)
}

/// All keys of TRL that are known.
pub fn keys() -> impl Iterator<Item = &'static str> {
    KEYS.iter().flat_map(|(keys, _)| keys.split_whitespace())
}
