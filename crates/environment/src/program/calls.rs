//! Whether a program calls anything as it runs, without which it prints nothing.

use ruff_python_ast::visitor::{self, Visitor};
use ruff_python_ast::{Decorator, Expr, Stmt};

/// Whether statements call a function that is not only in the body of another one.
pub(super) fn any(body: &[Stmt]) -> bool {
    let mut calls = Calls(false);
    calls.visit_body(body);
    calls.0
}

struct Calls(bool);

impl Visitor<'_> for Calls {
    fn visit_stmt(&mut self, statement: &Stmt) {
        match statement {
            Stmt::FunctionDef(function) => {
                function.decorator_list.iter().for_each(|one| self.visit_decorator(one));
                self.visit_parameters(&function.parameters);
            }
            _ => visitor::walk_stmt(self, statement),
        }
    }

    fn visit_decorator(&mut self, _: &Decorator) {
        self.0 = true;
    }

    /// Nothing works an annotation out.
    fn visit_annotation(&mut self, _: &Expr) {}

    fn visit_expr(&mut self, expression: &Expr) {
        match expression {
            Expr::Call(_) => self.0 = true,
            Expr::Lambda(_) => {}
            _ if !self.0 => visitor::walk_expr(self, expression),
            _ => {}
        }
    }
}
