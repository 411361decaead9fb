//! Operations on numbers, by the names of their opcodes.
//!
//! Results are those of a GPU bit for bit for whole numbers and for what IEEE 754 settles. Approximations (`ex2.approx`
//! and its like) are as near as the host's, which is nearer than a GPU's.

use half::{bf16, f16};

use super::instruction::{Binary, Rounding, Ternary, Type, Unary};
use super::names;
use super::numbers::{Floating, Number, Whole};

/// A function of single numbers, on all lanes.
macro_rules! lanes {
    (1, $function:expr) => {
        (|a| std::array::from_fn(|lane| $function(a[lane]))) as Unary
    };
    (2, $function:expr) => {
        (|a, b| std::array::from_fn(|lane| $function(a[lane], b[lane]))) as Binary
    };
    (3, $function:expr) => {
        (|a, b, c| std::array::from_fn(|lane| $function(a[lane], b[lane], c[lane]))) as Ternary
    };
    (truth, $function:expr) => {
        (|a, b| (0..LANES).fold(0, |mask, lane| mask | u32::from($function(a[lane], b[lane])) << lane)) as Comparison
    };
}
pub(super) use lanes;

/// The function for a kind of number, on all lanes.
macro_rules! by_kind {
    ($kind:expr, $count:tt whole $whole:ident, floating $floating:ident) => {
        by_kind!($kind, $count whole $whole).or(by_kind!($kind, $count floating $floating))
    };
    ($kind:expr, $count:tt whole $function:ident) => {
        match $kind {
            Type::Unsigned(8) => Some(lanes!($count, $function::<u8>)),
            Type::Unsigned(16) => Some(lanes!($count, $function::<u16>)),
            Type::Unsigned(32) => Some(lanes!($count, $function::<u32>)),
            Type::Unsigned(64) => Some(lanes!($count, $function::<u64>)),
            Type::Signed(8) => Some(lanes!($count, $function::<i8>)),
            Type::Signed(16) => Some(lanes!($count, $function::<i16>)),
            Type::Signed(32) => Some(lanes!($count, $function::<i32>)),
            Type::Signed(64) => Some(lanes!($count, $function::<i64>)),
            _ => None,
        }
    };
    ($kind:expr, $count:tt floating $function:ident) => {
        match $kind {
            Type::F32 => Some(lanes!($count, $function::<f32>)),
            Type::F64 => Some(lanes!($count, $function::<f64>)),
            Type::F16 => Some(lanes!($count, $function::<f16>)),
            Type::Bf16 => Some(lanes!($count, $function::<bf16>)),
            _ => None,
        }
    };
}
pub(super) use by_kind;

/// The operation on one number that an opcode names.
pub fn unary(parts: &[&str]) -> Option<Unary> {
    let kind = names::kind(parts.last()?)?;
    match parts[0] {
        "neg" => by_kind!(kind, 1 whole negate, floating opposite),
        "abs" => by_kind!(kind, 1 whole absolute, floating magnitude),
        "not" if kind == Type::Predicate => Some(lanes!(1, |a: u64| a ^ 1)),
        "not" => by_kind!(kind, 1 whole complement),
        "sqrt" => by_kind!(kind, 1 floating root),
        "rsqrt" => by_kind!(kind, 1 floating inverse_root),
        "rcp" => by_kind!(kind, 1 floating inverse),
        "ex2" => by_kind!(kind, 1 floating power_of_two),
        "lg2" => by_kind!(kind, 1 floating logarithm),
        "sin" => by_kind!(kind, 1 floating sine),
        "cos" => by_kind!(kind, 1 floating cosine),
        "tanh" => by_kind!(kind, 1 floating tangent),
        "clz" => by_kind!(kind, 1 whole leading_zeros),
        "popc" => by_kind!(kind, 1 whole ones),
        "brev" => by_kind!(kind, 1 whole reversed),
        "bfind" if parts.contains(&"shiftamt") => by_kind!(kind, 1 whole leading_zeros),
        _ => None,
    }
}

/// The operation on two numbers that an opcode names.
pub fn binary(parts: &[&str]) -> Option<Binary> {
    let kind = names::kind(parts.last()?)?;
    if parts.contains(&"cc") {
        return None;
    }
    if let (Some((rounding, _)), Type::F32) = (parts.iter().find_map(|part| names::rounding(part)), kind)
        && rounding != Rounding::Nearest
    {
        return rounded_sum(parts[0], rounding);
    }
    match parts[0] {
        "add" => by_kind!(kind, 2 whole add, floating sum),
        "sub" => by_kind!(kind, 2 whole sub, floating difference),
        "mul" if parts.contains(&"wide") => by_kind!(kind, 2 whole mul_wide),
        "mul" if parts.contains(&"hi") => by_kind!(kind, 2 whole mul_high),
        "mul" => by_kind!(kind, 2 whole mul, floating product),
        "div" => by_kind!(kind, 2 whole div, floating quotient),
        "rem" => by_kind!(kind, 2 whole rem),
        "min" if parts.contains(&"NaN") => by_kind!(kind, 2 floating least_or_nan),
        "max" if parts.contains(&"NaN") => by_kind!(kind, 2 floating most_or_nan),
        "min" => by_kind!(kind, 2 whole min, floating least),
        "max" => by_kind!(kind, 2 whole max, floating most),
        "copysign" => by_kind!(kind, 2 floating with_sign_of),
        "and" => Some(lanes!(2, |a: u64, b: u64| a & b)),
        "or" => Some(lanes!(2, |a: u64, b: u64| a | b)),
        "xor" => Some(lanes!(2, |a: u64, b: u64| a ^ b)),
        "shl" => by_kind!(kind, 2 whole shl),
        "shr" => by_kind!(kind, 2 whole shr),
        _ => None,
    }
}

/// The operation on three numbers that an opcode names.
pub fn ternary(parts: &[&str]) -> Option<Ternary> {
    let kind = names::kind(parts.last()?)?;
    if parts.contains(&"cc") {
        return None;
    }
    match (parts[0], kind) {
        ("mad", _) if parts.contains(&"wide") => by_kind!(kind, 3 whole mad_wide),
        ("mad", _) if parts.contains(&"hi") => by_kind!(kind, 3 whole mad_high),
        ("mad", _) if parts.contains(&"lo") => by_kind!(kind, 3 whole mad),
        ("fma", Type::F32) if parts.contains(&"rm") => Some(lanes!(3, fused_down)),
        ("fma", Type::Bf16x2) => Some(lanes!(3, |a, b, c| pairs(a, b, c, fused::<bf16>))),
        ("fma", Type::F16x2) => Some(lanes!(3, |a, b, c| pairs(a, b, c, fused::<f16>))),
        ("fma", _) => by_kind!(kind, 3 floating fused),
        ("prmt", _) => Some(lanes!(3, permute)),
        ("shf", _) if parts.contains(&"l") => Some(lanes!(3, funnel_left)),
        ("shf", _) if parts.contains(&"r") => Some(lanes!(3, funnel_right)),
        _ => None,
    }
}

/// The bits of a kind and no others.
pub fn narrow(kind: Type) -> Unary {
    match kind.bytes() {
        1 if kind == Type::Predicate => lanes!(1, |a: u64| a & 1),
        1 => lanes!(1, |a: u64| a & 0xff),
        2 => lanes!(1, |a: u64| a & 0xffff),
        4 => lanes!(1, |a: u64| a & 0xffff_ffff),
        _ => |a| *a,
    }
}

/// A whole number of one width as one of another; none where other numbers are meant.
pub fn resize(to: Type, from: Type) -> Option<Unary> {
    let (Type::Unsigned(_) | Type::Signed(_), Type::Unsigned(_) | Type::Signed(_)) = (to, from) else { return None };
    Some(match (from, to.bytes()) {
        (Type::Signed(8), 2) => lanes!(1, |a: u64| Number::bits(i16::from(a as i8))),
        (Type::Signed(8), 4) => lanes!(1, |a: u64| Number::bits(i32::from(a as i8))),
        (Type::Signed(8), 8) => lanes!(1, |a: u64| Number::bits(i64::from(a as i8))),
        (Type::Signed(16), 4) => lanes!(1, |a: u64| Number::bits(i32::from(a as i16))),
        (Type::Signed(16), 8) => lanes!(1, |a: u64| Number::bits(i64::from(a as i16))),
        (Type::Signed(32), 8) => lanes!(1, |a: u64| Number::bits(i64::from(a as i32))),
        (from, bytes) if from.bytes() < bytes => narrow(from),
        _ => narrow(to),
    })
}

/// Functions of the bits of numbers, which their bodies have as numbers.
macro_rules! functions {
    ($of:ident, $($(#[$about:meta])* $name:ident: |$($number:ident),+| $result:expr;)*) => {$(
        $(#[$about])*
        fn $name<T: $of>($($number: u64),+) -> u64 {
            $(let $number = T::of($number);)+
            $result.bits()
        }
    )*};
}

functions! { Whole,
    add: |a, b| a.add(b);
    sub: |a, b| a.sub(b);
    mul: |a, b| a.mul(b);
    mul_high: |a, b| a.mul_high(b);
    div: |a, b| a.div(b);
    rem: |a, b| a.rem(b);
    min: |a, b| if b < a { b } else { a };
    max: |a, b| if b > a { b } else { a };
    mad: |a, b, c| a.mul(b).add(c);
    mad_high: |a, b, c| a.mul_high(b).add(c);
    negate: |a| a.neg();
    absolute: |a| if a.wide() < 0 { a.neg() } else { a };
}

/// The bits of a number twice as wide as `T`.
fn twice_as_wide<T: Whole>() -> u64 {
    if T::BITS >= 32 { u64::MAX } else { (1 << (2 * T::BITS)) - 1 }
}

/// Twice as wide as what goes in.
fn mul_wide<T: Whole>(a: u64, b: u64) -> u64 {
    let bits = T::of(a).wide() * T::of(b).wide();
    bits as u64 & twice_as_wide::<T>()
}

fn mad_wide<T: Whole>(a: u64, b: u64, c: u64) -> u64 {
    mul_wide::<T>(a, b).wrapping_add(c) & twice_as_wide::<T>()
}

fn shl<T: Whole>(a: u64, by: u64) -> u64 {
    let by = by & 0xffff_ffff;
    if by >= u64::from(T::BITS) { 0 } else { T::of(a << by).bits() }
}

fn shr<T: Whole>(a: u64, by: u64) -> u64 {
    T::of(a).shr(by & 0xffff_ffff).bits()
}

fn complement<T: Whole>(a: u64) -> u64 {
    T::of(!a).bits()
}

fn leading_zeros<T: Whole>(a: u64) -> u64 {
    u64::from(T::of(a).bits().leading_zeros()) - u64::from(64 - T::BITS)
}

fn ones<T: Whole>(a: u64) -> u64 {
    u64::from(T::of(a).bits().count_ones())
}

fn reversed<T: Whole>(a: u64) -> u64 {
    T::of(a).bits().reverse_bits() >> (64 - T::BITS)
}

// Sums and products of half precision are rounded once: f64 holds them whole.
functions! { Floating,
    sum: |a, b| T::of_wide(a.wide() + b.wide());
    difference: |a, b| T::of_wide(a.wide() - b.wide());
    product: |a, b| T::of_wide(a.wide() * b.wide());
    quotient: |a, b| T::of_wide(a.wide() / b.wide());
    fused: |a, b, c| a.fma(b, c);
    /// The other where one is not a number.
    least: |a, b| T::of_wide(a.wide().min(b.wide()));
    most: |a, b| T::of_wide(a.wide().max(b.wide()));
    least_or_nan: |a, b| T::of_wide(if unordered(a, b) { f64::NAN } else { a.wide().min(b.wide()) });
    most_or_nan: |a, b| T::of_wide(if unordered(a, b) { f64::NAN } else { a.wide().max(b.wide()) });
    /// The second, with the sign of the first.
    with_sign_of: |a, b| T::of_wide(b.wide().copysign(a.wide()));
    opposite: |a| T::of_wide(-a.wide());
    magnitude: |a| T::of_wide(a.wide().abs());
    root: |a| T::of_wide(a.wide().sqrt());
    inverse_root: |a| T::of_wide(1.0 / a.wide().sqrt());
    inverse: |a| T::of_wide(1.0 / a.wide());
    power_of_two: |a| T::of_wide(a.wide().exp2());
    logarithm: |a| T::of_wide(a.wide().log2());
    sine: |a| T::of_wide(a.wide().sin());
    cosine: |a| T::of_wide(a.wide().cos());
    tangent: |a| T::of_wide(a.wide().tanh());
}

fn fused_down(a: u64, b: u64, c: u64) -> u64 {
    let exact = f64::from(f32::of(a)).mul_add(f64::from(f32::of(b)), f64::from(f32::of(c)));
    directed(exact, Rounding::Down).bits()
}

/// Whether one is not a number.
pub fn unordered<T: Floating>(a: T, b: T) -> bool {
    a.wide().is_nan() || b.wide().is_nan()
}

/// Both halves apart.
fn pairs(a: u64, b: u64, c: u64, function: fn(u64, u64, u64) -> u64) -> u64 {
    let half = |x: u64, index: u64| (x >> (16 * index)) & 0xffff;
    let at = |index| function(half(a, index), half(b, index), half(c, index));
    at(0) | (at(1) << 16)
}

/// An f32 on the asked side of a sum that f64 holds.
pub fn directed(exact: f64, rounding: Rounding) -> f32 {
    let near = exact as f32;
    let wide = f64::from(near);
    match rounding {
        Rounding::Down if wide > exact => near.next_down(),
        Rounding::Up if wide < exact => near.next_up(),
        Rounding::Zero if wide.abs() > exact.abs() => {
            if near > 0.0 {
                near.next_down()
            } else {
                near.next_up()
            }
        }
        _ => near,
    }
}

fn rounded_sum(name: &str, rounding: Rounding) -> Option<Binary> {
    match (name, rounding) {
        ("add", Rounding::Zero) => Some(lanes!(2, |a, b| directed(exact_sum(a, b), Rounding::Zero).bits())),
        ("add", Rounding::Down) => Some(lanes!(2, |a, b| directed(exact_sum(a, b), Rounding::Down).bits())),
        _ => None,
    }
}

fn exact_sum(a: u64, b: u64) -> f64 {
    f64::from(f32::of(a)) + f64::from(f32::of(b))
}

/// Four bytes chosen from eight.
fn permute(a: u64, b: u64, selector: u64) -> u64 {
    let all = (a & 0xffff_ffff) | (b << 32);
    let byte = |place: u64| {
        let chosen = (selector >> (4 * place)) & 0xf;
        let byte = (all >> (8 * (chosen & 7))) & 0xff;
        if chosen & 8 == 0 { byte } else { 0xff * (byte >> 7) }
    };
    (0..4).map(|place| byte(place) << (8 * place)).sum()
}

/// The upper half of two numbers of 32 bits, shifted left.
fn funnel_left(low: u64, high: u64, by: u64) -> u64 {
    ((((high << 32) | low) << (by & 31)) >> 32) & 0xffff_ffff
}

/// The lower half of two numbers of 32 bits, shifted right.
fn funnel_right(low: u64, high: u64, by: u64) -> u64 {
    (((high << 32) | low) >> (by & 31)) & 0xffff_ffff
}
