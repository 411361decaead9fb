//! Conversions between kinds of numbers.

use half::{bf16, f16};

use super::arithmetic::directed;
use super::instruction::{Conversion, Rounding, Type};
use super::numbers::{Floating, Number, Whole};

/// A number, whatever kind it was.
#[derive(Clone, Copy)]
enum Value {
    Whole(i128),
    Floating(f64),
}

impl Conversion {
    /// The bits of the number that `bits` becomes.
    pub fn convert(&self, bits: u64) -> u64 {
        let value = match read(self.from, bits) {
            Value::Floating(value) if self.whole || self.makes_whole() => Value::Floating(self.rounded(value)),
            Value::Floating(value) if self.saturate && value.is_nan() => Value::Floating(0.0),
            Value::Floating(value) if self.saturate => Value::Floating(value.clamp(0.0, 1.0)),
            value => value,
        };
        match (value, self.to) {
            (Value::Whole(value), to) if self.makes_whole() => to_whole(value, to),
            (Value::Floating(value), to) if self.makes_whole() => {
                to_whole(if value.is_nan() { 0 } else { value as i128 }, to)
            }
            (Value::Whole(value), Type::F32) => self.f32_from_whole(value).bits(),
            (Value::Whole(value), Type::F64) => (value as f64).bits(),
            (Value::Whole(value), Type::F16) => f16::of_wide(value as f64).bits(),
            (Value::Whole(value), _) => bf16::of_wide(value as f64).bits(),
            (Value::Floating(value), Type::F32) => directed(value, self.rounding).bits(),
            (Value::Floating(value), Type::F64) => value.bits(),
            (Value::Floating(value), Type::F16) => f16::of_wide(value).bits(),
            (Value::Floating(value), _) => bf16::of_wide(value).bits(),
        }
    }

    fn makes_whole(&self) -> bool {
        matches!(self.to, Type::Unsigned(_) | Type::Signed(_))
    }

    fn rounded(&self, value: f64) -> f64 {
        match self.rounding {
            Rounding::Nearest => value.round_ties_even(),
            Rounding::Zero => value.trunc(),
            Rounding::Up => value.ceil(),
            Rounding::Down => value.floor(),
        }
    }

    /// f64 holds every whole number of 32 bits; larger ones are rounded by what it leaves out.
    fn f32_from_whole(&self, value: i128) -> f32 {
        match self.rounding {
            Rounding::Nearest => value as f32,
            rounding => directed(value as f64, rounding),
        }
    }
}

fn read(kind: Type, bits: u64) -> Value {
    match kind {
        Type::Predicate | Type::F16x2 | Type::Bf16x2 => Value::Whole(i128::from(bits)),
        Type::Unsigned(8) => Value::Whole(u8::of(bits).wide()),
        Type::Unsigned(16) => Value::Whole(u16::of(bits).wide()),
        Type::Unsigned(32) => Value::Whole(u32::of(bits).wide()),
        Type::Unsigned(_) => Value::Whole(bits.wide()),
        Type::Signed(8) => Value::Whole(i8::of(bits).wide()),
        Type::Signed(16) => Value::Whole(i16::of(bits).wide()),
        Type::Signed(32) => Value::Whole(i32::of(bits).wide()),
        Type::Signed(_) => Value::Whole(i64::of(bits).wide()),
        Type::F16 => Value::Floating(f16::of(bits).wide()),
        Type::Bf16 => Value::Floating(bf16::of(bits).wide()),
        Type::F32 => Value::Floating(f32::of(bits).wide()),
        Type::F64 => Value::Floating(f64::of(bits)),
    }
}

/// The nearest number that the kind holds: conversions stop at its ends.
fn to_whole(value: i128, kind: Type) -> u64 {
    let (bits, signed) = match kind {
        Type::Signed(bits) => (u32::from(bits), true),
        Type::Unsigned(bits) => (u32::from(bits), false),
        _ => (64, false),
    };
    let (least, most) = match signed {
        true => (-(1_i128 << (bits - 1)), (1_i128 << (bits - 1)) - 1),
        false => (0, (1_i128 << bits) - 1),
    };
    let mask = if bits == 64 { u64::MAX } else { (1 << bits) - 1 };
    value.clamp(least, most) as u64 & mask
}
