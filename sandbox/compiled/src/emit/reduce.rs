//! `sum`, `any` and `all`.

use wasm_encoder::Instruction as Wasm;

use super::code::Value;
use super::expression::Argument;
use super::kind::Kind;
use super::{Emitted, Emitter, cost, outside};

impl<'a> Emitter<'a> {
    pub(super) fn sum(&mut self, items: Argument<'a>, start: Option<Argument<'a>>) -> Emitted<Kind> {
        let items = self.open(items)?;
        let (total, beyond) = (self.long_local(), self.word_local());
        self.word(0);
        self.set(beyond);
        let (mut is_int, is_started) = (true, start.is_some());
        match start {
            None => self.long(0),
            Some(start) => match self.push_argument(start)? {
                Kind::Int => {}
                Kind::Bool | Kind::Str => return outside("`sum` from this start"),
                _ => {
                    is_int = false;
                    self.call_runtime("py_sum_start");
                }
            },
        }
        self.set(total);
        if is_started {
            self.push_beyond_word(&[Value::local(total, Kind::Any)]);
            self.set(beyond);
        }
        self.go_through(items, &mut |emitter, item| {
            emitter.charge(cost::SUM_ITEM);
            let value = emitter.one(item);
            let counted = emitter.counted(value);
            is_int &= counted.kind == Kind::Int;
            emitter.sum_step(total, counted, beyond);
            emitter.release_value(counted);
            emitter.release_value(value);
            Ok(())
        })?;
        self.get_last(total);
        self.release(beyond);
        if is_int {
            return Ok(Kind::Int);
        }
        self.call_runtime("py_sum_end");
        Ok(Kind::Any)
    }

    /// Adds a value to a sum, which may have become a float on the way. CPython, where it runs on 32 bits, keeps what is
    /// lost of floats only if the integers before the first of them stayed within a word, each and their sum: the word
    /// `beyond` tells whether some did not, and then that first float is left to CPython.
    fn sum_step(&mut self, total: u32, value: Value, beyond: u32) {
        let sum = Value::local(total, Kind::Any);
        let result = self.long_local();
        let end = self.block();
        let slow = self.block();
        self.branch_unless_integers(sum, value, slow);
        self.add(sum, value, result, slow);
        self.push_beyond_word(&[value, Value::local(result, Kind::Int)]);
        self.when();
        self.word(1);
        self.set(beyond);
        self.charge_beyond(cost::WORD_MAX, result, cost::LARGE_SUM);
        self.end();
        self.get(result);
        self.set(total);
        self.branch(end);
        self.end();
        if value.kind != Kind::Int {
            self.get(beyond);
            self.give_up_if();
        }
        self.call_runtime_with("py_sum_step", &[sum, value]);
        self.set(total);
        if value.kind != Kind::Int {
            // What was added may be a bool.
            self.push_beyond_word(&[sum]);
            self.set(beyond);
        }
        self.end();
        self.release(result);
    }

    /// Pushes a word that is not zero if one of these values is an integer beyond 32 bits. Addresses are within them.
    fn push_beyond_word(&mut self, values: &[Value]) {
        for (index, &value) in values.iter().enumerate() {
            self.push(value);
            self.long(1 << 32);
            self.put(Wasm::I64Add);
            if index > 0 {
                self.put(Wasm::I64Or);
            }
        }
        self.long(33);
        self.put(Wasm::I64ShrU);
        self.put(Wasm::I32WrapI64);
    }

    /// `any`, which ends at the first that is true, and `all`, which ends at the first that is not.
    pub(super) fn any_or_all(&mut self, items: Argument<'a>, is_any: bool) -> Emitted<Kind> {
        let result = self.word_local();
        self.word(i32::from(!is_any));
        self.set(result);
        let end = self.block();
        self.each(items, &mut |emitter, item| {
            emitter.charge(cost::ANY_ITEM);
            let value = emitter.one(item);
            emitter.truth(value);
            if !is_any {
                emitter.put(Wasm::I32Eqz);
            }
            emitter.when();
            emitter.word(i32::from(is_any));
            emitter.set(result);
            emitter.branch(end);
            emitter.end();
            emitter.release_value(value);
            Ok(())
        })?;
        self.end();
        self.get_last(result);
        self.boolean();
        Ok(Kind::Bool)
    }
}
