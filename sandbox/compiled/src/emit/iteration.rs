//! Loops over iterables: the next item, and its use.

use ruff_python_ast::{Expr, ExprGenerator};
use wasm_encoder::Instruction as Wasm;

use super::call::Callee;
use super::code::{GAS, Value, long_at, word_field};
use super::expression::Argument;
use super::iterable::{Object, Source};
use super::kind::Kind;
use super::{Emitted, Emitter, cost};
use crate::layout::{END, ITEMS, LENGTH};

/// An item of an iterable: one value in a local, or several values that were never put in a tuple.
#[derive(Clone, Debug)]
pub(super) enum Item {
    One(u32, Kind),
    Several(Vec<Item>),
}

/// An operand that is evaluated and will be iterated: no item has been taken, and no iterator exists yet.
pub(super) enum Opened<'a> {
    Source(Source<'a>),
    /// A generator, whose first iterable is evaluated.
    Generator {
        generator: &'a ExprGenerator,
        first: Source<'a>,
    },
    /// A value.
    Whole(Value),
}

/// Emits the code for an item.
pub(super) type Sink<'s, 'a> = &'s mut dyn FnMut(&mut Emitter<'a>, Item) -> Emitted<()>;

impl<'a> Emitter<'a> {
    /// Puts the next item into new locals; branches to `exit` at the end.
    pub(super) fn next(&mut self, source: &Source<'a>, exit: u32) -> Emitted<Item> {
        match source {
            Source::Range { next, stop, step, is_small } => {
                self.charge(cost::TURN);
                if !is_small {
                    self.charge_beyond(cost::READY_MAX, *next, cost::LARGE);
                }
                let item = self.long_local();
                self.get(*next);
                self.get(*stop);
                self.put(if *step > 0 { Wasm::I64GeS } else { Wasm::I64LeS });
                self.branch_if(exit);
                self.count(*next, item, 2 * step);
                Ok(Item::One(item, Kind::Int))
            }
            Source::Object(object) => {
                self.charge(cost::TURN);
                Ok(self.next_of_object(object, exit))
            }
            Source::Zip(inner) => {
                self.charge(cost::ZIP_TURN);
                let items = inner.iter().map(|source| self.next(source, exit)).collect::<Emitted<_>>()?;
                Ok(Item::Several(items))
            }
            Source::Enumerate { index, inner } => {
                self.charge(cost::ENUMERATE_TURN);
                let value = self.next(inner, exit)?;
                let item = self.long_local();
                self.count(*index, item, 2);
                Ok(Item::Several(vec![Item::One(item, Kind::Int), value]))
            }
            Source::Map { function, inner } => {
                let mut arguments = Vec::with_capacity(inner.len());
                for source in inner {
                    let item = self.next(source, exit)?;
                    arguments.push(self.one(item));
                }
                let given: Vec<Argument> = arguments.iter().map(|&argument| Argument::Value(argument)).collect();
                if !matches!(function, Callee::Builtin(_)) {
                    self.charge(cost::CALL_FROM_C);
                }
                let kind = self.invoke(*function, &given)?;
                for argument in arguments {
                    self.release_value(Value { temporary: true, ..argument });
                }
                Ok(Item::One(self.set_new(), kind))
            }
        }
    }

    /// Charges for an integer that is further from zero than a bound.
    pub(super) fn charge_beyond(&mut self, bound: i64, number: u32, fuel: i64) {
        self.put(Wasm::GlobalGet(GAS));
        self.long(2 * bound);
        self.get(number);
        self.get(number);
        self.long(63);
        self.put(Wasm::I64ShrS);
        self.put(Wasm::I64Xor);
        self.put(Wasm::I64Sub);
        self.long(63);
        self.put(Wasm::I64ShrS);
        self.long(fuel);
        self.put(Wasm::I64And);
        self.put(Wasm::I64Sub);
        self.put(Wasm::GlobalSet(GAS));
    }

    /// Copies a counter to an item and advances the counter.
    fn count(&mut self, counter: u32, item: u32, by: i64) {
        self.get(counter);
        self.tee(item);
        self.long(by);
        self.put(Wasm::I64Add);
        self.set(counter);
    }

    fn next_of_object(&mut self, object: &Object, exit: u32) -> Item {
        let item = self.long_local();
        if !object.is_sequence {
            self.get(object.address);
            self.when();
        }
        // The length is read each time, because a list may grow during the loop.
        self.get(object.index);
        self.get(object.address);
        self.put(Wasm::I32Load(word_field(LENGTH)));
        self.put(Wasm::I32GeU);
        self.branch_if(exit);
        self.get(object.address);
        self.put(Wasm::I32Load(word_field(ITEMS)));
        self.get(object.index);
        self.word(3);
        self.put(Wasm::I32Shl);
        self.put(Wasm::I32Add);
        self.put(Wasm::I64Load(long_at(0)));
        self.set(item);
        self.get(object.index);
        self.word(1);
        self.put(Wasm::I32Add);
        self.set(object.index);
        if !object.is_sequence {
            self.otherwise();
            self.get(object.value);
            self.call_runtime("py_next");
            self.tee(item);
            self.long(END);
            self.put(Wasm::I64Eq);
            self.branch_if(exit);
            self.end();
        }
        Item::One(item, object.items)
    }

    /// An item as one value, in its own local or in a new one.
    pub(super) fn one(&mut self, item: Item) -> Value {
        match item {
            Item::One(local, kind) => Value::local(local, kind),
            Item::Several(items) => {
                let parts: Vec<Value> = items.into_iter().map(|item| self.one(item)).collect();
                parts.iter().for_each(|part| self.escape(part.kind));
                self.tuple_of(&parts)
            }
        }
    }

    pub(super) fn release_item(&mut self, item: Item) {
        match item {
            Item::One(local, _) => self.release(local),
            Item::Several(items) => items.into_iter().for_each(|item| self.release_item(item)),
        }
    }

    /// Emits a loop over a source.
    pub(super) fn drain(&mut self, source: &Source<'a>, sink: Sink<'_, 'a>) -> Emitted<()> {
        let exit = self.block();
        let top = self.start_loop();
        self.open_gas();
        let head = self.segment();
        let item = self.next(source, exit)?;
        sink(self, item.clone())?;
        self.release_item(item);
        self.close_gas();
        self.branch(top);
        self.end();
        self.end();
        self.refund(head, 0);
        Ok(())
    }

    /// Evaluates an operand that is iterated later, when the operands beside it are evaluated too.
    pub(super) fn open(&mut self, operand: Argument<'a>) -> Emitted<Opened<'a>> {
        let Argument::Expression(Expr::Generator(generator)) = operand else {
            return self.source(operand).map(Opened::Source);
        };
        let first = self.first_source(&generator.generators)?;
        Ok(Opened::Generator { generator, first })
    }

    /// Evaluates a loop whose items go into a list, which CPython first asks how long it is: a range may be too long to
    /// tell.
    pub(super) fn open_loop_into_list(&mut self, operand: Argument<'a>) -> Emitted<Opened<'a>> {
        let opened = self.open(operand)?;
        if let Opened::Source(Source::Range { next, stop, step, is_small: false }) = &opened {
            self.get(*next);
            self.get(*stop);
            self.long(*step);
            self.call_runtime("py_check_range");
        }
        Ok(opened)
    }

    /// Evaluates an operand of which a list is made later.
    pub(super) fn open_whole(&mut self, operand: Argument<'a>) -> Emitted<Opened<'a>> {
        if let Some(rows) = self.rows_of_zip(operand) {
            self.zip_of_rows(rows, "py_zip_now")?;
            return Ok(Opened::Whole(self.take(Kind::Any)));
        }
        if self.is_loop(operand) {
            return self.open_loop_into_list(operand);
        }
        let value = self.argument(operand)?;
        self.escape(value.kind);
        Ok(Opened::Whole(value))
    }

    /// Emits a loop over every item of an evaluated operand.
    pub(super) fn go_through(&mut self, opened: Opened<'a>, sink: Sink<'_, 'a>) -> Emitted<()> {
        match opened {
            Opened::Generator { generator, first } => {
                self.charge(cost::GENERATOR);
                self.loops(&generator.generators, first, &mut |emitter| {
                    emitter.charge(cost::YIELD);
                    let kind = emitter.expression(&generator.elt)?;
                    let local = emitter.set_new();
                    sink(emitter, Item::One(local, kind))?;
                    emitter.release(local);
                    Ok(())
                })
            }
            Opened::Source(source) => {
                self.drain(&source, sink)?;
                self.release_source(source);
                Ok(())
            }
            Opened::Whole(value) => {
                let source = self.source(Argument::Value(value))?;
                self.release_value(value);
                self.go_through(Opened::Source(source), sink)
            }
        }
    }

    /// Emits a loop over every item of an iterable or generator.
    pub(super) fn each(&mut self, operand: Argument<'a>, sink: Sink<'_, 'a>) -> Emitted<()> {
        let opened = self.open(operand)?;
        self.go_through(opened, sink)
    }

    /// Pushes a new list of an iterable's items, which are taken at once: nothing can change rows before they are used up.
    pub(super) fn collect(&mut self, operand: Argument<'a>) -> Emitted<()> {
        if let Some(rows) = self.rows_of_zip(operand) {
            self.zip_of_rows(rows, "py_transpose")?;
            self.call_runtime("py_to_list");
            return Ok(());
        }
        let opened = self.open_whole(operand)?;
        self.collect_opened(opened)
    }

    /// Pushes a new list of the items of an evaluated operand.
    pub(super) fn collect_opened(&mut self, opened: Opened<'a>) -> Emitted<()> {
        match opened {
            Opened::Generator { generator, first } => {
                self.charge(cost::GENERATOR);
                self.collected(&generator.elt, &generator.generators, first, cost::YIELD)
            }
            // The runtime iterates it without compiled code.
            Opened::Whole(value) => {
                self.push(value);
                self.release_value(value);
                self.call_runtime("py_to_list");
                Ok(())
            }
            Opened::Source(source) => {
                let made = self.empty_list();
                self.drain(&source, &mut |emitter, item| {
                    emitter.charge(cost::APPEND);
                    let value = emitter.one(item);
                    emitter.escape(value.kind);
                    emitter.push(value);
                    emitter.append(made);
                    emitter.release_value(value);
                    Ok(())
                })?;
                self.release_source(source);
                self.get_last(made);
                Ok(())
            }
        }
    }
}
