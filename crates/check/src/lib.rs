//! The check of a reward before a run, and the audit of other people's.
//!
//! Takes an environment and a reward; gives findings: references that fail, players of known strength in another order, cheats that are
//! paid. Judges everything along the path of training (`grpo-verify`), and knows no model.

#![forbid(unsafe_code)]

pub mod grader;
pub mod preflight;

use grpo_verify::{arena, config, environment, plural, program, reward, seed, stats};
