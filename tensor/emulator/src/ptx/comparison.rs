//! Comparisons, by the names of their opcodes.

use half::{bf16, f16};

use super::arithmetic::{by_kind, lanes, unordered};
use super::instruction::{Comparison, LANES, Type};
use super::numbers::{Floating, Number, Whole};

/// The comparison of a name, for a kind of number.
pub fn comparison(name: &str, kind: Type) -> Option<Comparison> {
    match name {
        "eq" if kind == Type::Predicate => Some(lanes!(truth, |a, b| a == b)),
        "ne" if kind == Type::Predicate => Some(lanes!(truth, |a, b| a != b)),
        "eq" => by_kind!(kind, truth whole equal, floating same),
        "ne" => by_kind!(kind, truth whole unequal, floating apart),
        "lt" => by_kind!(kind, truth whole less, floating below),
        "le" => by_kind!(kind, truth whole less_or_equal, floating not_above),
        "gt" => by_kind!(kind, truth whole more, floating above),
        "ge" => by_kind!(kind, truth whole more_or_equal, floating not_below),
        // Without order: they hold where one is not a number.
        "equ" => by_kind!(kind, truth floating same_or_nan),
        "neu" => by_kind!(kind, truth floating not_same),
        "ltu" => by_kind!(kind, truth floating below_or_nan),
        "leu" => by_kind!(kind, truth floating not_above_or_nan),
        "gtu" => by_kind!(kind, truth floating above_or_nan),
        "geu" => by_kind!(kind, truth floating not_below_or_nan),
        "num" => by_kind!(kind, truth floating both_numbers),
        "nan" => by_kind!(kind, truth floating any_nan),
        _ => None,
    }
}

/// What `set` writes where a comparison holds.
pub fn truth(kind: Type) -> Option<u64> {
    Some(match kind {
        Type::F32 => f32::bits(1.0),
        Type::F16 => f16::ONE.bits(),
        Type::Bf16 => bf16::ONE.bits(),
        Type::Unsigned(32) | Type::Signed(32) => 0xffff_ffff,
        _ => return None,
    })
}

macro_rules! comparisons {
    ($of:ident, $($name:ident: |$a:ident, $b:ident| $holds:expr;)*) => {$(
        fn $name<T: $of>(a: u64, b: u64) -> bool {
            let ($a, $b) = (T::of(a), T::of(b));
            $holds
        }
    )*};
}

comparisons! { Whole,
    equal: |a, b| a == b;
    unequal: |a, b| a != b;
    less: |a, b| a < b;
    less_or_equal: |a, b| a <= b;
    more: |a, b| a > b;
    more_or_equal: |a, b| a >= b;
}

comparisons! { Floating,
    same: |a, b| a.wide() == b.wide();
    apart: |a, b| a.wide() < b.wide() || a.wide() > b.wide();
    below: |a, b| a.wide() < b.wide();
    not_above: |a, b| a.wide() <= b.wide();
    above: |a, b| a.wide() > b.wide();
    not_below: |a, b| a.wide() >= b.wide();
    same_or_nan: |a, b| a.wide() == b.wide() || unordered(a, b);
    not_same: |a, b| a.wide() != b.wide();
    below_or_nan: |a, b| a.wide() < b.wide() || unordered(a, b);
    not_above_or_nan: |a, b| a.wide() <= b.wide() || unordered(a, b);
    above_or_nan: |a, b| a.wide() > b.wide() || unordered(a, b);
    not_below_or_nan: |a, b| a.wide() >= b.wide() || unordered(a, b);
    both_numbers: |a, b| !unordered(a, b);
    any_nan: |a, b| unordered(a, b);
}
