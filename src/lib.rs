//! Teach a language model to write programs, by running them.

pub mod arena;
pub mod cli;
pub mod config;
pub mod corpus;
pub mod environment;
pub mod groups;
pub mod grpo;
pub mod metrics;
pub mod policy;
pub mod program;
pub mod prompt;
pub mod reward;
pub mod rollout;
pub mod seed;
pub mod train;
