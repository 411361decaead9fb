//! Blocks, warps and lanes, and how they run a kernel.

mod access;
mod exchange;
mod launch;
mod shared;
mod warp;

pub use launch::Launch;
