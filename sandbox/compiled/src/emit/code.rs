//! The function that is being written: its locals, blocks and gas; and helpers for short sequences of WebAssembly.

use std::collections::{BTreeMap, HashSet};

use wasm_encoder::{BlockType, Instruction as Wasm, MemArg, ValType};

use super::Emitter;
use super::kind::Kind;
use crate::layout::POINTER;

/// Globals of the runtime: the remaining gas, and the depth of recursion.
pub(super) const GAS: u32 = 0;
pub(super) const DEPTH: u32 = 1;

/// Types of blocks with a result.
pub(super) const LONG: BlockType = BlockType::Result(ValType::I64);
pub(super) const WORD: BlockType = BlockType::Result(ValType::I32);

/// An instruction, or a placeholder that is resolved when the module is put together.
#[derive(Clone, Debug)]
pub(super) enum Step {
    Wasm(Wasm<'static>),
    /// A call of a function of the runtime.
    Runtime(&'static str),
    /// A call of a function of the program.
    Function(usize),
    /// A call of a closure with so many arguments.
    Indirect(usize),
    /// Spends the gas of a segment, which is known when the whole function is written; `checked` ends the program where
    /// nothing is left.
    Spend {
        segment: usize,
        checked: bool,
    },
    /// Gives back the gas of a segment that was spent for a turn of a loop that was not taken, but for what was done.
    Refund {
        segment: usize,
        done: u32,
    },
}

/// A place of a value, from which it can be pushed any number of times.
#[derive(Clone, Copy, Debug)]
pub(super) enum Place {
    Local(u32),
    Constant(i64),
}

/// A value that has been evaluated.
#[derive(Clone, Copy, Debug)]
pub(super) struct Value {
    pub(super) place: Place,
    pub(super) kind: Kind,
    /// Whether its local must be released after use.
    pub(super) temporary: bool,
}

impl Value {
    pub(super) fn constant(value: i64, kind: Kind) -> Value {
        Value { place: Place::Constant(value), kind, temporary: false }
    }

    /// The value of a local that somebody else releases.
    pub(super) fn local(local: u32, kind: Kind) -> Value {
        Value { place: Place::Local(local), kind, temporary: false }
    }

    pub(super) fn of_kind(self, kind: Kind) -> Value {
        Value { kind, ..self }
    }

    /// The value of a constant integer.
    pub(super) fn integer(self) -> Option<i64> {
        match (self.place, self.kind) {
            (Place::Constant(tagged), Kind::Int) => Some(tagged >> 1),
            _ => None,
        }
    }
}

/// Labels of a loop, for `break` and `continue`.
#[derive(Clone, Copy)]
pub(super) struct Loop {
    pub(super) exit: u32,
    pub(super) top: u32,
    /// Names of exceptions that are bound around it.
    pub(super) caught: usize,
}

/// The label for a missing key, and the local that receives the key.
#[derive(Clone, Copy)]
pub(super) struct Handler {
    pub(super) label: u32,
    pub(super) missing_key: u32,
    /// Names of exceptions that are bound around its `try`.
    pub(super) caught: usize,
}

/// Code that runs as a whole or not at all.
#[derive(Clone, Copy)]
pub(super) struct Segment {
    pub(super) cost: u32,
    /// The segment that pays for this one where it is cheap; none if it is the body of a function or of a loop.
    parent: Option<usize>,
}

/// Segments that cost less than this are paid for with the segment before: counting would cost more than it is worth.
const SEGMENT_MIN: u32 = 60;

/// The code of a function so far.
#[derive(Default)]
pub(super) struct Body {
    /// Number of the function.
    pub(super) id: usize,
    pub(super) code: Vec<Step>,
    pub(super) parameter_count: u32,
    pub(super) locals: Vec<ValType>,
    free_longs: Vec<u32>,
    free_words: Vec<u32>,
    /// Number of open blocks; this number is a block's label.
    pub(super) open_blocks: u32,
    pub(super) loops: Vec<Loop>,
    /// Locals of variables and of cells.
    pub(super) places: BTreeMap<usize, u32>,
    /// Variables that are certainly bound at this point.
    pub(super) assigned: HashSet<usize>,
    /// Variables whose locals must start unbound.
    pub(super) checked: HashSet<usize>,
    /// Names of the enclosing comprehensions.
    pub(super) comprehensions: Vec<BTreeMap<String, usize>>,
    /// Segments of code that run as a whole or not at all: what each costs, and those that are open, from the outermost.
    pub(super) segments: Vec<Segment>,
    open_segments: Vec<usize>,
    /// What a call of the function adds to the depth of recursion, if the function can call itself.
    pub(super) depth: Option<i32>,
    pub(super) handlers: Vec<Option<Handler>>,
    /// Variables of the handlers around this point, `e` of `except .. as e`: unbound at every way out of them.
    pub(super) caught: Vec<usize>,
}

impl Body {
    pub(super) fn new(id: usize, parameter_count: u32) -> Body {
        Body { id, parameter_count, ..Body::default() }
    }

    /// A new local that is never reused.
    pub(super) fn own_local(&mut self, ty: ValType) -> u32 {
        self.locals.push(ty);
        self.parameter_count + self.locals.len() as u32 - 1
    }
}

/// Access to eight bytes, or four, at an offset from an address.
pub(super) fn long_at(offset: u64) -> MemArg {
    MemArg { offset, align: 3, memory_index: 0 }
}
pub(super) fn word_at(offset: u64) -> MemArg {
    MemArg { offset, align: 2, memory_index: 0 }
}

/// Access to a field of an object; the base address is the object's pointer.
pub(super) fn long_field(offset: u64) -> MemArg {
    long_at(POINTER + offset)
}
pub(super) fn word_field(offset: u64) -> MemArg {
    word_at(POINTER + offset)
}

impl Emitter<'_> {
    pub(super) fn put(&mut self, instruction: Wasm<'static>) {
        self.body.code.push(Step::Wasm(instruction));
    }

    pub(super) fn call_runtime(&mut self, name: &'static str) {
        debug_assert!(self.interface.signatures.contains_key(name), "the runtime lacks {name}");
        self.body.code.push(Step::Runtime(name));
    }

    /// Calls a function of the runtime with these values as its last arguments.
    pub(super) fn call_runtime_with(&mut self, name: &'static str, values: &[Value]) {
        values.iter().for_each(|&value| self.push(value));
        self.call_runtime(name);
    }

    pub(super) fn long_local(&mut self) -> u32 {
        self.body.free_longs.pop().unwrap_or_else(|| self.body.own_local(ValType::I64))
    }

    pub(super) fn word_local(&mut self) -> u32 {
        self.body.free_words.pop().unwrap_or_else(|| self.body.own_local(ValType::I32))
    }

    pub(super) fn release(&mut self, local: u32) {
        let Some(index) = local.checked_sub(self.body.parameter_count) else { return };
        match self.body.locals[index as usize] {
            ValType::I32 => self.body.free_words.push(local),
            _ => self.body.free_longs.push(local),
        }
    }

    pub(super) fn release_value(&mut self, value: Value) {
        if let (Place::Local(local), true) = (value.place, value.temporary) {
            self.release(local);
        }
    }

    pub(super) fn get(&mut self, local: u32) {
        self.put(Wasm::LocalGet(local));
    }

    pub(super) fn set(&mut self, local: u32) {
        self.put(Wasm::LocalSet(local));
    }

    pub(super) fn tee(&mut self, local: u32) {
        self.put(Wasm::LocalTee(local));
    }

    pub(super) fn long(&mut self, value: i64) {
        self.put(Wasm::I64Const(value));
    }

    pub(super) fn word(&mut self, value: i32) {
        self.put(Wasm::I32Const(value));
    }

    pub(super) fn push(&mut self, value: Value) {
        match value.place {
            Place::Local(local) => self.get(local),
            Place::Constant(constant) => self.long(constant),
        }
    }

    /// Moves the value on the stack to a new local.
    pub(super) fn set_new(&mut self) -> u32 {
        let local = self.long_local();
        self.set(local);
        local
    }

    /// Pushes a local for the last time.
    pub(super) fn get_last(&mut self, local: u32) {
        self.get(local);
        self.release(local);
    }

    /// The value on the stack, in a new local.
    pub(super) fn take(&mut self, kind: Kind) -> Value {
        Value { place: Place::Local(self.set_new()), kind, temporary: true }
    }

    /// Pushes the address of the object in a local, as the base of [`long_field`].
    pub(super) fn address(&mut self, local: u32) {
        self.get(local);
        self.put(Wasm::I32WrapI64);
    }

    pub(super) fn block(&mut self) -> u32 {
        self.put(Wasm::Block(BlockType::Empty));
        self.body.open_blocks += 1;
        self.body.open_blocks
    }

    pub(super) fn start_loop(&mut self) -> u32 {
        self.put(Wasm::Loop(BlockType::Empty));
        self.body.open_blocks += 1;
        self.body.open_blocks
    }

    pub(super) fn start_if(&mut self, ty: BlockType) {
        self.put(Wasm::If(ty));
        self.body.open_blocks += 1;
    }

    pub(super) fn when(&mut self) {
        self.start_if(BlockType::Empty);
    }

    pub(super) fn otherwise(&mut self) {
        self.put(Wasm::Else);
    }

    pub(super) fn end(&mut self) {
        self.put(Wasm::End);
        self.body.open_blocks -= 1;
    }

    pub(super) fn branch(&mut self, label: u32) {
        let depth = self.body.open_blocks - label;
        self.put(Wasm::Br(depth));
    }

    pub(super) fn branch_if(&mut self, label: u32) {
        let depth = self.body.open_blocks - label;
        self.put(Wasm::BrIf(depth));
    }

    /// Leaves compiled code where CPython would raise. A trap is enough: passing on the reason would cost the compiler
    /// more than the reason is worth.
    pub(super) fn give_up(&mut self) {
        self.put(Wasm::Unreachable);
    }

    /// Leaves compiled code if the word on the stack is not zero.
    pub(super) fn give_up_if(&mut self) {
        self.when();
        self.give_up();
        self.end();
    }

    /// Adds to the gas of the present segment.
    pub(super) fn charge(&mut self, fuel: u32) {
        if let Some(&segment) = self.body.open_segments.last() {
            self.body.segments[segment].cost += fuel;
        }
    }

    /// Opens the segment that is the body of a function or of a loop, where the program ends if nothing is left.
    pub(super) fn open_gas(&mut self) {
        let segment = self.new_segment(None);
        self.body.open_segments.push(segment);
    }

    /// Opens a segment for an arm of a condition.
    pub(super) fn open_arm(&mut self) {
        let segment = self.new_segment(self.body.open_segments.last().copied());
        self.body.open_segments.push(segment);
    }

    /// Ends the present segment and begins another in its place: what follows may not be reached.
    pub(super) fn split_gas(&mut self) {
        if let Some(before) = self.body.open_segments.pop() {
            let segment = self.new_segment(Some(before));
            self.body.open_segments.push(segment);
        }
    }

    pub(super) fn close_gas(&mut self) {
        self.body.open_segments.pop().expect("a segment was opened");
    }

    /// The present segment.
    pub(super) fn segment(&self) -> usize {
        *self.body.open_segments.last().expect("a segment is open")
    }

    /// Gives the gas of a loop's segment back where the loop ends without another turn, but for what was done by then.
    pub(super) fn refund(&mut self, segment: usize, done: u32) {
        self.body.code.push(Step::Refund { segment, done });
    }

    fn new_segment(&mut self, parent: Option<usize>) -> usize {
        let segment = self.body.segments.len();
        self.body.segments.push(Segment { cost: 0, parent });
        self.body.code.push(Step::Spend { segment, checked: parent.is_none() });
        segment
    }
}

impl Body {
    /// Moves the costs of segments that cost too little to be counted by themselves to those before them.
    pub(super) fn settle_gas(&mut self) {
        for segment in (0..self.segments.len()).rev() {
            let Segment { cost, parent } = self.segments[segment];
            if let Some(parent) = parent
                && cost < SEGMENT_MIN
            {
                self.segments[parent].cost += cost;
                self.segments[segment].cost = 0;
            }
        }
    }
}
