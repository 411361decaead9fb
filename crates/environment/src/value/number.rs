//! Whole numbers of any size, and their exact comparison with floats.

use std::cmp::Ordering;
use std::fmt;

use num_bigint::BigInt;
use num_traits::{FromPrimitive, ToPrimitive};

use super::ValueError;

/// Decimal digits of the longest int that is written as a literal: more, CPython neither reads nor writes. An answer may
/// have more.
pub const DIGITS_MAX: usize = 4300;
/// Bits that no int of so many digits needs, and hardly more.
pub(super) const BITS_MAX: u64 = 14_285;

/// A whole number.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Int(Size);

#[derive(Debug, Clone, PartialEq, Eq)]
enum Size {
    Small(i64),
    /// Beyond 64 bits, always.
    Large(Box<BigInt>),
    /// More than `BITS_MAX` bits, in decimal digits that do not begin with a zero. A million of them take seconds to
    /// convert and no time to compare.
    Long(Box<str>),
}

impl Int {
    pub(super) const ZERO: Int = Int(Size::Small(0));
    pub(super) const ONE: Int = Int(Size::Small(1));

    /// Reads decimal digits, with a sign or without.
    pub fn from_decimal(text: &str) -> Result<Int, ValueError> {
        if let Ok(small) = text.parse() {
            return Ok(Int(Size::Small(small)));
        }
        if text.len() > DIGITS_MAX + 1 {
            return Err(too_long());
        }
        let large = BigInt::parse_bytes(text.as_bytes(), 10);
        large.map_or_else(
            || Err(ValueError::Syntax { column: 1, message: format!("`{text}` is no whole number") }),
            Int::from_big,
        )
    }

    /// The int of these decimal digits, however many, with a minus or without: an answer is compared, and not calculated
    /// with.
    pub(super) fn from_answer(text: &str) -> Int {
        let (sign, digits) = text.strip_prefix('-').map_or(("", text), |digits| ("-", digits));
        let digits = digits.trim_start_matches('0');
        let short = if digits.len() <= DIGITS_MAX + 1 { BigInt::parse_bytes(text.as_bytes(), 10) } else { None };
        let short = short.and_then(|number| Int::from_big(number).ok());
        short.unwrap_or_else(|| Int(Size::Long(format!("{sign}{digits}").into())))
    }

    /// The number itself, where it is not too long to be written.
    pub(super) fn from_big(number: BigInt) -> Result<Int, ValueError> {
        match number.to_i64() {
            Some(small) => Ok(Int(Size::Small(small))),
            None if number.bits() > BITS_MAX => Err(too_long()),
            None => Ok(Int(Size::Large(Box::new(number)))),
        }
    }

    pub(super) fn to_big(&self) -> BigInt {
        match &self.0 {
            Size::Small(small) => BigInt::from(*small),
            Size::Large(large) => large.as_ref().clone(),
            Size::Long(digits) => digits.parse().expect("an int in decimal digits"),
        }
    }

    /// How this compares with every number of up to `BITS_MAX` bits, where it has more; otherwise equal.
    fn beyond_bits_max(&self) -> Ordering {
        match &self.0 {
            Size::Long(digits) if digits.starts_with('-') => Ordering::Less,
            Size::Long(_) => Ordering::Greater,
            Size::Small(_) | Size::Large(_) => Ordering::Equal,
        }
    }

    /// The number, where 64 bits hold it.
    pub fn as_i64(&self) -> Option<i64> {
        match self.0 {
            Size::Small(small) => Some(small),
            Size::Large(_) | Size::Long(_) => None,
        }
    }

    /// The nearest float; infinite beyond all of them.
    pub fn to_f64(&self) -> f64 {
        match &self.0 {
            Size::Small(small) => *small as f64,
            Size::Large(large) => large.to_f64().unwrap_or(f64::INFINITY),
            Size::Long(digits) if digits.starts_with('-') => f64::NEG_INFINITY,
            Size::Long(_) => f64::INFINITY,
        }
    }

    /// Exactly, as Python compares: no digit of the int is lost. `None` for nan.
    pub(super) fn order_to_float(&self, float: f64) -> Option<Ordering> {
        if float.is_nan() || float.is_infinite() {
            return 0.0_f64.partial_cmp(&float);
        }
        if self.beyond_bits_max().is_ne() {
            return Some(self.beyond_bits_max());
        }
        let whole = BigInt::from_f64(float.trunc())?;
        // Equal up to the point: what comes after it decides.
        Some(self.to_big().cmp(&whole).then_with(|| 0.0_f64.total_cmp(&(float.fract() + 0.0))))
    }
}

pub(super) fn too_long() -> ValueError {
    ValueError::Large { what: "an int of too many digits", limit: DIGITS_MAX }
}

impl From<i64> for Int {
    fn from(small: i64) -> Int {
        Int(Size::Small(small))
    }
}

impl Ord for Int {
    fn cmp(&self, other: &Int) -> Ordering {
        let side = self.beyond_bits_max();
        side.cmp(&other.beyond_bits_max()).then_with(|| match (&self.0, &other.0) {
            (Size::Small(a), Size::Small(b)) => a.cmp(b),
            (Size::Long(a), Size::Long(b)) if side.is_lt() => (b.len(), b).cmp(&(a.len(), a)),
            (Size::Long(a), Size::Long(b)) => (a.len(), a).cmp(&(b.len(), b)),
            _ => self.to_big().cmp(&other.to_big()),
        })
    }
}

impl PartialOrd for Int {
    fn partial_cmp(&self, other: &Int) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl fmt::Display for Int {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            Size::Small(small) => small.fmt(formatter),
            Size::Large(large) => large.fmt(formatter),
            Size::Long(digits) => formatter.write_str(digits),
        }
    }
}
