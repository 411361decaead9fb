//! Whether a program may print anything, or read anything.

use ruff_python_ast::visitor::{self, Visitor};
use ruff_python_ast::{Alias, Decorator, Expr, Stmt};

/// What a program names that prints.
const PRINTING: [&str; 11] = [
    "print", "pprint", "pp", "write", "writelines", "stdout", "displayhook", "interact", "prmonth", "pryear", "prweek",
];
/// What it names that reads its input.
const READING: [&str; 14] = [
    "input", "stdin", "__stdin__", "open", "os", "read", "readline", "readlines", "fdopen", "fileinput", "io",
    "pathlib", "Path", "FileType",
];
/// What reads it whatever else may be meant by the others.
const READS: [&str; 4] = ["__stdin__", "open", "fdopen", "fileinput"];
/// What does things that it does not name.
const INDIRECT: [&str; 12] = [
    "exec", "eval", "__import__", "import_module", "getattr", "vars", "globals", "locals", "__dict__", "builtins",
    "__builtins__", "timeit",
];

/// Whether statements call something as they run, and name a way of printing, be it in a function.
pub(super) fn may_print(body: &[Stmt]) -> bool {
    calls(body) && Found::of(body, &PRINTING).is_any()
}

/// Whether statements define a function or a class, or call something as they run.
pub(super) fn act(body: &[Stmt]) -> bool {
    calls(body) || body.iter().any(|one| matches!(one, Stmt::FunctionDef(_) | Stmt::ClassDef(_)))
}

/// Whether statements name a way of reading, be it in a function.
pub(super) fn may_read(body: &[Stmt]) -> bool {
    Found::of(body, &READING).is_any()
}

/// Whether statements name one that reads, besides `input` and `stdin`, be it in a function.
pub(super) fn reads(body: &[Stmt]) -> bool {
    Found::of(body, &READS).is_one
}

fn calls(body: &[Stmt]) -> bool {
    let mut calls = Calls(false);
    calls.visit_body(body);
    calls.0
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

/// Records a name that is one of these, and one that is indirect, as what an import of everything brings may be.
struct Found<'n> {
    names: &'n [&'n str],
    is_one: bool,
    is_indirect: bool,
}

impl Found<'_> {
    fn of<'n>(body: &[Stmt], names: &'n [&'n str]) -> Found<'n> {
        let mut found = Found { names, is_one: false, is_indirect: false };
        found.visit_body(body);
        found
    }

    fn is_any(&self) -> bool {
        self.is_one || self.is_indirect
    }

    fn note(&mut self, name: &str) {
        self.is_one |= self.names.contains(&name);
        self.is_indirect |= INDIRECT.contains(&name);
    }
}

impl Visitor<'_> for Found<'_> {
    fn visit_stmt(&mut self, statement: &Stmt) {
        if let Stmt::ImportFrom(import) = statement {
            import.module.iter().flat_map(|module| module.split('.')).for_each(|name| self.note(name));
        }
        visitor::walk_stmt(self, statement);
    }

    fn visit_alias(&mut self, alias: &Alias) {
        self.is_indirect |= alias.name.as_str() == "*";
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
