//! How compiling and running end when they do not end well, and whose doing that is.

use std::fmt;

/// What the tier does not compile: the construct, and where it is. Nothing is wrong with the program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Outside {
    /// Line of the source, from 1.
    pub line: usize,
    /// What is written there, in a few words.
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
    /// The program has something that the tier does not compile, or would not compile in Python either.
    #[error("{0}")]
    Outside(Outside),
    /// The machine's fault.
    #[error(transparent)]
    Machine(TierError),
}

/// Which budget is spent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GasScope {
    /// That of one call.
    Call,
    /// That of the whole game.
    Game,
}

/// Why a program has no value.
#[derive(Clone, Debug, thiserror::Error)]
pub enum Stop {
    /// The budget is spent. Final: the interpreter would end so too.
    #[error("out of gas ({scope:?})")]
    OutOfGas {
        /// Which budget.
        scope: GasScope,
    },
    /// What CPython would do is not known here: play again in the interpreter.
    #[error("way back: {reason}")]
    WayBack {
        /// What was met, in a few words.
        reason: &'static str,
    },
    /// The machine's fault.
    #[error(transparent)]
    Machine(TierError),
}

/// Something of ours that failed.
#[derive(Clone, Debug, thiserror::Error)]
pub enum TierError {
    /// The embedded runtime is damaged.
    #[error("the embedded runtime {0}; the program is damaged, build it again")]
    Runtime(String),
    /// The system refused memory that a program may have.
    #[error("the system refused memory for a compiled program: {0}; use fewer workers or a smaller sandbox.memory_mib")]
    Memory(String),
    /// A call ran far longer than its gas may last.
    #[error(
        "a compiled program ran for {seconds} seconds within its gas; switch the compiled tier off and report this"
    )]
    Overrun {
        /// The least that it ran.
        seconds: u64,
    },
    /// Wasmtime refused something it should not.
    #[error("compiled tier: {0}")]
    Engine(String),
}

impl TierError {
    // Wasmtime's error is no `std::error::Error`; its alternate form is the whole chain.
    pub(crate) fn engine(error: wasmtime::Error) -> TierError {
        TierError::Engine(format!("{error:#}"))
    }
}
