//! `max` and `min`.

use ruff_python_ast::{CmpOp, Expr, Keyword};
use wasm_encoder::Instruction as Wasm;

use super::call::Callee;
use super::code::{Value, WORD};
use super::expression::Argument;
use super::kind::Kind;
use super::pull::Calm;
use super::{Emitted, Emitter, outside};
use crate::layout::END;

/// The best so far.
struct Best<'a> {
    operator: CmpOp,
    value: u32,
    kind: Kind,
    key_function: Option<Callee<'a>>,
    key: u32,
    key_kind: Kind,
}

/// Whether an offered value is the first.
#[derive(Clone, Copy, PartialEq, Eq)]
enum First {
    Yes,
    No,
    /// It is the first if there is no best value yet.
    Unknown,
}

impl<'a> Emitter<'a> {
    /// `max` or `min` of several arguments, or of the items of one argument.
    pub(super) fn extreme(
        &mut self,
        operator: CmpOp,
        arguments: &[Argument<'a>],
        keywords: &'a [Keyword],
    ) -> Emitted<Kind> {
        let (key, default) = self.extreme_keywords(keywords)?;
        self.check_order(arguments, key, default)?;
        let key_function = key.map(|key| self.callee(key)).transpose()?;
        let default = default.map(|default| self.value(default)).transpose()?;
        let (value, key) = (self.long_local(), self.long_local());
        let mut best = Best { operator, value, kind: Kind::Never, key_function, key, key_kind: Kind::Never };
        match arguments {
            [Argument::Expression(Expr::Starred(starred))] => {
                self.extreme_of(Argument::Expression(&starred.value), default, &mut best)?;
            }
            [items] => self.extreme_of(*items, default, &mut best)?,
            [_, _, ..] if default.is_none() => self.extreme_argument(arguments, &mut best)?,
            _ => return outside("`max` or `min` of nothing"),
        }
        if let Some(function) = best.key_function {
            self.release_callee(function);
        }
        self.get(best.value);
        self.release(best.value);
        self.release(best.key);
        Ok(best.kind)
    }

    /// The key function and the default, if they are given.
    fn extreme_keywords(&self, keywords: &'a [Keyword]) -> Emitted<(Option<&'a Expr>, Option<&'a Expr>)> {
        let (mut key, mut default) = (None, None);
        for keyword in keywords {
            match keyword.arg.as_ref().map(|name| name.as_str()) {
                Some("key") => key = Some(&keyword.value),
                Some("default") => default = Some(&keyword.value),
                _ => return outside("a keyword of `max` or `min`"),
            }
        }
        Ok((key.filter(|key| !key.is_none_literal_expr()), default))
    }

    /// CPython evaluates arguments, key function and default once each, in the order of the text. Here the order
    /// differs, or some are not evaluated, which the program must not be able to observe.
    fn check_order(&self, arguments: &[Argument<'a>], key: Option<&'a Expr>, default: Option<&'a Expr>) -> Emitted<()> {
        let is_plain = |one: &'a Expr| one.is_literal_expr() || one.is_lambda_expr() || one.is_name_expr();
        if !key.is_none_or(|key| key.is_lambda_expr() || key.is_name_expr()) || !default.is_none_or(is_constant) {
            let arguments_are_pure = arguments.iter().all(|argument| match argument {
                Argument::Expression(argument) => self.is_pure(argument),
                Argument::Value(_) => true,
            });
            let others = [key, default].into_iter().flatten();
            if !arguments_are_pure || !others.into_iter().all(|other| is_plain(other) || self.is_pure(other)) {
                return outside("an argument of `max` or `min` with an order of its own");
            }
        }
        Ok(())
    }

    fn extreme_argument(&mut self, arguments: &[Argument<'a>], best: &mut Best<'a>) -> Emitted<()> {
        let values: Vec<Value> = arguments.iter().map(|&argument| self.argument(argument)).collect::<Emitted<_>>()?;
        for (index, &value) in values.iter().enumerate() {
            self.offer(value, best, if index == 0 { First::Yes } else { First::No })?;
        }
        values.into_iter().for_each(|value| self.release_value(value));
        Ok(())
    }

    fn extreme_of(&mut self, items: Argument<'a>, default: Option<Value>, best: &mut Best<'a>) -> Emitted<()> {
        self.long(END);
        self.set(best.value);
        let calm = if best.key_function.is_none() { Calm::Yes } else { Calm::No };
        self.each(items, calm, &mut |emitter, item| {
            let value = emitter.one(item);
            emitter.escape(value.kind);
            // The best value so far came from the same loop.
            (best.kind, best.key_kind) = (value.kind, Kind::Never);
            emitter.offer(value, best, First::Unknown)?;
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

    /// Takes a value if it is better than the best one.
    fn offer(&mut self, value: Value, best: &mut Best<'a>, first: First) -> Emitted<()> {
        let key = match best.key_function {
            None => Value { temporary: false, ..value },
            Some(function) => {
                let kind = self.invoke(function, &[Argument::Value(value)])?;
                self.take(kind)
            }
        };
        let so_far = match best.key_function {
            None => Value::local(best.value, best.kind),
            Some(_) if first == First::Unknown => Value::local(best.key, key.kind),
            Some(_) => Value::local(best.key, best.key_kind),
        };
        match first {
            First::Yes => {}
            First::No => self.compare(best.operator, key, so_far)?,
            First::Unknown => {
                self.get(best.value);
                self.long(END);
                self.put(Wasm::I64Eq);
                self.start_if(WORD);
                self.word(1);
                self.otherwise();
                self.compare(best.operator, key, so_far)?;
                self.end();
            }
        }
        if first != First::Yes {
            self.when();
        }
        self.push(value);
        self.set(best.value);
        if best.key_function.is_some() {
            self.push(key);
            self.set(best.key);
        }
        if first != First::Yes {
            self.end();
        }
        self.release_value(key);
        best.kind = self.joined(best.kind, value.kind);
        best.key_kind = self.joined(best.key_kind, key.kind);
        Ok(())
    }
}

/// Whether the evaluation of an expression can neither fail nor be observed.
fn is_constant(expression: &Expr) -> bool {
    match expression {
        Expr::UnaryOp(unary) => unary.operand.is_number_literal_expr(),
        Expr::Tuple(tuple) => tuple.elts.iter().all(is_constant),
        other => other.is_literal_expr(),
    }
}
