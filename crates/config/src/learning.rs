//! The sections of the configuration for learning. Fields have the comments of `default.toml`, which a test compares.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use super::{Checkpointing, ImportanceSamplingLevel, LossType, LrScheduler, Reduce, ScaleRewards, StepsAhead};

/// The update.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct GrpoConfig {
    /// Peak learning rate of AdamW.
    pub learning_rate: f64,
    /// Number of steps of linear warm-up.
    pub warmup_steps: usize,
    /// Schedule after warm-up: "constant", "linear" or "cosine" (to zero at max_steps).
    pub lr_scheduler_type: LrScheduler,
    /// Decay rate per update of AdamW's mean of gradients.
    pub adam_beta1: f64,
    /// Decay rate per update of AdamW's mean of squared gradients.
    pub adam_beta2: f64,
    /// Added to the square root of the mean of squared gradients, by which AdamW divides.
    pub adam_epsilon: f64,
    /// Decoupled weight decay.
    pub weight_decay: f64,
    /// Use fused kernels for the optimiser; on a GPU one launch updates all variables. Otherwise every variable is
    /// updated by tensor operations, for comparisons (`grpo-2048-bench train --against grpo.fused_adamw=false`).
    pub fused_adamw: bool,
    /// Gradients with a larger global norm are scaled down to it.
    pub max_grad_norm: f64,
    /// The ratio is clipped at 1 - epsilon and 1 + epsilon_high. With loss_type = "cispo" epsilon_high is the largest
    /// ratio itself (at least 1; 5 is usual) and there is no lower limit; "sapo" clips nothing.
    pub epsilon: f64,
    /// See epsilon; 0 or more.
    pub epsilon_high: f64,
    /// Maximum ratio for negative advantages, which limits the effect of rare tokens that have become many times as
    /// likely; 0: none. It must be above 1 + epsilon_high; 4 is usual. For "dapo", "grpo" and "dr_grpo" only
    /// (INTELLECT-2, 2505.07291).
    pub delta: f64,
    /// For "sapo": how fast the gradient fades with the distance of the ratio from 1, for advantages above 0.
    pub sapo_temperature_pos: f64,
    /// The same for advantages of at most 0.
    pub sapo_temperature_neg: f64,
    /// Compute the ratio of each "token" or of the whole "sequence": the geometric mean over its tokens, which changes
    /// much less. With epsilon = 3e-4, epsilon_high = 4e-4 and loss_type = "grpo" it is GSPO (2507.18071); with "dapo"
    /// and "dr_grpo" a completion is weighted by its length. Not with "cispo".
    pub importance_sampling_level: ImportanceSamplingLevel,
    /// Share of the tokens of a step, those with the highest entropy, that have a policy gradient; KL penalty, entropy
    /// bonus and means are over all tokens. 1 uses all, 0.2 is usual (2506.01939). Below 1 every update needs an
    /// additional forward pass to find them; the result does not depend on micro_batch.
    pub top_entropy_quantile: f64,
    /// Weight of the KL penalty to the reference (k3 estimator); 0 uses no reference.
    pub beta: f64,
    /// Weight of the entropy bonus, in advantage per nat; its initial value with entropy_target.
    pub entropy_coef: f64,
    /// Share of the first step's entropy at which the weight of the bonus is adapted to keep the entropy; 0 keeps the
    /// weight constant.
    pub entropy_target: f64,
    /// Maximum change of the weight of the bonus per step.
    pub entropy_coef_step: f64,
    /// Maximum weight of the bonus, at least entropy_coef.
    pub entropy_coef_max: f64,
    /// Weight of the mean negative log-likelihood of elites, the best distinct programs so far; 0 imitates none.
    pub elite_coef: f64,
    /// Tokens of elites whose negative log-likelihood is at most so many nats are not imitated, so that what the policy may write
    /// instead keeps a share: at 0.7, about half. 0 imitates all.
    pub elite_free_nats: f64,
    /// First step that imitates elites.
    pub elite_from_step: usize,
    /// Number of elites that a step imitates, drawn from those that are expected to earn more than the newest completions.
    pub elites_per_step: usize,
    /// Number of elites that are kept: of a game in all, and of each task.
    pub elites_kept: usize,
    /// Number of games with the policy's mean reward that each program counts as having played besides its own, so that one
    /// lucky game makes no elite.
    pub elite_prior: f64,
    /// Number of games that a player has played before it is imitated.
    pub elite_min_games: usize,
    /// Number of elites that play the boards of a step again: half of them have the fewest games, the others are the best.
    pub elite_replays: usize,
    /// Number of the best completions of a group that the update learns from, with advantages among themselves and the
    /// worst; with learn_from_worst = 0 too, it learns from all.
    pub learn_from_best: usize,
    /// Number of the worst completions of a group that the update learns from.
    pub learn_from_worst: usize,
    /// Divide advantages by the standard deviation of the "group" or of the "batch", by the "mean" of the group (MaxRL,
    /// 2602.02710: a success counts more the rarer it is in its group; for rewards that are all or nothing, as with
    /// reward.tests = "all"), or by 1 ("none"). With "mean" a negative reward counts as 0, so that a failure counts as
    /// much as a wrong answer, and a group without a positive reward is tied. "entropic" is for the best program rather
    /// than the mean: weights exp(b R), with b so that their divergence from equal weights is ln 2 (TTT-Discover,
    /// docs/losses.md); it needs groups of at least 3.
    pub scale_rewards: ScaleRewards,
    /// Minimum of the standard deviation by which advantages are divided.
    pub advantage_std_floor: f64,
    /// Three clipped losses that differ in how the losses of tokens are averaged, "dapo" (over all tokens of the step),
    /// "grpo" (over each completion first) and "dr_grpo" (over the maximum length); "cispo" (truncates the weight of a
    /// token and keeps its gradient; over all tokens); "sapo" (the gradient fades with the ratio; over each completion
    /// first). With one update per rollout and steps_ahead = 0 the ratio is 1, and they differ only in averaging.
    /// docs/losses.md has the formulas.
    pub loss_type: LossType,
    /// Number of updates per rollout. Ratio and clipping matter above 1, and with train.steps_ahead = 1.
    pub num_iterations: usize,
    /// Leave truncated completions out of the loss.
    pub mask_truncated_completions: bool,
    /// Maximum number of completions that pass through the model together in an update; fewer, a power of two, if
    /// memory requires it. It affects memory, and the result only by rounding.
    pub micro_batch: usize,
    /// Recompute the activations of each layer in the backward pass instead of keeping them: "auto" (if memory requires
    /// it), "on" or "off". Exact, and slower.
    pub gradient_checkpointing: Checkpointing,
}

/// The run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TrainConfig {
    /// Root seed. The same seed, configuration and machine give the same run, bit for bit.
    pub seed: u64,
    /// Part of the seeds of training boards and of the boards that the best programs are ranked on: 32 hexadecimal
    /// digits. If neither it nor train.seed is set, `train` draws it at random and records it. Empty: boards follow
    /// from the seed alone, so that everybody can compute them.
    pub board_salt: String,
    /// Number of steps of the run, at least 1.
    pub max_steps: usize,
    /// 1: while the games of a step are played, the policy already samples the completions of the next step, so that a
    /// GPU waits for games only if they take longer than sampling a step. These completions are sampled before the
    /// update of the current step; their loss uses the ratio to the recorded log-probabilities, and clips it. Results
    /// differ from those with 0 and are as reproducible. 0: every step is sampled by the newest policy.
    pub steps_ahead: StepsAhead,
    /// Budget of a training game, in seconds of a reference core; held-out games, `score` and `play` have
    /// sandbox.game_seconds. Programs learn to search as deeply as it allows: trained with five seconds, they exceed
    /// the budget of games with one.
    pub game_seconds: f64,
    /// Directory of the run; empty: runs/train-001, -002, ...
    pub output_dir: PathBuf,
    /// Before the first step, score players of known strength in the way that the run will score programs, and refuse
    /// to start if their rewards are not in order. It takes about two seconds and does not affect the run.
    pub preflight: bool,
    /// Memory limit of training, in MiB; 0: 0.7 of the memory that is free at the start. An update that would exceed it
    /// is divided: fewer completions together, then gradient checkpointing, then smaller chunks of logits. The batch
    /// stays the same.
    pub memory_mib: u64,
    /// On a GPU, if memory_mib is 0: the maximum share of its memory for training, at most 0.95 of the free part.
    pub gpu_memory_fraction: f64,
    /// To find a fault on a GPU: wait for each of this program's kernels and products, so that the one that fails is
    /// named. Several times as slow; CUDA graphs are not recorded.
    pub cuda_check: bool,
    /// Also write all metrics to tensorboard/ in the output directory, for `tensorboard --logdir` (2 KiB per step).
    pub tensorboard: bool,
    /// Number of steps between checkpoints. The last step has one, too.
    pub save_steps: usize,
    /// Number of newest checkpoints that are kept.
    pub save_total_limit: usize,
    /// Number of steps between held-out evaluations (0: only first and last).
    pub eval_steps: usize,
    /// Number of completions of a held-out evaluation; 0: no evaluation.
    pub eval_samples: usize,
    /// Number of games of each of them, 1 to 8.
    pub eval_games: usize,
    /// At the end, let held-out games choose the best programs and estimate the score of the first (up to 300 games);
    /// false: rank them by their training games, as an interrupted run does.
    pub settle: bool,
}

/// Training with several processes.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ParallelConfig {
    /// How the gradients of processes that mpirun or srun starts (docs/scale.md) are added. "exact": in the order of
    /// the parts, so that any number of processes computes the same as one, bit for bit. "fast": each process adds its
    /// own, and the library of MPI or NCCL adds the sums, which sends less if a process has several parts. The last
    /// bits then depend on the number of processes and on the library, so neither one process nor --resume with another
    /// number repeats a run exactly.
    pub reduce: Reduce,
    /// Let processes that mpirun or srun starts (docs/scale.md) train together even if their processors have different
    /// instruction sets. They then round differently, and results depend on which process computes which part.
    pub allow_other_processors: bool,
}

/// When the guard warns of a collapse, and when it stops the run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct GuardConfig {
    /// Stop the run (exit code 3) when it can no longer learn; false only warns.
    pub stop: bool,
    /// Number of steps over which each metric is averaged before it is judged.
    pub window: usize,
    /// Number of steps after which the guard warns of tied groups and truncated completions even if their shares have
    /// never been lower.
    pub grace_steps: usize,
    /// Warn at once if the log-probabilities of sampling and of scoring differ by more than this, in nats per token on
    /// average, which means that the model that is trained is not the one that was sampled.
    pub warn_logp_difference: f64,
    /// The same for servers. NeMo RL investigates above exp(0.05) (its docs/adding-new-models.md: 1.05).
    pub warn_server_logp_difference: f64,
    /// Warn if more than this share of the groups is tied, after resampling.
    pub warn_tied: f64,
    /// Warn if less than this share of the programs is distinct, after a higher share.
    pub warn_unique: f64,
    /// Warn if entropy is less than this share of the first step's.
    pub warn_entropy: f64,
    /// Warn if less than this share of the completions parses, after a higher share.
    pub warn_parsed: f64,
    /// Warn if more than this share of the completions is truncated.
    pub warn_clipped: f64,
    /// Stop if more than this share of the groups is tied; of tasks, over a pass. The run also stops if no completion parses.
    pub stop_tied: f64,
    /// Stop if less than this share of the programs is distinct.
    pub stop_unique: f64,
    /// Stop if entropy is less than this share of the first step's.
    pub stop_entropy: f64,
    /// Stop if more than this share of the completions is truncated.
    pub stop_clipped: f64,
    /// Stop when a completion passes a hidden test of a honeypot (docs/audit.md); false only warns.
    pub stop_honeypots: bool,
}

/// Supervised training.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SftConfig {
    /// Peak learning rate, with a cosine schedule to a tenth of it.
    pub learning_rate: f64,
    /// Number of steps of linear warm-up.
    pub warmup_steps: usize,
    /// Decoupled weight decay.
    pub weight_decay: f64,
    /// Gradients with a larger global norm are scaled down to it.
    pub max_grad_norm: f64,
    /// Number of tokens per step, without padding.
    pub batch_tokens: usize,
    /// Number of tokens of the whole training.
    pub total_tokens: usize,
    /// Number of programs that a language model samples and plays before and after training; 0: none.
    pub eval_samples: usize,
    /// Share of corpus programs in which a deliberate error is tried, 0 to 1; a fifth of them are left as they are by it.
    pub error_rate: f64,
}
