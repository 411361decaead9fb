//! Runs one untrusted Python program within limits, by CPython as a WebAssembly component that imports nothing.
//!
//! Takes source text and a standard input, or arguments for the program's functions; returns its output or values, or
//! a typed [`Fault`], and the fuel used. Only values leave the sandbox: the caller decides what they are worth. A
//! program's behaviour depends on (source, seed, inputs, limits) and the committed interpreter alone: no clock takes
//! part, and no state survives a [`Session`].
//!
//! The README beside this package says what is promised and what is not.

#![deny(unsafe_code)]
#![warn(missing_docs)]

mod arguments;
mod artifact;
mod begun;
mod cache;
mod calls;
mod engine;
mod fault;
mod host;
mod interpreted;
mod machine_code;
#[cfg(all(test, target_arch = "x86_64", target_os = "linux"))]
mod processors;
mod session;
mod tiers;

/// What only the fuzz targets use.
#[cfg(fuzzing)]
pub mod fuzzing {
    use crate::Fault;
    use crate::fault::Phase;

    /// The faults that the host reads from a guest's answer to compiling, to loading a module, to running a script and to a
    /// call.
    pub fn faults(told: &str) -> [Fault; 4] {
        [Phase::Compile, Phase::Load, Phase::Script, Phase::Call].map(|phase| Fault::from_guest(told, phase))
    }
}

use std::path::{Path, PathBuf};
use std::time::Instant;

pub use artifact::{NUMPY_SHA256, SHA256, WASM_BYTES};
pub use fault::{Difference, Failure, Fault, FuelScope, HostError, Unloaded};
pub use grpo_sandbox_compiled::Outside;
pub use session::Session;
pub use tiers::TierChoice;

use begun::Begun;
use engine::{Interpreter, Interpreters};
use interpreted::Interpreted;
use tiers::{Ending, Tiers};

/// Fuel that one second of a reference core burns on Python search code. This defines "a second" in limits.
///
/// It is a constant, so that a budget in seconds is the same number of instructions on every machine.
pub const FUEL_PER_SECOND: u64 = 8_500_000_000;

/// One in so many sessions that run compiled code is played by the interpreter too.
pub const CHECK_ONE_IN: u32 = 50;

/// Sessions that may exist at once.
pub const SESSIONS_MAX: usize = 128;

/// Most linear memory that a session may be given, in bytes.
pub const MEMORY_MAX: u64 = 1 << 30;

/// Longest source that is handed to an interpreter, in bytes; a longer one does not compile. No sensible program is longer.
pub const SOURCE_MAX: usize = 256 << 10;

/// Stack that a thread which calls the sandbox should have, in bytes: the guest's part and room for the host. On a
/// thread with less, each call runs on a stack of its own, which costs more than a short call.
pub const THREAD_STACK: usize = 20 << 20;

/// What one session may use.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Fuel for the whole session, loading included.
    pub game_fuel: u64,
    /// Fuel for loading, and for each call.
    pub call_fuel: u64,
    /// Linear memory, including the 20 MiB of the interpreter and its library.
    pub memory_bytes: u64,
}

/// The result of a program that was run to its end.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ScriptRun {
    /// Its output, or its fault. A program that prints more than a MiB has failed. What it writes to its standard error is
    /// dropped.
    pub printed: Result<String, Fault>,
    /// Fuel used, loading included.
    pub fuel: u64,
}

/// The compiled interpreter and the compiled tier. A clone is cheap, and all threads share one.
#[derive(Clone)]
pub struct Sandbox {
    interpreters: std::sync::Arc<Interpreters>,
    tiers: Tiers,
    /// Whether every program has numpy.
    numpy: bool,
}

impl Sandbox {
    /// Opens the interpreter from the machine-code cache in `cache`. If the cache has no file for this program,
    /// processor and configuration, calls `on_compile`, compiles (about 18 CPU-seconds) and writes the file.
    pub fn open(cache: &Path, on_compile: impl FnOnce()) -> Result<Sandbox, HostError> {
        let plain = Interpreter::with(&engine::config(), cache, on_compile)?;
        Ok(Sandbox {
            interpreters: std::sync::Arc::new(Interpreters::new(plain, cache)),
            tiers: Tiers::new(TierChoice::Auto, CHECK_ONE_IN, cache),
            numpy: false,
        })
    }

    /// The same sandbox with another choice of tiers. One in `check_one_in` sessions is played by both tiers; 0 means
    /// none.
    pub fn with_tiers(&self, choice: TierChoice, check_one_in: u32) -> Sandbox {
        Sandbox { tiers: self.tiers.with(choice, check_one_in), ..self.clone() }
    }

    /// The same sandbox for what is worth running compiled alone: leaving that tier is [`HostError::LeftTier`]. `None`
    /// where nothing is compiled.
    pub fn compiled(&self) -> Option<Sandbox> {
        Some(Sandbox { tiers: self.tiers.compiled()?, ..self.clone() })
    }

    /// The same sandbox for what stands beside a program, such as the rules of its game: where only compiled code was asked
    /// for, this goes on in the interpreter.
    pub fn of_rules(&self) -> Sandbox {
        Sandbox { tiers: self.tiers.of_rules(), ..self.clone() }
    }

    /// The same sandbox without compiled code.
    pub fn interpreting(&self) -> Sandbox {
        self.with_tiers(TierChoice::Interpreter, 0)
    }

    /// The same sandbox, in which every program has numpy, not only one whose text says `numpy`.
    pub fn with_numpy(&self) -> Sandbox {
        Sandbox { numpy: true, ..self.clone() }
    }

    /// Whether a program has been run in the interpreter with numpy, here or in a clone: then verdicts depend on
    /// [`NUMPY_SHA256`] too.
    pub fn has_opened_numpy(&self) -> bool {
        self.interpreters.has_opened_numpy()
    }

    /// The interpreter for a program: with numpy by the program's text, so that the choice is the same everywhere. One that
    /// hides the word has no numpy, unless it is given it.
    fn interpreter(&self, source: &str) -> Result<std::sync::Arc<Interpreter>, HostError> {
        match self.numpy || source.contains("numpy") {
            true => self.interpreters.with_numpy(),
            false => Ok(std::sync::Arc::clone(&self.interpreters.plain)),
        }
    }

    /// The same sandbox, in which the compiled tier reads another text than the interpreter: for tests of what follows
    /// from a difference.
    #[doc(hidden)]
    pub fn misreading(&self, misread: fn(&str) -> String) -> Sandbox {
        Sandbox { tiers: self.tiers.misreading(misread), ..self.clone() }
    }

    /// The same sandbox, which has compiled no program yet: for `grpo-2048-bench`.
    #[doc(hidden)]
    pub fn emptied(&self) -> Result<Sandbox, HostError> {
        Ok(Sandbox { tiers: self.tiers.emptied()?, ..self.clone() })
    }

    /// The part of a program that the compiled tier does not support; `None` if the tier takes the program, which may
    /// still leave the tier when it runs.
    pub fn outside(&self, source: &str) -> Result<Option<Outside>, HostError> {
        self.tiers.outside(source)
    }

    /// The directory of the compiled interpreter: `$GRPO_2048_CACHE`, or `grpo-2048` in the user's cache directory.
    pub fn default_cache_dir() -> Result<PathBuf, HostError> {
        cache::default_dir()
    }

    /// A fresh interpreter in which `source` has run as a module. Nothing survives the session; the program has no
    /// input, and its output is dropped. Each tier counts its budget by itself.
    ///
    /// `seed` seeds `random`. Where the tiers differ, this or a call fails with [`HostError::TiersDiffer`], and the caller
    /// begins again in [`interpreting`](Sandbox::interpreting).
    pub fn load(&self, source: &str, seed: u64, limits: &Limits) -> Result<Session, Unloaded> {
        self.begin(source, seed, limits, Ending::Counted)
    }

    /// The same, for a program that is tried on tests: whichever tier runs it, its calls are answered or fail as they would
    /// be in the interpreter, at every edge of a budget. Compiled code gets the part of `limits` within which the
    /// interpreter is certain to stay; beyond it the interpreter runs the program, from its start and with all of `limits`.
    pub fn load_exact(&self, source: &str, seed: u64, limits: &Limits) -> Result<Session, Unloaded> {
        self.begin(source, seed, limits, Ending::Exact)
    }

    fn begin(&self, source: &str, seed: u64, limits: &Limits, ending: Ending) -> Result<Session, Unloaded> {
        let interpreter = self.interpreter(source)?;
        Session::load(&self.tiers, Begun { interpreter, source: source.to_owned(), seed, limits: *limits, ending })
    }

    /// Runs `source` as `__main__` with `stdin` as its standard input, in a fresh interpreter, to its last line or an
    /// exit with status 0.
    ///
    /// `seed` seeds `random`.
    pub fn run(&self, source: &str, stdin: &str, seed: u64, limits: &Limits) -> Result<ScriptRun, HostError> {
        let interpreter = self.interpreter(source)?;
        let (told, fuel) = match Interpreted::compile(&interpreter, source, limits) {
            Ok(mut session) => (session.script(seed, stdin), session.fuel_used()),
            Err(Unloaded { failure, fuel }) => (Err(failure), fuel),
        };
        let printed = match told {
            Ok(printed) => Ok(printed),
            Err(Failure::Program(fault)) => Err(fault),
            Err(Failure::Host(error)) => return Err(error),
        };
        Ok(ScriptRun { printed, fuel })
    }

    /// Fuel per second on this machine, measured now with a fixed program that resembles search.
    pub fn calibrate(&self) -> Result<f64, Failure> {
        const PROBE: &str = "def probe(rows):\n    n = 0\n    for i in range(400000):\n        \
                             row = [x for x in rows[i % 4] if x]\n        n += len(row) + i % 7\n    return n\n";
        let limits =
            Limits { game_fuel: 100 * FUEL_PER_SECOND, call_fuel: 100 * FUEL_PER_SECOND, memory_bytes: 128 << 20 };
        let mut session =
            Interpreted::load(&self.interpreters.plain, PROBE, 0, &limits).map_err(|unloaded| unloaded.failure)?;
        let (start, before) = (Instant::now(), session.fuel_used());
        session.call("probe", "[[[2,0,0,4],[2,0,0,4],[2,0,0,4],[2,0,0,4]]]")?;
        Ok((session.fuel_used() - before) as f64 / start.elapsed().as_secs_f64())
    }
}
