//! The built-in model before training: its shape, vocabulary and prompts.

use super::{SftError, SftOptions};
use crate::corpus::{self, Mix, vocabulary};
use crate::environment::game2048::prompts::briefing;
use crate::policy::{DecoderConfig, Policy, Tokenizer};
use crate::prompt::{self, PromptError, PromptKind, PromptSet};
use crate::seed::{Purpose, Seed};

/// Number of tokens of the vocabulary.
const VOCABULARY: usize = 1024;
/// Maximum length of a token, in characters.
const TOKEN_CHARS: usize = 12;
/// Number of programs that the vocabulary is learnt from.
const VOCABULARY_PROGRAMS: usize = 4000;

/// The shape of the built-in model. It is small enough to train on two cores, and large enough to copy names and to
/// match brackets.
pub fn builtin_shape() -> DecoderConfig {
    DecoderConfig {
        vocab_size: VOCABULARY,
        hidden_size: 160,
        num_hidden_layers: 5,
        num_attention_heads: 5,
        num_key_value_heads: 5,
        head_dim: 32,
        intermediate_size: 448,
        rope_theta: 10_000.0,
        rms_norm_eps: 1e-5,
        tie_word_embeddings: true,
        max_position_embeddings: 512,
        ..DecoderConfig::LLAMA
    }
}

/// The built-in model with random weights, and its prompts.
pub(super) fn begin(options: &SftOptions) -> Result<(Policy, PromptSet), SftError> {
    let tokenizer = tokenizer(options.seed)?;
    let policy = Policy::initialise(builtin_shape(), tokenizer, options.seed, &options.device)?;
    let prompts = PromptSet::load(PromptKind::Builtin, policy.tokenizer(), &briefing().map_err(PromptError::from)?)?;
    Ok((policy, prompts))
}

/// The tokenizer of the built-in model, learnt from programs without errors.
pub(super) fn tokenizer(seed: Seed) -> Result<Tokenizer, SftError> {
    let mut rng = seed.child(Purpose::Corpus, 0).rng();
    let mix = Mix { error_rate: 0.0, ..Mix::default() };
    let programs: Vec<String> = (0..VOCABULARY_PROGRAMS)
        .map(|_| corpus::program(&mut rng, &mix).source[corpus::HEADER.len()..].into())
        .collect();
    let options = vocabulary::VocabularyOptions {
        size: VOCABULARY,
        token_chars: TOKEN_CHARS,
        prompt_tokens: prompt::builtin_tokens()?,
    };
    let texts = programs.iter().map(String::as_str).chain([corpus::HEADER]);
    let inner = vocabulary::train(texts, &options)?;
    let end = inner.token_to_id(vocabulary::END).into_iter().collect();
    Ok(Tokenizer::from_parts(inner, end, None))
}
