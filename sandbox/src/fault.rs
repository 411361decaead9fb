//! Faults of the program and errors of the host.

use serde::{Deserialize, Serialize};
use std::fmt;

pub use grpo_sandbox_compiled::GasScope as FuelScope;
use grpo_sandbox_compiled::TierError;

/// What the system says when it has no memory left (`ENOMEM`).
const NO_MEMORY: &str = "Cannot allocate memory";

/// Longest text of a fault, in characters.
const TEXT_MAX: usize = 200;

/// Why a session did not return a value.
#[derive(Debug, thiserror::Error)]
pub enum Failure {
    /// A fault of the program: evidence for the reward.
    #[error("{0}")]
    Program(Fault),
    /// An error of the host: never a score.
    #[error(transparent)]
    Host(#[from] HostError),
}

/// Why there is no session, and what was spent before that was known.
#[derive(Debug, thiserror::Error)]
#[error("{failure}")]
pub struct Unloaded {
    /// Why.
    pub failure: Failure,
    /// Fuel that the program used.
    pub fuel: u64,
}

impl<E: Into<Failure>> From<E> for Unloaded {
    fn from(failure: E) -> Self {
        Unloaded { failure: failure.into(), fuel: 0 }
    }
}

/// The call into the guest that an answer belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Phase {
    /// The interpreter compiles the source; none of the program's code has run.
    Compile,
    /// The top level runs as a module, and returns no value.
    Load,
    /// The source runs as a whole program.
    Script,
    /// A function is called.
    Call,
}

/// A fault of the program. Texts are truncated and stripped of control characters, but the program chose them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Fault {
    /// The source does not compile.
    NotCompiled {
        /// Line of the first error, from 1.
        line: u32,
        /// The compiler's message.
        message: String,
    },
    /// A budget of fuel is used up.
    OutOfFuel {
        /// The budget that is used up.
        scope: FuelScope,
    },
    /// A `MemoryError`, or a trap after memory was denied.
    OutOfMemory,
    /// A `RecursionError`, or an overflow of the machine stack.
    StackOverflow {
        /// The last line of the program that a `RecursionError` passed through; none for an overflow, which is a trap.
        line: Option<u32>,
    },
    /// An exception, or a trap of the interpreter.
    Raised {
        /// The exception's type; `Trap` for a trap.
        kind: String,
        /// The type as CPython's traceback names it, with its module: `json.decoder.JSONDecodeError`.
        full_name: String,
        /// Its message.
        message: String,
        /// The last line of the program that it passed through, from 1; none for a trap, and where the program's own code
        /// did not run.
        line: Option<u32>,
    },
    /// A value that cannot be passed out, or more text than is allowed.
    BadValue {
        /// What was returned instead.
        found: String,
    },
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Fault::NotCompiled { line, message } => write!(f, "does not compile: line {line}: {message}"),
            Fault::OutOfFuel { scope: FuelScope::Call } => f.write_str("one call used more than a call may"),
            Fault::OutOfFuel { scope: FuelScope::Game } => f.write_str("budget used up"),
            Fault::OutOfMemory => f.write_str("out of memory"),
            Fault::StackOverflow { line: Some(line) } => write!(f, "stack overflow (line {line})"),
            Fault::StackOverflow { line: None } => f.write_str("stack overflow"),
            Fault::Raised { kind, message, line, .. } => {
                let message = if message.is_empty() { kind.clone() } else { format!("{kind}: {message}") };
                match line {
                    Some(line) => write!(f, "{message} (line {line})"),
                    None => f.write_str(&message),
                }
            }
            Fault::BadValue { found } => write!(f, "returned {found}"),
        }
    }
}

impl Fault {
    /// The fault of a call after the one that ended the session.
    pub(crate) fn spent() -> Fault {
        Fault::trapped("Spent", "called again after a trap".into())
    }

    /// What did not come from the program's own raising.
    pub(crate) fn trapped(kind: &str, message: String) -> Fault {
        Fault::Raised { kind: kind.into(), full_name: kind.into(), message, line: None }
    }

    /// The same fault of a source that is being compiled: whatever the interpreter cannot take in it, such as how deep it
    /// nests, is a refusal to compile; a limit that was met on the way is itself.
    pub(crate) fn when_compiled(self) -> Fault {
        match self {
            Fault::StackOverflow { .. } | Fault::Raised { .. } => {
                Fault::NotCompiled { line: 1, message: format!("the compiler gives up: {self}") }
            }
            fault => fault,
        }
    }

    /// Reads the guest's report of a fault.
    ///
    /// The host knows which call the report came from. A report that the source does not compile is believed only
    /// before any of the program's code has run. Any later report may be the program's own words, and counts as a
    /// failure at run time whatever it says.
    pub(crate) fn from_guest(text: &str, phase: Phase) -> Fault {
        let fields: Vec<&str> = text.splitn(5, '\n').collect();
        match fields[..] {
            ["not-compiled", line, message] if phase == Phase::Compile => {
                Fault::NotCompiled { line: line.parse().unwrap_or(1), message: clean(message) }
            }
            ["bad-value", found] if matches!(phase, Phase::Script | Phase::Call) => {
                Fault::BadValue { found: clean(found) }
            }
            ["raised", "MemoryError", ..] => Fault::OutOfMemory,
            ["raised", "RecursionError", ref rest @ ..] => {
                Fault::StackOverflow { line: rest.first().and_then(|line| line_of(line)) }
            }
            ["raised", kind, line, message, ref rest @ ..] => {
                let full_name = rest.first().copied().filter(|name| !name.is_empty()).unwrap_or(kind);
                Fault::Raised {
                    kind: clean(kind),
                    full_name: clean(full_name),
                    message: clean(message),
                    line: line_of(line),
                }
            }
            _ => Fault::trapped("Forged", clean(text)),
        }
    }
}

/// A line as the guest tells it, which is 0 where there is none.
fn line_of(told: &str) -> Option<u32> {
    told.parse().ok().filter(|line| *line > 0)
}

/// Truncates an untrusted text and replaces its control characters.
pub(crate) fn clean(text: &str) -> String {
    text.chars().take(TEXT_MAX).map(|c| if c.is_control() { ' ' } else { c }).collect::<String>().trim_end().to_owned()
}

/// An error of the host or of this package.
#[derive(Debug, thiserror::Error)]
pub enum HostError {
    /// No home directory to keep a cache in.
    #[error(
        "no cache directory: neither $GRPO_2048_CACHE nor a home directory is set; set \
         GRPO_2048_CACHE to a directory that you alone may write to"
    )]
    NoCacheDir,
    /// The embedded interpreter is damaged.
    #[error("the embedded interpreter {0}; the program is damaged, build it again")]
    Artifact(String),
    /// The system refused memory that a program may have.
    #[error(
        "the system refused memory for a sandbox: {0}; use fewer workers or a smaller sandbox.memory_mib, or lift the \
         limit (`ulimit -a` shows it)"
    )]
    Memory(String),
    /// The system refused address space for the guard regions around the memory of programs.
    #[error(
        "the system refused address space for the sandbox: {0}; it reserves some 540 GB, of which little is ever used: \
         lift the limit with `ulimit -v unlimited`"
    )]
    AddressSpace(String),
    /// The arguments of a call are not a list of values.
    #[error("arguments of a call: {0}; expected a JSON array, with the tags of the sandbox's README")]
    Arguments(String),
    /// The interpreter answered otherwise than compiled code did. The program is judged by the interpreter from its start,
    /// in [`Sandbox::interpreting`](crate::Sandbox::interpreting).
    #[error("the compiled tier and the interpreter differ: {0}")]
    TiersDiffer(Box<Difference>),
    /// A program left the compiled tier although only that tier was asked for.
    #[error("a program leaves the compiled tier: {0}; sandbox.tier = \"auto\" goes on in the interpreter")]
    LeftTier(String),
    /// An unexpected error of wasmtime.
    #[error("sandbox: {0}")]
    Engine(String),
}

/// A program that compiled code ran otherwise than CPython, which is a bug of the compiled tier.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
#[error(
    "{} gave {} compiled and {} interpreted, with seed {seed}; this is a bug, please report it with the program:\n{}",
    clean(asked),
    clean(compiled),
    clean(interpreted),
    printable(program)
)]
pub struct Difference {
    /// The call.
    pub asked: String,
    /// The compiled tier's answer.
    pub compiled: String,
    /// The interpreter's answer.
    pub interpreted: String,
    /// The seed of the program's `random`.
    pub seed: u64,
    /// The program's source.
    pub program: String,
}

impl Difference {
    /// The object of a file that keeps it. JSON's numbers are too short for seeds.
    pub fn to_json(&self) -> serde_json::Value {
        let Difference { asked, compiled, interpreted, seed, program } = self;
        let seed = seed.to_string();
        serde_json::json!({
            "program": program, "seed": seed, "asked": asked, "compiled": compiled, "interpreted": interpreted
        })
    }
}

/// A source for a terminal: without control characters but the ends of its lines.
fn printable(source: &str) -> String {
    source.trim_end().chars().map(|c| if c.is_control() && c != '\n' { ' ' } else { c }).collect()
}

impl HostError {
    // Wasmtime's error is no `std::error::Error`; its alternate form shows the whole chain.
    pub(crate) fn engine(error: wasmtime::Error) -> HostError {
        HostError::of_engine(format!("{error:#}"))
    }

    fn of_engine(words: String) -> HostError {
        match &words {
            reserve if reserve.contains("mmap failed to reserve") => HostError::AddressSpace(words),
            refused if refused.contains(NO_MEMORY) => HostError::Memory(words),
            _ => HostError::Engine(words),
        }
    }

    /// Recognises the engine's panic when the system refuses memory; `None` for a panic that is a bug.
    pub fn of_panic(words: &str) -> Option<HostError> {
        words.contains("sigaltstack").then(|| HostError::Memory(words.to_owned()))
    }

    /// The same error in the words of the compiled tier, which [`tier`](Self::tier) reads.
    pub(crate) fn into_tier(self) -> TierError {
        match self {
            HostError::Engine(words) | HostError::Memory(words) | HostError::AddressSpace(words) => {
                TierError::Engine(words)
            }
            other => TierError::Engine(other.to_string()),
        }
    }

    pub(crate) fn tier(error: TierError) -> HostError {
        match error {
            TierError::Memory(words) => HostError::Memory(words),
            TierError::Engine(words) => match HostError::of_engine(words) {
                HostError::Engine(words) => HostError::Engine(format!("compiled tier: {words}")),
                refused => refused,
            },
            other => HostError::Engine(format!("compiled tier: {other}")),
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_difference_is_told_with_the_program_and_no_control_characters() {
        let of = |text: &str| text.to_owned();
        let program = of("def f(x):\n    return '\u{1b}[2J'\n");
        let (asked, compiled) = (of("f[1]\u{7}"), of("1\n2"));
        let told = Difference { asked, compiled, interpreted: of("2"), seed: 7, program }.to_string();
        assert!(told.ends_with("def f(x):\n    return ' [2J'"), "{told:?}");
        assert!(told.starts_with("f[1] gave 1 2 compiled and 2 interpreted, with seed 7"), "{told:?}");
    }

    #[test]
    fn what_the_system_refuses_is_told_with_what_helps() {
        let reserved = HostError::engine(wasmtime::Error::msg("mmap failed to reserve 0x8102000000 bytes")).to_string();
        assert!(reserved.contains("0x8102000000") && reserved.contains("ulimit -v unlimited"), "{reserved}");
        for words in
            ["mmap failed to allocate 0xec00000 bytes: Cannot allocate memory", "Cannot allocate memory (os error 12)"]
        {
            let refused = HostError::engine(wasmtime::Error::msg(words));
            assert!(matches!(refused, HostError::Memory(_)), "{refused}");
            let refused = HostError::tier(TierError::Engine(words.into()));
            assert!(matches!(refused, HostError::Memory(_)), "{refused}");
        }
        assert!(matches!(HostError::engine(wasmtime::Error::msg("no such export")), HostError::Engine(_)));
        let stack = HostError::of_panic("mprotect to configure memory for sigaltstack failed: Cannot allocate memory");
        assert!(stack.unwrap().to_string().contains("use fewer workers"));
        assert!(HostError::of_panic("index out of bounds").is_none());
    }

    #[test]
    fn a_refusal_to_compile_counts_only_before_the_program_has_run() {
        let told = "not-compiled\n3\ninvalid syntax";
        let refused = Fault::NotCompiled { line: 3, message: "invalid syntax".into() };
        assert_eq!(Fault::from_guest(told, Phase::Compile), refused);
        for phase in [Phase::Load, Phase::Script, Phase::Call] {
            let forged = Fault::from_guest(told, phase);
            assert!(matches!(&forged, Fault::Raised { kind, .. } if kind == "Forged"), "{phase:?}: {forged:?}");
        }
    }

    #[test]
    fn an_exception_has_the_name_of_tracebacks_beside_its_own_and_a_recursion_its_line() {
        for (told, expected) in
            [("raised\nE\n3\nx\nm.A.E", "m.A.E"), ("raised\nE\n3\nx\n", "E"), ("raised\nE\n3\nx", "E")]
        {
            let fault = Fault::from_guest(told, Phase::Call);
            assert_eq!(fault.to_string(), "E: x (line 3)");
            assert!(matches!(&fault, Fault::Raised { full_name, .. } if full_name == expected), "{fault:?}");
        }
        for (line, told) in [("3", "stack overflow (line 3)"), ("0", "stack overflow")] {
            let fault = Fault::from_guest(&format!("raised\nRecursionError\n{line}\nmaximum"), Phase::Call);
            assert_eq!(fault.to_string(), told);
        }
    }

    #[test]
    fn what_the_compiler_cannot_take_is_not_compiled_and_a_limit_is_a_limit() {
        let message = "the compiler gives up: stack overflow".to_owned();
        assert_eq!(Fault::StackOverflow { line: None }.when_compiled(), Fault::NotCompiled { line: 1, message });
        let limit = Fault::OutOfFuel { scope: FuelScope::Call };
        assert_eq!([limit.clone(), Fault::OutOfMemory].map(Fault::when_compiled), [limit, Fault::OutOfMemory]);
    }

    fn phase() -> impl Strategy<Value = Phase> {
        prop_oneof![Just(Phase::Compile), Just(Phase::Load), Just(Phase::Script), Just(Phase::Call)]
    }

    /// Texts that resemble the guest's reports, and arbitrary texts.
    fn told() -> impl Strategy<Value = String> {
        let kind = prop_oneof![Just("not-compiled"), Just("no-function"), Just("bad-value"), Just("raised"), Just("")];
        let field = prop_oneof![any::<String>(), "[0-9]{1,30}", Just("MemoryError".to_owned()), "\\PC{0,400}"];
        let near = (kind, proptest::collection::vec(field, 0..5))
            .prop_map(|(kind, fields)| std::iter::once(kind.to_owned()).chain(fields).collect::<Vec<_>>().join("\n"));
        prop_oneof![any::<String>(), near]
    }

    proptest! {
        #[test]
        fn every_account_of_a_fault_is_read_short_and_without_control_characters(told in told(), phase in phase()) {
            let fault = Fault::from_guest(&told, phase);
            let text = fault.to_string();
            prop_assert!(text.chars().count() <= 2 * TEXT_MAX + 40, "{} characters", text.chars().count());
            prop_assert!(!text.chars().any(char::is_control), "{text:?}");
            let is_refusal = matches!(fault, Fault::NotCompiled { .. });
            prop_assert!(!is_refusal || phase == Phase::Compile);
        }
    }
}
