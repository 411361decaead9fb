//! Samples a batch of a small model in parallel parts of a few rows, each on one core. The work for one token is too
//! small to be divided among cores, and the cache of few rows fits into a core's cache.

use std::panic::resume_unwind;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread;
use std::time::Instant;

use rayon::ThreadPoolBuilder;

use crate::policy::Policy;

use super::caches::{Caches, Part};
use super::decoding::{Decoding, Ended, IDLE_SHARE, Start, copies};
use super::device;
use super::length::check_length;
use super::{Assignment, Completion, GroupRequest, RolloutError, RolloutEvent};

/// Number of rows of a part on a CPU. It does not depend on the number of cores, so that results do not either.
const PART_ROWS: usize = 8;
/// Maximum number of parts. Larger batches have more rows per part.
const MOST_PARTS: usize = 32;
/// Maximum number of parameters of a model that fits into every core's caches. Weights of larger models are read from
/// memory, which is best done once for all rows and cores.
const SMALL: usize = 4 << 20;

/// The messages of a part's thread.
enum PartMessage {
    Finished(Completion),
    Tokens { tokens: usize, finished: usize },
}

struct Decoded {
    ended: Ended,
    begin: Instant,
    end: Instant,
}

/// Samples all parts. The order of events does not depend on the speed of the parts: each part in turn reports one more
/// token. Returns the caches too, unless a GPU has them or rows cannot be fed alone.
pub(super) fn decode(
    asked: Assignment<'_>,
    caches: Option<Caches>,
    observer: &mut dyn FnMut(RolloutEvent<'_>),
) -> Result<(Vec<Completion>, Option<Caches>), RolloutError> {
    let Assignment { policy, config, requests } = asked;
    check_length(policy, requests.iter().map(|request| request.prompt), config)?;
    if let Some(caches) = caches {
        return decode_parts(caches.parts(requests), asked, observer);
    }
    let weights = policy.decoder().snapshot()?;
    if let Some(completions) = device::decode(asked, &weights, observer)? {
        return Ok((completions, None));
    }
    let parts = requests.chunks(requests_of_part(policy, requests).max(1)).map(|requests| Part {
        requests,
        rows: requests.iter().flat_map(|request| request.ids.iter().map(|id| id.index)).collect(),
        start: Start::Prompts(weights.clone()),
    });
    decode_parts(parts.collect(), asked, observer)
}

/// A part that is the whole batch has all cores; otherwise each has a thread.
fn decode_parts(
    mut parts: Vec<Part<'_>>,
    asked: Assignment<'_>,
    observer: &mut dyn FnMut(RolloutEvent<'_>),
) -> Result<(Vec<Completion>, Option<Caches>), RolloutError> {
    if parts.len() == 1 {
        let Part { rows, start, .. } = parts.remove(0);
        let Ended { completions, cache } = Decoding::begin(start, asked)?.run(IDLE_SHARE, observer)?;
        return Ok((completions, Caches::new(vec![(rows, cache)])));
    }
    thread::scope(|scope| {
        let mut running = Vec::new();
        for Part { requests, rows, start } in parts {
            let (sender, receiver) = channel();
            let part = scope.spawn(move || decode_part(start, Assignment { requests, ..asked }, &sender));
            running.push((rows, part, receiver));
        }
        relay(running.iter().map(|(.., news)| news).collect(), observer);
        let (mut all, mut caches) = (Vec::new(), Vec::new());
        for (number, (rows, part, _)) in running.into_iter().enumerate() {
            let Decoded { ended, begin, end } = part.join().unwrap_or_else(|panic| resume_unwind(panic))?;
            all.extend(ended.completions);
            caches.push((rows, ended.cache));
            observer(RolloutEvent::PartDone { part: number, begin, end });
        }
        Ok((all, Caches::new(caches)))
    })
}

fn requests_of_part(policy: &Policy, requests: &[GroupRequest<'_>]) -> usize {
    let (decoder, all) = (policy.decoder(), requests.len());
    let in_parts = decoder.device().is_cpu() && decoder.config().parameters() <= SMALL;
    if in_parts { (PART_ROWS / copies(requests)).max(all.div_ceil(MOST_PARTS)).max(1) } else { all }
}

/// Samples one part on one thread.
fn decode_part(start: Start, asked: Assignment<'_>, sender: &Sender<PartMessage>) -> Result<Decoded, RolloutError> {
    let begin = Instant::now();
    let mut tell = |event: RolloutEvent<'_>| {
        // The receiver is gone if another part has failed. The error is in the result of that part.
        let _ = sender.send(match event {
            RolloutEvent::Finished(completion) => PartMessage::Finished(completion.clone()),
            RolloutEvent::Tokens { tokens, finished } => PartMessage::Tokens { tokens, finished },
            RolloutEvent::Predicted | RolloutEvent::PartDone { .. } | RolloutEvent::Trouble(_) => return,
        });
    };
    let alone = ThreadPoolBuilder::new().num_threads(1).build().map_err(candle_core::Error::wrap)?;
    let ended = alone.install(|| Decoding::begin(start, asked)?.run(IDLE_SHARE, &mut tell))?;
    Ok(Decoded { ended, begin, end: Instant::now() })
}

/// Hands on what the parts tell until all have ended.
fn relay(parts: Vec<&Receiver<PartMessage>>, observer: &mut dyn FnMut(RolloutEvent<'_>)) {
    let mut parts: Vec<_> = parts.into_iter().enumerate().collect();
    let mut counts = vec![(0, 0); parts.len()];
    while !parts.is_empty() {
        parts.retain(|(part, news)| {
            loop {
                match news.recv() {
                    Ok(PartMessage::Finished(completion)) => observer(RolloutEvent::Finished(&completion)),
                    Ok(PartMessage::Tokens { tokens, finished }) => {
                        counts[*part] = (tokens, finished);
                        break true;
                    }
                    Err(_) => break false,
                }
            }
        });
        let (tokens, finished) = counts.iter().fold((0, 0), |sum, part| (sum.0 + part.0, sum.1 + part.1));
        observer(RolloutEvent::Tokens { tokens, finished });
    }
}
