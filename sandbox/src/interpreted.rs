//! One program in a fresh interpreter.

use wasmtime::component::{ComponentNamedList, Func, Instance, Lift, Lower};
use wasmtime::{Store, Trap};

use crate::arguments::marshal;
use crate::calls::Calls;
use crate::engine::{Interpreter, WASM_STACK};
use crate::fault::{Phase, clean};
use crate::host::Host;
use crate::{Failure, Fault, FuelScope, HostError, Limits, SOURCE_MAX, THREAD_STACK, Unloaded};

/// Longest value of a call and longest output of a run, in bytes, as in `guest/values.py`. Wasmtime also counts what
/// it lifts against this limit, so that it holds whatever the guest claims.
const TEXT_MAX: usize = 1 << 20;

/// What must be left of a thread's stack for a call: the guest's part, and room for the host.
const STACK_NEEDED: usize = WASM_STACK + (1 << 20);

/// The guest's answer: a value, or its report of a fault.
type Told<T> = Result<T, String>;

/// A program in its own instance, which is dropped with it.
pub(crate) struct Interpreted {
    store: Store<Host>,
    instance: Instance,
    call: Func,
    limits: Limits,
    fuel_used: u64,
    calls: Calls,
    /// Whether the instance has trapped, after which its state is unknown.
    spent: bool,
}

impl Interpreted {
    /// A fresh instance that has compiled `source` and run none of it.
    pub(crate) fn compile(interpreter: &Interpreter, source: &str, limits: &Limits) -> Result<Interpreted, Unloaded> {
        if source.len() > SOURCE_MAX {
            let message = format!("source of {} bytes, at most {SOURCE_MAX} are compiled", source.len());
            return Err(Failure::Program(Fault::NotCompiled { line: 1, message }).into());
        }
        let memory_bytes = limits.memory_bytes.min(crate::MEMORY_MAX) as usize;
        let host = Host { memory_bytes, denied: false, exhausted: None };
        let mut store = Store::new(&interpreter.engine, host);
        store.limiter(|host| host);
        store.set_hostcall_fuel(TEXT_MAX);
        // Instantiation runs a few instructions of the interpreter, which are not charged to the program.
        store.set_fuel(u64::MAX).map_err(HostError::engine)?;
        let instance = match interpreter.component.instantiate(&mut store) {
            Ok(instance) => instance,
            // A limit below what the interpreter itself takes, as that with numpy may.
            Err(_) if store.data().denied => return Err(Failure::Program(Fault::OutOfMemory).into()),
            Err(error) => return Err(HostError::engine(error).into()),
        };
        let call = instance.get_func(&mut store, "call").ok_or_else(|| missing("call"))?;
        let compile = instance.get_func(&mut store, "compile").ok_or_else(|| missing("compile"))?;
        let (limits, calls) = (*limits, Calls::default());
        let mut session = Interpreted { store, instance, call, limits, fuel_used: 0, calls, spent: false };
        let compiled = session.ask::<_, Told<()>>(&compile, (source,), limits.call_fuel);
        match compiled.and_then(|told| told.map_err(|text| session.refused(&text))) {
            Ok(()) => Ok(session),
            Err(Failure::Program(fault)) => {
                Err(Unloaded { failure: Failure::Program(fault.when_compiled()), fuel: session.fuel_used })
            }
            Err(failure) => Err(Unloaded { failure, fuel: session.fuel_used }),
        }
    }

    /// A fresh instance in which `source` has run as a module; its output is dropped. Compiling and running count as
    /// one call.
    pub(crate) fn load(
        interpreter: &Interpreter,
        source: &str,
        seed: u64,
        limits: &Limits,
    ) -> Result<Interpreted, Unloaded> {
        let mut session = Interpreted::compile(interpreter, source, limits)?;
        match session.run(Phase::Load, seed, "program", &[]) {
            Ok(_) => Ok(session),
            Err(failure) => Err(Unloaded { failure, fuel: session.fuel_used }),
        }
    }

    /// Runs the compiled source as `__main__` and returns its output. Compiling and running count as one call.
    pub(crate) fn script(&mut self, seed: u64, stdin: &str) -> Result<String, Failure> {
        let printed = self.run(Phase::Script, seed, "__main__", stdin.as_bytes())?;
        Ok(String::from_utf8(printed).unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned()))
    }

    /// Calls the guest's `run`.
    fn run(&mut self, phase: Phase, seed: u64, module: &str, stdin: &[u8]) -> Result<Vec<u8>, Failure> {
        let run = self.instance.get_func(&mut self.store, "run").ok_or_else(|| missing("run"))?;
        let left = self.limits.call_fuel.saturating_sub(self.fuel_used);
        let printed: Told<Vec<u8>> = self.ask(&run, (seed, module, stdin), left)?;
        printed.map_err(|text| Failure::Program(Fault::from_guest(&text, phase)))
    }

    /// The same as [`Session::call`](crate::Session::call).
    pub(crate) fn call(&mut self, function: &str, arguments: &str) -> Result<String, Failure> {
        if self.spent {
            return Err(Failure::Program(Fault::spent()));
        }
        let arguments = marshal(arguments).map_err(HostError::Arguments)?;
        let function = format!("{}{function}", if arguments.has_bytearrays { " " } else { "" });
        let (call, before) = (self.call, self.fuel_used);
        let asked = (function.as_str(), arguments.list.as_slice());
        let answer = self.ask::<_, Told<String>>(&call, asked, self.limits.call_fuel);
        self.calls.add(self.fuel_used - before);
        match answer {
            Ok(Ok(value)) => checked(value),
            Ok(Err(text)) => Err(Failure::Program(Fault::from_guest(&text, Phase::Call))),
            Err(failure) => {
                self.spent = true;
                Err(failure)
            }
        }
    }

    /// Whether the instance has trapped, so that every further call fails.
    pub(crate) fn is_spent(&self) -> bool {
        self.spent
    }

    /// Fuel used so far, loading included.
    pub(crate) fn fuel_used(&self) -> u64 {
        self.fuel_used
    }

    /// What its calls took.
    pub(crate) fn calls(&self) -> &Calls {
        &self.calls
    }

    /// Calls an export with at most `most` fuel.
    fn ask<P, R>(&mut self, function: &Func, arguments: P, most: u64) -> Result<R, Failure>
    where
        P: ComponentNamedList + Lower,
        (R,): ComponentNamedList + Lift + 'static,
    {
        let function = function.typed::<P, (R,)>(&self.store).map_err(HostError::engine)?;
        let left = self.limits.game_fuel.saturating_sub(self.fuel_used);
        let scope = if most <= left { FuelScope::Call } else { FuelScope::Game };
        let budget = left.min(most);
        self.store.set_fuel(budget).map_err(HostError::engine)?;
        let store = &mut self.store;
        let answer = stacker::maybe_grow(STACK_NEEDED, THREAD_STACK, || function.call(store, arguments));
        let left = match &answer {
            // The depth at which the machine stack overflows depends on the machine. The guest's own stack must always
            // overflow first; if it ever did not, the fuel charged is at least the same on every machine.
            Err(error) if matches!(error.downcast_ref(), Some(Trap::StackOverflow)) => 0,
            _ => self.store.get_fuel().map_err(HostError::engine)?,
        };
        self.fuel_used += budget - left;
        answer.map(|(answer,)| answer).map_err(|error| self.failure(&error, scope))
    }

    /// What the guest says of a source that it does not compile. A parser whose stack is full calls that a MemoryError,
    /// though no memory was denied.
    fn refused(&self, text: &str) -> Failure {
        Failure::Program(match Fault::from_guest(text, Phase::Compile) {
            Fault::OutOfMemory if !self.store.data().denied => Fault::StackOverflow { line: None },
            fault => fault,
        })
    }

    /// Whether a trap is the program's fault or the host's error.
    fn failure(&self, error: &wasmtime::Error, scope: FuelScope) -> Failure {
        if let Some(words) = &self.store.data().exhausted {
            return Failure::Host(HostError::Memory(words.clone()));
        }
        let fault = match error.downcast_ref::<Trap>() {
            Some(Trap::OutOfFuel) => Fault::OutOfFuel { scope },
            Some(Trap::StackOverflow) => Fault::StackOverflow { line: None },
            _ if self.store.data().denied => Fault::OutOfMemory,
            // The interpreter's stack grows down to the beginning of its memory.
            Some(Trap::MemoryOutOfBounds) => Fault::StackOverflow { line: None },
            Some(trap) => Fault::trapped("Trap", clean(&trap.to_string())),
            // This is not a trap: a value of the guest could not be lifted (lengths, text, discriminants), which is
            // the guest's fault.
            None => Fault::trapped("Trap", clean(&format!("{error:#}"))),
        };
        Failure::Program(fault)
    }
}

fn missing(export: &str) -> HostError {
    HostError::Artifact(format!("exports no `{export}`"))
}

/// Refuses a value with control characters that JSON escapes (RFC 8259: those below U+0020, and no other): the guest's
/// own JSON escapes them, so the program wrote this value by other means.
fn checked(value: String) -> Result<String, Failure> {
    if !value.chars().any(|character| character < ' ') {
        return Ok(value);
    }
    let found = format!("{} bytes with control characters: {value:?}", value.len());
    Err(Failure::Program(Fault::BadValue { found: clean(&found) }))
}
