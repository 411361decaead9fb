//! The engine's configuration and the compiled interpreters: one with numpy for programs that say its name or are to have
//! it, one without for all others.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use wasmtime::component::{Component, InstancePre, Linker};
use wasmtime::{Config, Enabled, Engine, InstanceAllocationStrategy, OptLevel, PoolingAllocationConfig};

use crate::artifact::{Artifact, NUMPY, PROGRAM};
use crate::host::Host;
use crate::{HostError, MEMORY_MAX, SESSIONS_MAX, machine_code};

/// Tables of the one core module that `guest/merge.py` leaves: that of all functions, and that of the stubs of WASI. Linking
/// several modules at each start would take more than a third of it, so the pool takes one.
const TABLES: u32 = 2;

/// Machine stack that a guest may use. The guest's own stack in linear memory always overflows first, at a depth that
/// is the same on every machine: `guest/stack.py` makes every kind of recursion use it. At that depth at most 6.1 MiB
/// of machine stack were in use over every kind of recursion in `src/processors.rs`; the limit leaves room because
/// frames differ between processors.
pub(crate) const WASM_STACK: usize = 16 << 20;

/// Memory of a finished session that is reset by copying the snapshot over it: its beginning, as much as the interpreter
/// occupies without its library, which lies behind it and is only read.
/// Returning the pages to the system instead would cost the next session a page fault for each, and every fault stops the
/// other workers while they forget the old page.
const RESIDENT: usize = 14 << 20;

/// The same of a table, which is filled as its functions are called: all of that with numpy, 108 KiB.
const TABLE_RESIDENT: usize = 128 << 10;

/// The compiled interpreter, ready to be instantiated.
pub(crate) struct Interpreter {
    pub(crate) engine: Engine,
    pub(crate) component: InstancePre<Host>,
    /// Linear memory that it takes before a program does.
    pub(crate) taken_bytes: u64,
}

impl Interpreter {
    /// Opens the interpreter with this configuration.
    pub(crate) fn with(config: &Config, dir: &Path, on_compile: impl FnOnce()) -> Result<Interpreter, HostError> {
        let engine = Engine::new(config).map_err(HostError::engine)?;
        Interpreter::of(&PROGRAM, engine, dir, on_compile)
    }

    /// Opens the interpreter of this artifact on an engine, which several may share.
    pub(crate) fn of(
        artifact: &Artifact,
        engine: Engine,
        dir: &Path,
        on_compile: impl FnOnce(),
    ) -> Result<Interpreter, HostError> {
        let component: Component = machine_code::kept(dir, &engine, artifact.sha256(), || {
            on_compile();
            engine.precompile_component(&artifact.component()?).map_err(HostError::engine)
        })?;
        // The linker is empty, so a component that imports anything is refused here.
        let component = Linker::new(&engine).instantiate_pre(&component).map_err(HostError::engine)?;
        Ok(Interpreter { engine, component, taken_bytes: artifact.taken_bytes })
    }
}

/// Both interpreters, of which the one with numpy is opened for the first program that wants it.
pub(crate) struct Interpreters {
    /// The one without numpy.
    pub(crate) plain: Arc<Interpreter>,
    numpy: Mutex<Option<Arc<Interpreter>>>,
    cache: PathBuf,
}

impl Interpreters {
    pub(crate) fn new(plain: Interpreter, cache: &Path) -> Interpreters {
        Interpreters { plain: Arc::new(plain), numpy: Mutex::default(), cache: cache.to_owned() }
    }

    /// Whether a program has been run with numpy.
    pub(crate) fn has_opened_numpy(&self) -> bool {
        self.numpy.lock().unwrap_or_else(PoisonError::into_inner).is_some()
    }

    /// The interpreter with numpy.
    pub(crate) fn with_numpy(&self) -> Result<Arc<Interpreter>, HostError> {
        // Opening changes nothing before it has succeeded, so a panic in it leaves nothing half done.
        let mut opened = self.numpy.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(numpy) = &*opened {
            return Ok(Arc::clone(numpy));
        }
        let on_compile = || tracing::warn!("compiling the Python sandbox with numpy, once: about 25 s");
        let numpy = Arc::new(Interpreter::of(&NUMPY, self.plain.engine.clone(), &self.cache, on_compile)?);
        *opened = Some(Arc::clone(&numpy));
        Ok(numpy)
    }
}

pub(crate) fn config() -> Config {
    let mut pool = PoolingAllocationConfig::new();
    pool.total_component_instances(SESSIONS_MAX as u32)
        .total_memories(SESSIONS_MAX as u32)
        .total_tables(TABLES * SESSIONS_MAX as u32)
        .total_core_instances(SESSIONS_MAX as u32)
        .max_core_instances_per_component(1)
        .max_component_instance_size(8 << 20)
        .max_core_instance_size(8 << 20)
        .max_memories_per_component(1)
        .max_tables_per_component(TABLES)
        .max_tables_per_module(TABLES)
        .table_elements(60_000)
        .max_memory_size(MEMORY_MAX as usize)
        .linear_memory_keep_resident(RESIDENT)
        .table_keep_resident(TABLE_RESIDENT)
        // Wasmtime asks for the first 32 runs of written pages. A session leaves hundreds, and all behind the 32nd would be
        // returned to the system.
        .pagemap_scan(Enabled::No);
    let mut config = Config::new();
    config
        .allocation_strategy(InstanceAllocationStrategy::Pooling(pool))
        // A fresh instance maps the snapshot copy-on-write, which takes half a millisecond instead of nine.
        .memory_init_cow(true)
        .memory_guaranteed_dense_image_size(64 << 20)
        // Fuel bounds every call, bulk memory operations included; checking epochs too would cost a tenth of all time.
        .consume_fuel(true)
        .max_wasm_stack(WASM_STACK)
        // No guest runs on an asynchronous stack, but wasmtime requires that it is not the smaller one.
        .async_stack_size(WASM_STACK)
        .cranelift_opt_level(OptLevel::Speed)
        // Without this, the bits of a NaN would differ between processors.
        .cranelift_nan_canonicalization(true)
        .wasm_relaxed_simd(false)
        .concurrency_support(false)
        .wasm_backtrace_max_frames(None);
    config
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use std::fs;

    use crate::{FUEL_PER_SECOND, Limits, Sandbox, TierChoice};

    const PROGRAM: &str = "import collections\ndef strategy(board):\n    \
                           return max(collections.Counter(str(x) for row in board for x in row).items())[0]\n";

    /// Page faults of this thread so far that read no file.
    fn page_faults() -> u64 {
        let stat = fs::read_to_string("/proc/thread-self/stat").unwrap();
        let (_, behind_name) = stat.rsplit_once(") ").unwrap();
        behind_name.split(' ').nth(7).unwrap().parse().unwrap()
    }

    #[test]
    fn a_session_takes_over_the_pages_of_the_one_before_it() {
        const LIMITS: Limits =
            Limits { game_fuel: FUEL_PER_SECOND, call_fuel: FUEL_PER_SECOND / 4, memory_bytes: 128 << 20 };
        let sandbox = Sandbox::open(&Sandbox::default_cache_dir().unwrap(), || ()).unwrap();
        let sandbox = sandbox.with_tiers(TierChoice::Interpreter, 0);
        let play = || {
            let mut session = sandbox.load(PROGRAM, 7, &LIMITS).unwrap();
            session.call("strategy", "[[[2,0,0,4],[2,0,0,4],[2,0,0,4],[2,0,0,4]]]").unwrap();
        };
        play();
        let before = page_faults();
        play();
        let faults = page_faults() - before;
        assert!(faults < 40, "{faults} page faults");
    }
}
