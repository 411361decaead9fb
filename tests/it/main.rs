//! The program and the library as a user meets them: commands, whole runs, judges and their servers. One executable, because
//! each would link the whole library again; `cargo test --release --test it training::` runs a part.

#[path = "../synthetic/chat_model.rs"]
mod chat_model;
mod inside;
mod program;
mod pty;
mod runs;
mod served;

mod arena;
mod asked;
mod check;
mod check_grader;
mod cli;
mod convert;
mod corpus;
mod cuda_build;
mod differences;
mod eval;
mod evaluation;
mod evaluators;
mod evolve;
#[cfg(feature = "cuda")]
mod faulty_gpu;
mod help;
#[cfg(target_os = "linux")]
mod install;
mod judge;
mod judge_cells;
mod judge_checkers;
mod judge_served;
mod kept_runs;
mod memory_refused;
mod models;
mod one_record;
mod page;
mod parallel;
mod pools;
mod readers;
mod rollouts;
mod score;
mod script_games;
mod steps_ahead;
mod task_budgets;
mod terminal;
mod tiers;
mod trace;
mod training;
mod trl;
mod turns;
mod verify;
