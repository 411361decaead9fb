//! Displays of lists, tuples, dicts and sets, and comprehensions.

use ruff_python_ast::{Comprehension, Expr, ExprDict, ExprDictComp};
use wasm_encoder::{BlockType, Instruction as Wasm};

use super::code::{Value, long_at, long_field, word_field};
use super::iterable::Source;
use super::kind::Kind;
use super::{Emitted, Emitter, cost, outside};
use crate::layout::{CAPACITY, ITEMS, LENGTH, TUPLE_ITEMS};

/// Capacity of an empty list.
const EMPTY_CAPACITY: i32 = 4;

impl<'a> Emitter<'a> {
    pub(super) fn display(&mut self, expression: &'a Expr) -> Emitted<Kind> {
        match expression {
            Expr::List(list) => self.list(&list.elts),
            Expr::Tuple(tuple) => {
                self.charge(cost::TUPLE + cost::ITEM * tuple.elts.len() as u32);
                let items = self.items(&tuple.elts)?;
                let value = self.tuple_of(&items);
                items.into_iter().for_each(|item| self.release_value(item));
                self.push(value);
                self.release_value(value);
                Ok(Kind::Tuple)
            }
            Expr::Dict(dict) => self.dict(dict),
            Expr::Set(set) => {
                self.charge(cost::SET + cost::SET_ITEM * set.elts.len() as u32);
                let made = self.made("py_set", set.elts.len() as i32);
                for element in &set.elts {
                    self.get(made);
                    self.anything(element)?;
                    self.call_runtime("py_set_add");
                }
                Ok(self.finished(made, Kind::Set))
            }
            Expr::ListComp(list) => {
                let first = self.first_source(&list.generators)?;
                self.collected(&list.elt, &list.generators, first, 0)?;
                Ok(Kind::List)
            }
            Expr::SetComp(set) => {
                self.charge(cost::COMPREHENSION);
                let made = self.made("py_set", 0);
                self.comprehension(&set.generators, &mut |emitter| {
                    emitter.get(made);
                    emitter.anything(&set.elt)?;
                    emitter.call_runtime("py_set_add");
                    Ok(())
                })?;
                Ok(self.finished(made, Kind::Set))
            }
            Expr::DictComp(dict) => self.dict_comprehension(dict),
            _ => outside("a display"),
        }
    }

    /// A local with an empty container with room for so many items.
    pub(super) fn made(&mut self, function: &'static str, room: i32) -> u32 {
        let made = self.long_local();
        self.word(room);
        self.call_runtime(function);
        self.set(made);
        made
    }

    pub(super) fn finished(&mut self, made: u32, kind: Kind) -> Kind {
        self.get_last(made);
        kind
    }

    /// A local with a new empty list.
    pub(super) fn empty_list(&mut self) -> u32 {
        let made = self.long_local();
        self.push_empty_list();
        self.set(made);
        made
    }

    pub(super) fn push_empty_list(&mut self) {
        self.word(0);
        self.word(EMPTY_CAPACITY);
        self.call_runtime("py_list");
    }

    /// Pushes a list of the elements of a comprehension or generator whose first iterable is evaluated. An element costs
    /// `each` beside being appended.
    pub(super) fn collected(
        &mut self,
        element: &'a Expr,
        generators: &'a [Comprehension],
        first: Source<'a>,
        each: u32,
    ) -> Emitted<()> {
        self.charge(cost::COMPREHENSION);
        let made = self.empty_list();
        let kept = if element.is_bin_op_expr() { cost::KEPT } else { 0 };
        self.loops(generators, first, &mut |emitter| {
            emitter.anything(element)?;
            emitter.charge(cost::APPEND + each + kept);
            emitter.append(made);
            Ok(())
        })?;
        self.get_last(made);
        Ok(())
    }

    fn items(&mut self, elements: &'a [Expr]) -> Emitted<Vec<Value>> {
        if elements.iter().any(Expr::is_starred_expr) {
            return outside("`*` in a display");
        }
        let mut items = Vec::with_capacity(elements.len());
        for element in elements {
            let item = self.value(element)?;
            self.escape(item.kind);
            items.push(item);
        }
        Ok(items)
    }

    fn list(&mut self, elements: &'a [Expr]) -> Emitted<Kind> {
        let items = self.items(elements)?;
        if items.is_empty() {
            self.charge(cost::EMPTY_LIST);
            self.push_empty_list();
            return Ok(Kind::List);
        }
        self.charge(cost::LIST + cost::ITEM * items.len() as u32);
        let (made, address) = (self.long_local(), self.word_local());
        self.word(items.len() as i32);
        self.word(items.len() as i32);
        self.call_runtime("py_list");
        self.tee(made);
        self.put(Wasm::I32WrapI64);
        self.put(Wasm::I32Load(word_field(ITEMS)));
        self.set(address);
        for (index, item) in items.into_iter().enumerate() {
            self.get(address);
            self.push(item);
            self.put(Wasm::I64Store(long_at(8 * index as u64)));
            self.release_value(item);
        }
        self.release(address);
        Ok(self.finished(made, Kind::List))
    }

    fn dict(&mut self, dict: &'a ExprDict) -> Emitted<Kind> {
        self.charge(cost::DICT + cost::DICT_ITEM * dict.items.len() as u32);
        let made = self.made("py_dict", dict.items.len() as i32);
        for item in &dict.items {
            let Some(key) = &item.key else { return outside("`**` in a dict") };
            self.get(made);
            self.anything(key)?;
            self.anything(&item.value)?;
            self.call_runtime("py_dict_set");
        }
        Ok(self.finished(made, Kind::Dict))
    }

    fn dict_comprehension(&mut self, dict: &'a ExprDictComp) -> Emitted<Kind> {
        let Some(key) = &dict.key else { return outside("`**` in a comprehension") };
        self.charge(cost::COMPREHENSION);
        let made = self.made("py_dict", 0);
        self.comprehension(&dict.generators, &mut |emitter| {
            emitter.get(made);
            emitter.anything(key)?;
            emitter.anything(&dict.value)?;
            emitter.call_runtime("py_dict_set");
            Ok(())
        })?;
        Ok(self.finished(made, Kind::Dict))
    }

    /// A tuple of these values, in a local.
    pub(super) fn tuple_of(&mut self, items: &[Value]) -> Value {
        let made = self.long_local();
        self.word(items.len() as i32);
        self.call_runtime("py_tuple");
        self.set(made);
        for (index, item) in items.iter().enumerate() {
            self.address(made);
            self.push(*item);
            self.put(Wasm::I64Store(long_field(TUPLE_ITEMS + 8 * index as u64)));
        }
        Value { temporary: true, ..Value::local(made, Kind::Tuple) }
    }

    /// Appends the value on the stack to a list that this expression has made and that no old object points to.
    pub(super) fn append(&mut self, list: u32) {
        let (value, address, length) = (self.long_local(), self.word_local(), self.word_local());
        self.set(value);
        self.address(list);
        self.tee(address);
        self.put(Wasm::I32Load(word_field(LENGTH)));
        self.tee(length);
        self.get(address);
        self.put(Wasm::I32Load(word_field(CAPACITY)));
        self.put(Wasm::I32Eq);
        self.start_if(BlockType::Empty);
        self.get(list);
        self.get(value);
        self.call_runtime("py_append");
        self.otherwise();
        self.get(address);
        self.put(Wasm::I32Load(word_field(ITEMS)));
        self.get(length);
        self.word(3);
        self.put(Wasm::I32Shl);
        self.put(Wasm::I32Add);
        self.get(value);
        self.put(Wasm::I64Store(long_at(0)));
        self.get(address);
        self.get(length);
        self.word(1);
        self.put(Wasm::I32Add);
        self.put(Wasm::I32Store(word_field(LENGTH)));
        self.end();
        self.release(value);
        self.release(address);
        self.release(length);
    }
}
