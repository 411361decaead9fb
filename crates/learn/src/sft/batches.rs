//! Batches of corpus programs as rows of token ids, with new programs for every step.

use std::cmp::Reverse;

use candle_core::{Device, Tensor};

use crate::corpus::{self, CorpusProgram, Mix, Style};
use crate::grpo::logit_bytes;
use crate::policy::{Adapters, EmbeddedTokens, Policy, PolicyError, TokenBatch, TokenRow, shared_beginning};
use crate::prompt::{Prompt, PromptSet};
use crate::seed::{Purpose, Seed};
use grpo_tensor::{ScoreSettings, select_rows};

use super::SftError;

/// Approximate number of tokens of a part, which pass through the model together. It is small enough for the
/// activations to fit into a core's cache, and large enough that a prompt shared by its programs costs little. A step
/// has as many parts as it needs, which threads compute in parallel.
pub(super) const MICRO_BATCH_TOKENS: usize = 1600;

/// Token ids of prompt and program, and the number of tokens of the prompt.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Example {
    ids: Vec<u32>,
    prompt: usize,
}

impl Example {
    /// The rest of `source`, which begins like the prompt's prefill, as the answer to `prompt`. None if it does not fit into
    /// the model's context.
    pub(super) fn new(prompt: &Prompt, source: &str, policy: &Policy) -> Result<Option<Example>, SftError> {
        let tokenizer = policy.tokenizer();
        let mut ids = prompt.ids.clone();
        // The program is encoded separately from the prompt, as in sampling, so that no token contains parts of both.
        ids.extend(tokenizer.encode_further(&prompt.answer(source)));
        ids.push(prompt.end.or_else(|| tokenizer.end_id()).ok_or(SftError::NoEnd)?);
        let fits = ids.len() <= policy.decoder().config().max_position_embeddings;
        Ok(fits.then_some(Example { ids, prompt: prompt.ids.len() }))
    }

    /// Number of all tokens, including prompt and end.
    pub(super) fn tokens(&self) -> usize {
        self.ids.len()
    }

    /// The token ids of the prompt and of the target.
    pub(super) fn parts(&self) -> (&[u32], &[u32]) {
        self.ids.split_at(self.prompt)
    }

    fn row(&self) -> TokenRow<'_> {
        TokenRow { ids: &self.ids, prompt: self.prompt, told: &[] }
    }

    /// Number of tokens that the model has to predict.
    pub(super) fn targets(&self) -> usize {
        self.ids.len() - self.prompt
    }
}

/// Maximum number of consecutive programs that may be left out because they do not fit. More means that none will fit.
const REFUSED_MOST: usize = 1000;

/// Makes examples: the prompt of a style, the rest of a program, and the end token.
pub(super) struct Writer<'a> {
    policy: &'a Policy,
    prompts: &'a PromptSet,
    mix: &'a Mix,
}

impl<'a> Writer<'a> {
    pub(super) fn new(policy: &'a Policy, prompts: &'a PromptSet, mix: &'a Mix) -> Self {
        Writer { policy, prompts, mix }
    }

    /// Examples of about `tokens` tokens in all, the same for the same seed.
    pub(super) fn batch(&self, seed: Seed, tokens: usize) -> Result<Vec<Example>, SftError> {
        let mut rng = seed.child(Purpose::Corpus, 0).rng();
        let (mut examples, mut total, mut refused) = (Vec::new(), 0, 0);
        let mut mix = self.mix.clone();
        while total < tokens {
            let sample = corpus::program(&mut rng, &mix);
            let Some(example) = self.example(&sample)? else {
                refused += 1;
                if refused > REFUSED_MOST {
                    let longest = self.policy.decoder().config().max_position_embeddings;
                    let prompt = self.prompts.prompts().iter().map(|prompt| prompt.ids.len()).max().unwrap_or(0);
                    return Err(SftError::NothingFits { longest, prompt });
                }
                // The next program is of the same style, so that styles keep their shares even if some programs are
                // left out.
                mix.weights = vec![(sample.asked, 1.0)];
                continue;
            };
            mix.weights.clone_from(&self.mix.weights);
            refused = 0;
            total += example.ids.len();
            examples.push(example);
        }
        Ok(examples)
    }

    /// None if the program does not begin like the prompt's prefill, or if it does not fit into the model's context.
    fn example(&self, sample: &CorpusProgram) -> Result<Option<Example>, SftError> {
        let prompt = self.prompt(sample.asked);
        // The header of the corpus ends inside the list of parameters, so every program begins with it. The prefill of
        // a chat model's prompt has the whole list, which has to be that of the program.
        let opened = prompt.prefill == corpus::HEADER || sample.source.starts_with(&prompt.prefill);
        if opened { Example::new(prompt, &sample.source, self.policy) } else { Ok(None) }
    }

    fn prompt(&self, style: Style) -> &Prompt {
        let found = self.prompts.prompts().iter().find(|prompt| prompt.style == style.name());
        found.expect("a test holds that every style has a prompt")
    }
}

/// Divides a batch into parts with about the same number of tokens. A part has rows of similar length, or rows with
/// similar prompts if the decoder reads a common beginning only once.
pub(super) fn micro_batches(mut examples: Vec<Example>, shares_beginnings: bool) -> Vec<Vec<Example>> {
    examples.sort_by_key(|example| Reverse(example.ids.len()));
    if shares_beginnings {
        examples.sort_by(|a, b| a.ids[..a.prompt].cmp(&b.ids[..b.prompt]));
    }
    let rows: Vec<TokenRow<'_>> = examples.iter().map(Example::row).collect();
    let shared = if shares_beginnings { shared_beginning(&rows) } else { 0 };
    let own = |example: &Example| example.ids.len() - shared;
    let total: usize = examples.iter().map(own).sum();
    let count = total.div_ceil(MICRO_BATCH_TOKENS.saturating_sub(shared).max(1)).max(1);
    let (mut parts, mut before) = (vec![Vec::new(); count], 0);
    for example in examples {
        // The example goes to the part that contains its middle, if all parts had the same number of tokens.
        let middle = before + own(&example) / 2;
        before += own(&example);
        parts[middle * count / total.max(1)].push(example);
    }
    parts.retain(|part| !part.is_empty());
    parts
}

/// The sum of the negative log-probabilities of all target tokens, in nats, differentiable, and the tokens that its graph
/// begins with.
pub(super) fn loss<'a>(
    policy: &'a Policy,
    rows: &[Example],
    adapters: Adapters,
) -> Result<(Tensor, EmbeddedTokens<'a>), PolicyError> {
    let decoder = policy.decoder();
    let device = decoder.device();
    let all: Vec<TokenRow<'_>> = rows.iter().map(Example::row).collect();
    let TokenBatch { ids, spans, places } = TokenBatch::new(&all, decoder.shares_beginnings());
    let (hidden, tokens) = decoder.hidden_kept(&from_ids(ids, device)?, &spans, adapters)?;
    let hidden = select_rows(&hidden, &places)?;
    let targets = from_ids(rows.iter().flat_map(|row| &row.ids[row.prompt..]).copied().collect(), device)?;
    let how = ScoreSettings { temperature: 1.0, logit_bytes: logit_bytes(decoder.kernels()) };
    let (log_probs, _) = decoder.score(&hidden, &targets, how)?;
    Ok((log_probs.sum_all()?.neg()?, tokens))
}

fn from_ids(ids: Vec<u32>, device: &Device) -> candle_core::Result<Tensor> {
    let count = ids.len();
    Tensor::from_vec(ids, count, device)
}
