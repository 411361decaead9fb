//! One program in one fresh pair of instances: the runtime and what was compiled.

use wasmtime::{Global, Instance, Memory, Store, Trap, TypedFunc, Val};

use crate::program::CompiledProgram;
use crate::runtime::{Host, MEMORY_MAX, STACK_NEEDED};
use crate::{GasLimits, GasScope, Stop, TierError, arguments, values};

/// Ticks that a call may take. Far above what any gas lasts: whoever meets it has found a loop that costs nothing.
const TICKS_MAX: u64 = 90;

/// A page of WebAssembly.
const PAGE: u64 = 1 << 16;

/// What CPython spends on a program before its first line, and on each of its tokens: compiling it, and running it once.
const LOAD_GAS: u64 = 511_000;
const TOKEN_GAS: u64 = 16_000;
/// What it spends on each byte of a comment.
const PASSED_OVER_GAS: u64 = 110;

/// What CPython spends on a call from the host, and on each byte that its arguments have here.
const CALL_GAS: u64 = 11_900;
const ARGUMENT_GAS: u64 = 65;

/// Why a program was given up, as the runtime numbers it.
const REASONS: [&str; 15] = [
    "an exception",
    "an operand of another type",
    "an integer beyond 62 bits",
    "an index out of range",
    "a missing key",
    "an unbound name",
    "a value out of range",
    "a division by zero",
    "memory",
    "gas",
    "recursion",
    "an operation that is not modelled",
    "a value that does not cross",
    "a float that is not a number",
    "a container changed while it was iterated",
];

/// A program in instances of its own. Dropping it leaves nothing behind.
pub struct CompiledSession {
    store: Store<Host>,
    memory: Memory,
    gas: Global,
    reason: Global,
    call: TypedFunc<(u32, i64, u32), i64>,
    end_call: TypedFunc<(), ()>,
    bytes_made: TypedFunc<(), u64>,
    bytes_unmade: TypedFunc<(), u64>,
    program: CompiledProgram,
    limits: GasLimits,
    gas_used: u64,
    /// Bytes that loading and all calls made, where closures may hold themselves.
    made: u64,
    /// Bytes that CPython may have copied in the last call, or in loading, and that were not copied here.
    unmade: u64,
    /// Nothing is known any more of what the instance holds.
    finished: bool,
}

impl CompiledProgram {
    /// Gas that compiling the source in CPython and running it once costs, before anything that it does is charged.
    pub fn loading_gas(&self) -> u64 {
        let emission = &self.compiled.emission;
        LOAD_GAS + emission.tokens * TOKEN_GAS + emission.passed_over * PASSED_OVER_GAS
    }

    /// A fresh instance in which the module's top level has run. `seed` seeds `random` as `random.seed(seed)` does.
    pub fn start(&self, seed: u64, limits: &GasLimits) -> Result<CompiledSession, Stop> {
        let (compiled, emission) = (&self.compiled, &self.compiled.emission);
        let nursery = u64::from(compiled.shared.interface.nursery);
        let value_bytes = limits.memory_bytes.min(MEMORY_MAX - nursery - PAGE);
        let mut store = Store::new(&compiled.shared.engine, Host::new(MEMORY_MAX));
        store.limiter(|host| host);
        store.set_epoch_deadline(TICKS_MAX);
        let machine = |error| Stop::Machine(TierError::engine(error));
        let runtime = compiled.shared.runtime.instantiate(&mut store).map_err(machine)?;
        store.data_mut().memory_bytes = nursery + value_bytes + PAGE;
        let mut imports = Vec::with_capacity(compiled.imports.len());
        for import in &compiled.imports {
            imports.push(runtime.get_module_export(&mut store, import).ok_or_else(|| missing("an import"))?);
        }
        let instance = Instance::new(&mut store, &compiled.module, &imports).map_err(machine)?;
        let memory = runtime.get_memory(&mut store, "memory").ok_or_else(|| missing("memory"))?;
        let mut session = CompiledSession {
            memory,
            gas: runtime.get_global(&mut store, "gas_left").ok_or_else(|| missing("gas_left"))?,
            reason: runtime.get_global(&mut store, "reason").ok_or_else(|| missing("reason"))?,
            call: instance.get_typed_func(&mut store, "call").map_err(machine)?,
            end_call: runtime.get_typed_func(&mut store, "end_call").map_err(machine)?,
            bytes_made: runtime.get_typed_func(&mut store, "bytes_made").map_err(machine)?,
            bytes_unmade: runtime.get_typed_func(&mut store, "bytes_unmade").map_err(machine)?,
            store,
            program: self.clone(),
            limits: *limits,
            gas_used: 0,
            made: 0,
            unmade: 0,
            finished: false,
        };
        let prepare = runtime.get_typed_func::<(u32, u32, u32, u32, u64), ()>(&mut session.store, "prepare");
        let layout = (emission.heap, emission.roots, emission.root_count, value_bytes as u32, seed);
        prepare.and_then(|prepare| prepare.call(&mut session.store, layout)).map_err(machine)?;
        let load = instance.get_typed_func::<(), ()>(&mut session.store, "init").map_err(machine)?;
        session.spend(self.loading_gas(), |session| {
            load.call(&mut session.store, ())?;
            session.end()
        })?;
        Ok(session)
    }
}

impl CompiledSession {
    /// Calls a function at the top level of the program with `arguments`, a JSON array, of which it gets a copy. Gives the
    /// value as JSON, the very text that the interpreter's guest gives.
    pub fn call(&mut self, function: &str, arguments: &str) -> Result<String, Stop> {
        if self.finished {
            return Err(Stop::GivenUp { reason: "called again after a stop" });
        }
        let result = self.answer(function, arguments);
        self.finished = result.is_err();
        result
    }

    /// The program that it runs.
    pub fn program(&self) -> &CompiledProgram {
        &self.program
    }

    /// Gas used so far, loading included.
    pub fn gas_used(&self) -> u64 {
        self.gas_used
    }

    /// Whether all calls together made no more than fits, where that counts: CPython keeps a closure that holds itself, and
    /// all that it captured, until it collects garbage, which may be after the last call.
    pub fn fits_uncollected(&self) -> bool {
        self.made <= self.limits.memory_bytes
    }

    /// Bytes that CPython may have copied in the last call, or in loading, and that cost no gas: of texts that grew in place.
    pub fn bytes_unmade(&self) -> u64 {
        self.unmade
    }

    /// Ends loading, or a call.
    fn end(&mut self) -> wasmtime::Result<()> {
        self.unmade = self.bytes_unmade.call(&mut self.store, ())?;
        if self.program.compiled.emission.has_cycles {
            self.made = self.made.saturating_add(self.bytes_made.call(&mut self.store, ())?);
        }
        self.end_call.call(&mut self.store, ())
    }

    fn answer(&mut self, function: &str, arguments: &str) -> Result<String, Stop> {
        let program = self.program.clone();
        let interface = &program.compiled.shared.interface;
        let written = arguments::write(arguments, interface)?;
        let callable = program.compiled.emission.callable.iter().enumerate();
        let mut named = callable.filter(|(_, callable)| callable.name == function).peekable();
        if named.peek().is_none() {
            return Err(Stop::GivenUp { reason: "no such function" });
        }
        let (number, _) = named
            .find(|(_, callable)| callable.takes(&written.kinds))
            .ok_or(Stop::GivenUp { reason: "other arguments than the function takes" })?;
        let top = self.place(interface.nursery, &written.image)?;
        self.spend(CALL_GAS + written.image.len() as u64 * ARGUMENT_GAS, |session| {
            let value = session.call.call(&mut session.store, (number as u32, written.value, top))?;
            let text = values::read(session.memory.data(&session.store), value);
            session.end()?;
            Ok(text)
        })?
        .map_err(|reason| Stop::GivenUp { reason })
    }

    /// Copies the objects of arguments to where the values of a call begin; gives their end.
    fn place(&mut self, at: u32, image: &[u8]) -> Result<u32, Stop> {
        let end = at as usize + image.len();
        let short = end.saturating_sub(self.memory.data_size(&self.store));
        if short > 0 {
            let grown = self.memory.grow(&mut self.store, short.div_ceil(1 << 16) as u64);
            if grown.is_err() {
                return Err(match self.store.data().exhausted.clone() {
                    Some(words) => Stop::Machine(TierError::Memory(words)),
                    None => Stop::GivenUp { reason: "memory" },
                });
            }
        }
        self.memory.data_mut(&mut self.store)[at as usize..end].copy_from_slice(image);
        Ok(end as u32)
    }

    /// Runs something within the budgets, of which `price` is spent at once.
    fn spend<T>(
        &mut self,
        price: u64,
        run: impl FnOnce(&mut CompiledSession) -> wasmtime::Result<T>,
    ) -> Result<T, Stop> {
        let left = self.limits.game_gas.saturating_sub(self.gas_used);
        let scope = if self.limits.call_gas <= left { GasScope::Call } else { GasScope::Game };
        let budget = left.min(self.limits.call_gas).min(i64::MAX as u64 / 2);
        let Some(granted) = budget.checked_sub(price) else {
            self.gas_used += budget;
            return Err(Stop::OutOfGas { scope });
        };
        let machine = |error| Stop::Machine(TierError::engine(error));
        self.gas.set(&mut self.store, Val::I64(granted as i64)).map_err(machine)?;
        self.store.set_epoch_deadline(TICKS_MAX);
        let result = stacker::maybe_grow(STACK_NEEDED, 2 * STACK_NEEDED, || run(self));
        let rest = self.gas.get(&mut self.store).i64().unwrap_or(0);
        self.gas_used += budget - rest.clamp(0, granted as i64) as u64;
        match result {
            // What was charged last, without a look at what is left.
            Ok(_) if rest < 0 => Err(Stop::OutOfGas { scope }),
            result => result.map_err(|error| self.stop(&error, rest, scope)),
        }
    }

    /// Whose doing a trap was.
    fn stop(&mut self, error: &wasmtime::Error, rest: i64, scope: GasScope) -> Stop {
        if let Some(words) = &self.store.data().exhausted {
            return Stop::Machine(TierError::Memory(words.clone()));
        }
        match error.downcast_ref::<Trap>() {
            Some(Trap::Interrupt) => Stop::Machine(TierError::Overrun { seconds: TICKS_MAX - 1 }),
            _ if rest < 0 => Stop::OutOfGas { scope },
            Some(Trap::StackOverflow) => Stop::GivenUp { reason: "recursion" },
            Some(_) => {
                let number = self.reason.get(&mut self.store).i32().unwrap_or(0);
                let reason = usize::try_from(number).ok().and_then(|number| REASONS.get(number));
                Stop::GivenUp { reason: reason.unwrap_or(&REASONS[0]) }
            }
            None => Stop::Machine(TierError::Engine(format!("{error:#}"))),
        }
    }
}

fn missing(export: &str) -> Stop {
    Stop::Machine(TierError::Runtime(format!("exports no `{export}`")))
}
