//! Constant arithmetic as tests use it: `2**31`, `10**9 + 7`, `[0] * 5`, `'ab' * 3`, `1 / 3`, `-1j`.
//!
//! A few characters may stand for more memory than there is: every result is measured before it is made.

use num_bigint::BigInt;
use ruff_python_ast::{Operator, UnaryOp};

use super::number::{BITS_MAX, too_long};
use super::{Int, Value, ValueError};

/// Items and characters that the repetitions of one literal may make.
pub const ITEMS_MAX: usize = 1 << 20;

/// What the literals read with it may still make.
pub(super) struct Allowance(pub usize);

impl Allowance {
    pub fn take(&mut self, items: usize) -> Result<(), ValueError> {
        let left = self.0.checked_sub(items);
        self.0 = left.ok_or(ValueError::Large { what: "a repetition of too many items", limit: ITEMS_MAX })?;
        Ok(())
    }
}

/// `None` where Python has no such operation, or we none.
pub(super) fn unary(operator: UnaryOp, operand: Value) -> Option<Value> {
    Some(match (operator, operand) {
        (UnaryOp::UAdd, number @ (Value::Int(_) | Value::Float(_) | Value::Complex { .. })) => number,
        (UnaryOp::USub, Value::Int(int)) => Value::Int(Int::from_big(-int.to_big()).ok()?),
        (UnaryOp::USub, Value::Float(float)) => Value::Float(-float),
        (UnaryOp::USub, Value::Complex { re, im }) => Value::Complex { re: -re, im: -im },
        (UnaryOp::Invert, Value::Int(int)) => Value::Int(Int::from_big(!int.to_big()).ok()?),
        (UnaryOp::Not, Value::Bool(truth)) => Value::Bool(!truth),
        _ => return None,
    })
}

/// `None` where Python has no such operation, or we none.
pub(super) fn binary(
    operator: Operator,
    left: Value,
    right: Value,
    allowance: &mut Allowance,
) -> Result<Option<Value>, ValueError> {
    match (operator, left, right) {
        (Operator::Add, Value::List(a), Value::List(b)) => Ok(Some(Value::List([a, b].concat()))),
        (Operator::Add, Value::Tuple(a), Value::Tuple(b)) => Ok(Some(Value::Tuple([a, b].concat()))),
        (Operator::Add, Value::Str(a), Value::Str(b)) => Ok(Some(Value::Str(a + &b))),
        (Operator::Add, Value::Bytes(a), Value::Bytes(b) | Value::ByteArray(b)) => {
            Ok(Some(Value::Bytes([a, b].concat())))
        }
        (Operator::Add, Value::ByteArray(a), Value::Bytes(b) | Value::ByteArray(b)) => {
            Ok(Some(Value::ByteArray([a, b].concat())))
        }
        (Operator::Mult, Value::Int(times), sequence) if !is_number(&sequence) => repeated(sequence, &times, allowance),
        (Operator::Mult, sequence, Value::Int(times)) if !is_number(&sequence) => repeated(sequence, &times, allowance),
        (_, Value::Int(a), Value::Int(b)) => whole(operator, &a, &b),
        (_, a @ Value::Complex { .. }, b) | (_, a, b @ Value::Complex { .. }) => Ok(complex(operator, &a, &b)),
        (_, a, b) => Ok(real(&a).zip(real(&b)).and_then(|(a, b)| floats(operator, a, b)).map(Value::Float)),
    }
}

fn is_number(value: &Value) -> bool {
    matches!(value, Value::Int(_) | Value::Float(_) | Value::Complex { .. })
}

fn repeated(sequence: Value, times: &Int, allowance: &mut Allowance) -> Result<Option<Value>, ValueError> {
    let times = times.as_i64().map_or(usize::MAX, |times| usize::try_from(times).unwrap_or(0));
    allowance.take(weight(&sequence).saturating_mul(times))?;
    Ok(match sequence {
        Value::List(items) => Some(Value::List(vec![items; times].concat())),
        Value::Tuple(items) => Some(Value::Tuple(vec![items; times].concat())),
        Value::Str(text) => Some(Value::Str(text.repeat(times))),
        Value::Bytes(bytes) => Some(Value::Bytes(bytes.repeat(times))),
        Value::ByteArray(bytes) => Some(Value::ByteArray(bytes.repeat(times))),
        _ => None,
    })
}

/// Items and characters in a value; what has none counts as one, for it is not repeated for nothing.
fn weight(value: &Value) -> usize {
    let inside = match value {
        Value::Str(text) => text.len(),
        Value::Bytes(bytes) | Value::ByteArray(bytes) => bytes.len(),
        Value::List(items) | Value::Tuple(items) => items.iter().map(weight).sum(),
        Value::Set(set) => set.items.iter().map(weight).sum(),
        Value::Dict(dict) => dict.0.iter().map(|(key, value)| weight(key) + weight(value)).sum(),
        _ => 1,
    };
    inside.max(1)
}

fn whole(operator: Operator, a: &Int, b: &Int) -> Result<Option<Value>, ValueError> {
    let (left, right) = (a.to_big(), b.to_big());
    let zero = BigInt::ZERO;
    let number = match operator {
        Operator::Add => left + right,
        Operator::Sub => left - right,
        Operator::Mult => left * right,
        Operator::FloorDiv if right != zero => floor_division(&left, &right),
        Operator::Mod if right != zero => &left - floor_division(&left, &right) * &right,
        Operator::LShift if right >= zero => {
            let shift = b.as_i64().filter(|&shift| shift as u64 <= BITS_MAX).ok_or_else(too_long)?;
            left << shift
        }
        Operator::Pow if right >= zero => {
            let fits = |power: &u32| left.bits().saturating_sub(1).saturating_mul(u64::from(*power)) <= BITS_MAX;
            match b.as_i64().and_then(|power| u32::try_from(power).ok()).filter(fits) {
                Some(power) => left.pow(power),
                None => return Err(too_long()),
            }
        }
        // Beyond 2**53 an int is no float, and Python's quotient is not that of the floats.
        Operator::Div | Operator::Pow if left.bits() <= 53 && right.bits() <= 53 => {
            return Ok(floats(operator, a.to_f64(), b.to_f64()).map(Value::Float));
        }
        _ => return Ok(None),
    };
    Int::from_big(number).map(|int| Some(Value::Int(int)))
}

fn floor_division(a: &BigInt, b: &BigInt) -> BigInt {
    let (quotient, rest) = (a / b, a % b);
    if rest != BigInt::ZERO && (rest < BigInt::ZERO) != (*b < BigInt::ZERO) { quotient - 1 } else { quotient }
}

/// A number as a float, where there is one for it.
pub(super) fn real(value: &Value) -> Option<f64> {
    let is_float = matches!(value, Value::Float(_));
    value.real().filter(|real| is_float || real.is_finite())
}

fn floats(operator: Operator, a: f64, b: f64) -> Option<f64> {
    match operator {
        Operator::Add => Some(a + b),
        Operator::Sub => Some(a - b),
        Operator::Mult => Some(a * b),
        Operator::Div if b != 0.0 => Some(a / b),
        // Of a negative base Python makes a complex number, and of a power of zero an error.
        Operator::Pow if a > 0.0 => Some(a.powf(b)).filter(|power| power.is_finite()),
        _ => None,
    }
}

fn complex(operator: Operator, a: &Value, b: &Value) -> Option<Value> {
    let parts = |value: &Value| match value {
        Value::Complex { re, im } => Some((*re, *im)),
        other => real(other).map(|re| (re, 0.0)),
    };
    let ((a_re, a_im), (b_re, b_im)) = (parts(a)?, parts(b)?);
    match operator {
        Operator::Add => Some(Value::Complex { re: a_re + b_re, im: a_im + b_im }),
        Operator::Sub => Some(Value::Complex { re: a_re - b_re, im: a_im - b_im }),
        _ => None,
    }
}
