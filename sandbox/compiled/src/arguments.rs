//! Converts arguments from JSON with tags to objects of the runtime, which are laid out on the host and copied to the
//! place where the values of a call begin.

use crate::Stop;
use crate::emit::Kind;
use crate::layout::{BUFFER, CHARACTER_BYTES, FALSE, FLOAT, INTEGER_MAX, LIST, NONE, STRING, TRUE, TUPLE, pointer};
use crate::runtime::Interface;

/// How deep arguments may nest.
const DEPTH_MAX: usize = 40;

/// The objects of a call's arguments.
pub(crate) struct Written {
    /// The list of the arguments.
    pub(crate) value: i64,
    /// The kind of each argument.
    pub(crate) kinds: Vec<Kind>,
    /// The bytes of the objects.
    pub(crate) image: Vec<u8>,
}

/// Converts a JSON array.
pub(crate) fn write(text: &str, interface: &Interface) -> Result<Written, Stop> {
    let mut writer = Writer { text: text.as_bytes(), at: 0, image: Vec::with_capacity(1024), interface };
    let mut kinds = Vec::new();
    let written = writer.start(b'[').and_then(|()| {
        let items = writer.items(b']', DEPTH_MAX, &mut kinds)?;
        writer.end().map(|()| writer.list(&items))
    });
    let value = written.ok_or(Stop::GivenUp { reason: "an argument that is not modelled" })?;
    Ok(Written { value, kinds, image: writer.image })
}

/// Reads the text once, from left to right. `None` means that the text is not JSON, or holds a value that the tier
/// does not support.
struct Writer<'a> {
    text: &'a [u8],
    at: usize,
    image: Vec<u8>,
    interface: &'a Interface,
}

impl Writer<'_> {
    fn peek(&mut self) -> Option<u8> {
        while let Some(b' ' | b'\n' | b'\r' | b'\t') = self.text.get(self.at) {
            self.at += 1;
        }
        self.text.get(self.at).copied()
    }

    fn start(&mut self, byte: u8) -> Option<()> {
        (self.peek()? == byte).then(|| self.at += 1)
    }

    fn end(&mut self) -> Option<()> {
        self.peek().is_none().then_some(())
    }

    fn word(&mut self, word: &str) -> Option<()> {
        self.text[self.at..].starts_with(word.as_bytes()).then(|| self.at += word.len())
    }

    /// Values between commas, up to a closing bracket.
    fn items(&mut self, close: u8, depth: usize, kinds: &mut Vec<Kind>) -> Option<Vec<i64>> {
        let mut items = Vec::new();
        if self.start(close).is_some() {
            return Some(items);
        }
        loop {
            let (value, kind) = self.value(depth)?;
            items.push(value);
            kinds.push(kind);
            if self.start(close).is_some() {
                return Some(items);
            }
            self.start(b',')?;
        }
    }

    fn value(&mut self, depth: usize) -> Option<(i64, Kind)> {
        match self.peek()? {
            b'n' => self.word("null").map(|()| (NONE, Kind::None)),
            b't' => self.word("true").map(|()| (TRUE, Kind::Bool)),
            b'f' => self.word("false").map(|()| (FALSE, Kind::Bool)),
            b'"' => {
                let text = self.string()?;
                Some((self.text_object(&text), Kind::Str))
            }
            b'[' => {
                self.at += 1;
                let items = self.items(b']', depth.checked_sub(1)?, &mut Vec::new())?;
                Some((self.list(&items), Kind::List))
            }
            b'{' => {
                self.at += 1;
                self.tuple(depth.checked_sub(1)?)
            }
            _ => self.number(),
        }
    }

    /// Reads `{"()": [..]}`; other objects and tags are not supported.
    fn tuple(&mut self, depth: usize) -> Option<(i64, Kind)> {
        self.peek()?;
        self.word("\"()\"")?;
        self.start(b':')?;
        self.start(b'[')?;
        let items = self.items(b']', depth, &mut Vec::new())?;
        self.start(b'}')?;
        // The empty tuple is a single object of the runtime.
        (!items.is_empty()).then(|| (self.tuple_object(&items), Kind::Tuple))
    }

    fn number(&mut self) -> Option<(i64, Kind)> {
        let start = self.at;
        while let Some(b'-' | b'+' | b'.' | b'e' | b'E' | b'0'..=b'9') = self.text.get(self.at) {
            self.at += 1;
        }
        let text = std::str::from_utf8(&self.text[start..self.at]).ok()?;
        if text.bytes().any(|byte| matches!(byte, b'.' | b'e' | b'E')) {
            let float = text.parse::<f64>().ok().filter(|float| float.is_finite())?;
            return Some((self.float(float), Kind::Float));
        }
        let whole = text.parse::<i64>().ok().filter(|whole| whole.unsigned_abs() <= INTEGER_MAX as u64)?;
        Some((whole << 1, Kind::Int))
    }

    /// Reads a string of ASCII characters.
    fn string(&mut self) -> Option<Vec<u8>> {
        self.at += 1;
        let mut text = Vec::new();
        loop {
            let byte = *self.text.get(self.at)?;
            self.at += 1;
            match byte {
                b'"' => return Some(text),
                b'\\' => text.push(self.escape()?),
                0x20..0x80 => text.push(byte),
                _ => return None,
            }
        }
    }

    fn escape(&mut self) -> Option<u8> {
        let byte = *self.text.get(self.at)?;
        self.at += 1;
        match byte {
            b'"' | b'\\' | b'/' => Some(byte),
            b'n' => Some(b'\n'),
            b'r' => Some(b'\r'),
            b't' => Some(b'\t'),
            b'b' => Some(8),
            b'f' => Some(12),
            b'u' => {
                let digits = std::str::from_utf8(self.text.get(self.at..self.at + 4)?).ok()?;
                self.at += 4;
                u8::from_str_radix(digits, 16).ok().filter(u8::is_ascii)
            }
            _ => None,
        }
    }

    /// Reserves so many bytes for an object, and returns its address.
    fn object(&mut self, words: [u32; 4], bytes: usize) -> u32 {
        let address = self.interface.nursery + self.image.len() as u32;
        for word in words {
            self.image.extend(word.to_le_bytes());
        }
        self.image.reserve(bytes);
        address
    }

    fn extend(&mut self, items: &[i64]) {
        self.image.extend(items.iter().flat_map(|item| item.to_le_bytes()));
    }

    fn list(&mut self, items: &[i64]) -> i64 {
        let length = items.len() as u32;
        let after = self.interface.nursery + self.image.len() as u32 + 24;
        let address = self.object([LIST, length, after, length], 8 + 8 * items.len());
        self.image.extend(BUFFER.to_le_bytes());
        self.image.extend((8 * length).to_le_bytes());
        self.extend(items);
        pointer(address)
    }

    fn tuple_object(&mut self, items: &[i64]) -> i64 {
        let after = self.interface.nursery + self.image.len() as u32 + 16;
        let address = self.object([TUPLE, items.len() as u32, after, 0], 8 * items.len());
        self.extend(items);
        pointer(address)
    }

    fn float(&mut self, float: f64) -> i64 {
        let bits = float.to_bits();
        pointer(self.object([FLOAT, 0, bits as u32, (bits >> 32) as u32], 0))
    }

    fn text_object(&mut self, text: &[u8]) -> i64 {
        if let [character] = text {
            return pointer(self.interface.characters + CHARACTER_BYTES * u32::from(*character));
        }
        let after = self.interface.nursery + self.image.len() as u32 + 16;
        let address = self.object([STRING, text.len() as u32, after, 0], text.len() + 8);
        self.image.extend(text);
        self.image.resize(self.image.len().next_multiple_of(8), 0);
        pointer(address)
    }
}
