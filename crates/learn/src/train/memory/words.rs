//! Says a memory plan in words.

use std::fmt;

use super::size::megabytes;
use super::{MemoryPlan, Place, largest};
use crate::config::Config;
use crate::grpo::Division;
use grpo_tensor::Kernels;

/// Says how updates are divided, if they are smaller than the configuration asks for and these kernels like best. A run that goes
/// on is divided as it `had` been, perhaps on another device, where memory does not ask for less.
pub fn notice(config: &Config, kernels: Kernels, found: Division, had: Option<Division>) -> Option<String> {
    let wanted = largest(config).for_kernels(kernels);
    let mut cuts = Vec::new();
    if found.micro_batch < wanted.micro_batch {
        cuts.push(format!("{} of {} completions at once", found.micro_batch, wanted.micro_batch));
    }
    if found.activations != wanted.activations {
        cuts.push("layers computed again in the backward pass".to_owned());
    }
    if found.logit_bytes < wanted.logit_bytes {
        cuts.push(format!("logits in chunks of {}", megabytes(found.logit_bytes as u64)));
    }
    let is_as_before = had.is_some_and(|had| Division { at_once: found.at_once, held: found.held, ..had } == found);
    let why = if is_as_before { "divided as before" } else { "cut to fit" };
    let words = cuts.join(", ");
    (!cuts.is_empty()).then(|| format!("memory: {why}: {words}; what is learnt is the same up to rounding"))
}

impl fmt::Display for MemoryPlan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let weights = if self.packed { "weights, packed".into() } else { format!("weights in {}", self.precision) };
        let parts = |parts: &[(&str, u64)]| {
            let parts = parts.iter().filter(|(_, bytes)| *bytes > 0);
            parts.map(|(name, bytes)| format!("{name} {}", megabytes(*bytes))).collect::<Vec<_>>().join(", ")
        };
        let always = [
            (weights.as_str(), self.weights),
            ("adapters", self.adapters),
            ("optimiser", self.optimiser),
            (if self.place == Place::Host { "program and games" } else { "CUDA" }, self.program),
        ];
        let sampling = [("weights", self.sampled), ("cache", self.cache)];
        let update = [("gradients", self.gradients), ("activations", self.activations), ("head", self.head)];
        write!(
            f,
            "memory: {} at most: {}; sampling {}; update {}; programs that take all of sandbox.memory_mib: {} more",
            megabytes(self.total()),
            parts(&always),
            parts(&sampling),
            parts(&update),
            megabytes(self.programs)
        )
    }
}
