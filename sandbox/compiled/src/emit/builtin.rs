//! Calls of builtin functions.

use ruff_python_ast::{CmpOp, Expr, Keyword, Operator};
use wasm_encoder::Instruction as Wasm;

use super::code::{Value, long_at, word_field};
use super::expression::Argument;
use super::kind::Kind;
use super::{Emitted, Emitter, cost, outside};
use crate::layout::{LENGTH, NONE};

impl<'a> Emitter<'a> {
    /// Pushes the result of a builtin function.
    pub(super) fn builtin(&mut self, name: &str, arguments: &[Argument<'a>], keywords: &'a [Keyword]) -> Emitted<Kind> {
        if !keywords.is_empty() && !matches!(name, "max" | "min" | "sorted" | "print") {
            return outside(format!("keywords of `{name}`"));
        }
        if arguments.iter().any(is_starred) {
            self.charge(cost::builtin(name));
            return match (name, arguments) {
                ("max", [_]) => self.extreme(CmpOp::Gt, arguments, keywords),
                ("min", [_]) => self.extreme(CmpOp::Lt, arguments, keywords),
                ("zip", [Argument::Expression(Expr::Starred(starred))]) => {
                    self.push_iterable(Argument::Expression(&starred.value))?;
                    self.call_runtime("py_zip");
                    Ok(Kind::Any)
                }
                _ => outside("`*` in a call"),
            };
        }
        self.charge(cost::builtin(name) + cost::KEYWORD * keywords.len() as u32);
        match name {
            "max" => self.extreme(CmpOp::Gt, arguments, keywords),
            "min" => self.extreme(CmpOp::Lt, arguments, keywords),
            "print" => self.print(arguments, keywords),
            "list" | "tuple" | "set" | "dict" => self.container(name, arguments),
            "sorted" | "zip" | "enumerate" | "reversed" | "range" => self.iterable(name, arguments, keywords),
            "len" | "abs" | "sum" | "any" | "all" | "int" | "float" | "bool" | "pow" | "divmod" | "str" => {
                self.scalar(name, arguments)
            }
            _ => outside(format!("builtin `{name}`")),
        }
    }

    fn scalar(&mut self, name: &str, arguments: &[Argument<'a>]) -> Emitted<Kind> {
        match (name, arguments) {
            ("len", [one]) => self.length(*one),
            ("abs", [one]) => self.absolute(*one),
            ("sum", [items]) => self.sum(*items, None),
            ("sum", [items, start]) => self.sum(*items, Some(*start)),
            ("any", [items]) => self.any_or_all(*items, true),
            ("all", [items]) => self.any_or_all(*items, false),
            ("int", [one]) => {
                if self.push_argument(*one)? != Kind::Int {
                    self.call_runtime("py_to_int");
                }
                Ok(Kind::Int)
            }
            ("float", [one]) => self.float_call(*one),
            ("str", [one]) => {
                self.any_argument(*one)?;
                self.call_runtime("py_to_string");
                Ok(Kind::Str)
            }
            ("bool", [one]) => {
                let value = self.argument(*one)?;
                self.truth(value);
                self.release_value(value);
                self.boolean();
                Ok(Kind::Bool)
            }
            ("pow", [base, exponent]) => {
                let base = self.argument(*base)?;
                let exponent = self.argument(*exponent)?;
                let kind = self.binary(Operator::Pow, base, exponent)?;
                self.release_value(base);
                self.release_value(exponent);
                Ok(kind)
            }
            ("divmod", [dividend, divisor]) => self.divmod(*dividend, *divisor),
            _ => outside(format!("`{name}` of {} arguments", arguments.len())),
        }
    }

    fn length(&mut self, argument: Argument<'a>) -> Emitted<Kind> {
        let value = self.argument(argument)?;
        self.push(value);
        if value.kind.has_length() {
            self.put(Wasm::I32WrapI64);
            self.put(Wasm::I64Load32U(word_field(LENGTH)));
            self.long(1);
            self.put(Wasm::I64Shl);
        } else {
            self.call_runtime("py_length");
        }
        self.release_value(value);
        Ok(Kind::Int)
    }

    fn absolute(&mut self, argument: Argument<'a>) -> Emitted<Kind> {
        let value = self.argument(argument)?;
        if value.kind != Kind::Int {
            self.call_runtime_with("py_absolute", &[value]);
            self.release_value(value);
            return Ok(Kind::Any);
        }
        let result = self.long_local();
        self.push_magnitude(value, result);
        self.tee(result);
        self.long(0);
        self.put(Wasm::I64LtS);
        self.give_up_if();
        self.get_last(result);
        self.release_value(value);
        Ok(Kind::Int)
    }

    /// Pushes the magnitude of an integer; the smallest integer stays negative. Uses a local.
    pub(super) fn push_magnitude(&mut self, value: Value, sign: u32) {
        self.push(value);
        self.long(63);
        self.put(Wasm::I64ShrS);
        self.tee(sign);
        self.push(value);
        self.put(Wasm::I64Xor);
        self.get(sign);
        self.put(Wasm::I64Sub);
    }

    fn float_call(&mut self, argument: Argument<'a>) -> Emitted<Kind> {
        if let Argument::Expression(Expr::StringLiteral(literal)) = argument {
            let value = match literal.value.to_str() {
                "inf" | "+inf" | "infinity" | "Infinity" => f64::INFINITY,
                "-inf" | "-infinity" | "-Infinity" => f64::NEG_INFINITY,
                _ => return outside("`float` of text"),
            };
            let value = self.float(value);
            self.push(value);
        } else {
            self.push_argument(argument)?;
            self.call_runtime("py_to_float");
        }
        Ok(Kind::Float)
    }

    fn divmod(&mut self, dividend: Argument<'a>, divisor: Argument<'a>) -> Emitted<Kind> {
        let dividend = self.argument(dividend)?;
        let divisor = self.argument(divisor)?;
        let kind = self.binary(Operator::FloorDiv, dividend, divisor)?;
        let quotient = self.take(kind);
        let kind = self.binary(Operator::Mod, dividend, divisor)?;
        let rest = self.take(kind);
        let both = self.tuple_of(&[quotient, rest]);
        self.push(both);
        for value in [dividend, divisor, quotient, rest, both] {
            self.release_value(value);
        }
        Ok(Kind::Tuple)
    }

    fn container(&mut self, name: &str, arguments: &[Argument<'a>]) -> Emitted<Kind> {
        match (name, arguments) {
            ("list", []) => {
                self.push_empty_list();
                Ok(Kind::List)
            }
            ("list", [items]) => {
                self.collect(*items)?;
                Ok(Kind::List)
            }
            ("tuple", [items]) => {
                if self.is_loop(*items) || self.rows_of_zip(*items).is_some() {
                    self.collect(*items)?;
                } else {
                    self.any_argument(*items)?;
                }
                self.call_runtime("py_to_tuple");
                Ok(Kind::Tuple)
            }
            ("tuple", []) => {
                self.word(0);
                self.call_runtime("py_tuple");
                Ok(Kind::Tuple)
            }
            ("dict", [pairs]) if self.is_drawn(*pairs) => self.dict_of_pairs(*pairs),
            ("set" | "dict", _) => {
                let (empty, from, kind) = match name {
                    "set" => ("py_set", "py_to_set", Kind::Set),
                    _ => ("py_dict", "py_to_dict", Kind::Dict),
                };
                match arguments {
                    [] => {
                        self.word(0);
                        self.call_runtime(empty);
                    }
                    [items] => {
                        self.push_iterable(*items)?;
                        self.call_runtime(from);
                    }
                    _ => return outside(format!("`{name}` of {} arguments", arguments.len())),
                }
                Ok(kind)
            }
            _ => outside(format!("`{name}` of {} arguments", arguments.len())),
        }
    }

    /// Pushes an iterable that the runtime can iterate over by itself.
    pub(super) fn push_iterable(&mut self, argument: Argument<'a>) -> Emitted<()> {
        if self.is_drawn(argument) {
            return self.collect(argument);
        }
        self.any_argument(argument).map(drop)
    }

    /// Whether the program makes the items of an argument one by one, as they are asked for.
    fn is_drawn(&self, argument: Argument<'a>) -> bool {
        let is_map = matches!(argument, Argument::Expression(Expr::Call(call))
            if matches!(&*call.func, Expr::Name(name) if name.id == "map"));
        (is_map && self.is_loop(argument)) || matches!(argument, Argument::Expression(Expr::Generator(_)))
    }

    /// A dict of pairs that the program makes: each is read before the next is made, for they may be one list.
    fn dict_of_pairs(&mut self, pairs: Argument<'a>) -> Emitted<Kind> {
        let pairs = self.open(pairs)?;
        let made = self.made("py_dict", 0);
        self.go_through(pairs, &mut |emitter, item| {
            let pair = emitter.one(item);
            emitter.escape(pair.kind);
            let address = emitter.word_local();
            emitter.push(pair);
            emitter.word(2);
            emitter.call_runtime("py_unpack");
            emitter.set(address);
            emitter.get(made);
            for index in 0..2 {
                emitter.get(address);
                emitter.put(Wasm::I64Load(long_at(8 * index)));
            }
            emitter.call_runtime("py_dict_set");
            emitter.release(address);
            emitter.release_value(pair);
            Ok(())
        })?;
        Ok(self.finished(made, Kind::Dict))
    }

    fn iterable(&mut self, name: &str, arguments: &[Argument<'a>], keywords: &'a [Keyword]) -> Emitted<Kind> {
        match (name, arguments) {
            ("sorted", [items]) => return self.sorted(*items, keywords),
            ("range", [stop]) => {
                self.long(0);
                self.push_argument(*stop)?;
                self.long(2);
                self.call_runtime("py_range");
            }
            ("range", [start, stop, step @ ..]) if step.len() < 2 => {
                self.push_argument(*start)?;
                self.push_argument(*stop)?;
                match step {
                    [step] => {
                        self.push_argument(*step)?;
                    }
                    _ => self.long(2),
                }
                self.call_runtime("py_range");
            }
            ("zip", _) => {
                let iterables = self.any_values(arguments)?;
                let tuple = self.tuple_of(&iterables);
                self.push(tuple);
                self.release_value(tuple);
                iterables.into_iter().for_each(|value| self.release_value(value));
                self.call_runtime("py_zip");
            }
            ("enumerate", [items, start @ ..]) if start.len() < 2 => {
                self.any_argument(*items)?;
                match start {
                    [start] => {
                        self.push_argument(*start)?;
                    }
                    _ => self.long(0),
                }
                self.call_runtime("py_enumerate");
            }
            ("reversed", [items]) => {
                self.any_argument(*items)?;
                self.call_runtime("py_reversed");
            }
            _ => return outside(format!("`{name}` of {} arguments", arguments.len())),
        }
        Ok(Kind::Any)
    }

    /// Evaluates arguments whose kinds are not tracked any further.
    fn any_values(&mut self, arguments: &[Argument<'a>]) -> Emitted<Vec<Value>> {
        let mut values = Vec::with_capacity(arguments.len());
        for &argument in arguments {
            let value = self.argument(argument)?;
            self.escape(value.kind);
            values.push(value);
        }
        Ok(values)
    }

    /// The output of a called program is dropped, but a value that cannot be printed must raise.
    fn print(&mut self, arguments: &[Argument<'a>], keywords: &'a [Keyword]) -> Emitted<Kind> {
        self.charge(cost::PRINT_ARGUMENT * arguments.len().saturating_sub(1) as u32);
        for value in self.any_values(arguments)? {
            self.prints_floats |= !matches!(value.kind, Kind::Int | Kind::Bool | Kind::Str | Kind::None);
            self.call_runtime_with("py_check_printable", &[value]);
            self.release_value(value);
        }
        for keyword in keywords {
            let is_plain = match keyword.arg.as_ref().map(|name| name.as_str()) {
                Some("sep" | "end") => match &keyword.value {
                    Expr::StringLiteral(literal) => literal.value.to_str().len() <= cost::WRITTEN_MAX,
                    other => other.is_none_literal_expr(),
                },
                Some("flush") => keyword.value.is_boolean_literal_expr(),
                _ => false,
            };
            if !is_plain {
                return outside("a keyword of `print`");
            }
        }
        self.long(NONE);
        Ok(Kind::None)
    }
}

fn is_starred(argument: &Argument) -> bool {
    matches!(argument, Argument::Expression(Expr::Starred(_)))
}
