//! How an update is divided into parts so that it fits into memory.

use serde::{Deserialize, Serialize};

use super::LearnError;
use crate::config::{Checkpointing, GrpoConfig};
use crate::policy::{Activations, DecoderConfig};
use grpo_tensor::{Kernels, ScoreSettings};

/// Bytes of logits that are computed at once if memory allows it. Larger chunks are not faster on a processor.
const LOGIT_BYTES: usize = 64 << 20;
/// The same on a GPU. Chunks are larger there, because every chunk reads the head's weight again, which takes longer
/// than the product itself if a chunk has few rows.
const LOGIT_BYTES_ON_GPU: usize = 512 << 20;

/// The best number of bytes of logits to compute at once with these kernels.
pub fn logit_bytes(kernels: Kernels) -> usize {
    match kernels {
        Kernels::OnGpu => LOGIT_BYTES_ON_GPU,
        Kernels::Fused | Kernels::ByTensors => LOGIT_BYTES,
    }
}

/// How an update is divided into parts. It affects memory and time, and the result only by rounding.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Division {
    /// Number of completions that pass through the model together.
    pub micro_batch: usize,
    /// Whether activations are kept or recomputed for the backward pass.
    pub activations: Activations,
    /// Bytes of logits that are computed at once.
    pub logit_bytes: usize,
    /// Number of parts that are computed at the same time, on one core each. Does not change the result.
    #[serde(skip, default = "one")]
    pub at_once: usize,
    /// Number of parts whose gradients each of several processes holds until all of them are added. Does not change the
    /// result.
    #[serde(skip, default = "one")]
    pub held: usize,
}

fn one() -> usize {
    1
}

impl From<&GrpoConfig> for Division {
    /// The largest division that the configuration allows, on all cores.
    fn from(config: &GrpoConfig) -> Self {
        let activations = match config.gradient_checkpointing {
            Checkpointing::On => Activations::Recomputed,
            Checkpointing::Auto | Checkpointing::Off => Activations::Kept,
        };
        let (at_once, held) = (usize::MAX, usize::MAX);
        Division { micro_batch: config.micro_batch, activations, logit_bytes: LOGIT_BYTES, at_once, held }
    }
}

impl Division {
    /// The same with the best size of chunks of logits for these kernels.
    pub fn for_kernels(self, kernels: Kernels) -> Division {
        Division { logit_bytes: logit_bytes(kernels), ..self }
    }

    /// The next division that needs less memory, if there is one: first the micro-batch is halved; then activations are
    /// recomputed, unless the configuration forbids it; then chunks of logits over `vocabulary` tokens shrink.
    pub fn smaller(self, config: &GrpoConfig, vocabulary: usize) -> Option<Division> {
        let Division { micro_batch, activations, logit_bytes, .. } = self;
        if micro_batch > 1 {
            return Some(Division { micro_batch: micro_batch.next_power_of_two() / 2, ..self });
        }
        if activations == Activations::Kept && config.gradient_checkpointing != Checkpointing::Off {
            return Some(Division { activations: Activations::Recomputed, ..self });
        }
        let rows = |logit_bytes| ScoreSettings { temperature: 1.0, logit_bytes }.rows(vocabulary);
        let halved = logit_bytes / 2;
        (rows(halved) < rows(logit_bytes)).then_some(Division { logit_bytes: halved, ..self })
    }

    /// The division that needs at most the memory of either of the two.
    pub fn smaller_of(self, other: Division) -> Division {
        let kept = self.activations == Activations::Kept && other.activations == Activations::Kept;
        Division {
            micro_batch: self.micro_batch.min(other.micro_batch),
            activations: if kept { Activations::Kept } else { Activations::Recomputed },
            logit_bytes: self.logit_bytes.min(other.logit_bytes),
            at_once: self.at_once.min(other.at_once),
            held: self.held.min(other.held),
        }
    }

    /// Runs `attempt`, and repeats it with a smaller division each time the device runs out of memory. Returns its
    /// result and the division that fitted.
    pub(super) fn until_it_fits<T>(
        mut self,
        smaller: impl Fn(Division) -> Option<Division>,
        mut attempt: impl FnMut(Division) -> Result<T, LearnError>,
    ) -> Result<(T, Division), LearnError> {
        loop {
            match attempt(self) {
                Err(error) if error.is_out_of_memory() => self = smaller(self).ok_or(error)?,
                result => return Ok((result?, self)),
            }
        }
    }
}

/// Refuses a part of so many tokens with a tensor of 2^32 numbers or more: candle's kernels count them with 32 bits, and would
/// leave the others as they are.
pub(super) fn countable(tokens: usize, config: &DecoderConfig) -> Result<(), LearnError> {
    let width = (2 * config.intermediate_size).max(config.hidden_size);
    match (tokens as u64).checked_mul(width as u64) {
        Some(numbers) if numbers < 1 << 32 => Ok(()),
        _ => Err(LearnError::TooLarge { tokens, width }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Config;

    fn out_of_memory() -> LearnError {
        let text = "DriverError(CUDA_ERROR_OUT_OF_MEMORY, \"out of memory\")";
        LearnError::Tensor(candle_core::Error::Msg(text.into()).bt())
    }

    #[test]
    fn an_update_that_runs_out_of_memory_is_cut_and_tried_again() {
        let config = GrpoConfig { micro_batch: 6, ..Config::preset("llm").unwrap().grpo };
        let whole = Division::from(&config);
        let smaller = |division: Division| division.smaller(&config, 150_000);
        let mut tried = Vec::new();
        let attempt = |division: Division| {
            tried.push((division.micro_batch, division.activations));
            if tried.len() < 5 { Err(out_of_memory()) } else { Ok(tried.len()) }
        };
        let (attempts, division) = whole.until_it_fits(smaller, attempt).unwrap();
        let (kept, recomputed) = (Activations::Kept, Activations::Recomputed);
        assert_eq!((attempts, division.activations), (5, recomputed));
        assert_eq!(tried, [(6, kept), (4, kept), (2, kept), (1, kept), (1, recomputed)]);
        let refused = whole.until_it_fits(smaller, |_| Err::<(), _>(out_of_memory())).unwrap_err();
        assert!(refused.is_out_of_memory());
        let mut count = 0;
        let other = whole.until_it_fits(smaller, |_| {
            count += 1;
            Err::<(), _>(LearnError::NotFiniteLoss { loss: f64::NAN })
        });
        assert!(other.is_err() && count == 1, "another error is none of its business");
    }

    #[test]
    fn a_part_that_a_gpu_would_count_wrongly_is_divided() {
        let config = DecoderConfig { hidden_size: 3_584, intermediate_size: 18_944, ..DecoderConfig::LLAMA };
        assert!(countable(64 * 680, &config).is_ok());
        let refused = countable(64 * 2_216, &config).unwrap_err();
        assert!(refused.is_out_of_memory(), "a smaller part is tried");
        assert!(refused.to_string().contains("141824 x 37888"), "{refused}");
    }
}
