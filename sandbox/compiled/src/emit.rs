//! From syntax to a core module: tagged values in locals, small integers inline, everything else a call to the runtime.
use std::collections::{BTreeMap, HashMap, HashSet};

use ruff_python_ast::{
    BoolOp, CmpOp, Comprehension, Expr, ExprCall, Keyword, Number, Operator, Parameters, Stmt, UnaryOp,
};
use wasm_encoder::{
    BlockType, CodeSection, ConstExpr, DataSection, ElementSection, Elements, EntityType, ExportKind, ExportSection,
    Function, FunctionSection, ImportSection, Instruction as I, MemArg, MemoryType, Module, RefType, TableSection,
    TableType, TypeSection, ValType,
};

use crate::scope::{Mode, Node, R, Scopes};

const NONE: i64 = 3;
const FALSE: i64 = 11;
const TRUE: i64 = 19;
const UNDEF: i64 = 27;
const END: i64 = 35;
const K_FUNC: i32 = 7;
/// What a pointer lacks to the address of its object.
const OFF: u64 = 7;

#[derive(Clone, Copy, Debug)]
pub struct Options {
    /// Fast paths for small integers and subscripts in place.
    pub inline: bool,
    /// Count gas in the code.
    pub gas: bool,
    /// Use types found out about variables.
    pub types: bool,
    /// Say why a program was given up.
    pub reasons: bool,
    /// Import everything, always: equal functions are then equal code in whatever program.
    pub stable: bool,
    /// Gas of the code in a global of its own, out of reach of memory.
    pub gas_global: bool,
}

use crate::engine::Interface as Runtime;

impl Callable {
    /// Whether it may be called with arguments of these kinds.
    pub fn takes(&self, kinds: &[Ty]) -> bool {
        self.parameters.len() == kinds.len()
            && self.parameters.iter().zip(kinds).all(|(takes, kind)| *takes == Ty::Any || takes == kind)
    }
}

impl Default for Options {
    fn default() -> Options {
        Options { inline: true, gas: true, types: true, reasons: false, stable: false, gas_global: true }
    }
}

/// A function that the host may call with so many arguments.
#[derive(Debug)]
pub struct Callable {
    pub name: String,
    pub parameters: Vec<Ty>,
}

#[derive(Debug)]
pub struct Compiled {
    pub callable: Vec<Callable>,
    pub wasm: Vec<u8>,
    pub roots: u32,
    pub nroots: u32,
    pub heap: u32,
}

#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Ty {
    Bot,
    Int,
    Bool,
    Float,
    Str,
    List,
    Tuple,
    Dict,
    Set,
    None,
    Func(usize),
    Module(u8),
    /// The arguments of a caught exception.
    Caught,
    Any,
}

#[derive(Clone, Debug)]
enum Ins {
    W(I<'static>),
    Rt(&'static str),
    Fn(usize),
    Indirect(usize),
    Gas(usize),
}

/// An operand that can be pushed any number of times.
#[derive(Clone, Copy, Debug)]
enum Op {
    L(u32),
    C(i64),
}

#[derive(Clone, Copy)]
enum Arg<'a> {
    E(&'a Expr),
    L(u32, Ty),
}

/// What a source yields: one value, or several that were never put in a tuple.
#[derive(Clone, Debug)]
enum Item {
    One(u32, Ty),
    Many(Vec<Item>),
}

enum Pull<'a> {
    Range { i: u32, stop: u32, step: i64 },
    Dyn { value: u32, object: u32, index: u32, known: bool, ty: Ty },
    Zip(Vec<Pull<'a>>),
    Enum { i: u32, inner: Box<Pull<'a>> },
    Map { f: Callee<'a>, inner: Vec<Pull<'a>> },
}

#[derive(Clone, Copy)]
enum Callee<'a> {
    Builtin(&'a str),
    /// Closure in a local.
    Known(u32, usize),
    Unknown(u32),
}

struct Loop {
    brk: u32,
    cont: u32,
}

/// A function being written.
struct F {
    id: usize,
    code: Vec<Ins>,
    nparams: u32,
    locals: Vec<ValType>,
    free: [Vec<u32>; 4],
    depth: u32,
    loops: Vec<Loop>,
    place: HashMap<usize, u32>,
    assigned: HashSet<usize>,
    comps: Vec<HashMap<String, usize>>,
    gas: Vec<(usize, u32)>,
    gas_costs: Vec<u32>,
    recursive: bool,
    shadow: bool,
    checked: HashSet<usize>,
    /// Where a missing key leads, and the local that is told.
    tries: Vec<Option<(u32, u32)>>,
}

pub struct Gen<'a, 'r> {
    s: &'a Scopes<'a>,
    rt: &'r Runtime,
    opts: Options,
    tys: Vec<Ty>,
    rets: Vec<Ty>,
    escaped: Vec<bool>,
    edges: Vec<HashSet<usize>>,
    changed: bool,
    data: Vec<u8>,
    data_base: u32,
    strings: HashMap<String, u32>,
    tuples: HashMap<String, u32>,
    floats: HashMap<u64, u32>,
    f: F,
}

/// Every builtin name of CPython 3.14; what is none of them and never bound is a NameError.
const BUILTINS: &[&str] = &[
    "ArithmeticError", "AssertionError", "AttributeError", "BaseException", "BaseExceptionGroup", "BlockingIOError", "BrokenPipeError",
    "BufferError", "BytesWarning", "ChildProcessError", "ConnectionAbortedError", "ConnectionError", "ConnectionRefusedError",
    "ConnectionResetError", "DeprecationWarning", "EOFError", "Ellipsis", "EncodingWarning", "EnvironmentError", "Exception",
    "ExceptionGroup", "False", "FileExistsError", "FileNotFoundError", "FloatingPointError", "FutureWarning", "GeneratorExit", "IOError",
    "ImportError", "ImportWarning", "IndentationError", "IndexError", "InterruptedError", "IsADirectoryError", "KeyError",
    "KeyboardInterrupt", "LookupError", "MemoryError", "ModuleNotFoundError", "NameError", "None", "NotADirectoryError", "NotImplemented",
    "NotImplementedError", "OSError", "OverflowError", "PendingDeprecationWarning", "PermissionError", "ProcessLookupError",
    "PythonFinalizationError", "RecursionError", "ReferenceError", "ResourceWarning", "RuntimeError", "RuntimeWarning", "StopAsyncIteration",
    "StopIteration", "SyntaxError", "SyntaxWarning", "SystemError", "SystemExit", "TabError", "TimeoutError", "True", "TypeError",
    "UnboundLocalError", "UnicodeDecodeError", "UnicodeEncodeError", "UnicodeError", "UnicodeTranslateError", "UnicodeWarning",
    "UserWarning", "ValueError", "Warning", "ZeroDivisionError", "__build_class__", "__debug__", "__doc__", "__import__", "__loader__",
    "__name__", "__package__", "__spec__", "__builtins__", "__file__", "abs", "aiter", "all", "anext", "any", "ascii", "bin", "bool",
    "breakpoint", "bytearray", "bytes", "callable", "chr", "classmethod", "compile", "complex", "copyright", "credits", "delattr", "dict",
    "dir", "divmod", "enumerate", "eval", "exec", "exit", "filter", "float", "format", "frozenset", "getattr", "globals", "hasattr", "hash",
    "help", "hex", "id", "input", "int", "isinstance", "issubclass", "iter", "len", "license", "list", "locals", "map", "max", "memoryview",
    "min", "next", "object", "oct", "open", "ord", "pow", "print", "property", "quit", "range", "repr", "reversed", "round", "set",
    "setattr", "slice", "sorted", "staticmethod", "str", "sum", "super", "tuple", "type", "vars", "zip",
];

fn m(offset: u64) -> MemArg {
    MemArg { offset, align: 3, memory_index: 0 }
}
fn m4(offset: u64) -> MemArg {
    MemArg { offset, align: 2, memory_index: 0 }
}
fn un<T>(what: impl Into<String>) -> R<T> {
    Err(what.into())
}
fn slot_of(ty: ValType) -> usize {
    match ty {
        ValType::I64 => 0,
        ValType::I32 => 1,
        ValType::F64 => 2,
        _ => 3,
    }
}
const I64: BlockType = BlockType::Result(ValType::I64);
const I32: BlockType = BlockType::Result(ValType::I32);

pub fn compile<'a>(scopes: &'a Scopes<'a>, rt: &Runtime, opts: Options) -> R<Compiled> {
    let n = scopes.funs.len();
    let roots = rt.heap;
    let nroots = scopes.globals();
    let data_base = (roots + if opts.stable { nroots.max(64) } else { nroots } * 8 + 15) & !15;
    let mut g = Gen {
        s: scopes,
        rt,
        opts,
        tys: vec![Ty::Bot; scopes.vars.len()],
        rets: vec![Ty::Bot; n],
        escaped: vec![false; n],
        edges: vec![HashSet::new(); n],
        changed: false,
        data: Vec::new(),
        data_base,
        strings: HashMap::new(),
        tuples: HashMap::new(),
        floats: HashMap::new(),
        f: F::new(0, 0),
    };
    let entries = scopes.entries();
    let mut rounds = 0;
    loop {
        g.changed = false;
        g.data.clear();
        g.strings.clear();
        g.tuples.clear();
        g.floats.clear();
        let mut bodies = Vec::new();
        for id in 0..n {
            bodies.push(g.function(id)?);
        }
        for entry in &entries {
            if let (Ty::Func(id), false) = (g.tys[entry.var], entry.used) {
                for parameter in scopes.funs[id].params.clone() {
                    g.join(parameter, Ty::Any);
                }
            }
        }
        if !g.changed {
            let (last, callable) = g.entry(&entries)?;
            bodies.push(last);
            return g.module(bodies, callable);
        }
        rounds += 1;
        if rounds > 30 {
            return un("types do not settle");
        }
    }
}

impl F {
    fn new(id: usize, nparams: u32) -> F {
        F {
            id,
            code: Vec::new(),
            nparams,
            locals: Vec::new(),
            free: Default::default(),
            depth: 0,
            loops: Vec::new(),
            place: HashMap::new(),
            assigned: HashSet::new(),
            comps: Vec::new(),
            gas: Vec::new(),
            gas_costs: Vec::new(),
            recursive: false,
            shadow: false,
            checked: HashSet::new(),
            tries: Vec::new(),
        }
    }
    fn local(&mut self, ty: ValType) -> u32 {
        if let Some(l) = self.free[slot_of(ty)].pop() {
            return l;
        }
        self.locals.push(ty);
        self.nparams + self.locals.len() as u32 - 1
    }
    fn release(&mut self, local: u32) {
        if local >= self.nparams {
            let ty = self.locals[(local - self.nparams) as usize];
            self.free[slot_of(ty)].push(local);
        }
    }
}

impl<'a, 'r> Gen<'a, 'r> {
    // ---- writing
    fn w(&mut self, i: I<'static>) {
        self.f.code.push(Ins::W(i));
    }
    fn call(&mut self, name: &'static str) {
        debug_assert!(self.rt.signatures.contains_key(name), "{name}");
        self.f.code.push(Ins::Rt(name));
    }
    fn t64(&mut self) -> u32 {
        self.f.local(ValType::I64)
    }
    fn t32(&mut self) -> u32 {
        self.f.local(ValType::I32)
    }
    fn free(&mut self, local: u32) {
        self.f.release(local);
    }
    fn get(&mut self, l: u32) {
        self.w(I::LocalGet(l));
    }
    fn set(&mut self, l: u32) {
        self.w(I::LocalSet(l));
    }
    fn tee(&mut self, l: u32) {
        self.w(I::LocalTee(l));
    }
    fn c64(&mut self, v: i64) {
        self.w(I::I64Const(v));
    }
    fn c32(&mut self, v: i32) {
        self.w(I::I32Const(v));
    }
    fn block(&mut self) -> u32 {
        self.w(I::Block(BlockType::Empty));
        self.f.depth += 1;
        self.f.depth
    }
    fn loop_(&mut self) -> u32 {
        self.w(I::Loop(BlockType::Empty));
        self.f.depth += 1;
        self.f.depth
    }
    fn if_(&mut self, ty: BlockType) {
        self.w(I::If(ty));
        self.f.depth += 1;
    }
    fn else_(&mut self) {
        self.w(I::Else);
    }
    fn end(&mut self) {
        self.w(I::End);
        self.f.depth -= 1;
    }
    fn br(&mut self, label: u32) {
        let d = self.f.depth - label;
        self.w(I::Br(d));
    }
    fn br_if(&mut self, label: u32) {
        let d = self.f.depth - label;
        self.w(I::BrIf(d));
    }
    fn push(&mut self, op: Op) {
        match op {
            Op::L(l) => self.get(l),
            Op::C(c) => self.c64(c),
        }
    }
    fn done(&mut self, op: Op, tmp: bool) {
        if let (Op::L(l), true) = (op, tmp) {
            self.free(l);
        }
    }
    fn deopt(&mut self, code: i32) {
        // A trap is enough: a call here costs the compiler more than all it would tell.
        let _ = code;
        self.w(I::Unreachable);
    }
    /// Deoptimizes when the i32 on the stack is not zero.
    fn deopt_if(&mut self, code: i32) {
        self.if_(BlockType::Empty);
        self.deopt(code);
        self.end();
    }
    fn cost(&mut self, n: u32) {
        if let Some((_, cost)) = self.f.gas.last_mut() {
            *cost += n;
        }
    }
    fn gas_open(&mut self) {
        let id = self.f.gas_costs.len();
        self.f.gas_costs.push(0);
        self.f.gas.push((id, 1));
        if !self.opts.gas {
            return;
        }
        let t = self.t64();
        self.w(I::GlobalGet(0));
        self.f.code.push(Ins::Gas(id));
        self.w(I::I64Sub);
        self.tee(t);
        self.w(I::GlobalSet(0));
        self.get(t);
        self.c64(0);
        self.w(I::I64LtS);
        self.if_(BlockType::Empty);
        self.w(I::Unreachable);
        self.end();
        self.free(t);
    }
    fn gas_close(&mut self) {
        let (id, cost) = self.f.gas.pop().expect("opened");
        self.f.gas_costs[id] = cost;
    }

    // ---- types
    fn join(&mut self, var: usize, ty: Ty) {
        let ty = if self.opts.types || matches!(ty, Ty::Func(_) | Ty::Module(_)) { ty } else { Ty::Any };
        let new = self.joined(self.tys[var], ty);
        if new != self.tys[var] {
            self.tys[var] = new;
            self.changed = true;
        }
    }
    fn joined(&mut self, a: Ty, b: Ty) -> Ty {
        match (a, b) {
            (Ty::Bot, x) | (x, Ty::Bot) => x,
            (x, y) if x == y => x,
            (x, y) => {
                self.escape(x);
                self.escape(y);
                Ty::Any
            }
        }
    }
    fn escape(&mut self, ty: Ty) {
        if let Ty::Func(f) = ty
            && !self.escaped[f]
        {
            self.escaped[f] = true;
            self.changed = true;
            for p in self.s.funs[f].params.clone() {
                self.join(p, Ty::Any);
            }
        }
    }

    // ---- functions
    fn function(&mut self, id: usize) -> R<F> {
        let s = self.s;
        let fun = &s.funs[id];
        let nparams = if id == 0 { 0 } else { 1 + fun.params.len() as u32 };
        self.f = F::new(id, nparams);
        self.f.recursive = self.reaches(id);
        self.f.shadow = fun.walrus;
        if id != 0 {
            for (n, &p) in fun.params.iter().enumerate() {
                self.f.assigned.insert(p);
                let arg = 1 + n as u32;
                if s.vars[p].mode == Mode::Cell {
                    let cell = self.t64();
                    self.get(arg);
                    self.call("rt_cell");
                    self.set(cell);
                    self.f.place.insert(p, cell);
                } else {
                    self.f.place.insert(p, arg);
                }
            }
            for (v, var) in s.vars.iter().enumerate() {
                if var.owner == id && var.mode == Mode::Cell && !fun.params.contains(&v) {
                    let cell = self.t64();
                    self.c64(UNDEF);
                    self.call("rt_cell");
                    self.set(cell);
                    self.f.place.insert(v, cell);
                }
            }
        }
        if self.f.recursive {
            self.depth(1);
        }
        self.gas_open();
        match fun.node {
            Node::Module(body) => {
                self.body(body)?;
            }
            Node::Def(def) => {
                if !self.body(&def.body)? {
                    self.c64(NONE);
                    self.ret(Ty::None);
                }
            }
            Node::Lambda(lambda) => {
                let ty = self.expr(&lambda.body)?;
                self.ret(ty);
            }
        }
        self.gas_close();
        if id != 0 {
            self.w(I::Unreachable);
        }
        Ok(std::mem::replace(&mut self.f, F::new(0, 0)))
    }

    /// Whether a function may call itself by way of others.
    fn reaches(&self, id: usize) -> bool {
        let (mut seen, mut todo) = (HashSet::new(), vec![id]);
        while let Some(f) = todo.pop() {
            for &g in &self.edges[f] {
                if g == id {
                    return true;
                }
                if seen.insert(g) {
                    todo.push(g);
                }
            }
        }
        false
    }

    fn depth(&mut self, by: i32) {
        self.w(I::GlobalGet(1));
        self.c32(by);
        self.w(I::I32Add);
        self.w(I::GlobalSet(1));
        if by > 0 {
            self.w(I::GlobalGet(1));
            self.c32(800);
            self.w(I::I32GtU);
            self.deopt_if(10);
        }
    }

    /// Returns what is on the stack.
    fn ret(&mut self, ty: Ty) {
        let id = self.f.id;
        let new = self.joined(self.rets[id], ty);
        if new != self.rets[id] {
            self.rets[id] = new;
            self.changed = true;
        }
        if self.f.recursive {
            self.depth(-1);
        }
        self.w(I::Return);
    }

    /// The function the host calls: a number of an entry, a list of arguments, the end of what the host has written.
    fn entry(&mut self, entries: &[crate::scope::Entry]) -> R<(F, Vec<Callable>)> {
        self.f = F::new(0, 3);
        let mut callable = Vec::new();
        self.get(2);
        self.call("rt_begin");
        let (f, items) = (self.t64(), self.t32());
        self.get(1);
        self.w(I::I32WrapI64);
        self.w(I::I32Load(m4(OFF + 8)));
        self.set(items);
        for entry in entries {
            let Ty::Func(id) = self.tys[entry.var] else { continue };
            let (n, d) = (self.s.funs[id].params.len(), self.s.funs[id].defaults.len());
            let types: Vec<Ty> = self.s.funs[id].params.iter().map(|&p| self.tys[p]).collect();
            for given in n - d..=n {
                self.get(0);
                self.c32(callable.len() as i32);
                self.w(I::I32Eq);
                self.if_(BlockType::Empty);
                self.load(entry.var)?;
                self.set(f);
                self.get(f);
                for k in 0..given {
                    self.get(items);
                    self.w(I::I64Load(m(8 * k as u64)));
                }
                self.fill_defaults(f, id, given)?;
                self.f.code.push(Ins::Fn(id));
                self.w(I::Return);
                self.end();
                callable.push(Callable { name: entry.name.clone(), parameters: types[..given].to_vec() });
            }
        }
        self.w(I::Unreachable);
        self.w(I::End);
        Ok((std::mem::replace(&mut self.f, F::new(0, 0)), callable))
    }

    /// Pushes the default values of all parameters from `given` on.
    fn fill_defaults(&mut self, closure: u32, fid: usize, given: usize) -> R<()> {
        let fun = &self.s.funs[fid];
        let (n, d) = (fun.params.len(), fun.defaults.len());
        for p in given..n {
            let Some(index) = (p + d).checked_sub(n) else { return un("too few arguments") };
            self.get(closure);
            self.w(I::I32WrapI64);
            self.w(I::I64Load(m(OFF + 16)));
            self.w(I::I32WrapI64);
            self.w(I::I64Load(m(OFF + 16 + 8 * index as u64)));
        }
        Ok(())
    }

    // ---- variables
    fn unbound_check(&mut self) {
        let t = self.t64();
        self.tee(t);
        self.c64(UNDEF);
        self.w(I::I64Eq);
        self.deopt_if(5);
        self.get(t);
        self.free(t);
    }

    /// Pushes the cell or value that a captured variable has in this function.
    fn captured(&mut self, var: usize) {
        let owner = self.s.vars[var].owner;
        if owner == self.f.id {
            let l = self.place(var);
            self.get(l);
        } else {
            let index = self.s.funs[self.f.id].frees.iter().position(|&v| v == var).expect("resolved");
            self.get(0);
            self.w(I::I32WrapI64);
            self.w(I::I64Load(m(OFF + 24 + 8 * index as u64)));
        }
    }

    fn place(&mut self, var: usize) -> u32 {
        if let Some(&l) = self.f.place.get(&var) {
            return l;
        }
        // A local of its own for good, never a temporary: it is unbound until something is stored.
        self.f.locals.push(ValType::I64);
        let l = self.f.nparams + self.f.locals.len() as u32 - 1;
        self.f.place.insert(var, l);
        l
    }

    /// Pushes the value of a variable.
    fn load(&mut self, var: usize) -> R<Ty> {
        self.cost(1);
        let known = self.f.assigned.contains(&var);
        match self.s.vars[var].mode {
            Mode::Global(slot) => {
                let at = self.rt.heap as u64 + 8 * slot as u64;
                self.c32(0);
                self.w(I::I64Load(m(at)));
                if !known {
                    self.unbound_check();
                }
            }
            Mode::Local => {
                let l = self.place(var);
                self.get(l);
                if !known {
                    self.f.checked.insert(var);
                    self.unbound_check();
                }
            }
            Mode::Value => {
                self.captured(var);
                if !known && self.s.vars[var].owner == self.f.id {
                    self.f.checked.insert(var);
                    self.unbound_check();
                }
            }
            Mode::Cell => {
                self.captured(var);
                self.w(I::I32WrapI64);
                self.w(I::I64Load(m(OFF + 8)));
                if !known {
                    self.unbound_check();
                }
            }
        }
        Ok(self.tys[var])
    }

    /// Stores what is on the stack.
    fn store(&mut self, var: usize, ty: Ty) {
        self.join(var, ty);
        match self.s.vars[var].mode {
            Mode::Global(slot) => {
                let at = self.rt.heap as u64 + 8 * slot as u64;
                let t = self.t64();
                self.set(t);
                self.c32(0);
                self.get(t);
                self.w(I::I64Store(m(at)));
                self.free(t);
            }
            Mode::Local | Mode::Value => {
                let l = self.place(var);
                self.set(l);
            }
            Mode::Cell => {
                let t = self.t64();
                self.set(t);
                self.captured(var);
                self.get(t);
                self.call("rt_cell_set");
                self.free(t);
            }
        }
        if self.s.vars[var].owner == self.f.id {
            self.f.assigned.insert(var);
        }
    }

    fn resolve(&self, name: &str) -> Option<usize> {
        self.s.resolve(name, self.f.id, &self.f.comps)
    }

    // ---- constants
    fn alloc(&mut self, bytes: usize) -> u32 {
        while self.data.len() % 8 != 0 {
            self.data.push(0);
        }
        let at = self.data_base + self.data.len() as u32;
        self.data.resize(self.data.len() + bytes, 0);
        at
    }
    fn put(&mut self, at: u32, bytes: &[u8]) {
        let at = (at - self.data_base) as usize;
        self.data[at..at + bytes.len()].copy_from_slice(bytes);
    }
    fn string(&mut self, text: &str) -> R<i64> {
        if !text.is_ascii() {
            return un("text that is not ASCII");
        }
        if let [c] = text.as_bytes() {
            return Ok((self.rt.characters + 24 * u32::from(*c)) as i64 - OFF as i64);
        }
        if let Some(&at) = self.strings.get(text) {
            return Ok(at as i64 - OFF as i64);
        }
        let at = self.alloc(16 + text.len());
        self.put(at, &3u32.to_le_bytes());
        self.put(at + 4, &(text.len() as u32).to_le_bytes());
        self.put(at + 8, &(at + 16).to_le_bytes());
        self.put(at + 16, text.as_bytes());
        self.strings.insert(text.to_owned(), at);
        Ok(at as i64 - OFF as i64)
    }
    fn const_tuple(&mut self, key: String, items: &[i64]) -> i64 {
        if let Some(&at) = self.tuples.get(&key) {
            return at as i64 - OFF as i64;
        }
        let at = self.alloc(16 + 8 * items.len());
        self.put(at, &2u32.to_le_bytes());
        self.put(at + 4, &(items.len() as u32).to_le_bytes());
        self.put(at + 8, &(at + 16).to_le_bytes());
        for (n, item) in items.iter().enumerate() {
            self.put(at + 16 + 8 * n as u32, &item.to_le_bytes());
        }
        self.tuples.insert(key, at);
        at as i64 - OFF as i64
    }
    fn float(&mut self, value: f64) -> i64 {
        if let Some(&at) = self.floats.get(&value.to_bits()) {
            return at as i64 - OFF as i64;
        }
        let at = self.alloc(16);
        self.put(at, &4u32.to_le_bytes());
        self.put(at + 8, &value.to_le_bytes());
        self.floats.insert(value.to_bits(), at);
        at as i64 - OFF as i64
    }
    /// The value of a constant expression.
    fn constant(&mut self, e: &Expr) -> R<Option<(i64, Ty)>> {
        Ok(Some(match e {
            Expr::NumberLiteral(n) => match &n.value {
                Number::Int(i) => match i.as_i64().filter(|v| v.unsigned_abs() < 1 << 61) {
                    Some(v) => (v << 1, Ty::Int),
                    None => return un("big integer"),
                },
                Number::Float(f) => (self.float(*f), Ty::Float),
                Number::Complex { .. } => return un("complex"),
            },
            Expr::UnaryOp(u) if u.op == UnaryOp::USub => match self.constant(&u.operand)? {
                Some((v, Ty::Int)) => (-v, Ty::Int),
                Some((_, Ty::Float)) => match &*u.operand {
                    Expr::NumberLiteral(n) => match n.value {
                        Number::Float(f) => (self.float(-f), Ty::Float),
                        _ => return Ok(None),
                    },
                    _ => return Ok(None),
                },
                _ => return Ok(None),
            },
            Expr::BooleanLiteral(b) => (if b.value { TRUE } else { FALSE }, Ty::Bool),
            Expr::NoneLiteral(_) => (NONE, Ty::None),
            Expr::StringLiteral(s) => (self.string(s.value.to_str())?, Ty::Str),
            Expr::Tuple(t) if !t.elts.is_empty() => {
                let mut items = Vec::new();
                for e in &t.elts {
                    match self.constant(e)? {
                        Some((v, _)) => items.push(v),
                        None => return Ok(None),
                    }
                }
                (self.const_tuple(format!("{items:?}"), &items), Ty::Tuple)
            }
            _ => return Ok(None),
        }))
    }

    // ---- expressions
    /// Evaluates to something that can be pushed again; whether it is a temporary to be freed.
    fn operand(&mut self, e: &'a Expr) -> R<(Op, bool, Ty)> {
        if let Some((v, ty)) = self.constant(e)? {
            self.cost(1);
            return Ok((Op::C(v), false, ty));
        }
        if let Expr::Name(name) = e
            && !self.f.shadow
            && let Some(var) = self.resolve(&name.id)
            && matches!(self.s.vars[var].mode, Mode::Local | Mode::Value)
            && self.s.vars[var].owner == self.f.id
            && self.f.assigned.contains(&var)
            && !matches!(self.tys[var], Ty::Caught | Ty::Module(_))
        {
            self.cost(1);
            return Ok((Op::L(self.place(var)), false, self.tys[var]));
        }
        let ty = self.expr(e)?;
        let t = self.t64();
        self.set(t);
        Ok((Op::L(t), true, ty))
    }
    fn arg(&mut self, a: Arg<'a>) -> R<(Op, bool, Ty)> {
        match a {
            Arg::E(e) => self.operand(e),
            Arg::L(l, ty) => Ok((Op::L(l), false, ty)),
        }
    }
    fn push_arg(&mut self, a: Arg<'a>) -> R<Ty> {
        match a {
            Arg::E(e) => self.expr(e),
            Arg::L(l, ty) => {
                self.get(l);
                Ok(ty)
            }
        }
    }
    /// Pushes a value whose type nobody follows.
    fn any(&mut self, e: &'a Expr) -> R<Ty> {
        let ty = self.expr(e)?;
        self.escape(ty);
        Ok(ty)
    }

    fn expr(&mut self, e: &'a Expr) -> R<Ty> {
        if let Some((v, ty)) = self.constant(e)? {
            self.cost(1);
            self.c64(v);
            return Ok(ty);
        }
        self.cost(1);
        match e {
            Expr::Name(name) => match self.resolve(&name.id) {
                Some(var) if self.tys[var] == Ty::Caught => un("an exception as a value"),
                Some(var) if matches!(self.tys[var], Ty::Module(_)) => un("a module as a value"),
                Some(var) => self.load(var),
                None if !BUILTINS.contains(&name.id.as_str()) => {
                    // A NameError, should it ever come here.
                    self.deopt(5);
                    self.w(I::Unreachable);
                    self.c64(NONE);
                    Ok(Ty::Any)
                }
                None => un(format!("value of builtin {}", name.id)),
            },
            Expr::BinOp(b) => {
                let (x, tx, a) = self.operand(&b.left)?;
                let (y, ty, c) = self.operand(&b.right)?;
                let r = self.binary(b.op, (x, a), (y, c))?;
                self.done(x, tx);
                self.done(y, ty);
                Ok(r)
            }
            Expr::UnaryOp(u) => match u.op {
                UnaryOp::Not => {
                    self.cond(e)?;
                    self.boolean();
                    Ok(Ty::Bool)
                }
                UnaryOp::USub => {
                    let (x, t, a) = self.operand(&u.operand)?;
                    let r = self.binary(Operator::Sub, (Op::C(0), Ty::Int), (x, a));
                    if a == Ty::Int {
                        self.done(x, t);
                        return r;
                    }
                    // -0.0: not the same as 0 - 0.0.
                    self.w(I::Drop);
                    self.push(x);
                    self.call("rt_neg");
                    self.done(x, t);
                    Ok(if a == Ty::Float { Ty::Float } else { Ty::Any })
                }
                UnaryOp::UAdd => {
                    self.expr(&u.operand)?;
                    self.call("rt_pos");
                    Ok(Ty::Any)
                }
                UnaryOp::Invert => {
                    self.expr(&u.operand)?;
                    self.call("rt_invert");
                    Ok(Ty::Int)
                }
            },
            Expr::Compare(_) => {
                self.cond(e)?;
                self.boolean();
                Ok(Ty::Bool)
            }
            Expr::BoolOp(b) => {
                let mut ty = Ty::Bot;
                let t = self.t64();
                let end = self.block();
                for (n, v) in b.values.iter().enumerate() {
                    let got = self.any(v)?;
                    ty = self.joined(ty, got);
                    self.set(t);
                    if n + 1 < b.values.len() {
                        self.truth(Op::L(t), got);
                        if b.op == BoolOp::And {
                            self.w(I::I32Eqz);
                        }
                        self.br_if(end);
                    }
                }
                self.end();
                self.get(t);
                self.free(t);
                Ok(ty)
            }
            Expr::If(c) => {
                self.cond(&c.test)?;
                self.if_(I64);
                let a = self.expr(&c.body)?;
                self.else_();
                let b = self.expr(&c.orelse)?;
                self.end();
                Ok(self.joined(a, b))
            }
            Expr::List(l) => {
                if l.elts.iter().any(|e| e.is_starred_expr()) {
                    return un("* in a list");
                }
                let n = l.elts.len() as i32;
                let (t, p) = (self.t64(), self.t32());
                let mut values = Vec::new();
                for e in &l.elts {
                    let (op, tmp, ty) = self.operand(e)?;
                    self.escape(ty);
                    values.push((op, tmp));
                }
                self.c32(n);
                self.c32(n.max(if n == 0 { 4 } else { n }));
                self.call("rt_list");
                self.set(t);
                if n > 0 {
                    self.get(t);
                    self.w(I::I32WrapI64);
                    self.w(I::I32Load(m4(OFF + 8)));
                    self.set(p);
                    for (k, (op, tmp)) in values.into_iter().enumerate() {
                        self.get(p);
                        self.push(op);
                        self.w(I::I64Store(m(8 * k as u64)));
                        self.done(op, tmp);
                    }
                }
                self.get(t);
                self.free(t);
                self.free(p);
                Ok(Ty::List)
            }
            Expr::Tuple(l) => {
                if l.elts.iter().any(|e| e.is_starred_expr()) {
                    return un("* in a tuple");
                }
                let mut items = Vec::new();
                for e in &l.elts {
                    let (op, tmp, ty) = self.operand(e)?;
                    self.escape(ty);
                    items.push((op, tmp));
                }
                self.tuple_of(&items.iter().map(|i| i.0).collect::<Vec<_>>());
                for (op, tmp) in items {
                    self.done(op, tmp);
                }
                Ok(Ty::Tuple)
            }
            Expr::Dict(d) => {
                let t = self.t64();
                self.c32(d.items.len() as i32);
                self.call("rt_dict");
                self.set(t);
                for item in &d.items {
                    let Some(key) = &item.key else { return un("** in a dict") };
                    self.get(t);
                    self.any(key)?;
                    self.any(&item.value)?;
                    self.call("rt_dict_set");
                }
                self.get(t);
                self.free(t);
                Ok(Ty::Dict)
            }
            Expr::Set(s) => {
                let t = self.t64();
                self.c32(s.elts.len() as i32);
                self.call("rt_set");
                self.set(t);
                for e in &s.elts {
                    self.get(t);
                    self.any(e)?;
                    self.call("rt_set_add");
                }
                self.get(t);
                self.free(t);
                Ok(Ty::Set)
            }
            Expr::ListComp(c) => {
                let t = self.t64();
                self.c32(0);
                self.c32(4);
                self.call("rt_list");
                self.set(t);
                let elt: &'a Expr = &c.elt;
                let calm = self.pure(elt) && self.pure_generators(&c.generators);
                self.comp_of(&c.generators, 0, calm, &mut |g| {
                    g.any(elt)?;
                    g.append(t);
                    Ok(())
                })?;
                self.get(t);
                self.free(t);
                Ok(Ty::List)
            }
            Expr::SetComp(c) => {
                let t = self.t64();
                self.c32(0);
                self.call("rt_set");
                self.set(t);
                let elt: &'a Expr = &c.elt;
                self.comp(&c.generators, 0, &mut |g| {
                    g.get(t);
                    g.any(elt)?;
                    g.call("rt_set_add");
                    Ok(())
                })?;
                self.get(t);
                self.free(t);
                Ok(Ty::Set)
            }
            Expr::DictComp(c) => {
                let t = self.t64();
                self.c32(0);
                self.call("rt_dict");
                self.set(t);
                let (key, value): (&'a Expr, &'a Expr) = (c.key.as_ref().expect("checked"), &c.value);
                self.comp(&c.generators, 0, &mut |g| {
                    g.get(t);
                    g.any(key)?;
                    g.any(value)?;
                    g.call("rt_dict_set");
                    Ok(())
                })?;
                self.get(t);
                self.free(t);
                Ok(Ty::Dict)
            }
            Expr::Generator(_) => un("generator as a value"),
            Expr::Subscript(s) => {
                if let Expr::Slice(slice) = &*s.slice {
                    let ty = self.expr(&s.value)?;
                    for part in [&slice.lower, &slice.upper, &slice.step] {
                        match part {
                            Some(e) => {
                                self.any(e)?;
                            }
                            None => self.c64(NONE),
                        }
                    }
                    self.call("rt_slice");
                    return Ok(match ty {
                        Ty::List | Ty::Tuple | Ty::Str | Ty::Bot => ty,
                        _ => Ty::Any,
                    });
                }
                let (x, tx, a) = self.operand(&s.value)?;
                let (y, ty, b) = self.operand(&s.slice)?;
                self.subscript((x, a), (y, b));
                self.done(x, tx);
                self.done(y, ty);
                Ok(if a == Ty::Str { Ty::Str } else { Ty::Any })
            }
            Expr::Lambda(lambda) => {
                let id = self.s.fun_of[&(lambda as *const _ as usize)];
                self.closure(id)?;
                Ok(Ty::Func(id))
            }
            Expr::Named(n) => {
                let Expr::Name(name) = &*n.target else { return un("walrus") };
                let ty = self.expr(&n.value)?;
                let t = self.t64();
                self.tee(t);
                // In a comprehension it binds in the function around it.
                let var = self.s.resolve(&name.id, self.f.id, &[]).ok_or("walrus")?;
                // It may be evaluated or not.
                let known = self.f.assigned.contains(&var);
                self.store(var, ty);
                if !known {
                    self.f.assigned.remove(&var);
                }
                self.get(t);
                self.free(t);
                Ok(ty)
            }
            Expr::Call(c) => self.call_expr(c),
            Expr::Attribute(a) => {
                if a.attr.as_str() == "args"
                    && let Expr::Name(name) = &*a.value
                    && let Some(var) = self.resolve(&name.id)
                    && matches!(self.tys[var], Ty::Caught | Ty::Bot)
                {
                    self.load(var)?;
                    return Ok(Ty::Tuple);
                }
                un(format!("attribute {}", a.attr))
            }
            Expr::FString(_) => un("f-string"),
            Expr::Starred(_) => un("starred"),
            _ => un("expression"),
        }
    }

    fn tuple_of(&mut self, items: &[Op]) {
        let t = self.t64();
        self.c32(items.len() as i32);
        self.call("rt_tuple");
        self.set(t);
        let p = self.t32();
        self.get(t);
        self.w(I::I32WrapI64);
        self.set(p);
        for (k, op) in items.iter().enumerate() {
            self.get(p);
            self.push(*op);
            self.w(I::I64Store(m(OFF + 16 + 8 * k as u64)));
        }
        self.get(t);
        self.free(t);
        self.free(p);
    }

    /// Appends the value on the stack to a list that this expression made.
    fn append(&mut self, list: u32) {
        if !self.opts.inline {
            let v = self.t64();
            self.set(v);
            self.get(list);
            self.get(v);
            self.call("rt_append");
            self.free(v);
            return;
        }
        let (v, p, n) = (self.t64(), self.t32(), self.t32());
        self.set(v);
        self.get(list);
        self.w(I::I32WrapI64);
        self.tee(p);
        self.w(I::I32Load(m4(OFF + 4)));
        self.tee(n);
        self.get(p);
        self.w(I::I32Load(m4(OFF + 12)));
        self.w(I::I32Eq);
        self.if_(BlockType::Empty);
        self.get(list);
        self.get(v);
        self.call("rt_append");
        self.else_();
        self.get(p);
        self.w(I::I32Load(m4(OFF + 8)));
        self.get(n);
        self.c32(3);
        self.w(I::I32Shl);
        self.w(I::I32Add);
        self.get(v);
        self.w(I::I64Store(m(0)));
        self.get(p);
        self.get(n);
        self.c32(1);
        self.w(I::I32Add);
        self.w(I::I32Store(m4(OFF + 4)));
        self.end();
        self.free(v);
        self.free(p);
        self.free(n);
    }

    /// i32 to a bool.
    fn boolean(&mut self) {
        self.w(I::I64ExtendI32U);
        self.c64(3);
        self.w(I::I64Shl);
        self.c64(FALSE);
        self.w(I::I64Add);
    }

    /// A bool in a local or constant becomes 0 or 1; others stay.
    fn unbool(&mut self, x: (Op, Ty)) -> ((Op, Ty), Option<u32>) {
        match x {
            (Op::C(v), Ty::Bool) => ((Op::C(if v == TRUE { 2 } else { 0 }), Ty::Int), None),
            (Op::L(l), Ty::Bool) => {
                let t = self.t64();
                self.get(l);
                self.c64(3);
                self.w(I::I64ShrU);
                self.c64(2);
                self.w(I::I64And);
                self.set(t);
                ((Op::L(t), Ty::Int), Some(t))
            }
            other => (other, None),
        }
    }

    /// Branches away unless both are small integers.
    fn ints(&mut self, a: (Op, Ty), b: (Op, Ty), slow: u32) {
        let loose: Vec<Op> = [a, b].iter().filter(|x| x.1 != Ty::Int).map(|x| x.0).collect();
        match loose[..] {
            [] => return,
            [x] => self.push(x),
            [x, y] => {
                self.push(x);
                self.push(y);
                self.w(I::I64Or);
            }
            _ => unreachable!(),
        }
        self.w(I::I32WrapI64);
        self.c32(1);
        self.w(I::I32And);
        self.br_if(slow);
    }

    fn binary(&mut self, op: Operator, a: (Op, Ty), b: (Op, Ty)) -> R<Ty> {
        use Operator::*;
        let slow_name = match op {
            Add => "rt_add",
            Sub => "rt_sub",
            Mult => "rt_mul",
            Div => "rt_div",
            FloorDiv => "rt_floordiv",
            Mod => "rt_mod",
            Pow => "rt_pow",
            LShift => "rt_shl",
            RShift => "rt_shr",
            BitAnd => "rt_and",
            BitOr => "rt_or",
            BitXor => "rt_xor",
            MatMult => return un("@"),
        };
        let arithmetic = matches!(op, Add | Sub | Mult | FloorDiv | Mod | Pow);
        let (mut a, mut b) = (a, b);
        let mut held = Vec::new();
        if arithmetic && (a.1 == Ty::Bool || b.1 == Ty::Bool) {
            let (x, t) = self.unbool(a);
            held.extend(t);
            a = x;
            let (x, t) = self.unbool(b);
            held.extend(t);
            b = x;
        }
        let both = a.1 == Ty::Int && b.1 == Ty::Int;
        let result = match op {
            Div => {
                if (a.1 == Ty::Int || a.1 == Ty::Float) && (b.1 == Ty::Int || b.1 == Ty::Float) { Ty::Float } else { Ty::Any }
            }
            Pow if both => match b.0 {
                Op::C(c) if c >= 0 => Ty::Int,
                _ => Ty::Any,
            },
            LShift | RShift => Ty::Int,
            _ if both => Ty::Int,
            _ if a.1 == Ty::Bot || b.1 == Ty::Bot => Ty::Bot,
            Add if a.1 == b.1 && matches!(a.1, Ty::List | Ty::Tuple | Ty::Str) => a.1,
            Mult if a.1 == Ty::List && b.1 == Ty::Int || b.1 == Ty::List && a.1 == Ty::Int => Ty::List,
            Add | Sub | Mult if matches!((a.1, b.1), (Ty::Float, Ty::Int | Ty::Float) | (Ty::Int, Ty::Float)) => Ty::Float,
            _ => Ty::Any,
        };
        let maybe = |t: Ty| matches!(t, Ty::Int | Ty::Any | Ty::Bot);
        let t = self.t64();
        let fast = self.opts.inline && maybe(a.1) && maybe(b.1);
        let fast = fast
            && match (op, a.0, b.0) {
                (Add | Sub | Mult | BitAnd | BitOr | BitXor, ..) => true,
                (Mod, _, Op::C(c)) => b.1 == Ty::Int && c > 0,
                (FloorDiv, _, Op::C(c)) => b.1 == Ty::Int && c > 0,
                (RShift, _, Op::C(c)) => b.1 == Ty::Int && (0..=100).contains(&c),
                (Pow, Op::L(_), Op::C(c)) => b.1 == Ty::Int && (2..=8).contains(&c),
                (Pow, Op::C(c), _) => a.1 == Ty::Int && c == 4,
                _ => false,
            };
        if !fast {
            self.push(a.0);
            self.push(b.0);
            self.call(slow_name);
            self.free(t);
            held.into_iter().for_each(|t| self.free(t));
            return Ok(result);
        }
        let end = self.block();
        let slow = self.block();
        self.ints(a, b, slow);
        match op {
            Add | Sub => {
                self.push(a.0);
                self.push(b.0);
                self.w(if op == Add { I::I64Add } else { I::I64Sub });
                self.set(t);
                match (op, a.0, b.0) {
                    (Add, x, Op::C(c)) | (Add, Op::C(c), x) => {
                        self.get(t);
                        self.push(x);
                        self.w(if c >= 0 { I::I64LtS } else { I::I64GtS });
                    }
                    (Sub, x, Op::C(c)) => {
                        self.get(t);
                        self.push(x);
                        self.w(if c >= 0 { I::I64GtS } else { I::I64LtS });
                    }
                    _ => {
                        self.push(a.0);
                        if op == Add {
                            self.get(t);
                        } else {
                            self.push(b.0);
                        }
                        self.w(I::I64Xor);
                        if op == Add {
                            self.push(b.0);
                        } else {
                            self.push(a.0);
                        }
                        self.get(t);
                        self.w(I::I64Xor);
                        self.w(I::I64And);
                        self.c64(0);
                        self.w(I::I64LtS);
                    }
                }
                self.br_if(slow);
            }
            Mult => {
                for x in [a.0, b.0] {
                    match x {
                        Op::C(c) if c as i32 as i64 == c => {}
                        x => {
                            self.push(x);
                            self.push(x);
                            self.w(I::I64Extend32S);
                            self.w(I::I64Ne);
                            self.br_if(slow);
                        }
                    }
                }
                let (x, y) = if matches!(a.0, Op::C(_)) { (b.0, a.0) } else { (a.0, b.0) };
                self.push(x);
                match y {
                    Op::C(c) => self.c64(c >> 1),
                    y => {
                        self.push(y);
                        self.c64(1);
                        self.w(I::I64ShrS);
                    }
                }
                self.w(I::I64Mul);
                self.set(t);
            }
            BitAnd | BitOr | BitXor => {
                self.push(a.0);
                self.push(b.0);
                self.w(match op {
                    BitAnd => I::I64And,
                    BitOr => I::I64Or,
                    _ => I::I64Xor,
                });
                self.set(t);
            }
            Mod => {
                let Op::C(c) = b.0 else { unreachable!() };
                if ((c >> 1) as u64).is_power_of_two() {
                    self.push(a.0);
                    self.c64(c - 2);
                    self.w(I::I64And);
                    self.set(t);
                } else {
                    // Tagged values keep their tag: 2x mod 2c = 2(x mod c).
                    self.push(a.0);
                    self.c64(c);
                    self.w(I::I64RemS);
                    self.tee(t);
                    self.get(t);
                    self.c64(63);
                    self.w(I::I64ShrS);
                    self.c64(c);
                    self.w(I::I64And);
                    self.w(I::I64Add);
                    self.set(t);
                }
            }
            FloorDiv => {
                let Op::C(c) = b.0 else { unreachable!() };
                let d = c >> 1;
                if (d as u64).is_power_of_two() {
                    self.push(a.0);
                    self.c64(d.trailing_zeros() as i64);
                    self.w(I::I64ShrS);
                    self.c64(-2);
                    self.w(I::I64And);
                    self.set(t);
                } else {
                    // Down: (x - (x mod d)) / d, all of it twice as large.
                    let r = self.t64();
                    self.push(a.0);
                    self.c64(c);
                    self.w(I::I64RemS);
                    self.tee(r);
                    self.get(r);
                    self.c64(63);
                    self.w(I::I64ShrS);
                    self.c64(c);
                    self.w(I::I64And);
                    self.w(I::I64Add);
                    self.set(r);
                    self.push(a.0);
                    self.get(r);
                    self.w(I::I64Sub);
                    self.c64(d);
                    self.w(I::I64DivS);
                    self.set(t);
                    self.free(r);
                }
            }
            RShift => {
                let Op::C(c) = b.0 else { unreachable!() };
                self.push(a.0);
                self.c64(c >> 1);
                self.w(I::I64ShrS);
                self.c64(-2);
                self.w(I::I64And);
                self.set(t);
            }
            Pow => match (a.0, b.0) {
                (x, Op::C(c)) if b.1 == Ty::Int && !(matches!(x, Op::C(_))) => {
                    // |x| < 2^15, so that the fourth power fits.
                    let v = self.t64();
                    self.push(x);
                    self.c64(1 << 16);
                    self.w(I::I64Add);
                    self.c64(1 << 17);
                    self.w(I::I64GeU);
                    self.br_if(slow);
                    self.push(x);
                    self.c64(1);
                    self.w(I::I64ShrS);
                    self.set(v);
                    self.push(x);
                    for _ in 1..c >> 1 {
                        self.get(v);
                        self.w(I::I64Mul);
                    }
                    self.set(t);
                    self.free(v);
                }
                (_, y) => {
                    // A power of two.
                    self.push(y);
                    self.c64(2 * 60);
                    self.w(I::I64GtU);
                    self.br_if(slow);
                    self.c64(2);
                    self.push(y);
                    self.c64(1);
                    self.w(I::I64ShrU);
                    self.w(I::I64Shl);
                    self.set(t);
                }
            },
            _ => unreachable!(),
        }
        self.br(end);
        self.end();
        self.push(a.0);
        self.push(b.0);
        self.call(slow_name);
        self.set(t);
        self.end();
        self.get(t);
        self.free(t);
        held.into_iter().for_each(|t| self.free(t));
        Ok(result)
    }

    /// Looks a subscript up the slow way; leads to the handler where one waits for a missing key.
    fn getitem(&mut self, x: Op, y: Op) {
        self.push(x);
        self.push(y);
        let Some(&Some((handler, told))) = self.f.tries.last() else {
            self.call("rt_getitem");
            return;
        };
        let t = self.t64();
        self.call("rt_getitem_try");
        self.tee(t);
        self.c64(END);
        self.w(I::I64Eq);
        self.if_(BlockType::Empty);
        self.tuple_of(&[y]);
        self.set(told);
        self.br(handler);
        self.end();
        self.get(t);
        self.free(t);
    }

    fn subscript(&mut self, x: (Op, Ty), y: (Op, Ty)) {
        let sequence = matches!(x.1, Ty::List | Ty::Tuple);
        let maybe = sequence || matches!(x.1, Ty::Any | Ty::Bot);
        if !self.opts.inline || !maybe || !matches!(y.1, Ty::Int | Ty::Any | Ty::Bot) {
            self.getitem(x.0, y.0);
            return;
        }
        let (t, p, i) = (self.t64(), self.t32(), self.t64());
        let end = self.block();
        let slow = self.block();
        match (sequence, y.1 == Ty::Int) {
            (true, true) => {}
            (true, false) => {
                self.push(y.0);
                self.w(I::I32WrapI64);
                self.c32(1);
                self.w(I::I32And);
                self.br_if(slow);
            }
            (false, int) => {
                self.push(x.0);
                if !int {
                    self.push(y.0);
                    self.c64(-1);
                    self.w(I::I64Xor);
                    self.w(I::I64And);
                }
                self.w(I::I32WrapI64);
                self.c32(1);
                self.w(I::I32And);
                self.w(I::I32Eqz);
                self.br_if(slow);
            }
        }
        self.push(x.0);
        self.w(I::I32WrapI64);
        self.set(p);
        if !sequence {
            self.get(p);
            self.w(I::I32Load(m4(OFF)));
            self.c32(1);
            self.w(I::I32Sub);
            self.c32(2);
            self.w(I::I32GeU);
            self.br_if(slow);
        }
        match y.0 {
            Op::C(c) if (0..1 << 20).contains(&c) => {
                self.get(p);
                self.w(I::I32Load(m4(OFF + 4)));
                self.c32((c >> 1) as i32);
                self.w(I::I32LeU);
                self.br_if(slow);
                self.get(p);
                self.w(I::I32Load(m4(OFF + 8)));
                self.w(I::I64Load(m((c >> 1) as u64 * 8)));
                self.set(t);
            }
            y => {
                // Negative ones take the slow way.
                self.push(y);
                self.c64(1);
                self.w(I::I64ShrS);
                self.tee(i);
                self.get(p);
                self.w(I::I64Load32U(m4(OFF + 4)));
                self.w(I::I64GeU);
                self.br_if(slow);
                self.get(p);
                self.w(I::I32Load(m4(OFF + 8)));
                self.get(i);
                self.w(I::I32WrapI64);
                self.c32(3);
                self.w(I::I32Shl);
                self.w(I::I32Add);
                self.w(I::I64Load(m(0)));
                self.set(t);
            }
        }
        self.br(end);
        self.end();
        self.getitem(x.0, y.0);
        self.set(t);
        self.end();
        self.get(t);
        self.free(t);
        self.free(p);
        self.free(i);
    }

    // ---- conditions: an i32
    fn truth(&mut self, op: Op, ty: Ty) {
        self.push(op);
        match ty {
            Ty::Int => {
                self.c64(0);
                self.w(I::I64Ne);
            }
            Ty::Bool => {
                self.c64(TRUE);
                self.w(I::I64Eq);
            }
            Ty::List | Ty::Tuple | Ty::Dict | Ty::Set | Ty::Str => {
                self.w(I::I32WrapI64);
                self.w(I::I32Load(m4(OFF + 4)));
                self.c32(0);
                self.w(I::I32Ne);
            }
            _ if self.opts.inline => {
                self.w(I::I32WrapI64);
                self.c32(1);
                self.w(I::I32And);
                self.if_(I32);
                self.push(op);
                self.call("rt_truth");
                self.else_();
                self.push(op);
                self.c64(0);
                self.w(I::I64Ne);
                self.end();
            }
            _ => self.call("rt_truth"),
        }
    }

    fn cond(&mut self, e: &'a Expr) -> R<()> {
        match e {
            Expr::UnaryOp(u) if u.op == UnaryOp::Not => {
                self.cond(&u.operand)?;
                self.w(I::I32Eqz);
            }
            Expr::BoolOp(b) => {
                self.cost(1);
                for (n, v) in b.values.iter().enumerate() {
                    self.cond(v)?;
                    if n + 1 < b.values.len() {
                        self.if_(I32);
                        if b.op == BoolOp::Or {
                            self.c32(1);
                            self.else_();
                        }
                    }
                }
                for _ in 1..b.values.len() {
                    if b.op == BoolOp::And {
                        self.else_();
                        self.c32(0);
                    }
                    self.end();
                }
            }
            Expr::Compare(c) => {
                self.cost(c.ops.len() as u32);
                // Membership in what is written out: no container.
                if c.ops.len() == 1
                    && matches!(c.ops[0], CmpOp::In | CmpOp::NotIn)
                    && let Expr::Tuple(ruff_python_ast::ExprTuple { elts, .. }) | Expr::List(ruff_python_ast::ExprList { elts, .. }) = &c.comparators[0]
                    && (1..=4).contains(&elts.len())
                    && !elts.iter().any(|e| e.is_starred_expr())
                {
                    let x = self.operand(&c.left)?;
                    let mut items = Vec::new();
                    for e in elts {
                        items.push(self.operand(e)?);
                    }
                    for (n, item) in items.iter().enumerate() {
                        self.push(x.0);
                        self.push(item.0);
                        self.w(I::I64Eq);
                        self.if_(I32);
                        self.c32(1);
                        self.else_();
                        self.equal((x.0, x.2), (item.0, item.2));
                        self.end();
                        if n + 1 < items.len() {
                            self.if_(I32);
                            self.c32(1);
                            self.else_();
                        }
                    }
                    for _ in 1..items.len() {
                        self.end();
                    }
                    for (op, tmp, _) in items {
                        self.done(op, tmp);
                    }
                    self.done(x.0, x.1);
                    if c.ops[0] == CmpOp::NotIn {
                        self.w(I::I32Eqz);
                    }
                    return Ok(());
                }
                let mut left = self.operand(&c.left)?;
                for (n, (op, right)) in c.ops.iter().zip(&c.comparators).enumerate() {
                    let right = self.operand(right)?;
                    self.compare(*op, (left.0, left.2), (right.0, right.2))?;
                    self.done(left.0, left.1);
                    if n + 1 < c.ops.len() {
                        self.if_(I32);
                    }
                    left = right;
                }
                self.done(left.0, left.1);
                for _ in 1..c.ops.len() {
                    self.else_();
                    self.c32(0);
                    self.end();
                }
            }
            Expr::BooleanLiteral(b) => self.c32(b.value as i32),
            _ => {
                let (op, tmp, ty) = self.operand(e)?;
                self.truth(op, ty);
                self.done(op, tmp);
            }
        }
        Ok(())
    }

    /// Whether a constant is equal to others exactly when its bits are: None, or a string of one character.
    fn by_bits(&self, x: (Op, Ty)) -> bool {
        match x {
            (_, Ty::None) => true,
            (Op::C(v), Ty::Str) => {
                let at = (v + OFF as i64) as u32;
                at >= self.rt.characters && at < self.rt.characters + 128 * 24
            }
            _ => false,
        }
    }

    fn equal(&mut self, a: (Op, Ty), b: (Op, Ty)) {
        if a.1 == Ty::Int && b.1 == Ty::Int || self.by_bits(a) || self.by_bits(b) || a.1 == Ty::Bool && b.1 == Ty::Bool {
            self.push(a.0);
            self.push(b.0);
            self.w(I::I64Eq);
            return;
        }
        let maybe = |t: Ty| matches!(t, Ty::Int | Ty::Any | Ty::Bot);
        if self.opts.inline && maybe(a.1) && maybe(b.1) {
            let loose: Vec<Op> = [a, b].iter().filter(|x| x.1 != Ty::Int).map(|x| x.0).collect();
            self.push(loose[0]);
            if let Some(x) = loose.get(1) {
                self.push(*x);
                self.w(I::I64Or);
            }
            self.w(I::I32WrapI64);
            self.c32(1);
            self.w(I::I32And);
            self.if_(I32);
            self.push(a.0);
            self.push(b.0);
            self.call("rt_eq");
            self.else_();
            self.push(a.0);
            self.push(b.0);
            self.w(I::I64Eq);
            self.end();
            return;
        }
        self.push(a.0);
        self.push(b.0);
        self.call("rt_eq");
    }

    fn compare(&mut self, op: CmpOp, a: (Op, Ty), b: (Op, Ty)) -> R<()> {
        match op {
            CmpOp::Eq => self.equal(a, b),
            CmpOp::NotEq => {
                self.equal(a, b);
                self.w(I::I32Eqz);
            }
            CmpOp::Is | CmpOp::IsNot => {
                let plain = |x: (Op, Ty)| matches!(x, (Op::C(_), Ty::None | Ty::Bool));
                if !plain(a) && !plain(b) {
                    return un("is");
                }
                self.push(a.0);
                self.push(b.0);
                self.w(if op == CmpOp::Is { I::I64Eq } else { I::I64Ne });
            }
            CmpOp::In | CmpOp::NotIn => {
                self.push(b.0);
                self.push(a.0);
                self.call("rt_contains");
                if op == CmpOp::NotIn {
                    self.w(I::I32Eqz);
                }
            }
            CmpOp::Lt | CmpOp::LtE | CmpOp::Gt | CmpOp::GtE => {
                let (x, y) = if matches!(op, CmpOp::Gt | CmpOp::GtE) { (b, a) } else { (a, b) };
                let strict = matches!(op, CmpOp::Lt | CmpOp::Gt);
                let fast = if strict { I::I64LtS } else { I::I64LeS };
                let slow = if strict { "rt_lt" } else { "rt_le" };
                if a.1 == Ty::Int && b.1 == Ty::Int {
                    self.push(x.0);
                    self.push(y.0);
                    self.w(fast);
                    return Ok(());
                }
                let maybe = |t: Ty| matches!(t, Ty::Int | Ty::Any | Ty::Bot);
                if self.opts.inline && maybe(a.1) && maybe(b.1) {
                    let loose: Vec<Op> = [a, b].iter().filter(|x| x.1 != Ty::Int).map(|x| x.0).collect();
                    self.push(loose[0]);
                    if let Some(x) = loose.get(1) {
                        self.push(*x);
                        self.w(I::I64Or);
                    }
                    self.w(I::I32WrapI64);
                    self.c32(1);
                    self.w(I::I32And);
                    self.if_(I32);
                    self.push(x.0);
                    self.push(y.0);
                    self.call(slow);
                    self.else_();
                    self.push(x.0);
                    self.push(y.0);
                    self.w(fast);
                    self.end();
                    return Ok(());
                }
                self.push(x.0);
                self.push(y.0);
                self.call(slow);
            }
        }
        Ok(())
    }

    // ---- closures and calls
    fn closure(&mut self, id: usize) -> R<()> {
        let s = self.s;
        let fun = &s.funs[id];
        let (f, d) = (self.t64(), self.t64());
        if fun.defaults.is_empty() {
            self.c64(NONE);
            self.set(d);
        } else {
            let mut items = Vec::new();
            let first = fun.params.len() - fun.defaults.len();
            for (n, e) in fun.defaults.iter().enumerate() {
                let (op, tmp, ty) = self.operand(e)?;
                self.join(fun.params[first + n], ty);
                items.push((op, tmp));
            }
            self.tuple_of(&items.iter().map(|i| i.0).collect::<Vec<_>>());
            self.set(d);
            items.into_iter().for_each(|(op, tmp)| self.done(op, tmp));
        }
        self.c32(id as i32);
        self.c32(fun.params.len() as i32);
        self.get(d);
        self.c32(fun.frees.len() as i32);
        self.call("rt_func");
        self.set(f);
        for (n, &var) in fun.frees.iter().enumerate() {
            self.get(f);
            self.w(I::I32WrapI64);
            self.captured(var);
            self.w(I::I64Store(m(OFF + 24 + 8 * n as u64)));
        }
        self.get(f);
        self.free(f);
        self.free(d);
        Ok(())
    }

    /// What is called, by the expression that names it.
    fn callee(&mut self, e: &'a Expr) -> R<Callee<'a>> {
        if let Expr::Name(name) = e
            && self.resolve(&name.id).is_none()
            && BUILTINS.contains(&name.id.as_str())
        {
            return Ok(Callee::Builtin(&name.id));
        }
        let ty = self.expr(e)?;
        let t = self.t64();
        self.set(t);
        Ok(match ty {
            Ty::Func(id) => Callee::Known(t, id),
            _ => Callee::Unknown(t),
        })
    }
    fn drop_callee(&mut self, callee: &Callee<'a>) {
        if let Callee::Known(t, _) | Callee::Unknown(t) = callee {
            self.free(*t);
        }
    }

    /// Calls with positional arguments; pushes the result.
    fn invoke(&mut self, callee: &Callee<'a>, args: &[Arg<'a>]) -> R<Ty> {
        match *callee {
            Callee::Builtin(name) => self.builtin(name, args, &[]),
            Callee::Known(t, id) => {
                let s = self.s;
                let fun = &s.funs[id];
                if args.len() > fun.params.len() {
                    return un("too many arguments");
                }
                self.edges[self.f.id].insert(id);
                self.get(t);
                for (n, &a) in args.iter().enumerate() {
                    let ty = self.push_arg(a)?;
                    self.join(fun.params[n], ty);
                }
                self.fill_defaults(t, id, args.len())?;
                self.f.code.push(Ins::Fn(id));
                Ok(self.rets[id])
            }
            Callee::Unknown(t) => {
                let p = self.t32();
                for id in 0..self.s.funs.len() {
                    if self.escaped[id] {
                        self.edges[self.f.id].insert(id);
                    }
                }
                self.get(t);
                self.w(I::I32WrapI64);
                self.set(p);
                self.get(t);
                self.c64(7);
                self.w(I::I64And);
                self.c64(1);
                self.w(I::I64Ne);
                self.deopt_if(1);
                self.get(p);
                self.w(I::I32Load(m4(OFF)));
                self.c32(K_FUNC);
                self.w(I::I32Ne);
                self.get(p);
                self.w(I::I32Load(m4(OFF + 12)));
                self.c32(args.len() as i32);
                self.w(I::I32Ne);
                self.w(I::I32Or);
                self.deopt_if(11);
                self.get(t);
                for &a in args {
                    let ty = self.push_arg(a)?;
                    self.escape(ty);
                }
                self.get(p);
                self.w(I::I32Load(m4(OFF + 8)));
                self.f.code.push(Ins::Indirect(args.len()));
                self.free(p);
                Ok(Ty::Any)
            }
        }
    }

    fn call_expr(&mut self, c: &'a ExprCall) -> R<Ty> {
        self.cost(2);
        let args: Vec<Arg<'a>> = c.arguments.args.iter().map(Arg::E).collect();
        let starred = c.arguments.args.iter().any(|a| a.is_starred_expr());
        if let Expr::Attribute(a) = &*c.func {
            if let Expr::Name(name) = &*a.value
                && let Some(var) = self.resolve(&name.id)
                && let Ty::Module(module) = self.tys[var]
            {
                if starred || !c.arguments.keywords.is_empty() {
                    return un("library call");
                }
                self.load(var)?;
                self.w(I::Drop);
                return self.library(module, &a.attr, &args);
            }
            if starred {
                return un("* in a method call");
            }
            return self.method(&a.value, &a.attr, &args, &c.arguments.keywords);
        }
        if let Expr::Name(name) = &*c.func
            && self.resolve(&name.id).is_none()
            && BUILTINS.contains(&name.id.as_str())
        {
            return self.builtin(&name.id, &args, &c.arguments.keywords);
        }
        if starred {
            return un("* in a call");
        }
        let callee = self.callee(&c.func)?;
        let ty = if c.arguments.keywords.is_empty() {
            self.invoke(&callee, &args)?
        } else if let Callee::Known(t, id) = callee {
            let s = self.s;
            let fun = &s.funs[id];
            let mut ops: Vec<Option<(Op, bool)>> = vec![None; fun.params.len()];
            if args.len() > ops.len() {
                return un("too many arguments");
            }
            for (n, a) in args.iter().enumerate() {
                let (op, tmp, ty) = self.arg(*a)?;
                self.join(fun.params[n], ty);
                ops[n] = Some((op, tmp));
            }
            for k in &c.arguments.keywords {
                let Some(name) = &k.arg else { return un("** in a call") };
                let Some(n) = fun.params.iter().position(|&p| s.vars[p].name == name.as_str()) else { return un("keyword") };
                if ops[n].is_some() {
                    return un("keyword given twice");
                }
                let (op, tmp, ty) = self.operand(&k.value)?;
                self.join(fun.params[n], ty);
                ops[n] = Some((op, tmp));
            }
            self.edges[self.f.id].insert(id);
            self.get(t);
            let (n, d) = (fun.params.len(), fun.defaults.len());
            for (p, op) in ops.iter().enumerate() {
                match op {
                    Some((op, _)) => self.push(*op),
                    None => {
                        let Some(index) = (p + d).checked_sub(n) else { return un("too few arguments") };
                        self.get(t);
                        self.w(I::I32WrapI64);
                        self.w(I::I64Load(m(OFF + 16)));
                        self.w(I::I32WrapI64);
                        self.w(I::I64Load(m(OFF + 16 + 8 * index as u64)));
                    }
                }
            }
            self.f.code.push(Ins::Fn(id));
            ops.into_iter().flatten().for_each(|(op, tmp)| self.done(op, tmp));
            self.rets[id]
        } else {
            return un("keywords for an unknown function");
        };
        self.drop_callee(&callee);
        Ok(ty)
    }

    fn library(&mut self, module: u8, name: &str, args: &[Arg<'a>]) -> R<Ty> {
        let (function, ty) = match (module, name, args.len()) {
            (0, "random", 0) => ("rt_random", Ty::Float),
            (0, "choice", 1) => ("rt_choice", Ty::Any),
            (0, "randint", 2) => ("rt_randint", Ty::Int),
            (0, "shuffle", 1) => ("rt_shuffle", Ty::None),
            (1, "sqrt", 1) => ("rt_sqrt", Ty::Float),
            (1, "log2", 1) => ("rt_log2", Ty::Float),
            (1, "log", 1) => ("rt_log", Ty::Float),
            (1, "floor", 1) => ("rt_mfloor", Ty::Int),
            _ => return un(format!("library function {name}")),
        };
        for &a in args {
            let ty = self.push_arg(a)?;
            self.escape(ty);
        }
        self.call(function);
        Ok(ty)
    }

    fn method(&mut self, value: &'a Expr, name: &str, args: &[Arg<'a>], keywords: &'a [Keyword]) -> R<Ty> {
        if name == "sort" {
            return self.sort_method(value, args, keywords);
        }
        if !keywords.is_empty() {
            return un(format!("keywords of .{name}"));
        }
        if name == "append" && args.len() == 1 && self.opts.inline && false {
            // An old list needs the barrier: left to the runtime.
        }
        if name == "bit_length" && args.is_empty() && self.opts.inline {
            let (x, tmp, ty) = self.operand(value)?;
            let (t, end) = (self.t64(), self.block());
            let slow = self.block();
            self.ints((x, if ty == Ty::Int { Ty::Int } else { Ty::Any }), (Op::C(0), Ty::Int), slow);
            // 64 - clz(|x|), twice.
            self.push(x);
            self.c64(63);
            self.w(I::I64ShrS);
            self.tee(t);
            self.push(x);
            self.w(I::I64Xor);
            self.get(t);
            self.w(I::I64Sub);
            self.c64(1);
            self.w(I::I64ShrU);
            self.w(I::I64Clz);
            self.set(t);
            self.c64(64);
            self.get(t);
            self.w(I::I64Sub);
            self.c64(1);
            self.w(I::I64Shl);
            self.set(t);
            self.br(end);
            self.end();
            self.push(x);
            self.call("rt_bit_length");
            self.set(t);
            self.end();
            self.get(t);
            self.free(t);
            self.done(x, tmp);
            return Ok(Ty::Int);
        }
        let (function, ty, extra) = match (name, args.len()) {
            ("append", 1) => ("rt_m_append", Ty::None, None),
            ("add", 1) => ("rt_m_add", Ty::None, None),
            ("pop", 0) => ("rt_pop0", Ty::Any, None),
            ("pop", 1) => ("rt_pop1", Ty::Any, None),
            ("pop", 2) => ("rt_pop2", Ty::Any, None),
            ("extend", 1) => ("rt_extend2", Ty::None, None),
            ("insert", 2) => ("rt_insert", Ty::None, None),
            ("remove", 1) => ("rt_remove", Ty::None, None),
            ("discard", 1) => ("rt_discard", Ty::None, None),
            ("reverse", 0) => ("rt_reverse", Ty::None, None),
            ("copy", 0) => ("rt_copy", Ty::Any, None),
            ("clear", 0) => ("rt_clear", Ty::None, None),
            ("count", 1) => ("rt_count", Ty::Int, None),
            ("index", 1) => ("rt_index", Ty::Int, None),
            ("find", 1) => ("rt_find", Ty::Int, None),
            ("get", 1) => ("rt_get", Ty::Any, Some(NONE)),
            ("get", 2) => ("rt_get", Ty::Any, None),
            ("setdefault", 2) => ("rt_setdefault", Ty::Any, None),
            ("update", 1) => ("rt_update", Ty::None, None),
            ("keys", 0) => ("rt_keys", Ty::Any, None),
            ("values", 0) => ("rt_values", Ty::Any, None),
            ("items", 0) => ("rt_ditems", Ty::Any, None),
            ("bit_length", 0) => ("rt_bit_length", Ty::Int, None),
            ("upper", 0) => ("rt_upper", Ty::Str, None),
            ("lower", 0) => ("rt_lower", Ty::Str, None),
            ("join", 1) => {
                self.any(value)?;
                self.collect(args[0])?;
                self.call("rt_join");
                return Ok(Ty::Str);
            }
            _ => return un(format!("method {name}/{}", args.len())),
        };
        if name == "extend" {
            self.any(value)?;
            self.collect(args[0])?;
            self.call(function);
            return Ok(ty);
        }
        self.any(value)?;
        for &a in args {
            let ty = self.push_arg(a)?;
            self.escape(ty);
        }
        if let Some(extra) = extra {
            self.c64(extra);
        }
        self.call(function);
        Ok(ty)
    }

    fn keyword(&self, keywords: &'a [Keyword], name: &str) -> Option<&'a Expr> {
        keywords.iter().find(|k| k.arg.as_ref().is_some_and(|n| n.as_str() == name)).map(|k| &k.value)
    }

    /// Sorts the list in a local; `key` and `reverse` as given.
    fn sort_local(&mut self, list: u32, keywords: &'a [Keyword], function: &'static str) -> R<()> {
        let keys = self.t64();
        match self.keyword(keywords, "key") {
            None | Some(Expr::NoneLiteral(_)) => {
                self.c64(NONE);
                self.set(keys);
            }
            Some(key) => {
                self.c32(0);
                self.c32(8);
                self.call("rt_list");
                self.set(keys);
                let callee = self.callee(key)?;
                let mut pull = self.pull(Arg::L(list, Ty::List))?;
                self.drain(&mut pull, &mut |g, item| {
                    let (l, ty) = g.one(item);
                    g.invoke(&callee, &[Arg::L(l, ty)])?;
                    g.append(keys);
                    Ok(())
                })?;
                self.drop_pull(pull);
                self.drop_callee(&callee);
            }
        }
        let reverse = match self.keyword(keywords, "reverse") {
            None => None,
            Some(e) => {
                self.cond(e)?;
                let r = self.t32();
                self.set(r);
                Some(r)
            }
        };
        self.get(list);
        self.get(keys);
        match reverse {
            Some(r) => self.get(r),
            None => self.c32(0),
        }
        self.call(function);
        self.free(keys);
        Ok(())
    }

    fn sort_method(&mut self, value: &'a Expr, args: &[Arg<'a>], keywords: &'a [Keyword]) -> R<Ty> {
        if !args.is_empty() {
            return un("sort");
        }
        // While it sorts, CPython shows an empty list to the key function: no matter, unless that looks.
        if self.keyword(keywords, "key").is_some() {
            return un("sort with a key");
        }
        let list = self.t64();
        self.any(value)?;
        self.set(list);
        self.sort_local(list, keywords, "rt_m_sort")?;
        self.free(list);
        Ok(Ty::None)
    }

    /// What is written as a loop here.
    fn is_special(&self, a: Arg<'a>) -> bool {
        match a {
            Arg::E(Expr::Generator(_)) => true,
            Arg::E(Expr::Call(c)) => {
                matches!(&*c.func, Expr::Name(n) if matches!(n.id.as_str(), "zip" | "map" | "enumerate" | "range")
                    && self.resolve(&n.id).is_none())
                    && c.arguments.keywords.is_empty()
                    && !c.arguments.args.iter().any(|a| a.is_starred_expr())
            }
            _ => false,
        }
    }

    /// The rows of `zip(*rows)`.
    fn star_zip(&self, a: Arg<'a>) -> Option<&'a Expr> {
        if let Arg::E(Expr::Call(c)) = a
            && let Expr::Name(n) = &*c.func
            && n.id == "zip"
            && self.resolve("zip").is_none()
            && let [Expr::Starred(s)] = &c.arguments.args[..]
        {
            return Some(&s.value);
        }
        None
    }

    /// Whether nothing in an expression can change a list.
    fn pure(&self, e: &'a Expr) -> bool {
        match e {
            Expr::Name(_) | Expr::NumberLiteral(_) | Expr::StringLiteral(_) | Expr::BooleanLiteral(_) | Expr::NoneLiteral(_) => true,
            Expr::BinOp(b) => self.pure(&b.left) && self.pure(&b.right),
            Expr::UnaryOp(u) => self.pure(&u.operand),
            Expr::Compare(c) => self.pure(&c.left) && c.comparators.iter().all(|e| self.pure(e)),
            Expr::Subscript(s) => self.pure(&s.value) && self.pure(&s.slice),
            Expr::Slice(s) => [&s.lower, &s.upper, &s.step].into_iter().flatten().all(|e| self.pure(e)),
            Expr::Tuple(t) => t.elts.iter().all(|e| self.pure(e)),
            Expr::List(t) => t.elts.iter().all(|e| self.pure(e)),
            Expr::If(c) => self.pure(&c.test) && self.pure(&c.body) && self.pure(&c.orelse),
            Expr::BoolOp(b) => b.values.iter().all(|e| self.pure(e)),
            Expr::Generator(c) => self.pure(&c.elt) && self.pure_generators(&c.generators),
            Expr::ListComp(c) => self.pure(&c.elt) && self.pure_generators(&c.generators),
            Expr::Call(c) => {
                let known = match &*c.func {
                    Expr::Name(n) => {
                        self.resolve(&n.id).is_none()
                            && matches!(n.id.as_str(), "list" | "tuple" | "sum" | "max" | "min" | "len" | "abs" | "zip" | "range" | "sorted" | "set")
                    }
                    Expr::Attribute(a) => matches!(a.attr.as_str(), "count" | "index" | "bit_length") && self.pure(&a.value),
                    _ => false,
                };
                known && c.arguments.keywords.is_empty() && c.arguments.args.iter().all(|e| self.pure(e))
            }
            _ => false,
        }
    }
    fn pure_generators(&self, generators: &'a [Comprehension]) -> bool {
        generators.iter().all(|g| self.pure(&g.iter) && g.ifs.iter().all(|e| self.pure(e)))
    }

    /// Pushes a fresh list of what an iterable yields.
    fn collect(&mut self, a: Arg<'a>) -> R<Ty> {
        if let Arg::E(Expr::Generator(c)) = a {
            let t = self.t64();
            self.c32(0);
            self.c32(4);
            self.call("rt_list");
            self.set(t);
            let elt: &'a Expr = &c.elt;
            self.comp(&c.generators, 0, &mut |g| {
                g.any(elt)?;
                g.append(t);
                Ok(())
            })?;
            self.get(t);
            self.free(t);
            return Ok(Ty::List);
        }
        if let Some(rows) = self.star_zip(a) {
            self.any(rows)?;
            self.call("rt_transpose");
            self.call("rt_tolist");
            return Ok(Ty::List);
        }
        if !self.is_special(a) {
            // Everything the runtime can go through by itself.
            let ty = self.push_arg(a)?;
            self.escape(ty);
            self.call("rt_tolist");
            return Ok(Ty::List);
        }
        let mut pull = self.pull(a)?;
        let t = self.t64();
        self.c32(0);
        self.c32(4);
        self.call("rt_list");
        self.set(t);
        self.drain(&mut pull, &mut |g, item| {
            let (l, ty) = g.one(item);
            g.escape(ty);
            g.get(l);
            g.append(t);
            Ok(())
        })?;
        self.drop_pull(pull);
        self.get(t);
        self.free(t);
        Ok(Ty::List)
    }

    fn builtin(&mut self, name: &str, args: &[Arg<'a>], keywords: &'a [Keyword]) -> R<Ty> {
        let star = match args {
            [Arg::E(Expr::Starred(s))] => Some(&*s.value),
            _ => None,
        };
        if star.is_none() && args.iter().any(|a| matches!(a, Arg::E(Expr::Starred(_)))) {
            return un("* in a call");
        }
        if !keywords.is_empty() && !matches!(name, "max" | "min" | "sorted" | "print") {
            return un(format!("keywords of {name}"));
        }
        match (name, args) {
            ("len", [a]) => {
                let (x, tmp, ty) = self.arg(*a)?;
                self.push(x);
                if matches!(ty, Ty::List | Ty::Tuple | Ty::Str | Ty::Dict | Ty::Set) {
                    self.w(I::I32WrapI64);
                    self.w(I::I64Load32U(m4(OFF + 4)));
                    self.c64(1);
                    self.w(I::I64Shl);
                } else {
                    self.call("rt_len");
                }
                self.done(x, tmp);
                Ok(Ty::Int)
            }
            ("range", _) if (1..=3).contains(&args.len()) && star.is_none() => {
                self.range_args(args)?;
                self.call("rt_range");
                Ok(Ty::Any)
            }
            ("abs", [a]) => {
                let (x, tmp, ty) = self.arg(*a)?;
                if ty == Ty::Int {
                    let t = self.t64();
                    self.push(x);
                    self.c64(63);
                    self.w(I::I64ShrS);
                    self.tee(t);
                    self.push(x);
                    self.w(I::I64Xor);
                    self.get(t);
                    self.w(I::I64Sub);
                    self.tee(t);
                    self.c64(0);
                    self.w(I::I64LtS);
                    self.deopt_if(2);
                    self.get(t);
                    self.free(t);
                } else {
                    self.push(x);
                    self.call("rt_abs");
                }
                self.done(x, tmp);
                Ok(if ty == Ty::Int { Ty::Int } else { Ty::Any })
            }
            ("sum", [a] | [a, _]) if star.is_none() => {
                let acc = self.t64();
                let mut ty = Ty::Int;
                match args.get(1) {
                    Some(start) => {
                        ty = self.push_arg(*start)?;
                        if ty != Ty::Int {
                            // A float start is compensated from the start: left to CPython.
                            if ty == Ty::Float || ty == Ty::Bool || ty == Ty::Str {
                                return un("start of sum");
                            }
                            ty = Ty::Any;
                        }
                    }
                    None => self.c64(0),
                }
                self.set(acc);
                let mut all_int = ty == Ty::Int;
                let source = *a;
                self.each(source, &mut |g, item| {
                    let (l, t) = g.one(item);
                    let ((op, t), held) = g.unbool((Op::L(l), t));
                    all_int &= t == Ty::Int;
                    g.sum_step(acc, op, if t == Ty::Int { Ty::Int } else { Ty::Any }, ty);
                    held.into_iter().for_each(|h| g.free(h));
                    Ok(())
                })?;
                self.get(acc);
                self.free(acc);
                if all_int {
                    return Ok(Ty::Int);
                }
                self.call("rt_sum_end");
                Ok(Ty::Any)
            }
            ("max" | "min", _) if star.is_none() || args.len() == 1 => self.extreme(name == "max", args, keywords, star),
            ("any" | "all", [a]) if star.is_none() => {
                let any = name == "any";
                let r = self.t32();
                self.c32(!any as i32);
                self.set(r);
                let end = self.block();
                let source = *a;
                self.each(source, &mut |g, item| {
                    let (l, ty) = g.one(item);
                    g.truth(Op::L(l), ty);
                    if !any {
                        g.w(I::I32Eqz);
                    }
                    g.if_(BlockType::Empty);
                    g.c32(any as i32);
                    g.set(r);
                    g.br(end);
                    g.end();
                    Ok(())
                })?;
                self.end();
                self.get(r);
                self.free(r);
                self.boolean();
                Ok(Ty::Bool)
            }
            ("list", []) => {
                self.c32(0);
                self.c32(4);
                self.call("rt_list");
                Ok(Ty::List)
            }
            ("list", [a]) if star.is_none() => self.collect(*a),
            ("tuple", [a]) if star.is_none() => {
                if self.is_special(*a) || self.star_zip(*a).is_some() {
                    self.collect(*a)?;
                } else {
                    let ty = self.push_arg(*a)?;
                    self.escape(ty);
                }
                self.call("rt_totuple");
                Ok(Ty::Tuple)
            }
            ("tuple", []) => {
                self.c32(0);
                self.call("rt_tuple");
                Ok(Ty::Tuple)
            }
            ("set", []) => {
                self.c32(0);
                self.call("rt_set");
                Ok(Ty::Set)
            }
            ("set", [a]) if star.is_none() => {
                match a {
                    Arg::E(Expr::Generator(_)) => self.collect(*a)?,
                    _ => self.plain_iterable(*a)?,
                };
                self.call("rt_toset");
                Ok(Ty::Set)
            }
            ("dict", []) => {
                self.c32(0);
                self.call("rt_dict");
                Ok(Ty::Dict)
            }
            ("dict", [a]) if star.is_none() => {
                match a {
                    Arg::E(Expr::Generator(_)) => self.collect(*a)?,
                    _ => self.plain_iterable(*a)?,
                };
                self.call("rt_todict");
                Ok(Ty::Dict)
            }
            ("sorted", [a]) if star.is_none() => {
                let list = self.t64();
                self.collect(*a)?;
                self.set(list);
                self.sort_local(list, keywords, "rt_sort")?;
                self.get(list);
                self.free(list);
                Ok(Ty::List)
            }
            ("zip", _) => {
                match star {
                    Some(e) => {
                        self.any(e)?;
                    }
                    None => {
                        let mut ops = Vec::new();
                        for &a in args {
                            let (op, tmp, ty) = self.arg(a)?;
                            self.escape(ty);
                            ops.push((op, tmp));
                        }
                        self.tuple_of(&ops.iter().map(|o| o.0).collect::<Vec<_>>());
                        ops.into_iter().for_each(|(o, t)| self.done(o, t));
                    }
                }
                self.call("rt_zip");
                Ok(Ty::Any)
            }
            ("enumerate", [a]) if star.is_none() => {
                self.push_arg(*a)?;
                self.c64(0);
                self.call("rt_enum");
                Ok(Ty::Any)
            }
            ("enumerate", [a, n]) => {
                self.push_arg(*a)?;
                self.push_arg(*n)?;
                self.call("rt_enum");
                Ok(Ty::Any)
            }
            ("reversed", [a]) if star.is_none() => {
                self.push_arg(*a)?;
                self.call("rt_reversed");
                Ok(Ty::Any)
            }
            ("map", [_, ..]) if star.is_none() => un("map as a value"),
            ("int", [a]) if star.is_none() => {
                let ty = self.push_arg(*a)?;
                if ty != Ty::Int {
                    self.call("rt_toint");
                }
                Ok(Ty::Int)
            }
            ("float", [a]) if star.is_none() => {
                if let Arg::E(Expr::StringLiteral(s)) = a {
                    let v = match s.value.to_str() {
                        "inf" | "+inf" | "infinity" | "Infinity" => f64::INFINITY,
                        "-inf" | "-infinity" | "-Infinity" => f64::NEG_INFINITY,
                        _ => return un("float of text"),
                    };
                    let at = self.float(v);
                    self.c64(at);
                    return Ok(Ty::Float);
                }
                self.push_arg(*a)?;
                self.call("rt_tofloat");
                Ok(Ty::Float)
            }
            ("bool", [a]) if star.is_none() => {
                let (x, tmp, ty) = self.arg(*a)?;
                self.truth(x, ty);
                self.done(x, tmp);
                self.boolean();
                Ok(Ty::Bool)
            }
            ("pow", [a, b]) => {
                let (x, tx, a) = self.arg(*a)?;
                let (y, ty, b) = self.arg(*b)?;
                let r = self.binary(Operator::Pow, (x, a), (y, b))?;
                self.done(x, tx);
                self.done(y, ty);
                Ok(r)
            }
            ("divmod", [a, b]) => {
                let (x, tx, a) = self.arg(*a)?;
                let (y, ty, b) = self.arg(*b)?;
                let (q, r) = (self.t64(), self.t64());
                self.binary(Operator::FloorDiv, (x, a), (y, b))?;
                self.set(q);
                self.binary(Operator::Mod, (x, a), (y, b))?;
                self.set(r);
                self.tuple_of(&[Op::L(q), Op::L(r)]);
                self.free(q);
                self.free(r);
                self.done(x, tx);
                self.done(y, ty);
                Ok(Ty::Tuple)
            }
            ("print", _) if star.is_none() => {
                for &a in args {
                    self.push_arg(a)?;
                    self.w(I::Drop);
                }
                for k in keywords {
                    self.expr(&k.value)?;
                    self.w(I::Drop);
                }
                self.c64(NONE);
                Ok(Ty::None)
            }
            _ => un(format!("builtin {name}/{}", args.len())),
        }
    }

    /// Pushes an iterable that the runtime can go through by itself.
    fn plain_iterable(&mut self, a: Arg<'a>) -> R<Ty> {
        if let Arg::E(Expr::Call(c)) = a
            && let Expr::Name(n) = &*c.func
            && n.id == "map"
        {
            return self.collect(a);
        }
        let ty = self.push_arg(a)?;
        self.escape(ty);
        Ok(ty)
    }

    fn sum_step(&mut self, acc: u32, op: Op, ty: Ty, start: Ty) {
        let end = self.block();
        let slow = self.block();
        let int = ty == Ty::Int && start == Ty::Int;
        if self.opts.inline {
            let t = self.t64();
            // The sum may have become a float on the way.
            self.ints((Op::L(acc), Ty::Any), (op, ty), slow);
            self.get(acc);
            self.push(op);
            self.w(I::I64Add);
            self.tee(t);
            self.get(acc);
            self.w(I::I64Xor);
            self.push(op);
            self.get(t);
            self.w(I::I64Xor);
            self.w(I::I64And);
            self.c64(0);
            self.w(I::I64LtS);
            self.br_if(slow);
            self.get(t);
            self.set(acc);
            self.free(t);
            self.br(end);
        }
        let _ = int;
        self.end();
        self.get(acc);
        self.push(op);
        self.call("rt_sum_step");
        self.set(acc);
        self.end();
    }

    fn extreme(&mut self, max: bool, args: &[Arg<'a>], keywords: &'a [Keyword], star: Option<&'a Expr>) -> R<Ty> {
        for k in keywords {
            if !k.arg.as_ref().is_some_and(|n| n.as_str() == "key" || n.as_str() == "default") {
                return un("keyword of max");
            }
        }
        let op = if max { CmpOp::Gt } else { CmpOp::Lt };
        let key = self.keyword(keywords, "key").filter(|e| !e.is_none_literal_expr());
        let default = self.keyword(keywords, "default");
        let callee = match key {
            Some(e) => Some(self.callee(e)?),
            None => None,
        };
        let (best, bestkey) = (self.t64(), self.t64());
        let mut ty = Ty::Bot;
        let mut keyty = Ty::Bot;
        if args.len() >= 2 {
            let mut items = Vec::new();
            for &a in args {
                items.push(self.arg(a)?);
            }
            for (n, &(x, _, t)) in items.iter().enumerate() {
                ty = self.joined(ty, t);
                if let Some(callee) = &callee {
                    let l = self.t64();
                    self.push(x);
                    self.set(l);
                    let kt = self.invoke(callee, &[Arg::L(l, t)])?;
                    self.free(l);
                    let k = self.t64();
                    self.set(k);
                    if n > 0 {
                        self.compare(op, (Op::L(k), kt), (Op::L(bestkey), keyty))?;
                        self.if_(BlockType::Empty);
                    }
                    self.push(x);
                    self.set(best);
                    self.get(k);
                    self.set(bestkey);
                    if n > 0 {
                        self.end();
                    }
                    self.free(k);
                    keyty = self.joined(keyty, kt);
                } else {
                    if n > 0 {
                        let so_far = items[..n].iter().fold(Ty::Bot, |a, i| if a == Ty::Bot || a == i.2 { i.2 } else { Ty::Any });
                        self.compare(op, (x, t), (Op::L(best), so_far))?;
                        self.if_(BlockType::Empty);
                    }
                    self.push(x);
                    self.set(best);
                    if n > 0 {
                        self.end();
                    }
                }
            }
            items.into_iter().for_each(|(o, t, _)| self.done(o, t));
        } else {
            let source = match (star, args) {
                (Some(e), _) => Arg::E(e),
                (None, [a]) => *a,
                _ => return un("max of nothing"),
            };
            self.c64(END);
            self.set(best);
            self.each(source, &mut |g, item| {
                let (x, t) = g.one(item);
                g.escape(t);
                ty = if ty == Ty::Bot || ty == t { t } else { Ty::Any };
                match &callee {
                    Some(callee) => {
                        let kt = g.invoke(callee, &[Arg::L(x, t)])?;
                        keyty = if keyty == Ty::Bot || keyty == kt { kt } else { Ty::Any };
                        let k = g.t64();
                        g.set(k);
                        g.get(best);
                        g.c64(END);
                        g.w(I::I64Eq);
                        g.if_(I32);
                        g.c32(1);
                        g.else_();
                        g.compare(op, (Op::L(k), kt), (Op::L(bestkey), kt))?;
                        g.end();
                        g.if_(BlockType::Empty);
                        g.get(x);
                        g.set(best);
                        g.get(k);
                        g.set(bestkey);
                        g.end();
                        g.free(k);
                    }
                    None => {
                        g.get(best);
                        g.c64(END);
                        g.w(I::I64Eq);
                        g.if_(I32);
                        g.c32(1);
                        g.else_();
                        g.compare(op, (Op::L(x), t), (Op::L(best), t))?;
                        g.end();
                        g.if_(BlockType::Empty);
                        g.get(x);
                        g.set(best);
                        g.end();
                    }
                }
                Ok(())
            })?;
            self.get(best);
            self.c64(END);
            self.w(I::I64Eq);
            match default {
                Some(e) => {
                    self.if_(BlockType::Empty);
                    let t = self.any(e)?;
                    ty = self.joined(ty, t);
                    self.set(best);
                    self.end();
                }
                None => self.deopt_if(6),
            }
        }
        if let Some(callee) = &callee {
            self.drop_callee(callee);
        }
        self.get(best);
        self.free(best);
        self.free(bestkey);
        Ok(ty)
    }

    // ---- iteration
    fn range_args(&mut self, args: &[Arg<'a>]) -> R<()> {
        match args {
            [stop] => {
                self.c64(0);
                self.push_arg(*stop)?;
                self.c64(2);
            }
            [start, stop] => {
                self.push_arg(*start)?;
                self.push_arg(*stop)?;
                self.c64(2);
            }
            [start, stop, step] => {
                self.push_arg(*start)?;
                self.push_arg(*stop)?;
                self.push_arg(*step)?;
            }
            _ => return un("range"),
        }
        Ok(())
    }

    fn pull(&mut self, a: Arg<'a>) -> R<Pull<'a>> {
        self.pull_from(a, false)
    }

    /// `calm`: nothing changes a list before the source is used up.
    fn pull_from(&mut self, a: Arg<'a>, calm: bool) -> R<Pull<'a>> {
        if let Arg::E(Expr::Call(c)) = a
            && let Expr::Name(n) = &*c.func
            && self.resolve(&n.id).is_none()
            && c.arguments.keywords.is_empty()
        {
            let args: Vec<Arg<'a>> = c.arguments.args.iter().map(Arg::E).collect();
            let starred = c.arguments.args.iter().any(|a| a.is_starred_expr());
            match (n.id.as_str(), starred) {
                ("range", false) if (1..=3).contains(&args.len()) => {
                    let step = match args.get(2) {
                        None => Some(1),
                        Some(Arg::E(e)) => match self.constant(e)? {
                            Some((v, Ty::Int)) if v != 0 && v.unsigned_abs() < 1 << 20 => Some(v >> 1),
                            _ => None,
                        },
                        _ => None,
                    };
                    if let Some(step) = step {
                        let (i, stop) = (self.t64(), self.t64());
                        let bounds = if args.len() == 1 { vec![None, Some(args[0])] } else { vec![Some(args[0]), Some(args[1])] };
                        for (l, a) in [i, stop].into_iter().zip(bounds) {
                            match a {
                                None => self.c64(0),
                                Some(a) => {
                                    let ty = self.push_arg(a)?;
                                    if ty != Ty::Int {
                                        self.tee(l);
                                        self.c64(1);
                                        self.w(I::I64And);
                                        self.w(I::I32WrapI64);
                                        self.deopt_if(1);
                                        self.get(l);
                                    }
                                }
                            }
                            self.set(l);
                        }
                        return Ok(Pull::Range { i, stop, step });
                    }
                }
                ("zip", false) if !args.is_empty() => {
                    let mut inner = Vec::new();
                    for a in args {
                        inner.push(self.pull(a)?);
                    }
                    return Ok(Pull::Zip(inner));
                }
                ("enumerate", false) if (1..=2).contains(&args.len()) => {
                    let inner = Box::new(self.pull(args[0])?);
                    let i = self.t64();
                    match args.get(1) {
                        None => self.c64(0),
                        Some(a) => {
                            if self.push_arg(*a)? != Ty::Int {
                                return un("start of enumerate");
                            }
                        }
                    }
                    self.set(i);
                    return Ok(Pull::Enum { i, inner });
                }
                ("map", false) if args.len() >= 2 => {
                    let Arg::E(f) = args[0] else { return un("map") };
                    let f = self.callee(f)?;
                    let mut inner = Vec::new();
                    for a in &args[1..] {
                        inner.push(self.pull(*a)?);
                    }
                    return Ok(Pull::Map { f, inner });
                }
                _ => {}
            }
        }
        if let Arg::E(Expr::Generator(_)) = a {
            return un("generator beside others");
        }
        // Letters one by one: a tuple that is there already.
        if let Arg::E(Expr::StringLiteral(s)) = a {
            let text = s.value.to_str().to_owned();
            let letters: Vec<i64> = text.chars().map(|c| self.string(&c.to_string())).collect::<R<_>>()?;
            let at = self.const_tuple(format!("letters {text:?}"), &letters);
            let (value, object, index) = (self.t64(), self.t32(), self.t32());
            self.c64(at);
            self.set(value);
            self.c32(at as i32);
            self.set(object);
            self.c32(0);
            self.set(index);
            return Ok(Pull::Dyn { value, object, index, known: true, ty: Ty::Str });
        }
        let ty = match (self.star_zip(a), a) {
            (Some(rows), _) => {
                self.any(rows)?;
                self.call(if calm { "rt_transpose" } else { "rt_zip_now" });
                Ty::Any
            }
            (None, Arg::E(e)) => {
                let ty = self.expr(e)?;
                self.escape(ty);
                ty
            }
            (None, Arg::L(l, ty)) => {
                self.get(l);
                ty
            }
        };
        let (value, object, index) = (self.t64(), self.t32(), self.t32());
        self.tee(value);
        self.w(I::I32WrapI64);
        self.set(object);
        self.c32(0);
        self.set(index);
        let known = matches!(ty, Ty::List | Ty::Tuple);
        if !known {
            // object stays 0 for what goes by the runtime's iterators.
            self.get(object);
            self.c32(7);
            self.w(I::I32And);
            self.c32(1);
            self.w(I::I32Eq);
            self.if_(I32);
            self.get(object);
            self.w(I::I32Load(m4(OFF)));
            self.c32(1);
            self.w(I::I32Sub);
            self.c32(2);
            self.w(I::I32LtU);
            self.else_();
            self.c32(0);
            self.end();
            self.w(I::I32Eqz);
            self.if_(BlockType::Empty);
            self.get(value);
            self.call("rt_iter");
            self.set(value);
            self.c32(0);
            self.set(object);
            self.end();
        }
        let item = if ty == Ty::Str { Ty::Str } else { Ty::Any };
        Ok(Pull::Dyn { value, object, index, known, ty: item })
    }

    fn drop_pull(&mut self, pull: Pull<'a>) {
        match pull {
            Pull::Range { i, stop, .. } => {
                self.free(i);
                self.free(stop);
            }
            Pull::Dyn { value, object, index, .. } => {
                self.free(value);
                self.free(object);
                self.free(index);
            }
            Pull::Zip(inner) => inner.into_iter().for_each(|p| self.drop_pull(p)),
            Pull::Enum { i, inner } => {
                self.free(i);
                self.drop_pull(*inner);
            }
            Pull::Map { f, inner } => {
                self.drop_callee(&f);
                inner.into_iter().for_each(|p| self.drop_pull(p));
            }
        }
    }

    /// The next item, in fresh locals; branches to `exit` when there is none.
    fn next(&mut self, pull: &mut Pull<'a>, exit: u32) -> R<Item> {
        match pull {
            Pull::Range { i, stop, step } => {
                let x = self.t64();
                self.get(*i);
                self.get(*stop);
                self.w(if *step > 0 { I::I64GeS } else { I::I64LeS });
                self.br_if(exit);
                self.get(*i);
                self.tee(x);
                self.c64(*step * 2);
                self.w(I::I64Add);
                self.set(*i);
                Ok(Item::One(x, Ty::Int))
            }
            Pull::Dyn { value, object, index, known, ty } => {
                let x = self.t64();
                if !*known {
                    self.get(*object);
                    self.if_(BlockType::Empty);
                }
                self.get(*index);
                self.get(*object);
                self.w(I::I32Load(m4(OFF + 4)));
                self.w(I::I32GeU);
                self.br_if(exit);
                self.get(*object);
                self.w(I::I32Load(m4(OFF + 8)));
                self.get(*index);
                self.c32(3);
                self.w(I::I32Shl);
                self.w(I::I32Add);
                self.w(I::I64Load(m(0)));
                self.set(x);
                self.get(*index);
                self.c32(1);
                self.w(I::I32Add);
                self.set(*index);
                if !*known {
                    self.else_();
                    self.get(*value);
                    self.call("rt_next");
                    self.tee(x);
                    self.c64(END);
                    self.w(I::I64Eq);
                    self.br_if(exit);
                    self.end();
                }
                Ok(Item::One(x, *ty))
            }
            Pull::Zip(inner) => {
                let mut items = Vec::new();
                for p in inner {
                    items.push(self.next(p, exit)?);
                }
                Ok(Item::Many(items))
            }
            Pull::Enum { i, inner } => {
                let item = self.next(inner, exit)?;
                let x = self.t64();
                self.get(*i);
                self.tee(x);
                self.c64(2);
                self.w(I::I64Add);
                self.set(*i);
                Ok(Item::Many(vec![Item::One(x, Ty::Int), item]))
            }
            Pull::Map { f, inner } => {
                let mut args = Vec::new();
                let mut held = Vec::new();
                for p in inner {
                    let item = self.next(p, exit)?;
                    let (l, ty) = self.one(item);
                    args.push(Arg::L(l, ty));
                    held.push(l);
                }
                let f = *f;
                let ty = self.invoke(&f, &args)?;
                held.into_iter().for_each(|l| self.free(l));
                let x = self.t64();
                self.set(x);
                Ok(Item::One(x, ty))
            }
        }
    }

    /// An item as one value.
    fn one(&mut self, item: Item) -> (u32, Ty) {
        match item {
            Item::One(l, ty) => (l, ty),
            Item::Many(items) => {
                let parts: Vec<(u32, Ty)> = items.into_iter().map(|i| self.one(i)).collect();
                parts.iter().for_each(|p| self.escape(p.1));
                self.tuple_of(&parts.iter().map(|p| Op::L(p.0)).collect::<Vec<_>>());
                let t = self.t64();
                self.set(t);
                (t, Ty::Tuple)
            }
        }
    }
    fn drop_item(&mut self, item: Item) {
        match item {
            Item::One(l, _) => self.free(l),
            Item::Many(items) => items.into_iter().for_each(|i| self.drop_item(i)),
        }
    }

    /// A loop over a source; `sink` gets each item.
    fn drain(&mut self, pull: &mut Pull<'a>, sink: &mut dyn FnMut(&mut Self, Item) -> R<()>) -> R<()> {
        let exit = self.block();
        let top = self.loop_();
        self.gas_open();
        let item = self.next(pull, exit)?;
        let kept = item.clone();
        sink(self, item)?;
        self.drop_item(kept);
        self.gas_close();
        self.br(top);
        self.end();
        self.end();
        Ok(())
    }

    /// Every item of an iterable or of a generator expression.
    fn each(&mut self, a: Arg<'a>, sink: &mut dyn FnMut(&mut Self, Item) -> R<()>) -> R<()> {
        if let Arg::E(Expr::Generator(c)) = a {
            let elt: &'a Expr = &c.elt;
            let calm = self.pure(elt) && self.pure_generators(&c.generators);
            return self.comp_of(&c.generators, 0, calm, &mut |g| {
                let (op, tmp, ty) = g.operand(elt)?;
                let l = match op {
                    Op::L(l) => l,
                    Op::C(v) => {
                        let t = g.t64();
                        g.c64(v);
                        g.set(t);
                        sink(g, Item::One(t, ty))?;
                        g.free(t);
                        return Ok(());
                    }
                };
                sink(g, Item::One(l, ty))?;
                g.done(op, tmp);
                Ok(())
            });
        }
        let mut pull = self.pull(a)?;
        self.drain(&mut pull, sink)?;
        self.drop_pull(pull);
        Ok(())
    }

    fn comp(&mut self, generators: &'a [Comprehension], n: usize, body: &mut dyn FnMut(&mut Self) -> R<()>) -> R<()> {
        self.comp_of(generators, n, false, body)
    }

    fn comp_of(
        &mut self,
        generators: &'a [Comprehension],
        n: usize,
        calm: bool,
        body: &mut dyn FnMut(&mut Self) -> R<()>,
    ) -> R<()> {
        if n == generators.len() {
            return body(self);
        }
        let g = &generators[n];
        if g.is_async {
            return un("async");
        }
        let s = self.s;
        let map = &s.comp_of[&(generators.as_ptr() as usize)];
        // The first source is evaluated outside.
        let inside: Vec<usize> = map.values().copied().collect();
        let enter = |gen_: &mut Self| {
            if n == 0 {
                for &v in &inside {
                    if gen_.s.vars[v].mode == Mode::Cell {
                        gen_.c64(UNDEF);
                        gen_.call("rt_cell");
                        let l = gen_.place(v);
                        gen_.set(l);
                    }
                }
                gen_.f.comps.push(map.clone());
            }
        };
        let step = |this: &mut Self, item: Item, body: &mut dyn FnMut(&mut Self) -> R<()>| -> R<()> {
            this.assign(&g.target, item)?;
            let skip = this.block();
            for test in &g.ifs {
                this.cond(test)?;
                this.w(I::I32Eqz);
                this.br_if(skip);
            }
            this.comp_of(generators, n + 1, calm, body)?;
            this.end();
            Ok(())
        };
        if let Expr::Generator(inner) = &g.iter {
            if inside.iter().any(|&v| self.s.vars[v].mode == Mode::Cell) {
                return un("captured name of a comprehension over a generator");
            }
            // A generator inside: its items are taken one by one anyway.
            let elt: &'a Expr = &inner.elt;
            if n == 0 {
                let mut first = true;
                let saved = self.f.assigned.clone();
                self.comp(&inner.generators, 0, &mut |this| {
                    let ty = this.any(elt)?;
                    let t = this.t64();
                    this.set(t);
                    if first {
                        first = false;
                    }
                    // Names of the inner one are not to be seen.
                    let hidden = this.f.comps.pop().expect("inside");
                    this.f.comps.push(map.clone());
                    step(this, Item::One(t, ty), body)?;
                    this.f.comps.pop();
                    this.f.comps.push(hidden);
                    this.free(t);
                    Ok(())
                })?;
                self.f.assigned = saved;
                return Ok(());
            }
            return un("generator in an inner place");
        }
        let mut pull = self.pull_from(Arg::E(&g.iter), calm)?;
        enter(self);
        let saved = self.f.assigned.clone();
        let exit = self.block();
        let top = self.loop_();
        self.gas_open();
        let item = self.next(&mut pull, exit)?;
        let kept = item.clone();
        step(self, item, body)?;
        self.drop_item(kept);
        self.gas_close();
        self.br(top);
        self.end();
        self.end();
        self.f.assigned = saved;
        self.drop_pull(pull);
        if n == 0 {
            self.f.comps.pop();
        }
        Ok(())
    }

    // ---- statements
    fn assign(&mut self, target: &'a Expr, item: Item) -> R<()> {
        match (target, item) {
            (Expr::Name(name), item) => {
                let fresh = matches!(item, Item::Many(_));
                let (l, ty) = self.one(item);
                let var = self.resolve(&name.id).ok_or("unresolved target")?;
                if !matches!(ty, Ty::Func(_)) {
                    self.escape(ty);
                }
                self.get(l);
                self.store(var, ty);
                if fresh {
                    self.free(l);
                }
                Ok(())
            }
            (Expr::Tuple(ruff_python_ast::ExprTuple { elts, .. }) | Expr::List(ruff_python_ast::ExprList { elts, .. }), Item::Many(items))
                if elts.len() == items.len() =>
            {
                if elts.iter().any(|e| e.is_starred_expr()) {
                    return un("* target");
                }
                for (e, item) in elts.iter().zip(items) {
                    self.assign(e, item)?;
                }
                Ok(())
            }
            (Expr::Tuple(ruff_python_ast::ExprTuple { elts, .. }) | Expr::List(ruff_python_ast::ExprList { elts, .. }), item) => {
                if elts.iter().any(|e| e.is_starred_expr()) {
                    return un("* target");
                }
                let fresh = matches!(item, Item::Many(_));
                let (l, _) = self.one(item);
                let p = self.t32();
                self.get(l);
                self.c32(elts.len() as i32);
                self.call("rt_unpack");
                self.set(p);
                let t = self.t64();
                // All are read before any is written: a target may be a subscript of the source.
                let mut read = Vec::new();
                let simple = elts.iter().all(|e| e.is_name_expr());
                for k in 0..elts.len() {
                    self.get(p);
                    self.w(I::I64Load(m(8 * k as u64)));
                    if simple {
                        self.set(t);
                        self.assign(&elts[k], Item::One(t, Ty::Any))?;
                    } else {
                        let l = self.t64();
                        self.set(l);
                        read.push(l);
                    }
                }
                for (e, l) in elts.iter().zip(&read) {
                    self.assign(e, Item::One(*l, Ty::Any))?;
                }
                read.into_iter().for_each(|l| self.free(l));
                self.free(t);
                self.free(p);
                if fresh {
                    self.free(l);
                }
                Ok(())
            }
            (Expr::Subscript(s), item) => {
                if s.slice.is_slice_expr() {
                    return un("slice target");
                }
                let fresh = matches!(item, Item::Many(_));
                let (l, ty) = self.one(item);
                self.escape(ty);
                self.any(&s.value)?;
                self.any(&s.slice)?;
                self.get(l);
                self.call("rt_setitem");
                if fresh {
                    self.free(l);
                }
                Ok(())
            }
            (Expr::Attribute(_), _) => un("attribute target"),
            _ => un("target"),
        }
    }

    /// Whether the statements never fall through.
    fn body(&mut self, body: &'a [Stmt]) -> R<bool> {
        for stmt in body {
            if self.stmt(stmt)? {
                return Ok(true);
            }
        }
        Ok(false)
    }

    fn stmt(&mut self, stmt: &'a Stmt) -> R<bool> {
        self.cost(1);
        match stmt {
            Stmt::FunctionDef(def) => {
                let id = self.s.fun_of[&(def as *const _ as usize)];
                self.closure(id)?;
                let var = self.resolve(&def.name).ok_or("def")?;
                self.store(var, Ty::Func(id));
            }
            Stmt::Return(r) => {
                if self.f.id == 0 {
                    return un("return outside");
                }
                match &r.value {
                    Some(e) => {
                        let ty = self.expr(e)?;
                        self.ret(ty);
                    }
                    None => {
                        self.c64(NONE);
                        self.ret(Ty::None);
                    }
                }
                return Ok(true);
            }
            Stmt::Assign(a) => {
                // Several to several: no tuple.
                if let ([Expr::Tuple(t)], Expr::Tuple(v)) = (&a.targets[..], &*a.value)
                    && t.elts.len() == v.elts.len()
                    && !t.elts.iter().chain(&v.elts).any(|e| e.is_starred_expr())
                {
                    let mut items = Vec::new();
                    for e in &v.elts {
                        let ty = self.expr(e)?;
                        let l = self.t64();
                        self.set(l);
                        items.push((l, ty));
                    }
                    for (e, &(l, ty)) in t.elts.iter().zip(&items) {
                        self.assign(e, Item::One(l, ty))?;
                    }
                    items.into_iter().for_each(|(l, _)| self.free(l));
                    return Ok(false);
                }
                let ty = self.expr(&a.value)?;
                if let [Expr::Name(name)] = &a.targets[..] {
                    let var = self.resolve(&name.id).ok_or("target")?;
                    self.store(var, ty);
                    return Ok(false);
                }
                let l = self.t64();
                self.set(l);
                for target in &a.targets {
                    self.assign(target, Item::One(l, ty))?;
                }
                self.free(l);
            }
            Stmt::AnnAssign(a) => {
                if let Some(v) = &a.value {
                    let ty = self.expr(v)?;
                    let l = self.t64();
                    self.set(l);
                    self.assign(&a.target, Item::One(l, ty))?;
                    self.free(l);
                } else {
                    return un("bare annotation");
                }
            }
            Stmt::AugAssign(a) => {
                match &*a.target {
                    Expr::Name(name) => {
                        let var = self.resolve(&name.id).ok_or("target")?;
                        let ty = self.load(var)?;
                        let x = self.t64();
                        self.set(x);
                        let (y, tmp, t) = self.operand(&a.value)?;
                        let r = self.augment(a.op, (Op::L(x), ty), (y, t))?;
                        self.store(var, r);
                        self.free(x);
                        self.done(y, tmp);
                    }
                    Expr::Subscript(s) if !s.slice.is_slice_expr() => {
                        let o = self.operand(&s.value)?;
                        let k = self.operand(&s.slice)?;
                        self.subscript((o.0, o.2), (k.0, k.2));
                        let x = self.t64();
                        self.set(x);
                        let (y, tmp, t) = self.operand(&a.value)?;
                        self.augment(a.op, (Op::L(x), Ty::Any), (y, t))?;
                        self.set(x);
                        self.push(o.0);
                        self.push(k.0);
                        self.get(x);
                        self.call("rt_setitem");
                        self.free(x);
                        self.done(y, tmp);
                        self.done(o.0, o.1);
                        self.done(k.0, k.1);
                    }
                    _ => return un("augmented target"),
                }
            }
            Stmt::Expr(e) => {
                if !e.value.is_string_literal_expr() {
                    self.any(&e.value)?;
                    self.w(I::Drop);
                }
            }
            Stmt::Pass(_) => {}
            Stmt::If(i) => {
                let mut arms: Vec<(Option<&Expr>, &'a [Stmt])> = vec![(Some(&i.test), &i.body)];
                arms.extend(i.elif_else_clauses.iter().map(|c| (c.test.as_ref(), &c.body[..])));
                let mut opened = 0;
                let mut after: Option<HashSet<usize>> = None;
                let merge = |set: HashSet<usize>, after: &mut Option<HashSet<usize>>| {
                    *after = Some(match after.take() {
                        None => set,
                        Some(a) => a.intersection(&set).copied().collect(),
                    });
                };
                let mut has_else = false;
                let mut all_end = true;
                for (test, body) in arms {
                    match test {
                        Some(test) => {
                            self.cond(test)?;
                            let before = self.f.assigned.clone();
                            self.if_(BlockType::Empty);
                            opened += 1;
                            if self.body(body)? {
                            } else {
                                all_end = false;
                                merge(self.f.assigned.clone(), &mut after);
                            }
                            self.f.assigned = before;
                            self.else_();
                        }
                        None => {
                            has_else = true;
                            if self.body(body)? {
                            } else {
                                all_end = false;
                                merge(self.f.assigned.clone(), &mut after);
                            }
                        }
                    }
                }
                if !has_else {
                    all_end = false;
                    merge(self.f.assigned.clone(), &mut after);
                }
                for _ in 0..opened {
                    self.end();
                }
                if let Some(after) = after {
                    self.f.assigned = after;
                }
                if all_end {
                    self.w(I::Unreachable);
                }
                return Ok(all_end);
            }
            Stmt::While(w) => {
                let exit = self.block();
                let orelse = self.block();
                let top = self.loop_();
                self.gas_open();
                self.cond(&w.test)?;
                self.w(I::I32Eqz);
                self.br_if(orelse);
                let saved = self.f.assigned.clone();
                self.f.loops.push(Loop { brk: exit, cont: top });
                let ended = self.body(&w.body)?;
                self.f.loops.pop();
                self.f.assigned = saved;
                self.gas_close();
                if !ended {
                    self.br(top);
                }
                self.end();
                self.w(I::Unreachable);
                self.end();
                let saved = self.f.assigned.clone();
                self.body(&w.orelse)?;
                self.f.assigned = saved;
                self.end();
            }
            Stmt::For(l) => {
                if l.is_async {
                    return un("async");
                }
                let target: &'a Expr = &l.target;
                let exit = self.block();
                let orelse = self.block();
                if let Expr::Generator(_) = &*l.iter {
                    return un("for over a generator");
                }
                let mut pull = self.pull(Arg::E(&l.iter))?;
                let top = self.loop_();
                self.gas_open();
                let item = self.next(&mut pull, orelse)?;
                let saved = self.f.assigned.clone();
                let kept = item.clone();
                self.assign(target, item)?;
                self.drop_item(kept);
                self.f.loops.push(Loop { brk: exit, cont: top });
                let ended = self.body(&l.body)?;
                self.f.loops.pop();
                self.f.assigned = saved;
                self.gas_close();
                if !ended {
                    self.br(top);
                }
                self.end();
                self.w(I::Unreachable);
                self.end();
                let saved = self.f.assigned.clone();
                self.body(&l.orelse)?;
                self.f.assigned = saved;
                self.end();
                self.drop_pull(pull);
            }
            Stmt::Break(_) => {
                let Some(l) = self.f.loops.last() else { return un("break outside") };
                let to = l.brk;
                self.br(to);
                return Ok(true);
            }
            Stmt::Continue(_) => {
                let Some(l) = self.f.loops.last() else { return un("continue outside") };
                let to = l.cont;
                self.br(to);
                return Ok(true);
            }
            Stmt::Import(i) => {
                for alias in &i.names {
                    let module = match alias.name.as_str() {
                        "random" => 0,
                        "math" => 1,
                        other => return un(format!("import {other}")),
                    };
                    let name = alias.asname.as_ref().unwrap_or(&alias.name);
                    let var = self.resolve(name).ok_or("import")?;
                    self.c64(NONE);
                    self.store(var, Ty::Module(module));
                    if self.tys[var] != Ty::Module(module) {
                        return un("module as a value");
                    }
                }
            }
            Stmt::Delete(d) => {
                for t in &d.targets {
                    match t {
                        Expr::Subscript(s) if !s.slice.is_slice_expr() => {
                            self.any(&s.value)?;
                            self.any(&s.slice)?;
                            self.call("rt_delitem");
                        }
                        _ => return un("del"),
                    }
                }
            }
            Stmt::Global(_) | Stmt::Nonlocal(_) => {}
            Stmt::Assert(a) => {
                self.cond(&a.test)?;
                self.w(I::I32Eqz);
                self.deopt_if(6);
            }
            Stmt::Raise(_) => {
                self.deopt(6);
                return Ok(true);
            }
            Stmt::Try(t) => return self.try_stmt(t),
            Stmt::ImportFrom(_) => return un("from import"),
            _ => return un("statement"),
        }
        Ok(false)
    }

    /// Only a key missing in a subscript of this very function is caught here; all else that raises is left to CPython.
    fn try_stmt(&mut self, t: &'a ruff_python_ast::StmtTry) -> R<bool> {
        let catches = |e: &Expr| matches!(e, Expr::Name(n) if matches!(n.id.as_str(), "KeyError" | "LookupError" | "Exception" | "BaseException"));
        let handler = t.handlers.iter().map(|ruff_python_ast::ExceptHandler::ExceptHandler(h)| h).find(|h| match &h.type_ {
            None => true,
            Some(e) => match &**e {
                Expr::Tuple(t) => t.elts.iter().any(catches),
                e => catches(e),
            },
        });
        let told = self.t64();
        let end = self.block();
        let caught = self.block();
        let before = self.f.assigned.clone();
        self.f.tries.push(handler.map(|_| (caught, told)));
        let mut ended = self.body(&t.body)?;
        self.f.tries.pop();
        if !ended {
            ended = self.body(&t.orelse)?;
        }
        let after = self.f.assigned.clone();
        if !ended {
            self.br(end);
        }
        self.end();
        self.f.assigned = before;
        let mut handled = true;
        match handler {
            None => self.w(I::Unreachable),
            Some(h) => {
                let mut bound = None;
                if let Some(name) = &h.name {
                    let var = self.resolve(name).ok_or("handler")?;
                    if self.s.vars[var].mode != Mode::Local {
                        return un("exception kept");
                    }
                    self.get(told);
                    self.store(var, Ty::Caught);
                    if self.tys[var] != Ty::Caught {
                        return un("exception in a variable of other use");
                    }
                    bound = Some(var);
                }
                handled = self.body(&h.body)?;
                if let Some(var) = bound {
                    self.f.assigned.remove(&var);
                    self.f.checked.insert(var);
                    if !handled {
                        let l = self.place(var);
                        self.c64(UNDEF);
                        self.set(l);
                    }
                }
            }
        }
        self.end();
        self.free(told);
        self.f.assigned = match (ended, handled) {
            (true, _) => std::mem::take(&mut self.f.assigned),
            (false, true) => after,
            (false, false) => self.f.assigned.intersection(&after).copied().collect(),
        };
        if ended && handled {
            self.w(I::Unreachable);
        }
        Ok(ended && handled)
    }

    fn augment(&mut self, op: Operator, x: (Op, Ty), y: (Op, Ty)) -> R<Ty> {
        let scalar = |t: Ty| matches!(t, Ty::Int | Ty::Float | Ty::Bool | Ty::Str | Ty::Tuple);
        if op == Operator::Add && !scalar(x.1) {
            if !self.opts.inline || x.1 == Ty::List {
                self.push(x.0);
                self.push(y.0);
                self.call("rt_iadd");
                return Ok(if x.1 == Ty::List { Ty::List } else { Ty::Any });
            }
            // A list grows in place; integers are added here.
            self.push(x.0);
            self.w(I::I32WrapI64);
            self.c32(1);
            self.w(I::I32And);
            self.if_(I64);
            self.push(x.0);
            self.push(y.0);
            self.call("rt_iadd");
            self.else_();
            let r = self.binary(op, (x.0, Ty::Int), y)?;
            self.end();
            return Ok(if x.1 == Ty::Bot { r } else { Ty::Any });
        }
        if op == Operator::Mult && !scalar(x.1) && x.1 != Ty::List {
            self.push(x.0);
            self.w(I::I32WrapI64);
            self.c32(1);
            self.w(I::I32And);
            self.if_(I64);
            self.push(x.0);
            self.push(y.0);
            self.call("rt_imul");
            self.else_();
            self.binary(op, (x.0, Ty::Int), y)?;
            self.end();
            return Ok(if x.1 == Ty::Bot { Ty::Bot } else { Ty::Any });
        }
        if matches!(op, Operator::BitOr | Operator::BitAnd | Operator::BitXor | Operator::Sub) && matches!(x.1, Ty::Set | Ty::Dict) {
            return un("set operation");
        }
        self.binary(op, x, y)
    }

    // ---- the module
    fn module(mut self, bodies: Vec<F>, callable: Vec<Callable>) -> R<Compiled> {
        let mut types = TypeSection::new();
        let mut known: Vec<(Vec<ValType>, Vec<ValType>)> = Vec::new();
        let mut type_of = |types: &mut TypeSection, p: Vec<ValType>, r: Vec<ValType>| -> u32 {
            if let Some(n) = known.iter().position(|k| k.0 == p && k.1 == r) {
                return n as u32;
            }
            types.ty().function(p.clone(), r.clone());
            known.push((p, r));
            known.len() as u32 - 1
        };
        let mut imports = ImportSection::new();
        let mut index: BTreeMap<&'static str, u32> = BTreeMap::new();
        let mut indirect: HashMap<usize, u32> = HashMap::new();
        if self.opts.stable {
            for (name, (p, r)) in &self.rt.signatures {
                if !name.starts_with("rt_") {
                    continue;
                }
                let t = type_of(&mut types, p.clone(), r.clone());
                imports.import("rt", name, EntityType::Function(t));
                index.insert(Box::leak(name.clone().into_boxed_str()), index.len() as u32);
            }
            for n in 0..6 {
                type_of(&mut types, vec![ValType::I64; n + 1], vec![ValType::I64]);
            }
        }
        for f in &bodies {
            for i in &f.code {
                match i {
                    Ins::Rt(name) if !index.contains_key(name) => {
                        let (p, r) = self.rt.signatures.get(*name).ok_or_else(|| format!("runtime lacks {name}"))?;
                        let t = type_of(&mut types, p.clone(), r.clone());
                        imports.import("rt", name, EntityType::Function(t));
                        index.insert(name, index.len() as u32);
                    }
                    Ins::Indirect(n) => {
                        let t = type_of(&mut types, vec![ValType::I64; n + 1], vec![ValType::I64]);
                        indirect.insert(*n, t);
                    }
                    _ => {}
                }
            }
        }
        imports.import(
            "rt",
            "memory",
            EntityType::Memory(MemoryType { minimum: 1, maximum: None, memory64: false, shared: false, page_size_log2: None }),
        );
        for (name, ty) in [("gas_left", ValType::I64), ("depth", ValType::I32)] {
            let ty = wasm_encoder::GlobalType { val_type: ty, mutable: true, shared: false };
            imports.import("rt", name, EntityType::Global(ty));
        }
        let base = index.len() as u32;
        let mut functions = FunctionSection::new();
        let mut code = CodeSection::new();
        let last = bodies.len() - 1;
        for (n, f) in bodies.iter().enumerate() {
            let (p, r) = match n {
                0 => (vec![], vec![]),
                n if n == last => (vec![ValType::I32, ValType::I64, ValType::I32], vec![ValType::I64]),
                _ => (vec![ValType::I64; f.nparams as usize], vec![ValType::I64]),
            };
            functions.function(type_of(&mut types, p, r));
            let mut out = Function::new_with_locals_types(f.locals.iter().copied());
            // Locals begin unbound where that is looked at.
            let mut unbound: Vec<u32> = Vec::new();
            for (&var, &l) in &f.place {
                if matches!(self.s.vars[var].mode, Mode::Local | Mode::Value) && l >= f.nparams && f.checked.contains(&var) {
                    unbound.push(l);
                }
            }
            unbound.sort();
            for l in unbound {
                out.instruction(&I::I64Const(UNDEF));
                out.instruction(&I::LocalSet(l));
            }
            for i in &f.code {
                match i {
                    Ins::W(i) => out.instruction(i),
                    Ins::Rt(name) => out.instruction(&I::Call(index[name])),
                    Ins::Fn(id) => out.instruction(&I::Call(base + *id as u32)),
                    Ins::Indirect(n) => out.instruction(&I::CallIndirect { type_index: indirect[n], table_index: 0 }),
                    Ins::Gas(id) => out.instruction(&I::I64Const(f.gas_costs[*id] as i64)),
                };
            }
            if n != last {
                out.instruction(&I::End);
            }
            code.function(&out);
        }
        let mut tables = TableSection::new();
        let count = last as u64;
        tables.table(TableType { element_type: RefType::FUNCREF, minimum: count, maximum: Some(count), table64: false, shared: false });
        let mut elements = ElementSection::new();
        if !indirect.is_empty() {
            let ids: Vec<u32> = (0..last as u32).map(|n| base + n).collect();
            elements.active(None, &ConstExpr::i32_const(0), Elements::Functions(ids.into()));
        }
        let mut exports = ExportSection::new();
        exports.export("init", ExportKind::Func, base);
        exports.export("call", ExportKind::Func, base + last as u32);
        let mut data = DataSection::new();
        while self.data.len() % 8 != 0 {
            self.data.push(0);
        }
        let heap = self.data_base + self.data.len() as u32;
        if !self.data.is_empty() {
            data.active(0, &ConstExpr::i32_const(self.data_base as i32), self.data.iter().copied());
        }
        let mut module = Module::new();
        module.section(&types).section(&imports).section(&functions);
        if !indirect.is_empty() {
            module.section(&tables);
        }
        module.section(&exports);
        if !indirect.is_empty() {
            module.section(&elements);
        }
        module.section(&code).section(&data);
        Ok(Compiled { wasm: module.finish(), roots: self.rt.heap, nroots: self.s.globals(), heap, callable })
    }
}

#[allow(dead_code)]
fn unused(_: &Parameters) {}
