//! The caches of conversations between their turns: a further turn reads only what no turn before it has read or written.
//!
//! Every part of a batch keeps the cache that it has, so memory stays that of the first turn.

use super::GroupRequest;
use super::decoding::Start;
use crate::policy::Cache;

/// A part of a batch.
pub(super) struct Part<'a> {
    pub requests: &'a [GroupRequest<'a>],
    /// The indices of the completions whose rows its cache has, row by row.
    pub rows: Vec<usize>,
    pub start: Start,
}

/// The caches of a batch, part by part: the index of the completion of each row, and the rows.
///
/// They belong to the weights that the batch was sampled with.
#[derive(Debug)]
pub struct Caches(Vec<(Vec<usize>, Cache)>);

impl Caches {
    /// None if there are parts whose rows cannot be fed alone.
    pub(super) fn new(parts: Vec<(Vec<usize>, Cache)>) -> Option<Self> {
        parts.iter().all(|(_, cache)| cache.feeds_rows_alone()).then_some(Caches(parts))
    }

    /// The parts of a further turn. Caches of which no conversation goes on are freed.
    ///
    /// # Panics
    /// When requests have no rows here, or not in the order of the first turn: that is a bug of the caller.
    pub(super) fn parts<'a>(self, requests: &'a [GroupRequest<'a>]) -> Vec<Part<'a>> {
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
