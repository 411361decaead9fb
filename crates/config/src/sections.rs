//! The sections of the configuration for sampling, playing and rewards. Fields have the comments of `default.toml`, which
//! a test compares.

#![allow(rustdoc::bare_urls, reason = "the comments are those of default.toml, which has no links")]

use serde::{Deserialize, Serialize};

use super::{
    ConfigError, Correction, Feedback, FrozenWeights, GrpoConfig, GuardConfig, ImportanceSamplingLevel, Layers,
    OnDifference, ParallelConfig, PrecisionChoice, PromptDraw, SftConfig, TestsReward, Tf32, Tier, TrainConfig,
    TurnsReward, Workers,
};

/// The whole configuration.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Config {
    /// `[environment]`
    pub environment: EnvironmentConfig,
    /// `[model]`
    pub model: ModelConfig,
    /// `[rollout]`
    pub rollout: RolloutConfig,
    /// `[sandbox]`
    pub sandbox: SandboxConfig,
    /// `[arena]`
    pub arena: ArenaConfig,
    /// `[reward]`
    pub reward: RewardConfig,
    /// `[grpo]`
    pub grpo: GrpoConfig,
    /// `[train]`
    pub train: TrainConfig,
    /// `[parallel]`
    pub parallel: ParallelConfig,
    /// `[guard]`
    pub guard: GuardConfig,
    /// `[sft]`
    pub sft: SftConfig,
}

/// The environment.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct EnvironmentConfig {
    /// The environment: "2048", a .jsonl file of tasks, a .py file with the rules of a game, or a directory with
    /// env.toml.
    pub env: String,
}

/// The model, and which of its weights are trained.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ModelConfig {
    /// "builtin", a Hugging Face id, a local directory in Hugging Face layout, or a .gguf file.
    pub model: String,
    /// Branch, tag or commit of a Hugging Face model.
    pub revision: String,
    /// Directory of a PEFT adapter to start from; empty: none.
    pub adapter: String,
    /// Device of tensors: "auto", "cpu" or "cuda:0".
    pub device: String,
    /// Number format of weights and of the matrix products of layers: "f32", "bf16", "f16", or "auto": f32 on the CPU,
    /// bf16 on GPUs of compute capability 8.0 and above, f16 on older ones, with a dynamic scale of the loss. Logits,
    /// softmax, norms, rotations, adapters, and the gradients and moments of trained weights are f32 in all formats. So
    /// are the weights of a model that is trained in full, which its layers round. On the CPU, bf16 and f16 are slower
    /// than f32 and meant for tests.
    pub precision: PrecisionChoice,
    /// Whether a GPU rounds the factors of f32 products to 11 bits (TF32), which is several times as fast: "on", "off",
    /// or "auto": on if layers are in bf16 or f16, which round more, off if they are in f32. With adapters it speeds up
    /// almost nothing; in a model that is trained in full it speeds up the head.
    pub tf32: Tf32,
    /// How frozen matrices are stored on the CPU while adapters are trained: "packed", in the format of the model's
    /// file (.gguf, or safetensors in bf16 or f16) and once for sampling and updates; "dense", as f32 and a second time
    /// for sampling; or "auto": packed if possible. Updates are the same to the last bit; sampled log-probabilities
    /// differ in their last digits. A packed model takes about as much memory as its file. Without adapters, on a GPU,
    /// and in another precision than f32, matrices are dense.
    pub frozen_weights: FrozenWeights,
    /// Rank of the LoRA adapters on all linear layers; 0 trains every weight of the model.
    pub lora_r: usize,
    /// The output of adapters is multiplied by lora_alpha / lora_r, or with use_rslora by lora_alpha / sqrt(lora_r).
    pub lora_alpha: f64,
    /// Whether adapters are scaled by lora_alpha / sqrt(lora_r), which suits large ranks.
    pub use_rslora: bool,
    /// Probability that an input of an adapter is dropped in updates, 0 to below 1. An adapter that is loaded has its
    /// own. Tokens are sampled without dropout. With num_iterations = 1 both sides of the ratio have the same dropout,
    /// so it is 1; with more, and with steps_ahead = 1, the ratio starts away from 1 and is clipped more often.
    pub lora_dropout: f64,
    /// Layers with adapters: "all-linear", or some of q_proj, k_proj, v_proj, o_proj, gate_proj, up_proj, down_proj;
    /// for Phi-3 and Phi-4 qkv_proj, o_proj, gate_up_proj, down_proj.
    pub lora_target_modules: Vec<String>,
    /// Send the prompt as plain text, without the model's chat template, after the token that begins a sequence, if the
    /// tokenizer adds one.
    pub raw_prompt: bool,
}

/// Sampling of completions.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RolloutConfig {
    /// Number of prompts per step (P). A step samples groups x num_generations completions.
    pub groups: usize,
    /// Number of completions per prompt (G), at least 2: a group of one has no advantage.
    pub num_generations: usize,
    /// Maximum length of a completion, in tokens. A longer one is truncated.
    pub max_completion_length: usize,
    /// Number of turns (T). After each turn but the last, the policy is told what came of its program and writes again,
    /// until the program passes every test. All turns together, with what the policy is told, have
    /// max_completion_length tokens (docs/turns.md).
    pub turns: usize,
    /// What the policy is told between turns: "shown" (the first failed test if the prompt shows it, an exception, how
    /// a game ended; of hidden tests only that some fail) or "verdict" (one word).
    pub feedback: Feedback,
    /// Which prompts a step asks: "all" in random order, each of them once before any of them again (prompts of a game:
    /// within a step), or by "pools" of difficulty: prompts whose newest group had a mean reward of at most 0.25 (hard)
    /// or above 0.75 (easy) are drawn a fifth as often as those between and those not asked yet, with replacement.
    pub draw: PromptDraw,
    /// Softmax temperature of sampling. The policy at this temperature is also the one that is trained.
    pub temperature: f64,
    /// Nucleus sampling: tokens are drawn from the smallest set with this probability; 1 keeps all.
    pub top_p: f64,
    /// Number of likeliest tokens that may be drawn; 0 keeps all.
    pub top_k: usize,
    /// Tokens with less than min_p times the probability of the likeliest are not drawn; 0 keeps all.
    pub min_p: f64,
    /// Maximum number of rounds in which groups whose rewards are all equal are sampled again, because nothing can be
    /// learnt from them. The newest policy samples them, and the step waits for their games.
    pub resample_tied: usize,
    /// On a GPU, record a decoding step and replay it as a CUDA graph; otherwise its kernels are launched one by one.
    pub cuda_graphs: bool,
    /// vLLM servers that sample the completions of training, such as ["http://gpu1:8000"]. They load every new adapter,
    /// so adapters have to be trained. Without servers this program samples completions itself (docs/vllm.md).
    pub servers: Vec<String>,
    /// Directory in which adapters are written for servers, which must have it under the same path; empty: adapters/ in
    /// the run's directory.
    pub adapter_dir: String,
    /// Maximum number of simultaneous requests of a process, over all servers.
    pub server_requests: usize,
    /// Time limit for an answer of a server, in seconds. After it the request is repeated, to another server first.
    pub server_seconds: f64,
    /// Servers compute with other number formats and kernels than the trainer. "truncate" multiplies the loss of each
    /// token by w, its probability under the trainer's policy divided by that under the server's, limited to
    /// correction_floor and correction_cap; "mask" multiplies by w between the two and by 0 outside; "none". Truncated
    /// importance sampling: 1606.02647; masked: 2510.18855.
    pub correction: Correction,
    /// One w for each "token", or one for the whole "sequence": the product over its tokens.
    pub correction_level: ImportanceSamplingLevel,
    /// Largest w, above correction_floor; 3 is usual.
    pub correction_cap: f64,
    /// Smallest w, 0 or more.
    pub correction_floor: f64,
}

/// Limits of a program in the sandbox.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SandboxConfig {
    /// How programs are run: "auto" (compiled to WebAssembly if the result is certainly that of CPython, several times
    /// as fast; otherwise in CPython), "interpreter" (always in CPython) or "compiled" (a program that cannot be
    /// compiled stops the run). Budgets of both agree to a factor of 0.6 to 1.4, so scores are comparable only with the
    /// same setting.
    pub tier: Tier,
    /// One of so many games is played in both ways; 0 compares none.
    pub check_one_in: u32,
    /// What follows where the two ways differ on a program, which is a bug of the compiled one: "judge" (CPython alone
    /// judges the program, a warning tells of it) or "stop" (an error ends the command).
    pub on_difference: OnDifference,
    /// Budget of a game outside training, in seconds of a reference core. It is counted in fuel (8.5e9 per second), so
    /// it is the same on every machine.
    pub game_seconds: f64,
    /// Maximum share of a game's budget for one call, above 0, at most 1. A call that uses more counts as hung.
    pub call_share: f64,
    /// Memory of a program, in MiB, including the 20 of the interpreter.
    pub memory_mib: u64,
}

/// Playing of programs.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ArenaConfig {
    /// Number of worker threads that play games while completions are sampled; 0 plays inline, in order (--sequential).
    pub parallel_rewards: Workers,
    /// Number of games per program (K). All completions of a step play the same boards, and each step has new ones.
    pub games: usize,
    /// A game ends as a freeze after this number of moves in a row that change nothing.
    pub freeze_after: usize,
    /// Maximum number of moves of a game, far above what any target needs.
    pub moves_max: usize,
}

/// The reward.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RewardConfig {
    /// Game score whose reward is 1; 0: that of the environment (40000 in 2048, SCALE in a game in Python).
    pub scale: f64,
    /// The reward of a game is (score / scale) ^ exponent. 0.5 has larger rewards for the first improvements, 1 for
    /// high scores.
    pub exponent: f64,
    /// The reward for passing tests of a task: "above_constant" (the share passed, reduced by the share that the best
    /// constant answer passes; 1 only if all are passed), "all" (1 if all are passed, otherwise 0) or "share" (which
    /// rewards `return 0`).
    pub tests: TestsReward,
    /// Maximum additional reward for programs that pass every test of a task with few instructions. Each halving of the
    /// time below a second adds the same amount; the maximum is out of reach, and a program of a few lines gets three
    /// quarters of it. Instructions are the interpreter's whatever ran the program: one that passes compiled is run
    /// there once more. 0 rewards answers only, and is all that games allow.
    pub fuel_bonus: f64,
    /// Subtracted from the reward of a completion with the maximum length; 0 subtracts nothing. A shorter one loses
    /// less, in proportion, and one of at most length_penalty_from of the maximum loses nothing. A penalty of 1 with
    /// 0.8 is the soft overlong punishment of DAPO (Yu et al. 2025, eq. 13); with 0 every token costs. Such a penalty
    /// makes programs shorter whether or not they were too long.
    pub length_penalty: f64,
    /// Share of the maximum length up to which nothing is subtracted, 0 to below 1.
    pub length_penalty_from: f64,
    /// The reward of several turns: that of the "last" one, that of the "best", or "discounted": each turn has its own
    /// advantage, from its reward and turns_gamma times that of the next turn, turns_gamma squared times that of the one
    /// after, to turn T; turns that were not needed count as the last one.
    pub turns: TurnsReward,
    /// See turns; 0 to 1.
    pub turns_gamma: f64,
    /// A control run: rewards are shuffled within each step before learning, and elites are not imitated. If scores
    /// rise all the same, the run has learnt from something other than its rewards.
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

    /// Number of completions of a group that the update learns from.
    pub fn learnt_per_group(&self) -> usize {
        match self.grpo.learn_from_best + self.grpo.learn_from_worst {
            0 => self.rollout.num_generations,
            some => some.min(self.rollout.num_generations),
        }
    }
}
