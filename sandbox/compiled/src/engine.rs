//! The engine, its configuration, and the runtime module that every program is linked with.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use wasm_encoder::ValType;
use wasmtime::{
    Config, Engine, ExternType, InstanceAllocationStrategy, InstancePre, Linker, Module, OptLevel,
    PoolingAllocationConfig, Store,
};

use crate::cache::{Bounded, Functions};
use crate::program::{self, CompiledProgram};
use crate::session::Host;
use crate::{NotCompiled, TierError};

/// Built from `runtime/` by `runtime/build.sh`.
const RUNTIME: &[u8] = include_bytes!("../artifact/runtime.wasm");

/// How hard Cranelift tries. `None` compiles in 5.7 ms and plays a game of 0.25 s in 5.5; `Speed` takes 7.7 and 4.6. Where
/// a program plays one game, the first is less.
const OPTIMISATION: OptLevel = OptLevel::None;

/// Sessions alive at once.
const SESSIONS_MAX: u32 = 256;

/// The most memory a session can have, whatever its limits say.
pub(crate) const MEMORY_MAX: u64 = 1 << 30;

/// Stack of the machine that compiled code may use. The deepest recursion that is let through uses a fraction.
const STACK: usize = 1 << 20;

/// What has to be left of a thread's stack for a call. Less than new threads have: making a stack takes 10 us.
pub(crate) const STACK_NEEDED: usize = STACK + (256 << 10);

/// Machine code kept of programs, and of single functions.
const PROGRAM_BYTES: usize = 64 << 20;
const FUNCTION_BYTES: usize = 64 << 20;

/// What the runtime exports that no compiled code calls.
const FOR_THE_HOST: [&str; 5] = ["_initialize", "prepare", "end_call", "character_strings", "nursery_start"];

/// A tick of the epoch clock, which stands behind the gas.
const TICK: Duration = Duration::from_secs(1);

/// Compiler, engine, runtime and what was compiled before. Cheap to clone, shared by threads.
#[derive(Clone)]
pub struct CompiledTier {
    pub(crate) shared: Arc<Shared>,
}

/// What all programs share.
pub(crate) struct Shared {
    pub(crate) engine: Engine,
    pub(crate) runtime: InstancePre<Host>,
    pub(crate) interface: Interface,
    programs: Mutex<Bounded<[u8; 32], Result<CompiledProgram, NotCompiled>>>,
}

/// What compiled code has to know of the runtime.
pub(crate) struct Interface {
    /// Parameters and results of what it exports for compiled code.
    pub(crate) signatures: BTreeMap<String, (Vec<ValType>, Vec<ValType>)>,
    /// Address of the strings of one character.
    pub(crate) characters: u32,
    /// Where the runtime's own memory ends, and that of a program begins.
    pub(crate) heap: u32,
    /// Where the values of a call begin.
    pub(crate) nursery: u32,
}

impl CompiledTier {
    /// Compiles the runtime; 55 ms, once.
    pub fn open() -> Result<CompiledTier, TierError> {
        let engine = Engine::new(&config().map_err(TierError::engine)?).map_err(TierError::engine)?;
        let module = Module::new(&engine, RUNTIME).map_err(TierError::engine)?;
        // An empty linker: a runtime that imported anything would be refused here.
        let runtime = Linker::new(&engine).instantiate_pre(&module).map_err(TierError::engine)?;
        let interface = Interface::read(&engine, &module, &runtime)?;
        tick(&engine)?;
        let programs = Mutex::new(Bounded::new(PROGRAM_BYTES));
        Ok(CompiledTier { shared: Arc::new(Shared { engine, runtime, interface, programs }) })
    }

    /// The program that a source is, from the cache if it was compiled before. Nothing of it runs.
    pub fn compile(&self, source: &str) -> Result<CompiledProgram, NotCompiled> {
        let key = *blake3::hash(source.as_bytes()).as_bytes();
        if let Some(known) = self.shared.programs.lock().ok().and_then(|programs| programs.get(&key)) {
            return known;
        }
        let compiled = program::compile(&self.shared, source);
        // A failure of the machine may be another outcome next time.
        if !matches!(compiled, Err(NotCompiled::Machine(_)))
            && let Ok(mut programs) = self.shared.programs.lock()
        {
            let bytes = compiled.as_ref().map_or(256, CompiledProgram::bytes);
            programs.insert(key, compiled.clone(), bytes);
        }
        compiled
    }
}

impl Interface {
    fn read(engine: &Engine, module: &Module, runtime: &InstancePre<Host>) -> Result<Interface, TierError> {
        let mut signatures = BTreeMap::new();
        for export in module.exports() {
            if let ExternType::Func(function) = export.ty()
                && !FOR_THE_HOST.contains(&export.name())
            {
                let parameters = function.params().map(value_type).collect::<Result<_, _>>()?;
                let results = function.results().map(value_type).collect::<Result<_, _>>()?;
                signatures.insert(export.name().to_owned(), (parameters, results));
            }
        }
        let mut store = Store::new(engine, Host::new(MEMORY_MAX));
        store.set_epoch_deadline(u64::MAX / 2);
        let instance = runtime.instantiate(&mut store).map_err(TierError::engine)?;
        let mut number = |name: &str| -> Result<u32, TierError> {
            let function = instance.get_typed_func::<(), u32>(&mut store, name).map_err(TierError::engine)?;
            function.call(&mut store, ()).map_err(TierError::engine)
        };
        let (characters, nursery) = (number("character_strings")?, number("nursery_start")?);
        let heap = instance.get_global(&mut store, "__heap_base").and_then(|global| global.get(&mut store).i32());
        let heap = heap.ok_or_else(|| TierError::Runtime("exports no `__heap_base`".into()))? as u32;
        Ok(Interface { signatures, characters, heap: heap.next_multiple_of(64), nursery })
    }
}

fn value_type(ty: wasmtime::ValType) -> Result<ValType, TierError> {
    match ty {
        wasmtime::ValType::I32 => Ok(ValType::I32),
        wasmtime::ValType::I64 => Ok(ValType::I64),
        wasmtime::ValType::F64 => Ok(ValType::F64),
        other => Err(TierError::Runtime(format!("has a function over {other}"))),
    }
}

fn config() -> wasmtime::Result<Config> {
    let mut pool = PoolingAllocationConfig::new();
    pool.total_core_instances(2 * SESSIONS_MAX)
        .total_memories(SESSIONS_MAX)
        .total_tables(2 * SESSIONS_MAX)
        .table_elements(1_000)
        .max_memory_size(MEMORY_MAX as usize)
        .linear_memory_keep_resident(1 << 20);
    let mut config = Config::new();
    config
        .allocation_strategy(InstanceAllocationStrategy::Pooling(pool))
        .memory_init_cow(true)
        .cranelift_opt_level(OPTIMISATION)
        // Bits of a NaN would differ between processors; floats live in the runtime only, so it costs programs nothing.
        .cranelift_nan_canonicalization(true)
        .wasm_relaxed_simd(false)
        .wasm_simd(false)
        // Gas decides; epochs end what a mistake in the counting of gas would let run for ever.
        .epoch_interruption(true)
        .max_wasm_stack(STACK)
        .wasm_backtrace_max_frames(None)
        .enable_incremental_compilation(Arc::new(Functions::new(FUNCTION_BYTES)))?;
    Ok(config)
}

/// Moves the clock of an engine as long as anyone has it.
fn tick(engine: &Engine) -> Result<(), TierError> {
    let engine = engine.weak();
    let ticks = move || {
        while let Some(engine) = engine.upgrade() {
            engine.increment_epoch();
            drop(engine);
            std::thread::sleep(TICK);
        }
    };
    let thread = std::thread::Builder::new().name("epochs".into()).spawn(ticks);
    thread.map(drop).map_err(|error| TierError::Engine(format!("no thread for the epoch clock: {error}")))
}
