//! The sections of the configuration and what their values may be.

#![allow(missing_docs, reason = "default.toml says what every key is")]

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use super::{ConfigError, Layers};

/// The whole configuration.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Config {
    pub environment: EnvironmentConfig,
    pub model: ModelConfig,
    pub rollout: RolloutConfig,
    pub sandbox: SandboxConfig,
    pub arena: ArenaConfig,
    pub reward: RewardConfig,
    pub grpo: GrpoConfig,
    pub train: TrainConfig,
    pub parallel: ParallelConfig,
    pub guard: GuardConfig,
    pub sft: SftConfig,
}

/// What programs are written for. Fields are explained in `default.toml`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct EnvironmentConfig {
    pub env: String,
}

/// Format of weights and of the products of the layers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Precision {
    /// What suits the device.
    Auto,
    /// 32 bits.
    F32,
    /// 16 bits with the range of f32.
    Bf16,
    /// 16 bits with a small range.
    F16,
}

/// Whether a GPU may take f32 products of factors rounded to TF32, 11 bits each.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Tf32 {
    /// Where the layers round more than that.
    Auto,
    /// Whatever the layers do.
    On,
    /// Never.
    Off,
}

/// How the matrices of a model are kept while adapters on them are trained.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FrozenWeights {
    /// In the few bits of their file where they come in some.
    Auto,
    /// As plain numbers.
    Dense,
    /// In the few bits of their file, or not at all.
    Packed,
}

/// Which model, and what of it is trained. Fields are explained in `default.toml`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ModelConfig {
    pub model: String,
    pub revision: String,
    pub adapter: String,
    pub device: String,
    pub precision: Precision,
    pub tf32: Tf32,
    pub frozen_weights: FrozenWeights,
    pub lora_r: usize,
    pub lora_alpha: f64,
    pub use_rslora: bool,
    pub lora_dropout: f64,
    pub lora_target_modules: Vec<String>,
    pub raw_prompt: bool,
}

/// How completions are sampled. Fields are explained in `default.toml`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RolloutConfig {
    pub groups: usize,
    pub num_generations: usize,
    pub max_completion_length: usize,
    pub temperature: f64,
    pub top_p: f64,
    pub top_k: usize,
    pub min_p: f64,
    pub resample_tied: usize,
    pub cuda_graphs: bool,
    pub servers: Vec<String>,
    pub adapter_dir: String,
    pub server_requests: usize,
    pub server_seconds: f64,
    pub correction: Correction,
    pub correction_level: ImportanceSamplingLevel,
    pub correction_cap: f64,
    pub correction_floor: f64,
}

/// What is done about servers that sample by other numbers than those that are trained.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Correction {
    /// The loss is weighed by how much likelier tokens are to the trainer, within bounds.
    Truncate,
    /// The same, and what is out of bounds does not count.
    Mask,
    /// Nothing.
    None,
}

/// What a strategy may use. Fields are explained in `default.toml`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SandboxConfig {
    pub tier: Tier,
    pub check_one_in: u32,
    pub game_seconds: f64,
    pub call_share: f64,
    pub memory_mib: u64,
}

/// What runs the functions of programs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Tier {
    /// Compiled code where it is certain to do what CPython does, otherwise CPython
    Auto,
    /// Compiled code alone; a program that leaves it is an error
    Compiled,
    /// CPython
    Interpreter,
}

/// How programs are played. Fields are explained in `default.toml`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ArenaConfig {
    pub parallel_rewards: usize,
    pub games: usize,
    pub freeze_after: usize,
    pub moves_max: usize,
}

/// Shape of the reward. Fields are explained in `default.toml`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RewardConfig {
    pub scale: f64,
    pub exponent: f64,
    pub tests: TestsReward,
    pub fuel_bonus: f64,
    pub length_penalty: f64,
    pub length_penalty_from: f64,
    pub shuffled: bool,
}

/// What passing tests of a task is worth.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TestsReward {
    /// The share passed, less what the best constant answer passes; 1 only when all are passed.
    AboveConstant,
    /// 1 when all are passed, 0 otherwise.
    All,
    /// The share passed.
    Share,
}

/// What advantages are divided by.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ScaleRewards {
    /// The group's own standard deviation.
    Group,
    /// The standard deviation of all rewards of the step.
    Batch,
    /// The mean of the group's rewards, none of which counts as less than 0.
    Mean,
    /// Nothing: centred rewards.
    None,
}

/// The loss of a token, and how token losses become one number.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LossType {
    /// Clipped; mean over all completion tokens of the step.
    Dapo,
    /// Clipped; mean over a completion's tokens, then over completions.
    Grpo,
    /// Clipped; sum over tokens divided by completions times the longest length allowed.
    DrGrpo,
    /// Log-probabilities weighed by truncated ratios; mean over all completion tokens of the step.
    Cispo,
    /// Softly gated; mean over a completion's tokens, then over completions.
    Sapo,
}

impl LossType {
    /// Whether the ratio is clipped between `1 - epsilon` and `1 + epsilon_high`.
    pub fn is_clipped(self) -> bool {
        matches!(self, LossType::Dapo | LossType::Grpo | LossType::DrGrpo)
    }
}

/// What the ratio of the loss is taken of.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ImportanceSamplingLevel {
    /// Each token.
    Token,
    /// A completion: the geometric mean over its tokens, the same for all of them.
    Sequence,
}

/// Course of the learning rate after warm-up.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LrScheduler {
    /// Stays at the peak.
    Constant,
    /// Straight to zero at the last step.
    Linear,
    /// Half a cosine to zero at the last step.
    Cosine,
}

/// Whether the backward pass computes layers again instead of keeping what they computed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Checkpointing {
    /// Where memory asks for it.
    Auto,
    /// Always.
    On,
    /// Never.
    Off,
}

/// The update. Fields are explained in `default.toml`.
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
    pub elite_from_step: usize,
    pub elites_per_step: usize,
    pub elites_per_style: usize,
    pub elite_replays: usize,
    pub scale_rewards: ScaleRewards,
    pub advantage_std_floor: f64,
    pub loss_type: LossType,
    pub num_iterations: usize,
    pub mask_truncated_completions: bool,
    pub micro_batch: usize,
    pub gradient_checkpointing: Checkpointing,
}

/// The run. Fields are explained in `default.toml`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TrainConfig {
    pub seed: u64,
    pub board_salt: String,
    pub max_steps: usize,
    pub steps_ahead: usize,
    pub game_seconds: f64,
    pub output_dir: PathBuf,
    pub preflight: bool,
    pub memory_mib: u64,
    pub gpu_memory_fraction: f64,
    pub tensorboard: bool,
    pub save_steps: usize,
    pub save_total_limit: usize,
    pub eval_steps: usize,
    pub eval_samples: usize,
    pub eval_games: usize,
}

/// How the gradients of several processes become one sum.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Reduce {
    /// Added in the order of the parts, whoever worked on them.
    Exact,
    /// Added by each process, then in an order that the library of MPI or NCCL chooses.
    Fast,
}

/// Processes that train together. Fields are explained in `default.toml`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ParallelConfig {
    pub reduce: Reduce,
    pub allow_other_processors: bool,
}

/// When a run is told that it collapses, and when it stops. Fields are explained in `default.toml`.
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
    pub stop_tied: f64,
    pub stop_unique: f64,
    pub stop_entropy: f64,
    pub stop_clipped: f64,
}

/// Supervised training. Fields are explained in `default.toml`.
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

impl Config {
    /// The defaults under a preset. For tests and tools; a run goes through [`Layers`].
    pub fn preset(name: &str) -> Result<Config, ConfigError> {
        let mut layers = Layers::default();
        layers.preset(name)?;
        layers.resolve()
    }

    /// Completions a step: `groups x num_generations`.
    pub fn completions_per_step(&self) -> usize {
        self.rollout.groups * self.rollout.num_generations
    }
}
