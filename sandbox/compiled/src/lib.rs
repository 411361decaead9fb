//! Compiles the Python that most programs use to WebAssembly and runs it, 9 to 35 times as fast as the interpreter.
//!
//! Takes the source of a program, gives a program that can be started and called. Its answers are always those of
//! CPython: whatever would raise an exception in CPython, and whatever the tier does not support, ends in
//! [`Stop::GivenUp`], and the caller runs the program in the interpreter instead. Knows no game and no interpreter.

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
mod runtime;
mod scope;
mod session;
mod values;

pub use engine::CompiledTier;
pub use outcome::{GasScope, NotCompiled, Outside, Stop, TierError};
pub use program::CompiledProgram;
pub use session::CompiledSession;

/// Version of the table of gas costs. Scores under different tables are not comparable.
pub const COST_TABLE: u32 = 6;

/// What a program may use. A unit of gas is a unit of the interpreter's fuel: each operation is charged what CPython
/// spends on it, by measurement (`COSTS.md`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GasLimits {
    /// Gas for loading and for all calls together.
    pub game_gas: u64,
    /// Gas for loading, and for each call.
    pub call_gas: u64,
    /// Bytes of values. A program that makes more in one call and keeps more from others is left to the interpreter.
    pub memory_bytes: u64,
}
