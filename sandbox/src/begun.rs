//! What a session begins with, and the program in either tier.

use std::sync::Arc;

use grpo_sandbox_compiled::{CompiledSession, Stop};

use crate::engine::Interpreter;
use crate::interpreted::Interpreted;
use crate::tiers::{Ending, Tiers, gas_limits};
use crate::{Difference, Failure, Fault, HostError, Limits, Unloaded};

/// Why an exact budget moves a program to the interpreter.
pub(crate) const BEYOND_SHARE: &str = "more than the share of a budget within which CPython is certain to stay";

/// Why closures that hold themselves move a program to the interpreter.
pub(crate) const UNCOLLECTED: &str =
    "more memory in all calls than CPython is certain to have before it collects garbage";

/// One call and its answer.
pub(crate) struct Call {
    pub function: String,
    pub arguments: String,
    pub answer: String,
}

/// What a program is loaded from.
pub(crate) struct Begun {
    pub interpreter: Arc<Interpreter>,
    pub source: String,
    pub seed: u64,
    pub limits: Limits,
    pub ending: Ending,
}

impl Begun {
    /// The program in the compiled tier; `None` if it is left to the interpreter.
    pub fn compiled(&self, tiers: &Tiers) -> Result<Option<CompiledSession>, Unloaded> {
        let Some(program) = tiers.program(&self.source)? else { return Ok(None) };
        let taken = self.interpreter.taken_bytes;
        let gas = gas_limits(&program, &self.limits, self.ending, self.source.len(), taken);
        let reason = match program.start(self.seed, &gas) {
            Ok(session) => return Ok(Some(session)),
            Err(Stop::OutOfGas { scope }) if self.ending == Ending::Counted => {
                let fuel = self.limits.call_fuel.min(self.limits.game_fuel);
                return Err(Unloaded { failure: Failure::Program(Fault::OutOfFuel { scope }), fuel });
            }
            Err(Stop::OutOfGas { .. }) => BEYOND_SHARE,
            Err(Stop::GivenUp { reason }) => reason,
            Err(Stop::Machine(error)) => return Err(HostError::tier(error).into()),
        };
        tiers.left(&self.source, reason)?;
        Ok(None)
    }

    /// The program in the interpreter.
    pub fn interpreted(&self) -> Result<Interpreted, Unloaded> {
        Interpreted::load(&self.interpreter, &self.source, self.seed, &self.limits)
    }

    /// The same program in the interpreter, where compiled code has loaded it. Where it ends by its budget and that is no
    /// difference, its fault and the fuel that it took.
    pub fn witness(&self) -> Result<Result<Interpreted, (Fault, u64)>, HostError> {
        match self.interpreted() {
            Ok(interpreted) => Ok(Ok(interpreted)),
            Err(Unloaded { failure: Failure::Program(fault), fuel }) if self.may_end_by(&fault) => {
                Ok(Err((fault, fuel)))
            }
            Err(Unloaded { failure: Failure::Program(fault), .. }) => {
                Err(self.differs("loading it", "no fault", fault.to_string()))
            }
            Err(Unloaded { failure: Failure::Host(error), .. }) => Err(error),
        }
    }

    /// Compares what the interpreter says to a call with the answer of compiled code. Where it ends by its budget and that is
    /// no difference, its fault.
    pub fn compare(&self, call: &Call, told: Result<String, Failure>) -> Result<Option<Fault>, HostError> {
        let found = match told {
            Ok(found) if found == call.answer => return Ok(None),
            Ok(found) => found,
            Err(Failure::Program(fault)) if self.may_end_by(&fault) => return Ok(Some(fault)),
            Err(Failure::Program(fault)) => fault.to_string(),
            Err(Failure::Host(error)) => return Err(error),
        };
        Err(self.differs(&format!("{}{}", call.function, call.arguments), &call.answer, found))
    }

    /// Whether the interpreter may have this fault where compiled code has none: an end of a budget that each tier counts
    /// by itself. An exact budget, and memory, end in the interpreter last.
    fn may_end_by(&self, fault: &Fault) -> bool {
        self.ending == Ending::Counted && matches!(fault, Fault::OutOfFuel { .. })
    }

    fn differs(&self, asked: &str, compiled: &str, interpreted: String) -> HostError {
        HostError::TiersDiffer(Box::new(Difference {
            asked: asked.to_owned(),
            compiled: compiled.to_owned(),
            interpreted,
            seed: self.seed,
            program: self.source.clone(),
        }))
    }
}
