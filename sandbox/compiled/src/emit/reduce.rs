//! `sum`, `any` and `all`.

use wasm_encoder::Instruction as Wasm;

use super::code::Value;
use super::expression::Argument;
use super::kind::Kind;
use super::{Emitted, Emitter, cost, outside};

impl<'a> Emitter<'a> {
    pub(super) fn sum(&mut self, items: Argument<'a>, start: Option<Argument<'a>>) -> Emitted<Kind> {
        let items = self.open(items)?;
        let total = self.long_local();
        let mut is_int = true;
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
        self.go_through(items, &mut |emitter, item| {
            emitter.charge(cost::SUM_ITEM);
            let value = emitter.one(item);
            let counted = emitter.counted(value);
            is_int &= counted.kind == Kind::Int;
            emitter.sum_step(total, counted);
            emitter.release_value(counted);
            emitter.release_value(value);
            Ok(())
        })?;
        self.get(total);
        self.release(total);
        if is_int {
            return Ok(Kind::Int);
        }
        self.call_runtime("py_sum_end");
        Ok(Kind::Any)
    }

    /// Adds a value to a sum, which may have become a float on the way.
    fn sum_step(&mut self, total: u32, value: Value) {
        let sum = Value::local(total, Kind::Any);
        let result = self.long_local();
        let end = self.block();
        let slow = self.block();
        self.branch_unless_integers(sum, value, slow);
        self.add(sum, value, result, slow);
        self.charge_beyond(cost::WORD_MAX, result, cost::LARGE_SUM);
        self.get(result);
        self.set(total);
        self.branch(end);
        self.end();
        self.push(sum);
        self.push(value);
        self.call_runtime("py_sum_step");
        self.set(total);
        self.end();
        self.release(result);
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
        self.get(result);
        self.release(result);
        self.boolean();
        Ok(Kind::Bool)
    }
}
