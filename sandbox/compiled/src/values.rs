//! Values on their way out: objects in linear memory become the JSON that the interpreter's guest would write.
//!
//! Memory is the program's: every address is checked, and what does not look like a value is left to the interpreter.

use crate::layout::{DICT, FALSE, FLOAT, LIST, NONE, POINTER, STRING, TRUE, TUPLE, UNBOUND};

/// Longest text of a value, and how deep it may nest; beyond them the interpreter tells what is wrong.
const TEXT_MAX: usize = 1 << 20;
const DEPTH_MAX: usize = 40;

/// What an object of one field is a tag for.
const TAGS: [&[u8]; 9] = [b"()", b"set", b"frozenset", b"bytes", b"bytearray", b"complex", b"int", b"float", b"{}"];

/// Deleted entries of a small dict.
const DELETED_MAX: u64 = 16;

const TOO_LONG: &str = "a value of more text than may cross";
const NOT_MODELLED: &str = "a value that does not cross";

/// The text of a value, or why there is none.
pub(crate) fn read(memory: &[u8], value: i64) -> Result<String, &'static str> {
    let mut reader = Reader { memory, out: Vec::with_capacity(32) };
    reader.value(value, DEPTH_MAX)?;
    if reader.out.len() > TEXT_MAX {
        return Err(TOO_LONG);
    }
    String::from_utf8(reader.out).map_err(|_| NOT_MODELLED)
}

struct Reader<'a> {
    memory: &'a [u8],
    out: Vec<u8>,
}

impl<'a> Reader<'a> {
    fn word(&self, at: u64) -> Result<u32, &'static str> {
        let bytes = self.bytes(at, 4)?;
        Ok(u32::from_le_bytes(bytes.try_into().map_err(|_| NOT_MODELLED)?))
    }

    fn long(&self, at: u64) -> Result<i64, &'static str> {
        let bytes = self.bytes(at, 8)?;
        Ok(i64::from_le_bytes(bytes.try_into().map_err(|_| NOT_MODELLED)?))
    }

    fn bytes(&self, at: u64, length: usize) -> Result<&'a [u8], &'static str> {
        usize::try_from(at).ok().and_then(|at| self.memory.get(at..)?.get(..length)).ok_or(NOT_MODELLED)
    }

    fn value(&mut self, value: i64, depth: usize) -> Result<(), &'static str> {
        if self.out.len() > TEXT_MAX {
            return Err(TOO_LONG);
        }
        match value {
            NONE => self.out.extend(b"null"),
            FALSE => self.out.extend(b"false"),
            TRUE => self.out.extend(b"true"),
            integer if integer & 1 == 0 => self.out.extend((integer >> 1).to_string().as_bytes()),
            pointer if pointer & 7 == 1 => return self.object(u64::from(pointer as u32) + POINTER, depth),
            _ => return Err(NOT_MODELLED),
        }
        Ok(())
    }

    fn object(&mut self, at: u64, depth: usize) -> Result<(), &'static str> {
        match self.word(at)? {
            LIST => self.items(at, depth),
            TUPLE => {
                self.out.extend(b"{\"()\":");
                self.items(at, depth)?;
                self.out.push(b'}');
                Ok(())
            }
            STRING => {
                let text = self.text(at)?;
                self.quote(text)
            }
            FLOAT => self.float(f64::from_bits(self.long(at + 8)? as u64)),
            DICT => self.dict(at, depth),
            _ => Err(NOT_MODELLED),
        }
    }

    fn items(&mut self, at: u64, depth: usize) -> Result<(), &'static str> {
        let depth = depth.checked_sub(1).ok_or("a value that nests deeper than may cross")?;
        let (length, items) = (self.word(at + 4)?, self.word(at + 8)?);
        self.out.push(b'[');
        for index in 0..u64::from(length) {
            if index > 0 {
                self.out.push(b',');
            }
            self.value(self.long(u64::from(items) + 8 * index)?, depth)?;
        }
        self.out.push(b']');
        Ok(())
    }

    fn text(&self, at: u64) -> Result<&'a [u8], &'static str> {
        let (length, bytes) = (self.word(at + 4)?, self.word(at + 8)?);
        self.bytes(u64::from(bytes), length as usize)
    }

    fn quote(&mut self, text: &[u8]) -> Result<(), &'static str> {
        if text.len() > TEXT_MAX {
            return Err(TOO_LONG);
        }
        self.out.push(b'"');
        for &byte in text {
            match byte {
                b'"' => self.out.extend(b"\\\""),
                b'\\' => self.out.extend(b"\\\\"),
                b'\n' => self.out.extend(b"\\n"),
                b'\r' => self.out.extend(b"\\r"),
                b'\t' => self.out.extend(b"\\t"),
                8 => self.out.extend(b"\\b"),
                12 => self.out.extend(b"\\f"),
                0..0x20 => self.out.extend(format!("\\u{byte:04x}").as_bytes()),
                0x80.. => return Err(NOT_MODELLED),
                _ => self.out.push(byte),
            }
        }
        self.out.push(b'"');
        Ok(())
    }

    fn float(&mut self, float: f64) -> Result<(), &'static str> {
        match float {
            _ if float.is_nan() => return Err(NOT_MODELLED),
            f64::INFINITY => self.out.extend(b"{\"float\":\"inf\"}"),
            f64::NEG_INFINITY => self.out.extend(b"{\"float\":\"-inf\"}"),
            _ => self.out.extend(shortest(float).as_bytes()),
        }
        Ok(())
    }

    fn dict(&mut self, at: u64, depth: usize) -> Result<(), &'static str> {
        let depth = depth.checked_sub(1).ok_or("a value that nests deeper than may cross")?;
        let (length, entries, used) = (self.word(at + 4)?, self.word(at + 8)?, self.word(at + 12)?);
        // A dict that is mostly deleted, many times over, would be scanned for nothing.
        if u64::from(used) > 4 * (u64::from(length) + DELETED_MAX) {
            return Err(NOT_MODELLED);
        }
        let mut pairs = Vec::new();
        for index in 0..u64::from(used) {
            let at = u64::from(entries) + 24 * index;
            let (key, value) = (self.long(at)?, self.long(at + 8)?);
            if key != UNBOUND {
                pairs.push((key, value));
            }
        }
        if pairs.len() != length as usize {
            return Err(NOT_MODELLED);
        }
        let names: Option<Vec<&[u8]>> = pairs.iter().map(|(key, _)| self.name(*key)).collect();
        match names {
            Some(names) if !matches!(names[..], [only] if TAGS.contains(&only)) => self.fields(&names, &pairs, depth),
            _ => self.pairs(&pairs, depth),
        }
    }

    /// The text of a key, if it is one.
    fn name(&self, key: i64) -> Option<&'a [u8]> {
        let at = u64::from(key as u32) + POINTER;
        let is_text = key & 7 == 1 && self.word(at) == Ok(STRING);
        is_text.then(|| self.text(at).ok())?
    }

    fn fields(&mut self, names: &[&[u8]], pairs: &[(i64, i64)], depth: usize) -> Result<(), &'static str> {
        self.out.push(b'{');
        for (index, (name, (_, value))) in names.iter().zip(pairs).enumerate() {
            if index > 0 {
                self.out.push(b',');
            }
            self.quote(name)?;
            self.out.push(b':');
            self.value(*value, depth)?;
        }
        self.out.push(b'}');
        Ok(())
    }

    fn pairs(&mut self, pairs: &[(i64, i64)], depth: usize) -> Result<(), &'static str> {
        self.out.extend(b"{\"{}\":[");
        for (index, (key, value)) in pairs.iter().enumerate() {
            self.out.extend(if index > 0 { &b",["[..] } else { &b"["[..] });
            self.value(*key, depth)?;
            self.out.push(b',');
            self.value(*value, depth)?;
            self.out.push(b']');
        }
        self.out.extend(b"]}");
        Ok(())
    }
}

/// A finite float as `repr` writes it: the fewest digits that read back as the same number.
pub(crate) fn shortest(float: f64) -> String {
    let mut text = format!("{float:e}");
    // Where two texts of as few digits are equally near, CPython takes the even one.
    let digits = text.bytes().take_while(|byte| *byte != b'e').filter(u8::is_ascii_digit).count();
    let even = format!("{float:.*e}", digits.saturating_sub(1));
    if even.parse() == Ok(float) {
        text = even;
    }
    let (mantissa, exponent) = text.split_once('e').unwrap_or((&text, "0"));
    let exponent: i32 = exponent.parse().unwrap_or(0);
    let (sign, mantissa) = mantissa.strip_prefix('-').map_or(("", mantissa), |rest| ("-", rest));
    let digits = mantissa.replace('.', "");
    let written = match exponent {
        0..16 if digits.len() <= exponent as usize + 1 => {
            format!("{digits}{}.0", "0".repeat(exponent as usize + 1 - digits.len()))
        }
        0..16 => format!("{}.{}", &digits[..exponent as usize + 1], &digits[exponent as usize + 1..]),
        -4..0 => format!("0.{}{digits}", "0".repeat(-exponent as usize - 1)),
        _ => {
            let point = if digits.len() > 1 { "." } else { "" };
            let (first, rest) = digits.split_at(1);
            let exponent_sign = if exponent < 0 { '-' } else { '+' };
            format!("{first}{point}{rest}e{exponent_sign}{:02}", exponent.abs())
        }
    };
    format!("{sign}{written}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn floats_are_written_as_cpython_writes_them() {
        // From CPython 3.11's repr.
        for (float, text) in [
            (0.0, "0.0"),
            (-0.0, "-0.0"),
            (1.0, "1.0"),
            (1e15, "1000000000000000.0"),
            (1e16, "1e+16"),
            (1.5e16, "1.5e+16"),
            (123456789012345680.0, "1.2345678901234568e+17"),
            (0.0001, "0.0001"),
            (0.00001, "1e-05"),
            (1.5e-7, "1.5e-07"),
            (-2.5, "-2.5"),
            (0.1 + 0.2, "0.30000000000000004"),
            (5.684341886080802e-14, "5.684341886080802e-14"),
            (5e-324, "5e-324"),
            (29_802.322_387_695_312, "29802.322387695312"),
            (f64::MAX, "1.7976931348623157e+308"),
            (9007199254740993.0, "9007199254740992.0"),
        ] {
            assert_eq!(shortest(float), text);
        }
    }
}
