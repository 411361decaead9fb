//! Expressions: each leaves its value on the stack, or in a place from which it can be pushed again.

use ruff_python_ast::{BoolOp, Expr, ExprBoolOp, ExprNamed, ExprUnaryOp, Operator, UnaryOp};
use wasm_encoder::Instruction as Wasm;

use super::code::{LONG, Value};
use super::kind::Kind;
use super::names::is_builtin;
use super::{Emitted, Emitter, cost, outside};
use crate::layout::NONE;
use crate::scope::Mode;

/// A value that is still to be evaluated, or one that is in a local.
#[derive(Clone, Copy)]
pub(super) enum Argument<'a> {
    Expression(&'a Expr),
    Value(Value),
}

impl<'a> Emitter<'a> {
    /// Evaluates an expression to a value that can be pushed any number of times.
    pub(super) fn value(&mut self, expression: &'a Expr) -> Emitted<Value> {
        if let Some(constant) = self.constant(expression)? {
            self.charge(cost::CONSTANT);
            return Ok(constant);
        }
        if let Expr::Name(name) = expression
            && let Some(variable) = self.resolve(&name.id)
            && self.is_steady(variable)
        {
            self.charge(cost::LOAD);
            let local = self.place(variable);
            return Ok(Value::local(local, self.kinds[variable]));
        }
        let kind = self.expression(expression)?;
        Ok(self.take(kind))
    }

    /// Whether the local of a variable keeps its value until the enclosing expression is done.
    fn is_steady(&self, variable: usize) -> bool {
        matches!(self.scopes.variables[variable].mode, Mode::Local | Mode::Value)
            && self.scopes.variables[variable].owner == self.body.id
            && self.body.assigned.contains(&variable)
            && !self.scopes.functions[self.body.id].has_walrus
            && !matches!(self.kinds[variable], Kind::Caught | Kind::Module(_))
    }

    pub(super) fn argument(&mut self, argument: Argument<'a>) -> Emitted<Value> {
        match argument {
            Argument::Expression(expression) => self.value(expression),
            Argument::Value(value) => Ok(Value { temporary: false, ..value }),
        }
    }

    pub(super) fn push_argument(&mut self, argument: Argument<'a>) -> Emitted<Kind> {
        match argument {
            Argument::Expression(expression) => self.expression(expression),
            Argument::Value(value) => {
                self.push(value);
                Ok(value.kind)
            }
        }
    }

    /// Pushes a value whose kind is not tracked any further.
    pub(super) fn anything(&mut self, expression: &'a Expr) -> Emitted<Kind> {
        let kind = self.expression(expression)?;
        self.escape(kind);
        Ok(kind)
    }

    pub(super) fn any_argument(&mut self, argument: Argument<'a>) -> Emitted<Kind> {
        let kind = self.push_argument(argument)?;
        self.escape(kind);
        Ok(kind)
    }

    /// Pushes the value of an expression.
    pub(super) fn expression(&mut self, expression: &'a Expr) -> Emitted<Kind> {
        if let Some(constant) = self.constant(expression)? {
            self.charge(cost::CONSTANT);
            self.push(constant);
            return Ok(constant.kind);
        }
        match expression {
            Expr::Name(name) => self.name(&name.id),
            Expr::BinOp(binary) => {
                let left = self.value(&binary.left)?;
                let right = self.value(&binary.right)?;
                let kind = self.binary(binary.op, left, right)?;
                self.release_value(left);
                self.release_value(right);
                Ok(kind)
            }
            Expr::UnaryOp(unary) => self.unary(unary, expression),
            Expr::Compare(comparison) => {
                self.comparison(comparison)?;
                self.boolean();
                Ok(Kind::Bool)
            }
            Expr::BoolOp(operation) => self.boolean_operation(operation),
            Expr::If(choice) => {
                self.condition(&choice.test)?;
                self.start_if(LONG);
                self.open_arm();
                let one = self.expression(&choice.body)?;
                self.close_gas();
                self.otherwise();
                self.open_arm();
                let two = self.expression(&choice.orelse)?;
                self.close_gas();
                self.end();
                Ok(self.joined(one, two))
            }
            Expr::List(_)
            | Expr::Tuple(_)
            | Expr::Dict(_)
            | Expr::Set(_)
            | Expr::ListComp(_)
            | Expr::SetComp(_)
            | Expr::DictComp(_) => self.display(expression),
            Expr::Subscript(subscript) => self.subscript_expression(subscript),
            Expr::Lambda(lambda) => {
                let id = self.scopes.function_of[&(lambda as *const _ as usize)];
                self.closure(id)?;
                Ok(Kind::Function(id))
            }
            Expr::Named(named) => self.named(named),
            Expr::Call(call) => self.call(call),
            Expr::Attribute(attribute) => self.attribute(attribute),
            other => outside(super::names::description(other)),
        }
    }

    fn name(&mut self, name: &str) -> Emitted<Kind> {
        match self.resolve(name) {
            Some(variable) => match self.kinds[variable] {
                Kind::Caught => outside("an exception as a value"),
                Kind::Module(_) => outside("a module as a value"),
                _ => Ok(self.load(variable)),
            },
            None if name == "__name__" => {
                // The interpreter's guest uses this name for a program that is loaded for its functions.
                let text = self.string("program")?;
                self.long(text);
                Ok(Kind::Str)
            }
            None if is_builtin(name) => outside(format!("builtin `{name}` as a value")),
            None => {
                // A NameError, if this point is ever reached.
                self.give_up();
                self.long(NONE);
                Ok(Kind::Any)
            }
        }
    }

    fn unary(&mut self, unary: &'a ExprUnaryOp, expression: &'a Expr) -> Emitted<Kind> {
        match unary.op {
            UnaryOp::Not => {
                self.condition(expression)?;
                self.boolean();
                Ok(Kind::Bool)
            }
            UnaryOp::USub => {
                let value = self.value(&unary.operand)?;
                let kind = if value.kind == Kind::Int {
                    self.binary(Operator::Sub, Value::constant(0, Kind::Int), value)?
                } else {
                    self.charge(cost::UNARY);
                    // 0 - 0.0 is 0.0, and not -0.0.
                    self.call_runtime_with("py_negate", &[value]);
                    if value.kind == Kind::Float { Kind::Float } else { Kind::Any }
                };
                self.release_value(value);
                Ok(kind)
            }
            UnaryOp::UAdd => {
                self.charge(cost::UNARY);
                self.expression(&unary.operand)?;
                self.call_runtime("py_positive");
                Ok(Kind::Any)
            }
            UnaryOp::Invert => {
                self.charge(cost::UNARY);
                self.expression(&unary.operand)?;
                self.call_runtime("py_invert");
                Ok(Kind::Int)
            }
        }
    }

    fn boolean_operation(&mut self, operation: &'a ExprBoolOp) -> Emitted<Kind> {
        let mut kind = Kind::Never;
        let result = self.long_local();
        let end = self.block();
        for (index, operand) in operation.values.iter().enumerate() {
            if index > 0 {
                self.open_arm();
            }
            let found = self.anything(operand)?;
            kind = self.joined(kind, found);
            self.set(result);
            if index + 1 < operation.values.len() {
                self.truth(Value::local(result, found));
                if operation.op == BoolOp::And {
                    self.put(Wasm::I32Eqz);
                }
                self.charge(cost::JUMP + cost::truth(found));
                self.branch_if(end);
            }
        }
        for _ in 1..operation.values.len() {
            self.close_gas();
        }
        self.end();
        self.get_last(result);
        Ok(kind)
    }

    fn named(&mut self, named: &'a ExprNamed) -> Emitted<Kind> {
        let Expr::Name(name) = &*named.target else { return outside("a target of `:=`") };
        let kind = self.expression(&named.value)?;
        self.charge(cost::WALRUS);
        let value = self.take(kind);
        self.push(value);
        // In a comprehension, `:=` binds in the enclosing function.
        let Some(variable) = self.scopes.resolve(&name.id, self.body.id, &[]) else {
            return outside("a target of `:=`");
        };
        // It is not known here whether the expression is evaluated, so a variable that was not certainly bound before
        // is not certainly bound afterwards.
        let was_bound = self.body.assigned.contains(&variable);
        self.store(variable, kind);
        if !was_bound {
            self.body.assigned.remove(&variable);
        }
        self.push(value);
        self.release_value(value);
        Ok(kind)
    }
}
