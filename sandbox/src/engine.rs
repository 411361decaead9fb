//! The engine's configuration and the compiled interpreter.

use std::path::Path;

use wasmtime::component::{Component, InstancePre, Linker};
use wasmtime::{Config, Engine, InstanceAllocationStrategy, OptLevel, PoolingAllocationConfig};

use crate::cache::CacheFile;
use crate::interpreted::Host;
use crate::{HostError, MEMORY_MAX, SESSIONS_MAX, artifact};

/// Core modules inside the component; counted, with room for a rebuilt guest.
const CORE_INSTANCES: u32 = 60;

/// Stack of the machine that a guest may use. Its own stack in linear memory always ends first, at a depth that is the same
/// everywhere: `guest/stack.py` sees to it that every recursion uses that one. At its end no more than 6.1 MiB of this one
/// have been seen in use, over every kind of recursion in `src/processors.rs`; frames differ between processors, so there
/// is room.
pub(crate) const WASM_STACK: usize = 16 << 20;

/// Memory of a finished session that is set back by copying the snapshot over it: all that the interpreter occupies.
/// Giving pages back instead would cost the next session a page fault for each, more than twice as much.
const RESIDENT: usize = 16 << 20;

/// What helps where the cache cannot be written.
const SET_CACHE: &str = "set GRPO_2048_CACHE to a directory that can be written";

/// The interpreter, ready to be instantiated.
pub(crate) struct Interpreter {
    pub(crate) engine: Engine,
    pub(crate) component: InstancePre<Host>,
}

impl Interpreter {
    pub(crate) fn open(dir: &Path, on_compile: impl FnOnce()) -> Result<Interpreter, HostError> {
        Interpreter::with(&config(), dir, on_compile)
    }

    /// The same, configured so.
    pub(crate) fn with(config: &Config, dir: &Path, on_compile: impl FnOnce()) -> Result<Interpreter, HostError> {
        let engine = Engine::new(config).map_err(HostError::engine)?;
        let file = CacheFile::new(dir, &engine);
        let cached = file.read().and_then(|code| load(&engine, &code).ok());
        let component = match cached {
            Some(component) => component,
            None => {
                on_compile();
                let code = engine.precompile_component(&artifact::component()?).map_err(HostError::engine)?;
                // What is in hand runs; it is compiled again at every start until it can be kept.
                if let Err(error) = file.write(&code) {
                    tracing::warn!("{error}; the compiled sandbox is not kept, {SET_CACHE}");
                }
                load(&engine, &code)?
            }
        };
        // An empty linker: a component that imported anything would be refused here.
        let component = Linker::new(&engine).instantiate_pre(&component).map_err(HostError::engine)?;
        Ok(Interpreter { engine, component })
    }
}

pub(crate) fn config() -> Config {
    let mut pool = PoolingAllocationConfig::new();
    pool.total_component_instances(SESSIONS_MAX as u32)
        .total_memories(SESSIONS_MAX as u32)
        .total_tables(4 * SESSIONS_MAX as u32)
        .total_core_instances(CORE_INSTANCES * SESSIONS_MAX as u32)
        .max_core_instances_per_component(CORE_INSTANCES)
        .max_component_instance_size(8 << 20)
        .max_core_instance_size(8 << 20)
        .max_memories_per_component(1)
        .max_tables_per_component(4)
        .table_elements(60_000)
        .max_memory_size(MEMORY_MAX as usize)
        .linear_memory_keep_resident(RESIDENT);
    let mut config = Config::new();
    config
        .allocation_strategy(InstanceAllocationStrategy::Pooling(pool))
        // A fresh instance maps the snapshot copy-on-write: half a millisecond instead of nine.
        .memory_init_cow(true)
        .memory_guaranteed_dense_image_size(64 << 20)
        // Fuel bounds every call, bulk memory included; checking epochs as well would cost a tenth of all time.
        .consume_fuel(true)
        .max_wasm_stack(WASM_STACK)
        // No guest runs on such a stack; it may not be the smaller one.
        .async_stack_size(WASM_STACK)
        .cranelift_opt_level(OptLevel::Speed)
        // Bits of a NaN would differ between processors.
        .cranelift_nan_canonicalization(true)
        .wasm_relaxed_simd(false)
        .concurrency_support(false)
        .wasm_backtrace_max_frames(None);
    config
}

/// Maps machine code that this program compiled.
#[allow(unsafe_code, reason = "wasmtime loads machine code unchecked; its origin is checked before")]
fn load(engine: &Engine, code: &[u8]) -> Result<Component, HostError> {
    // SAFETY: `code` comes from `precompile_component`, straight or through the cache, which gives out only files that
    // are whole, belong to this user, and were compiled by this version for this engine.
    unsafe { Component::deserialize(engine, code) }.map_err(HostError::engine)
}
