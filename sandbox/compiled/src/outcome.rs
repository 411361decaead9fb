//! How compiling and running can fail, and whose fault that is.

use std::fmt;

/// A construct that the tier does not compile, and its place. The program itself may be correct.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Outside {
    /// Line of the source, from 1.
    pub line: usize,
    /// The construct in a few words.
    pub construct: String,
}

impl fmt::Display for Outside {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {}: {}", self.line, self.construct)
    }
}

/// Why there is no compiled program.
#[derive(Clone, Debug, thiserror::Error)]
pub enum NotCompiled {
    /// The program has a construct that the tier does not compile, or that does not compile in Python either.
    #[error("{0}")]
    Outside(Outside),
    /// An error of the host.
    #[error(transparent)]
    Machine(TierError),
}

/// The budget that ran out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GasScope {
    /// The budget of one call. The program probably hangs.
    Call,
    /// The budget of the whole game.
    Game,
}

/// Why a call has no value.
#[derive(Clone, Debug, thiserror::Error)]
pub enum Stop {
    /// The budget is used up. This is final: the interpreter would run out of fuel too.
    #[error("out of gas ({scope:?})")]
    OutOfGas {
        /// The budget that is used up.
        scope: GasScope,
    },
    /// The tier does not know what CPython would do; the program must be run in the interpreter.
    #[error("given up: {reason}")]
    GivenUp {
        /// The reason in a few words.
        reason: &'static str,
    },
    /// An error of the host.
    #[error(transparent)]
    Machine(TierError),
}

/// An error of the host or of this package.
#[derive(Clone, Debug, thiserror::Error)]
pub enum TierError {
    /// The embedded runtime is damaged.
    #[error("the embedded runtime {0}; the program is damaged, build it again")]
    Runtime(String),
    /// The system refused memory that a program may have.
    #[error("the system refused memory for a compiled program: {0}; use fewer workers or a smaller sandbox.memory_mib")]
    Memory(String),
    /// A call ran far longer than its gas can last.
    #[error(
        "a compiled program ran for {seconds} seconds within its gas; switch the compiled tier off and report this"
    )]
    Overrun {
        /// Seconds that the call ran at least.
        seconds: u64,
    },
    /// An unexpected error of wasmtime.
    #[error("compiled tier: {0}")]
    Engine(String),
}

impl TierError {
    // Wasmtime's error is no `std::error::Error`; its alternate form shows the whole chain.
    pub(crate) fn engine(error: wasmtime::Error) -> TierError {
        TierError::Engine(format!("{error:#}"))
    }
}
