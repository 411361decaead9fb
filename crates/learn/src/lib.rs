//! The GRPO loop: a policy writes completions, their programs are judged, and it learns from their rewards.
//!
//! `docs/algorithm.md` has what is computed, and the first page of the program's library the functions of one step in their order.
//! [`train::Run`] is the loop; [`sft`] is the supervised start; [`evolve`] searches for one program. Does not know the command line or reports.

#![forbid(unsafe_code)]

pub mod evolve;
pub mod grpo;
pub mod sft;
pub mod train;

pub use grpo_corpus as corpus;
pub use grpo_decoder as policy;
pub use grpo_parallel as parallel;
pub use grpo_record as metrics;
pub use grpo_rollout as rollout;
pub use grpo_rollout::{groups, prompt};
pub use grpo_verify::{
    arena, causes, config, environment, evaluation, feedback, files, http, json_line, judge, plural, program, reward,
    seed, shell, stats,
};

/// The tiny policy of the rollout tests, shared with the tests here.
#[cfg(test)]
#[path = "../../rollout/src/fixture.rs"]
mod fixture;
