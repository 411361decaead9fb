//! What came of one completion.

use std::time::{Duration, Instant};

use grpo_sandbox::{Difference, Fault, FuelScope};
use serde::{Deserialize, Serialize};

use crate::environment::{Ending, Outcome, Verdict};
use crate::plural::counted;
use crate::program::Rejection;
use crate::stats;

/// The failure of a program that never chose a move.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
#[error("{reason}")]
pub struct FirstCallFault {
    pub ending: Ending,
    pub reason: String,
}

/// How far a program came at first.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Start {
    /// It chose at least one move in its first game, or answered a test.
    Played,
    /// It is no program.
    Rejected(Rejection),
    /// Its first call raised, hung, exhausted memory or returned no move. No further game was played.
    Faulted(FirstCallFault),
}

impl Start {
    /// Why it did not play, in words.
    pub fn reason(&self) -> Option<String> {
        match self {
            Start::Played => None,
            Start::Rejected(rejection) => Some(rejection.to_string()),
            Start::Faulted(fault) => Some(fault.to_string()),
        }
    }
}

/// What an evaluation cost, which depends on the machine, and what was seen of the sandbox on the way. No part of the
/// evidence, of its files or of digests.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct Usage {
    /// Each game that was played for this evaluation, in the order in which they ended.
    pub games: Vec<GameUsage>,
    /// Whether an identical program of the batch was played instead.
    pub reused: bool,
    /// Where the tiers differed in the first of its games in which they did. All its games were then played in the
    /// interpreter, and the evaluation is that of the interpreter.
    pub difference: Option<Box<Difference>>,
}

impl Usage {
    /// Games in which the sandbox failed and that were played again.
    pub fn retries(&self) -> usize {
        self.games.iter().filter(|game| game.failed).count()
    }
}

/// What one game cost: who played it, and when.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct GameUsage {
    /// Its place among the games of the evaluation.
    pub game: usize,
    /// The worker thread that played it; none when the caller's own did.
    pub worker: Option<usize>,
    /// When it began; none of a game that another process has played, whose clock is another one.
    #[serde(skip)]
    pub begin: Option<Instant>,
    /// Wall-clock time that it took.
    pub wall: Duration,
    /// Whether the sandbox failed in it, so that it was played again.
    pub failed: bool,
    /// Whether the program ran compiled from the first call to the last.
    pub compiled: bool,
}

/// What came of one completion: a pure function of the program, the seeds and the rules.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Evaluation {
    /// How far the program came at first. Digests have it under the name that it had in earlier versions.
    #[serde(rename = "verdict")]
    pub start: Start,
    /// One outcome a seed, in the order of the seeds; none for what is no program.
    pub games: Vec<Outcome>,
    #[serde(skip)]
    pub usage: Usage,
}

impl Evaluation {
    /// The evaluation of what is no program.
    pub fn rejected(rejection: Rejection) -> Evaluation {
        Evaluation { start: Start::Rejected(rejection), games: Vec::new(), usage: Usage::default() }
    }

    /// The same of a program for which an identical one was played.
    pub(super) fn reused(&self) -> Evaluation {
        // Nothing was played for it, but the tiers differ on it all the same.
        let difference = self.usage.difference.clone();
        Evaluation { usage: Usage { reused: true, difference, ..Usage::default() }, ..self.clone() }
    }

    /// What came of the completion, in a word; `cut`: whether it ended at the longest length allowed.
    pub fn verdict(&self, cut: bool) -> Verdict {
        match &self.start {
            _ if self.plays() => Verdict::Succeeded,
            Start::Rejected(_) | Start::Faulted(_) if cut => Verdict::Cut,
            Start::Rejected(Rejection::NoFunction { .. }) => Verdict::NoFunction,
            Start::Rejected(Rejection::NotCompiled { .. } | Rejection::TooLong { .. }) => Verdict::NotCompiled,
            Start::Faulted(fault) => fault.ending.into(),
            Start::Played => {
                let failed = self.games.iter().map(|game| game.ending).find(|ending| !ending.is_well());
                failed.map_or(Verdict::Succeeded, Verdict::from)
            }
        }
    }

    /// Why it failed, in words: why it did not play, or what ended the first game that it broke off, and after how many moves.
    pub fn reason(&self) -> Option<String> {
        let broken_off = || {
            let (game, number) = self.games.iter().zip(1..).find(|(game, _)| !game.ending.is_well())?;
            let moves = match game.moves() {
                0 => String::new(),
                moves => format!(" after {}", counted(moves as usize, "move")),
            };
            Some(format!("game {number}{moves}: {}", game.reason.as_ref()?))
        };
        self.start.reason().or_else(broken_off)
    }

    /// Mean score of the games; 0 without games.
    pub fn mean_score(&self) -> f64 {
        // No score is written as -0.
        stats::mean(self.games.iter().map(|game| game.score)) + 0.0
    }

    /// Whether every game went on to an ending that is no fault of the program: no move left, or budget used up.
    pub fn plays(&self) -> bool {
        matches!(self.start, Start::Played) && self.games.iter().all(|game| game.ending.is_well())
    }

    /// Largest tile that a program reached in any game; 0 when it did not play.
    pub fn max_tile(&self) -> u32 {
        match self.start {
            Start::Played => self.games.iter().map(|game| game.max_tile()).max().unwrap_or(0),
            Start::Rejected(_) | Start::Faulted(_) => 0,
        }
    }

    /// Digest, in hex, of all that must be the same on every machine.
    pub fn digest(&self) -> String {
        // What is said of a game that was broken off is no evidence beside how it ended.
        let games = self.games.iter().map(|game| Outcome { reason: None, ..game.clone() }).collect();
        let evidence = Evaluation { start: self.start.clone(), games, usage: Usage::default() };
        let evidence = serde_json::to_vec(&evidence).expect("an evaluation has string keys only");
        blake3::hash(&evidence).to_hex().to_string()
    }
}

/// Whether a reason says that the budget of a game was used up.
pub fn is_of_the_budget(reason: &str) -> bool {
    reason.ends_with(&Fault::OutOfFuel { scope: FuelScope::Game }.to_string())
}
