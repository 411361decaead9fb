//! What earlier batches found out: a program on its boards, under the same rules, does what it did before.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use parking_lot::Mutex;

use super::evaluation::Evaluation;
use super::play::Numbered;

/// What was played.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct CacheKey {
    /// The exact source: fuel, which may decide a score, sees even comments.
    pub source: Arc<str>,
    pub cases: Vec<Numbered>,
}

/// Evaluations that are kept; the oldest go first. At a few KiB each, some MiB.
const MOST: usize = 512;

/// Evaluations by program and boards, under one set of rules.
#[derive(Default)]
pub(super) struct EvaluationCache {
    kept: Mutex<Kept>,
}

#[derive(Default)]
struct Kept {
    evaluations: BTreeMap<CacheKey, Evaluation>,
    order: VecDeque<CacheKey>,
}

impl EvaluationCache {
    pub fn get(&self, key: &CacheKey) -> Option<Evaluation> {
        self.kept.lock().evaluations.get(key).cloned()
    }

    pub fn insert(&self, key: CacheKey, evaluation: Evaluation) {
        let mut kept = self.kept.lock();
        if kept.evaluations.insert(key.clone(), evaluation).is_none() {
            kept.order.push_back(key);
        }
        if kept.order.len() > MOST
            && let Some(oldest) = kept.order.pop_front()
        {
            kept.evaluations.remove(&oldest);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::program::Rejection;
    use crate::seed::{Purpose, Seed};

    fn key(number: u64) -> CacheKey {
        let cases = vec![Numbered { number: 0, case: Seed::root(1).child(Purpose::HeldOut, number).into() }];
        CacheKey { source: format!("def strategy(board): return {number}").into(), cases }
    }

    #[test]
    fn the_oldest_is_forgotten_when_there_are_too_many() {
        let cache = EvaluationCache::default();
        let evaluation = Evaluation::rejected(Rejection::NoFunction { wanted: String::new() });
        for number in 0..=MOST as u64 {
            cache.insert(key(number), evaluation.clone());
            cache.insert(key(number), evaluation.clone());
        }
        assert!(cache.get(&key(0)).is_none());
        assert!(cache.get(&key(1)).is_some());
        assert!(cache.get(&key(MOST as u64)).is_some());
        assert_eq!(cache.kept.lock().evaluations.len(), MOST);
        let elsewhere = CacheKey { cases: key(2).cases, ..key(1) };
        assert!(cache.get(&elsewhere).is_none(), "the same program on other boards");
    }
}
