//! Calls of the program's own functions.

use ruff_python_ast::{Expr, ExprCall};
use wasm_encoder::Instruction as Wasm;

use super::code::{Step, Value, word_field};
use super::expression::Argument;
use super::kind::Kind;
use super::{Emitted, Emitter, cost, outside};
use crate::layout::{FUNCTION, FUNCTION_NUMBER, PARAMETER_COUNT};

/// The callee of a call.
#[derive(Clone, Copy)]
pub(super) enum Callee<'a> {
    Builtin(&'a str),
    /// A closure in a local, of this function.
    Known(u32, usize),
    /// A local that may hold any value.
    Unknown(u32),
}

/// Most arguments of a call whose callee is unknown.
pub(super) const ARGUMENTS_MAX: usize = 8;

impl<'a> Emitter<'a> {
    /// The callee that an expression names.
    pub(super) fn callee(&mut self, expression: &'a Expr) -> Emitted<Callee<'a>> {
        if let Expr::Name(name) = expression
            && self.is_builtin(&name.id)
        {
            return Ok(Callee::Builtin(&name.id));
        }
        let kind = self.expression(expression)?;
        let local = self.set_new();
        Ok(match kind {
            Kind::Function(id) => Callee::Known(local, id),
            _ => Callee::Unknown(local),
        })
    }

    pub(super) fn release_callee(&mut self, callee: Callee<'a>) {
        if let Callee::Known(local, _) | Callee::Unknown(local) = callee {
            self.release(local);
        }
    }

    /// Pushes the result of a call with positional arguments.
    pub(super) fn invoke(&mut self, callee: Callee<'a>, arguments: &[Argument<'a>]) -> Emitted<Kind> {
        match callee {
            Callee::Builtin(name) => self.builtin(name, arguments, &[]),
            Callee::Known(local, id) => self.call_known(local, id, arguments),
            Callee::Unknown(local) => self.call_unknown(local, arguments),
        }
    }

    fn charge_call(&mut self, arguments: usize) {
        self.charge(cost::CALL + cost::CALL_ARGUMENT * arguments as u32);
    }

    fn call_known(&mut self, closure: u32, id: usize, arguments: &[Argument<'a>]) -> Emitted<Kind> {
        let parameters = &self.scopes.functions[id].parameters;
        if arguments.len() > parameters.len() {
            return outside("a call with too many arguments");
        }
        self.charge_call(arguments.len());
        self.calls[self.body.id].insert(id);
        self.get(closure);
        for (&argument, &parameter) in arguments.iter().zip(parameters) {
            let kind = self.push_argument(argument)?;
            self.join(parameter, kind);
        }
        for parameter in arguments.len()..parameters.len() {
            self.push_default(closure, id, parameter)?;
        }
        self.body.code.push(Step::Function(id));
        Ok(self.returns[id])
    }

    fn call_unknown(&mut self, closure: u32, arguments: &[Argument<'a>]) -> Emitted<Kind> {
        if arguments.len() > ARGUMENTS_MAX {
            return outside("a call with so many arguments");
        }
        self.charge_call(arguments.len());
        for id in (0..self.scopes.functions.len()).filter(|&id| self.escaped[id]) {
            self.calls[self.body.id].insert(id);
        }
        let address = self.word_local();
        self.get(closure);
        self.put(Wasm::I32WrapI64);
        self.tee(address);
        self.test_object();
        self.put(Wasm::I32Eqz);
        self.give_up_if();
        self.get(address);
        self.put(Wasm::I32Load(word_field(0)));
        self.word(FUNCTION as i32);
        self.put(Wasm::I32Ne);
        self.get(address);
        self.put(Wasm::I32Load(word_field(PARAMETER_COUNT)));
        self.word(arguments.len() as i32);
        self.put(Wasm::I32Ne);
        self.put(Wasm::I32Or);
        self.give_up_if();
        self.get(closure);
        for &argument in arguments {
            self.any_argument(argument)?;
        }
        self.get(address);
        self.put(Wasm::I32Load(word_field(FUNCTION_NUMBER)));
        self.body.code.push(Step::Indirect(arguments.len()));
        self.release(address);
        Ok(Kind::Any)
    }

    /// Pushes the result of a call.
    pub(super) fn call(&mut self, call: &'a ExprCall) -> Emitted<Kind> {
        let arguments: Vec<Argument<'a>> = call.arguments.args.iter().map(Argument::Expression).collect();
        let keywords = &call.arguments.keywords[..];
        let is_starred = call.arguments.args.iter().any(Expr::is_starred_expr);
        match &*call.func {
            Expr::Attribute(method) => {
                if is_starred {
                    return outside("`*` in a call of a method");
                }
                if let Expr::Name(name) = &*method.value
                    && let Some(variable) = self.resolve(&name.id)
                    && let Kind::Module(library) = self.kinds[variable]
                {
                    if !keywords.is_empty() {
                        return outside("keywords of the library");
                    }
                    self.load(variable);
                    self.put(Wasm::Drop);
                    return self.library(library, &method.attr, &arguments);
                }
                self.method(method, &arguments, keywords)
            }
            Expr::Name(name) if self.is_builtin(&name.id) => self.builtin(&name.id, &arguments, keywords),
            _ if is_starred => outside("`*` in a call"),
            function => {
                let callee = self.callee(function)?;
                let kind = match callee {
                    _ if keywords.is_empty() => self.invoke(callee, &arguments)?,
                    Callee::Known(closure, id) => self.call_with_keywords(call, closure, id)?,
                    _ => return outside("keywords for a function that is not known"),
                };
                self.release_callee(callee);
                Ok(kind)
            }
        }
    }

    fn call_with_keywords(&mut self, call: &'a ExprCall, closure: u32, id: usize) -> Emitted<Kind> {
        self.charge_call(call.arguments.len());
        self.charge(cost::CALL_KEYWORDS);
        let function = &self.scopes.functions[id];
        let positional = &call.arguments.args;
        let mut given: Vec<Option<Value>> = vec![None; function.parameters.len()];
        if positional.len() > given.len() {
            return outside("a call with too many arguments");
        }
        for (index, argument) in positional.iter().enumerate() {
            let value = self.value(argument)?;
            self.join(function.parameters[index], value.kind);
            given[index] = Some(value);
        }
        for keyword in &call.arguments.keywords {
            let Some(name) = &keyword.arg else { return outside("`**` in a call") };
            let parameters = &mut function.parameters.iter().skip(function.positional_only);
            let named = parameters.position(|&one| self.scopes.variables[one].name == name.as_str());
            let index = match named.map(|index| index + function.positional_only) {
                Some(index) if given[index].is_none() => index,
                _ => return outside(format!("keyword `{name}` of a call")),
            };
            let value = self.value(&keyword.value)?;
            self.join(function.parameters[index], value.kind);
            given[index] = Some(value);
        }
        self.calls[self.body.id].insert(id);
        self.get(closure);
        for (parameter, value) in given.iter().enumerate() {
            match value {
                Some(value) => self.push(*value),
                None => self.push_default(closure, id, parameter)?,
            }
        }
        self.body.code.push(Step::Function(id));
        given.into_iter().flatten().for_each(|value| self.release_value(value));
        Ok(self.returns[id])
    }
}
