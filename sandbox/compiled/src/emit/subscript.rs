//! Subscripts and slices.

use ruff_python_ast::{Expr, ExprSlice, ExprSubscript};
use wasm_encoder::{BlockType, Instruction as Wasm};

use super::code::{GAS, Place, Value, long_at, word_field};
use super::kind::Kind;
use super::{Emitted, Emitter, cost};
use crate::layout::{END, ITEMS, LENGTH, NONE, STRING};

/// Largest index that is written as an offset.
const INDEX_MAX: i64 = 1 << 19;

impl<'a> Emitter<'a> {
    pub(super) fn subscript_expression(&mut self, subscript: &'a ExprSubscript) -> Emitted<Kind> {
        if let Expr::Slice(slice) = &*subscript.slice {
            return self.slice(&subscript.value, slice);
        }
        let container = self.value(&subscript.value)?;
        let key = self.value(&subscript.slice)?;
        self.subscript(container, key);
        self.release_value(container);
        self.release_value(key);
        Ok(if container.kind == Kind::Str { Kind::Str } else { Kind::Any })
    }

    fn slice(&mut self, container: &'a Expr, slice: &'a ExprSlice) -> Emitted<Kind> {
        self.charge(cost::SLICE);
        let kind = self.expression(container)?;
        for part in [&slice.lower, &slice.upper, &slice.step] {
            match part {
                Some(bound) => {
                    self.anything(bound)?;
                }
                None => {
                    self.charge(cost::CONSTANT);
                    self.long(NONE);
                }
            }
        }
        let step = (slice.step.is_some() && !kind.is_sequence()).then(|| self.long_local());
        if let Some(step) = step {
            self.tee(step);
        }
        self.call_runtime("py_slice");
        if let Some(step) = step {
            self.charge_picked_letters(kind, step);
            self.release(step);
        }
        Ok(match kind {
            Kind::List | Kind::Tuple | Kind::Str | Kind::Never => kind,
            _ => Kind::Any,
        })
    }

    /// Charges the slice on the stack by the letter, if it is a text and its step is not 1.
    fn charge_picked_letters(&mut self, container: Kind, step: u32) {
        let made = self.set_new();
        let end = self.block();
        // The integer 1: such letters are copied at once.
        self.get(step);
        self.long(2);
        self.put(Wasm::I64Eq);
        self.branch_if(end);
        if container != Kind::Str {
            self.address(made);
            self.put(Wasm::I32Load(word_field(0)));
            self.word(STRING as i32);
            self.put(Wasm::I32Ne);
            self.branch_if(end);
        }
        self.put(Wasm::GlobalGet(GAS));
        self.address(made);
        self.put(Wasm::I64Load32U(word_field(LENGTH)));
        self.long(cost::PICKED_LETTER);
        self.put(Wasm::I64Mul);
        self.put(Wasm::I64Sub);
        self.put(Wasm::GlobalSet(GAS));
        self.end();
        self.get_last(made);
    }

    /// Pushes `container[key]`.
    pub(super) fn subscript(&mut self, container: Value, key: Value) {
        self.charge(cost::SUBSCRIPT);
        let may_be_sequence = container.kind.is_sequence() || matches!(container.kind, Kind::Any | Kind::Never);
        let may_be_index = matches!(key.kind, Kind::Int | Kind::Any | Kind::Never);
        if !may_be_sequence || !may_be_index {
            self.get_item(container, key);
            return;
        }
        let (result, address) = (self.long_local(), self.word_local());
        let end = self.block();
        let slow = self.block();
        self.check_sequence(container, key, address, slow);
        match key.place {
            Place::Constant(tagged) if (0..2 * INDEX_MAX).contains(&tagged) => {
                self.get(address);
                self.put(Wasm::I32Load(word_field(LENGTH)));
                self.word((tagged >> 1) as i32);
                self.put(Wasm::I32LeU);
                self.branch_if(slow);
                self.get(address);
                self.put(Wasm::I32Load(word_field(ITEMS)));
                self.put(Wasm::I64Load(long_at(4 * tagged as u64)));
                self.set(result);
            }
            _ => self.load_item(key, address, result, slow),
        }
        self.branch(end);
        self.end();
        self.get_item(container, key);
        self.set(result);
        self.end();
        self.get_last(result);
        self.release(address);
    }

    /// Branches to the slow way unless a list or tuple has an integer as its subscript; takes its address to a local.
    fn check_sequence(&mut self, container: Value, key: Value, address: u32, slow: u32) {
        let is_index = key.kind == Kind::Int;
        if container.kind.is_sequence() {
            if !is_index {
                self.push(key);
                self.test_no_integer();
                self.branch_if(slow);
            }
            self.push(container);
            self.put(Wasm::I32WrapI64);
            self.set(address);
            return;
        }
        self.push(container);
        if !is_index {
            // The first is odd and the second even.
            self.push(key);
            self.long(-1);
            self.put(Wasm::I64Xor);
            self.put(Wasm::I64And);
        }
        self.test_no_integer();
        self.put(Wasm::I32Eqz);
        self.branch_if(slow);
        self.push(container);
        self.put(Wasm::I32WrapI64);
        self.tee(address);
        // Constants are odd too; their words lie in the first page, which holds no object.
        self.test_sequence();
        self.put(Wasm::I32Eqz);
        self.branch_if(slow);
    }

    /// An item by an index that is not known; negative ones go the slow way.
    fn load_item(&mut self, key: Value, address: u32, result: u32, slow: u32) {
        let index = self.long_local();
        self.push(key);
        self.long(1);
        self.put(Wasm::I64ShrS);
        self.tee(index);
        self.get(address);
        self.put(Wasm::I64Load32U(word_field(LENGTH)));
        self.put(Wasm::I64GeU);
        self.branch_if(slow);
        self.get(address);
        self.put(Wasm::I32Load(word_field(ITEMS)));
        self.address(index);
        self.word(3);
        self.put(Wasm::I32Shl);
        self.put(Wasm::I32Add);
        self.put(Wasm::I64Load(long_at(0)));
        self.set(result);
        self.release(index);
    }

    /// Looks a subscript up in the runtime; leads to the handler where one waits for a missing key.
    fn get_item(&mut self, container: Value, key: Value) {
        let Some(&Some(handler)) = self.body.handlers.last() else {
            return self.call_runtime_with("py_get_item", &[container, key]);
        };
        let result = self.long_local();
        self.call_runtime_with("py_get_item_or_end", &[container, key]);
        self.tee(result);
        self.long(END);
        self.put(Wasm::I64Eq);
        self.start_if(BlockType::Empty);
        let arguments = self.tuple_of(&[key]);
        self.push(arguments);
        self.set(handler.missing_key);
        self.unbind_caught(handler.caught);
        self.branch(handler.label);
        self.end();
        self.release_value(arguments);
        self.get_last(result);
    }
}
