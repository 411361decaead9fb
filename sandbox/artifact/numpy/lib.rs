//! The interpreter with numpy, as a package of its own: a registry takes ten megabytes, and both interpreters are more.

#![no_std]

/// The component, compressed by xz.
pub const COMPRESSED: &[u8] = include_bytes!("numpy.wasm.xz");

/// Its sha256 in hexadecimal, and its name.
pub const CHECKSUM_LINE: &str = include_str!("numpy.wasm.sha256");
