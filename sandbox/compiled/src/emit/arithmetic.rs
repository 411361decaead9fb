//! Arithmetic: integers of 62 bits by inline instructions where kinds allow it, everything else by the runtime.
//!
//! Every fast path has the form `block { block slow { check; compute; leave }; runtime }`. Operands that fail the
//! check and results that do not fit go to the runtime, which gives up if the result cannot be represented.

use ruff_python_ast::Operator;
use wasm_encoder::Instruction as Wasm;

use super::code::{LONG, Place, Value};
use super::kind::Kind;
use super::{Emitted, Emitter, cost, outside};
use crate::layout::TRUE;

/// Largest inline shift; larger shifts give zero or minus one anyway.
const SHIFT_MAX: i64 = 50;

/// Exponents that are multiplied out. Bases are at most 2^15, so that the fourth power fits.
const POWERS: std::ops::RangeInclusive<i64> = 1..=4;
const BASE_MAX: i64 = 1 << 15;

/// Largest power of two that fits.
const TWO_POWER_MAX: i64 = 60;

impl<'a> Emitter<'a> {
    /// Pushes the result of an operation.
    pub(super) fn binary(&mut self, operator: Operator, left: Value, right: Value) -> Emitted<Kind> {
        let function = runtime_name(operator)?;
        self.charge(cost::operator(operator));
        let counts = matches!(
            operator,
            Operator::Add | Operator::Sub | Operator::Mult | Operator::FloorDiv | Operator::Mod | Operator::Pow
        );
        let (one, two) = if counts && (left.kind == Kind::Bool || right.kind == Kind::Bool) {
            (self.counted(left), self.counted(right))
        } else {
            (Value { temporary: false, ..left }, Value { temporary: false, ..right })
        };
        let kind = result_kind(operator, one, two);
        if has_fast_way(operator, one, two) {
            let result = self.long_local();
            let end = self.block();
            let slow = self.block();
            self.branch_unless_integers(one, two, slow);
            self.compute(operator, [one, two], result, slow);
            self.branch(end);
            self.end();
            self.call_runtime_with(function, &[one, two]);
            self.set(result);
            self.end();
            self.get_last(result);
        } else {
            self.call_runtime_with(function, &[one, two]);
        }
        self.release_value(one);
        self.release_value(two);
        Ok(kind)
    }

    /// A bool as the integer that it counts as. Other values are returned unchanged and must not be released.
    pub(super) fn counted(&mut self, value: Value) -> Value {
        match (value.place, value.kind) {
            (Place::Constant(constant), Kind::Bool) => Value::constant(if constant == TRUE { 2 } else { 0 }, Kind::Int),
            (Place::Local(local), Kind::Bool) => {
                // False is 11 and True is 19: after a shift by three they are 1 and 2, and the second bit of these is
                // the tagged integer 0 or 2.
                self.get(local);
                self.long(3);
                self.put(Wasm::I64ShrU);
                self.long(2);
                self.put(Wasm::I64And);
                self.take(Kind::Int)
            }
            _ => Value { temporary: false, ..value },
        }
    }

    /// Branches to `slow` unless both values are integers.
    pub(super) fn branch_unless_integers(&mut self, one: Value, two: Value, slow: u32) {
        if self.push_tags(one, two) {
            self.branch_if(slow);
        }
    }

    /// Pushes a word that is zero if both values are integers; pushes nothing and returns false if that is known.
    pub(super) fn push_tags(&mut self, one: Value, two: Value) -> bool {
        match (one.kind == Kind::Int, two.kind == Kind::Int) {
            (true, true) => return false,
            (false, true) => self.push(one),
            (true, false) => self.push(two),
            (false, false) => {
                self.push(one);
                self.push(two);
                self.put(Wasm::I64Or);
            }
        }
        self.test_no_integer();
        true
    }

    /// Computes the operation on two integers into a local; branches to `slow` if the result may not fit.
    fn compute(&mut self, operator: Operator, operands: [Value; 2], result: u32, slow: u32) {
        let [one, two] = operands;
        match operator {
            Operator::Add => self.add(one, two, result, slow),
            Operator::Sub => self.subtract(one, two, result, slow),
            Operator::Mult => self.multiply(one, two, result, slow),
            Operator::BitAnd => self.bitwise(Wasm::I64And, one, two, result),
            Operator::BitOr => self.bitwise(Wasm::I64Or, one, two, result),
            Operator::BitXor => self.bitwise(Wasm::I64Xor, one, two, result),
            Operator::Mod => self.modulo(one, two.integer().unwrap_or(1), result),
            Operator::FloorDiv => self.floor_divide(one, two.integer().unwrap_or(1), result),
            Operator::RShift => {
                self.push(one);
                self.long(two.integer().unwrap_or(0));
                self.put(Wasm::I64ShrS);
                self.clear_tag(result);
            }
            _ => match two.integer() {
                Some(exponent) => self.small_power(one, exponent, result, slow),
                None => self.power_of_two(two, result, slow),
            },
        }
    }

    fn clear_tag(&mut self, result: u32) {
        self.long(-2);
        self.put(Wasm::I64And);
        self.set(result);
    }

    fn bitwise(&mut self, instruction: Wasm<'static>, one: Value, two: Value, result: u32) {
        self.push(one);
        self.push(two);
        self.put(instruction);
        self.set(result);
    }

    pub(super) fn add(&mut self, one: Value, two: Value, result: u32, slow: u32) {
        self.bitwise(Wasm::I64Add, one, two, result);
        match (one.place, two.place) {
            (_, Place::Constant(constant)) => self.branch_if_wrapped(one, constant >= 0, result, slow),
            (Place::Constant(constant), _) => self.branch_if_wrapped(two, constant >= 0, result, slow),
            _ => {
                // The sum has wrapped if its sign differs from the signs of both operands.
                self.push(one);
                self.get(result);
                self.put(Wasm::I64Xor);
                self.push(two);
                self.get(result);
                self.put(Wasm::I64Xor);
                self.branch_if_both_negative(slow);
            }
        }
    }

    fn subtract(&mut self, one: Value, two: Value, result: u32, slow: u32) {
        self.bitwise(Wasm::I64Sub, one, two, result);
        if let Place::Constant(constant) = two.place {
            self.branch_if_wrapped(one, constant < 0, result, slow);
            return;
        }
        self.push(one);
        self.push(two);
        self.put(Wasm::I64Xor);
        self.push(one);
        self.get(result);
        self.put(Wasm::I64Xor);
        self.branch_if_both_negative(slow);
    }

    /// Branches if a sum with a constant lies on the wrong side of the other operand.
    fn branch_if_wrapped(&mut self, operand: Value, upwards: bool, result: u32, slow: u32) {
        self.get(result);
        self.push(operand);
        self.put(if upwards { Wasm::I64LtS } else { Wasm::I64GtS });
        self.branch_if(slow);
    }

    fn branch_if_both_negative(&mut self, slow: u32) {
        self.put(Wasm::I64And);
        self.long(0);
        self.put(Wasm::I64LtS);
        self.branch_if(slow);
    }

    /// Multiplies factors of 31 bits, whose product fits.
    fn multiply(&mut self, one: Value, two: Value, result: u32, slow: u32) {
        for factor in [one, two] {
            if let Place::Constant(constant) = factor.place
                && i32::try_from(constant).is_ok()
            {
                continue;
            }
            self.push(factor);
            self.push(factor);
            self.put(Wasm::I64Extend32S);
            self.put(Wasm::I64Ne);
            self.branch_if(slow);
        }
        let (one, two) = if matches!(one.place, Place::Constant(_)) { (two, one) } else { (one, two) };
        self.push(one);
        self.push_untagged(two);
        self.put(Wasm::I64Mul);
        self.set(result);
    }

    fn push_untagged(&mut self, value: Value) {
        match value.place {
            Place::Constant(constant) => self.long(constant >> 1),
            Place::Local(local) => {
                self.get(local);
                self.long(1);
                self.put(Wasm::I64ShrS);
            }
        }
    }

    /// The remainder, whose sign is that of a positive divisor. Tags need no change: 2x mod 2c is 2(x mod c).
    fn modulo(&mut self, value: Value, divisor: i64, result: u32) {
        if (divisor as u64).is_power_of_two() {
            self.push(value);
            self.long(2 * divisor - 2);
            self.put(Wasm::I64And);
            self.set(result);
            return;
        }
        let rest = self.long_local();
        self.push(value);
        self.long(2 * divisor);
        self.put(Wasm::I64RemS);
        self.tee(rest);
        self.get(rest);
        self.long(63);
        self.put(Wasm::I64ShrS);
        self.long(2 * divisor);
        self.put(Wasm::I64And);
        self.put(Wasm::I64Add);
        self.set(result);
        self.release(rest);
    }

    /// Divides downwards. Of a negative number the complement is divided, and the quotient complemented, so that no
    /// step leaves 64 bits: its distance to a multiple of the divisor may.
    fn floor_divide(&mut self, value: Value, divisor: i64, result: u32) {
        if (divisor as u64).is_power_of_two() {
            self.push(value);
            self.long(i64::from(divisor.trailing_zeros()));
            self.put(Wasm::I64ShrS);
            self.clear_tag(result);
            return;
        }
        let sign = self.long_local();
        self.push(value);
        self.long(63);
        self.put(Wasm::I64ShrS);
        self.tee(sign);
        self.push(value);
        self.put(Wasm::I64Xor);
        self.long(2 * divisor);
        self.put(Wasm::I64DivS);
        self.get(sign);
        self.put(Wasm::I64Xor);
        self.long(1);
        self.put(Wasm::I64Shl);
        self.set(result);
        self.release(sign);
    }

    fn small_power(&mut self, base: Value, exponent: i64, result: u32, slow: u32) {
        self.push(base);
        self.long(2 * BASE_MAX);
        self.put(Wasm::I64Add);
        self.long(4 * BASE_MAX);
        self.put(Wasm::I64GeU);
        self.branch_if(slow);
        self.push(base);
        for _ in 1..exponent {
            self.push_untagged(base);
            self.put(Wasm::I64Mul);
        }
        self.set(result);
    }

    /// Computes two to the power of an exponent that is not constant.
    fn power_of_two(&mut self, exponent: Value, result: u32, slow: u32) {
        self.push(exponent);
        self.long(2 * TWO_POWER_MAX);
        self.put(Wasm::I64GtU);
        self.branch_if(slow);
        self.long(2);
        self.push(exponent);
        self.long(1);
        self.put(Wasm::I64ShrU);
        self.put(Wasm::I64Shl);
        self.set(result);
    }

    /// `x += y`: lists are extended in place, and numbers are added here.
    pub(super) fn augmented(&mut self, operator: Operator, left: Value, right: Value) -> Emitted<Kind> {
        if matches!(left.kind, Kind::Set | Kind::Dict) {
            return outside("an operation on sets");
        }
        let in_place = match operator {
            Operator::Add => "py_add_in_place",
            Operator::Mult => "py_multiply_in_place",
            _ => return self.binary(operator, left, right),
        };
        if left.kind.is_immutable() {
            return self.binary(operator, left, right);
        }
        if left.kind == Kind::List {
            self.charge(cost::operator(operator));
            self.call_runtime_with(in_place, &[left, right]);
            return Ok(Kind::List);
        }
        self.push(left);
        self.test_no_integer();
        self.start_if(LONG);
        self.call_runtime_with(in_place, &[left, right]);
        self.otherwise();
        let kind = self.binary(operator, left.of_kind(Kind::Int), right)?;
        self.end();
        Ok(if left.kind == Kind::Never { kind } else { Kind::Any })
    }
}

fn runtime_name(operator: Operator) -> Emitted<&'static str> {
    Ok(match operator {
        Operator::Add => "py_add",
        Operator::Sub => "py_subtract",
        Operator::Mult => "py_multiply",
        Operator::Div => "py_divide",
        Operator::FloorDiv => "py_floor_divide",
        Operator::Mod => "py_modulo",
        Operator::Pow => "py_power",
        Operator::LShift => "py_shift_left",
        Operator::RShift => "py_shift_right",
        Operator::BitAnd => "py_and",
        Operator::BitOr => "py_or",
        Operator::BitXor => "py_xor",
        Operator::MatMult => return outside("`@`"),
    })
}

fn result_kind(operator: Operator, one: Value, two: Value) -> Kind {
    use Kind::{Any, Float, Int, List, Never};
    let is_number = |kind| matches!(kind, Int | Float);
    let both_int = one.kind == Int && two.kind == Int;
    match operator {
        Operator::Div if is_number(one.kind) && is_number(two.kind) => Float,
        Operator::Div => Any,
        Operator::Pow if both_int && two.integer().is_some_and(|exponent| exponent >= 0) => Int,
        Operator::Pow if both_int => Any,
        Operator::LShift | Operator::RShift => Int,
        _ if both_int => Int,
        _ if one.kind == Never || two.kind == Never => Never,
        Operator::Add if one.kind == two.kind && matches!(one.kind, List | Kind::Tuple | Kind::Str) => one.kind,
        Operator::Mult if matches!((one.kind, two.kind), (List, Int) | (Int, List)) => List,
        Operator::Add | Operator::Sub | Operator::Mult
            if is_number(one.kind) && is_number(two.kind) && one.kind.union(two.kind) != Int =>
        {
            Float
        }
        _ => Any,
    }
}

/// Whether an operation has a fast path for two integers.
fn has_fast_way(operator: Operator, one: Value, two: Value) -> bool {
    if !one.kind.may_be_int() || !two.kind.may_be_int() {
        return false;
    }
    match operator {
        Operator::Add | Operator::Sub | Operator::Mult | Operator::BitAnd | Operator::BitOr | Operator::BitXor => true,
        Operator::Mod | Operator::FloorDiv => two.integer().is_some_and(|divisor| divisor > 0),
        Operator::RShift => two.integer().is_some_and(|shift| (0..=SHIFT_MAX).contains(&shift)),
        Operator::Pow => match (one.place, two.integer()) {
            (Place::Local(_), Some(exponent)) => POWERS.contains(&exponent),
            _ => one.integer() == Some(2) && two.integer().is_none(),
        },
        _ => false,
    }
}
