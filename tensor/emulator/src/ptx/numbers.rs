//! Numbers as registers hold them: their bits, and zeros above.

use half::{bf16, f16};

/// A kind of number.
pub trait Number: Copy + PartialOrd {
    fn of(bits: u64) -> Self;
    fn bits(self) -> u64;
}

/// A whole number, which wraps round.
pub trait Whole: Number {
    const BITS: u32;
    fn add(self, other: Self) -> Self;
    fn sub(self, other: Self) -> Self;
    fn mul(self, other: Self) -> Self;
    /// The upper half of the product.
    fn mul_high(self, other: Self) -> Self;
    /// By zero, every bit is set, as on a GPU.
    fn div(self, other: Self) -> Self;
    fn rem(self, other: Self) -> Self;
    /// Beyond the width, nothing but the sign is left.
    fn shr(self, by: u64) -> Self;
    fn neg(self) -> Self;
    /// The whole value, which every kind of 64 bits and less fits into.
    fn wide(self) -> i128;
}

/// A floating number; half precision goes through f64, which holds its products and sums whole.
pub trait Floating: Number {
    fn wide(self) -> f64;
    fn of_wide(value: f64) -> Self;
    fn fma(self, by: Self, plus: Self) -> Self;
}

macro_rules! whole {
    ($($kind:ty, $unsigned:ty, $bits:literal);* $(;)?) => {$(
        impl Number for $kind {
            fn of(bits: u64) -> Self {
                bits as $kind
            }

            fn bits(self) -> u64 {
                u64::from(self as $unsigned)
            }
        }

        impl Whole for $kind {
            const BITS: u32 = $bits;

            fn add(self, other: Self) -> Self {
                self.wrapping_add(other)
            }

            fn sub(self, other: Self) -> Self {
                self.wrapping_sub(other)
            }

            fn mul(self, other: Self) -> Self {
                self.wrapping_mul(other)
            }

            fn mul_high(self, other: Self) -> Self {
                ((i128::from(self) * i128::from(other)) >> $bits) as $kind
            }

            fn div(self, other: Self) -> Self {
                if other == 0 { !0 } else { self.wrapping_div(other) }
            }

            fn rem(self, other: Self) -> Self {
                if other == 0 { self } else { self.wrapping_rem(other) }
            }

            fn shr(self, by: u64) -> Self {
                let last = <$kind>::BITS - 1;
                match u32::try_from(by) {
                    Ok(by) if by <= last => self >> by,
                    _ => (self >> last) >> 1_u32.min(last),
                }
            }

            fn neg(self) -> Self {
                self.wrapping_neg()
            }

            fn wide(self) -> i128 {
                i128::from(self)
            }
        }
    )*};
}

whole! {
    u8, u8, 8; u16, u16, 16; u32, u32, 32; u64, u64, 64;
    i8, u8, 8; i16, u16, 16; i32, u32, 32; i64, u64, 64;
}

macro_rules! floating {
    ($($kind:ty, $bits:ty, |$wide:ident| $narrow:expr, |$a:ident, $b:ident, $c:ident| $fma:expr);* $(;)?) => {$(
        impl Number for $kind {
            fn of(bits: u64) -> Self {
                <$kind>::from_bits(bits as $bits)
            }

            fn bits(self) -> u64 {
                u64::from(self.to_bits())
            }
        }

        impl Floating for $kind {
            fn wide(self) -> f64 {
                f64::from(self)
            }

            fn of_wide($wide: f64) -> Self {
                $narrow
            }

            fn fma(self, $b: Self, $c: Self) -> Self {
                let $a = self;
                $fma
            }
        }
    )*};
}

floating! {
    f32, u32, |wide| wide as f32, |a, b, c| a.mul_add(b, c);
    f64, u64, |wide| wide, |a, b, c| a.mul_add(b, c);
    f16, u16, |wide| f16::from_f64(wide), |a, b, c| f16::from_f64(a.wide().mul_add(b.wide(), c.wide()));
    bf16, u16, |wide| bf16::from_f64(wide), |a, b, c| bf16::from_f64(a.wide().mul_add(b.wide(), c.wide()));
}
