//! One program in one fresh interpreter.

use wasmtime::component::{ComponentNamedList, Lift, Lower, TypedFunc};
use wasmtime::{ResourceLimiter, Store, Trap};

use crate::engine::Interpreter;
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
    /// The program asked for more than it may have.
    denied: bool,
    /// The system refused memory that the program may have.
    exhausted: Option<String>,
}

impl ResourceLimiter for Host {
    fn memory_growing(&mut self, _now: usize, wanted: usize, max: Option<usize>) -> wasmtime::Result<bool> {
        let granted = wanted <= self.memory_bytes && max.is_none_or(|max| wanted <= max);
        self.denied |= !granted;
        Ok(granted)
    }

    // An error here is a trap. Left alone, the guest would raise a MemoryError and the program be blamed for it.
    fn memory_grow_failed(&mut self, error: wasmtime::Error) -> wasmtime::Result<()> {
        self.exhausted = Some(format!("{error:#}"));
        Err(error)
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
        let memory_bytes = limits.memory_bytes.min(crate::MEMORY_MAX) as usize;
        let host = Host { memory_bytes, denied: false, exhausted: None };
        let mut store = Store::new(&interpreter.engine, host);
        store.limiter(|host| host);
        store.set_hostcall_fuel(HOSTCALL_FUEL);
        // Instantiation runs a few instructions of ours; they cost the program nothing.
        store.set_fuel(u64::MAX).map_err(HostError::engine)?;
        let instance = interpreter.component.instantiate(&mut store).map_err(HostError::engine)?;
        let compile =
            instance.get_typed_func::<(&str,), (Told<()>,)>(&mut store, "compile").map_err(HostError::engine)?;
        let run = instance.get_typed_func::<(u64,), (Told<()>,)>(&mut store, "run").map_err(HostError::engine)?;
        let choose = instance.get_typed_func(&mut store, "choose").map_err(HostError::engine)?;
        let mut session = Session { store, choose, limits: *limits, fuel_used: 0, faulted: false };
        let (compiled,) = session.call(&compile, (source,), limits.call_fuel)?;
        compiled.map_err(|text| Failure::Program(Fault::from_guest(&text, Phase::Compile)))?;
        let left = limits.call_fuel.saturating_sub(session.fuel_used);
        let (ran,) = session.call(&run, (seed,), left)?;
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
        let answer = self.call(&choose, (board.as_flattened().to_vec(),), self.limits.call_fuel);
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

    /// Calls a function that may use `most` fuel.
    fn call<P, R>(&mut self, function: &TypedFunc<P, R>, arguments: P, most: u64) -> Result<R, Failure>
    where
        P: ComponentNamedList + Lower,
        R: ComponentNamedList + Lift + 'static,
    {
        let left = self.limits.game_fuel.saturating_sub(self.fuel_used);
        let scope = if most <= left { FuelScope::Call } else { FuelScope::Game };
        let budget = left.min(most);
        self.store.set_fuel(budget).map_err(HostError::engine)?;
        let answer = function.call(&mut self.store, arguments);
        self.fuel_used += budget - self.store.get_fuel().map_err(HostError::engine)?;
        answer.map_err(|error| self.failure(&error, scope))
    }

    /// Whose doing a trap was.
    fn failure(&self, error: &wasmtime::Error, scope: FuelScope) -> Failure {
        if let Some(words) = &self.store.data().exhausted {
            return Failure::Host(HostError::Memory(words.clone()));
        }
        let fault = match error.downcast_ref::<Trap>() {
            Some(Trap::OutOfFuel) => Fault::OutOfFuel { scope },
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

#[cfg(test)]
mod tests {
    use super::*;

    const HOST: Host = Host { memory_bytes: 1 << 20, denied: false, exhausted: None };

    #[test]
    fn memory_beyond_the_limit_or_the_guest_s_own_maximum_is_denied_to_the_program() {
        for (wanted, max, granted) in [(1 << 20, None, true), ((1 << 20) + 1, None, false), (900, Some(899), false)] {
            let mut host = HOST;
            assert_eq!(host.memory_growing(0, wanted, max).unwrap(), granted);
            assert_eq!((host.denied, &host.exhausted), (!granted, &None));
        }
    }

    #[test]
    fn memory_that_the_system_refuses_is_a_trap_and_the_host_s_fault() {
        let mut host = HOST;
        assert!(host.memory_growing(0, 65_536, None).unwrap());
        let error = wasmtime::Error::from(std::io::Error::from(std::io::ErrorKind::OutOfMemory));
        assert!(host.memory_grow_failed(error).is_err());
        assert_eq!((host.denied, host.exhausted.as_deref()), (false, Some("out of memory")));
    }
}
