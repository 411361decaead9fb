//! How values lie in memory: what compiled code, the runtime (`runtime/object.h`) and the host agree on.
//!
//! A value is 64 bits. An even one is an integer, twice as large. An odd one is a constant, or the address of an object
//! less [`POINTER`], of which the last three bits are 001.

/// What the address of an object lacks in a value that points to it.
pub(crate) const POINTER: u64 = 7;

/// Values that are no objects. Their last three bits are 011.
pub(crate) const NONE: i64 = 3;
pub(crate) const FALSE: i64 = 11;
pub(crate) const TRUE: i64 = 19;
/// What a variable holds that is not bound, and a dict where a key was deleted.
pub(crate) const UNBOUND: i64 = 27;
/// What iterators give at their end.
pub(crate) const END: i64 = 35;

/// Kinds of objects: the first word of each.
pub(crate) const LIST: u32 = 1;
pub(crate) const TUPLE: u32 = 2;
pub(crate) const STRING: u32 = 3;
pub(crate) const FLOAT: u32 = 4;
pub(crate) const DICT: u32 = 5;
pub(crate) const FUNCTION: u32 = 7;
/// A block of items, with its length in front.
pub(crate) const BUFFER: u32 = 11;

/// Bytes between the strings of one character, of which there is one each.
pub(crate) const CHARACTER_BYTES: u32 = 24;

/// The largest magnitude of an integer.
pub(crate) const INTEGER_MAX: i64 = (1 << 62) - 1;
