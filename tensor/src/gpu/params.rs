//! How parameters of kernels are declared: field by field as in the sources of the kernels.

use candle_core::{DType, Result, bail};

/// Parameters of a kernel: plain numbers in C layout, without padding by the compiler.
///
/// # Safety
///
/// The type must be `#[repr(C)]`, without padding and without pointers that Rust owns.
pub(crate) unsafe trait Params: Copy {}

macro_rules! params {
    ($($(#[$doc:meta])* $name:ident { $($field:ident: $type:ty),* $(,)? })*) => {$(
        $(#[$doc])*
        #[repr(C)]
        #[derive(Debug, Clone, Copy)]
        pub(crate) struct $name { $(pub $field: $type),* }

        // Safety: the fields are integers and floats; the assertion refuses padding between them.
        unsafe impl $crate::gpu::params::Params for $name {}
        const _: () = assert!(size_of::<$name>() == 0 $(+ size_of::<$type>())*);
    )*};
}
pub(crate) use params;

/// Threads of a block where a kernel does not say otherwise.
pub(crate) const THREADS: usize = 256;

/// The name of a kernel's variant for numbers of this type.
pub(crate) fn name(kernel: &str, dtype: DType) -> Result<String> {
    let suffix = match dtype {
        DType::F32 => "f32",
        DType::BF16 => "bf16",
        DType::F16 => "f16",
        other => bail!("kernels of a GPU: found numbers of type {other:?}, expected f32, bf16 or f16"),
    };
    Ok(format!("{kernel}_{suffix}"))
}
