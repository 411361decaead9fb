//! The runtime that every program is linked with: what compiled code and the host have to know of it.

use std::collections::BTreeMap;

use wasm_encoder::{FuncType, ValType};
use wasmtime::{Engine, ExternType, InstancePre, Linker, Module, ResourceLimiter, Store};

use crate::TierError;

/// Built from `runtime/` by `runtime/build.sh`.
const RUNTIME: &[u8] = include_bytes!("../artifact/runtime.wasm");

/// The most memory a session can have, whatever its limits say.
pub(crate) const MEMORY_MAX: u64 = 1 << 30;

/// Stack of the machine that compiled code may use. The deepest recursion that is let through uses a fraction.
pub(crate) const STACK: usize = 1 << 20;

/// What has to be left of a thread's stack for a call. Less than new threads have: making a stack takes 10 us.
pub(crate) const STACK_NEEDED: usize = STACK + (256 << 10);

/// What the runtime exports that no compiled code calls.
const FOR_THE_HOST: [&str; 7] =
    ["_initialize", "prepare", "bytes_made", "bytes_unmade", "end_call", "character_strings", "nursery_start"];

/// What all programs share.
pub(crate) struct Shared {
    pub(crate) engine: Engine,
    pub(crate) runtime: InstancePre<Host>,
    pub(crate) interface: Interface,
}

/// What compiled code has to know of the runtime.
pub(crate) struct Interface {
    /// Parameters and results of what it exports for compiled code.
    pub(crate) signatures: BTreeMap<String, FuncType>,
    /// Address of the strings of one character.
    pub(crate) characters: u32,
    /// Where the runtime's own memory ends, and that of a program begins.
    pub(crate) heap: u32,
    /// Where the values of a call begin.
    pub(crate) nursery: u32,
}

impl Shared {
    /// Links the runtime, of which `compile` makes machine code.
    pub(crate) fn link(
        engine: Engine,
        compile: impl FnOnce(&Engine, &[u8]) -> Result<Module, TierError>,
    ) -> Result<Shared, TierError> {
        let module = compile(&engine, RUNTIME)?;
        // An empty linker: a runtime that imported anything would be refused here.
        let runtime = Linker::new(&engine).instantiate_pre(&module).map_err(TierError::engine)?;
        let interface = Interface::read(&engine, &module, &runtime)?;
        Ok(Shared { engine, runtime, interface })
    }
}

impl Interface {
    fn read(engine: &Engine, module: &Module, runtime: &InstancePre<Host>) -> Result<Interface, TierError> {
        let mut signatures = BTreeMap::new();
        for export in module.exports() {
            if let ExternType::Func(function) = export.ty()
                && !FOR_THE_HOST.contains(&export.name())
            {
                let parameters = function.params().map(value_type).collect::<Result<Vec<_>, _>>()?;
                let results = function.results().map(value_type).collect::<Result<Vec<_>, _>>()?;
                signatures.insert(export.name().to_owned(), FuncType::new(parameters, results));
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

/// What the host keeps with an instance.
pub(crate) struct Host {
    pub(crate) memory_bytes: u64,
    /// The system refused memory that the program may have.
    pub(crate) exhausted: Option<String>,
}

impl Host {
    pub(crate) fn new(memory_bytes: u64) -> Host {
        Host { memory_bytes, exhausted: None }
    }
}

impl ResourceLimiter for Host {
    fn memory_growing(&mut self, _now: usize, wanted: usize, max: Option<usize>) -> wasmtime::Result<bool> {
        Ok(wanted as u64 <= self.memory_bytes && max.is_none_or(|max| wanted <= max))
    }

    // An error here is a trap, and the machine's fault.
    fn memory_grow_failed(&mut self, error: wasmtime::Error) -> wasmtime::Result<()> {
        self.exhausted = Some(format!("{error:#}"));
        Err(error)
    }

    fn table_growing(&mut self, _now: usize, wanted: usize, max: Option<usize>) -> wasmtime::Result<bool> {
        Ok(max.is_some_and(|max| wanted <= max))
    }
}
