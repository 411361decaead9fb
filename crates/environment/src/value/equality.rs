//! When two values are equal, as Python has it, and an order that equal values share.

use std::cmp::Ordering;

use super::{Int, Value};

/// How an answer is compared with what is expected.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Equality {
    /// Distance at which a float still equals the expected `b`, in units of max(1, |b|). Two ints are compared exactly.
    pub tolerance: f64,
    /// Whether `(1, 2)` passes for `[1, 2]`: for tests that were kept as JSON, which has no tuples.
    pub tuples_are_lists: bool,
}

impl Equality {
    /// Python's `==`.
    pub const PYTHON: Equality = Equality { tolerance: 0.0, tuples_are_lists: false };
}

impl PartialEq for Value {
    fn eq(&self, other: &Value) -> bool {
        self.equals(other, &Equality::PYTHON)
    }
}

/// A number as what it is measured by.
#[derive(Clone, Copy)]
enum Real<'a> {
    Int(&'a Int),
    Float(f64),
}

/// Any number, its parts as in Python's `complex`.
#[derive(Clone, Copy)]
struct Number<'a> {
    re: Real<'a>,
    im: f64,
}

const FALSE: &Int = &Int::ZERO;
const TRUE: &Int = &Int::ONE;

impl Value {
    /// Whether this answer is the expected one. Elements of sets and dicts are paired in the order of their keys.
    pub fn equals(&self, expected: &Value, equality: &Equality) -> bool {
        let all = |a: &[Value], b: &[Value]| a.len() == b.len() && a.iter().zip(b).all(|(a, b)| a.equals(b, equality));
        match (self, expected) {
            (Value::None, Value::None) => true,
            (Value::Str(a), Value::Str(b)) => a == b,
            (Value::Bytes(a) | Value::ByteArray(a), Value::Bytes(b) | Value::ByteArray(b)) => a == b,
            (Value::List(a), Value::List(b)) | (Value::Tuple(a), Value::Tuple(b)) => all(a, b),
            (Value::List(a), Value::Tuple(b)) | (Value::Tuple(a), Value::List(b)) => {
                equality.tuples_are_lists && all(a, b)
            }
            (Value::Set(a), Value::Set(b)) => all(&a.items, &b.items),
            (Value::Dict(a), Value::Dict(b)) => {
                let same = |(a, b): (&Pair, &Pair)| a.0.equals(&b.0, equality) && a.1.equals(&b.1, equality);
                a.0.len() == b.0.len() && by_key(&a.0).into_iter().zip(by_key(&b.0)).all(same)
            }
            _ => match (self.number(), expected.number()) {
                (Some(a), Some(b)) => numbers_equal(a, b, equality.tolerance),
                _ => false,
            },
        }
    }

    /// A total order in which equal values are equal, and nan comes after the numbers.
    pub(super) fn order(&self, other: &Value) -> Ordering {
        match (self, other) {
            (Value::Str(a), Value::Str(b)) => a.cmp(b),
            (Value::Bytes(a) | Value::ByteArray(a), Value::Bytes(b) | Value::ByteArray(b)) => a.cmp(b),
            (Value::List(a), Value::List(b)) | (Value::Tuple(a), Value::Tuple(b)) => order_all(a, b),
            (Value::Set(a), Value::Set(b)) => order_all(&a.items, &b.items),
            (Value::Dict(a), Value::Dict(b)) => {
                let pairs = by_key(&a.0).into_iter().zip(by_key(&b.0));
                let mut orders = pairs.map(|(a, b)| a.0.order(&b.0).then_with(|| a.1.order(&b.1)));
                orders.find(|order| order.is_ne()).unwrap_or_else(|| a.0.len().cmp(&b.0.len()))
            }
            _ => match (self.number(), other.number()) {
                (Some(a), Some(b)) => {
                    order_real(a.re, b.re).then_with(|| order_real(Real::Float(a.im), Real::Float(b.im)))
                }
                _ => self.rank().cmp(&other.rank()),
            },
        }
    }

    fn rank(&self) -> u8 {
        match self {
            Value::None => 0,
            Value::Bool(_) | Value::Int(_) | Value::Float(_) | Value::Complex { .. } => 1,
            Value::Str(_) => 2,
            Value::Bytes(_) | Value::ByteArray(_) => 3,
            Value::Tuple(_) => 4,
            Value::Set(_) => 5,
            Value::List(_) => 6,
            Value::Dict(_) => 7,
        }
    }

    fn number(&self) -> Option<Number<'_>> {
        let (re, im) = match self {
            Value::Bool(truth) => (Real::Int(if *truth { TRUE } else { FALSE }), 0.0),
            Value::Int(int) => (Real::Int(int), 0.0),
            Value::Float(float) => (Real::Float(*float), 0.0),
            Value::Complex { re, im } => (Real::Float(*re), *im),
            _ => return None,
        };
        Some(Number { re, im })
    }
}

type Pair = (Value, Value);

fn by_key(pairs: &[Pair]) -> Vec<&Pair> {
    let mut pairs: Vec<_> = pairs.iter().collect();
    pairs.sort_by(|a, b| a.0.order(&b.0));
    pairs
}

fn order_all(a: &[Value], b: &[Value]) -> Ordering {
    let mut orders = a.iter().zip(b).map(|(a, b)| a.order(b));
    orders.find(|order| order.is_ne()).unwrap_or_else(|| a.len().cmp(&b.len()))
}

fn order_real(a: Real, b: Real) -> Ordering {
    let known = match (a, b) {
        (Real::Int(a), Real::Int(b)) => Some(a.cmp(b)),
        (Real::Int(a), Real::Float(b)) => a.order_to_float(b),
        (Real::Float(a), Real::Int(b)) => b.order_to_float(a).map(Ordering::reverse),
        (Real::Float(a), Real::Float(b)) => a.partial_cmp(&b),
    };
    known.unwrap_or_else(|| is_nan(a).cmp(&is_nan(b)))
}

fn is_nan(number: Real) -> bool {
    matches!(number, Real::Float(float) if float.is_nan())
}

fn numbers_equal(a: Number<'_>, b: Number<'_>, tolerance: f64) -> bool {
    let nan = [a.re, b.re, Real::Float(a.im), Real::Float(b.im)].into_iter().any(is_nan);
    if nan || (order_real(a.re, b.re).is_eq() && a.im == b.im) {
        return !nan;
    }
    if tolerance == 0.0 || matches!((a.re, b.re), (Real::Int(_), Real::Int(_))) {
        return false;
    }
    let float = |real| match real {
        Real::Int(int) => int.to_f64(),
        Real::Float(float) => float,
    };
    let distance = (float(a.re) - float(b.re)).hypot(a.im - b.im);
    let size = float(b.re).hypot(b.im);
    distance.is_finite() && size.is_finite() && distance <= tolerance * size.max(1.0)
}
