//! The sections of the configuration that learning has, in the words of `default.toml` as well.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use super::{Checkpointing, ImportanceSamplingLevel, LossType, LrScheduler, Reduce, ScaleRewards, StepsAhead};

/// The update.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct GrpoConfig {
    /// Peak learning rate of AdamW.
    pub learning_rate: f64,
    /// Steps of linear warm-up.
    pub warmup_steps: usize,
    /// After warm-up: "constant", "linear" or "cosine" (to zero at max_steps).
    pub lr_scheduler_type: LrScheduler,
    /// Decay a step of the mean of gradients in AdamW,
    pub adam_beta1: f64,
    /// of the mean of their squares,
    pub adam_beta2: f64,
    /// and what is added to the square root of that mean, which the other is divided by.
    pub adam_epsilon: f64,
    /// Decoupled weight decay.
    pub weight_decay: f64,
    /// The optimiser has kernels of its own; on a GPU one launch moves all that is trained. Without, every variable is
    /// moved by operations of its own, for comparisons (`grpo-2048-bench train --against grpo.fused_adamw=false`).
    pub fused_adamw: bool,
    /// Gradients are scaled down to this global norm.
    pub max_grad_norm: f64,
    /// Lower and upper clip of the probability ratio: 1 - epsilon, 1 + epsilon_high. With loss_type = "cispo"
    /// epsilon_high is the largest ratio itself (at least 1; 5 is usual) and nothing is clipped from below; "sapo"
    /// clips nothing.
    pub epsilon: f64,
    /// The upper clip, 0 or more.
    pub epsilon_high: f64,
    /// Largest ratio that pushes a bad completion away, against the rare token that became many times as likely; 0:
    /// none. Above 1 + epsilon_high, 4 is usual; of "dapo", "grpo" and "dr_grpo" (INTELLECT-2, 2505.07291).
    pub delta: f64,
    /// Of "sapo": how sharply a ratio stops counting where the advantage is above 0.
    pub sapo_temperature_pos: f64,
    /// The same where it is not above 0.
    pub sapo_temperature_neg: f64,
    /// Take the ratio of each "token" or of the whole "sequence" (the geometric mean over its tokens, which moves much
    /// less: epsilon = 3e-4, epsilon_high = 4e-4 and loss_type = "grpo" make it GSPO, 2507.18071; with "dapo" and
    /// "dr_grpo" a completion then counts by its length). Not with "cispo".
    pub importance_sampling_level: ImportanceSamplingLevel,
    /// Share of the tokens of a step, those with the highest entropy, that the policy gradient is taken of; KL penalty,
    /// entropy bonus and means stay with all of them. 1 takes all, 0.2 is usual (2506.01939). Below 1 every update
    /// begins with a forward pass of its own, which finds them, the same ones whatever micro_batch is.
    pub top_entropy_quantile: f64,
    /// Weight of the KL penalty to the reference (k3 estimator); 0 keeps no reference.
    pub beta: f64,
    /// Weight of the entropy bonus, in reward per nat; the first one when entropy_target moves it.
    pub entropy_coef: f64,
    /// Share of the first step's entropy that the bonus is moved to hold; 0 leaves its weight as it is.
    pub entropy_target: f64,
    /// Most that the weight of the bonus moves a step.
    pub entropy_coef_step: f64,
    /// Largest weight of the bonus, at least entropy_coef.
    pub entropy_coef_max: f64,
    /// Weight of the mean negative log-likelihood of elites: the best distinct programs so far, by style; 0 imitates
    /// none.
    pub elite_coef: f64,
    /// First step that imitates elites.
    pub elite_from_step: usize,
    /// Elites imitated a step, drawn among those that are better than what their style's prompt last gave.
    pub elites_per_step: usize,
    /// Elites kept for each style.
    pub elites_per_style: usize,
    /// Elites that play the games of a step again, those with the fewest games first. An elite's reward is the mean of
    /// all games it ever played, so one that was lucky at first falls back.
    pub elite_replays: usize,
    /// Divide advantages by the standard deviation of the "group" or of the "batch", by the "mean" of the group (MaxRL,
    /// 2602.02710: a success counts the more the rarer it is in its group; for rewards that are all or nothing, as with
    /// reward.tests = "all"), or by "none". With "mean" a reward below 0 counts as 0, so that a failure is as bad as a
    /// wrong answer and no worse, and a group without a reward above 0 is tied.
    pub scale_rewards: ScaleRewards,
    /// Smallest standard deviation that advantages are divided by.
    pub advantage_std_floor: f64,
    /// Three clipped losses that differ in how token losses are averaged, "dapo" (over all tokens of the step), "grpo"
    /// (a completion first) and "dr_grpo" (by the longest allowed); "cispo" (truncates the weight of a token and keeps
    /// its gradient; over all tokens); "sapo" (fades the gradient out with the ratio; a completion first). With one
    /// update a rollout and steps_ahead = 0 the ratio is 1, and only the averaging tells them apart. docs/losses.md has
    /// the formulas.
    pub loss_type: LossType,
    /// Updates for each rollout; above 1, as with train.steps_ahead = 1, the ratio and its clips matter.
    pub num_iterations: usize,
    /// Leave truncated completions out of the loss.
    pub mask_truncated_completions: bool,
    /// Most completions that pass through the model at once in an update, fewer where memory asks for it (a power of
    /// two then). Changes memory, not the result beyond rounding.
    pub micro_batch: usize,
    /// Have the backward pass compute each layer again instead of keeping what it computed: "auto" (where memory asks
    /// for it), "on" or "off". Exact, and slower.
    pub gradient_checkpointing: Checkpointing,
}

/// The run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TrainConfig {
    /// Root of all chance: same seed, same configuration, same machine, same run, bit for bit.
    pub seed: u64,
    /// Behind the seeds of training boards, and of those that the best programs are settled on: 32 hexadecimal digits.
    /// `train` draws it where neither it nor train.seed is named, and records it. Empty: boards that everybody can
    /// compute from the seed.
    pub board_salt: String,
    /// Last step of the run, at least 1.
    pub max_steps: usize,
    /// 1: while the games of a step are played, the policy already writes the completions of the next one, so that a
    /// GPU waits for games only where they take longer than writing a whole step. What it writes comes from before the
    /// update of the step at hand: the loss then takes the ratio to the log-probabilities that were recorded, and
    /// bounds it. The numbers of a run are others than with 0, and as repeatable. 0: every step is written by the
    /// newest policy.
    pub steps_ahead: StepsAhead,
    /// Budget of a training game, in seconds of a reference core; held-out games, `score` and `play` have
    /// sandbox.game_seconds. Programs learn to search as deep as this lets them: trained with five seconds they are cut
    /// off in games of one.
    pub game_seconds: f64,
    /// Where the run is written; empty: runs/train-001, -002, ...
    pub output_dir: PathBuf,
    /// Before the first step, have players of known strength scored as the run will score programs, and refuse to start
    /// when the reward is out of order (about two seconds; the run itself does not change).
    pub preflight: bool,
    /// Memory that training may take, in MiB; 0: 0.7 of what is free when it starts. An update that would take more is
    /// cut: fewer completions at once, then gradient checkpointing, then smaller chunks of logits. The batch stays the
    /// same.
    pub memory_mib: u64,
    /// On a GPU, where memory_mib is 0: the largest share of its memory that training may take, at most 0.95 of what is
    /// free.
    pub gpu_memory_fraction: f64,
    /// Also write every number to tensorboard/ in the output directory, for `tensorboard --logdir` (2 KiB a step).
    pub tensorboard: bool,
    /// Checkpoint every so many steps, and at the end.
    pub save_steps: usize,
    /// Newest checkpoints kept.
    pub save_total_limit: usize,
    /// Held-out evaluation every so many steps (0: only first and last).
    pub eval_steps: usize,
    /// Completions sampled in a held-out evaluation; 0: none.
    pub eval_samples: usize,
    /// Games that each of them plays, 1 to 8.
    pub eval_games: usize,
}

/// Training with several processes.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ParallelConfig {
    /// How gradients of processes that mpirun or srun starts (docs/scale.md) become one sum. "exact": in the order of the
    /// parts, so that any number of processes computes what one does, to the last bit. "fast": each adds its own, and the
    /// library of MPI or NCCL the rest, which sends less where a process has several parts; the last bits then depend on
    /// the number of processes and on the library, so that neither one process nor --resume with another number repeats a
    /// run exactly.
    pub reduce: Reduce,
    /// Of processes that mpirun or srun starts (docs/scale.md): let those train together whose processors have other
    /// instruction sets. Sums are then rounded in other ways on each, and how the run goes depends on who computes
    /// what.
    pub allow_other_processors: bool,
}

/// When the guard warns of a collapse, and when it stops the run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct GuardConfig {
    /// Stop the run (exit code 3) when it can no longer learn; false only warns.
    pub stop: bool,
    /// Steps over which each figure is averaged before it is judged.
    pub window: usize,
    /// Steps after which tied groups and truncated completions are warned of though they were never fewer.
    pub grace_steps: usize,
    /// Warn at once when log-probabilities of sampling and of scoring differ by more than this in the mean, in nats:
    /// what is trained is then not what was sampled.
    pub warn_logp_difference: f64,
    /// The same where servers sample: NeMo RL looks into what is above exp(0.05) (docs/adding-new-models.md there:
    /// 1.05).
    pub warn_server_logp_difference: f64,
    /// Warn when more than this share of the groups is tied, after resampling,
    pub warn_tied: f64,
    /// when less than this share of the programs is distinct, having been more,
    pub warn_unique: f64,
    /// when entropy is less than this share of the first step's,
    pub warn_entropy: f64,
    /// when less than this share of the completions parses, having been more,
    pub warn_parsed: f64,
    /// or when more than this share of the completions is truncated.
    pub warn_clipped: f64,
    /// Stop when nothing parses any more, or beyond these shares: of tied groups,
    pub stop_tied: f64,
    /// of distinct programs,
    pub stop_unique: f64,
    /// of the first step's entropy,
    pub stop_entropy: f64,
    /// and of truncated completions.
    pub stop_clipped: f64,
}

/// Supervised training.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SftConfig {
    /// Peak learning rate, cosine to a tenth.
    pub learning_rate: f64,
    /// Steps of linear warm-up.
    pub warmup_steps: usize,
    /// Decoupled weight decay.
    pub weight_decay: f64,
    /// Gradients are scaled down to this global norm.
    pub max_grad_norm: f64,
    /// Tokens a step, padding not counted.
    pub batch_tokens: usize,
    /// Tokens seen in all.
    pub total_tokens: usize,
    /// Programs that a language model writes and plays before and after; 0: none.
    pub eval_samples: usize,
    /// Share of corpus programs with a deliberate mistake in them.
    pub error_rate: f64,
}
