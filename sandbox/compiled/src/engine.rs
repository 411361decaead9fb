//! The engine and its configuration, and what was compiled by it.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use wasmtime::{Config, Engine, InstanceAllocationStrategy, Module, OptLevel, PoolingAllocationConfig};

use crate::cache::{Bounded, Functions};
use crate::program::{self, CompiledProgram};
use crate::runtime::{MEMORY_MAX, STACK, Shared};
use crate::{NotCompiled, TierError};

/// How hard Cranelift tries. `None` compiles in 5.7 ms and plays a game of 0.25 s in 5.5; `Speed` takes 7.7 and 4.6. Where
/// a program plays one game, the first is less.
const OPTIMISATION: OptLevel = OptLevel::None;

/// Sessions alive at once.
const SESSIONS_MAX: u32 = 256;

/// Machine code kept of programs, and of single functions.
const PROGRAM_BYTES: usize = 64 << 20;
const FUNCTION_BYTES: usize = 64 << 20;

/// A tick of the epoch clock, which stands behind the gas.
const TICK: Duration = Duration::from_secs(1);

/// Compiler, engine, runtime and what was compiled before. Cheap to clone, shared by threads.
#[derive(Clone)]
pub struct CompiledTier {
    pub(crate) shared: Arc<Shared>,
    programs: Arc<Mutex<Programs>>,
}

/// Programs that were compiled before, or why they could not be, by the digest of their source.
type Programs = Bounded<[u8; 32], Result<CompiledProgram, NotCompiled>>;

impl CompiledTier {
    /// Compiles the runtime; 55 ms, once.
    pub fn open() -> Result<CompiledTier, TierError> {
        CompiledTier::open_with(|engine, wasm| Module::new(engine, wasm).map_err(TierError::engine))
    }

    /// The same with a runtime that `compile` makes of its WebAssembly, or has kept since it was last compiled.
    pub fn open_with(
        compile: impl FnOnce(&Engine, &[u8]) -> Result<Module, TierError>,
    ) -> Result<CompiledTier, TierError> {
        let engine = Engine::new(&config().map_err(TierError::engine)?).map_err(TierError::engine)?;
        let shared = Shared::link(engine, compile)?;
        tick(&shared.engine)?;
        let programs = Mutex::new(Bounded::new(PROGRAM_BYTES));
        Ok(CompiledTier { shared: Arc::new(shared), programs: Arc::new(programs) })
    }

    /// The program that a source is, from the cache if it was compiled before. Nothing of it runs.
    pub fn compile(&self, source: &str) -> Result<CompiledProgram, NotCompiled> {
        let key = *blake3::hash(source.as_bytes()).as_bytes();
        if let Some(known) = self.programs.lock().ok().and_then(|programs| programs.get(&key)) {
            return known;
        }
        let compiled = program::compile(&self.shared, source);
        // A failure of the machine may be another outcome next time.
        if !matches!(compiled, Err(NotCompiled::Machine(_)))
            && let Ok(mut programs) = self.programs.lock()
        {
            let bytes = compiled.as_ref().map_or(256, CompiledProgram::bytes);
            programs.insert(key, compiled.clone(), bytes);
        }
        compiled
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
        // Programs are small and compiled on many threads already: dealing out their functions costs 4 % more CPU.
        .parallel_compilation(false)
        .enable_incremental_compilation(Arc::new(Functions(Mutex::new(Bounded::new(FUNCTION_BYTES)))))?;
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
