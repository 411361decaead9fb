//! Comprehensions, and generators that are consumed where they are written, as nested loops.

use std::collections::BTreeMap;

use ruff_python_ast::{Comprehension, Expr, ExprGenerator};
use wasm_encoder::Instruction as Wasm;

use super::expression::Argument;
use super::iteration::Item;
use super::pull::Calm;
use super::{Emitted, Emitter, outside};
use crate::layout::UNBOUND;
use crate::scope::Mode;

/// Emits the code for every element.
type Element<'s, 'a> = &'s mut dyn FnMut(&mut Emitter<'a>) -> Emitted<()>;

/// Names that a comprehension binds, with their variables.
type Names = BTreeMap<String, usize>;

impl<'a> Emitter<'a> {
    /// Emits the loops of a comprehension. `is_calm`: nothing changes a list while the loops run.
    pub(super) fn comprehension(
        &mut self,
        generators: &'a [Comprehension],
        is_calm: bool,
        element: Element<'_, 'a>,
    ) -> Emitted<()> {
        let calm = if is_calm { Calm::Yes } else { Calm::No };
        if generators.iter().any(|generator| generator.is_async) {
            return outside("an asynchronous comprehension");
        }
        let names = &self.scopes.comprehension_of[&(generators.as_ptr() as usize)];
        let bound = self.body.assigned.clone();
        // The first iterable is evaluated outside the comprehension's scope.
        if let Expr::Generator(inner) = &generators[0].iter {
            self.over_generator(inner, generators, names, element)?;
        } else {
            let source = self.source(Argument::Expression(&generators[0].iter), calm)?;
            self.enter(names);
            self.drain(&source, &mut |emitter, item| emitter.step(generators, item, calm, element))?;
            self.body.comprehensions.pop();
            self.release_source(source);
        }
        self.body.assigned = bound;
        Ok(())
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
    fn step(
        &mut self,
        generators: &'a [Comprehension],
        item: Item,
        calm: Calm,
        element: Element<'_, 'a>,
    ) -> Emitted<()> {
        self.assign(&generators[0].target, item)?;
        let skip = self.block();
        for condition in &generators[0].ifs {
            self.condition(condition)?;
            self.put(Wasm::I32Eqz);
            self.branch_if(skip);
        }
        match &generators[1..] {
            [] => element(self)?,
            [next, ..] if next.iter.is_generator_expr() => return outside("a generator in an inner place"),
            [next, ..] => {
                let bound = self.body.assigned.clone();
                let source = self.source(Argument::Expression(&next.iter), calm)?;
                self.drain(&source, &mut |emitter, item| emitter.step(&generators[1..], item, calm, element))?;
                self.release_source(source);
                self.body.assigned = bound;
            }
        }
        self.end();
        Ok(())
    }

    /// A comprehension over a generator, whose items are taken one by one anyway.
    fn over_generator(
        &mut self,
        inner: &'a ExprGenerator,
        generators: &'a [Comprehension],
        names: &Names,
        element: Element<'_, 'a>,
    ) -> Emitted<()> {
        if names.values().any(|&variable| self.scopes.variables[variable].mode == Mode::Cell) {
            return outside("a captured name of a comprehension over a generator");
        }
        self.comprehension(&inner.generators, false, &mut |emitter| {
            let kind = emitter.anything(&inner.elt)?;
            let value = emitter.take(kind);
            // Names of the inner generator are not visible outside it.
            let hidden = emitter.body.comprehensions.pop().expect("a comprehension is around");
            emitter.body.comprehensions.push(names.clone());
            let super::code::Place::Local(local) = value.place else { return outside("a generator") };
            emitter.step(generators, Item::One(local, kind), Calm::No, element)?;
            emitter.body.comprehensions.pop();
            emitter.body.comprehensions.push(hidden);
            emitter.release_value(value);
            Ok(())
        })
    }
}
