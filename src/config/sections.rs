//! The sections of the configuration: what is sampled, played and rewarded. What a field means is said in the words of
//! `default.toml`, by which a test holds it.

#![allow(rustdoc::bare_urls, reason = "the words are those of default.toml, where a link would be a clutter")]

use serde::{Deserialize, Serialize};

use super::{
    ConfigError, Correction, FrozenWeights, GrpoConfig, GuardConfig, ImportanceSamplingLevel, Layers, ParallelConfig,
    PrecisionChoice, SftConfig, TestsReward, Tf32, Tier, TrainConfig, Workers,
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
    /// What programs are written for: "2048", a .jsonl file of tasks, a .py file with the rules of a game, or a
    /// directory with env.toml.
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
    /// PEFT adapter directory to start from; empty: none.
    pub adapter: String,
    /// "auto", "cpu" or "cuda:0": where tensors live.
    pub device: String,
    /// Format of weights and of the products of the layers: "f32", "bf16", "f16", or "auto": f32 on the CPU, bf16 on
    /// GPUs of compute capability 8.0 and above, f16 on older ones, with a scale of the loss that follows the
    /// gradients. Logits, softmax, norms, rotations, adapters, gradients of what is trained and its moments are f32 in
    /// all of them, and so are the weights of a model that is trained in full; its layers round them. On the CPU half
    /// formats are for tests: slower.
    pub precision: PrecisionChoice,
    /// Whether a GPU takes products of f32 numbers with 11 bits of each factor (TF32), several times as fast: "on",
    /// "off", or "auto": on with layers in bf16 or f16, which round more than that themselves, off with layers in f32.
    /// With adapters next to nothing is left that it speeds up; in a model that is trained in full it is the head.
    pub tf32: Tf32,
    /// How matrices are kept on the CPU while adapters on them are trained: "packed", in the few bits of the model's
    /// file (a .gguf file, or safetensors in bf16 or f16) and once for sampling and updates, "dense", as f32 numbers
    /// and once more for sampling, or "auto": packed where it can be. The numbers are the same. Packed, a model takes
    /// about as much memory as its file; without adapters, on a GPU, and with another precision than f32, matrices are
    /// dense.
    pub frozen_weights: FrozenWeights,
    /// Rank of the LoRA adapters on all linear layers; 0 trains every weight of the model.
    pub lora_r: usize,
    /// Adapters are scaled by lora_alpha / lora_r,
    pub lora_alpha: f64,
    /// or, when this is true, by lora_alpha / sqrt(lora_r), which suits large ranks.
    pub use_rslora: bool,
    /// Probability that a number on its way into an adapter is dropped, in updates alone (0 to below 1; an adapter that
    /// is loaded brings its own). An update then moves thinned networks while the whole one is sampled: with
    /// num_iterations = 1 the ratio is taken between thinned ones and stays 1, with more (or steps_ahead = 1) it begins
    /// away from 1, and the clips bite sooner.
    pub lora_dropout: f64,
    /// Layers that carry adapters: "all-linear", or some of q_proj, k_proj, v_proj, o_proj, gate_proj, up_proj,
    /// down_proj; of Phi-3 and Phi-4 qkv_proj, o_proj, gate_up_proj, down_proj.
    pub lora_target_modules: Vec<String>,
    /// Send the prompt as plain text, without the model's chat template.
    pub raw_prompt: bool,
}

/// Sampling of completions.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RolloutConfig {
    /// Prompts drawn a step (P). A step samples groups x num_generations completions.
    pub groups: usize,
    /// Completions sampled for each prompt (G). At least 2: a group of one has no advantage.
    pub num_generations: usize,
    /// Longest completion, in tokens; a longer one is cut and counts as truncated.
    pub max_completion_length: usize,
    /// Softmax temperature of sampling; the policy that is trained is the one that is sampled.
    pub temperature: f64,
    /// Nucleus sampling: smallest set of tokens with this probability; 1 keeps all.
    pub top_p: f64,
    /// Most likely tokens kept; 0 keeps all.
    pub top_k: usize,
    /// Tokens less likely than min_p times the likeliest are dropped; 0 keeps all.
    pub min_p: f64,
    /// Most rounds in which groups whose rewards are all equal are sampled anew, since nothing can be learnt from them.
    /// The newest policy writes them, and their games are always waited for.
    pub resample_tied: usize,
    /// On a GPU, one decoding step is recorded and replayed as a CUDA graph; without, its kernels are launched one by
    /// one.
    pub cuda_graphs: bool,
    /// Servers of vLLM that write the completions of training, such as ["http://gpu1:8000"]; they are given every new
    /// adapter, so adapters have to be what is trained. Without one this program writes completions itself
    /// (docs/vllm.md).
    pub servers: Vec<String>,
    /// Where adapters are put for the servers, which must find them by the same path; empty: adapters/ in the run's
    /// directory.
    pub adapter_dir: String,
    /// Completions that a process asks for at once, over all servers.
    pub server_requests: usize,
    /// Longest time for one answer of a server; then it is asked again, another one first.
    pub server_seconds: f64,
    /// Servers calculate in other formats and with other kernels than the trainer. "truncate": each token's loss counts
    /// w times, where w is its probability to the trainer over that to the server, kept between correction_floor and
    /// correction_cap; "mask": w times between the two, and not at all outside of them; "none". Truncated importance
    /// sampling, 1606.02647; masked: 2510.18855.
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
    /// What runs the functions of programs: "auto" (compiled to WebAssembly where that is certain to do what CPython
    /// does, several times as fast; otherwise CPython), "interpreter" (CPython, always) or "compiled" (a program that
    /// leaves it stops the run). A budget is the same in both to a factor of 0.6 to 1.4: scores compare under one
    /// setting.
    pub tier: Tier,
    /// One game in so many is played by both, and a difference stops the run with the program; 0 compares none.
    pub check_one_in: u32,
    /// Budget of a game outside training, in seconds of a reference core. Counted in fuel (8.5e9 a second), so it is
    /// the same on every machine.
    pub game_seconds: f64,
    /// Share of a game's budget that one call may use; more is a hang.
    pub call_share: f64,
    /// Linear memory a strategy may have, in MiB, the interpreter's 13 included.
    pub memory_mib: u64,
}

/// Playing of programs.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ArenaConfig {
    /// Worker threads that play games while the rest of the batch still decodes; 0 plays inline, in order
    /// (--sequential).
    pub parallel_rewards: Workers,
    /// Games each program plays (K). All completions of a group play the same boards, new ones each step.
    pub games: usize,
    /// A game ends as a freeze on this many moves in a row that change nothing.
    pub freeze_after: usize,
    /// Longest game in moves; far above what any target needs.
    pub moves_max: usize,
}

/// The reward.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RewardConfig {
    /// Game score that is worth 1; 0: what the environment says (40000 in 2048, SCALE in a game of your own).
    pub scale: f64,
    /// A game is worth (score / scale) ^ exponent; 0.5 keeps early steps steep, 1 seeks the tail.
    pub exponent: f64,
    /// Of a task, what passing tests is worth: "above_constant" (the share passed, less what the best constant answer
    /// passes; 1 only when all are passed), "all" (1 when all are passed, otherwise 0) or "share" (which pays `return
    /// 0`).
    pub tests: TestsReward,
    /// Paid for few instructions to programs that pass every test of a task, as much for each halving below a second;
    /// all of it is out of reach, a program of a few lines gets three quarters. 0 pays for answers alone.
    pub fuel_bonus: f64,
    /// Taken from a completion that is as long as rollout.max_completion_length allows; 0 takes nothing. A shorter one
    /// loses less, in proportion, and none that is at most length_penalty_from of that length (0 to below 1): with a
    /// penalty of 1 and 0.8 this is the soft overlong punishment of DAPO (Yu et al. 2025, eq. 13), with 0 every token
    /// costs. Such a penalty makes programs shorter whether or not they were too long.
    pub length_penalty: f64,
    /// Share of that length up to which nothing is taken, 0 to below 1.
    pub length_penalty_from: f64,
    /// A control: rewards change places inside each step before anything is learnt from them, and elites are not
    /// imitated. A run whose scores rise all the same has learnt from something other than its rewards.
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
}
