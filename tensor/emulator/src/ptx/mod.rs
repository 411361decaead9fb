//! PTX, read: NVIDIA's assembly for a machine with as many registers as a kernel likes.
//!
//! Source: NVIDIA, Parallel Thread Execution ISA.

mod arithmetic;
mod body;
mod comparison;
pub mod conversion;
mod function;
pub mod instruction;
mod lexer;
mod module;
mod names;
mod numbers;
mod opcode;

pub use function::Kernel;
pub use module::Module;
