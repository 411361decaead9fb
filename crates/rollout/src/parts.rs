//! Samples a batch of a small model in parallel parts of a few rows, each on one core. The work for one token is too
//! small to be divided among cores, and the cache of few rows fits into a core's cache.
//!
//! A further turn of conversations reads only what no turn before it has read or written: every part of a batch keeps the
//! cache that it has, so memory stays that of the first turn.

use std::panic::resume_unwind;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread;
use std::time::Instant;

use rayon::ThreadPoolBuilder;

use crate::policy::{Cache, Policy};

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

/// A part of a batch.
struct Part<'a> {
    requests: &'a [GroupRequest<'a>],
    /// The indices of the completions whose rows its cache has, row by row.
    rows: Vec<usize>,
    start: Start,
}

/// The caches of a batch, part by part: the index of the completion of each row, and the rows.
///
/// They belong to the weights that the batch was sampled with.
#[derive(Debug)]
pub struct Caches(Vec<(Vec<usize>, Cache)>);

impl Caches {
    /// None if there are parts whose rows cannot be fed alone.
    fn new(parts: Vec<(Vec<usize>, Cache)>) -> Option<Self> {
        parts.iter().all(|(_, cache)| cache.feeds_rows_alone()).then_some(Caches(parts))
    }

    /// The parts of a further turn. Caches of which no conversation goes on are freed.
    ///
    /// # Panics
    /// When requests have no rows here, or not in the order of the first turn: that is a bug of the caller.
    fn parts<'a>(self, requests: &'a [GroupRequest<'a>]) -> Vec<Part<'a>> {
        let (mut parts, mut rest) = (Vec::new(), requests);
        for (rows, cache) in self.0 {
            let slot = |request: &GroupRequest<'_>| rows.iter().position(|index| *index == request.ids[0].index);
            let slots: Vec<usize> = rest.iter().map_while(slot).collect();
            let (requests, others) = rest.split_at(slots.len());
            rest = others;
            if !requests.is_empty() {
                parts.push(Part { requests, rows, start: Start::Rows(cache, slots) });
            }
        }
        assert!(rest.is_empty(), "every conversation has a cache, in the order of the first turn");
        parts
    }
}

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

/// [Samples](super::sample) a turn of conversations. Takes the caches of the turn before, if there are any, and returns its
/// own, so that a turn reads what is new alone. Its bits are those without caches. There are none on a GPU, in 16-bit
/// formats and of servers. The order of events does not depend on the speed of the parts: each part in turn reports one
/// more token.
///
/// `asked.requests` are some of those of the turn before, in their order, one for each conversation.
pub fn converse(
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
