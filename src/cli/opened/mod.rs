//! What commands open, all in the same way: models, arenas, runs, programs, tasks, the processes of a job, and the machine.

pub mod arena;
mod cgroups;
pub mod gpu_watch;
pub mod interrupt;
pub mod machine;
pub mod model;
pub mod peers;
pub mod programs;
pub mod reward_check;
pub mod rows;
pub mod runs;
pub mod tasks;
