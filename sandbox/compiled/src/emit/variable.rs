//! Variables: where each lives, and what is sure of it.

use wasm_encoder::{Instruction as Wasm, ValType};

use super::Emitted;
use super::code::{long_at, long_field};
use super::kind::Kind;
use super::{Emitter, cost, names, outside};
use crate::layout::{CELL_VALUE, CLOSURE_CELLS, UNBOUND};
use crate::scope::Mode;

impl Emitter<'_> {
    /// The variable a name means here; none if it is never bound.
    pub(super) fn resolve(&self, name: &str) -> Option<usize> {
        self.scopes.resolve(name, self.body.id, &self.body.comprehensions)
    }

    /// Whether a name means the builtin of that name.
    pub(super) fn is_builtin(&self, name: &str) -> bool {
        self.resolve(name).is_none() && names::is_builtin(name)
    }

    /// The variable that an assignment to a name binds.
    pub(super) fn target(&self, name: &str) -> Emitted<usize> {
        match self.resolve(name) {
            Some(variable) => Ok(variable),
            None => outside(format!("a target `{name}`")),
        }
    }

    /// Gives up when the value on the stack says that nothing is bound.
    fn check_bound(&mut self) {
        let value = self.long_local();
        self.tee(value);
        self.long(UNBOUND);
        self.put(Wasm::I64Eq);
        self.give_up_if();
        self.get_last(value);
    }

    /// Pushes what a captured variable is here: its cell, or its value.
    pub(super) fn push_captured(&mut self, variable: usize) {
        if self.scopes.variables[variable].owner == self.body.id {
            let local = self.place(variable);
            self.get(local);
            return;
        }
        let captures = &self.scopes.functions[self.body.id].captures;
        let index = captures.iter().position(|&captured| captured == variable).expect("scopes found it captured");
        self.address(0);
        self.put(Wasm::I64Load(long_field(CLOSURE_CELLS + 8 * index as u64)));
    }

    /// The local of a variable: its own for good, never a temporary, for it is unbound until something is stored.
    pub(super) fn place(&mut self, variable: usize) -> u32 {
        if let Some(&local) = self.body.places.get(&variable) {
            return local;
        }
        let local = self.body.own_local(ValType::I64);
        self.body.places.insert(variable, local);
        local
    }

    /// Makes a fresh cell for a variable, with what is on the stack.
    pub(super) fn make_cell(&mut self, variable: usize) {
        self.call_runtime("py_cell");
        let local = self.place(variable);
        self.set(local);
    }

    fn global_address(&self, slot: u32) -> u64 {
        u64::from(self.interface.heap + 8 * slot)
    }

    /// Pushes the value of a variable.
    pub(super) fn load(&mut self, variable: usize) -> Kind {
        let is_bound = self.body.assigned.contains(&variable);
        let is_own = self.scopes.variables[variable].owner == self.body.id;
        match self.scopes.variables[variable].mode {
            Mode::Global(slot) => {
                self.charge(cost::LOAD_GLOBAL);
                self.word(0);
                self.put(Wasm::I64Load(long_at(self.global_address(slot))));
                if !is_bound {
                    self.check_bound();
                }
            }
            Mode::Local | Mode::Value => {
                self.charge(if is_own { cost::LOAD } else { cost::LOAD_CELL });
                self.push_captured(variable);
                // What is captured by value was bound before the closure was made.
                if !is_bound && is_own {
                    self.body.checked.insert(variable);
                    self.check_bound();
                }
            }
            Mode::Cell => {
                self.charge(cost::LOAD_CELL);
                self.push_captured(variable);
                self.put(Wasm::I32WrapI64);
                self.put(Wasm::I64Load(long_field(CELL_VALUE)));
                if !is_bound {
                    self.check_bound();
                }
            }
        }
        self.kinds[variable]
    }

    /// Stores what is on the stack.
    pub(super) fn store(&mut self, variable: usize, kind: Kind) {
        self.join(variable, kind);
        match self.scopes.variables[variable].mode {
            Mode::Global(slot) => {
                self.charge(cost::STORE_GLOBAL);
                let value = self.set_new();
                self.word(0);
                self.get(value);
                self.put(Wasm::I64Store(long_at(self.global_address(slot))));
                self.release(value);
            }
            Mode::Local | Mode::Value => {
                self.charge(cost::STORE);
                let local = self.place(variable);
                self.set(local);
            }
            Mode::Cell => {
                self.charge(cost::STORE_CELL);
                let value = self.set_new();
                self.push_captured(variable);
                self.get(value);
                self.call_runtime("py_cell_set");
                self.release(value);
            }
        }
        if self.scopes.variables[variable].owner == self.body.id {
            self.body.assigned.insert(variable);
        }
    }
}
