//! Tests of what a value is, by its last bits and by the first word of its object (see [`layout`](crate::layout)).

use wasm_encoder::Instruction as Wasm;

use super::Emitter;
use super::code::word_field;
use crate::layout::{LIST, NO_INTEGER, OBJECT_TAG, TAG_MASK, TUPLE};

/// [`Emitter::test_sequence`] takes them for one range.
const _: () = assert!(TUPLE == LIST + 1);

impl Emitter<'_> {
    /// Replaces the value on the stack by a word that is zero if it is an integer.
    pub(super) fn test_no_integer(&mut self) {
        self.put(Wasm::I32WrapI64);
        self.word(NO_INTEGER);
        self.put(Wasm::I32And);
    }

    /// Replaces the low word of a value on the stack by a word that is zero unless the value is an object.
    pub(super) fn test_object(&mut self) {
        self.word(TAG_MASK);
        self.put(Wasm::I32And);
        self.word(OBJECT_TAG);
        self.put(Wasm::I32Eq);
    }

    /// Replaces the address of an object on the stack by a word that is zero unless it is a list or tuple.
    pub(super) fn test_sequence(&mut self) {
        self.put(Wasm::I32Load(word_field(0)));
        self.word(LIST as i32);
        self.put(Wasm::I32Sub);
        self.word((TUPLE - LIST + 1) as i32);
        self.put(Wasm::I32LtU);
    }
}
