//! `try`: only a missing key of a subscript in the same function is caught in compiled code. Everything else that
//! raises is left to the interpreter.

use ruff_python_ast::{ExceptHandler, ExceptHandlerExceptHandler, Expr, StmtTry};
use wasm_encoder::Instruction as Wasm;

use super::code::Handler;
use super::kind::Kind;
use super::{Emitted, Emitter, cost, outside};
use crate::layout::UNBOUND;
use crate::scope::Mode;

/// Exception types that catch a missing key.
const CATCHING: [&str; 4] = ["KeyError", "LookupError", "Exception", "BaseException"];

impl<'a> Emitter<'a> {
    pub(super) fn try_statement(&mut self, attempt: &'a StmtTry) -> Emitted<bool> {
        if attempt.is_star || !attempt.finalbody.is_empty() {
            return outside("`finally`");
        }
        let handler = self.handler(attempt)?;
        let missing_key = self.long_local();
        let end = self.block();
        let caught = self.block();
        let before = self.body.assigned.clone();
        let around = self.body.caught.len();
        self.body.handlers.push(handler.map(|_| Handler { label: caught, missing_key, caught: around }));
        let mut ended = self.statements(&attempt.body)?;
        self.body.handlers.pop();
        if !ended {
            ended = self.statements(&attempt.orelse)?;
        }
        let after = std::mem::replace(&mut self.body.assigned, before);
        if !ended {
            self.branch(end);
        }
        self.end();
        let handled_ended = match handler {
            None => {
                self.give_up();
                true
            }
            Some(handler) => {
                self.open_arm();
                self.charge(cost::EXCEPTION);
                let ended = self.handle(handler, missing_key)?;
                self.close_gas();
                ended
            }
        };
        self.end();
        self.release(missing_key);
        match (ended, handled_ended) {
            (true, false) => {}
            (false, true) => self.body.assigned = after,
            _ => self.body.assigned = super::statement::common(Some(after), self.body.assigned.clone()),
        }
        if ended && handled_ended {
            self.put(Wasm::Unreachable);
        }
        Ok(ended && handled_ended)
    }

    /// The handler that catches a missing key. All handlers must name plain exceptions, because the names before the
    /// matching one are evaluated too.
    fn handler(&self, attempt: &'a StmtTry) -> Emitted<Option<&'a ExceptHandlerExceptHandler>> {
        let mut found = None;
        for ExceptHandler::ExceptHandler(handler) in &attempt.handlers {
            let types = match handler.type_.as_deref() {
                None => &[],
                Some(Expr::Tuple(types)) => &types.elts[..],
                Some(one) => std::slice::from_ref(one),
            };
            let mut catches = handler.type_.is_none();
            for one in types {
                let Expr::Name(name) = one else { return outside("`except` of what is no name") };
                let is_exception = name.id.ends_with("Error") || CATCHING.contains(&name.id.as_str());
                if !self.is_builtin(&name.id) || !is_exception {
                    return outside(format!("`except {}`", name.id));
                }
                catches |= CATCHING.contains(&name.id.as_str());
            }
            if catches && found.is_none() {
                found = Some(handler);
            }
        }
        Ok(found)
    }

    fn handle(&mut self, handler: &'a ExceptHandlerExceptHandler, missing_key: u32) -> Emitted<bool> {
        let Some(name) = &handler.name else { return self.statements(&handler.body) };
        let variable = self.target(name)?;
        if self.scopes.variables[variable].mode != Mode::Local {
            return outside("an exception that is kept");
        }
        // The inner handler would unbind it for the rest of the outer one.
        if self.body.caught.contains(&variable) {
            return outside("an exception of the name of another");
        }
        self.get(missing_key);
        self.store(variable, Kind::Caught);
        if self.kinds[variable] != Kind::Caught {
            return outside("an exception in a variable of other use");
        }
        let around = self.body.caught.len();
        self.body.caught.push(variable);
        let ended = self.statements(&handler.body)?;
        if !ended {
            self.unbind_caught(around);
        }
        self.body.caught.truncate(around);
        self.body.assigned.remove(&variable);
        self.body.checked.insert(variable);
        Ok(ended)
    }

    /// Unbinds the names of all exceptions but so many, on a way out of their handlers. What returns needs not: the names
    /// are locals.
    pub(super) fn unbind_caught(&mut self, kept: usize) {
        for index in kept..self.body.caught.len() {
            let local = self.place(self.body.caught[index]);
            self.long(UNBOUND);
            self.set(local);
        }
    }
}
