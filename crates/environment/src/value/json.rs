//! Values as JSON: with tags for what JSON lacks, as they cross the sandbox's boundary, or as other programs write it.
//!
//! | value | written as |
//! |---|---|
//! | None, bool, str, list, int of 64 bits, finite float | what JSON has; a float always with a point or an exponent |
//! | tuple, set, frozenset | `{"()": [..]}`, `{"set": [..]}`, `{"frozenset": [..]}` |
//! | bytes, bytearray, complex | `{"bytes": "hex"}`, `{"bytearray": "hex"}`, `{"complex": [re, im]}` |
//! | other ints and floats | `{"int": "123.."}`, `{"float": "nan"}`, `"inf"`, `"-inf"` |
//! | dict | an object, or `{"{}": [[key, value], ..]}` where a key is no str or the only one looks like a tag |

use std::collections::BTreeSet;
use std::fmt::Write;

use super::repr::float_repr;
use super::{DEPTH_MAX, Dict, Int, Value, ValueError};

const TAGS: [&str; 9] = ["()", "set", "frozenset", "bytes", "bytearray", "complex", "int", "float", "{}"];

/// Brackets in brackets, at most: a dict with tags takes three levels for one of its own.
const LEVELS_MAX: usize = 3 * DEPTH_MAX;

/// What objects are.
#[derive(Clone, Copy, PartialEq)]
enum Objects {
    /// With one key, a tag and its content; otherwise dicts, in which no key is there twice.
    Tagged,
    /// Dicts, in which the last value of a key counts.
    Plain,
    /// Dicts, in which no key is there twice.
    Distinct,
}

impl Value {
    /// Reads JSON with tags. Nothing is believed: a text that no value writes is an error.
    pub fn from_json(text: &str) -> Result<Value, ValueError> {
        Reader { text, at: 0, objects: Objects::Tagged }.whole()
    }

    /// Reads JSON as it is, tags or not; as Python's own reader it knows `NaN` and `Infinity`, which `1e999` is, and keeps ints
    /// exact.
    pub fn from_plain_json(text: &str) -> Result<Value, ValueError> {
        Reader { text, at: 0, objects: Objects::Plain }.whole()
    }

    /// Reads JSON as it is, as a person writes it: an object with a key twice is an error.
    pub fn from_distinct_json(text: &str) -> Result<Value, ValueError> {
        Reader { text, at: 0, objects: Objects::Distinct }.whole()
    }

    /// Writes JSON with tags.
    pub fn to_json(&self) -> String {
        let mut text = String::new();
        self.write_json(&mut text);
        text
    }

    fn write_json(&self, text: &mut String) {
        match self {
            Value::None => text.push_str("null"),
            Value::Bool(truth) => text.push_str(if *truth { "true" } else { "false" }),
            Value::Int(int) if int.as_i64().is_some() => _ = write!(text, "{int}"),
            Value::Int(int) => _ = write!(text, "{{\"int\": \"{int}\"}}"),
            Value::Float(float) => write_float(*float, text),
            Value::Complex { re, im } => {
                text.push_str("{\"complex\": [");
                write_float(*re, text);
                text.push_str(", ");
                write_float(*im, text);
                text.push_str("]}");
            }
            Value::Str(words) => write_str(words, text),
            Value::Bytes(bytes) | Value::ByteArray(bytes) => {
                _ = write!(text, "{{\"{}\": \"", self.kind());
                bytes.iter().for_each(|byte| _ = write!(text, "{byte:02x}"));
                text.push_str("\"}");
            }
            Value::List(items) => write_list(items, text),
            Value::Tuple(items) => {
                text.push_str("{\"()\": ");
                write_list(items, text);
                text.push('}');
            }
            Value::Set(set) => {
                _ = write!(text, "{{\"{}\": ", self.kind());
                write_list(&set.items, text);
                text.push('}');
            }
            Value::Dict(dict) => write_dict(&dict.0, text),
        }
    }
}

fn write_float(float: f64, text: &mut String) {
    let written = float_repr(float);
    _ = if float.is_finite() { write!(text, "{written}") } else { write!(text, "{{\"float\": \"{written}\"}}") };
}

fn write_str(words: &str, text: &mut String) {
    text.push_str(&serde_json::to_string(words).expect("text is JSON"));
}

fn write_list(items: &[Value], text: &mut String) {
    text.push('[');
    for (place, item) in items.iter().enumerate() {
        text.push_str(if place == 0 { "" } else { ", " });
        item.write_json(text);
    }
    text.push(']');
}

fn write_dict(pairs: &[(Value, Value)], text: &mut String) {
    let is_text = |(key, _): &(Value, Value)| matches!(key, Value::Str(_));
    let is_tag = matches!(pairs, [(Value::Str(key), _)] if TAGS.contains(&key.as_str()));
    let is_object = pairs.iter().all(is_text) && !is_tag;
    let [open, between, close] = if is_object { ["{", ": ", "}"] } else { ["{\"{}\": [[", ", ", "]]}"] };
    let next = if is_object { ", " } else { "], [" };
    if pairs.is_empty() {
        return text.push_str("{}");
    }
    text.push_str(open);
    for (place, (key, value)) in pairs.iter().enumerate() {
        text.push_str(if place == 0 { "" } else { next });
        key.write_json(text);
        text.push_str(between);
        value.write_json(text);
    }
    text.push_str(close);
}

struct Reader<'a> {
    text: &'a str,
    at: usize,
    objects: Objects,
}

impl Reader<'_> {
    fn whole(mut self) -> Result<Value, ValueError> {
        let value = self.value(LEVELS_MAX)?;
        if self.peek().is_some() { Err(self.error("the end")) } else { Ok(value) }
    }

    fn value(&mut self, depth: usize) -> Result<Value, ValueError> {
        let depth = depth.checked_sub(1).ok_or(ValueError::Deep { limit: LEVELS_MAX })?;
        match self.peek() {
            Some(b'"') => Ok(Value::Str(self.string()?)),
            Some(b'[') => {
                let mut items = Vec::new();
                self.each(b']', |reader| {
                    items.push(reader.value(depth)?);
                    Ok(())
                })?;
                Ok(Value::List(items))
            }
            Some(b'{') => self.object(depth),
            _ => self.word(),
        }
    }

    fn object(&mut self, depth: usize) -> Result<Value, ValueError> {
        let start = self.at;
        let (mut pairs, mut keys) = (Vec::new(), BTreeSet::new());
        self.each(b'}', |reader| {
            if reader.peek() != Some(b'"') {
                return Err(reader.error("a key in double quotes"));
            }
            let key = reader.string()?;
            // Only who wrote it by hand is told which.
            if reader.objects == Objects::Distinct && !keys.insert(key.clone()) {
                return Err(reader.error_at(start, format!("found an object with a key twice, {key:?}")));
            }
            reader.take(b':', "`:`")?;
            pairs.push((Value::Str(key), reader.value(depth)?));
            Ok(())
        })?;
        match (&pairs[..], self.objects) {
            ([(Value::Str(tag), _)], Objects::Tagged) if TAGS.contains(&tag.as_str()) => {
                let tag = tag.clone();
                let (_, content) = pairs.swap_remove(0);
                let message = format!("found a tag \"{tag}\" with the wrong content");
                tagged(&tag, content)?.ok_or_else(|| self.error_at(start, message))
            }
            _ => {
                let count = pairs.len();
                let dict = Value::dict(pairs)?;
                match &dict {
                    Value::Dict(Dict(kept)) if kept.len() < count && self.objects != Objects::Plain => {
                        Err(self.error_at(start, "found an object with a key twice".into()))
                    }
                    _ => Ok(dict),
                }
            }
        }
    }

    /// What lies between a bracket and `close`, with commas.
    fn each(
        &mut self,
        close: u8,
        mut element: impl FnMut(&mut Self) -> Result<(), ValueError>,
    ) -> Result<(), ValueError> {
        self.at += 1;
        if self.peek() == Some(close) {
            self.at += 1;
            return Ok(());
        }
        loop {
            element(self)?;
            match self.peek() {
                Some(b',') => self.at += 1,
                Some(found) if found == close => {
                    self.at += 1;
                    return Ok(());
                }
                _ => return Err(self.error(&format!("`,` or `{}`", char::from(close)))),
            }
        }
    }

    /// A number, or one of the words that JSON or Python's JSON has.
    fn word(&mut self) -> Result<Value, ValueError> {
        let (start, rest) = (self.at, &self.text[self.at..]);
        let length = rest.find(|c: char| !c.is_ascii_alphanumeric() && !"+-.".contains(c)).unwrap_or(rest.len());
        let word = &rest[..length];
        self.at += length;
        let value = match word {
            "null" => Value::None,
            "true" => Value::Bool(true),
            "false" => Value::Bool(false),
            "NaN" => Value::Float(f64::NAN),
            "Infinity" => Value::Float(f64::INFINITY),
            "-Infinity" => Value::Float(f64::NEG_INFINITY),
            _ => match number(word)? {
                Some(Value::Float(float)) if float.is_infinite() && self.objects != Objects::Plain => {
                    return Err(self.error_at(start, "found a number beyond floats; expected a value in range".into()));
                }
                Some(value) => value,
                None => {
                    self.at = start;
                    return Err(self.error("a value"));
                }
            },
        };
        Ok(value)
    }

    fn string(&mut self) -> Result<String, ValueError> {
        self.at += 1;
        let mut words = String::new();
        loop {
            let rest = &self.text[self.at..];
            let plain = rest.find(|c: char| c == '"' || c == '\\' || c.is_ascii_control() && c != '\u{7f}');
            let plain = plain.unwrap_or(rest.len());
            words.push_str(&rest[..plain]);
            self.at += plain;
            match self.text.as_bytes().get(self.at) {
                Some(b'"') => {
                    self.at += 1;
                    return Ok(words);
                }
                Some(b'\\') => words.push(self.escape()?),
                _ => return Err(self.error("the end of a string, or an escape")),
            }
        }
    }

    fn escape(&mut self) -> Result<char, ValueError> {
        let start = self.at;
        self.at += 2;
        Ok(match self.text.as_bytes().get(start + 1) {
            Some(&sign @ (b'"' | b'\\' | b'/')) => char::from(sign),
            Some(b'b') => '\u{8}',
            Some(b'f') => '\u{c}',
            Some(b'n') => '\n',
            Some(b'r') => '\r',
            Some(b't') => '\t',
            Some(b'u') => {
                let mut units = vec![self.hex(start)?];
                if (0xd800..0xdc00).contains(&units[0]) && self.text[self.at..].starts_with("\\u") {
                    self.at += 2;
                    units.push(self.hex(start)?);
                }
                let mut decoded = char::decode_utf16(units);
                match (decoded.next(), decoded.next()) {
                    (Some(Ok(one)), None) => one,
                    _ => return Err(ValueError::HalfPair { column: self.column(start) }),
                }
            }
            _ => return Err(self.error_at(start, "found an escape that JSON does not have".into())),
        })
    }

    /// Four digits of the escape that begins at `start`.
    fn hex(&mut self, start: usize) -> Result<u16, ValueError> {
        let digits = self.text.get(self.at..self.at + 4).filter(|digits| digits.bytes().all(|d| d.is_ascii_hexdigit()));
        self.at += 4;
        digits
            .and_then(|digits| u16::from_str_radix(digits, 16).ok())
            .ok_or_else(|| self.error_at(start, "expected four hexadecimal digits after `\\u`".into()))
    }

    /// The next byte that is no space.
    fn peek(&mut self) -> Option<u8> {
        let rest = &self.text.as_bytes()[self.at..];
        self.at += rest.iter().take_while(|byte| b" \t\r\n".contains(byte)).count();
        self.text.as_bytes().get(self.at).copied()
    }

    fn take(&mut self, sign: u8, expected: &str) -> Result<(), ValueError> {
        if self.peek() != Some(sign) {
            return Err(self.error(expected));
        }
        self.at += 1;
        Ok(())
    }

    fn error(&self, expected: &str) -> ValueError {
        let found = match self.text[self.at..].chars().next() {
            Some(sign) => format!("`{}`", sign.escape_debug()),
            None => "the end".to_owned(),
        };
        self.error_at(self.at, format!("found {found}; expected {expected}"))
    }

    fn error_at(&self, at: usize, message: String) -> ValueError {
        ValueError::Syntax { column: self.column(at), message }
    }

    /// The character that begins at this byte, from 1.
    fn column(&self, at: usize) -> usize {
        self.text[..at].chars().count() + 1
    }
}

/// `None` where this is no number as JSON writes them. One beyond all floats is infinite.
fn number(word: &str) -> Result<Option<Value>, ValueError> {
    let unsigned = word.strip_prefix('-').unwrap_or(word);
    let (mantissa, exponent) = match unsigned.split_once(['e', 'E']) {
        Some((mantissa, exponent)) => (mantissa, Some(exponent.strip_prefix(['+', '-']).unwrap_or(exponent))),
        None => (unsigned, None),
    };
    let (whole, fraction) = match mantissa.split_once('.') {
        Some((whole, fraction)) => (whole, Some(fraction)),
        None => (mantissa, None),
    };
    let starts_well = whole == "0" || is_digits(whole) && !whole.starts_with('0');
    if !starts_well || !fraction.is_none_or(is_digits) || !exponent.is_none_or(is_digits) {
        return Ok(None);
    }
    if fraction.is_none() && exponent.is_none() {
        return Int::from_decimal(word).map(|int| Some(Value::Int(int)));
    }
    Ok(word.parse::<f64>().ok().map(Value::Float))
}

/// The value that a tag makes of its content; `None` where the content is not what the tag stands for.
fn tagged(tag: &str, content: Value) -> Result<Option<Value>, ValueError> {
    Ok(match (tag, content) {
        ("()", Value::List(items)) => Some(Value::Tuple(items)),
        ("set", Value::List(items)) => Some(Value::set(items)?),
        ("frozenset", Value::List(items)) => Some(Value::frozenset(items)?),
        ("bytes", Value::Str(digits)) => bytes(&digits).map(Value::Bytes),
        ("bytearray", Value::Str(digits)) => bytes(&digits).map(Value::ByteArray),
        ("int", Value::Str(digits)) => {
            is_digits(digits.strip_prefix('-').unwrap_or(&digits)).then(|| Value::Int(Int::from_answer(&digits)))
        }
        ("float", Value::Str(name)) => match name.as_str() {
            "nan" => Some(Value::Float(f64::NAN)),
            "inf" => Some(Value::Float(f64::INFINITY)),
            "-inf" => Some(Value::Float(f64::NEG_INFINITY)),
            _ => None,
        },
        ("complex", Value::List(parts)) => match parts[..] {
            [Value::Float(re), Value::Float(im)] => Some(Value::Complex { re, im }),
            _ => None,
        },
        ("{}", Value::List(items)) => match items.into_iter().map(pair).collect() {
            Some(pairs) => Some(Value::dict(pairs)?),
            None => None,
        },
        _ => None,
    })
}

fn is_digits(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit())
}

fn pair(item: Value) -> Option<(Value, Value)> {
    let Value::List(items) = item else { return None };
    let [key, value] = <[Value; 2]>::try_from(items).ok()?;
    Some((key, value))
}

fn bytes(digits: &str) -> Option<Vec<u8>> {
    if !digits.bytes().all(|digit| digit.is_ascii_hexdigit()) {
        return None;
    }
    let places = (0..digits.len()).step_by(2);
    places.map(|at| u8::from_str_radix(digits.get(at..at + 2)?, 16).ok()).collect()
}
