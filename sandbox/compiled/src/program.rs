//! From source text to a compiled program that can be started.

use std::sync::Arc;

use ruff_python_ast::PythonVersion;
use ruff_python_parser::{Mode, ParseOptions, parse_unchecked};
use wasmtime::{Module, ModuleExport};

use crate::emit::{self, Callable, Options};
use crate::engine::Shared;
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
    /// Where its variables at the top level lie, and how many there are.
    pub(crate) roots: u32,
    pub(crate) root_count: u32,
    /// Where its memory ends.
    pub(crate) heap: u32,
    pub(crate) callable: Vec<Callable>,
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

pub(crate) fn compile(shared: &Arc<Shared>, source: &str) -> Result<Program, NotCompiled> {
    let outside = |construct: &str| NotCompiled::Outside(Outside { line: 1, construct: construct.into() });
    let options = ParseOptions::from(Mode::Module).with_target_version(PythonVersion::PY314);
    let parsed = parse_unchecked(source, options).try_into_module().ok_or_else(|| outside("no module"))?;
    if !parsed.errors().is_empty() {
        return Err(outside("a syntax error"));
    }
    let scopes = Scopes::build(&parsed.syntax().body).map_err(|what| outside(&what))?;
    let compiled = emit::compile(&scopes, &shared.interface, Options::default()).map_err(|what| outside(&what))?;
    let engine = |error| NotCompiled::Machine(TierError::engine(error));
    let module = Module::new(&shared.engine, &compiled.wasm).map_err(engine)?;
    let imports = imports(shared, &module).map_err(NotCompiled::Machine)?;
    Ok(Program {
        compiled: Arc::new(Compiled {
            shared: shared.clone(),
            module,
            imports,
            roots: compiled.roots,
            root_count: compiled.nroots,
            heap: compiled.heap,
            callable: compiled.callable,
        }),
    })
}

fn imports(shared: &Shared, module: &Module) -> Result<Vec<ModuleExport>, TierError> {
    let runtime = shared.runtime.module();
    let find = |name: &str| {
        runtime.get_export_index(name).ok_or_else(|| TierError::Runtime(format!("exports no `{name}`")))
    };
    module.imports().map(|import| find(import.name())).collect()
}
