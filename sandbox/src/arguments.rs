//! Converts arguments from JSON with tags to the interpreter's own format, which costs a tenth of the fuel to read.
//!
//! The format is version 2 of Python's `marshal`: a type byte, a length where the type has one, then the content. It has no
//! bytearrays: the guest makes them of pairs of an ellipsis and bytes, where it is told that there are some.

use serde_json::{Map, Number, Value};

/// Bits of a digit of a long integer in `marshal`.
const DIGIT_BITS: u32 = 15;

/// The arguments of a call.
pub(crate) struct Marshalled {
    pub(crate) list: Vec<u8>,
    /// Whether the guest has to look for bytearrays.
    pub(crate) has_bytearrays: bool,
}

/// Converts a JSON array to a marshalled list. The error says what is wrong with the array.
pub(crate) fn marshal(arguments: &str) -> Result<Marshalled, String> {
    let value: Value = serde_json::from_str(arguments).map_err(|error| error.to_string())?;
    if !value.is_array() {
        return Err("no array".into());
    }
    let mut list = Vec::with_capacity(4 * arguments.len());
    write(&value, Sets::Mutable, &mut list)?;
    Ok(Marshalled { list, has_bytearrays: has_bytearrays(&value) })
}

fn has_bytearrays(value: &Value) -> bool {
    match value {
        Value::Array(items) => items.iter().any(has_bytearrays),
        Value::Object(fields) => fields.iter().any(|(key, value)| key == "bytearray" || has_bytearrays(value)),
        _ => false,
    }
}

/// How a set is written: as a key or inside a set it must be a frozenset.
#[derive(Clone, Copy)]
enum Sets {
    Mutable,
    Frozen,
}

fn write(value: &Value, sets: Sets, out: &mut Vec<u8>) -> Result<(), String> {
    match value {
        Value::Null => out.push(b'N'),
        Value::Bool(true) => out.push(b'T'),
        Value::Bool(false) => out.push(b'F'),
        Value::Number(number) => write_number(number, out),
        Value::String(text) => write_bytes(b'u', text.as_bytes(), out),
        Value::Array(items) => write_items(b'[', items, sets, out)?,
        Value::Object(fields) => match fields.iter().next() {
            Some((tag, content)) if fields.len() == 1 && write_tagged(tag, content, sets, out)? => {}
            _ => write_object(fields, sets, out)?,
        },
    }
    Ok(())
}

fn write_items(kind: u8, items: &[Value], sets: Sets, out: &mut Vec<u8>) -> Result<(), String> {
    out.push(kind);
    write_length(items.len(), out);
    items.iter().try_for_each(|item| write(item, sets, out))
}

fn write_object(fields: &Map<String, Value>, sets: Sets, out: &mut Vec<u8>) -> Result<(), String> {
    out.push(b'{');
    for (key, value) in fields {
        write_bytes(b'u', key.as_bytes(), out);
        write(value, sets, out)?;
    }
    out.push(b'0');
    Ok(())
}

/// Writes an object with one field, if that is a tag with its content; returns whether it is.
fn write_tagged(tag: &str, content: &Value, sets: Sets, out: &mut Vec<u8>) -> Result<bool, String> {
    let wrong = || format!("{{{tag:?}: {content}}} is not a value");
    let items = || content.as_array().ok_or_else(wrong);
    let text = || content.as_str().ok_or_else(wrong);
    match tag {
        "()" => write_items(b'(', items()?, sets, out)?,
        "set" if matches!(sets, Sets::Mutable) => write_items(b'<', items()?, Sets::Frozen, out)?,
        "set" | "frozenset" => write_items(b'>', items()?, Sets::Frozen, out)?,
        "{}" => {
            out.push(b'{');
            for pair in items()? {
                let [key, value] = pair.as_array().ok_or_else(wrong)?.as_slice() else { return Err(wrong()) };
                write(key, Sets::Frozen, out)?;
                write(value, sets, out)?;
            }
            out.push(b'0');
        }
        "bytes" => write_bytes(b's', &bytes(text()?).ok_or_else(wrong)?, out),
        "bytearray" if matches!(sets, Sets::Frozen) => return Err(wrong()),
        "bytearray" => {
            out.push(b'(');
            write_length(2, out);
            out.push(b'.');
            write_bytes(b's', &bytes(text()?).ok_or_else(wrong)?, out);
        }
        "int" => write_long(text()?, out).ok_or_else(wrong)?,
        "float" => write_float(b'g', &[text()?.parse().map_err(|_| wrong())?], out),
        "complex" => match items()?.as_slice() {
            [re, im] => write_float(b'y', &[part(re).ok_or_else(wrong)?, part(im).ok_or_else(wrong)?], out),
            _ => return Err(wrong()),
        },
        _ => return Ok(false),
    }
    Ok(true)
}

fn write_number(number: &Number, out: &mut Vec<u8>) {
    match number.as_i64().and_then(|whole| i32::try_from(whole).ok()) {
        Some(small) => {
            out.push(b'i');
            out.extend(small.to_le_bytes());
        }
        None if number.is_f64() => write_float(b'g', &[number.as_f64().unwrap_or(f64::NAN)], out),
        None => write_long(&number.to_string(), out).expect("an integer is written in digits"),
    }
}

/// Writes an integer of any length, given in decimal digits.
fn write_long(text: &str, out: &mut Vec<u8>) -> Option<()> {
    let (sign, decimals) = match text.strip_prefix('-') {
        Some(decimals) => (-1, decimals),
        None => (1, text),
    };
    if decimals.is_empty() || !decimals.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    let mut digits: Vec<u16> = Vec::new();
    for chunk in decimals.as_bytes().chunks(9) {
        let mut carry = chunk.iter().fold(0, |number, byte| number * 10 + u64::from(byte - b'0'));
        for digit in &mut digits {
            carry += u64::from(*digit) * 10u64.pow(chunk.len() as u32);
            *digit = (carry & ((1 << DIGIT_BITS) - 1)) as u16;
            carry >>= DIGIT_BITS;
        }
        while carry > 0 {
            digits.push((carry & ((1 << DIGIT_BITS) - 1)) as u16);
            carry >>= DIGIT_BITS;
        }
    }
    out.push(b'l');
    out.extend((sign * digits.len() as i32).to_le_bytes());
    out.extend(digits.iter().flat_map(|digit| digit.to_le_bytes()));
    Some(())
}

fn write_float(kind: u8, numbers: &[f64], out: &mut Vec<u8>) {
    out.push(kind);
    out.extend(numbers.iter().flat_map(|number| number.to_le_bytes()));
}

fn write_bytes(kind: u8, bytes: &[u8], out: &mut Vec<u8>) {
    out.push(kind);
    write_length(bytes.len(), out);
    out.extend(bytes);
}

fn write_length(length: usize, out: &mut Vec<u8>) {
    out.extend((length as u32).to_le_bytes());
}

fn bytes(hex: &str) -> Option<Vec<u8>> {
    let digits = hex.as_bytes().chunks(2);
    digits
        .map(|pair| u8::from_str_radix(std::str::from_utf8(pair).ok().filter(|pair| pair.len() == 2)?, 16).ok())
        .collect()
}

/// Part of a complex number: a plain number, or a tagged float that JSON cannot represent.
fn part(value: &Value) -> Option<f64> {
    value.as_f64().or_else(|| value.get("float")?.as_str()?.parse().ok())
}
