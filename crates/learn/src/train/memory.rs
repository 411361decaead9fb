//! Computes the memory of a run before it starts, and divides its updates so that they fit.
//!
//! Takes the model's shape and the configuration; returns bytes by purpose. The arithmetic adds up the tensors that the
//! decoder keeps; `tests/memory.rs` compares it with what an allocator counts. Does not know how much memory is free.

mod allowance;
mod workload;

use std::fmt;

use crate::config::Config;
use crate::grpo::Division;
use crate::policy::Precision;
use grpo_tensor::Kernels;

pub use allowance::Allowance;
use workload::F32;
pub use workload::{Place, Workload};

/// Bytes of the program itself, as the system counts those of its own pages after ten steps of the smallest updates: with what the
/// allocator keeps of what was freed.
const PROGRAM: u64 = 130 << 20;
/// Bytes of one Python interpreter while it plays games.
const INTERPRETER: u64 = 20 << 20;
/// Bytes of GPU memory that CUDA uses for kernels and for the workspaces of its libraries. An estimate.
const CONTEXT: u64 = 256 << 20;
/// Bytes of GPU memory that NCCL uses: its buffers have 4 MiB per channel and neighbour. An estimate.
const NCCL: u64 = 256 << 20;

/// The memory of training, in bytes, by purpose.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MemoryPlan {
    pub division: Division,
    /// Number format of frozen weights and activations.
    pub precision: Precision,
    /// Whether frozen weights stay quantised as in their file.
    pub packed: bool,
    pub place: Place,
    /// On the host, the program and its interpreters; on a GPU, CUDA's own memory.
    pub program: u64,
    /// The memory that programs may use in addition, one per worker. Not part of any sum, because few use much of it.
    pub programs: u64,
    /// Weights of the model, and of its copy for the KL penalty if all weights are trained.
    pub weights: u64,
    /// LoRA adapters, if they are trained.
    pub adapters: u64,
    pub optimiser: u64,
    /// The weights in the form that sampling uses, with adapters merged.
    pub sampled: u64,
    /// Cache of keys and values during sampling, with logits.
    pub cache: u64,
    pub gradients: u64,
    /// Activations that are kept for the backward pass.
    pub activations: u64,
    /// One chunk of logits and its intermediate results.
    pub head: u64,
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "expected at least {} ({} MiB) of memory, which one completion at a time takes; lower --groups, \
     --max-completion-length or train.eval_samples{}",
    megabytes(smallest.total()),
    smallest.total().div_ceil(1 << 20),
    packed.map(|bytes| format!(
        "; with model.frozen_weights = \"packed\" and a .gguf file of 4 bits a weight {} are enough",
        megabytes(bytes)
    )).unwrap_or_default()
)]
pub struct TooSmall {
    pub limit: u64,
    /// The plan with the smallest division.
    pub smallest: Box<MemoryPlan>,
    /// Bytes of the smallest plan if frozen weights had 4 bits, if that is less.
    pub packed: Option<u64>,
}

impl MemoryPlan {
    /// The plan with the largest division that fits into `limit` bytes, by the steps of [`Division::smaller`]. As far
    /// as the rest of the limit allows, cores compute parts at the same time and gradients are held; neither changes
    /// any result.
    ///
    /// A resumed run starts with the division that it `had`, because another division would round differently.
    pub fn fitting(workload: &Workload<'_>, limit: Option<u64>, had: Option<Division>) -> Result<MemoryPlan, TooSmall> {
        let mut division = had.unwrap_or_else(|| largest(workload.config).for_kernels(workload.kernels));
        let cores = workload.cores;
        let Some(limit) = limit else {
            let division = Division { at_once: cores, held: workload.most_held(&division), ..division };
            return Ok(MemoryPlan::of(workload, division));
        };
        loop {
            let plan = MemoryPlan::of(workload, division);
            if plan.total() <= limit {
                let fits = |division: &Division| MemoryPlan::of(workload, *division).total() <= limit;
                let mut shared = (1..=cores).rev().map(|at_once| Division { at_once, held: at_once, ..division });
                let shared = shared.find(fits).unwrap_or(division);
                let most = workload.most_held(&shared);
                let mut held = (shared.held..=most).rev().map(|held| Division { held, ..shared });
                return Ok(MemoryPlan::of(workload, held.find(fits).unwrap_or(shared)));
            }
            match division.smaller(&workload.config.grpo, workload.shape.vocab_size) {
                Some(next) => division = next,
                None => {
                    let packed = workload.with_4_bit_weights().map(|packed| MemoryPlan::of(&packed, division).total());
                    let packed = packed.filter(|bytes| *bytes < plan.total());
                    return Err(TooSmall { limit, smallest: Box::new(plan), packed });
                }
            }
        }
    }

    pub fn of(workload: &Workload<'_>, division: Division) -> MemoryPlan {
        let Workload { shape, config, precision, .. } = *workload;
        let in_full = config.model.lora_r == 0 && config.model.adapter.is_empty();
        // Trained weights are f32 in every precision.
        let of_weights = if in_full { F32 } else { precision.bytes() as u64 };
        let all = workload.packed.unwrap_or(of_weights * shape.parameters() as u64);
        let trained = F32 * workload.trained as u64;
        let workers = config.arena.parallel_rewards.at_once() as u64;
        // The reference of a KL penalty is a copy of what is trained, unless it is the model below fresh adapters.
        let has_copy = config.grpo.beta > 0.0 && (in_full || !config.model.adapter.is_empty());
        let copies = if has_copy { 2 } else { 1 };
        let (activations, head) = workload.part_bytes(&division, in_full);
        let at_once = division.at_once.min(workload.parts(&division)) as u64;
        let (sampled, cache) = workload.sampling_bytes(in_full);
        MemoryPlan {
            division,
            precision,
            packed: workload.packed.is_some(),
            place: workload.place,
            program: match workload.place {
                Place::Host => PROGRAM + INTERPRETER * workers,
                Place::Gpu if workload.processes > 1 => CONTEXT + NCCL,
                Place::Gpu => CONTEXT,
            },
            programs: workers * (config.sandbox.memory_mib << 20).saturating_sub(INTERPRETER),
            weights: if in_full { copies * all } else { all },
            adapters: if in_full { 0 } else { copies * trained },
            optimiser: 2 * trained,
            sampled,
            cache,
            // The sum, and the gradients of every part that is not added to it yet.
            gradients: (1 + at_once.max(workload.held(&division))) * trained,
            activations: at_once * activations,
            head: at_once * head,
        }
    }

    /// The maximum of bytes at any time. Sampling and updates never run at the same time.
    pub fn total(&self) -> u64 {
        self.always() + (self.sampled + self.cache).max(self.update())
    }

    /// Bytes that are in use all the time.
    fn always(&self) -> u64 {
        self.program + self.weights + self.adapters + self.optimiser
    }

    /// Bytes that an update uses in addition.
    pub fn update(&self) -> u64 {
        self.gradients + self.activations + self.head
    }
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

/// The largest division that the configuration allows, with one part at a time.
fn largest(config: &Config) -> Division {
    Division { at_once: 1, held: 1, ..Division::from(&config.grpo) }
}

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

/// Bytes in megabytes or gigabytes of powers of ten: `540 MB`, `1.9 GB`.
pub fn megabytes(bytes: u64) -> String {
    let bytes = bytes as f64;
    if bytes < 0.95e9 { format!("{:.0} MB", bytes / 1e6) } else { format!("{:.1} GB", bytes / 1e9) }
}

#[cfg(test)]
mod tests;
