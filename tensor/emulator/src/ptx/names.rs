//! Names in opcodes.

use super::instruction::{Rounding, Space, Type};

/// A kind of number, by its name behind a dot.
pub fn kind(name: &str) -> Option<Type> {
    Some(match name {
        "pred" => Type::Predicate,
        "b8" | "u8" => Type::Unsigned(8),
        "b16" | "u16" => Type::Unsigned(16),
        "b32" | "u32" => Type::Unsigned(32),
        "b64" | "u64" => Type::Unsigned(64),
        "s8" => Type::Signed(8),
        "s16" => Type::Signed(16),
        "s32" => Type::Signed(32),
        "s64" => Type::Signed(64),
        "f16" => Type::F16,
        "bf16" => Type::Bf16,
        "f16x2" => Type::F16x2,
        "bf16x2" => Type::Bf16x2,
        "f32" => Type::F32,
        "f64" => Type::F64,
        _ => return None,
    })
}

pub fn space(name: &str) -> Option<Space> {
    Some(match name {
        "global" | "const" => Space::Global,
        "shared" => Space::Shared,
        "local" => Space::Local,
        "param" => Space::Parameter,
        _ => return None,
    })
}

/// How a number is rounded, and whether to a whole one.
pub fn rounding(name: &str) -> Option<(Rounding, bool)> {
    Some(match name {
        "rn" | "rna" => (Rounding::Nearest, false),
        "rz" => (Rounding::Zero, false),
        "rm" => (Rounding::Down, false),
        "rp" => (Rounding::Up, false),
        "rni" => (Rounding::Nearest, true),
        "rzi" => (Rounding::Zero, true),
        "rmi" => (Rounding::Down, true),
        "rpi" => (Rounding::Up, true),
        _ => return None,
    })
}
