//! Checks that types cannot express: ranges, and dependencies between values.

use std::collections::BTreeSet;
use std::fmt::Display;
use std::ops::RangeInclusive;

use super::{
    ArenaConfig, Config, ConfigError, GrpoConfig, GuardConfig, ImportanceSamplingLevel, LossType, ModelConfig,
    PromptDraw, RewardConfig, RolloutConfig, SandboxConfig, ScaleRewards, SftConfig, StepsAhead, TrainConfig,
    TurnsReward, server_root,
};

/// The modules that may have adapters; the first name means all others.
const LORA_TARGETS: [&str; 10] = [
    "all-linear", "q_proj", "k_proj", "v_proj", "qkv_proj", "o_proj", "gate_proj", "up_proj", "gate_up_proj",
    "down_proj",
];

/// The largest count of what a run holds in memory at once. A larger one would end the program instead of being refused.
const MOST_HELD: usize = 1 << 20;

/// Positive settings that are computed with as f32: others become 0, infinite or not a number.
const IN_F32: RangeInclusive<f64> = 1e-30..=1e30;

impl Config {
    /// Refuses a value that is out of its range, with the name of its key.
    pub(super) fn check(&self) -> Result<(), ConfigError> {
        model(&self.model)?;
        rollout(&self.rollout)?;
        servers(self)?;
        turns(self)?;
        draw(self)?;
        sandbox(&self.sandbox)?;
        arena(&self.arena)?;
        reward(&self.reward)?;
        grpo(&self.grpo)?;
        loss(&self.grpo)?;
        entropic(self)?;
        train(&self.train)?;
        guard(&self.guard)?;
        sft(&self.sft)
    }
}

fn model(model: &ModelConfig) -> Result<(), ConfigError> {
    require(model.lora_r <= 65_536, "model.lora_r", model.lora_r, "expected 0 to 65536; 16 to 64 are usual")?;
    positive("model.lora_alpha", model.lora_alpha)?;
    let dropout = model.lora_dropout;
    require((0.0..1.0).contains(&dropout), "model.lora_dropout", dropout, "expected 0 to below 1; 0 drops nothing")?;
    let targets = &model.lora_target_modules;
    let right = !targets.is_empty() && targets.iter().all(|target| LORA_TARGETS.contains(&target.as_str()));
    let rule = format!("expected a list of {}", LORA_TARGETS.join(", "));
    require(right, "model.lora_target_modules", format!("{targets:?}"), &rule)
}

fn rollout(rollout: &RolloutConfig) -> Result<(), ConfigError> {
    held("rollout.groups", rollout.groups, 1)?;
    let rule = "expected a whole number, at least 2: a group of one has no advantage";
    require(rollout.num_generations >= 2, "rollout.num_generations", rollout.num_generations, rule)?;
    held("rollout.num_generations", rollout.num_generations, 2)?;
    at_least("rollout.max_completion_length", rollout.max_completion_length, 1)?;
    let rule = "expected 0.001 to 1000; 0.6 to 1 are usual";
    within("rollout.temperature", rollout.temperature, 0.001..=1000.0, rule)?;
    share("rollout.top_p", rollout.top_p)?;
    require((0.0..1.0).contains(&rollout.min_p), "rollout.min_p", rollout.min_p, "expected 0 to below 1")?;
    within("rollout.turns", rollout.turns, 1..=16, "expected 1 to 16")?;
    let rule = "expected 0 to 8; each round samples at most as much again";
    require(rollout.resample_tied <= 8, "rollout.resample_tied", rollout.resample_tied, rule)
}

/// Pools of prompts need the rewards of the step before, and a control run may not follow what is true of them.
fn draw(config: &Config) -> Result<(), ConfigError> {
    let is_control = config.rollout.draw == PromptDraw::Pools && config.reward.shuffled;
    let rule = "expected \"all\" with reward.shuffled: pools tell what the true rewards are, and a control run learns from \
                rewards that say nothing; set rollout.draw = \"all\"";
    require(!is_control, "rollout.draw", "\"pools\"", rule)?;
    let in_order = config.rollout.draw == PromptDraw::All || config.train.steps_ahead == StepsAhead::None;
    let rule = "expected \"all\" with train.steps_ahead = 1: the prompts of a step are drawn before the rewards of the one \
                before are known; set train.steps_ahead = 0";
    require(in_order, "rollout.draw", "\"pools\"", rule)
}

/// The settings that do not go with several turns.
fn turns(config: &Config) -> Result<(), ConfigError> {
    let turns = config.rollout.turns;
    let is_one = turns == 1;
    let rule = "expected 1 with reward.shuffled and reward.turns = \"discounted\": a control run shuffles one reward a \
                completion; set reward.turns = \"last\"";
    let has_one_reward = config.reward.turns != TurnsReward::Discounted;
    require(is_one || has_one_reward || !config.reward.shuffled, "rollout.turns", turns, rule)
}

/// The settings of servers, and those that must suit servers.
fn servers(config: &Config) -> Result<(), ConfigError> {
    let rollout = &config.rollout;
    let is_address = |url: &String| {
        let host = url.strip_prefix("http://").or_else(|| url.strip_prefix("https://"));
        host.is_some_and(|host| !host.is_empty() && !host.starts_with('/') && !host.contains([' ', '?', '#']))
    };
    if let Some(wrong) = rollout.servers.iter().find(|url| !is_address(url)) {
        let rule = "expected addresses such as http://localhost:8000, commas between them";
        require(false, "rollout.servers", format!("\"{wrong}\""), rule)?;
    }
    let mut named = BTreeSet::new();
    if let Some(twice) = rollout.servers.iter().find(|url| !named.insert(server_root(url))) {
        let rule = "expected each server once";
        require(false, "rollout.servers", format!("\"{twice}\""), rule)?;
    }
    held("rollout.server_requests", rollout.server_requests, 1)?;
    within("rollout.server_seconds", rollout.server_seconds, 1.0..=86_400.0, "expected 1 to 86400")?;
    not_negative("rollout.correction_floor", rollout.correction_floor)?;
    let (cap, rule) = (rollout.correction_cap, "expected a number above rollout.correction_floor; 3 is usual");
    require(cap > rollout.correction_floor, "rollout.correction_cap", cap, rule)?;
    positive("rollout.correction_cap", cap)?;
    if rollout.servers.is_empty() {
        return Ok(());
    }
    let adapts = config.model.lora_r > 0 || !config.model.adapter.is_empty();
    let rule = "expected none where every weight is trained: servers are given adapters; add --lora-r 16 or \
                --set model.lora_r=16";
    require(adapts, "rollout.servers", rollout.servers.join(","), rule)?;
    let rule = "expected 0.01 to 2 with rollout.servers: vLLM takes no other";
    within("rollout.temperature", rollout.temperature, 0.01..=2.0, rule)
}

fn sandbox(sandbox: &SandboxConfig) -> Result<(), ConfigError> {
    game_seconds("sandbox.game_seconds", sandbox.game_seconds)?;
    share("sandbox.call_share", sandbox.call_share)?;
    let rule = "expected 32 to 1024, the most that is reserved; the interpreter alone needs about 20";
    within("sandbox.memory_mib", sandbox.memory_mib, 32..=1024, rule)
}

/// Seconds of a game. More than 60 is a misplaced decimal point, since one batch of such games would take hours.
fn game_seconds(key: &'static str, seconds: f64) -> Result<(), ConfigError> {
    require(seconds > 0.0 && seconds <= 60.0, key, seconds, "expected above 0, at most 60; 1 is usual")
}

fn arena(arena: &ArenaConfig) -> Result<(), ConfigError> {
    held("arena.games", arena.games, 1)?;
    at_least("arena.freeze_after", arena.freeze_after, 1)?;
    let rule = "expected at least 2000: 2048 takes about 930 moves, and a cap below that makes it unreachable";
    require(arena.moves_max >= 2000, "arena.moves_max", arena.moves_max, rule)
}

fn reward(reward: &RewardConfig) -> Result<(), ConfigError> {
    not_negative("reward.scale", reward.scale)?;
    not_negative("reward.fuel_bonus", reward.fuel_bonus)?;
    not_negative("reward.length_penalty", reward.length_penalty)?;
    let (from, rule) = (reward.length_penalty_from, "expected 0 to below 1, a share of rollout.max_completion_length");
    require((0.0..1.0).contains(&from), "reward.length_penalty_from", from, rule)?;
    within("reward.turns_gamma", reward.turns_gamma, 0.0..=1.0, "expected 0 to 1")?;
    within("reward.exponent", reward.exponent, 0.1..=2.0, "expected 0.1 to 2; 0.5 to 1 are sensible")
}

fn grpo(grpo: &GrpoConfig) -> Result<(), ConfigError> {
    positive("grpo.learning_rate", grpo.learning_rate)?;
    positive("grpo.max_grad_norm", grpo.max_grad_norm)?;
    positive("grpo.adam_epsilon", grpo.adam_epsilon)?;
    for (key, rate) in [("grpo.adam_beta1", grpo.adam_beta1), ("grpo.adam_beta2", grpo.adam_beta2)] {
        require((0.0..1.0).contains(&rate), key, rate, "expected 0 to below 1")?;
    }
    not_negative("grpo.weight_decay", grpo.weight_decay)?;
    not_negative("grpo.beta", grpo.beta)?;
    not_negative("grpo.advantage_std_floor", grpo.advantage_std_floor)?;
    elites(grpo)?;
    entropy(grpo)?;
    let (best, worst) = (grpo.learn_from_best, grpo.learn_from_worst);
    let rule =
        "expected at least 2 together with grpo.learn_from_worst, or 0 for both: one completion has no advantage";
    require(best + worst != 1, "grpo.learn_from_best", best, rule)?;
    held("grpo.num_iterations", grpo.num_iterations, 1)?;
    held("grpo.micro_batch", grpo.micro_batch, 1)
}

/// The entropy bonus and what keeps the entropy.
fn entropy(grpo: &GrpoConfig) -> Result<(), ConfigError> {
    not_negative("grpo.entropy_coef", grpo.entropy_coef)?;
    not_negative("grpo.entropy_coef_step", grpo.entropy_coef_step)?;
    not_negative("grpo.entropy_coef_max", grpo.entropy_coef_max)?;
    within("grpo.entropy_target", grpo.entropy_target, 0.0..=2.0, "expected 0 to 2; 0 switches it off")?;
    if grpo.entropy_target == 0.0 {
        return Ok(());
    }
    positive("grpo.entropy_coef_step", grpo.entropy_coef_step)?;
    let rule = "expected at least grpo.entropy_coef, which it starts from";
    require(grpo.entropy_coef_max >= grpo.entropy_coef, "grpo.entropy_coef_max", grpo.entropy_coef_max, rule)
}

fn elites(grpo: &GrpoConfig) -> Result<(), ConfigError> {
    within("grpo.elite_coef", grpo.elite_coef, 0.0..=3.0, "expected 0 to 3; 0 imitates none")?;
    held("grpo.elites_per_step", grpo.elites_per_step, 1)?;
    held("grpo.elites_kept", grpo.elites_kept, 1)?;
    not_negative("grpo.elite_free_nats", grpo.elite_free_nats)?;
    not_negative("grpo.elite_prior", grpo.elite_prior)
}

/// Refuses weights that grow with rewards where two completions are compared: the worse one would have none at all.
fn entropic(config: &Config) -> Result<(), ConfigError> {
    let fits = config.grpo.scale_rewards != ScaleRewards::Entropic || config.learnt_per_group() > 2;
    require(
        fits,
        "grpo.scale_rewards",
        "entropic",
        "expected another where groups of two are learnt from, or more of a group (rollout.num_generations above 2)",
    )
}

/// The clipping limits of the loss, and which loss uses which.
fn loss(grpo: &GrpoConfig) -> Result<(), ConfigError> {
    let GrpoConfig { loss_type, epsilon, epsilon_high, delta, .. } = *grpo;
    within("grpo.epsilon", epsilon, 0.0..=1.0, "expected 0 to 1; 1 clips nothing from below")?;
    not_negative("grpo.epsilon_high", epsilon_high)?;
    if loss_type == LossType::Cispo {
        let rule = "expected at least 1: with grpo.loss_type = \"cispo\" it is the largest ratio itself; 5 is usual";
        require(epsilon_high >= 1.0, "grpo.epsilon_high", epsilon_high, rule)?;
        let rule = "expected \"token\" with grpo.loss_type = \"cispo\", which weighs every token by its own ratio; set \
                    grpo.loss_type = \"grpo\" for GSPO";
        let of_tokens = grpo.importance_sampling_level == ImportanceSamplingLevel::Token;
        require(of_tokens, "grpo.importance_sampling_level", "\"sequence\"", rule)?;
    }
    let rule = "expected 0, which is none, unless grpo.loss_type is one of \"dapo\", \"grpo\", \"dr_grpo\": no other has \
                the unclipped side that it bounds";
    require(delta == 0.0 || loss_type.is_clipped(), "grpo.delta", delta, rule)?;
    let edge = 1.0 + epsilon_high;
    let rule = format!("expected 0, which is none, or a number above 1 + grpo.epsilon_high, here {edge}; 4 is usual");
    require(delta == 0.0 || delta > edge, "grpo.delta", delta, &rule)?;
    not_negative("grpo.delta", delta)?;
    positive("grpo.sapo_temperature_pos", grpo.sapo_temperature_pos)?;
    positive("grpo.sapo_temperature_neg", grpo.sapo_temperature_neg)?;
    share("grpo.top_entropy_quantile", grpo.top_entropy_quantile)
}

fn train(train: &TrainConfig) -> Result<(), ConfigError> {
    let salt = &train.board_salt;
    let is_salt = salt.is_empty() || (salt.len() == 32 && salt.bytes().all(|digit| digit.is_ascii_hexdigit()));
    require(is_salt, "train.board_salt", salt, "expected 32 hexadecimal digits, or none")?;
    at_least("train.max_steps", train.max_steps, 1)?;
    at_least("train.save_steps", train.save_steps, 1)?;
    at_least("train.save_total_limit", train.save_total_limit, 1)?;
    held("train.eval_samples", train.eval_samples, 0)?;
    let rule = "expected 0 to 1073741824, in MiB; 0 takes 0.7 of what is free";
    require(train.memory_mib <= 1 << 30, "train.memory_mib", train.memory_mib, rule)?;
    let rule = "expected 1 to 8: the other held-out boards are for reports of `grpo-2048 eval`";
    within("train.eval_games", train.eval_games, 1..=8, rule)?;
    let rule = "expected 0.001 to 1000, or 0 for rollout.temperature; 0.2 to 1 are usual";
    let is_temperature = train.eval_temperature == 0.0 || (0.001..=1000.0).contains(&train.eval_temperature);
    require(is_temperature, "train.eval_temperature", train.eval_temperature, rule)?;
    let rule = "expected 0.05 to 1: a share of the GPU's memory";
    within("train.gpu_memory_fraction", train.gpu_memory_fraction, 0.05..=1.0, rule)?;
    game_seconds("train.game_seconds", train.game_seconds)
}

fn guard(guard: &GuardConfig) -> Result<(), ConfigError> {
    at_least("guard.window", guard.window, 1)?;
    positive("guard.warn_logp_difference", guard.warn_logp_difference)?;
    positive("guard.warn_server_logp_difference", guard.warn_server_logp_difference)?;
    let shares = [
        ("guard.warn_tied", guard.warn_tied),
        ("guard.warn_unique", guard.warn_unique),
        ("guard.warn_entropy", guard.warn_entropy),
        ("guard.warn_parsed", guard.warn_parsed),
        ("guard.warn_clipped", guard.warn_clipped),
        ("guard.warn_succeeded", guard.warn_succeeded),
        ("guard.stop_tied", guard.stop_tied),
        ("guard.stop_unique", guard.stop_unique),
        ("guard.stop_entropy", guard.stop_entropy),
        ("guard.stop_clipped", guard.stop_clipped),
        ("guard.stop_succeeded", guard.stop_succeeded),
    ];
    for (key, value) in shares {
        within(key, value, 0.0..=1.0, "expected a share, 0 to 1")?;
    }
    let rule = "expected at least the share that is warned of";
    require(guard.stop_tied >= guard.warn_tied, "guard.stop_tied", guard.stop_tied, rule)?;
    require(guard.stop_clipped >= guard.warn_clipped, "guard.stop_clipped", guard.stop_clipped, rule)?;
    let rule = "expected at most the share that is warned of";
    require(guard.stop_unique <= guard.warn_unique, "guard.stop_unique", guard.stop_unique, rule)?;
    require(guard.stop_entropy <= guard.warn_entropy, "guard.stop_entropy", guard.stop_entropy, rule)?;
    require(guard.stop_succeeded <= guard.warn_succeeded, "guard.stop_succeeded", guard.stop_succeeded, rule)
}

fn sft(sft: &SftConfig) -> Result<(), ConfigError> {
    positive("sft.learning_rate", sft.learning_rate)?;
    not_negative("sft.weight_decay", sft.weight_decay)?;
    positive("sft.max_grad_norm", sft.max_grad_norm)?;
    held("sft.batch_tokens", sft.batch_tokens, 512)?;
    at_least("sft.total_tokens", sft.total_tokens, 1)?;
    held("sft.eval_samples", sft.eval_samples, 0)?;
    within("sft.error_rate", sft.error_rate, 0.0..=1.0, "expected 0 to 1")
}

fn positive(key: &str, value: f64) -> Result<(), ConfigError> {
    within(key, value, IN_F32, "expected a number above 0, from 1e-30 to 1e30")
}

fn not_negative(key: &str, value: f64) -> Result<(), ConfigError> {
    within(key, value, 0.0..=*IN_F32.end(), "expected a number, 0 or more, at most 1e30")
}

fn share(key: &str, value: f64) -> Result<(), ConfigError> {
    require(value > 0.0 && value <= 1.0, key, value, "expected a number above 0, at most 1")
}

fn at_least(key: &str, value: usize, least: usize) -> Result<(), ConfigError> {
    require(value >= least, key, value, &format!("expected a whole number, at least {least}"))
}

fn held(key: &str, value: usize, least: usize) -> Result<(), ConfigError> {
    at_least(key, value, least)?;
    require(value <= MOST_HELD, key, value, &format!("expected a whole number, {least} to {MOST_HELD}"))
}

fn within<T: PartialOrd + Display>(
    key: &str,
    value: T,
    range: RangeInclusive<T>,
    expected: &str,
) -> Result<(), ConfigError> {
    require(range.contains(&value), key, value, expected)
}

fn require(holds: bool, key: &str, found: impl Display, expected: &str) -> Result<(), ConfigError> {
    if holds {
        return Ok(());
    }
    Err(ConfigError::Value { key: key.into(), found: found.to_string(), expected: expected.into() })
}
