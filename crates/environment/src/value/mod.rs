//! A Python value on the host: what goes to a program as an argument, comes back as its answer, and is compared.
//!
//! Takes literals, as tests are written, and JSON with tags, as values cross the sandbox's boundary; compares as
//! Python does. What a program sends is hostile: sizes and depth are bounded, nothing of it is ever evaluated.

mod arithmetic;
mod equality;
mod error;
mod json;
mod literal;
mod number;
mod repr;
#[cfg(test)]
mod tests;

pub use equality::Equality;
pub use error::{ANSWER_DEPTH_MAX, DEPTH_MAX, ValueError};
pub use number::{DIGITS_MAX, Int};

/// A value of one of Python's built-in types.
///
/// `==` is Python's: `1 == 1.0 == True`, sets and dicts have no order, a list is no tuple, and nan equals nothing.
#[derive(Debug, Clone)]
pub enum Value {
    None,
    Bool(bool),
    /// Of any size as an answer, of up to `DIGITS_MAX` digits as a literal.
    Int(Int),
    /// Of double precision, as Python's.
    Float(f64),
    Complex {
        re: f64,
        im: f64,
    },
    /// Text without lone surrogates.
    Str(String),
    Bytes(Vec<u8>),
    /// `bytearray`, which equals the `bytes` of the same content.
    ByteArray(Vec<u8>),
    List(Vec<Value>),
    Tuple(Vec<Value>),
    /// `set` and `frozenset`, which are equal where their values are.
    Set(Set),
    /// In the order of insertion, which does not count.
    Dict(Dict),
}

/// Distinct hashable values, in an order that equal sets share.
#[derive(Debug, Clone)]
pub struct Set {
    items: Vec<Value>,
    is_frozen: bool,
}

/// Pairs with distinct hashable keys.
#[derive(Debug, Clone)]
pub struct Dict(Vec<(Value, Value)>);

impl Value {
    /// The set of these values. Of equal ones the first stays.
    pub fn set(mut items: Vec<Value>) -> Result<Value, ValueError> {
        items.iter().try_for_each(hashable)?;
        items.sort_by(Value::order);
        items.dedup_by(|later, first| later == first);
        Ok(Value::Set(Set { items, is_frozen: false }))
    }

    /// The frozenset of these values.
    pub fn frozenset(items: Vec<Value>) -> Result<Value, ValueError> {
        let Value::Set(set) = Value::set(items)? else { unreachable!("made as a set") };
        Ok(Value::Set(Set { is_frozen: true, ..set }))
    }

    /// The dict of these pairs. Of equal keys the first stays, with the last value.
    pub fn dict(pairs: Vec<(Value, Value)>) -> Result<Value, ValueError> {
        pairs.iter().try_for_each(|(key, _)| hashable(key))?;
        let mut by_key: Vec<usize> = (0..pairs.len()).collect();
        by_key.sort_by(|&a, &b| pairs[a].0.order(&pairs[b].0));
        if by_key.windows(2).all(|pair| pairs[pair[0]].0 != pairs[pair[1]].0) {
            return Ok(Value::Dict(Dict(pairs)));
        }
        let mut pairs: Vec<Option<(Value, Value)>> = pairs.into_iter().map(Some).collect();
        let mut first = 0;
        for place in by_key {
            // Sorting is stable: of equal keys the first comes first.
            let later = pairs[place].take();
            match (&mut pairs[first], later) {
                (Some((key, value)), Some((same, last))) if *key == same => *value = last,
                (_, later) => (pairs[place], first) = (later, place),
            }
        }
        Ok(Value::Dict(Dict(pairs.into_iter().flatten().collect())))
    }

    /// An int or a float, as a float.
    pub(crate) fn real(&self) -> Option<f64> {
        match self {
            Value::Int(int) => Some(int.to_f64()),
            Value::Float(float) => Some(*float),
            _ => None,
        }
    }

    /// An int of 64 bits.
    pub(crate) fn as_i64(&self) -> Option<i64> {
        match self {
            Value::Int(int) => int.as_i64(),
            _ => None,
        }
    }

    /// Lists, tuples, sets and dicts within one another, at most.
    pub fn depth(&self) -> usize {
        let deepest = |depths: &mut dyn Iterator<Item = usize>| 1 + depths.max().unwrap_or(0);
        match self {
            Value::List(items) | Value::Tuple(items) | Value::Set(Set { items, .. }) => {
                deepest(&mut items.iter().map(Value::depth))
            }
            Value::Dict(Dict(pairs)) => deepest(&mut pairs.iter().map(|(key, value)| key.depth().max(value.depth()))),
            _ => 0,
        }
    }

    /// Python's name of the type.
    pub fn kind(&self) -> &'static str {
        match self {
            Value::None => "NoneType",
            Value::Bool(_) => "bool",
            Value::Int(_) => "int",
            Value::Float(_) => "float",
            Value::Complex { .. } => "complex",
            Value::Str(_) => "str",
            Value::Bytes(_) => "bytes",
            Value::ByteArray(_) => "bytearray",
            Value::List(_) => "list",
            Value::Tuple(_) => "tuple",
            Value::Set(Set { is_frozen: true, .. }) => "frozenset",
            Value::Set(_) => "set",
            Value::Dict(_) => "dict",
        }
    }
}

impl Set {
    pub fn items(&self) -> &[Value] {
        &self.items
    }
}

impl Dict {
    pub fn pairs(&self) -> &[(Value, Value)] {
        &self.0
    }

    /// The value of a key that is text.
    pub fn get(&self, name: &str) -> Option<&Value> {
        self.0.iter().find(|(key, _)| matches!(key, Value::Str(text) if text == name)).map(|(_, value)| value)
    }
}

fn hashable(value: &Value) -> Result<(), ValueError> {
    match value {
        Value::List(_) | Value::Dict(_) | Value::ByteArray(_) => Err(ValueError::Unhashable { kind: value.kind() }),
        Value::Tuple(items) => items.iter().try_for_each(hashable),
        _ => Ok(()),
    }
}
