//! Values as Python writes them, for messages and prompts.

use std::fmt::{self, Display, Formatter, Write};

use super::Value;

impl Display for Value {
    /// As Python's `repr` has it, but for infinities and what is no number within it.
    fn fmt(&self, formatter: &mut Formatter<'_>) -> fmt::Result {
        Written { value: self, place: Place::Anywhere, is_expression: false }.fmt(formatter)
    }
}

impl Value {
    /// Python that evaluates to the value: where `repr` says `inf`, this is `float('inf')`.
    pub fn expression(&self) -> String {
        Written { value: self, place: Place::Anywhere, is_expression: true }.to_string()
    }
}

/// Where a value stands.
#[derive(Clone, Copy, PartialEq)]
enum Place {
    Anywhere,
    /// In a set or a key, where a set must be a frozenset: Python could not read it back otherwise.
    Hashed,
}

/// A value as it is written.
#[derive(Clone, Copy)]
struct Written<'a> {
    value: &'a Value,
    place: Place,
    is_expression: bool,
}

impl Display for Written<'_> {
    fn fmt(&self, formatter: &mut Formatter<'_>) -> fmt::Result {
        match self.value {
            Value::None => formatter.write_str("None"),
            Value::Bool(truth) => formatter.write_str(if *truth { "True" } else { "False" }),
            Value::Int(int) => int.fmt(formatter),
            Value::Float(float) if self.is_expression && !float.is_finite() => write_call(formatter, *float),
            Value::Float(float) => formatter.write_str(&float_repr(*float)),
            Value::Complex { re, im } if self.is_expression && !(re.is_finite() && im.is_finite()) => {
                let [re, im] = [*re, *im].map(|part| Value::Float(part).expression());
                write!(formatter, "complex({re}, {im})")
            }
            Value::Complex { re, im } => formatter.write_str(&complex_repr(*re, *im)),
            Value::Str(text) => write_str(formatter, text),
            Value::Bytes(bytes) => write_bytes(formatter, bytes),
            Value::ByteArray(bytes) => {
                formatter.write_str("bytearray(")?;
                write_bytes(formatter, bytes)?;
                formatter.write_char(')')
            }
            Value::List(items) => self.write_items(formatter, "[", items, "]"),
            Value::Tuple(items) => self.write_items(formatter, "(", items, if items.len() == 1 { ",)" } else { ")" }),
            Value::Set(set) => match (set.is_frozen || self.place == Place::Hashed, set.items.is_empty()) {
                (false, true) => formatter.write_str("set()"),
                (true, true) => formatter.write_str("frozenset()"),
                (false, false) => self.hashed().write_items(formatter, "{", &set.items, "}"),
                (true, false) => self.hashed().write_items(formatter, "frozenset({", &set.items, "})"),
            },
            Value::Dict(dict) => {
                formatter.write_char('{')?;
                for (place, (key, value)) in dict.0.iter().enumerate() {
                    let (key, value) = (Written { value: key, ..self.hashed() }, Written { value, ..*self });
                    write!(formatter, "{}{key}: {value}", if place == 0 { "" } else { ", " })?;
                }
                formatter.write_char('}')
            }
        }
    }
}

impl Written<'_> {
    fn hashed(self) -> Self {
        Written { place: Place::Hashed, ..self }
    }

    fn write_items(self, formatter: &mut Formatter<'_>, open: &str, items: &[Value], close: &str) -> fmt::Result {
        formatter.write_str(open)?;
        for (place, value) in items.iter().enumerate() {
            write!(formatter, "{}{}", if place == 0 { "" } else { ", " }, Written { value, ..self })?;
        }
        formatter.write_str(close)
    }
}

/// A float that Python has no digits for.
fn write_call(formatter: &mut Formatter<'_>, float: f64) -> fmt::Result {
    write!(formatter, "float('{}')", float_repr(float))
}

/// The shortest digits that are this float, with a point or an exponent.
pub(super) fn float_repr(float: f64) -> String {
    let text = shortest(float);
    if float.is_finite() && !text.contains(['.', 'e']) { text + ".0" } else { text }
}

fn complex_repr(re: f64, im: f64) -> String {
    if re == 0.0 && re.is_sign_positive() {
        return format!("{}j", shortest(im));
    }
    let sign = if im.is_sign_positive() || im.is_nan() { "+" } else { "" };
    format!("({}{sign}{}j)", shortest(re), shortest(im))
}

/// An exponent from 1e16 on and below 1e-4, with two digits at least.
fn shortest(float: f64) -> String {
    if float.is_nan() {
        return "nan".into();
    }
    if float == 0.0 || float.is_infinite() || (1e-4..1e16).contains(&float.abs()) {
        return float.to_string();
    }
    let text = format!("{float:e}");
    let (digits, exponent) = text.split_once('e').unwrap_or((&text, "0"));
    let (sign, exponent) = exponent.strip_prefix('-').map_or(("+", exponent), |exponent| ("-", exponent));
    format!("{digits}e{sign}{exponent:0>2}")
}

fn write_str(formatter: &mut Formatter<'_>, text: &str) -> fmt::Result {
    let quote = if text.contains('\'') && !text.contains('"') { '"' } else { '\'' };
    formatter.write_char(quote)?;
    for one in text.chars() {
        match one {
            '\\' => formatter.write_str("\\\\")?,
            '\n' => formatter.write_str("\\n")?,
            '\r' => formatter.write_str("\\r")?,
            '\t' => formatter.write_str("\\t")?,
            _ if one == quote => write!(formatter, "\\{one}")?,
            _ if is_printable(one) => formatter.write_char(one)?,
            _ if (one as u32) < 0x100 => write!(formatter, "\\x{:02x}", one as u32)?,
            _ if (one as u32) < 0x10000 => write!(formatter, "\\u{:04x}", one as u32)?,
            _ => write!(formatter, "\\U{:08x}", one as u32)?,
        }
    }
    formatter.write_char(quote)
}

/// Whether `str.isprintable` says so. Rust's escapes leave the same categories of characters alone, but for marks that
/// combine with the character before them, which they leave alone anywhere but at the start.
fn is_printable(one: char) -> bool {
    if one.is_ascii() {
        return !one.is_ascii_control();
    }
    let mut text = [b'x'; 5];
    let length = one.encode_utf8(&mut text[1..]).len();
    let text = std::str::from_utf8(&text[..=length]).expect("one character after another");
    text.escape_debug().eq(text.chars())
}

fn write_bytes(formatter: &mut Formatter<'_>, bytes: &[u8]) -> fmt::Result {
    let quote = if bytes.contains(&b'\'') && !bytes.contains(&b'"') { '"' } else { '\'' };
    write!(formatter, "b{quote}")?;
    for &byte in bytes {
        match byte {
            b'\\' => formatter.write_str("\\\\")?,
            b'\n' => formatter.write_str("\\n")?,
            b'\r' => formatter.write_str("\\r")?,
            b'\t' => formatter.write_str("\\t")?,
            _ if char::from(byte) == quote => write!(formatter, "\\{quote}")?,
            b' '..=b'~' => formatter.write_char(char::from(byte))?,
            _ => write!(formatter, "\\x{byte:02x}")?,
        }
    }
    formatter.write_char(quote)
}
