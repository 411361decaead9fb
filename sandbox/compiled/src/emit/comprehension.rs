//! Comprehensions, and generators that are consumed where they are written, as nested loops.

use std::collections::BTreeMap;

use ruff_python_ast::{Comprehension, Expr, ExprGenerator};
use wasm_encoder::Instruction as Wasm;

use super::expression::Argument;
use super::iterable::Source;
use super::iteration::Item;
use super::{Emitted, Emitter, outside};
use crate::layout::UNBOUND;
use crate::scope::Mode;

/// Emits the code for every element.
type Element<'s, 'a> = &'s mut dyn FnMut(&mut Emitter<'a>) -> Emitted<()>;

/// Names that a comprehension binds, with their variables.
type Names = BTreeMap<String, usize>;

impl<'a> Emitter<'a> {
    /// Emits a comprehension: its first iterable, and its loops.
    pub(super) fn comprehension(&mut self, generators: &'a [Comprehension], element: Element<'_, 'a>) -> Emitted<()> {
        let first = self.first_source(generators)?;
        self.loops(generators, first, element)
    }

    /// Evaluates the first iterable, outside the comprehension's scope. It is all that is evaluated where a generator is
    /// written; where it is another generator, the first of that is.
    pub(super) fn first_source(&mut self, generators: &'a [Comprehension]) -> Emitted<Source<'a>> {
        match &generators[0].iter {
            Expr::Generator(inner) => self.first_source(&inner.generators),
            iterable => self.source(Argument::Expression(iterable)),
        }
    }

    /// Emits the loops of a comprehension whose first iterable is evaluated.
    pub(super) fn loops(
        &mut self,
        generators: &'a [Comprehension],
        first: Source<'a>,
        element: Element<'_, 'a>,
    ) -> Emitted<()> {
        if generators.iter().any(|generator| generator.is_async) {
            return outside("an asynchronous comprehension");
        }
        let names = &self.scopes.comprehension_of[&(generators.as_ptr() as usize)];
        let bound = self.body.assigned.clone();
        if generators.len() > 1 {
            self.unbind(names);
        }
        if let Expr::Generator(inner) = &generators[0].iter {
            self.over_generator(inner, first, generators, element)?;
        } else {
            self.enter(names);
            self.drain(&first, &mut |emitter, item| emitter.step(generators, item, element))?;
            self.body.comprehensions.pop();
            self.release_source(first);
        }
        self.body.assigned = bound;
        Ok(())
    }

    /// Unbinds what an earlier run has bound: before its loop is reached, the name of an inner loop may be read.
    fn unbind(&mut self, names: &Names) {
        for &variable in names.values() {
            if self.scopes.variables[variable].mode == Mode::Local {
                let local = self.place(variable);
                self.long(UNBOUND);
                self.set(local);
            }
        }
    }

    fn enter(&mut self, names: &Names) {
        for &variable in names.values() {
            if self.scopes.variables[variable].mode == Mode::Cell {
                self.long(UNBOUND);
                self.make_cell(variable);
            }
        }
        self.body.comprehensions.push(names.clone());
    }

    /// Binds an item of the first of these generators, checks its conditions, and continues with the other generators.
    fn step(&mut self, generators: &'a [Comprehension], item: Item, element: Element<'_, 'a>) -> Emitted<()> {
        self.assign(&generators[0].target, item)?;
        let skip = self.block();
        for condition in &generators[0].ifs {
            self.condition(condition)?;
            self.put(Wasm::I32Eqz);
            self.branch_if(skip);
            self.open_arm();
        }
        match &generators[1..] {
            [] => element(self)?,
            [next, ..] if next.iter.is_generator_expr() => return outside("a generator in an inner place"),
            [next, ..] => {
                let bound = self.body.assigned.clone();
                let source = self.source(Argument::Expression(&next.iter))?;
                self.drain(&source, &mut |emitter, item| emitter.step(&generators[1..], item, element))?;
                self.release_source(source);
                self.body.assigned = bound;
            }
        }
        for _ in &generators[0].ifs {
            self.close_gas();
        }
        self.end();
        Ok(())
    }

    /// A comprehension over a generator, whose items are taken one by one anyway.
    fn over_generator(
        &mut self,
        inner: &'a ExprGenerator,
        first: Source<'a>,
        generators: &'a [Comprehension],
        element: Element<'_, 'a>,
    ) -> Emitted<()> {
        let names = &self.scopes.comprehension_of[&(generators.as_ptr() as usize)];
        if names.values().any(|&variable| self.scopes.variables[variable].mode == Mode::Cell) {
            return outside("a captured name of a comprehension over a generator");
        }
        self.loops(&inner.generators, first, &mut |emitter| {
            let kind = emitter.anything(&inner.elt)?;
            let value = emitter.take(kind);
            // Names of the inner generator are not visible outside it.
            let hidden = emitter.body.comprehensions.pop().expect("a comprehension is around");
            emitter.body.comprehensions.push(names.clone());
            let super::code::Place::Local(local) = value.place else { return outside("a generator") };
            emitter.step(generators, Item::One(local, kind), element)?;
            emitter.body.comprehensions.pop();
            emitter.body.comprehensions.push(hidden);
            emitter.release_value(value);
            Ok(())
        })
    }
}
