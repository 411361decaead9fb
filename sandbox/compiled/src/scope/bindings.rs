//! Names that a function itself binds, without inner functions.

use std::collections::{BTreeSet, HashMap};

use ruff_python_ast::visitor::{self, Visitor};
use ruff_python_ast::{ExceptHandler, Expr, ExprContext, Stmt};
use ruff_text_size::{Ranged, TextSize};

use super::{Node, Refused, annotating, defaults};

/// Names that a function stores to, and its declarations.
#[derive(Default)]
pub(super) struct Bindings {
    /// Number of stores to each name.
    pub(super) stores: HashMap<String, u32>,
    /// The same names in order of appearance.
    pub(super) order: Vec<String>,
    /// For names that a plain statement at the top of the body binds, the end of that statement.
    pub(super) plain: HashMap<String, TextSize>,
    pub(super) globals: BTreeSet<String>,
    pub(super) nonlocals: BTreeSet<String>,
    /// Names of the module that nothing may bind, because an import for annotations leaves them unbound.
    pub(super) annotating: Vec<(String, TextSize)>,
    pub(super) has_walrus: bool,
    pub(super) generators_max: usize,
    pub(super) refused: Option<Refused>,
    generators: usize,
    comprehensions: usize,
    is_module: bool,
}

impl Bindings {
    pub(super) fn of(node: Node) -> Bindings {
        let mut bindings = Bindings::default();
        match node {
            Node::Module(body) => {
                bindings.is_module = true;
                bindings.visit_body(body);
            }
            Node::Def(def) => {
                bindings.visit_body(&def.body);
                bindings.plain = plain(&def.body);
                if !def.decorator_list.is_empty() {
                    bindings.refuse("a decorator", def.start());
                }
                if def.is_async {
                    bindings.refuse("an asynchronous function", def.start());
                }
            }
            Node::Lambda(lambda) => bindings.visit_expr(&lambda.body),
        }
        bindings
    }

    fn store(&mut self, name: &str) {
        let count = self.stores.entry(name.to_owned()).or_insert(0);
        if *count == 0 {
            self.order.push(name.to_owned());
        }
        *count += 1;
    }

    fn refuse(&mut self, construct: &str, at: TextSize) {
        self.refused.get_or_insert(Refused { construct: construct.into(), at });
    }
}

impl<'a> Visitor<'a> for Bindings {
    fn visit_stmt(&mut self, statement: &'a Stmt) {
        match statement {
            Stmt::FunctionDef(def) => {
                self.store(&def.name);
                defaults(&def.parameters).into_iter().for_each(|default| self.visit_expr(default));
            }
            Stmt::Global(global) => self.globals.extend(global.names.iter().map(|name| name.to_string())),
            Stmt::Nonlocal(nonlocal) => self.nonlocals.extend(nonlocal.names.iter().map(|name| name.to_string())),
            _ if self.is_module && annotating::cost_of(statement).is_some() => {
                let names = annotating::names_of(statement).map(|name| (name.to_owned(), statement.start()));
                self.annotating.extend(names);
            }
            Stmt::Import(import) => {
                for alias in &import.names {
                    let first = alias.name.split('.').next().unwrap_or_default();
                    self.store(alias.asname.as_ref().map_or(first, |name| name.as_str()));
                }
            }
            Stmt::AnnAssign(assignment) => {
                if !assignment.target.is_name_expr() {
                    self.refuse("an annotation of what is no name", statement.start());
                }
                self.visit_expr(&assignment.target);
                assignment.value.iter().for_each(|value| self.visit_expr(value));
            }
            Stmt::Try(attempt) => {
                for ExceptHandler::ExceptHandler(handler) in &attempt.handlers {
                    handler.name.iter().for_each(|name| self.store(name));
                }
                visitor::walk_stmt(self, statement);
            }
            Stmt::ImportFrom(_) => self.refuse("`from .. import`", statement.start()),
            Stmt::ClassDef(_) => self.refuse("a class", statement.start()),
            Stmt::With(_) => self.refuse("`with`", statement.start()),
            Stmt::Match(_) => self.refuse("`match`", statement.start()),
            Stmt::TypeAlias(_) => self.refuse("`type`", statement.start()),
            _ => visitor::walk_stmt(self, statement),
        }
    }

    fn visit_expr(&mut self, expression: &'a Expr) {
        match expression {
            Expr::Name(name) if self.comprehensions == 0 && !matches!(name.ctx, ExprContext::Load) => {
                self.store(&name.id);
            }
            Expr::Lambda(lambda) => {
                let parameters = lambda.parameters.as_deref();
                parameters.map(defaults).unwrap_or_default().into_iter().for_each(|default| self.visit_expr(default));
            }
            Expr::ListComp(_) | Expr::SetComp(_) | Expr::DictComp(_) | Expr::Generator(_) => {
                let is_generator = usize::from(expression.is_generator_expr());
                self.comprehensions += 1;
                self.generators += is_generator;
                self.generators_max = self.generators_max.max(self.generators);
                visitor::walk_expr(self, expression);
                self.comprehensions -= 1;
                self.generators -= is_generator;
            }
            Expr::Named(named) => {
                self.has_walrus = true;
                if let Expr::Name(name) = &*named.target {
                    self.store(&name.id);
                }
                self.visit_expr(&named.value);
            }
            Expr::Yield(_) | Expr::YieldFrom(_) => self.refuse("`yield`", expression.start()),
            Expr::Await(_) => self.refuse("`await`", expression.start()),
            _ => visitor::walk_expr(self, expression),
        }
    }
}

/// Statements that bind names at the top of a body, where they run once and in order.
fn plain(body: &[Stmt]) -> HashMap<String, TextSize> {
    let mut found = HashMap::new();
    for statement in body {
        match statement {
            Stmt::FunctionDef(def) => {
                found.insert(def.name.to_string(), def.end());
            }
            Stmt::Assign(assignment) => {
                let mut targets: Vec<&Expr> = assignment.targets.iter().collect();
                while let Some(target) = targets.pop() {
                    match target {
                        Expr::Name(name) => {
                            found.insert(name.id.to_string(), assignment.end());
                        }
                        Expr::Tuple(tuple) => targets.extend(&tuple.elts),
                        _ => {}
                    }
                }
            }
            _ => {}
        }
    }
    found
}
