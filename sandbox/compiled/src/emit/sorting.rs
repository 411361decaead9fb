//! `sorted` and `list.sort`.

use ruff_python_ast::{Expr, Keyword};

use super::code::{Place, Value};
use super::expression::Argument;
use super::kind::Kind;
use super::pull::Calm;
use super::{Emitted, Emitter, outside};
use crate::layout::NONE;

impl<'a> Emitter<'a> {
    pub(super) fn sorted(&mut self, items: Argument<'a>, keywords: &'a [Keyword]) -> Emitted<Kind> {
        self.collect(items)?;
        let list = self.take(Kind::List);
        self.sort(list, keywords)?;
        self.push(list);
        self.release_value(list);
        Ok(Kind::List)
    }

    /// While it sorts by keys, CPython shows an empty list to the key function.
    pub(super) fn sort_method(&mut self, list: &'a Expr, keywords: &'a [Keyword]) -> Emitted<Kind> {
        self.anything(list)?;
        self.call_runtime("py_check_list");
        let list = self.take(Kind::List);
        if keyword(keywords, "key").is_some_and(|key| !key.is_none_literal_expr()) {
            self.push(list);
            self.call_runtime("py_sort_take");
            let taken = self.take(Kind::List);
            self.sort(taken, keywords)?;
            self.push(list);
            self.push(taken);
            self.call_runtime("py_sort_give");
            self.release_value(taken);
        } else {
            self.sort(list, keywords)?;
        }
        self.release_value(list);
        self.long(NONE);
        Ok(Kind::None)
    }

    /// Sorts the list in a local.
    fn sort(&mut self, list: Value, keywords: &'a [Keyword]) -> Emitted<()> {
        let known = |one: &&Keyword| one.arg.as_ref().is_some_and(|name| matches!(name.as_str(), "key" | "reverse"));
        if keywords.iter().filter(known).count() < keywords.len() {
            return outside("a keyword of a sort");
        }
        let key = keyword(keywords, "key").filter(|key| !key.is_none_literal_expr());
        let keys = match key {
            None => Value::constant(NONE, Kind::None),
            Some(key) => self.keys(list, key)?,
        };
        let reverse = match keyword(keywords, "reverse") {
            None => None,
            Some(reverse) => {
                let value = self.value(reverse)?;
                // It is evaluated before any key is, and here after them.
                let is_late = key.is_some() && !matches!(value.place, Place::Constant(_));
                if is_late || !matches!(value.kind, Kind::Bool | Kind::Int) {
                    return outside("`reverse` that is no plain bool");
                }
                self.truth(value);
                self.release_value(value);
                let local = self.word_local();
                self.set(local);
                Some(local)
            }
        };
        self.push(list);
        self.push(keys);
        match reverse {
            Some(local) => {
                self.get(local);
                self.release(local);
            }
            None => self.word(0),
        }
        self.call_runtime("py_sort");
        self.release_value(keys);
        Ok(())
    }

    /// A list of the keys of a list's items.
    fn keys(&mut self, list: Value, key: &'a Expr) -> Emitted<Value> {
        let keys = self.empty_list();
        let function = self.callee(key)?;
        let source = self.source(Argument::Value(list), Calm::No)?;
        self.drain(&source, &mut |emitter, item| {
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

fn keyword<'a>(keywords: &'a [Keyword], name: &str) -> Option<&'a Expr> {
    keywords.iter().find(|one| one.arg.as_ref().is_some_and(|arg| arg.as_str() == name)).map(|one| &one.value)
}
