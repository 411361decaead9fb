//! Settings with a fixed set of values.

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
    /// Every step is sampled after the update of the step before.
    None,
    /// The next step is sampled before the update of the current one.
    One,
}

impl From<StepsAhead> for u32 {
    fn from(ahead: StepsAhead) -> u32 {
        match ahead {
            StepsAhead::None => 0,
            StepsAhead::One => 1,
        }
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
    /// The best format for the device.
    Auto,
    /// 32 bits.
    F32,
    /// 16 bits with the range of f32 and 8 bits of precision.
    Bf16,
    /// 16 bits with a maximum of 65,504 and 11 bits of precision.
    F16,
}

/// Whether a GPU may round the factors of f32 products to TF32, with 11 bits of precision.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Tf32 {
    /// If the layers round more than TF32 does.
    Auto,
    /// Always.
    On,
    /// Never.
    Off,
}

/// How the frozen matrices of a model are stored while adapters are trained.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FrozenWeights {
    /// Quantised if they are quantised in their file.
    Auto,
    /// As dense tensors.
    Dense,
    /// Quantised; a file without quantised matrices is an error.
    Packed,
}

/// The correction for the difference between the probabilities of servers and of the trainer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Correction {
    /// The loss of a token is weighted by its probability under the trainer's policy divided by that under the
    /// server's, truncated to bounds.
    Truncate,
    /// The same, but tokens out of bounds do not count.
    Mask,
    /// No correction.
    None,
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

/// What follows where compiled code and CPython answer otherwise.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OnDifference {
    /// CPython's verdict, a warning, and a count
    Judge,
    /// The end of the command
    Stop,
}

/// The reward for passing tests of a task.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TestsReward {
    /// The share of tests passed, reduced by the share that the best constant answer passes; 1 only if all are passed.
    AboveConstant,
    /// 1 if all tests are passed, 0 otherwise.
    All,
    /// The share of tests passed, 0 to 1.
    Share,
}

/// Which prompts a step asks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PromptDraw {
    /// All of them once, in random order, before any of them again.
    All,
    /// Rather those whose newest group earned neither little nor much.
    Pools,
}

/// What a policy that writes again is told of its program.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Feedback {
    /// What failed: the first failed test if the prompt shows it, an exception, how a game ended.
    Shown,
    /// The verdict alone.
    Verdict,
}

/// The reward of several turns.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TurnsReward {
    /// That of the last turn.
    Last,
    /// That of the best turn.
    Best,
    /// One for each turn: its own and the discounted ones of later turns.
    Discounted,
}

/// The divisor of advantages.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ScaleRewards {
    /// The standard deviation of the group's rewards.
    Group,
    /// The standard deviation of all rewards of the step.
    Batch,
    /// The mean of the group's rewards, in which negative rewards count as 0.
    Mean,
    /// None: weights grow exponentially with the reward, as steeply as a fixed divergence from equal weights allows.
    Entropic,
    /// 1.
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

/// The unit for which the ratio of the loss is computed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ImportanceSamplingLevel {
    /// Each token.
    Token,
    /// Each completion: the geometric mean of its tokens' ratios.
    Sequence,
}

/// The schedule of the learning rate after warm-up.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LrScheduler {
    /// Constant at the peak.
    Constant,
    /// Linear to zero.
    Linear,
    /// Half a cosine to zero.
    Cosine,
}

/// Whether the backward pass recomputes activations, so that they need not be kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Checkpointing {
    /// If memory is short.
    Auto,
    /// Always.
    On,
    /// Never.
    Off,
}

/// How the gradients of several processes are added.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Reduce {
    /// In the order of the parts, independent of the number of processes.
    Exact,
    /// First within each process, then in an order that the library of MPI or NCCL chooses.
    Fast,
}
