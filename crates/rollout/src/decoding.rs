//! Samples one batch token by token, from the prompts to the end of the last completion.

use std::sync::Arc;

use candle_core::Tensor;
use rand::Rng;
use rand_chacha::ChaCha8Rng;
use rayon::prelude::*;

use crate::config::RolloutConfig;
use crate::policy::{Cache, Policy, Snapshot, Tokenizer};
use crate::prompt::Prompt;

use super::identity::rows;
use super::sampler::Sampler;
use super::{Assignment, Completion, CompletionId, FinishReason, GroupRequest, RolloutError, RolloutEvent};

/// Where rows cannot be fed alone, those that have ended are removed once they are this share of the batch. Not earlier,
/// because removing rows copies the cache.
pub(super) const IDLE_SHARE: f64 = 0.25;
/// Number of newest tokens that are searched for a stop text. No stop text has more tokens.
const STOP_TOKENS: usize = 4;
/// Minimum number of logits for a parallel task.
const LOGITS_PER_TASK: usize = 16_384;

/// One sequence of the batch. It may have ended and not been removed yet.
pub(super) struct Row {
    pub id: CompletionId,
    /// Index of the completion in the batch.
    pub place: usize,
    pub rng: ChaCha8Rng,
    /// Token ids sampled so far.
    pub ids: Vec<u32>,
    /// Their log-probabilities, in nats.
    logprobs: Vec<f32>,
    /// A buffer for drawing tokens.
    weights: Vec<f32>,
    /// The text that ends it, if there is one besides stop tokens.
    stop: Option<&'static str>,
    /// Maximum number of its tokens.
    pub longest: usize,
    /// Whether a stop token or stop text has ended it.
    stopped: bool,
    pub ended: bool,
}

impl Row {
    /// Empty rows, one for each completion.
    pub fn all(requests: &[GroupRequest<'_>], config: &RolloutConfig) -> Vec<Self> {
        let places = rows(requests).enumerate();
        places.map(|(place, (prompt, id))| Row { place, ..Row::one(prompt, id, config) }).collect()
    }

    /// An empty row that is a batch of its own.
    pub fn one(prompt: &Prompt, id: CompletionId, config: &RolloutConfig) -> Self {
        Row {
            id,
            place: 0,
            rng: id.stream().rng(),
            ids: Vec::new(),
            logprobs: Vec::new(),
            weights: Vec::new(),
            stop: prompt.stop,
            longest: prompt.room(config.max_completion_length),
            stopped: false,
            ended: false,
        }
    }

    /// The completion of a row that has ended. Takes the row's log-probabilities.
    pub fn completion(&mut self, tokenizer: &Tokenizer) -> Completion {
        let finish = if self.stopped { FinishReason::Stop } else { FinishReason::Length };
        Completion::new(self.id, self.ids.clone(), std::mem::take(&mut self.logprobs), finish, tokenizer)
    }

    pub fn push(&mut self, token: u32, logp: f32, tokenizer: &Tokenizer) {
        self.ids.push(token);
        self.logprobs.push(logp);
        let tail = &self.ids[self.ids.len().saturating_sub(STOP_TOKENS)..];
        self.stopped = tokenizer.stop_ids().contains(&token)
            || self.stop.is_some_and(|stop| {
                let text = tokenizer.decode(tail);
                // A completion may begin at the start of a line, which the prompt has begun.
                text.contains(stop) || (tail.len() == self.ids.len() && text.starts_with(stop.trim_start()))
            });
        self.ended = self.stopped || self.ids.len() == self.longest;
    }
}

/// Emits the completions that have just ended, then the numbers of tokens and of completions so far.
pub(super) fn release(
    rows: &mut [Row],
    finished: &mut [Option<Completion>],
    tokenizer: &Tokenizer,
    tokens: usize,
    observer: &mut dyn FnMut(RolloutEvent<'_>),
) {
    for row in rows {
        if !row.ended || finished[row.place].is_some() {
            continue;
        }
        let completion = row.completion(tokenizer);
        observer(RolloutEvent::Finished(&completion));
        finished[row.place] = Some(completion);
    }
    let finished = finished.iter().flatten().count();
    observer(RolloutEvent::Tokens { tokens, finished });
}

/// What a batch begins with.
#[derive(Debug)]
pub(super) enum Start {
    /// Its prompts, which these weights read into a new cache.
    Prompts(Arc<Snapshot>),
    /// Conversations of which a cache holds the beginning, and the row of each, ascending.
    Rows(Cache, Vec<usize>),
}

/// A batch of sequences.
pub(super) struct Decoding<'a> {
    policy: &'a Policy,
    sampler: Sampler,
    cache: Cache,
    rows: Vec<Row>,
    /// The row of the cache of each of `rows`, ascending.
    slots: Vec<usize>,
    /// Logits of the next token of each row that has not ended, `(rows, vocab_size)`.
    logits: Tensor,
    finished: Vec<Option<Completion>>,
    /// Number of tokens sampled so far.
    tokens: usize,
}

/// A batch whose rows have all ended.
#[derive(Debug)]
pub(super) struct Ended {
    pub completions: Vec<Completion>,
    pub cache: Cache,
}

impl<'a> Decoding<'a> {
    /// Reads what no cache holds yet.
    pub fn begin(start: Start, asked: Assignment<'a>) -> Result<Self, RolloutError> {
        let Assignment { policy, config, requests } = asked;
        let rows = Row::all(requests, config);
        let (cache, slots, logits) = match start {
            Start::Prompts(weights) => {
                let (cache, logits) = read(weights, asked)?;
                (cache, (0..rows.len()).collect(), logits)
            }
            Start::Rows(mut cache, slots) => {
                let mut further: Vec<&[u32]> = vec![&[]; cache.rows()];
                for (slot, request) in slots.iter().zip(requests) {
                    further[*slot] = &request.prompt.ids[cache.lengths()[*slot]..];
                }
                let logits = among_threads(|| policy.decoder().feed(&further, &mut cache))?;
                (cache, slots, logits)
            }
        };
        let finished = vec![None; rows.len()];
        Ok(Decoding { policy, sampler: Sampler::new(config), cache, rows, slots, logits, finished, tokens: 0 })
    }

    /// Samples until every row has ended. Where rows cannot be fed alone, those that have ended are removed once they are
    /// `idle_share` of the batch.
    pub fn run(mut self, idle_share: f64, observer: &mut dyn FnMut(RolloutEvent<'_>)) -> Result<Ended, RolloutError> {
        while self.rows.iter().any(|row| !row.ended) {
            observer(RolloutEvent::Predicted);
            self.sample()?;
            release(&mut self.rows, &mut self.finished, self.policy.tokenizer(), self.tokens, observer);
            let ended = self.rows.iter().filter(|row| row.ended).count();
            if ended == self.rows.len() {
                break;
            }
            if ended > 0 && ended as f64 >= idle_share * self.rows.len() as f64 && !self.cache.feeds_rows_alone() {
                self.compact()?;
            }
            let mut next: Vec<&[u32]> = vec![&[]; self.cache.rows()];
            for (slot, row) in self.slots.iter().zip(&self.rows).filter(|(_, row)| !row.ended) {
                next[*slot] = &row.ids[row.ids.len() - 1..];
            }
            let (decoder, cache) = (self.policy.decoder(), &mut self.cache);
            self.logits = among_threads(|| decoder.feed(&next, cache))?;
        }
        Ok(Ended { completions: self.finished.into_iter().flatten().collect(), cache: self.cache })
    }

    /// Draws one token for every row that has not ended.
    fn sample(&mut self) -> Result<(), RolloutError> {
        let (count, vocabulary) = self.logits.dims2()?;
        let logits = self.logits.flatten_all()?.to_vec1::<f32>()?;
        let (sampler, tokenizer) = (self.sampler, self.policy.tokenizer());
        let draw = |(row, logits): (&mut Row, &[f32])| {
            let Some((token, logp)) = sampler.draw(logits, row.rng.random(), &mut row.weights) else {
                return Err(RolloutError::NotFinite { index: row.id.index, token: row.ids.len() });
            };
            row.push(token, logp, tokenizer);
            Ok(())
        };
        let rows: Vec<&mut Row> = self.rows.iter_mut().filter(|row| !row.ended).collect();
        let rows = rows.into_par_iter().zip(logits.par_chunks_exact(vocabulary));
        let drawn: Vec<Result<(), RolloutError>> =
            rows.with_min_len(LOGITS_PER_TASK.div_ceil(vocabulary)).map(draw).collect();
        self.tokens += count;
        drawn.into_iter().collect()
    }

    /// Removes rows that have ended.
    fn compact(&mut self) -> Result<(), RolloutError> {
        let live = self.slots.iter().zip(&self.rows).filter(|(_, row)| !row.ended);
        let live: Vec<usize> = live.map(|(slot, _)| *slot).collect();
        self.cache.select(&live)?;
        self.rows.retain(|row| !row.ended);
        self.slots = (0..self.rows.len()).collect();
        Ok(())
    }
}

/// Reads each prompt once, however many requests have it, and repeats its cache and logits for all their completions.
fn read(weights: Arc<Snapshot>, asked: Assignment<'_>) -> Result<(Cache, Tensor), RolloutError> {
    let Assignment { policy, config, requests } = asked;
    let decoder = policy.decoder();
    let mut ids: Vec<&[u32]> = Vec::new();
    let mut of_completion = Vec::new();
    for request in requests {
        let known = ids.iter().position(|ids| *ids == request.prompt.ids.as_slice());
        let place = known.unwrap_or_else(|| {
            ids.push(&request.prompt.ids);
            ids.len() - 1
        });
        of_completion.extend(std::iter::repeat_n(place, request.ids.len()));
    }
    let prompt = ids.iter().map(|ids| ids.len()).max().unwrap_or(0);
    let rooms = requests.iter().map(|request| request.prompt.room(config.max_completion_length));
    let capacity = match decoder.feeds_rows_alone() {
        true => requests.iter().zip(rooms).map(|(asked, room)| asked.prompt.ids.len() + room).max().unwrap_or(0),
        // Padding puts the last token of every prompt into the same slot.
        false => prompt + longest(requests, config),
    };
    let mut cache = decoder.new_padded_cache(weights, ids.len(), capacity)?;
    let logits = decoder.prefill(&ids, &mut cache)?;
    cache.select(&of_completion)?;
    let rows: Vec<u32> = of_completion.iter().map(|place| *place as u32).collect();
    Ok((cache, logits.index_select(&Tensor::new(rows, decoder.device())?, 0)?))
}

/// Maximum number of tokens of a completion of any of the prompts.
pub(super) fn longest(requests: &[GroupRequest<'_>], config: &RolloutConfig) -> usize {
    requests.iter().map(|request| request.prompt.room(config.max_completion_length)).max().unwrap_or(0)
}

/// Number of completions of every request.
pub(super) fn copies(requests: &[GroupRequest<'_>]) -> usize {
    requests.first().map_or(1, |request| request.ids.len())
}

/// Runs `work` on a thread of rayon's pool. From there parallel operations start within microseconds, while from
/// another thread each would have to wait for this thread to wake up.
fn among_threads<R: Send>(work: impl FnOnce() -> R + Send) -> R {
    if rayon::current_num_threads() == 1 { work() } else { rayon::scope(|_| work()) }
}
