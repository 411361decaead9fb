//! Shows a run directory as one HTML page: curves, verdicts, programs, games and tests. The page fetches nothing from
//! other sites.
//!
//! Takes directories that a run of this or an earlier version wrote or is writing; returns HTML. Reads files only, and
//! knows neither models nor the sandbox. Text of programs is part of the page as JSON that cannot end its script
//! element, and the page shows it as text, never as markup.

#![forbid(unsafe_code)]

mod card;
mod columns;
mod completions;
mod configuration;
mod error;
mod follow;
mod frames;
mod log;
mod page;
mod run;
mod tasks;

pub use card::{CardSubject, Training, card};
pub use completions::{
    LoggedCompletion, LoggedEvaluation, LoggedTurn, completion_files, parse_completions, read_completions, step_floor,
};
pub use follow::Follower;
pub use frames::LoggedGame;
pub use page::{Refresh, html, json};
pub use run::{RunReader, RunView};

pub use error::ReportError;

use grpo_learn::{environment, files, http, metrics, plural, seed, stats, train};

#[cfg(test)]
mod tests;
