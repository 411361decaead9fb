//! What commands open, each of them in the same way: models, environments in their sandbox, runs, programs, other processes,
//! and the machine that all of it is on.

pub mod arena;
pub mod gpu_watch;
pub mod interrupt;
pub mod machine;
pub mod model;
pub mod peers;
pub mod programs;
pub mod reward_check;
pub mod runs;
