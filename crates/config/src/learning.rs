//! The sections of the configuration for learning. `default.toml` explains each field under the name of its section,
//! with units and ranges.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use super::{Checkpointing, ImportanceSamplingLevel, LossType, LrScheduler, Reduce, ScaleRewards, StepsAhead};

/// The update: `[grpo]`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct GrpoConfig {
    pub learning_rate: f64,
    pub warmup_steps: usize,
    pub lr_scheduler_type: LrScheduler,
    pub adam_beta1: f64,
    pub adam_beta2: f64,
    pub adam_epsilon: f64,
    pub weight_decay: f64,
    pub fused_adamw: bool,
    pub max_grad_norm: f64,
    pub epsilon: f64,
    pub epsilon_high: f64,
    pub delta: f64,
    pub sapo_temperature_pos: f64,
    pub sapo_temperature_neg: f64,
    pub importance_sampling_level: ImportanceSamplingLevel,
    pub top_entropy_quantile: f64,
    pub beta: f64,
    pub entropy_coef: f64,
    pub entropy_target: f64,
    pub entropy_coef_step: f64,
    pub entropy_coef_max: f64,
    pub elite_coef: f64,
    pub elite_free_nats: f64,
    pub elite_from_step: usize,
    pub elites_per_step: usize,
    pub elites_kept: usize,
    pub elite_prior: f64,
    pub elite_min_games: usize,
    pub elite_replays: usize,
    pub learn_from_best: usize,
    pub learn_from_worst: usize,
    pub scale_rewards: ScaleRewards,
    pub advantage_std_floor: f64,
    pub loss_type: LossType,
    pub num_iterations: usize,
    pub mask_truncated_completions: bool,
    pub micro_batch: usize,
    pub gradient_checkpointing: Checkpointing,
}

/// The run: `[train]`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TrainConfig {
    pub seed: u64,
    pub board_salt: String,
    pub max_steps: usize,
    pub steps_ahead: StepsAhead,
    pub game_seconds: f64,
    pub output_dir: PathBuf,
    pub preflight: bool,
    pub memory_mib: u64,
    pub gpu_memory_fraction: f64,
    pub cuda_check: bool,
    pub tensorboard: bool,
    pub save_steps: usize,
    pub save_total_limit: usize,
    pub eval_steps: usize,
    pub eval_samples: usize,
    pub eval_games: usize,
    pub eval_temperature: f64,
    pub settle: bool,
}

/// Training with several processes: `[parallel]`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ParallelConfig {
    pub reduce: Reduce,
    pub allow_other_processors: bool,
}

/// When the guard warns of a collapse, and when it stops the run: `[guard]`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct GuardConfig {
    pub stop: bool,
    pub window: usize,
    pub grace_steps: usize,
    pub warn_logp_difference: f64,
    pub warn_server_logp_difference: f64,
    pub warn_tied: f64,
    pub warn_unique: f64,
    pub warn_entropy: f64,
    pub warn_parsed: f64,
    pub warn_clipped: f64,
    pub warn_succeeded: f64,
    pub stop_tied: f64,
    pub stop_unique: f64,
    pub stop_entropy: f64,
    pub stop_clipped: f64,
    pub stop_succeeded: f64,
    pub stop_honeypots: bool,
}

/// Supervised training: `[sft]`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SftConfig {
    pub learning_rate: f64,
    pub warmup_steps: usize,
    pub weight_decay: f64,
    pub max_grad_norm: f64,
    pub batch_tokens: usize,
    pub total_tokens: usize,
    pub eval_samples: usize,
    pub error_rate: f64,
}
