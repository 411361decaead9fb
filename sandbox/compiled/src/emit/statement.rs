//! Statements. Each tells whether what follows it is never reached.

use std::collections::HashSet;

use ruff_python_ast::{ExceptHandler, Expr, Stmt, StmtDelete, StmtFor, StmtIf, StmtImport, StmtReturn, StmtWhile};
use ruff_text_size::Ranged;
use wasm_encoder::Instruction as Wasm;

use super::code::Loop;
use super::expression::Argument;
use super::kind::{Kind, Library};
use super::{Emitted, Emitter, cost, outside};
use crate::layout::NONE;
use crate::scope::annotating;

impl<'a> Emitter<'a> {
    pub(super) fn statements(&mut self, statements: &'a [Stmt]) -> Emitted<bool> {
        for statement in statements {
            self.position = statement.start();
            if self.statement(statement)? {
                return Ok(true);
            }
            if may_leave(statement, true) {
                self.split_gas();
            }
        }
        Ok(false)
    }

    fn statement(&mut self, statement: &'a Stmt) -> Emitted<bool> {
        match statement {
            Stmt::FunctionDef(def) => {
                let id = self.scopes.function_of[&(def as *const _ as usize)];
                self.closure(id)?;
                let variable = self.target(&def.name)?;
                self.store(variable, Kind::Function(id));
            }
            Stmt::Return(result) => return self.return_statement(result),
            Stmt::Assign(assignment) => self.assignment(assignment)?,
            Stmt::AugAssign(assignment) => self.augmented_assignment(assignment)?,
            Stmt::AnnAssign(assignment) => {
                if let Some(value) = &assignment.value {
                    let kind = self.expression(value)?;
                    self.assign_stacked(std::slice::from_ref(&*assignment.target), kind)?;
                }
            }
            Stmt::Expr(statement) => {
                // A docstring is nothing.
                if !statement.value.is_string_literal_expr() {
                    self.anything(&statement.value)?;
                    self.charge(cost::DISCARD);
                    self.put(Wasm::Drop);
                }
            }
            Stmt::If(choice) => return self.if_statement(choice),
            Stmt::While(repeat) => self.while_statement(repeat)?,
            Stmt::For(repeat) => self.for_statement(repeat)?,
            Stmt::Break(_) | Stmt::Continue(_) => {
                let Some(&Loop { exit, top, caught }) = self.body.loops.last() else {
                    return outside("a jump outside a loop");
                };
                self.unbind_caught(caught);
                self.branch(if statement.is_break_stmt() { exit } else { top });
                return Ok(true);
            }
            Stmt::Import(import) => match annotating::cost_of(statement).filter(|_| self.body.id == 0) {
                Some(cost) => self.charge(cost),
                None => self.import(import)?,
            },
            // The scopes refuse every other.
            Stmt::ImportFrom(_) => self.charge(annotating::cost_of(statement).unwrap_or_default()),
            Stmt::Delete(delete) => self.delete(delete)?,
            Stmt::Assert(assertion) => {
                self.condition(&assertion.test)?;
                self.put(Wasm::I32Eqz);
                self.give_up_if();
            }
            Stmt::Raise(_) => {
                self.give_up();
                return Ok(true);
            }
            Stmt::Try(attempt) => return self.try_statement(attempt),
            Stmt::Pass(_) | Stmt::Global(_) | Stmt::Nonlocal(_) => {}
            _ => return outside("a statement that is not modelled"),
        }
        Ok(false)
    }

    fn return_statement(&mut self, result: &'a StmtReturn) -> Emitted<bool> {
        if self.body.id == 0 {
            return outside("`return` outside a function");
        }
        let kind = match &result.value {
            Some(value) => self.expression(value)?,
            None => {
                self.charge(cost::CONSTANT);
                self.long(NONE);
                Kind::None
            }
        };
        self.give_back(kind);
        Ok(true)
    }

    fn if_statement(&mut self, choice: &'a StmtIf) -> Emitted<bool> {
        let mut arms = vec![(Some(&*choice.test), &choice.body[..])];
        arms.extend(choice.elif_else_clauses.iter().map(|clause| (clause.test.as_ref(), &clause.body[..])));
        let (mut open, mut after) = (0, None);
        let mut has_otherwise = false;
        for (test, body) in arms {
            if let Some(test) = test {
                self.condition(test)?;
                let before = self.body.assigned.clone();
                self.when();
                open += 1;
                self.open_arm();
                let ended = self.statements(body)?;
                self.close_gas();
                let bound = std::mem::replace(&mut self.body.assigned, before);
                if !ended {
                    after = Some(common(after, bound));
                }
                self.otherwise();
                self.open_arm();
            } else {
                has_otherwise = true;
                if !self.statements(body)? {
                    after = Some(common(after, self.body.assigned.clone()));
                }
            }
        }
        if !has_otherwise {
            after = Some(common(after, self.body.assigned.clone()));
        }
        for _ in 0..open {
            self.close_gas();
            self.end();
        }
        match after {
            Some(bound) => {
                self.body.assigned = bound;
                Ok(false)
            }
            None => {
                self.put(Wasm::Unreachable);
                Ok(true)
            }
        }
    }

    fn while_statement(&mut self, repeat: &'a StmtWhile) -> Emitted<()> {
        let exit = self.block();
        let otherwise = self.block();
        let top = self.start_loop();
        self.open_gas();
        let head = self.segment();
        self.condition(&repeat.test)?;
        let done = self.body.segments[head].cost;
        self.charge(cost::JUMP);
        self.put(Wasm::I32Eqz);
        self.branch_if(otherwise);
        self.loop_body(&repeat.body, Loop { exit, top, caught: self.body.caught.len() })?;
        self.refund(head, done);
        self.loop_end(&repeat.orelse)
    }

    fn for_statement(&mut self, repeat: &'a StmtFor) -> Emitted<()> {
        if repeat.is_async {
            return outside("an asynchronous loop");
        }
        if repeat.iter.is_generator_expr() {
            return outside("a loop over a generator");
        }
        let exit = self.block();
        let otherwise = self.block();
        let source = self.source(Argument::Expression(&repeat.iter))?;
        let bound = self.body.assigned.clone();
        let top = self.start_loop();
        self.open_gas();
        let head = self.segment();
        let item = self.next(&source, otherwise)?;
        self.assign(&repeat.target, item.clone())?;
        self.release_item(item);
        self.loop_body(&repeat.body, Loop { exit, top, caught: self.body.caught.len() })?;
        self.body.assigned = bound;
        self.refund(head, 0);
        self.loop_end(&repeat.orelse)?;
        self.release_source(source);
        Ok(())
    }

    /// The body of a loop, and the branch back to its top.
    fn loop_body(&mut self, body: &'a [Stmt], innermost: Loop) -> Emitted<()> {
        let bound = self.body.assigned.clone();
        let top = innermost.top;
        self.body.loops.push(innermost);
        let ended = self.statements(body)?;
        self.body.loops.pop();
        self.body.assigned = bound;
        self.close_gas();
        if !ended {
            self.branch(top);
        }
        self.end();
        self.put(Wasm::Unreachable);
        self.end();
        Ok(())
    }

    /// What runs where a loop was not left by `break`.
    fn loop_end(&mut self, otherwise: &'a [Stmt]) -> Emitted<()> {
        let bound = self.body.assigned.clone();
        self.statements(otherwise)?;
        self.body.assigned = bound;
        self.end();
        Ok(())
    }

    fn import(&mut self, import: &'a StmtImport) -> Emitted<()> {
        for alias in &import.names {
            let library = match alias.name.as_str() {
                "random" => Library::Random,
                "math" => Library::Math,
                other => return outside(format!("`import {other}`")),
            };
            let name = alias.asname.as_ref().unwrap_or(&alias.name);
            self.charge(cost::IMPORT);
            let variable = self.target(name)?;
            self.long(NONE);
            self.store(variable, Kind::Module(library));
            if self.kinds[variable] != Kind::Module(library) {
                return outside("a module in a variable of other use");
            }
        }
        Ok(())
    }

    fn delete(&mut self, delete: &'a StmtDelete) -> Emitted<()> {
        for target in &delete.targets {
            match target {
                Expr::Subscript(subscript) if !subscript.slice.is_slice_expr() => {
                    self.anything(&subscript.value)?;
                    self.anything(&subscript.slice)?;
                    self.charge(cost::DELETE_SUBSCRIPT);
                    self.call_runtime("py_delete_item");
                }
                _ => return outside("`del` of what is no item"),
            }
        }
        Ok(())
    }
}

/// What is bound on every way that comes together.
pub(super) fn common(one: Option<HashSet<usize>>, two: HashSet<usize>) -> HashSet<usize> {
    match one {
        None => two,
        Some(one) => one.intersection(&two).copied().collect(),
    }
}

/// Whether what follows a statement may not be reached: it returns or, `in_loop`, jumps on some way.
fn may_leave(statement: &Stmt, in_loop: bool) -> bool {
    let any = |statements: &[Stmt], in_loop| statements.iter().any(|one| may_leave(one, in_loop));
    match statement {
        Stmt::Return(_) => true,
        Stmt::Break(_) | Stmt::Continue(_) => in_loop,
        Stmt::If(choice) => {
            any(&choice.body, in_loop) || choice.elif_else_clauses.iter().any(|clause| any(&clause.body, in_loop))
        }
        Stmt::While(repeat) => any(&repeat.body, false) || any(&repeat.orelse, in_loop),
        Stmt::For(repeat) => any(&repeat.body, false) || any(&repeat.orelse, in_loop),
        Stmt::Try(attempt) => {
            let handlers = attempt.handlers.iter();
            any(&attempt.body, in_loop)
                || any(&attempt.orelse, in_loop)
                || handlers.into_iter().any(|ExceptHandler::ExceptHandler(handler)| any(&handler.body, in_loop))
        }
        _ => false,
    }
}
