//! The classes that a program defines, by the names of what they are under.

use std::collections::BTreeMap;

use ruff_python_ast::visitor::{self, Visitor};
use ruff_python_ast::{Expr, Stmt};

use super::syntax::parse;
use super::{BASE_BYTES, LEVEL_BYTES, SOURCE_BYTES_MAX};

/// The last names of the bases of every class in a source, by its name, wherever it is defined; and what a name stands for
/// that an import or an assignment gives to something else. Nothing of what is longer than a program and its task's prelude.
pub fn bases(source: &str) -> BTreeMap<String, Vec<String>> {
    let mut found = Bases::default();
    if source.len() <= 2 * SOURCE_BYTES_MAX {
        let stack = BASE_BYTES + source.len() * LEVEL_BYTES;
        stacker::maybe_grow(stack, stack, || found.visit_body(&parse(source).into_syntax().body));
    }
    found.0
}

#[derive(Default)]
struct Bases(BTreeMap<String, Vec<String>>);

impl Visitor<'_> for Bases {
    fn visit_stmt(&mut self, statement: &Stmt) {
        match statement {
            Stmt::ClassDef(class) => {
                let bases = self.0.entry(class.name.to_string()).or_default();
                bases.extend(class.bases().iter().filter_map(last_name));
            }
            Stmt::Assign(assign) => {
                if let ([Expr::Name(name)], Some(of)) = (assign.targets.as_slice(), last_name(&assign.value)) {
                    self.0.entry(name.id.to_string()).or_default().push(of);
                }
            }
            Stmt::ImportFrom(import) => {
                for alias in &import.names {
                    if let Some(name) = &alias.asname {
                        self.0.entry(name.to_string()).or_default().push(alias.name.to_string());
                    }
                }
            }
            _ => {}
        }
        visitor::walk_stmt(self, statement);
    }

    /// No expression has a class in it.
    fn visit_expr(&mut self, _: &Expr) {}
}

/// `Error` of `Error` and of `module.Error`.
fn last_name(expression: &Expr) -> Option<String> {
    match expression {
        Expr::Name(name) => Some(name.id.to_string()),
        Expr::Attribute(attribute) => Some(attribute.attr.to_string()),
        _ => None,
    }
}
