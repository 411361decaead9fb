//! Settings with a fixed set of values. `default.toml` says above the key what each value means; values that have more to
//! say say it here.

use std::num::NonZeroUsize;

use serde::{Deserialize, Serialize};

/// The threads that play games; in the configuration a number, 0 for inline.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "usize", into = "usize")]
pub enum Workers {
    /// The caller's thread plays each program when it is submitted. This is fast if its stack is as large as the
    /// sandbox requires, as that of this program's main thread is.
    Inline,
    /// A pool of this number of threads, but at most the number of sessions of the sandbox, because more would be idle.
    Pool(NonZeroUsize),
}

impl Workers {
    /// A pool of `count` threads; 0 is inline.
    pub fn new(count: usize) -> Workers {
        NonZeroUsize::new(count).map_or(Workers::Inline, Workers::Pool)
    }

    /// Number of threads of the pool, 0 if inline.
    pub fn threads(self) -> usize {
        self.into()
    }

    /// Number of games that are played at the same time.
    pub fn at_once(self) -> usize {
        self.threads().max(1)
    }
}

impl From<Workers> for usize {
    fn from(workers: Workers) -> usize {
        match workers {
            Workers::Inline => 0,
            Workers::Pool(count) => count.get(),
        }
    }
}

impl TryFrom<usize> for Workers {
    type Error = &'static str;

    fn try_from(count: usize) -> Result<Self, Self::Error> {
        if count <= 1024 { Ok(Workers::new(count)) } else { Err("expected at most 1024") }
    }
}

/// Whether the next step is sampled while the games of the current step are played; in the configuration 0 or 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "u32", into = "u32")]
pub enum StepsAhead {
    None = 0,
    One = 1,
}

impl From<StepsAhead> for u32 {
    fn from(ahead: StepsAhead) -> u32 {
        ahead as u32
    }
}

impl TryFrom<u32> for StepsAhead {
    type Error = &'static str;

    fn try_from(count: u32) -> Result<Self, Self::Error> {
        match count {
            0 => Ok(StepsAhead::None),
            1 => Ok(StepsAhead::One),
            _ => Err(
                "expected 0 or 1: samples of an older policy teach less, and one step hides all games that can be hidden",
            ),
        }
    }
}

/// Number format of weights and of matrix products.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PrecisionChoice {
    Auto,
    F32,
    /// 16 bits with the range of f32 and 8 bits of precision.
    Bf16,
    /// 16 bits with a maximum of 65,504 and 11 bits of precision.
    F16,
}

/// Whether a GPU may round the factors of f32 products to TF32: `model.tf32`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Tf32 {
    Auto,
    On,
    Off,
}

/// How the frozen matrices of a model are stored while adapters are trained.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FrozenWeights {
    Auto,
    Dense,
    /// Quantised; a file without quantised matrices is an error.
    Packed,
}

/// The correction for the difference between the probabilities of servers and of the trainer: `rollout.correction`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Correction {
    Truncate,
    Mask,
    None,
}

/// What runs the functions of programs: `sandbox.tier`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Tier {
    Auto,
    Compiled,
    Interpreter,
}

/// What follows where compiled code and CPython answer otherwise: `sandbox.on_difference`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OnDifference {
    Judge,
    Stop,
}

/// The reward for passing tests of a task: `reward.tests`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TestsReward {
    AboveConstant,
    All,
    Share,
}

/// Which prompts a step asks: `rollout.draw`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PromptDraw {
    All,
    Pools,
}

/// What a policy that writes again is told of its program: `rollout.feedback`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Feedback {
    Shown,
    Verdict,
}

/// The reward of several turns: `reward.turns`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TurnsReward {
    Last,
    Best,
    Discounted,
}

/// The divisor of advantages: `grpo.scale_rewards`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ScaleRewards {
    Group,
    Batch,
    Mean,
    Entropic,
    None,
}

/// The surrogate of a token, and how the losses of tokens are averaged.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LossType {
    /// Clipped; mean over all completion tokens of the step.
    Dapo,
    /// Clipped; mean over a completion's tokens, then over completions.
    Grpo,
    /// Clipped; sum over tokens divided by the number of completions times the maximum length.
    DrGrpo,
    /// Log-probabilities weighted by truncated ratios; mean over all completion tokens of the step.
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

/// The unit for which the ratio of the loss is computed, and that for which servers are corrected:
/// `grpo.importance_sampling_level`, `rollout.correction_level`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ImportanceSamplingLevel {
    Token,
    Sequence,
}

/// The schedule of the learning rate after warm-up: `grpo.lr_scheduler_type`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LrScheduler {
    Constant,
    Linear,
    Cosine,
}

/// Whether the backward pass recomputes activations, so that they need not be kept: `grpo.gradient_checkpointing`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Checkpointing {
    Auto,
    On,
    Off,
}

/// How the gradients of several processes are added: `parallel.reduce`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Reduce {
    Exact,
    Fast,
}
