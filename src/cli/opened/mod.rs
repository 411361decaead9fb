//! What commands open, each of them in the same way: models, environments in their sandbox, runs, programs, other processes,
//! and the machine that all of it is on.

pub mod gpu_watch;
pub mod interrupt;
pub mod loading;
pub mod machine;
pub mod peers;
pub mod playing;
pub mod programs;
pub mod reward_check;
pub mod runs;
