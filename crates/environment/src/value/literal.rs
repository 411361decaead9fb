//! Python literals, read by a Python parser and never evaluated by Python.

use num_bigint::BigInt;
use ruff_python_ast::{Expr, ExprCall, Number, PythonVersion};
use ruff_python_parser::{Mode, ParseOptions, parse_unchecked};
use ruff_text_size::Ranged;

use super::arithmetic::{self, Allowance, ITEMS_MAX};
use super::number::too_long;
use super::{DEPTH_MAX, DIGITS_MAX, Int, Value, ValueError};
use grpo_base::plural::cut;

/// Characters of an expression that a message shows.
const SHOWN_MAX: usize = 60;

impl Value {
    /// Reads one literal: what `ast.literal_eval` takes, and besides the names, calls and arithmetic that tests are
    /// written with, such as `float('inf')`, `set([1, 2])`, `math.pi`, `10**9 + 7` and `[0] * 5`.
    pub fn from_literal(text: &str) -> Result<Value, ValueError> {
        let text = text.trim();
        let options = ParseOptions::from(Mode::Expression).with_target_version(PythonVersion::PY314);
        // Trees are dropped by recursion, as deep as the text is long: only one that was walked to its end is dropped.
        let parsed = std::mem::ManuallyDrop::new(parse_unchecked(text, options));
        if let Some(error) = parsed.errors().iter().min_by_key(|error| error.location.start()) {
            let column = text[..error.location.start().to_usize()].chars().count() + 1;
            return Err(ValueError::Syntax { column, message: error.error.to_string() });
        }
        let ruff_python_ast::Mod::Expression(module) = parsed.syntax() else { unreachable!("expression mode") };
        let value = Value::from_expression(&module.body, text)?;
        drop(std::mem::ManuallyDrop::into_inner(parsed));
        Ok(value)
    }

    /// Reads one literal that is part of a larger `source`.
    pub fn from_expression(expression: &Expr, source: &str) -> Result<Value, ValueError> {
        Reader { source, allowance: Allowance(ITEMS_MAX) }.value(expression, DEPTH_MAX)
    }
}

struct Reader<'a> {
    source: &'a str,
    allowance: Allowance,
}

impl Reader<'_> {
    fn value(&mut self, expression: &Expr, depth: usize) -> Result<Value, ValueError> {
        let depth = depth.checked_sub(1).ok_or(ValueError::Deep { limit: DEPTH_MAX })?;
        let value = match expression {
            Expr::NoneLiteral(_) => Some(Value::None),
            Expr::BooleanLiteral(literal) => Some(Value::Bool(literal.value)),
            Expr::NumberLiteral(literal) => Some(number(&literal.value)?),
            Expr::StringLiteral(literal) => {
                let (text, written) = (literal.value.to_str(), self.written(expression));
                // The parser writes this sign for an escape such as `\ud800`, half a character.
                let is_half = text.contains('\u{fffd}') && has_half_escape(written);
                (!is_half).then(|| Value::Str(text.to_owned()))
            }
            Expr::BytesLiteral(literal) => Some(Value::Bytes(literal.value.bytes().collect())),
            Expr::List(list) => Some(Value::List(self.values(&list.elts, depth)?)),
            Expr::Tuple(tuple) => Some(Value::Tuple(self.values(&tuple.elts, depth)?)),
            Expr::Set(set) => Some(Value::set(self.values(&set.elts, depth)?)?),
            Expr::Dict(dict) => {
                let mut pairs = Vec::with_capacity(dict.items.len());
                for item in &dict.items {
                    let Some(key) = &item.key else { return Err(self.not_literal(expression)) };
                    pairs.push((self.value(key, depth)?, self.value(&item.value, depth)?));
                }
                Some(Value::dict(pairs)?)
            }
            Expr::UnaryOp(operation) => arithmetic::unary(operation.op, self.value(&operation.operand, depth)?),
            Expr::BinOp(operation) => {
                let (left, right) = (self.value(&operation.left, depth)?, self.value(&operation.right, depth)?);
                arithmetic::binary(operation.op, left, right, &mut self.allowance)?
            }
            Expr::Call(call) => self.call(call, depth)?,
            Expr::Name(_) | Expr::Attribute(_) => named(self.written(expression)),
            _ => None,
        };
        value.ok_or_else(|| self.not_literal(expression))
    }

    fn values(&mut self, expressions: &[Expr], depth: usize) -> Result<Vec<Value>, ValueError> {
        expressions.iter().map(|expression| self.value(expression, depth)).collect()
    }

    /// A call of a built-in type on literals.
    fn call(&mut self, call: &ExprCall, depth: usize) -> Result<Option<Value>, ValueError> {
        let (Expr::Name(name), []) = (call.func.as_ref(), call.arguments.keywords.as_slice()) else { return Ok(None) };
        let arguments = &call.arguments.args;
        let items = match (name.id.as_str(), arguments.as_ref()) {
            ("set" | "frozenset" | "list" | "tuple" | "dict", []) => Vec::new(),
            ("set" | "frozenset" | "list" | "tuple", [Expr::Call(range)]) if self.written(&range.func) == "range" => {
                let bounds = self.values(&range.arguments.args, depth)?;
                match self.range(&bounds)? {
                    Some(items) => items,
                    None => return Ok(None),
                }
            }
            ("set" | "frozenset" | "list" | "tuple", [of]) => match self.value(of, depth)? {
                Value::List(items) | Value::Tuple(items) => items,
                Value::Set(set) if !matches!(name.id.as_str(), "list" | "tuple") => set.items,
                Value::Str(text) => text.chars().map(|one| Value::Str(one.into())).collect(),
                _ => return Ok(None),
            },
            ("float" | "int" | "complex" | "bytes" | "bytearray", _) => {
                let values = self.values(arguments, depth)?;
                return converted(name.id.as_str(), &values);
            }
            _ => return Ok(None),
        };
        Ok(Some(match name.id.as_str() {
            "list" => Value::List(items),
            "tuple" => Value::Tuple(items),
            "dict" => Value::dict(Vec::new())?,
            "frozenset" => Value::frozenset(items)?,
            _ => Value::set(items)?,
        }))
    }

    /// What `range` runs through.
    fn range(&mut self, bounds: &[Value]) -> Result<Option<Vec<Value>>, ValueError> {
        let bounds = bounds.iter().map(|bound| bound.as_i64().map(i128::from));
        let Some(bounds) = bounds.collect::<Option<Vec<i128>>>() else { return Ok(None) };
        let (start, end, step) = match bounds[..] {
            [end] => (0, end, 1),
            [start, end] => (start, end, 1),
            [start, end, step] if step != 0 => (start, end, step),
            _ => return Ok(None),
        };
        let count = ((end - start + step - step.signum()) / step).max(0);
        let count = usize::try_from(count).unwrap_or(usize::MAX);
        self.allowance.take(count)?;
        let items = (0..count as i128).map(|place| Value::Int(Int::from((start + place * step) as i64)));
        Ok(Some(items.collect()))
    }

    fn written(&self, expression: &Expr) -> &str {
        &self.source[expression.range().to_std_range()]
    }

    fn not_literal(&self, expression: &Expr) -> ValueError {
        let written = self.written(expression);
        let expected = match (expression, written) {
            (Expr::Name(_), "true" | "false" | "null") => "Python writes True, False and None",
            (Expr::Name(_), _) => "a string has quotes of its own, as in \"'abc'\"",
            _ => "expected numbers, strings, lists, tuples, dicts and sets",
        };
        ValueError::NotLiteral { found: cut(written, SHOWN_MAX), expected }
    }
}

fn has_half_escape(written: &str) -> bool {
    let written = written.to_ascii_lowercase();
    let mut halves = ["\\ud", "\\u0000d"].into_iter().flat_map(|escape| written.split(escape).skip(1));
    halves.any(|rest| rest.starts_with(['8', '9', 'a', 'b', 'c', 'd', 'e', 'f']))
}

fn number(number: &Number) -> Result<Value, ValueError> {
    Ok(match number {
        Number::Float(float) => Value::Float(*float),
        Number::Complex { real, imag } => Value::Complex { re: *real, im: *imag },
        Number::Int(int) => Value::Int(match int.as_i64() {
            Some(small) => Int::from(small),
            None => large(&int.to_string())?,
        }),
    })
}

/// An int beyond 64 bits; one with a base keeps it in its text.
fn large(text: &str) -> Result<Int, ValueError> {
    let digits = text.replace('_', "");
    let radix = match digits.get(..2).map(str::to_ascii_lowercase).as_deref() {
        Some("0x") => 16,
        Some("0o") => 8,
        Some("0b") => 2,
        _ => return Int::from_decimal(&digits),
    };
    // Four bits a digit, at most.
    let number = if digits.len() > DIGITS_MAX * 4 { None } else { BigInt::parse_bytes(&digits.as_bytes()[2..], radix) };
    number.map_or_else(|| Err(too_long()), Int::from_big)
}

fn named(name: &str) -> Option<Value> {
    Some(Value::Float(match name {
        "inf" | "math.inf" => f64::INFINITY,
        "nan" | "math.nan" => f64::NAN,
        "math.pi" => std::f64::consts::PI,
        "math.e" => std::f64::consts::E,
        _ => return None,
    }))
}

/// What a built-in type makes of values.
fn converted(kind: &str, values: &[Value]) -> Result<Option<Value>, ValueError> {
    let float = |value: &Value| match value {
        Value::Str(text) => text.trim().parse::<f64>().ok(),
        value => arithmetic::real(value),
    };
    Ok(match (kind, values) {
        ("float", [value]) => float(value).map(Value::Float),
        ("int", [Value::Int(int)]) => Some(Value::Int(int.clone())),
        ("int", [Value::Str(text)]) => Some(Value::Int(Int::from_decimal(text.trim())?)),
        ("complex", [re, im]) => float(re).zip(float(im)).map(|(re, im)| Value::Complex { re, im }),
        ("bytes" | "bytearray", values) => {
            let bytes = match values {
                [] => Some(Vec::new()),
                [Value::Bytes(bytes) | Value::ByteArray(bytes)] => Some(bytes.clone()),
                [Value::List(items)] => items.iter().map(|item| u8::try_from(item.as_i64()?).ok()).collect(),
                _ => None,
            };
            bytes.map(if kind == "bytes" { Value::Bytes } else { Value::ByteArray })
        }
        _ => None,
    })
}
