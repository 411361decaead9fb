//! `global` and `nonlocal`: CPython requires each declaration once, before every use of the name in the same function.

use std::collections::{BTreeMap, HashMap};

use ruff_python_ast::visitor::{self, Visitor};
use ruff_python_ast::{ExceptHandler, Expr, Identifier, Stmt};
use ruff_text_size::{Ranged, TextRange, TextSize};

/// Names that the body of a function declares, without those of inner functions.
#[derive(Default)]
pub(super) struct Declarations {
    pub(super) globals: BTreeMap<String, TextRange>,
    pub(super) nonlocals: BTreeMap<String, TextRange>,
    uses: HashMap<String, TextSize>,
    annotated: HashMap<String, TextSize>,
    repeated: Option<TextSize>,
}

impl Declarations {
    pub(super) fn of(body: &[Stmt]) -> Declarations {
        let mut declarations = Declarations::default();
        declarations.visit_body(body);
        declarations
    }

    /// The first declaration that CPython might refuse. This is conservative: uses are ordered as in the text.
    pub(super) fn misplaced(&self) -> Option<TextSize> {
        let late = |(name, range): (&String, &TextRange)| {
            let is_late = self.uses.get(name).is_some_and(|first| *first < range.start());
            is_late.then_some(range.start())
        };
        // A name with an annotation is one of the function's own.
        let mut names = self.globals.keys().chain(self.nonlocals.keys());
        let annotated = names.find_map(|name| self.annotated.get(name).copied());
        let both = self.globals.iter().find(|(name, _)| self.nonlocals.contains_key(*name));
        let late = self.globals.iter().chain(&self.nonlocals).find_map(late);
        self.repeated.or(late).or(annotated).or(both.map(|(_, range)| range.start()))
    }

    fn declare(&mut self, names: &[Identifier], range: TextRange, is_global: bool) {
        let declared = if is_global { &mut self.globals } else { &mut self.nonlocals };
        for name in names {
            if declared.insert(name.to_string(), range).is_some() {
                self.repeated = Some(range.start());
            }
        }
    }

    fn use_name(&mut self, name: &str, at: TextSize) {
        let first = self.uses.entry(name.to_owned()).or_insert(at);
        *first = (*first).min(at);
    }
}

impl<'a> Visitor<'a> for Declarations {
    fn visit_stmt(&mut self, statement: &'a Stmt) {
        match statement {
            Stmt::Global(global) => self.declare(&global.names, global.range(), true),
            Stmt::Nonlocal(nonlocal) => self.declare(&nonlocal.names, nonlocal.range(), false),
            Stmt::FunctionDef(def) => self.use_name(&def.name, def.start()),
            Stmt::ClassDef(class) => self.use_name(&class.name, class.start()),
            Stmt::Import(import) => {
                for alias in &import.names {
                    self.use_name(alias.asname.as_ref().unwrap_or(&alias.name), alias.start());
                }
            }
            Stmt::AnnAssign(assignment) => {
                if let Expr::Name(name) = &*assignment.target {
                    self.annotated.insert(name.id.to_string(), assignment.start());
                }
                visitor::walk_stmt(self, statement);
            }
            _ => visitor::walk_stmt(self, statement),
        }
    }

    fn visit_expr(&mut self, expression: &'a Expr) {
        if let Expr::Name(name) = expression {
            self.use_name(&name.id, name.start());
        }
        visitor::walk_expr(self, expression);
    }

    fn visit_except_handler(&mut self, handler: &'a ExceptHandler) {
        let ExceptHandler::ExceptHandler(clause) = handler;
        clause.name.iter().for_each(|name| self.use_name(name, name.start()));
        visitor::walk_except_handler(self, handler);
    }
}
