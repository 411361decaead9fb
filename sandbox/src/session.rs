//! One program in one fresh interpreter.

use wasmtime::component::{ComponentNamedList, Lift, Lower, TypedFunc};
use wasmtime::{ResourceLimiter, Store, Trap};

use crate::engine::{Interpreter, ticks};
use crate::fault::{Phase, clean};
use crate::{Failure, Fault, FuelScope, HostError, Limits};

/// Longest value a function may return, in bytes.
const VALUE_MAX: usize = 16;

/// Bytes the host may allocate for what a guest hands over in one call.
const HOSTCALL_FUEL: usize = 1 << 20;

/// Longest source that is handed to a guest; beyond it nothing sensible is left to compile.
const SOURCE_MAX: usize = 256 << 10;

/// What the guest answers: a value, or its account of a fault.
type Told<T> = Result<T, String>;

/// What the host keeps with an instance.
pub(crate) struct Host {
    memory_bytes: usize,
    denied: bool,
}

impl ResourceLimiter for Host {
    fn memory_growing(&mut self, _now: usize, wanted: usize, _max: Option<usize>) -> wasmtime::Result<bool> {
        let granted = wanted <= self.memory_bytes;
        self.denied |= !granted;
        Ok(granted)
    }

    fn table_growing(&mut self, _now: usize, wanted: usize, max: Option<usize>) -> wasmtime::Result<bool> {
        Ok(max.is_none_or(|max| wanted <= max))
    }
}

/// A loaded program. Dropping it leaves nothing behind.
pub struct Session {
    store: Store<Host>,
    choose: TypedFunc<(Vec<u32>,), (Told<String>,)>,
    limits: Limits,
    fuel_used: u64,
    faulted: bool,
}

impl Session {
    pub(crate) fn load(
        interpreter: &Interpreter,
        source: &str,
        seed: u64,
        limits: &Limits,
    ) -> Result<Session, Failure> {
        if source.len() > SOURCE_MAX {
            let message = format!("source of {} bytes, at most {SOURCE_MAX} are compiled", source.len());
            return Err(Failure::Program(Fault::NotCompiled { line: 1, message }));
        }
        let host = Host { memory_bytes: limits.memory_bytes.min(crate::MEMORY_MAX) as usize, denied: false };
        let mut store = Store::new(&interpreter.engine, host);
        store.limiter(|host| host);
        store.set_hostcall_fuel(HOSTCALL_FUEL);
        // Instantiation runs a few instructions of ours; they cost the program nothing.
        store.set_fuel(u64::MAX).map_err(HostError::engine)?;
        store.set_epoch_deadline(ticks(limits.backstop));
        let instance = interpreter.component.instantiate(&mut store).map_err(HostError::engine)?;
        let compile =
            instance.get_typed_func::<(&str,), (Told<()>,)>(&mut store, "compile").map_err(HostError::engine)?;
        let run = instance.get_typed_func::<(u64,), (Told<()>,)>(&mut store, "run").map_err(HostError::engine)?;
        let choose = instance.get_typed_func(&mut store, "choose").map_err(HostError::engine)?;
        let mut session = Session { store, choose, limits: *limits, fuel_used: 0, faulted: false };
        let (compiled,) = session.call(&compile, (source,))?;
        compiled.map_err(|text| Failure::Program(Fault::from_guest(&text, Phase::Compile)))?;
        let (ran,) = session.call(&run, (seed,))?;
        ran.map_err(|text| Failure::Program(Fault::from_guest(&text, Phase::Run)))?;
        Ok(session)
    }

    /// Asks the program for its choice on `board`, of which it gets a copy.
    ///
    /// After a failure the session is spent: every further call fails the same way.
    pub fn choose(&mut self, board: &[[u32; 4]; 4]) -> Result<String, Failure> {
        if self.faulted {
            let message = "asked again after a fault".into();
            return Err(Failure::Program(Fault::Raised { kind: "Spent".into(), message }));
        }
        let choose = self.choose;
        let answer = self.call(&choose, (board.as_flattened().to_vec(),));
        let value = match answer {
            Ok((Ok(value),)) => checked(value),
            Ok((Err(text),)) => Err(Failure::Program(Fault::from_guest(&text, Phase::Choose))),
            Err(failure) => Err(failure),
        };
        self.faulted = value.is_err();
        value
    }

    /// Fuel used so far, loading included.
    pub fn fuel_used(&self) -> u64 {
        self.fuel_used
    }

    fn call<P, R>(&mut self, function: &TypedFunc<P, R>, arguments: P) -> Result<R, Failure>
    where
        P: ComponentNamedList + Lower,
        R: ComponentNamedList + Lift + 'static,
    {
        let left = self.limits.game_fuel.saturating_sub(self.fuel_used);
        let scope = if self.limits.call_fuel <= left { FuelScope::Call } else { FuelScope::Game };
        let budget = left.min(self.limits.call_fuel);
        self.store.set_fuel(budget).map_err(HostError::engine)?;
        self.store.set_epoch_deadline(ticks(self.limits.backstop));
        let answer = function.call(&mut self.store, arguments);
        self.fuel_used += budget - self.store.get_fuel().map_err(HostError::engine)?;
        answer.map_err(|error| self.failure(&error, scope))
    }

    /// Whose doing a trap was.
    fn failure(&self, error: &wasmtime::Error, scope: FuelScope) -> Failure {
        let fault = match error.downcast_ref::<Trap>() {
            Some(Trap::OutOfFuel) => Fault::OutOfFuel { scope },
            Some(Trap::Interrupt) => return Failure::Host(HostError::Backstop(self.limits.backstop)),
            Some(Trap::StackOverflow) => Fault::StackOverflow,
            _ if self.store.data().denied => Fault::OutOfMemory,
            Some(trap) => Fault::Raised { kind: "Trap".into(), message: clean(&trap.to_string()) },
            // Not a trap: what the guest handed over could not be lifted (lengths, text, discriminants): its doing.
            None => Fault::Raised { kind: "Trap".into(), message: clean(&format!("{error:#}")) },
        };
        Failure::Program(fault)
    }
}

/// The guest's own checks can be patched by the program; these cannot.
fn checked(value: String) -> Result<String, Failure> {
    if value.len() <= VALUE_MAX && value.bytes().all(|byte| byte.is_ascii_graphic()) {
        return Ok(value);
    }
    let found = format!("a string of {} bytes: {:?}", value.len(), value.chars().take(20).collect::<String>());
    Err(Failure::Program(Fault::BadValue { found: clean(&found) }))
}
