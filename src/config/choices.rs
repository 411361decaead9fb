//! Values of the configuration that are one of a few words.

use std::num::NonZeroUsize;

use serde::{Deserialize, Serialize};

/// Who plays games; in the configuration a number of threads, 0 for none.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "usize", into = "usize")]
pub enum Workers {
    /// The caller's thread, each program as it is submitted. Fast where its stack holds what the sandbox asks of a thread,
    /// as that of this program's main thread does.
    Inline,
    /// So many threads, though never more than the sandbox has sessions: the rest would have nothing to do.
    Pool(NonZeroUsize),
}

impl Workers {
    /// That many threads; 0 is inline.
    pub fn new(count: usize) -> Workers {
        NonZeroUsize::new(count).map_or(Workers::Inline, Workers::Pool)
    }

    /// Threads that play besides the caller's.
    pub fn threads(self) -> usize {
        self.into()
    }

    /// Games that are played at once.
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

/// Whether the next step is written while the games of the step at hand are played; in the configuration 0 or 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "u32", into = "u32")]
pub enum StepsAhead {
    /// Every step is written by the newest policy.
    None,
    /// The next one is, before the update of the one at hand.
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

/// How the gradients of several processes become one sum.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Reduce {
    /// Added in the order of the parts, whoever worked on them.
    Exact,
    /// Added by each process, then in an order that the library of MPI or NCCL chooses.
    Fast,
}
