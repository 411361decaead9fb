//! What follows where the tiers of the sandbox differ on a program: a warning, once for each program, or the end.

use std::collections::BTreeSet;
use std::fmt;

use grpo_sandbox::Difference;
use parking_lot::Mutex;
use serde::{Deserialize, Serialize};

use crate::config::OnDifference;

/// Programs that are warned of. A policy that has learnt to write more of them is no news.
const TOLD_MAX: usize = 20;

/// Characters of a call or an answer that a warning shows.
const SHOWN: usize = 200;

/// A program that compiled code ran otherwise than CPython, which is a bug of the compiled tier.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TierDifference {
    /// The call.
    pub asked: String,
    /// The compiled tier's answer.
    pub compiled: String,
    /// The interpreter's answer.
    pub interpreted: String,
    /// The seed of the program's `random`.
    pub seed: u64,
    /// The program's source.
    pub program: String,
}

impl fmt::Display for TierDifference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let TierDifference { asked, compiled, interpreted, seed, .. } = self;
        let [asked, compiled, interpreted] = [asked, compiled, interpreted].map(|text| shown(text));
        write!(
            f,
            "{asked} gave {compiled} compiled and {interpreted} interpreted, with seed {seed}; this is a bug, please \
             report it with the program:\n{}",
            self.program.trim_end()
        )
    }
}

fn shown(text: &str) -> String {
    text.chars().take(SHOWN).map(|c| if c.is_control() { ' ' } else { c }).collect()
}

impl From<Difference> for TierDifference {
    fn from(Difference { asked, compiled, interpreted, seed, program }: Difference) -> Self {
        TierDifference { asked, compiled, interpreted, seed, program }
    }
}

impl TierDifference {
    /// The object of a file that keeps it.
    pub fn to_json(&self) -> serde_json::Value {
        let TierDifference { asked, compiled, interpreted, seed, program } = self;
        let seed = seed.to_string();
        serde_json::json!({
            "program": program, "seed": seed, "asked": asked, "compiled": compiled, "interpreted": interpreted
        })
    }

    /// A warning that ends with `more`.
    pub(super) fn warn(&self, more: &str) {
        tracing::warn!("the sandbox's tiers differ on a program, and CPython judges it{more}: {self}");
    }
}

/// What is known of differences, for all batches of an arena.
pub(super) struct Differences {
    pub then: OnDifference,
    /// Digests of the programs that were warned of.
    told: Mutex<BTreeSet<[u8; 32]>>,
}

impl Differences {
    pub fn new(then: OnDifference) -> Differences {
        Differences { then, told: Mutex::default() }
    }

    /// Warns of a program that has not been warned of.
    pub fn warn(&self, difference: &TierDifference) {
        let mut told = self.told.lock();
        if told.len() < TOLD_MAX && told.insert(blake3::hash(difference.program.as_bytes()).into()) {
            let last = if told.len() == TOLD_MAX { "; further programs are counted alone" } else { "" };
            difference.warn(last);
        }
    }
}
