//! Iterables of `for`, comprehensions and reductions. A range is counted and a list or tuple is indexed, without an iterator;
//! everything else uses an iterator of the runtime.

use ruff_python_ast::{Expr, ExprCall};
use wasm_encoder::Instruction as Wasm;

use super::call::Callee;
use super::code::WORD;
use super::expression::Argument;
use super::kind::Kind;
use super::{Emitted, Emitter, cost, outside};

/// Bounds of a range that is counted in place: no step from one within them leaves 62 bits.
const BOUND_MAX: i64 = 1 << 60;
const STEP_MAX: i64 = 1 << 19;

/// An iterable.
pub(super) enum Source<'a> {
    /// `is_small`: no number of it is beyond 256.
    Range {
        next: u32,
        stop: u32,
        step: i64,
        is_small: bool,
    },
    Object(Object),
    Zip(Vec<Source<'a>>),
    Enumerate {
        index: u32,
        inner: Box<Source<'a>>,
    },
    Map {
        function: Callee<'a>,
        inner: Vec<Source<'a>>,
    },
}

/// An object whose items are taken: of a list or tuple by index, of anything else by an iterator of the runtime.
pub(super) struct Object {
    /// The iterator, if it is one.
    pub(super) value: u32,
    /// The address of the list or tuple; zero if it is none.
    pub(super) address: u32,
    pub(super) index: u32,
    /// It is known to be a list or tuple.
    pub(super) is_sequence: bool,
    pub(super) items: Kind,
}

impl<'a> Emitter<'a> {
    /// Evaluates the iterable of a loop.
    pub(super) fn source(&mut self, argument: Argument<'a>) -> Emitted<Source<'a>> {
        match argument {
            Argument::Expression(Expr::Call(call)) => {
                if let Some(source) = self.call_source(call)? {
                    return Ok(source);
                }
            }
            Argument::Expression(Expr::Generator(_)) => return outside("a generator beside other sources"),
            Argument::Expression(Expr::StringLiteral(literal)) => {
                // Letters one by one: a tuple that is there already.
                let letters: Vec<i64> = literal
                    .value
                    .to_str()
                    .chars()
                    .map(|letter| self.string(&letter.to_string()))
                    .collect::<Emitted<_>>()?;
                let letters = self.constant_tuple(&letters);
                self.charge(cost::ITERATE_TEXT);
                self.long(letters);
                return Ok(self.object(Kind::Tuple, Kind::Str));
            }
            _ => {}
        }
        let kind = match (self.rows_of_zip(argument), argument) {
            (Some(rows), _) => {
                self.zip_of_rows(rows, "py_zip_now")?;
                Kind::Any
            }
            (None, argument) => self.any_argument(argument)?,
        };
        Ok(self.object(kind, if kind == Kind::Str { Kind::Str } else { Kind::Any }))
    }

    /// A call that is a loop and never a value; none if it has to be evaluated.
    fn call_source(&mut self, call: &'a ExprCall) -> Emitted<Option<Source<'a>>> {
        let Expr::Name(name) = &*call.func else { return Ok(None) };
        let arguments = &call.arguments.args[..];
        if !self.is_builtin(&name.id)
            || !call.arguments.keywords.is_empty()
            || arguments.iter().any(Expr::is_starred_expr)
        {
            return Ok(None);
        }
        match (name.id.as_str(), arguments) {
            ("range", [stop]) => self.range(None, stop, 1).map(Some),
            ("range", [start, stop]) => self.range(Some(start), stop, 1).map(Some),
            ("range", [start, stop, step]) => match self.constant(step)?.and_then(|value| value.integer()) {
                Some(step) if step != 0 && step.abs() < STEP_MAX => self.range(Some(start), stop, step).map(Some),
                _ => Ok(None),
            },
            ("zip", [_, ..]) => {
                self.charge(cost::ZIP);
                self.sources(arguments).map(Source::Zip).map(Some)
            }
            ("enumerate", [inner]) => self.enumerate(inner, None).map(Some),
            ("enumerate", [inner, start]) => self.enumerate(inner, Some(start)).map(Some),
            ("map", [function, inner @ ..]) if !inner.is_empty() => {
                self.charge(cost::MAP);
                let function = self.callee(function)?;
                let inner = self.sources(inner)?;
                Ok(Some(Source::Map { function, inner }))
            }
            _ => Ok(None),
        }
    }

    fn sources(&mut self, arguments: &'a [Expr]) -> Emitted<Vec<Source<'a>>> {
        arguments.iter().map(|argument| self.source(Argument::Expression(argument))).collect()
    }

    fn enumerate(&mut self, inner: &'a Expr, start: Option<&'a Expr>) -> Emitted<Source<'a>> {
        self.charge(cost::ENUMERATE);
        let inner = Box::new(self.source(Argument::Expression(inner))?);
        let index = self.long_local();
        match start {
            None => self.long(0),
            Some(start) => match self.constant(start)? {
                Some(start) if start.kind == Kind::Int => self.push(start),
                _ => return outside("`enumerate` from what is no constant"),
            },
        }
        self.set(index);
        Ok(Source::Enumerate { index, inner })
    }

    fn range(&mut self, start: Option<&'a Expr>, stop: &'a Expr, step: i64) -> Emitted<Source<'a>> {
        self.charge(cost::RANGE);
        let mut is_small = true;
        for bound in start.into_iter().chain([stop]) {
            let number = self.constant(bound)?.and_then(|value| value.integer());
            is_small &= number.is_some_and(|number| (-5..=257).contains(&number));
        }
        let (next, last) = (self.long_local(), self.long_local());
        match start {
            None => self.long(0),
            Some(start) => self.push_bound(start, next)?,
        }
        self.set(next);
        self.push_bound(stop, last)?;
        self.set(last);
        Ok(Source::Range { next, stop: last, step, is_small })
    }

    /// Pushes a bound of a range: an integer that is far from where counting would wrap.
    fn push_bound(&mut self, bound: &'a Expr, local: u32) -> Emitted<()> {
        if let Some(constant) = self.constant(bound)?
            && constant.integer().is_some_and(|value| value.abs() < BOUND_MAX)
        {
            self.charge(cost::CONSTANT);
            self.push(constant);
            return Ok(());
        }
        let kind = self.expression(bound)?;
        if kind != Kind::Int {
            self.tee(local);
            self.test_no_integer();
            self.give_up_if();
            self.get(local);
        }
        self.tee(local);
        self.long(2 * BOUND_MAX);
        self.put(Wasm::I64Add);
        self.long(4 * BOUND_MAX);
        self.put(Wasm::I64GeU);
        self.give_up_if();
        self.get(local);
        Ok(())
    }

    /// Prepares to take the items of the object on the stack.
    fn object(&mut self, kind: Kind, items: Kind) -> Source<'a> {
        self.charge(cost::ITERATE);
        let (value, address, index) = (self.long_local(), self.word_local(), self.word_local());
        self.tee(value);
        self.put(Wasm::I32WrapI64);
        self.set(address);
        self.word(0);
        self.set(index);
        if !kind.is_sequence() {
            self.get(address);
            self.test_object();
            self.start_if(WORD);
            self.get(address);
            self.test_sequence();
            self.otherwise();
            self.word(0);
            self.end();
            self.put(Wasm::I32Eqz);
            self.when();
            self.get(value);
            self.call_runtime("py_iterator");
            self.set(value);
            self.word(0);
            self.set(address);
            self.end();
        }
        Source::Object(Object { value, address, index, is_sequence: kind.is_sequence(), items })
    }

    pub(super) fn release_source(&mut self, source: Source<'a>) {
        match source {
            Source::Range { next, stop, .. } => {
                self.release(next);
                self.release(stop);
            }
            Source::Object(object) => {
                self.release(object.value);
                self.release(object.address);
                self.release(object.index);
            }
            Source::Zip(inner) => inner.into_iter().for_each(|source| self.release_source(source)),
            Source::Enumerate { index, inner } => {
                self.release(index);
                self.release_source(*inner);
            }
            Source::Map { function, inner } => {
                self.release_callee(function);
                inner.into_iter().for_each(|source| self.release_source(source));
            }
        }
    }

    /// The rows of `zip(*rows)`.
    pub(super) fn rows_of_zip(&self, argument: Argument<'a>) -> Option<&'a Expr> {
        let Argument::Expression(Expr::Call(call)) = argument else { return None };
        match (&*call.func, &call.arguments.args[..]) {
            (Expr::Name(name), [Expr::Starred(rows)])
                if name.id == "zip" && call.arguments.keywords.is_empty() && self.is_builtin("zip") =>
            {
                Some(&rows.value)
            }
            _ => None,
        }
    }

    /// Pushes `zip(*rows)`, as this function of the runtime makes it.
    pub(super) fn zip_of_rows(&mut self, rows: &'a Expr, function: &'static str) -> Emitted<()> {
        self.charge(cost::ZIP);
        self.push_iterable(Argument::Expression(rows))?;
        self.call_runtime(function);
        Ok(())
    }

    /// Whether an argument is a loop rather than a value.
    pub(super) fn is_loop(&self, argument: Argument<'a>) -> bool {
        match argument {
            Argument::Expression(Expr::Generator(_)) => true,
            Argument::Expression(Expr::Call(call)) => {
                matches!(&*call.func, Expr::Name(name)
                    if matches!(name.id.as_str(), "zip" | "map" | "enumerate" | "range") && self.is_builtin(&name.id))
                    && call.arguments.keywords.is_empty()
                    && !call.arguments.args.iter().any(Expr::is_starred_expr)
            }
            _ => false,
        }
    }
}
