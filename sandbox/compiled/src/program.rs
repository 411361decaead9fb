//! From source text to a compiled program that can be started.

use std::sync::Arc;

use wasmtime::{Module, ModuleExport};

use crate::check;
use crate::emit::{self, Emission};
use crate::engine::{STACK_NEEDED, Shared};
use crate::scope::Scopes;
use crate::session::Session;
use crate::{Limits, NotCompiled, Outside, Stop, TierError};

/// A program that can be started any number of times. Cheap to clone.
#[derive(Clone)]
pub struct Program {
    pub(crate) compiled: Arc<Compiled>,
}

/// A module and what its host has to know of it.
pub(crate) struct Compiled {
    pub(crate) shared: Arc<Shared>,
    pub(crate) module: Module,
    /// What it imports of the runtime, in order.
    pub(crate) imports: Vec<ModuleExport>,
    pub(crate) emission: Emission,
}

impl Program {
    /// A fresh instance in which the module's top level has run. `seed` seeds `random` as `random.seed(seed)` does.
    pub fn start(&self, seed: u64, limits: &Limits) -> Result<Session, Stop> {
        Session::start(self, seed, limits)
    }

    /// Bytes of its machine code, and some for what belongs to it.
    pub(crate) fn bytes(&self) -> usize {
        let range = self.compiled.module.image_range();
        (range.end as usize - range.start as usize) + 4096
    }
}

/// Compiles a source on this very thread.
pub(crate) fn compile(shared: &Arc<Shared>, source: &str) -> Result<Program, NotCompiled> {
    let emission = stacker::maybe_grow(STACK_NEEDED, 2 * STACK_NEEDED, || emit(shared, source))?;
    let engine = |error| NotCompiled::Machine(TierError::engine(error));
    let module = Module::new(&shared.engine, &emission.wasm).map_err(engine)?;
    let imports = imports(shared, &module).map_err(NotCompiled::Machine)?;
    Ok(Program { compiled: Arc::new(Compiled { shared: shared.clone(), module, imports, emission }) })
}

/// The WebAssembly of a source.
pub(crate) fn emit(shared: &Shared, source: &str) -> Result<Emission, NotCompiled> {
    let outside = |construct: String, at| NotCompiled::Outside(Outside { line: check::line_of(source, at), construct });
    let parsed = check::parse(source).map_err(NotCompiled::Outside)?;
    let scopes = Scopes::build(parsed.suite()).map_err(|refused| outside(refused.construct, refused.at))?;
    emit::compile(&scopes, &shared.interface).map_err(|(refusal, at)| outside(refusal.construct, at))
}

fn imports(shared: &Shared, module: &Module) -> Result<Vec<ModuleExport>, TierError> {
    let runtime = shared.runtime.module();
    let find =
        |name: &str| runtime.get_export_index(name).ok_or_else(|| TierError::Runtime(format!("exports no `{name}`")));
    module.imports().map(|import| find(import.name())).collect()
}
