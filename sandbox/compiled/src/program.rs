//! From source text to a compiled program that can be started.

use std::sync::Arc;

use ruff_python_ast::token::{Token, TokenKind};
use ruff_text_size::Ranged;
use wasmtime::{Module, ModuleExport};

use crate::check;
use crate::emit::{self, Emission};
use crate::runtime::{STACK_NEEDED, Shared};
use crate::scope::{Refused, Scopes};
use crate::{NotCompiled, Outside, TierError};

/// Bytes of a comment that take CPython as long as the end of a line that ends no statement.
const LINE_END_BYTES: u64 = 6;

/// A program that can be started any number of times. Cheap to clone.
#[derive(Clone)]
pub struct CompiledProgram {
    pub(crate) compiled: Arc<Compiled>,
}

/// A module, and what the host needs to know of it.
pub(crate) struct Compiled {
    pub(crate) shared: Arc<Shared>,
    pub(crate) module: Module,
    /// The runtime's exports that the module imports, in order.
    pub(crate) imports: Vec<ModuleExport>,
    pub(crate) emission: Emission,
}

impl CompiledProgram {
    /// Whether it prints what may be a float, or hold floats. Their text, which is dropped here, costs CPython up to 216 times
    /// what printing is charged.
    pub fn prints_floats(&self) -> bool {
        self.compiled.emission.prints_floats
    }

    /// Approximate bytes of the program: its machine code and a page for the rest.
    pub(crate) fn bytes(&self) -> usize {
        let range = self.compiled.module.image_range();
        (range.end as usize - range.start as usize) + 4096
    }
}

/// Compiles a source on the calling thread.
pub(crate) fn compile(shared: &Arc<Shared>, source: &str) -> Result<CompiledProgram, NotCompiled> {
    let emission = stacker::maybe_grow(STACK_NEEDED, 2 * STACK_NEEDED, || emit(shared, source))?;
    let engine = |error| NotCompiled::Machine(TierError::engine(error));
    let module = Module::new(&shared.engine, &emission.wasm).map_err(engine)?;
    let imports = imports(shared, &module).map_err(NotCompiled::Machine)?;
    Ok(CompiledProgram { compiled: Arc::new(Compiled { shared: shared.clone(), module, imports, emission }) })
}

/// The WebAssembly of a source.
pub(crate) fn emit(shared: &Shared, source: &str) -> Result<Emission, NotCompiled> {
    let outside =
        |Refused { construct, at }| NotCompiled::Outside(Outside { line: check::line_of(source, at), construct });
    let parsed = check::parse(source).map_err(NotCompiled::Outside)?;
    let scopes = Scopes::build(parsed.suite()).map_err(outside)?;
    let emission = emit::compile(&scopes, &shared.interface).map_err(outside)?;
    let (comments, code): (Vec<&Token>, Vec<&Token>) =
        parsed.tokens().iter().partition(|token| token.kind().is_trivia());
    let passed_over = comments.iter().map(|token| passed_over(token)).sum();
    Ok(Emission { tokens: code.len() as u64, passed_over, ..emission })
}

/// The bytes of a comment that take CPython as long to pass over.
fn passed_over(token: &Token) -> u64 {
    match token.kind() {
        TokenKind::NonLogicalNewline => LINE_END_BYTES,
        _ => u64::from(u32::from(token.range().len())),
    }
}

fn imports(shared: &Shared, module: &Module) -> Result<Vec<ModuleExport>, TierError> {
    let runtime = shared.runtime.module();
    let find =
        |name: &str| runtime.get_export_index(name).ok_or_else(|| TierError::Runtime(format!("exports no `{name}`")));
    module.imports().map(|import| find(import.name())).collect()
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::Path;

    use wasmparser::{Parser, Payload, TypeRef, Validator};

    use super::*;
    use crate::CompiledTier;

    /// Every WebAssembly instruction that compiled programs may contain.
    const INSTRUCTIONS: &[&str] = &[
        "Block", "Br", "BrIf", "Call", "CallIndirect", "Drop", "Else", "End", "GlobalGet", "GlobalSet", "I32Add",
        "I32And", "I32Const", "I32Eq", "I32Eqz", "I32GeU", "I32GtU", "I32LeU", "I32Load", "I32LtU", "I32Ne", "I32Or",
        "I32Shl", "I32Store", "I32Sub", "I32WrapI64", "I64Add", "I64And", "I64Clz", "I64Const", "I64DivS", "I64Eq",
        "I64Extend32S", "I64ExtendI32U", "I64GeS", "I64GeU", "I64GtS", "I64GtU", "I64LeS", "I64Load", "I64Load32U",
        "I64LtS", "I64Mul", "I64Ne", "I64Or", "I64RemS", "I64Shl", "I64ShrS", "I64ShrU", "I64Store", "I64Sub",
        "I64Xor", "If", "LocalGet", "LocalSet", "LocalTee", "Loop", "Return", "Unreachable",
    ];

    /// The ladder of reference players, and the edge cases of the language.
    fn samples() -> Vec<String> {
        let root = Path::new(env!("CARGO_MANIFEST_DIR"));
        let ladder = fs::read_dir(root.join("../../crates/environment/src/game2048/ladder")).expect("a ladder");
        let mut samples: Vec<String> =
            ladder.map(|entry| fs::read_to_string(entry.expect("a file").path()).expect("a program")).collect();
        let edges = fs::read_to_string(root.join("tests/edges.txt")).expect("edges");
        samples.extend(edges.split("\n# next\n").map(|edge| {
            format!("def strategy(board):\n    {}\n    return acc\n", edge.trim_end().replace('\n', "\n    "))
        }));
        samples
    }

    #[test]
    fn a_module_has_listed_instructions_and_imports_the_runtime_alone() {
        let tier = CompiledTier::open().expect("the tier opens");
        let mut emitted = 0;
        for source in samples() {
            let Ok(emission) = emit(&tier.shared, &source) else { continue };
            emitted += 1;
            Validator::new().validate_all(&emission.wasm).expect("a valid module");
            for payload in Parser::new(0).parse_all(&emission.wasm) {
                match payload.expect("a valid module") {
                    Payload::ImportSection(imports) => {
                        for import in imports.into_imports() {
                            let import = import.expect("an import");
                            assert_eq!(import.module, "runtime");
                            assert!(!matches!(import.ty, TypeRef::Table(_) | TypeRef::Tag(_)));
                        }
                    }
                    Payload::MemorySection(_) | Payload::GlobalSection(_) | Payload::StartSection { .. } => {
                        panic!("a section that no program has")
                    }
                    Payload::CodeSectionEntry(body) => {
                        for operator in body.get_operators_reader().expect("code") {
                            let text = format!("{:?}", operator.expect("an instruction"));
                            let name = text.split([' ', '(']).next().unwrap_or_default();
                            assert!(INSTRUCTIONS.contains(&name), "{name} in\n{source}");
                        }
                    }
                    _ => {}
                }
            }
        }
        assert!(emitted > 80, "{emitted}");
    }

    #[test]
    fn the_same_source_gives_the_same_module() {
        let tier = CompiledTier::open().expect("the tier opens");
        for source in samples() {
            let (Ok(one), Ok(two)) = (emit(&tier.shared, &source), emit(&tier.shared, &source)) else { continue };
            assert!(one.wasm == two.wasm, "{source}");
        }
    }
}
