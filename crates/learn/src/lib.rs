//! The GRPO loop: a policy writes completions, their programs are judged, and it learns from their rewards.
//!
//! `docs/algorithm.md` has what is computed, and the first page of the program's library the functions of one step in their order.
//! [`train::Run`] is the loop; [`sft`] is the supervised start; [`evolve`] searches without updates. Does not know the command line or reports.

#![forbid(unsafe_code)]

pub mod evolve;
pub mod groups;
pub mod grpo;
pub mod parallel;
pub mod prompt;
pub mod rollout;
pub mod sft;
pub mod train;

pub use grpo_corpus as corpus;
pub use grpo_decoder as policy;
pub use grpo_record as metrics;
pub use grpo_verify::{
    arena, config, environment, evaluation, feedback, files, http, judge, plural, program, reward, seed, stats,
};
