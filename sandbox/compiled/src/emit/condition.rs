//! Conditions: expressions of which only the truth value matters, as a word.

use ruff_python_ast::{BoolOp, CmpOp, Expr, ExprBoolOp, ExprCompare, UnaryOp};
use wasm_encoder::Instruction as Wasm;

use super::assign::elements;
use super::code::{Place, Value, WORD, word_field};
use super::kind::Kind;
use super::{Emitted, Emitter, cost};
use crate::layout::{FALSE, LENGTH, TRUE};

/// Longest display for which `in` is compiled to a row of comparisons.
const MEMBERS_MAX: usize = 4;

/// Most constants after `in` of which CPython makes a tuple or a set before it runs the program. Of more it makes the list or
/// the set anew each time.
const FOLDED_MAX: usize = 30;

impl<'a> Emitter<'a> {
    /// Turns the word on the stack into a bool.
    pub(super) fn boolean(&mut self) {
        self.put(Wasm::I64ExtendI32U);
        self.long(3);
        self.put(Wasm::I64Shl);
        self.long(FALSE);
        self.put(Wasm::I64Add);
    }

    /// Pushes the truth value of a value.
    pub(super) fn truth(&mut self, value: Value) {
        self.push(value);
        match value.kind {
            Kind::Int => {
                self.long(0);
                self.put(Wasm::I64Ne);
            }
            Kind::Bool => {
                self.long(TRUE);
                self.put(Wasm::I64Eq);
            }
            kind if kind.has_length() => {
                self.put(Wasm::I32WrapI64);
                self.put(Wasm::I32Load(word_field(LENGTH)));
                self.word(0);
                self.put(Wasm::I32Ne);
            }
            _ => {
                self.test_no_integer();
                self.start_if(WORD);
                self.call_runtime_with("py_truth", &[value]);
                self.otherwise();
                self.push(value);
                self.long(0);
                self.put(Wasm::I64Ne);
                self.end();
            }
        }
    }

    /// Pushes the truth value of an expression.
    pub(super) fn condition(&mut self, expression: &'a Expr) -> Emitted<()> {
        match expression {
            Expr::UnaryOp(unary) if unary.op == UnaryOp::Not => {
                self.condition(&unary.operand)?;
                self.put(Wasm::I32Eqz);
            }
            Expr::BoolOp(operation) => self.all_or_any(operation)?,
            Expr::Compare(comparison) => {
                self.comparison(comparison)?;
                self.charge(cost::JUMP);
            }
            Expr::BooleanLiteral(literal) => self.word(i32::from(literal.value)),
            _ => {
                let value = self.value(expression)?;
                self.charge(cost::JUMP + cost::truth(value.kind));
                self.truth(value);
                self.release_value(value);
            }
        }
        Ok(())
    }

    fn all_or_any(&mut self, operation: &'a ExprBoolOp) -> Emitted<()> {
        let last = operation.values.len() - 1;
        for (index, operand) in operation.values.iter().enumerate() {
            self.condition(operand)?;
            if index < last {
                self.start_if(WORD);
                if operation.op == BoolOp::Or {
                    self.word(1);
                    self.otherwise();
                }
                self.open_arm();
            }
        }
        for _ in 0..last {
            self.close_gas();
            if operation.op == BoolOp::And {
                self.otherwise();
                self.word(0);
            }
            self.end();
        }
        Ok(())
    }

    pub(super) fn comparison(&mut self, comparison: &'a ExprCompare) -> Emitted<()> {
        if let ([operator @ (CmpOp::In | CmpOp::NotIn)], [display]) = (&comparison.ops[..], &comparison.comparators[..])
            && self.membership_without_container(&comparison.left, display)?
        {
            if *operator == CmpOp::NotIn {
                self.put(Wasm::I32Eqz);
            }
            return Ok(());
        }
        let last = comparison.ops.len() - 1;
        let is_identity = matches!(comparison.ops[0], CmpOp::Is | CmpOp::IsNot);
        self.charge(if is_identity { cost::IDENTITY } else { cost::COMPARE });
        let mut left = self.value(&comparison.left)?;
        for (index, (operator, right)) in comparison.ops.iter().zip(&comparison.comparators).enumerate() {
            let right = self.value(right)?;
            self.compare(*operator, left, right)?;
            self.release_value(left);
            if index < last {
                self.charge(cost::CHAIN + cost::JUMP);
                self.start_if(WORD);
                self.open_arm();
                self.charge(cost::COMPARE);
            }
            left = right;
        }
        self.release_value(left);
        for _ in 0..last {
            self.close_gas();
            self.otherwise();
            self.word(0);
            self.end();
        }
        Ok(())
    }

    /// Pushes whether a value is in a display, if that needs no container; whether it did.
    fn membership_without_container(&mut self, value: &'a Expr, display: &'a Expr) -> Emitted<bool> {
        if let Some(elements) = elements(display)
            && (1..=MEMBERS_MAX).contains(&elements.len())
            && !elements.iter().any(Expr::is_starred_expr)
        {
            self.membership(value, elements)?;
            return Ok(true);
        }
        let (elements, function) = match display {
            Expr::Set(set) => (&set.elts, "py_among"),
            Expr::List(list) => (&list.elts, "py_contains"),
            _ => return Ok(false),
        };
        if !(1..=FOLDED_MAX).contains(&elements.len()) {
            return Ok(false);
        }
        let Some(members) = self.constants(elements)? else { return Ok(false) };
        self.charge(cost::COMPARE + cost::CONSTANT);
        let value = self.value(value)?;
        self.call_runtime_with(function, &[members, value]);
        self.release_value(value);
        Ok(true)
    }

    /// Pushes whether a value is among the elements of a display, without making the container.
    fn membership(&mut self, value: &'a Expr, elements: &'a [Expr]) -> Emitted<()> {
        let value = self.value(value)?;
        let mut items = Vec::with_capacity(elements.len());
        self.charge(cost::MEMBER);
        for element in elements {
            items.push(self.value(element)?);
        }
        // A display of constants is one constant.
        let made = items.iter().filter(|item| matches!(item.place, Place::Local(_))).count() as u32;
        self.charge(if made > 0 { cost::TUPLE + made * cost::ITEM } else { 0 });
        for (index, item) in items.iter().enumerate() {
            // `in` is true for the same object, even if the object does not equal itself.
            self.push(value);
            self.push(*item);
            self.put(Wasm::I64Eq);
            self.start_if(WORD);
            self.word(1);
            self.otherwise();
            self.equal(value, *item);
            self.end();
            if index + 1 < items.len() {
                self.start_if(WORD);
                self.word(1);
                self.otherwise();
                self.open_arm();
                self.charge(cost::MEMBER_ITEM);
            }
        }
        for _ in 1..items.len() {
            self.close_gas();
            self.end();
        }
        items.into_iter().for_each(|item| self.release_value(item));
        self.release_value(value);
        Ok(())
    }

    /// Pushes whether two values are equal.
    fn equal(&mut self, one: Value, two: Value) {
        let both = |kind| one.kind == kind && two.kind == kind;
        if both(Kind::Int) || both(Kind::Bool) || self.is_told_by_bits(one) || self.is_told_by_bits(two) {
            self.push(one);
            self.push(two);
            self.put(Wasm::I64Eq);
            return;
        }
        self.compared(one, two, Wasm::I64Eq, "py_equal");
    }

    /// Pushes a comparison: inline for integers, otherwise by the runtime.
    fn compared(&mut self, one: Value, two: Value, fast: Wasm<'static>, slow: &'static str) {
        if !one.kind.may_be_int() || !two.kind.may_be_int() {
            return self.call_runtime_with(slow, &[one, two]);
        }
        let is_open = self.push_tags(one, two);
        if is_open {
            self.start_if(WORD);
            self.call_runtime_with(slow, &[one, two]);
            self.otherwise();
        }
        self.push(one);
        self.push(two);
        self.put(fast);
        if is_open {
            self.end();
        }
    }

    /// Pushes the result of one comparison.
    pub(super) fn compare(&mut self, operator: CmpOp, one: Value, two: Value) -> Emitted<()> {
        if matches!(operator, CmpOp::Eq | CmpOp::NotEq) && (one.kind == Kind::None || two.kind == Kind::None) {
            self.charge(cost::EQUAL_NONE);
        }
        match operator {
            CmpOp::Eq => self.equal(one, two),
            CmpOp::NotEq => {
                self.equal(one, two);
                self.put(Wasm::I32Eqz);
            }
            CmpOp::Lt => self.compared(one, two, Wasm::I64LtS, "py_less"),
            CmpOp::LtE => self.compared(one, two, Wasm::I64LeS, "py_less_equal"),
            CmpOp::Gt => self.compared(two, one, Wasm::I64LtS, "py_less"),
            CmpOp::GtE => self.compared(two, one, Wasm::I64LeS, "py_less_equal"),
            CmpOp::Is | CmpOp::IsNot => {
                self.push(one);
                self.push(two);
                // None and the bools are single objects, so their bits decide; for other values the runtime decides
                // where it can.
                let is_plain = |kind| matches!(kind, Kind::None | Kind::Bool);
                if is_plain(one.kind) || is_plain(two.kind) {
                    self.put(Wasm::I64Eq);
                } else {
                    self.call_runtime("py_is");
                }
                if operator == CmpOp::IsNot {
                    self.put(Wasm::I32Eqz);
                }
            }
            CmpOp::In | CmpOp::NotIn => {
                self.call_runtime_with("py_contains", &[two, one]);
                if operator == CmpOp::NotIn {
                    self.put(Wasm::I32Eqz);
                }
            }
        }
        Ok(())
    }
}
