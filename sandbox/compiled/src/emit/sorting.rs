//! `sorted` and `list.sort`.

use ruff_python_ast::{Expr, Keyword};

use super::call::Callee;
use super::code::Value;
use super::expression::Argument;
use super::kind::Kind;
use super::{Emitted, Emitter, cost, outside};
use crate::layout::NONE;

/// How a sort orders: its keywords, evaluated.
struct Order<'a> {
    key: Option<Callee<'a>>,
    /// A word that tells whether the order is reversed.
    reverse: Option<u32>,
}

impl<'a> Emitter<'a> {
    pub(super) fn sorted(&mut self, items: Argument<'a>, keywords: &'a [Keyword]) -> Emitted<Kind> {
        let items = self.open_whole(items)?;
        let order = self.order(keywords)?;
        self.collect_opened(items)?;
        let list = self.take(Kind::List);
        self.sort(list, order)?;
        self.push(list);
        self.release_value(list);
        Ok(Kind::List)
    }

    /// While it sorts by keys, CPython shows an empty list to the key function.
    pub(super) fn sort_method(&mut self, list: &'a Expr, keywords: &'a [Keyword]) -> Emitted<Kind> {
        self.anything(list)?;
        self.call_runtime("py_check_list");
        let list = self.take(Kind::List);
        let order = self.order(keywords)?;
        if order.key.is_some() {
            self.call_runtime_with("py_sort_take", &[list]);
            let taken = self.take(Kind::List);
            self.sort(taken, order)?;
            self.call_runtime_with("py_sort_give", &[list, taken]);
            self.release_value(taken);
        } else {
            self.sort(list, order)?;
        }
        self.release_value(list);
        self.long(NONE);
        Ok(Kind::None)
    }

    /// Evaluates the keywords of a sort.
    fn order(&mut self, keywords: &'a [Keyword]) -> Emitted<Order<'a>> {
        let mut order = Order { key: None, reverse: None };
        for keyword in keywords {
            match keyword.arg.as_ref().map(|name| name.as_str()) {
                Some("key") if keyword.value.is_none_literal_expr() => {}
                Some("key") => order.key = Some(self.callee(&keyword.value)?),
                Some("reverse") => order.reverse = Some(self.reverse(&keyword.value)?),
                _ => return outside("a keyword of a sort"),
            }
        }
        Ok(order)
    }

    /// Evaluates `reverse` to a word. Only numbers: CPython takes the truth of a container when the sort begins, so that is left
    /// to the interpreter.
    fn reverse(&mut self, reverse: &'a Expr) -> Emitted<u32> {
        let kind = self.expression(reverse)?;
        let kind = if matches!(kind, Kind::Bool | Kind::Int) {
            kind
        } else {
            self.call_runtime("py_positive");
            Kind::Any
        };
        let value = self.take(kind);
        self.truth(value);
        self.release_value(value);
        let local = self.word_local();
        self.set(local);
        Ok(local)
    }

    /// Sorts the list in a local.
    fn sort(&mut self, list: Value, order: Order<'a>) -> Emitted<()> {
        let keys = match order.key {
            None => Value::constant(NONE, Kind::None),
            Some(function) => self.keys(list, function)?,
        };
        self.push(list);
        self.push(keys);
        match order.reverse {
            Some(local) => self.get_last(local),
            None => self.word(0),
        }
        self.call_runtime("py_sort");
        self.release_value(keys);
        Ok(())
    }

    /// A list of the keys of a list's items.
    fn keys(&mut self, list: Value, function: Callee<'a>) -> Emitted<Value> {
        let keys = self.empty_list();
        let source = self.source(Argument::Value(list))?;
        self.drain(&source, &mut |emitter, item| {
            emitter.charge(cost::CALL_FROM_C + cost::APPEND);
            let value = emitter.one(item);
            emitter.invoke(function, &[Argument::Value(value)])?;
            emitter.append(keys);
            Ok(())
        })?;
        self.release_source(source);
        self.release_callee(function);
        Ok(Value { temporary: true, ..Value::local(keys, Kind::List) })
    }
}
