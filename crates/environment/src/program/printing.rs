//! Whether a program may print anything.

use ruff_python_ast::visitor::{self, Visitor};
use ruff_python_ast::{Alias, Decorator, Expr, Stmt};

/// What a program names that prints, or that runs what it does not name.
const WAYS: [&str; 15] = [
    "print", "pprint", "pp", "write", "writelines", "stdout", "displayhook", "exec", "eval", "__import__",
    "import_module", "getattr", "prmonth", "pryear", "prweek",
];

/// Whether statements call something as they run, and name a way of printing, be it in a function.
pub(super) fn may_print(body: &[Stmt]) -> bool {
    let mut calls = Calls(false);
    calls.visit_body(body);
    let mut ways = Ways(false);
    if calls.0 {
        ways.visit_body(body);
    }
    ways.0
}

/// Records a call that is not only in the body of a function.
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

/// Records a name of something that prints; an import of everything may bring one.
struct Ways(bool);

impl Ways {
    fn note(&mut self, name: &str) {
        self.0 |= WAYS.contains(&name);
    }
}

impl Visitor<'_> for Ways {
    fn visit_alias(&mut self, alias: &Alias) {
        self.0 |= alias.name.as_str() == "*";
        alias.name.split('.').for_each(|name| self.note(name));
    }

    fn visit_expr(&mut self, expression: &Expr) {
        match expression {
            Expr::Name(name) => self.note(&name.id),
            Expr::Attribute(attribute) => self.note(&attribute.attr),
            _ => {}
        }
        visitor::walk_expr(self, expression);
    }
}
