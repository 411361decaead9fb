//! Functions: prologue and epilogue, closures, and the entry point for the host.

use std::collections::HashSet;

use wasm_encoder::Instruction as Wasm;

use super::code::{Body, DEPTH, Step, Value, long_at, long_field, word_field};
use super::kind::Kind;
use super::{Callable, Emitted, Emitter, cost, outside};
use crate::layout::{CLOSURE_CELLS, CLOSURE_DEFAULTS, ITEMS, NONE, TUPLE_ITEMS, UNBOUND};
use crate::scope::{Mode, Node};

/// Deepest recursion; beyond it the interpreter decides. A call counts one, and one more for every generator that its
/// function nests, since each is a frame of the interpreter. CPython's limit is 1,000 frames, or the end of its own
/// stack.
const DEPTH_MAX: i32 = 400;

impl<'a> Emitter<'a> {
    pub(super) fn function(&mut self, id: usize) -> Emitted<Body> {
        let function = &self.scopes.functions[id];
        let parameter_count = if id == 0 { 0 } else { 1 + function.parameters.len() as u32 };
        self.body = Body::new(id, parameter_count);
        self.body.depth = self.reaches_itself(id).then_some(1 + function.generators as i32);
        if id != 0 {
            self.bind_parameters(id);
        }
        if let Some(depth) = self.body.depth {
            self.deepen(depth);
        }
        self.open_gas();
        match self.scopes.functions[id].node {
            Node::Module(body) => {
                self.statements(body)?;
            }
            Node::Def(def) => {
                if !self.statements(&def.body)? {
                    self.long(NONE);
                    self.give_back(Kind::None);
                }
            }
            Node::Lambda(lambda) => {
                let kind = self.expression(&lambda.body)?;
                self.give_back(kind);
            }
        }
        self.close_gas();
        self.body.settle_gas();
        if id != 0 {
            self.put(Wasm::Unreachable);
        }
        Ok(std::mem::take(&mut self.body))
    }

    /// Places for parameters and for variables that inner functions capture.
    fn bind_parameters(&mut self, id: usize) {
        let parameters = &self.scopes.functions[id].parameters;
        for (index, &parameter) in parameters.iter().enumerate() {
            self.body.assigned.insert(parameter);
            let argument = 1 + index as u32;
            if self.scopes.variables[parameter].mode == Mode::Cell {
                self.get(argument);
                self.make_cell(parameter);
            } else {
                self.body.places.insert(parameter, argument);
            }
        }
        for (index, variable) in self.scopes.variables.iter().enumerate() {
            if variable.owner == id && variable.mode == Mode::Cell && !parameters.contains(&index) {
                self.long(UNBOUND);
                self.make_cell(index);
            }
        }
    }

    /// Whether a function may call itself, directly or through others.
    fn reaches_itself(&self, id: usize) -> bool {
        let (mut seen, mut open) = (HashSet::new(), vec![id]);
        while let Some(caller) = open.pop() {
            for &called in &self.calls[caller] {
                if called == id {
                    return true;
                }
                if seen.insert(called) {
                    open.push(called);
                }
            }
        }
        false
    }

    fn deepen(&mut self, by: i32) {
        self.put(Wasm::GlobalGet(DEPTH));
        self.word(by);
        self.put(Wasm::I32Add);
        self.put(Wasm::GlobalSet(DEPTH));
        if by > 0 {
            self.put(Wasm::GlobalGet(DEPTH));
            self.word(DEPTH_MAX);
            self.put(Wasm::I32GtU);
            self.give_up_if();
        }
    }

    /// Returns the value on the stack.
    pub(super) fn give_back(&mut self, kind: Kind) {
        let id = self.body.id;
        let joined = self.joined(self.returns[id], kind);
        if joined != self.returns[id] {
            self.returns[id] = joined;
            self.changed = true;
        }
        if let Some(depth) = self.body.depth {
            self.deepen(-depth);
        }
        self.put(Wasm::Return);
    }

    /// Pushes a closure of a function.
    pub(super) fn closure(&mut self, id: usize) -> Emitted<()> {
        let function = &self.scopes.functions[id];
        let first = function.parameters.len() - function.defaults.len();
        let mut defaults = Vec::with_capacity(function.defaults.len());
        for (index, default) in function.defaults.iter().enumerate() {
            let value = self.value(default)?;
            self.join(function.parameters[first + index], value.kind);
            defaults.push(value);
        }
        self.charge(cost::MAKE_FUNCTION);
        if !function.captures.is_empty() {
            self.charge(cost::MAKE_CLOSURE);
        }
        let closure = self.long_local();
        let kept = if defaults.is_empty() { Value::constant(NONE, Kind::None) } else { self.tuple_of(&defaults) };
        self.word(id as i32);
        self.word(function.parameters.len() as i32);
        self.push(kept);
        self.word(function.captures.len() as i32);
        self.call_runtime("py_function");
        self.set(closure);
        self.release_value(kept);
        defaults.into_iter().for_each(|value| self.release_value(value));
        for (index, &captured) in function.captures.iter().enumerate() {
            self.address(closure);
            self.push_captured(captured);
            self.put(Wasm::I64Store(long_field(CLOSURE_CELLS + 8 * index as u64)));
        }
        self.get_last(closure);
        Ok(())
    }

    /// Pushes the default of a parameter of a function whose closure is in a local.
    pub(super) fn push_default(&mut self, closure: u32, id: usize, parameter: usize) -> Emitted<()> {
        let function = &self.scopes.functions[id];
        let Some(index) = (parameter + function.defaults.len()).checked_sub(function.parameters.len()) else {
            return outside("a call with too few arguments");
        };
        self.charge(cost::CALL_DEFAULT);
        self.address(closure);
        self.put(Wasm::I64Load(long_field(CLOSURE_DEFAULTS)));
        self.put(Wasm::I32WrapI64);
        self.put(Wasm::I64Load(long_field(TUPLE_ITEMS + 8 * index as u64)));
        Ok(())
    }

    /// The function that the host calls, with the number of a callable, a list of arguments, and the end of the
    /// written arguments.
    pub(super) fn entry(&mut self) -> Emitted<(Body, Vec<Callable>)> {
        self.body = Body::new(0, 3);
        let mut callable = Vec::new();
        self.get(2);
        self.call_runtime("begin_call");
        let (closure, items) = (self.long_local(), self.word_local());
        self.address(1);
        self.put(Wasm::I32Load(word_field(ITEMS)));
        self.set(items);
        for global in self.scopes.top_level() {
            let Kind::Function(id) = self.kinds[global.variable] else { continue };
            let function = &self.scopes.functions[id];
            let count = function.parameters.len();
            for given in count - function.defaults.len()..=count {
                self.get(0);
                self.word(callable.len() as i32);
                self.put(Wasm::I32Eq);
                self.when();
                self.load(global.variable);
                self.tee(closure);
                for index in 0..given {
                    self.get(items);
                    self.put(Wasm::I64Load(long_at(8 * index as u64)));
                }
                for parameter in given..count {
                    self.push_default(closure, id, parameter)?;
                }
                self.body.code.push(Step::Function(id));
                self.put(Wasm::Return);
                self.end();
                let parameters = function.parameters[..given].iter().map(|&one| self.kinds[one]).collect();
                callable.push(Callable { name: global.name.clone(), parameters });
            }
        }
        self.put(Wasm::Unreachable);
        Ok((std::mem::take(&mut self.body), callable))
    }
}
