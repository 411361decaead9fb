//! Rewards for programs that language models write.
//!
//! ```text
//! completion -> program -> arena: cases of an environment, played in the sandbox -> evaluation -> reward
//! ```
//!
//! Takes text and gives numbers with their reasons. Knows no model, no tokens and no training: trainers of all kinds depend on it, the
//! one beside it among them. [`judge::Judge`] is the whole way at once; the modules are its parts.

#![forbid(unsafe_code)]

pub mod arena;
pub mod evaluation;
pub mod feedback;
pub mod judge;
pub mod reward;

pub use grpo_base::{causes, files, http, json_line, plural, seed, shell, stats};
pub use grpo_config as config;
pub use grpo_environment as environment;
pub use grpo_environment::program;
pub use grpo_sandbox as sandbox;
