//! Every knob, its default, unit and check.
//!
//! `default.toml` beside this file is the one place where defaults and their explanations live; the structs here say
//! the types. Layers are merged as TOML tables, defaults < preset < file < `--set` < flags, and only the merged table
//! is turned into a [`Config`], so an unknown key or a wrong type is found whichever layer it came from.

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use toml::{Table, Value};

/// The commented defaults, as `grpo-2048 config` prints them.
pub const DEFAULT_TOML: &str = include_str!("default.toml");

/// What differs when a real language model is trained instead of the built-in one.
const LLM_PRESET: &str = r#"
[model]
lora_r = 16
[rollout]
groups = 2
max_completion_length = 512
[grpo]
learning_rate = 3e-5
adam_beta2 = 0.99
entropy_coef = 0.0
scale_rewards = "batch"
micro_batch = 4
[train]
max_steps = 200
eval_samples = 16
"#;

/// Names of the presets, and the overlay each is.
pub const PRESETS: &[(&str, &str)] = &[("builtin", ""), ("llm", LLM_PRESET)];

/// Why a configuration was refused. All of it is the user's to mend.
#[derive(Debug, thiserror::Error)]
pub enum ConfigError {
    /// A file that cannot be read.
    #[error("{path}: {source}")]
    Read {
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: std::io::Error,
    },
    /// Text that is not TOML.
    #[error("{origin}: {message}")]
    Syntax {
        /// File or flag.
        origin: String,
        /// The parser's words, with the place.
        message: String,
    },
    /// A key that does not exist.
    #[error("{origin}: unknown key `{key}`{hint}")]
    UnknownKey {
        /// File or flag.
        origin: String,
        /// Dotted key.
        key: String,
        /// Nearest known key, as words.
        hint: String,
    },
    /// A value that is not allowed.
    #[error("{key} = {found}: {expected}")]
    Value {
        /// Dotted key.
        key: String,
        /// What was given.
        found: String,
        /// What is allowed.
        expected: String,
    },
    /// A preset that does not exist.
    #[error("unknown preset `{found}`; there are: {known}")]
    UnknownPreset {
        /// What was asked for.
        found: String,
        /// What exists.
        known: String,
    },
}

/// The whole configuration.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[allow(missing_docs)]
pub struct Config {
    pub model: ModelConfig,
    pub rollout: RolloutConfig,
    pub sandbox: SandboxConfig,
    pub arena: ArenaConfig,
    pub reward: RewardConfig,
    pub grpo: GrpoConfig,
    pub train: TrainConfig,
    pub sft: SftConfig,
}

/// Which model, and what of it is trained. Fields are explained in `default.toml`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[allow(missing_docs)]
pub struct ModelConfig {
    pub model: String,
    pub revision: String,
    pub adapter: String,
    pub device: String,
    pub lora_r: usize,
    pub lora_alpha: f64,
    pub raw_prompt: bool,
}

/// How completions are sampled. Fields are explained in `default.toml`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[allow(missing_docs)]
pub struct RolloutConfig {
    pub groups: usize,
    pub num_generations: usize,
    pub max_completion_length: usize,
    pub temperature: f64,
    pub top_p: f64,
    pub top_k: usize,
    pub min_p: f64,
}

/// What a strategy may use. Fields are explained in `default.toml`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[allow(missing_docs)]
pub struct SandboxConfig {
    pub game_seconds: f64,
    pub call_share: f64,
    pub memory_mib: u64,
    pub backstop_seconds: f64,
}

/// How programs are played. Fields are explained in `default.toml`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[allow(missing_docs)]
pub struct ArenaConfig {
    pub parallel_rewards: usize,
    pub games: usize,
    pub freeze_after: usize,
    pub moves_max: usize,
}

/// Shape of the reward. Fields are explained in `default.toml`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[allow(missing_docs)]
pub struct RewardConfig {
    pub scale: f64,
    pub exponent: f64,
}

/// What advantages are divided by.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ScaleRewards {
    /// The group's own standard deviation.
    Group,
    /// The standard deviation of all rewards of the step.
    Batch,
    /// Nothing: centred rewards.
    None,
}

/// How token losses become one number.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LossType {
    /// Mean over all completion tokens of the step.
    Dapo,
    /// Mean over a completion's tokens, then over completions.
    Grpo,
    /// Sum over tokens divided by completions times the longest length allowed.
    DrGrpo,
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

/// The update. Fields are explained in `default.toml`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[allow(missing_docs)]
pub struct GrpoConfig {
    pub learning_rate: f64,
    pub warmup_steps: usize,
    pub lr_scheduler_type: LrScheduler,
    pub adam_beta1: f64,
    pub adam_beta2: f64,
    pub adam_epsilon: f64,
    pub weight_decay: f64,
    pub max_grad_norm: f64,
    pub epsilon: f64,
    pub epsilon_high: f64,
    pub beta: f64,
    pub entropy_coef: f64,
    pub scale_rewards: ScaleRewards,
    pub advantage_std_floor: f64,
    pub loss_type: LossType,
    pub num_iterations: usize,
    pub mask_truncated_completions: bool,
    pub micro_batch: usize,
}

/// The run. Fields are explained in `default.toml`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[allow(missing_docs)]
pub struct TrainConfig {
    pub seed: u64,
    pub max_steps: usize,
    pub output_dir: PathBuf,
    pub save_steps: usize,
    pub save_total_limit: usize,
    pub eval_steps: usize,
    pub eval_samples: usize,
    pub eval_games: usize,
}

/// Supervised training. Fields are explained in `default.toml`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[allow(missing_docs)]
pub struct SftConfig {
    pub learning_rate: f64,
    pub warmup_steps: usize,
    pub weight_decay: f64,
    pub max_grad_norm: f64,
    pub batch_tokens: usize,
    pub total_tokens: usize,
    pub error_rate: f64,
}

/// Collects layers and turns them into a checked [`Config`].
#[derive(Debug, Clone)]
pub struct Layers {
    merged: Table,
}

impl Default for Layers {
    fn default() -> Self {
        Layers { merged: DEFAULT_TOML.parse().expect("default.toml is TOML") }
    }
}

impl Layers {
    /// Lays a preset over what is there.
    pub fn preset(&mut self, name: &str) -> Result<(), ConfigError> {
        let Some((_, text)) = PRESETS.iter().find(|(known, _)| *known == name) else {
            let known: Vec<&str> = PRESETS.iter().map(|(known, _)| *known).collect();
            return Err(ConfigError::UnknownPreset { found: name.into(), known: known.join(", ") });
        };
        self.text(&format!("preset {name}"), text)
    }

    /// Lays a TOML file over what is there.
    pub fn file(&mut self, path: &Path) -> Result<(), ConfigError> {
        let text =
            std::fs::read_to_string(path).map_err(|source| ConfigError::Read { path: path.to_owned(), source })?;
        self.text(&path.display().to_string(), &text)
    }

    /// Lays TOML text over what is there. A `[run]` table, which recorded configurations carry, is left out.
    pub fn text(&mut self, origin: &str, text: &str) -> Result<(), ConfigError> {
        let mut layer: Table = text.parse().map_err(|error: toml::de::Error| ConfigError::Syntax {
            origin: origin.into(),
            message: error.to_string().trim_end().into(),
        })?;
        layer.remove("run");
        merge(&mut self.merged, layer, origin, "")
    }

    /// Lays one `section.key=value` over what is there; a bare word counts as a string.
    pub fn assignment(&mut self, assignment: &str) -> Result<(), ConfigError> {
        let origin = format!("--set {assignment}");
        let Some((key, value)) = assignment.split_once('=') else {
            return Err(ConfigError::Syntax { origin, message: "expected section.key=value".into() });
        };
        let value = value.trim();
        let parsed = format!("v = {value}").parse::<Table>().ok().and_then(|mut table| table.remove("v"));
        self.value(&origin, key.trim(), parsed.unwrap_or_else(|| Value::String(value.into())))
    }

    /// Sets one dotted key.
    pub fn value(&mut self, origin: &str, key: &str, value: impl Into<Value>) -> Result<(), ConfigError> {
        let Some((section, name)) = key.split_once('.') else {
            return Err(unknown(&self.merged, origin, key, key));
        };
        let layer =
            Table::from_iter([(section.to_owned(), Value::Table(Table::from_iter([(name.into(), value.into())])))]);
        merge(&mut self.merged, layer, origin, "")
    }

    /// The checked configuration.
    pub fn resolve(self) -> Result<Config, ConfigError> {
        let config: Config = Config::deserialize(Value::Table(self.merged)).map_err(|error| ConfigError::Syntax {
            origin: "configuration".into(),
            message: error.to_string().trim_end().replace('\n', " "),
        })?;
        config.check()?;
        Ok(config)
    }
}

/// Lays `layer` over `base`; only keys that `base` has are known, and a whole number may stand for a float.
fn merge(base: &mut Table, layer: Table, origin: &str, path: &str) -> Result<(), ConfigError> {
    for (key, value) in layer {
        let dotted = if path.is_empty() { key.clone() } else { format!("{path}.{key}") };
        let known = base.clone();
        match (base.get_mut(&key), value) {
            (None, _) => return Err(unknown(&known, origin, &dotted, &key)),
            (Some(Value::Table(inner)), Value::Table(value)) => merge(inner, value, origin, &dotted)?,
            (Some(slot @ Value::Float(_)), Value::Integer(value)) => *slot = Value::Float(value as f64),
            (Some(slot), value) if slot.same_type(&value) => *slot = value,
            (Some(slot), value) => {
                return Err(ConfigError::Value {
                    key: dotted,
                    found: value.to_string(),
                    expected: format!("expected {}, as in {slot} (from {origin})", slot.type_str()),
                });
            }
        }
    }
    Ok(())
}

fn unknown(known: &Table, origin: &str, dotted: &str, key: &str) -> ConfigError {
    let mut candidates: Vec<(f64, &str)> =
        known.keys().map(|candidate| (strsim::jaro_winkler(candidate, key), candidate.as_str())).collect();
    candidates.sort_by(|a, b| b.0.total_cmp(&a.0));
    let hint = match candidates.first() {
        Some((likeness, nearest)) if *likeness > 0.8 => format!("; did you mean `{nearest}`?"),
        _ => format!("; known here: {}", known.keys().cloned().collect::<Vec<_>>().join(", ")),
    };
    ConfigError::UnknownKey { origin: origin.into(), key: dotted.into(), hint }
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

    /// Rules that no type can say.
    fn check(&self) -> Result<(), ConfigError> {
        let positive = |key: &str, value: f64| require(value > 0.0, key, value, "expected a number above 0");
        let share = |key: &str, value: f64| {
            require(value > 0.0 && value <= 1.0, key, value, "expected a number above 0, at most 1")
        };
        let at_least = |key: &str, value: usize, least: usize| {
            require(value >= least, key, value, &format!("expected a whole number, at least {least}"))
        };
        at_least("rollout.groups", self.rollout.groups, 1)?;
        let group_rule = "expected a whole number, at least 2: a group of one has no advantage";
        require(
            self.rollout.num_generations >= 2,
            "rollout.num_generations",
            self.rollout.num_generations,
            group_rule,
        )?;
        at_least("rollout.max_completion_length", self.rollout.max_completion_length, 1)?;
        positive("rollout.temperature", self.rollout.temperature)?;
        share("rollout.top_p", self.rollout.top_p)?;
        require(
            (0.0..1.0).contains(&self.rollout.min_p),
            "rollout.min_p",
            self.rollout.min_p,
            "expected 0 to below 1",
        )?;
        positive("sandbox.game_seconds", self.sandbox.game_seconds)?;
        share("sandbox.call_share", self.sandbox.call_share)?;
        require(
            (32..=4096).contains(&self.sandbox.memory_mib),
            "sandbox.memory_mib",
            self.sandbox.memory_mib,
            "expected 32 to 4096; the interpreter alone needs about 20",
        )?;
        let backstop_rule = "expected at least ten times sandbox.game_seconds: the backstop must never decide a score";
        require(
            self.sandbox.backstop_seconds >= 10.0 * self.sandbox.game_seconds,
            "sandbox.backstop_seconds",
            self.sandbox.backstop_seconds,
            backstop_rule,
        )?;
        require(
            self.arena.parallel_rewards <= 1024,
            "arena.parallel_rewards",
            self.arena.parallel_rewards,
            "expected at most 1024",
        )?;
        at_least("arena.games", self.arena.games, 1)?;
        at_least("arena.freeze_after", self.arena.freeze_after, 1)?;
        let moves_rule =
            "expected at least 2000: 2048 takes about 930 moves, and a cap below that makes it unreachable";
        require(self.arena.moves_max >= 2000, "arena.moves_max", self.arena.moves_max, moves_rule)?;
        positive("reward.scale", self.reward.scale)?;
        require(
            (0.1..=2.0).contains(&self.reward.exponent),
            "reward.exponent",
            self.reward.exponent,
            "expected 0.1 to 2; 0.5 to 1 are sensible",
        )?;
        positive("grpo.learning_rate", self.grpo.learning_rate)?;
        positive("grpo.max_grad_norm", self.grpo.max_grad_norm)?;
        require(self.grpo.beta >= 0.0, "grpo.beta", self.grpo.beta, "expected 0 or more")?;
        at_least("grpo.num_iterations", self.grpo.num_iterations, 1)?;
        at_least("grpo.micro_batch", self.grpo.micro_batch, 1)?;
        at_least("train.max_steps", self.train.max_steps, 1)?;
        at_least("train.save_steps", self.train.save_steps, 1)?;
        at_least("train.save_total_limit", self.train.save_total_limit, 1)?;
        at_least("train.eval_games", self.train.eval_games, 1)?;
        positive("sft.learning_rate", self.sft.learning_rate)?;
        at_least("sft.batch_tokens", self.sft.batch_tokens, 512)?;
        require((0.0..=1.0).contains(&self.sft.error_rate), "sft.error_rate", self.sft.error_rate, "expected 0 to 1")
    }
}

fn require(holds: bool, key: &str, found: impl std::fmt::Display, expected: &str) -> Result<(), ConfigError> {
    if holds {
        return Ok(());
    }
    Err(ConfigError::Value { key: key.into(), found: found.to_string(), expected: expected.into() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_preset_resolves_and_the_resolved_file_gives_it_back() {
        for (name, _) in PRESETS {
            let config = Config::preset(name).unwrap();
            let mut layers = Layers::default();
            layers.text("round trip", &toml::to_string(&config).unwrap()).unwrap();
            assert_eq!(layers.resolve().unwrap(), config, "{name}");
        }
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
}
