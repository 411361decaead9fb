//! Calls of methods, and of functions of the library.

use ruff_python_ast::{Expr, ExprAttribute, Keyword};
use wasm_encoder::Instruction as Wasm;

use super::code::Value;
use super::expression::Argument;
use super::kind::{Kind, Library};
use super::{Emitted, Emitter, cost, outside};
use crate::layout::NONE;

/// A method as the runtime has it: its name, how many arguments it takes, its function, the kind of its result.
const METHODS: &[(&str, usize, &str, Kind)] = &[
    ("append", 1, "method_append", Kind::None),
    ("add", 1, "method_add", Kind::None),
    ("pop", 0, "method_pop", Kind::Any),
    ("pop", 1, "method_pop_at", Kind::Any),
    ("pop", 2, "method_pop_default", Kind::Any),
    ("extend", 1, "method_extend", Kind::None),
    ("insert", 2, "method_insert", Kind::None),
    ("remove", 1, "method_remove", Kind::None),
    ("discard", 1, "method_discard", Kind::None),
    ("reverse", 0, "method_reverse", Kind::None),
    ("copy", 0, "method_copy", Kind::Any),
    ("clear", 0, "method_clear", Kind::None),
    ("count", 1, "method_count", Kind::Int),
    ("index", 1, "method_index", Kind::Int),
    ("find", 1, "method_find", Kind::Int),
    ("get", 2, "method_get", Kind::Any),
    ("setdefault", 2, "method_set_default", Kind::Any),
    ("update", 1, "method_update", Kind::None),
    ("keys", 0, "method_keys", Kind::Any),
    ("values", 0, "method_values", Kind::Any),
    ("items", 0, "method_items", Kind::Any),
    ("upper", 0, "method_upper", Kind::Str),
    ("lower", 0, "method_lower", Kind::Str),
];

/// The same of the library.
const LIBRARY: &[(Library, &str, usize, &str, Kind)] = &[
    (Library::Random, "random", 0, "random_random", Kind::Float),
    (Library::Random, "choice", 1, "random_choice", Kind::Any),
    (Library::Random, "randint", 2, "random_randint", Kind::Int),
    (Library::Random, "shuffle", 1, "random_shuffle", Kind::None),
    (Library::Math, "sqrt", 1, "math_sqrt", Kind::Float),
    (Library::Math, "log2", 1, "math_log2", Kind::Float),
    (Library::Math, "log", 1, "math_log", Kind::Float),
    (Library::Math, "floor", 1, "math_floor", Kind::Int),
    (Library::Math, "ceil", 1, "math_ceil", Kind::Int),
];

impl<'a> Emitter<'a> {
    /// Pushes the result of a method.
    pub(super) fn method(
        &mut self,
        method: &'a ExprAttribute,
        arguments: &[Argument<'a>],
        keywords: &'a [Keyword],
    ) -> Emitted<Kind> {
        let (owner, name) = (&*method.value, method.attr.as_str());
        self.charge(cost::method(name, arguments.len()));
        if name == "sort" && arguments.is_empty() {
            return self.sort_method(owner, keywords);
        }
        if !keywords.is_empty() {
            return outside(format!("keywords of `.{name}`"));
        }
        match (name, arguments) {
            ("bit_length", []) => return self.bit_length(owner),
            ("join", [items]) => {
                self.anything(owner)?;
                self.collect(*items)?;
                self.call_runtime("method_join");
                return Ok(Kind::Str);
            }
            ("extend", [items]) if self.is_loop(*items) || self.rows_of_zip(*items).is_some() => {
                return self.extend_by_loop(owner, *items);
            }
            ("get", [key]) => {
                self.anything(owner)?;
                self.any_argument(*key)?;
                self.long(NONE);
                self.call_runtime("method_get");
                return Ok(Kind::Any);
            }
            _ => {}
        }
        let known = METHODS.iter().find(|known| known.0 == name && known.1 == arguments.len());
        let Some(&(_, _, function, kind)) = known else {
            return outside(format!("method `.{name}` of {} arguments", arguments.len()));
        };
        self.anything(owner)?;
        for &argument in arguments {
            self.any_argument(argument)?;
        }
        self.call_runtime(function);
        Ok(kind)
    }

    /// Item by item: what gives them may look at the list.
    fn extend_by_loop(&mut self, owner: &'a Expr, items: Argument<'a>) -> Emitted<Kind> {
        self.anything(owner)?;
        self.call_runtime("py_check_list");
        let list = self.take(Kind::List);
        let opened = self.open_loop_into_list(items)?;
        self.go_through(opened, &mut |emitter, item| {
            let value = emitter.one(item);
            emitter.escape(value.kind);
            emitter.call_runtime_with("py_append", &[list, value]);
            emitter.charge(cost::APPEND);
            emitter.release_value(value);
            Ok(())
        })?;
        self.release_value(list);
        self.long(NONE);
        Ok(Kind::None)
    }

    fn bit_length(&mut self, owner: &'a Expr) -> Emitted<Kind> {
        let value = self.value(owner)?;
        let result = self.long_local();
        let end = self.block();
        let slow = self.block();
        self.branch_unless_integers(value, Value::constant(0, Kind::Int), slow);
        // 64 less the leading zeros of the magnitude.
        self.long(64);
        self.push_magnitude(value, result);
        self.long(1);
        self.put(Wasm::I64ShrU);
        self.put(Wasm::I64Clz);
        self.put(Wasm::I64Sub);
        self.long(1);
        self.put(Wasm::I64Shl);
        self.set(result);
        self.branch(end);
        self.end();
        self.call_runtime_with("py_bit_length", &[value]);
        self.set(result);
        self.end();
        self.get_last(result);
        self.release_value(value);
        Ok(Kind::Int)
    }

    /// Pushes the result of a function of the library.
    pub(super) fn library(&mut self, library: Library, name: &str, arguments: &[Argument<'a>]) -> Emitted<Kind> {
        let mut known = LIBRARY.iter().filter(|known| known.0 == library);
        let known = known.find(|known| known.1 == name && known.2 == arguments.len());
        let Some(&(_, _, _, function, kind)) = known else {
            return outside(format!("`{name}` of the library, of {} arguments", arguments.len()));
        };
        self.charge(cost::library(library, name));
        for &argument in arguments {
            self.any_argument(argument)?;
        }
        self.call_runtime(function);
        Ok(kind)
    }

    /// Pushes an attribute that is not called: a constant of the library, or the arguments of a caught exception.
    pub(super) fn attribute(&mut self, attribute: &'a ExprAttribute) -> Emitted<Kind> {
        let name = attribute.attr.as_str();
        let Expr::Name(owner) = &*attribute.value else { return outside(format!("attribute `.{name}`")) };
        let Some(variable) = self.resolve(&owner.id) else { return outside(format!("attribute `.{name}`")) };
        match (self.kinds[variable], name) {
            (Kind::Caught | Kind::Never, "args") => {
                self.load(variable);
                Ok(Kind::Tuple)
            }
            (Kind::Module(Library::Math), "inf" | "pi" | "e") => {
                self.load(variable);
                self.charge(cost::library(Library::Math, name));
                self.put(Wasm::Drop);
                let value = self.float(match name {
                    "inf" => f64::INFINITY,
                    "pi" => std::f64::consts::PI,
                    _ => std::f64::consts::E,
                });
                self.push(value);
                Ok(Kind::Float)
            }
            _ => outside(format!("attribute `.{name}`")),
        }
    }
}
