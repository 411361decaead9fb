//! Samples a batch of a small model in parallel parts of a few rows, each on one core. The work for one token is too
//! small to be divided among cores, and the cache of few rows fits into a core's cache.

use std::panic::resume_unwind;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread;
use std::time::Instant;

use rayon::ThreadPoolBuilder;

use crate::config::RolloutConfig;
use crate::policy::Policy;
use crate::prompt::Prompt;

use super::decoding::{Decoding, IDLE_SHARE, SampledPolicy};
use super::device::{self, DeviceDecoding};
use super::{Completion, RolloutError, RolloutEvent, Streams};

/// Number of rows of a part on a CPU. It does not depend on the number of cores, so that results do not either.
const PART_ROWS: usize = 8;
/// Maximum number of parts. Larger batches have more rows per part.
const MOST_PARTS: usize = 32;
/// Maximum number of parameters of a model that fits into every core's caches. Weights of larger models are read from
/// memory, which is best done once for all rows and cores.
const SMALL: usize = 4 << 20;

/// The messages of a part's thread.
enum PartMessage {
    Finished { index: usize, completion: Completion },
    Tokens { tokens: usize, finished: usize },
}

/// The results of a part.
struct Decoded {
    completions: Vec<Completion>,
    begin: Instant,
    end: Instant,
}

/// Samples all parts. The order of events does not depend on the speed of the parts: each part in turn reports one more
/// token.
pub(super) fn decode(
    policy: &Policy,
    prompts: &[Prompt],
    config: &RolloutConfig,
    streams: Streams<'_>,
    observer: &mut dyn FnMut(RolloutEvent<'_>),
) -> Result<Vec<Completion>, RolloutError> {
    check_length(policy, prompts, config)?;
    let writer = SampledPolicy::new(policy)?;
    if let Some(drawing) = device::drawing(prompts, config) {
        let ids: Vec<&[u32]> = prompts.iter().map(|prompt| prompt.ids.as_slice()).collect();
        if let Some(batch) = policy.decoder().device_batch(&writer.weights, &ids, drawing)? {
            return DeviceDecoding::begin(policy, batch, prompts, config, streams).run(IDLE_SHARE, observer);
        }
    }
    let size = prompts_of_part(policy, config.num_generations, prompts.len());
    if size >= prompts.len() {
        return Decoding::begin(writer, prompts, config, streams)?.run(IDLE_SHARE, observer);
    }
    thread::scope(|scope| {
        let mut parts = Vec::new();
        for (number, prompts) in prompts.chunks(size).enumerate() {
            let first = number * size * config.num_generations;
            let streams = streams.after(first);
            let (sender, receiver) = channel();
            let writer = writer.clone();
            let part = scope.spawn(move || decode_part(writer, prompts, config, streams, &sender));
            parts.push((first, part, receiver));
        }
        relay(parts.iter().map(|(first, _, news)| (*first, news)).collect(), observer);
        let mut all = Vec::with_capacity(prompts.len() * config.num_generations);
        for (number, (first, part, _)) in parts.into_iter().enumerate() {
            let decoded = part.join().unwrap_or_else(|panic| resume_unwind(panic));
            let Decoded { completions, begin, end } = decoded.map_err(|error| moved(error, first))?;
            all.extend(completions);
            observer(RolloutEvent::PartDone { part: number, begin, end });
        }
        Ok(all)
    })
}

/// Refuses prompts and completions that exceed the model's context.
pub fn check_length(policy: &Policy, prompts: &[Prompt], config: &RolloutConfig) -> Result<(), RolloutError> {
    // What a conversation has had already counts towards the maximum length of its completion.
    let prompt = prompts.iter().map(|prompt| prompt.ids.len() - prompt.earlier.tokens).max().unwrap_or(0);
    let (completion, limit) = (config.max_completion_length, policy.decoder().config().max_position_embeddings);
    if prompt + completion > limit {
        return Err(RolloutError::TooLong { prompt, completion, limit });
    }
    Ok(())
}

/// Number of prompts of a part.
fn prompts_of_part(policy: &Policy, num_generations: usize, prompts: usize) -> usize {
    let decoder = policy.decoder();
    let in_parts = decoder.device().is_cpu() && decoder.config().parameters() <= SMALL;
    if in_parts { (PART_ROWS / num_generations).max(prompts.div_ceil(MOST_PARTS)).max(1) } else { prompts }
}

/// Samples one part on one thread.
fn decode_part(
    writer: SampledPolicy<'_>,
    prompts: &[Prompt],
    config: &RolloutConfig,
    streams: Streams<'_>,
    sender: &Sender<PartMessage>,
) -> Result<Decoded, RolloutError> {
    let begin = Instant::now();
    let mut tell = |event: RolloutEvent<'_>| {
        // The receiver is gone if another part has failed. The error is in the result of that part.
        let _ = sender.send(match event {
            RolloutEvent::Finished { index, completion } => {
                PartMessage::Finished { index, completion: completion.clone() }
            }
            RolloutEvent::Tokens { tokens, finished } => PartMessage::Tokens { tokens, finished },
            RolloutEvent::Predicted | RolloutEvent::PartDone { .. } | RolloutEvent::Trouble(_) => return,
        });
    };
    let alone = ThreadPoolBuilder::new().num_threads(1).build().map_err(candle_core::Error::wrap)?;
    let completions =
        alone.install(|| Decoding::begin(writer, prompts, config, streams)?.run(IDLE_SHARE, &mut tell))?;
    Ok(Decoded { completions, begin, end: Instant::now() })
}

/// Hands on what the parts tell until all have ended. Each comes with the index of its first completion.
fn relay(mut parts: Vec<(usize, &Receiver<PartMessage>)>, observer: &mut dyn FnMut(RolloutEvent<'_>)) {
    let mut counts = vec![(0, 0); parts.len()];
    let mut places: Vec<usize> = (0..parts.len()).collect();
    while !parts.is_empty() {
        let mut live = Vec::new();
        for (slot, (first, news)) in parts.iter().enumerate() {
            loop {
                match news.recv() {
                    Ok(PartMessage::Finished { index, completion }) => {
                        observer(RolloutEvent::Finished { index: first + index, completion: &completion });
                    }
                    Ok(PartMessage::Tokens { tokens, finished }) => {
                        counts[places[slot]] = (tokens, finished);
                        live.push(slot);
                        break;
                    }
                    Err(_) => break,
                }
            }
        }
        let (tokens, finished) = counts.iter().fold((0, 0), |sum, part| (sum.0 + part.0, sum.1 + part.1));
        observer(RolloutEvent::Tokens { tokens, finished });
        parts = live.iter().map(|slot| parts[*slot]).collect();
        places = live.iter().map(|slot| places[*slot]).collect();
    }
}

/// The error of a part in terms of the whole batch.
fn moved(error: RolloutError, first: usize) -> RolloutError {
    match error {
        RolloutError::NotFinite { index, token } => RolloutError::NotFinite { index: first + index, token },
        other => other,
    }
}
