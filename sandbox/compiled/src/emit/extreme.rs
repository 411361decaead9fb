//! `max` and `min`.

use ruff_python_ast::{CmpOp, Expr, Keyword};
use wasm_encoder::Instruction as Wasm;

use super::call::Callee;
use super::code::{Value, WORD, word_field};
use super::expression::Argument;
use super::iteration::Opened;
use super::kind::Kind;
use super::{Emitted, Emitter, cost, outside};
use crate::layout::{END, LENGTH};

/// The best so far.
struct Best<'a> {
    operator: CmpOp,
    value: u32,
    kind: Kind,
    key_function: Option<Callee<'a>>,
    key: u32,
    key_kind: Kind,
}

impl Best<'_> {
    /// What the keys of others are compared with: the best value itself, if there is no key function.
    fn compared(&self) -> Value {
        match self.key_function {
            None => Value::local(self.value, self.kind),
            Some(_) => Value::local(self.key, self.key_kind),
        }
    }
}

/// What there is to choose from, evaluated.
enum Offered<'a> {
    Items(Opened<'a>),
    /// The arguments are the items.
    Unpacked(Opened<'a>),
    Values(Vec<Value>),
}

/// The keywords, evaluated.
struct Named<'a> {
    key: Option<Callee<'a>>,
    default: Option<Value>,
}

impl<'a> Emitter<'a> {
    /// `max` or `min` of several arguments, or of the items of one argument.
    pub(super) fn extreme(
        &mut self,
        operator: CmpOp,
        arguments: &[Argument<'a>],
        keywords: &'a [Keyword],
    ) -> Emitted<Kind> {
        let offered = self.offered(arguments)?;
        let Named { key: key_function, default } = self.extreme_keywords(keywords)?;
        let (value, key) = (self.long_local(), self.long_local());
        let mut best = Best { operator, value, kind: Kind::Never, key_function, key, key_kind: Kind::Never };
        match offered {
            Offered::Items(items) => self.extreme_of(items, default, &mut best)?,
            _ if default.is_some() => return outside("`default` beside several arguments"),
            Offered::Unpacked(items) => {
                let items = self.unpacked(items)?;
                self.extreme_of(Opened::Whole(items), None, &mut best)?;
            }
            Offered::Values(values) => self.extreme_argument(values, &mut best)?,
        }
        if let Some(function) = best.key_function {
            self.release_callee(function);
        }
        self.get_last(best.value);
        self.release(best.key);
        Ok(best.kind)
    }

    /// Evaluates the arguments.
    fn offered(&mut self, arguments: &[Argument<'a>]) -> Emitted<Offered<'a>> {
        match arguments {
            [Argument::Expression(Expr::Starred(starred))] => {
                self.open_whole(Argument::Expression(&starred.value)).map(Offered::Unpacked)
            }
            [items] => self.open(*items).map(Offered::Items),
            [_, _, ..] => {
                let values = arguments.iter().map(|&argument| self.argument(argument));
                values.collect::<Emitted<_>>().map(Offered::Values)
            }
            [] => outside("`max` or `min` of nothing"),
        }
    }

    /// Collects `*items` into a list. CPython unpacks it after the keywords and before the first key; one item alone would be
    /// the iterable, so fewer than two give up.
    fn unpacked(&mut self, items: Opened<'a>) -> Emitted<Value> {
        self.collect_opened(items)?;
        let unpacked = self.take(Kind::List);
        self.push(unpacked);
        self.put(Wasm::I32WrapI64);
        self.put(Wasm::I32Load(word_field(LENGTH)));
        self.word(2);
        self.put(Wasm::I32LtU);
        self.give_up_if();
        Ok(unpacked)
    }

    /// Evaluates the key function and the default, in the order in which they are given.
    fn extreme_keywords(&mut self, keywords: &'a [Keyword]) -> Emitted<Named<'a>> {
        let mut named = Named { key: None, default: None };
        for keyword in keywords {
            match keyword.arg.as_ref().map(|name| name.as_str()) {
                Some("key") if keyword.value.is_none_literal_expr() => {}
                Some("key") => named.key = Some(self.callee(&keyword.value)?),
                Some("default") => named.default = Some(self.value(&keyword.value)?),
                _ => return outside("a keyword of `max` or `min`"),
            }
        }
        Ok(named)
    }

    fn extreme_argument(&mut self, values: Vec<Value>, best: &mut Best<'a>) -> Emitted<()> {
        self.charge(cost::EXTREME_ARGUMENT * values.len() as u32);
        for (index, &value) in values.iter().enumerate() {
            let key = self.key_of(value, best)?;
            if index == 0 {
                self.take_best(value, key, best);
            } else {
                self.compare(best.operator, key, best.compared())?;
                self.when();
                self.take_best(value, key, best);
                self.end();
            }
            self.release_value(key);
        }
        values.into_iter().for_each(|value| self.release_value(value));
        Ok(())
    }

    fn extreme_of(&mut self, items: Opened<'a>, default: Option<Value>, best: &mut Best<'a>) -> Emitted<()> {
        self.long(END);
        self.set(best.value);
        self.go_through(items, &mut |emitter, item| {
            emitter.charge(cost::EXTREME_ITEM);
            let value = emitter.one(item);
            emitter.escape(value.kind);
            let key = emitter.key_of(value, best)?;
            // The best value so far came from the same loop.
            (best.kind, best.key_kind) = (value.kind, key.kind);
            emitter.get(best.value);
            emitter.long(END);
            emitter.put(Wasm::I64Eq);
            emitter.start_if(WORD);
            emitter.word(1);
            emitter.otherwise();
            emitter.compare(best.operator, key, best.compared())?;
            emitter.end();
            emitter.when();
            emitter.take_best(value, key, best);
            emitter.end();
            emitter.release_value(key);
            emitter.release_value(value);
            Ok(())
        })?;
        self.get(best.value);
        self.long(END);
        self.put(Wasm::I64Eq);
        let Some(default) = default else {
            self.give_up_if();
            return Ok(());
        };
        self.when();
        self.escape(default.kind);
        best.kind = self.joined(best.kind, default.kind);
        self.push(default);
        self.set(best.value);
        self.end();
        self.release_value(default);
        Ok(())
    }

    /// What a value is compared by.
    fn key_of(&mut self, value: Value, best: &Best<'a>) -> Emitted<Value> {
        let Some(function) = best.key_function else { return Ok(Value { temporary: false, ..value }) };
        self.charge(cost::CALL_FROM_C);
        let kind = self.invoke(function, &[Argument::Value(value)])?;
        Ok(self.take(kind))
    }

    /// Makes a value, with its key, the best one.
    fn take_best(&mut self, value: Value, key: Value, best: &mut Best<'a>) {
        self.push(value);
        self.set(best.value);
        if best.key_function.is_some() {
            self.push(key);
            self.set(best.key);
        }
        best.kind = self.joined(best.kind, value.kind);
        best.key_kind = self.joined(best.key_kind, key.kind);
    }
}
