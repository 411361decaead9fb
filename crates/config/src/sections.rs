//! The sections of the configuration for sampling, playing and rewards. `default.toml` explains each field under the
//! name of its section, with units and ranges.

use serde::{Deserialize, Serialize};

use super::{
    ConfigError, Correction, Feedback, FrozenWeights, GrpoConfig, GuardConfig, ImportanceSamplingLevel, Layers,
    OnDifference, ParallelConfig, PrecisionChoice, PromptDraw, SftConfig, TestsReward, Tf32, Tier, TrainConfig,
    TurnsReward, Workers,
};

/// The whole configuration: a field for each section.
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

/// The environment: `[environment]`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct EnvironmentConfig {
    pub env: String,
}

/// The model, and which of its weights are trained: `[model]`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ModelConfig {
    pub model: String,
    pub revision: String,
    pub adapter: String,
    pub device: String,
    pub precision: PrecisionChoice,
    pub tf32: Tf32,
    pub frozen_weights: FrozenWeights,
    pub lora_r: usize,
    pub lora_alpha: f64,
    pub use_rslora: bool,
    pub lora_dropout: f64,
    pub lora_target_modules: Vec<String>,
    pub raw_prompt: bool,
}

/// Sampling of completions: `[rollout]`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RolloutConfig {
    pub groups: usize,
    pub num_generations: usize,
    pub max_completion_length: usize,
    pub turns: usize,
    pub feedback: Feedback,
    pub draw: PromptDraw,
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

/// The part of a server's address before the paths that are asked for. What clients of OpenAI's are told ends in the version,
/// which belongs to the paths.
pub fn server_root(url: &str) -> &str {
    let url = url.trim_end_matches('/');
    url.strip_suffix("/v1").unwrap_or(url)
}

/// Limits of a program in the sandbox: `[sandbox]`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SandboxConfig {
    pub tier: Tier,
    pub check_one_in: u32,
    pub on_difference: OnDifference,
    pub game_seconds: f64,
    pub call_share: f64,
    pub memory_mib: u64,
}

/// Playing of programs: `[arena]`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ArenaConfig {
    pub parallel_rewards: Workers,
    pub games: usize,
    pub freeze_after: usize,
    pub moves_max: usize,
}

/// The reward: `[reward]`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RewardConfig {
    pub scale: f64,
    pub exponent: f64,
    pub tests: TestsReward,
    pub fuel_bonus: f64,
    pub length_penalty: f64,
    pub length_penalty_from: f64,
    pub turns: TurnsReward,
    pub turns_gamma: f64,
    pub shuffled: bool,
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

    /// Temperature at which held-out evaluations of a run sample.
    pub fn held_out_temperature(&self) -> f64 {
        if self.train.eval_temperature == 0.0 { self.rollout.temperature } else { self.train.eval_temperature }
    }

    /// The limit for memory that `train.memory_mib` sets, in bytes; none where the machine's is taken.
    pub fn memory_limit(&self) -> Option<u64> {
        (self.train.memory_mib > 0).then_some(self.train.memory_mib << 20)
    }

    /// Number of completions of a group that the update learns from.
    pub fn learnt_per_group(&self) -> usize {
        match self.grpo.learn_from_best + self.grpo.learn_from_worst {
            0 => self.rollout.num_generations,
            some => some.min(self.rollout.num_generations),
        }
    }
}
