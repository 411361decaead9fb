//! Counts the bytes and operations that a model of a shape needs.

use grpo_2048::policy::DecoderConfig;

/// Bytes per number of a model.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct NumberBytes {
    /// Mean bytes of a weight.
    pub weight: f64,
    /// Bytes of a number in the cache of keys and values.
    pub cache: usize,
}

/// Number of bytes that decoding has to read: every weight once per token, and the filled part of the cache.
///
/// The first token comes from the prompt; each of the other `tokens - 1` reads `prompt + 1`, `prompt + 2`, ... slots.
pub(super) fn decoded_bytes(
    shape: &DecoderConfig,
    bytes: NumberBytes,
    rows: usize,
    prompt: usize,
    tokens: usize,
) -> f64 {
    let embedding = if shape.tie_word_embeddings { 0 } else { shape.vocab_size * shape.hidden_size };
    let weights = bytes.weight * (shape.parameters() - embedding) as f64;
    let slot = (2 * shape.num_hidden_layers * shape.num_key_value_heads * shape.head_dim * bytes.cache) as f64;
    let steps = tokens.saturating_sub(1);
    let slots = steps * prompt + steps * (steps + 1) / 2;
    steps as f64 * weights + (rows * slots) as f64 * slot
}

/// The trained weights of a model.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Trained {
    /// Every weight.
    All,
    /// Adapters with this number of weights, over frozen weights.
    Adapters(usize),
}

/// Number of operations of one update: two for every multiplication of the forward pass, the same number for the
/// gradients of inputs and, for trained weights, the same number for their gradients. Attention counts the keys that a
/// query may see. Recomputed activations count once; norms, gates and the optimiser do not count.
///
/// * `prompt`, `tokens`: number of tokens of the prompt and of the completion, for each of `rows` completions. The last
///   token is predicted only. The head is computed at the positions that predict a token of the completion.
pub(super) fn update_flops(shape: &DecoderConfig, trained: Trained, rows: usize, prompt: usize, tokens: usize) -> f64 {
    let queries = shape.num_attention_heads * shape.head_dim;
    let keys = shape.num_key_value_heads * shape.head_dim;
    // Only the experts that a token passes through count.
    let inner = shape
        .experts
        .as_ref()
        .map_or(shape.intermediate_size, |experts| experts.num_experts_per_tok * experts.moe_intermediate_size);
    let layer = shape.hidden_size * (2 * queries + 2 * keys + 3 * inner);
    let (body, head) = (shape.num_hidden_layers * layer, shape.vocab_size * shape.hidden_size);
    let positions = prompt + tokens - 1;
    let pairs = positions * (positions + 1) / 2;
    let (each, adapters) = match trained {
        Trained::All => (6.0, 0.0),
        Trained::Adapters(numbers) => (4.0, 6.0 * numbers as f64),
    };
    let attention = 3.0 * 4.0 * (pairs * queries * shape.num_hidden_layers) as f64;
    let products = (each * body as f64 + adapters) * positions as f64 + each * head as f64 * tokens as f64;
    rows as f64 * (products + attention)
}
