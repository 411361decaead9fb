//! What a run takes of memory, known before it starts, and how its updates are cut to fit.
//!
//! Takes the model's shape and the configuration; gives bytes by purpose. Pure arithmetic over the tensors that the
//! decoder keeps; `tests/memory.rs` holds it to what an allocator counts. Does not know how much is free.

mod allowance;
mod words;

use crate::config::{Config, Reduce};
use crate::grpo::{self, Division};
use crate::policy::{Activations, DecoderConfig, Policy, Precision};
use grpo_tensor::{Kernels, SCORE_BYTES, ScoreSettings};

pub use allowance::Allowance;
pub use words::{megabytes, notice};

/// Bytes of a number in f32.
const F32: u64 = 4;
/// Copies of a chunk of logits, and of a layer's attention weights, that kernels by tensors work with.
const COPIES: u64 = 4;
/// Bytes of a number in blocks of 4 bits, scales included (Q4_K_M).
const BYTES_OF_4_BITS: f64 = 0.61;
/// What the program takes besides, before it does anything.
const PROGRAM: u64 = 60 << 20;
/// What an interpreter takes while games are played.
const INTERPRETER: u64 = 20 << 20;
/// Most bytes of gradients that a process of several holds back, so that one exchange ends an update: what evens the load
/// is worth some memory, and not that of a model. Far above what adapters and the built-in model take.
const HELD: u64 = 1 << 30;
/// What CUDA comes to keep on a GPU for itself once it works: kernels, and the workspaces of its libraries. An estimate.
const CONTEXT: u64 = 256 << 20;

/// What NCCL takes of a GPU besides: its buffers are of 4 MiB a channel and neighbour. An estimate.
const NCCL: u64 = 256 << 20;

/// What training will take, in bytes, by purpose.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MemoryPlan {
    /// How updates are cut.
    pub division: Division,
    /// Format of frozen weights and of what layers compute.
    pub precision: Precision,
    /// Whether frozen weights stay in the blocks of their file.
    pub packed: bool,
    /// Whose memory is counted.
    pub place: Place,
    /// The program and the interpreters that games are played in; on a GPU, what CUDA keeps for itself.
    pub program: u64,
    /// What programs may take besides, one a worker; in no sum, for few come near it.
    pub programs: u64,
    /// The model, and the copy of it that a KL penalty may refer to.
    pub weights: u64,
    /// Adapters, where those are what is trained.
    pub adapters: u64,
    /// Moments of the optimiser.
    pub optimiser: u64,
    /// Weights as sampling reads them, adapters added in.
    pub sampled: u64,
    /// Keys and values of completions that are being sampled.
    pub cache: u64,
    /// Gradients.
    pub gradients: u64,
    /// What layers compute, until the backward pass has used it.
    pub activations: u64,
    /// Logits, a chunk at a time.
    pub head: u64,
}

/// What a plan is made for.
#[derive(Debug, Clone, Copy)]
pub struct Workload<'a> {
    /// The model.
    pub shape: &'a DecoderConfig,
    /// Numbers that are trained.
    pub trained: usize,
    /// Tokens of the longest prompt.
    pub prompt: usize,
    /// Everything else.
    pub config: &'a Config,
    /// Whose memory is counted.
    pub place: Place,
    /// Parts of an update that can be worked on at once.
    pub cores: usize,
    /// Processes that train together.
    pub processes: usize,
    /// Format of frozen weights and of what layers compute.
    pub precision: Precision,
    /// What computes it.
    pub kernels: Kernels,
    /// Bytes of the model, where it stays in the blocks of its file; none where it is plain numbers.
    pub packed: Option<u64>,
}

/// Where tensors live.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Place {
    /// The processor's memory, which holds the program and its games as well.
    Host,
    /// A GPU's.
    Gpu,
}

/// The limit is below what the least demanding division takes.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "expected at least {} MiB of memory, which one completion at a time takes; lower rollout.max_completion_length, \
     rollout.groups or train.eval_samples{}",
    smallest.total().div_ceil(1 << 20),
    packed.map(|bytes| format!(
        "; with model.frozen_weights = \"packed\" and a .gguf file of 4 bits a weight {} MiB are enough",
        bytes.div_ceil(1 << 20)
    )).unwrap_or_default()
)]
pub struct TooSmall {
    /// Bytes allowed.
    pub limit: u64,
    /// What takes least.
    pub smallest: Box<MemoryPlan>,
    /// Bytes of the same with frozen weights of 4 bits, if that is less.
    pub packed: Option<u64>,
}

impl MemoryPlan {
    /// The largest division that fits into `limit` bytes, by the steps of [`Division::smaller`]. Cores share the update, and
    /// gradients are held, as far as the rest of the limit allows, which changes no number.
    ///
    /// A run that goes on begins with the division it `had`: with more memory it would be rounded in another way.
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
                    let packed = workload.in_blocks().map(|packed| MemoryPlan::of(&packed, division).total());
                    let packed = packed.filter(|bytes| *bytes < plan.total());
                    return Err(TooSmall { limit, smallest: Box::new(plan), packed });
                }
            }
        }
    }

    /// What `division` takes.
    pub fn of(workload: &Workload<'_>, division: Division) -> MemoryPlan {
        let Workload { shape, config, precision, .. } = *workload;
        let in_full = config.model.lora_r == 0 && config.model.adapter.is_empty();
        // What is trained is f32 in every precision.
        let of_weights = if in_full { F32 } else { precision.bytes() as u64 };
        let all = workload.packed.unwrap_or(of_weights * shape.parameters() as u64);
        let trained = F32 * workload.trained as u64;
        let (copies, workers) =
            (if config.grpo.beta > 0.0 && in_full { 2 } else { 1 }, config.arena.parallel_rewards.at_once() as u64);
        let (activations, head) = workload.of_a_part(&division, in_full);
        let at_once = division.at_once.min(workload.parts(&division)) as u64;
        let (sampled, cache) = workload.of_sampling(in_full);
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
            weights: copies * all,
            adapters: if in_full { 0 } else { trained },
            optimiser: 2 * trained,
            sampled,
            cache,
            // The sum, and those of every part that is not added yet.
            gradients: (1 + at_once.max(workload.held(&division))) * trained,
            activations: at_once * activations,
            head: at_once * head,
        }
    }

    /// Most that is taken at any time: sampling and updates take turns.
    pub fn total(&self) -> u64 {
        self.always() + (self.sampled + self.cache).max(self.update())
    }

    /// What is taken all the time.
    fn always(&self) -> u64 {
        self.program + self.weights + self.adapters + self.optimiser
    }

    /// What an update takes besides.
    pub fn update(&self) -> u64 {
        self.gradients + self.activations + self.head
    }
}

/// As large as the configuration allows, one part after the other.
fn largest(config: &Config) -> Division {
    Division { at_once: 1, held: 1, ..Division::from(&config.grpo) }
}

impl<'a> Workload<'a> {
    /// Training of this policy behind prompts of at most `prompt` tokens.
    pub fn of(policy: &'a Policy, config: &'a Config, prompt: usize) -> Self {
        let decoder = policy.decoder();
        Workload {
            shape: decoder.config(),
            trained: policy.trainable().values().map(|var| var.elem_count()).sum(),
            prompt,
            config,
            place: if decoder.device().is_cpu() { Place::Host } else { Place::Gpu },
            cores: grpo::cores(decoder.device()),
            processes: 1,
            precision: decoder.precision(),
            kernels: decoder.kernels(),
            packed: policy.packed_bytes(),
        }
    }

    /// The same with frozen weights in blocks of 4 bits, where that can be.
    fn in_blocks(&self) -> Option<Self> {
        let frozen = self.config.model.lora_r > 0 || !self.config.model.adapter.is_empty();
        let can_be = frozen && self.packed.is_none() && self.place == Place::Host && self.precision == Precision::F32;
        can_be.then(|| Workload { packed: Some((self.shape.parameters() as f64 * BYTES_OF_4_BITS) as u64), ..*self })
    }

    /// Tokens of the longest row of an update.
    fn width(&self) -> usize {
        self.prompt + self.config.rollout.max_completion_length
    }

    fn parts(&self, division: &Division) -> usize {
        let imitated = if self.config.grpo.elite_coef > 0.0 { self.config.grpo.elites_per_step } else { 0 };
        (self.config.completions_per_step() + imitated).div_ceil(division.micro_batch)
    }

    /// Gradients of parts that a process holds; nothing is held back by one that trains alone, or adds its own up.
    fn held(&self, division: &Division) -> u64 {
        let adds = self.processes == 1 || self.config.parallel.reduce == Reduce::Fast;
        if adds { 0 } else { division.held.min(self.parts(division)) as u64 }
    }

    /// How many are worth holding: those of all parts that fall to a process, and of one more, since parts are dealt out
    /// by what they take and not by their number; at most [`HELD`] bytes.
    fn most_held(&self, division: &Division) -> usize {
        let all = self.parts(division).div_ceil(self.processes) + 1;
        all.min((HELD / (F32 * self.trained.max(1) as u64)) as usize).max(division.at_once)
    }

    /// Activations and head of one part.
    fn of_a_part(&self, division: &Division, in_full: bool) -> (u64, u64) {
        let DecoderConfig { hidden_size, vocab_size, num_hidden_layers, .. } = *self.shape;
        let (hidden, vocabulary, layers) = (hidden_size as u64, vocab_size as u64, num_hidden_layers as u64);
        let rows = division.micro_batch.min(self.config.completions_per_step());
        let tokens = (rows * self.width()) as u64;
        let (kept, passing) = self.of_a_layer(in_full);
        let layer = tokens * kept.0 + kept.1;
        let layers = match division.activations {
            Activations::Kept => layers * layer,
            // The inputs of all layers, and one layer with its input as a variable of its own.
            Activations::Recomputed => layers * tokens * hidden + layer + 3 * tokens * hidden,
        };
        // The embedded tokens, the last norm, and gradients on their way between layers.
        let activations = self.precision.bytes() as u64 * (layers + tokens * (4 * hidden + passing));
        // One layer's, for a moment, in f32: weights of attention, and the widest of what is computed.
        let attention = (rows * self.shape.num_attention_heads * self.width() * self.width()) as u64;
        let widened = tokens * (4 * self.shape.intermediate_size as u64 + 2 * hidden);
        let by_tensors = !self.shape.has_plain_scores(self.width());
        let capped = if self.shape.final_logit_softcapping.is_some() { COPIES } else { 1 };
        let (copies, passing) = match self.kernels {
            Kernels::Fused => (capped, if by_tensors { F32 * COPIES * attention } else { 0 }),
            Kernels::ByTensors => (COPIES, F32 * (COPIES * attention).max(widened)),
            Kernels::OnGpu => {
                let passing = self.passing_on_gpu(tokens, attention).max(self.dropped(widened));
                (capped, F32 * passing.max(if by_tensors { COPIES * attention } else { 0 }))
            }
        };
        let widens_head = self.kernels == Kernels::ByTensors && self.precision != Precision::F32;
        let head_weight = if widens_head || self.packed.is_some() { vocabulary * hidden } else { 0 };
        // The numbers of one map at a time.
        let passing = passing.max(if self.packed.is_some() { F32 * self.largest_map() } else { 0 });
        let scored = (rows * self.config.rollout.max_completion_length) as u64;
        let how = ScoreSettings { temperature: 1.0, logit_bytes: division.logit_bytes };
        let chunk = (how.rows(vocab_size) as u64 + 63).min(scored);
        let dweight = if in_full { 2 * vocabulary * hidden } else { 0 };
        let head = copies * chunk * vocabulary + 4 * scored * hidden + dweight + head_weight;
        // What passes through a layer comes after the logits are gone.
        (activations + passing.saturating_sub(F32 * head), F32 * head)
    }

    /// Numbers of the largest map of a layer.
    fn largest_map(&self) -> u64 {
        let heads = self.shape.num_attention_heads * self.shape.head_dim;
        (self.shape.hidden_size * heads.max(self.shape.intermediate_size)) as u64
    }

    /// Numbers of f32 that a layer holds for a moment where a GPU's own kernels run: blocks of scores and their weights,
    /// queries, keys and values by head with their gradients, or sums as wide as the model.
    fn passing_on_gpu(&self, tokens: u64, attention: u64) -> u64 {
        let shape = self.shape;
        let heads = (shape.num_attention_heads + 2 * shape.num_key_value_heads) as u64;
        let scores = attention.min(SCORE_BYTES as u64 / F32);
        (2 * scores + 2 * tokens * heads * shape.head_dim as u64).max(2 * tokens * shape.hidden_size as u64)
    }

    /// What is widened on its way into an adapter, if some of it is dropped there.
    fn dropped(&self, widened: u64) -> u64 {
        if self.config.model.lora_dropout > 0.0 { widened } else { 0 }
    }

    /// Numbers that a layer keeps, a token and besides; and what passes through it backwards, a token.
    fn of_a_layer(&self, in_full: bool) -> ((u64, u64), u64) {
        let shape = self.shape;
        let (hidden, inner) = (shape.hidden_size as u64, shape.intermediate_size as u64);
        let queries = (shape.num_attention_heads * shape.head_dim) as u64;
        let keys = (shape.num_key_value_heads * shape.head_dim) as u64;
        let joined = queries + 2 * keys;
        let norms = if shape.model_type.has_head_norms() { 2 * (queries + keys) + joined } else { 0 };
        let (fed, of_blocks, inner) = match &shape.experts {
            None => (3 * inner, 2 * inner, inner),
            Some(experts) => {
                let taken = experts.num_experts_per_tok as u64;
                let inner = experts.moe_intermediate_size as u64;
                // Frozen maps give gate and up apart, and then side by side.
                let maps = if in_full { 3 } else { 5 };
                // And what goes in, comes out, and is mixed; shares.
                let fed = taken * (maps * inner + 5 * hidden) + 4 * experts.num_experts as u64;
                (fed, 2 * inner * experts.num_experts as u64, taken * inner)
            }
        };
        let bias = if shape.model_type.has_qkv_bias() && in_full { joined } else { 0 };
        // Two norms or four, two products and two sums as wide as the model; attention; gate and up, and their product.
        let wide = if shape.model_type.is_gemma() { 8 } else { 6 };
        let token = wide * hidden + joined + norms + bias + queries + fed;
        // Trained weights are joined before the product.
        let weights = if in_full { hidden * (joined + of_blocks) } else { 0 };
        ((token, weights), 4 * inner + 3 * hidden)
    }

    /// Weights as sampling reads them, and the cache, for as many completions as are sampled together.
    fn of_sampling(&self, in_full: bool) -> (u64, u64) {
        let shape = self.shape;
        let rows = self.config.completions_per_step().max(self.config.train.eval_samples);
        let tied = shape.tie_word_embeddings;
        let embedding = (shape.vocab_size * shape.hidden_size) as u64;
        let matrices = shape.parameters() as u64 - if tied { 0 } else { embedding };
        let keys = (shape.num_key_value_heads * shape.head_dim * shape.num_hidden_layers) as u64;
        // Logits, and the distribution that is drawn from.
        let logits = 3 * (rows * shape.vocab_size) as u64;
        let bytes = self.precision.bytes() as u64;
        let sampled = match (self.precision, in_full) {
            // The model's own blocks, and adapters beside them.
            _ if self.packed.is_some() => F32 * self.trained as u64,
            (Precision::F32, _) => F32 * matrices,
            // Rounded, and the head in f32.
            (_, true) => bytes * matrices + F32 * embedding,
            // Adapters stay apart, and a GPU reads the model's own weights; elsewhere the head is widened.
            (_, false) if self.place == Place::Gpu => 0,
            (_, false) => F32 * embedding,
        };
        let slots = (rows * self.width().next_multiple_of(32)) as u64;
        (sampled, bytes * 2 * keys * slots + F32 * logits)
    }
}

#[cfg(test)]
mod tests;
