//! An NVIDIA GPU in software.
//!
//! Built as a shared library, this stands where the driver, cuBLAS, cuRAND and NCCL are looked for, so that a program built
//! for CUDA runs unchanged on a machine without a GPU: its PTX is interpreted, its work is queued, copied, recorded and
//! replayed. It is slow, and stricter than a GPU:
//!
//! * work is done as late as it may be, when somebody waits for it;
//! * every access must lie in live memory, on a multiple of its size; fresh memory holds no numbers;
//! * threads that touch the same shared memory without a barrier between them are an error, as are barriers and
//!   shuffles that not all threads reach;
//! * a GPU's limits hold: threads a block, blocks a grid, shared memory, what may be done while a graph is recorded.
//!
//! The first fault is printed, with the kernel's name, and every later call fails.

mod blas;
mod census;
mod container;
mod driver;
mod functions;
mod machine;
mod memory;
mod nccl;
mod ptx;
mod queue;
mod random;

#[cfg(test)]
mod tests;

/// What a program did that a GPU would not have survived, or could not have been asked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DeviceFault(pub String);

macro_rules! fault {
    ($($arg:tt)*) => { crate::DeviceFault(format!($($arg)*)) };
}
pub(crate) use fault;

/// Functions of a library of NVIDIA's, by the names that it has them under.
macro_rules! exports {
    ($(fn $name:ident($($argument:ident: $kind:ty),*) $body:block)*) => {$(
        #[unsafe(no_mangle)]
        extern "C" fn $name($($argument: $kind),*) -> u32 $body
    )*};
}
pub(crate) use exports;
