//! Bytes and operations that a shape asks for, counted and not measured.

use grpo_2048::policy::DecoderConfig;

/// Bytes of a number of a model.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct NumberBytes {
    /// Of a weight, on average.
    pub weight: f64,
    /// Of a key or a value in the cache.
    pub cache: usize,
}

/// Bytes that decoding has to read: every weight once a token, and the cache as far as it is filled.
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

/// What of a model is trained.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Trained {
    /// Every weight.
    All,
    /// Adapters of so many numbers over frozen weights.
    Adapters(usize),
}

/// Operations of one update: two for every multiplication of a forward pass, as many again for the gradients of inputs
/// and, where a weight is trained, as many for its own. Attention counts the keys a query may see. What is computed a
/// second time counts once; norms, gates and the optimiser do not count.
///
/// * `prompt`, `tokens`: of each of `rows` completions, of which the last token is only ever predicted. The head sees
///   those positions alone that predict a token of the completion.
pub(super) fn update_flops(shape: &DecoderConfig, trained: Trained, rows: usize, prompt: usize, tokens: usize) -> f64 {
    let queries = shape.num_attention_heads * shape.head_dim;
    let keys = shape.num_key_value_heads * shape.head_dim;
    // Of experts count those that a token goes through, in every layer.
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
