//! What follows where the tiers of the sandbox differ on a program: a warning, once for each program, or the end.

use std::collections::BTreeSet;

use grpo_sandbox::Difference;
use parking_lot::Mutex;

use crate::config::OnDifference;

/// Programs that are warned of. A policy that has learnt to write more of them is no news.
const WARNED_MAX: usize = 20;

/// Warns of a difference, in words that end with `more`.
pub(super) fn warn(difference: &Difference, more: &str) {
    tracing::warn!("the sandbox's tiers differ on a program, and CPython judges it{more}: {difference}");
}

/// What is known of differences, for all batches of an arena.
pub(super) struct Differences {
    pub then: OnDifference,
    /// Digests of the programs that were warned of.
    warned: Mutex<BTreeSet<[u8; 32]>>,
}

impl Differences {
    pub fn new(then: OnDifference) -> Differences {
        Differences { then, warned: Mutex::default() }
    }

    /// Warns of a program that has not been warned of.
    pub fn warn(&self, difference: &Difference) {
        let mut warned = self.warned.lock();
        if warned.len() < WARNED_MAX && warned.insert(blake3::hash(difference.program.as_bytes()).into()) {
            let last = if warned.len() == WARNED_MAX { "; further programs are counted alone" } else { "" };
            warn(difference, last);
        }
    }
}
