//! Constants: objects that lie in the module's data, each once.

use std::collections::HashMap;

use ruff_python_ast::{Expr, Number, Operator, UnaryOp};

use super::code::Value;
use super::kind::Kind;
use super::{Emitted, Emitter, outside};
use crate::layout::{CHARACTER_BYTES, FALSE, FLOAT, NONE, STRING, TRUE, TUPLE, pointer};

/// Magnitudes of integers that may be written; those that are computed go twice as far.
const LITERAL_MAX: u64 = 1 << 61;

#[derive(Default)]
pub(super) struct Pool {
    pub(super) bytes: Vec<u8>,
    /// Address of the first.
    pub(super) start: u32,
    strings: HashMap<String, u32>,
    tuples: HashMap<Vec<i64>, u32>,
    floats: HashMap<u64, u32>,
}

impl Pool {
    pub(super) fn new(start: u32) -> Pool {
        Pool { start, ..Pool::default() }
    }

    /// A place for an object with these first four words; the content is to follow.
    fn object(&mut self, words: [u32; 4]) -> u32 {
        let end = self.bytes.len().next_multiple_of(8);
        self.bytes.resize(end, 0);
        self.bytes.extend(words.iter().flat_map(|word| word.to_le_bytes()));
        self.start + end as u32
    }

    /// The address that content has which follows the next object.
    fn content(&self) -> u32 {
        self.start + self.bytes.len().next_multiple_of(8) as u32 + 16
    }

    fn string(&mut self, text: &str) -> u32 {
        if let Some(&known) = self.strings.get(text) {
            return known;
        }
        let address = self.object([STRING, text.len() as u32, self.content(), 0]);
        self.bytes.extend(text.as_bytes());
        self.strings.insert(text.to_owned(), address);
        address
    }

    fn tuple(&mut self, items: &[i64]) -> u32 {
        if let Some(&known) = self.tuples.get(items) {
            return known;
        }
        let address = self.object([TUPLE, items.len() as u32, self.content(), 0]);
        self.bytes.extend(items.iter().flat_map(|item| item.to_le_bytes()));
        self.tuples.insert(items.to_vec(), address);
        address
    }

    fn float(&mut self, value: f64) -> u32 {
        let bits = value.to_bits();
        if let Some(&known) = self.floats.get(&bits) {
            return known;
        }
        let address = self.object([FLOAT, 0, bits as u32, (bits >> 32) as u32]);
        self.floats.insert(bits, address);
        address
    }
}

fn integer(number: i64) -> Value {
    Value::constant(2 * number, Kind::Int)
}

/// The integer that CPython makes of operators between integers before it runs a program, as of `10 ** 9 + 7`; none if
/// it makes none, or one that may not be written here.
fn folded(expression: &Expr) -> Option<i64> {
    let number = match expression {
        Expr::NumberLiteral(literal) => match &literal.value {
            Number::Int(int) => int.as_i64()?,
            _ => return None,
        },
        Expr::UnaryOp(unary) if unary.op == UnaryOp::USub => -folded(&unary.operand)?,
        Expr::BinOp(operation) => between(operation.op, folded(&operation.left)?, folded(&operation.right)?)?,
        _ => return None,
    };
    Some(number).filter(|number| number.unsigned_abs() < LITERAL_MAX)
}

/// What an operator makes of two integers, where CPython is certain to do it beforehand.
fn between(operator: Operator, left: i64, right: i64) -> Option<i64> {
    let bits = u32::try_from(right).ok().filter(|bits| *bits < LITERAL_MAX.trailing_zeros());
    match operator {
        Operator::Add => left.checked_add(right),
        Operator::Sub => left.checked_sub(right),
        Operator::Mult => left.checked_mul(right),
        Operator::FloorDiv if right > 0 => Some(left.div_euclid(right)),
        Operator::Mod if right > 0 => Some(left.rem_euclid(right)),
        Operator::Pow => left.checked_pow(bits?),
        Operator::LShift => left.checked_mul(1_i64 << bits?),
        Operator::RShift => Some(left >> bits?),
        Operator::BitAnd => Some(left & right),
        Operator::BitOr => Some(left | right),
        Operator::BitXor => Some(left ^ right),
        _ => None,
    }
}

impl Emitter<'_> {
    pub(super) fn string(&mut self, text: &str) -> Emitted<i64> {
        match text.as_bytes() {
            _ if !text.is_ascii() => outside("text that is not ASCII"),
            [character] => Ok(pointer(self.interface.characters + CHARACTER_BYTES * u32::from(*character))),
            _ => Ok(pointer(self.pool.string(text))),
        }
    }

    pub(super) fn constant_tuple(&mut self, items: &[i64]) -> i64 {
        pointer(self.pool.tuple(items))
    }

    pub(super) fn float(&mut self, value: f64) -> Value {
        Value::constant(pointer(self.pool.float(value)), Kind::Float)
    }

    /// The value of a constant expression.
    pub(super) fn constant(&mut self, expression: &Expr) -> Emitted<Option<Value>> {
        Ok(Some(match expression {
            Expr::NumberLiteral(literal) => return self.number(&literal.value, 1).map(Some),
            Expr::UnaryOp(negated) if negated.op == UnaryOp::USub => match &*negated.operand {
                Expr::NumberLiteral(literal) => return self.number(&literal.value, -1).map(Some),
                _ => return Ok(folded(expression).map(integer)),
            },
            Expr::BinOp(_) => return Ok(folded(expression).map(integer)),
            Expr::BooleanLiteral(literal) => Value::constant(if literal.value { TRUE } else { FALSE }, Kind::Bool),
            Expr::NoneLiteral(_) => Value::constant(NONE, Kind::None),
            Expr::StringLiteral(literal) => Value::constant(self.string(literal.value.to_str())?, Kind::Str),
            Expr::Tuple(tuple) if !tuple.elts.is_empty() => return self.constants(&tuple.elts),
            _ => return Ok(None),
        }))
    }

    /// The tuple of elements that are all constants.
    pub(super) fn constants(&mut self, elements: &[Expr]) -> Emitted<Option<Value>> {
        let mut items = Vec::with_capacity(elements.len());
        for element in elements {
            match self.constant(element)?.map(|value| value.place) {
                Some(super::code::Place::Constant(item)) => items.push(item),
                _ => return Ok(None),
            }
        }
        Ok(Some(Value::constant(self.constant_tuple(&items), Kind::Tuple)))
    }

    fn number(&mut self, number: &Number, sign: i64) -> Emitted<Value> {
        match number {
            Number::Int(int) => match int.as_i64().filter(|value| value.unsigned_abs() < LITERAL_MAX) {
                Some(value) => Ok(Value::constant(sign * value * 2, Kind::Int)),
                None => outside("an integer beyond 62 bits"),
            },
            Number::Float(float) => Ok(self.float(*float * sign as f64)),
            Number::Complex { .. } => outside("a complex number"),
        }
    }

    /// Whether a constant equals others exactly when their bits are the same: None, or a string of one character.
    pub(super) fn is_told_by_bits(&self, value: Value) -> bool {
        match (value.place, value.kind) {
            (_, Kind::None) => true,
            (super::code::Place::Constant(constant), Kind::Str) => {
                let first = pointer(self.interface.characters);
                (first..first + 128 * i64::from(CHARACTER_BYTES)).contains(&constant)
            }
            _ => false,
        }
    }
}
