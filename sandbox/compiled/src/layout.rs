//! Layout of values in memory, shared by compiled code, the runtime (`runtime/object.h`) and the host.
//!
//! A value has 64 bits. An even value is an integer, doubled. An odd value is a constant, or the address of an object
//! less [`POINTER`], whose last three bits are 001.

/// Difference between an object's address and the value that points to the object.
pub(crate) const POINTER: u64 = 7;

/// The bit that is set in every value but integers.
pub(crate) const NO_INTEGER: i32 = 1;
/// The bits that tell objects from constants, and what they are in a value that points to an object.
pub(crate) const TAG_MASK: i32 = 7;
pub(crate) const OBJECT_TAG: i32 = 1;

/// Constants that are not objects. Their last three bits are 011.
pub(crate) const NONE: i64 = 3;
pub(crate) const FALSE: i64 = 11;
pub(crate) const TRUE: i64 = 19;
/// Value of an unbound variable, and of a dict entry whose key was deleted.
pub(crate) const UNBOUND: i64 = 27;
/// Value that an iterator returns at its end.
pub(crate) const END: i64 = 35;

/// Kinds of objects; the first word of an object.
pub(crate) const LIST: u32 = 1;
/// Lists and tuples have their items at the same place, and kinds one after the other.
pub(crate) const TUPLE: u32 = 2;
pub(crate) const STRING: u32 = 3;
pub(crate) const FLOAT: u32 = 4;
pub(crate) const DICT: u32 = 5;
pub(crate) const FUNCTION: u32 = 7;
/// A block of items, preceded by its length.
pub(crate) const BUFFER: u32 = 11;

/// Offsets in lists, tuples, strings, dicts and sets: the number of items, and their address.
pub(crate) const LENGTH: u64 = 4;
pub(crate) const ITEMS: u64 = 8;
/// Offsets of the capacity of a list, of the first item of a tuple, and of the value in a cell.
pub(crate) const CAPACITY: u64 = 12;
pub(crate) const TUPLE_ITEMS: u64 = 16;
pub(crate) const CELL_VALUE: u64 = 8;
/// Offsets in closures: the number of the function, the number of its parameters, the tuple of defaults, the first cell.
pub(crate) const FUNCTION_NUMBER: u64 = 8;
pub(crate) const PARAMETER_COUNT: u64 = 12;
pub(crate) const CLOSURE_DEFAULTS: u64 = 16;
pub(crate) const CLOSURE_CELLS: u64 = 24;

/// Bytes from one single-character string to the next; each character has one such string.
pub(crate) const CHARACTER_BYTES: u32 = 24;

/// Largest magnitude of an integer.
pub(crate) const INTEGER_MAX: i64 = (1 << 62) - 1;

/// The value that points to the object at an address.
pub(crate) fn pointer(address: u32) -> i64 {
    i64::from(address) - POINTER as i64
}
