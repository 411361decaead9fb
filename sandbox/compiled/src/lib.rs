//! Compiles the Python that most programs are written in to WebAssembly and runs it, 9 to 35 times as fast as the
//! interpreter does.
//!
//! Takes the source of a program, gives a program that can be started and called. It never gives another answer than
//! CPython: whatever CPython would answer with an exception, and whatever is not modelled here, ends in
//! [`Stop::WayBack`], and the caller plays again in the interpreter. Knows no game and no interpreter.

#![forbid(unsafe_code)]
#![warn(missing_docs)]

mod arguments;
mod cache;
mod check;
mod emit;
mod engine;
mod layout;
mod outcome;
mod program;
mod scope;
mod session;
mod values;

pub use engine::CompiledTier;
pub use outcome::{GasScope, NotCompiled, Outside, Stop, TierError};
pub use program::CompiledProgram;
pub use session::CompiledSession;

/// Gas of what a second of processor time was, once, on the machine that the interpreter's fuel was measured on. Gas over
/// this is a budget in seconds that means the same in both tiers, within a factor of 0.63 to 1.35.
pub const GAS_PER_SECOND: u64 = 49_000_000;

/// Version of the table of what everything costs in gas. It is part of what a score is: scores under two tables do not
/// compare.
pub const COST_TABLE: u32 = 1;

/// What a program may use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GasLimits {
    /// Gas for loading and all calls together.
    pub game_gas: u64,
    /// Gas for loading, and for each call.
    pub call_gas: u64,
    /// Bytes of linear memory. A program that needs more is left to the interpreter.
    pub memory_bytes: u64,
}
