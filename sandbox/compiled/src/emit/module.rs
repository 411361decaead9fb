//! Puts functions together to a module. It imports the runtime's functions, its memory and its two counters, and nothing
//! else.

use std::collections::BTreeMap;

use wasm_encoder::{
    BlockType, CodeSection, ConstExpr, DataSection, ElementSection, Elements, EntityType, ExportKind, ExportSection,
    FuncType, Function, FunctionSection, GlobalType, ImportSection, Instruction as Wasm, MemoryType, Module, RefType,
    TableSection, TableType, TypeSection, ValType,
};

use super::call::ARGUMENTS_MAX;
use super::code::{Body, GAS, Step};
use super::{Emission, Emitted, Emitter, WASM_BYTES_MAX, outside};
use crate::layout::UNBOUND;
use crate::scope::Mode;

/// Sections that are filled on the way.
#[derive(Default)]
struct Sections {
    types: TypeSection,
    known: Vec<FuncType>,
    imports: ImportSection,
    /// Numbers of imported functions.
    imported: BTreeMap<String, u32>,
    /// Types of calls of closures, by the number of arguments.
    indirect: Vec<u32>,
}

impl Sections {
    fn type_of(&mut self, signature: FuncType) -> u32 {
        if let Some(index) = self.known.iter().position(|known| *known == signature) {
            return index as u32;
        }
        self.types.ty().func_type(&signature);
        self.known.push(signature);
        self.known.len() as u32 - 1
    }
}

/// What a function of the program takes and gives, with its closure first.
fn signature(arguments: usize) -> FuncType {
    FuncType::new(vec![ValType::I64; arguments + 1], [ValType::I64])
}

fn import_state(sections: &mut Sections) {
    let memory = MemoryType { minimum: 1, maximum: None, memory64: false, shared: false, page_size_log2: None };
    sections.imports.import("runtime", "memory", EntityType::Memory(memory));
    for (name, val_type) in [("gas_left", ValType::I64), ("depth", ValType::I32)] {
        let global = GlobalType { val_type, mutable: true, shared: false };
        sections.imports.import("runtime", name, EntityType::Global(global));
    }
}

impl Emitter<'_> {
    pub(super) fn module(mut self, mut bodies: Vec<Body>) -> Emitted<Emission> {
        let (entry, callable) = self.entry()?;
        let functions = bodies.len();
        bodies.push(entry);
        let is_indirect = bodies.iter().any(|body| body.code.iter().any(|step| matches!(step, Step::Indirect(_))));
        let mut sections = Sections::default();
        self.import_runtime(&mut sections);
        import_state(&mut sections);
        let base = sections.imported.len() as u32;
        let mut types = FunctionSection::new();
        let mut code = CodeSection::new();
        for (id, body) in bodies.iter().enumerate() {
            let signature = match id {
                0 => FuncType::new([], []),
                _ if id == functions => FuncType::new([ValType::I32, ValType::I64, ValType::I32], [ValType::I64]),
                _ => signature(body.parameter_count as usize - 1),
            };
            types.function(sections.type_of(signature));
            code.function(&self.assembled(body, &sections, base));
        }
        let mut exports = ExportSection::new();
        exports.export("init", ExportKind::Func, base);
        exports.export("call", ExportKind::Func, base + functions as u32);
        let mut module = Module::new();
        module.section(&sections.types).section(&sections.imports).section(&types);
        let (tables, elements) = table(base, functions as u32);
        if is_indirect {
            module.section(&tables);
        }
        module.section(&exports);
        if is_indirect {
            module.section(&elements);
        }
        let end = self.pool.bytes.len().next_multiple_of(8);
        self.pool.bytes.resize(end, 0);
        let mut data = DataSection::new();
        data.active(0, &ConstExpr::i32_const(self.pool.start as i32), self.pool.bytes.iter().copied());
        let wasm = module.section(&code).section(&data).clone().finish();
        if wasm.len() > WASM_BYTES_MAX {
            return outside("a program of this size");
        }
        Ok(Emission {
            wasm,
            tokens: 0,
            passed_over: 0,
            roots: self.interface.heap,
            root_count: self.scopes.global_count(),
            heap: self.pool.start + end as u32,
            callable,
            // What is captured by value was there before the closure.
            has_cycles: self.scopes.variables.iter().any(|variable| variable.mode == Mode::Cell),
            prints_floats: self.prints_floats,
        })
    }

    /// Imports all of the runtime, and makes types of calls, in an order that is always the same: functions that programs
    /// share are then the same code in each, and are compiled once.
    fn import_runtime(&self, sections: &mut Sections) {
        for arguments in 0..=ARGUMENTS_MAX {
            let ty = sections.type_of(signature(arguments));
            sections.indirect.push(ty);
        }
        for (index, (name, signature)) in self.interface.signatures.iter().enumerate() {
            let ty = sections.type_of(signature.clone());
            sections.imports.import("runtime", name, EntityType::Function(ty));
            sections.imported.insert(name.clone(), index as u32);
        }
    }

    /// A function with all numbers filled in.
    fn assembled(&self, body: &Body, sections: &Sections, base: u32) -> Function {
        let mut function = Function::new_with_locals_types(body.locals.iter().copied());
        for local in self.unbound_locals(body) {
            function.instruction(&Wasm::I64Const(UNBOUND));
            function.instruction(&Wasm::LocalSet(local));
        }
        for step in &body.code {
            match step {
                Step::Wasm(instruction) => function.instruction(instruction),
                Step::Runtime(name) => function.instruction(&Wasm::Call(sections.imported[*name])),
                Step::Function(id) => function.instruction(&Wasm::Call(base + *id as u32)),
                Step::Indirect(arguments) => {
                    let type_index = sections.indirect[*arguments];
                    function.instruction(&Wasm::CallIndirect { type_index, table_index: 0 })
                }
                Step::Spend { segment, checked } => spend(&mut function, body.segments[*segment].cost, *checked),
                Step::Refund { segment, done } => refund(&mut function, body.segments[*segment].cost - done),
            };
        }
        function.instruction(&Wasm::End);
        function
    }

    /// Locals of variables that are looked at before it is sure that they are bound.
    fn unbound_locals(&self, body: &Body) -> Vec<u32> {
        let is_plain = |variable: usize| matches!(self.scopes.variables[variable].mode, Mode::Local | Mode::Value);
        let places = body.places.iter().filter(|(variable, local)| {
            is_plain(**variable) && **local >= body.parameter_count && body.checked.contains(variable)
        });
        let mut locals: Vec<u32> = places.map(|(_, &local)| local).collect();
        locals.sort_unstable();
        locals
    }
}

/// Spends gas; what is `checked` ends the program where nothing is left.
fn spend(function: &mut Function, cost: u32, checked: bool) -> &mut Function {
    if cost == 0 && !checked {
        return function;
    }
    function.instruction(&Wasm::GlobalGet(GAS));
    function.instruction(&Wasm::I64Const(i64::from(cost)));
    function.instruction(&Wasm::I64Sub);
    function.instruction(&Wasm::GlobalSet(GAS));
    if checked {
        function.instruction(&Wasm::GlobalGet(GAS));
        function.instruction(&Wasm::I64Const(0));
        function.instruction(&Wasm::I64LtS);
        function.instruction(&Wasm::If(BlockType::Empty));
        function.instruction(&Wasm::Unreachable);
        function.instruction(&Wasm::End);
    }
    function
}

fn refund(function: &mut Function, cost: u32) -> &mut Function {
    if cost == 0 {
        return function;
    }
    function.instruction(&Wasm::GlobalGet(GAS));
    function.instruction(&Wasm::I64Const(i64::from(cost)));
    function.instruction(&Wasm::I64Add);
    function.instruction(&Wasm::GlobalSet(GAS))
}

/// The table of all functions, for closures that are called without being known.
fn table(base: u32, functions: u32) -> (TableSection, ElementSection) {
    let mut tables = TableSection::new();
    let count = u64::from(functions);
    tables.table(TableType {
        element_type: RefType::FUNCREF,
        minimum: count,
        maximum: Some(count),
        table64: false,
        shared: false,
    });
    let mut elements = ElementSection::new();
    let numbers: Vec<u32> = (base..base + functions).collect();
    elements.active(None, &ConstExpr::i32_const(0), Elements::Functions(numbers.into()));
    (tables, elements)
}
