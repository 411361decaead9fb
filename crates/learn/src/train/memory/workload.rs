//! What a memory plan is computed from, and the arithmetic of its parts.

use crate::config::{Config, Reduce};
use crate::grpo::{self, Division};
use crate::policy::{Activations, DecoderConfig, Policy, Precision, READ_AT_ONCE, prefill_bytes};
use crate::train::evaluation;
use grpo_tensor::{Kernels, SCORE_BYTES, ScoreSettings};

/// Bytes of an f32.
pub(super) const F32: u64 = 4;
/// Number of copies of a chunk of logits, and of a layer's attention weights, that [`Kernels::ByTensors`] hold.
const COPIES: u64 = 4;
/// Mean bytes of a weight in 4-bit blocks of Q4_K_M, including scales.
const BYTES_OF_4_BITS: f64 = 0.61;
/// Maximum bytes of gradients that each of several processes holds so that one exchange per update is enough. Gradients
/// of adapters and of the built-in model are far below it; those of a larger model would cost more memory than the
/// better balance is worth.
const HELD: u64 = 1 << 30;

#[derive(Debug, Clone, Copy)]
pub struct Workload<'a> {
    pub shape: &'a DecoderConfig,
    /// Number of trained weights.
    pub trained: usize,
    /// Number of tokens of the longest prompt.
    pub prompt: usize,
    pub config: &'a Config,
    /// Whose memory is counted.
    pub place: Place,
    /// Number of parts of an update that can be computed at the same time.
    pub cores: usize,
    /// Number of processes that train together.
    pub processes: usize,
    /// Number format of frozen weights and activations.
    pub precision: Precision,
    pub kernels: Kernels,
    /// Bytes of the model if its weights stay quantised as in their file; none otherwise.
    pub packed: Option<u64>,
    /// Probability of dropout in front of adapters in updates. An adapter that is loaded has its own, whatever the settings say.
    pub dropout: f64,
}

/// Where tensors are stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Place {
    /// In the processor's memory, with the program and its games.
    Host,
    Gpu,
}

/// How many numbers a layer keeps for the backward pass.
struct LayerNumbers {
    /// Kept for each token of a part.
    per_token: u64,
    /// Kept in addition, independent of the number of tokens.
    fixed: u64,
    /// Temporary numbers of the backward pass for each token.
    backward_per_token: u64,
}

impl<'a> Workload<'a> {
    /// The workload of training this policy with prompts of at most `prompt` tokens, in one process.
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
            dropout: policy.dropout(),
        }
    }

    /// The same with frozen weights of 4 bits, if this is possible.
    pub(super) fn with_4_bit_weights(&self) -> Option<Self> {
        let frozen = self.config.model.lora_r > 0 || !self.config.model.adapter.is_empty();
        let can_be = frozen && self.packed.is_none() && self.place == Place::Host && self.precision == Precision::F32;
        can_be.then(|| Workload { packed: Some((self.shape.parameters() as f64 * BYTES_OF_4_BITS) as u64), ..*self })
    }

    /// Number of tokens of the longest row of an update.
    fn width(&self) -> usize {
        self.prompt + self.config.rollout.max_completion_length
    }

    pub(super) fn parts(&self, division: &Division) -> usize {
        let imitated = if self.config.grpo.elite_coef > 0.0 { self.config.grpo.elites_per_step } else { 0 };
        let learnt = self.config.rollout.groups * self.config.learnt_per_group();
        (learnt + imitated).div_ceil(division.micro_batch)
    }

    /// Number of parts whose gradients a process holds; none if it trains alone, or if `parallel.reduce = "fast"` has
    /// it add them up itself.
    pub(super) fn held(&self, division: &Division) -> u64 {
        let adds = self.processes == 1 || self.config.parallel.reduce == Reduce::Fast;
        if adds { 0 } else { division.held.min(self.parts(division)) as u64 }
    }

    /// Number of parts whose gradients are worth holding: all parts of a process, and one more, because parts are
    /// assigned by their cost and not by their number. At most [`HELD`] bytes.
    pub(super) fn most_held(&self, division: &Division) -> usize {
        let all = self.parts(division).div_ceil(self.processes) + 1;
        all.min((HELD / (F32 * self.trained.max(1) as u64)) as usize).max(division.at_once)
    }

    /// Bytes of activations and of the head for one part of an update.
    pub(super) fn part_bytes(&self, division: &Division, in_full: bool) -> (u64, u64) {
        let DecoderConfig { hidden_size, vocab_size, num_hidden_layers, .. } = *self.shape;
        let (hidden, vocabulary, layers) = (hidden_size as u64, vocab_size as u64, num_hidden_layers as u64);
        let rows = division.micro_batch.min(self.config.completions_per_step());
        let tokens = (rows * self.width()) as u64;
        let LayerNumbers { per_token, fixed, backward_per_token } = self.layer_numbers(in_full);
        let layer = tokens * per_token + fixed;
        let layers = match division.activations {
            Activations::Kept => layers * layer,
            // The inputs of all layers, and one layer whose input is a separate variable.
            Activations::Recomputed => layers * tokens * hidden + layer + 3 * tokens * hidden,
        };
        // The embedded tokens, the last norm, and the gradient that passes between layers.
        let activations = self.precision.bytes() as u64 * (layers + tokens * (4 * hidden + backward_per_token));
        // Temporary f32 numbers of one layer: its attention weights, and its widest results converted to f32.
        let attention = (rows * self.shape.num_attention_heads * self.width() * self.width()) as u64;
        let widened = tokens * (4 * self.shape.intermediate_size as u64 + 2 * hidden);
        let by_tensors = !self.shape.has_plain_scores(self.width());
        let capped = if self.shape.final_logit_softcapping.is_some() { COPIES } else { 1 };
        let (copies, passing) = match self.kernels {
            Kernels::Fused => {
                (capped, F32 * self.dropped(widened).max(if by_tensors { COPIES * attention } else { 0 }))
            }
            Kernels::ByTensors => (COPIES, F32 * (COPIES * attention).max(widened)),
            Kernels::OnGpu => {
                let passing = self.passing_on_gpu(tokens, attention).max(self.dropped(widened));
                (capped, F32 * passing.max(if by_tensors { COPIES * attention } else { 0 }))
            }
        };
        let widens_head = self.kernels == Kernels::ByTensors && self.precision != Precision::F32;
        let head_weight = if widens_head || self.packed.is_some() { vocabulary * hidden } else { 0 };
        // One quantised matrix at a time is converted to f32.
        let passing = passing.max(if self.packed.is_some() { F32 * self.largest_map() } else { 0 });
        let scored = (rows * self.config.rollout.max_completion_length) as u64;
        let how = ScoreSettings { temperature: 1.0, logit_bytes: division.logit_bytes };
        let chunk = (how.rows(vocab_size) as u64 + 63).min(scored);
        let dweight = if in_full { 2 * vocabulary * hidden } else { 0 };
        let head = copies * chunk * vocabulary + 4 * scored * hidden + dweight + head_weight;
        // The temporary memory of layers is allocated after the logits have been freed.
        (activations + passing.saturating_sub(F32 * head), F32 * head)
    }

    /// Number of weights of the largest matrix of a layer.
    fn largest_map(&self) -> u64 {
        let heads = self.shape.num_attention_heads * self.shape.head_dim;
        (self.shape.hidden_size * heads.max(self.shape.intermediate_size)) as u64
    }

    /// Number of temporary f32 numbers of a layer with [`Kernels::OnGpu`]: blocks of scores and their weights, with
    /// queries, keys and values by head and their gradients; or sums as wide as the model.
    fn passing_on_gpu(&self, tokens: u64, attention: u64) -> u64 {
        let shape = self.shape;
        let heads = (shape.num_attention_heads + 2 * shape.num_key_value_heads) as u64;
        let scores = attention.min(SCORE_BYTES as u64 / F32);
        (2 * scores + 2 * tokens * heads * shape.head_dim as u64).max(2 * tokens * shape.hidden_size as u64)
    }

    /// Number of f32 numbers that dropout in front of an adapter needs: with it maps are computed by tensors everywhere.
    fn dropped(&self, widened: u64) -> u64 {
        if self.dropout > 0.0 { widened } else { 0 }
    }

    fn layer_numbers(&self, in_full: bool) -> LayerNumbers {
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
                // Frozen matrices compute gate and up separately and then join them.
                let maps = if in_full { 3 } else { 5 };
                // In addition the inputs, outputs and mixed outputs of experts, and their shares.
                let fed = taken * (maps * inner + 5 * hidden) + 4 * experts.num_experts as u64;
                (fed, 2 * inner * experts.num_experts as u64, taken * inner)
            }
        };
        let bias = if shape.model_type.has_qkv_bias() && in_full { joined } else { 0 };
        // Two or four norms, two products and two sums as wide as the model; attention; gate, up and their product.
        let wide = if shape.model_type.is_gemma() { 8 } else { 6 };
        let per_token = wide * hidden + joined + norms + bias + queries + fed;
        // Trained matrices are concatenated before the product.
        let fixed = if in_full { hidden * (joined + of_blocks) } else { 0 };
        LayerNumbers { per_token, fixed, backward_per_token: 4 * inner + 3 * hidden }
    }

    /// Bytes of the weights in the form that sampling uses, and of the cache with logits, for all completions that are
    /// sampled together.
    pub(super) fn sampling_bytes(&self, in_full: bool) -> (u64, u64) {
        let shape = self.shape;
        let evaluated = self.config.train.eval_samples.min(evaluation::at_once(self.config));
        let rows = self.config.completions_per_step().max(evaluated);
        let tied = shape.tie_word_embeddings;
        let embedding = (shape.vocab_size * shape.hidden_size) as u64;
        let matrices = shape.parameters() as u64 - if tied { 0 } else { embedding };
        let keys = (shape.num_key_value_heads * shape.head_dim * shape.num_hidden_layers) as u64;
        // Logits and the distribution that tokens are drawn from.
        let logits = 3 * (rows * shape.vocab_size) as u64;
        let bytes = self.precision.bytes() as u64;
        let sampled = match (self.precision, in_full) {
            // The quantised weights of the model are used, with separate adapters.
            _ if self.packed.is_some() => F32 * self.trained as u64,
            (Precision::F32, _) => F32 * matrices,
            // Weights in the rounded format, with the head in f32.
            (_, true) => bytes * matrices + F32 * embedding,
            // Adapters are not merged. A GPU uses the model's own weights; a processor converts the head to f32.
            (_, false) if self.place == Place::Gpu => 0,
            (_, false) => F32 * embedding,
        };
        let (slots, read) = self.slots_and_read(rows);
        let fed = match self.place {
            Place::Gpu => prefill_bytes(shape, rows, self.prompt) as u64,
            Place::Host => 0,
        };
        (sampled, bytes * 2 * keys * slots + F32 * logits + read.max(fed))
    }

    /// Number of slots of the cache for `rows` completions, and bytes of the temporary numbers of a layer while later turns are
    /// read; none with one turn, in which only prompts are read.
    ///
    /// Where rows are fed alone, later turns go on in the cache of the first, which has room for all. Elsewhere conversations are
    /// read again: they are of different lengths and padded to the longest, and any of them may have all the rest of its length
    /// left.
    fn slots_and_read(&self, rows: usize) -> (u64, u64) {
        let (shape, rollout) = (self.shape, &self.config.rollout);
        let width = self.width();
        let alone = (rows * width.next_multiple_of(32)) as u64;
        if rollout.turns == 1 {
            return (alone, 0);
        }
        let heads = shape.num_attention_heads + 2 * shape.num_key_value_heads;
        let widest = (heads * shape.head_dim).max(3 * shape.intermediate_size);
        let read = |tokens: usize| F32 * (tokens * (4 * shape.hidden_size + widest)) as u64;
        if self.place == Place::Host && self.precision == Precision::F32 {
            return (alone, read((rows * width).min(READ_AT_ONCE.max(width))));
        }
        let padded = (width + rollout.max_completion_length).next_multiple_of(32);
        ((rows * padded) as u64, read(rows * width))
    }
}
