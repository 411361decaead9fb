//! What a program must do, and how it is judged.
//!
//! An [`Environment`] says what is asked of a policy ([`Briefing`]), what is looked for in its answers, which cases a
//! program is tried on, and what a score is worth. What becomes of a case is an [`Outcome`]. Pure: does not know where
//! programs come from, nor the sandbox in which they run.

mod briefing;
pub mod game2048;
mod outcome;
mod trace;

pub use briefing::{Briefing, Example, Request};
pub use outcome::{Case, Ending, Outcome, Points, points};
pub use trace::{BoardTrace, FailedTest, TestsTrace, Trace, Transcript};

use crate::program::Entry;
use crate::seed::Seed;

/// What programs are written for.
#[derive(Debug, Clone)]
pub enum Environment {
    /// The game 2048, its rules native.
    Game2048,
}

/// What scores of an environment are measured by.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Worth {
    /// Score that is worth 1.
    pub scale: f64,
    /// Score of a simple player that plays on; failures are measured against it.
    pub anchor: f64,
}

/// Why there is no such environment.
#[derive(Debug, thiserror::Error)]
pub enum EnvironmentError {
    /// Neither a known name nor a file of a known kind.
    #[error("{name}: expected \"2048\"")]
    Unknown {
        /// What the user said.
        name: String,
    },
}

impl Environment {
    /// The environment that a user names.
    pub fn open(name: &str) -> Result<Environment, EnvironmentError> {
        match name {
            game2048::NAME => Ok(Environment::Game2048),
            _ => Err(EnvironmentError::Unknown { name: name.to_owned() }),
        }
    }

    /// All that is said to a policy that reads words.
    pub fn briefing(&self) -> Briefing {
        match self {
            Environment::Game2048 => game2048::prompts::briefing().expect("the prompts are tested"),
        }
    }

    /// What the environment is called.
    pub fn name(&self) -> &str {
        match self {
            Environment::Game2048 => game2048::NAME,
        }
    }

    /// What a program must define to be tried on this case.
    pub fn entry(&self, _case: Case) -> Entry {
        match self {
            Environment::Game2048 => game2048::entry(),
        }
    }

    /// What a program is tried on: the task it was asked to solve, or one game for each of these seeds.
    pub fn cases(&self, task: Option<u32>, seeds: &[Seed]) -> Vec<Case> {
        match task {
            Some(task) => vec![Case::Task(task)],
            None => seeds.iter().map(|&seed| Case::Seed(seed)).collect(),
        }
    }

    /// The outcome of a case that ended before the program had answered anything.
    pub fn unplayed(&self, case: Case, ending: Ending) -> Outcome {
        match (self, case) {
            (Environment::Game2048, Case::Seed(seed)) => game2048::unplayed(seed, ending),
            (Environment::Game2048, Case::Task(_)) => unreachable!("2048 has no tasks"),
        }
    }

    /// Whether tests decide, and not a score.
    pub fn has_tests(&self) -> bool {
        match self {
            Environment::Game2048 => false,
        }
    }

    /// What scores are measured by.
    pub fn worth(&self) -> Worth {
        match self {
            Environment::Game2048 => game2048::WORTH,
        }
    }
}
