//! What a program uses from earlier blocks of the same answer: helpers, imports and constants in a fence of their own.

use std::collections::{BTreeMap, BTreeSet};

use ruff_python_ast::visitor::{self, Visitor};
use ruff_python_ast::{Alias, ExceptHandler, Expr, ExprContext, ModModule, Parameter, Pattern, Stmt};
use ruff_text_size::Ranged;

use super::SOURCE_BYTES_MAX;
use super::syntax::{first_error, parse};

/// The definitions that `module` uses and does not make itself, out of `blocks` in their order: of each name the last one, and
/// what that one uses. Nothing else of a block is taken: its calls and prints were examples.
pub(super) fn of(module: &ModModule, blocks: &[String]) -> String {
    if blocks.is_empty() || imports_the_future(&module.body) {
        return String::new();
    }
    let blocks: Vec<(&String, ModModule)> = blocks.iter().filter_map(|block| Some((block, parsed(block)?))).collect();
    let definitions: Vec<(&str, &Stmt)> = blocks
        .iter()
        .flat_map(|(text, module)| module.body.iter().map(|one| (&text[one.range()], one)))
        .filter(|(_, one)| is_definition(one))
        .collect();
    if definitions.is_empty() {
        return String::new();
    }
    // Each is gone through once, however many names a hostile answer has.
    let names: Vec<Names> = definitions.iter().map(|(_, one)| Names::of(std::slice::from_ref(one))).collect();
    let bound = names.iter().enumerate().flat_map(|(place, names)| names.at_top.iter().map(move |name| (name, place)));
    let last: BTreeMap<&String, usize> = bound.collect();
    let (mut taken, mut missing) = (BTreeSet::new(), Names::of(&module.body).missing());
    while let Some(name) = missing.pop_first() {
        if let Some(&place) = last.get(&name).filter(|place| taken.insert(**place)) {
            missing.extend(names[place].missing());
        }
    }
    taken.into_iter().map(|place| format!("{}\n", definitions[place].0)).collect()
}

/// The statements of a block that is Python as a whole.
fn parsed(block: &str) -> Option<ModModule> {
    let parsed = (block.len() <= SOURCE_BYTES_MAX).then(|| parse(block))?;
    first_error(&parsed).is_none().then(|| parsed.into_syntax())
}

fn is_definition(statement: &Stmt) -> bool {
    matches!(
        statement,
        Stmt::FunctionDef(_)
            | Stmt::ClassDef(_)
            | Stmt::Import(_)
            | Stmt::ImportFrom(_)
            | Stmt::Assign(_)
            | Stmt::AnnAssign(_)
    ) && !imports_the_future(std::slice::from_ref(statement))
}

/// Such an import must be the first statement, before which nothing can be put.
fn imports_the_future(body: &[Stmt]) -> bool {
    body.iter().any(is_future)
}

/// The module whose imports must come first.
pub(super) const FUTURE: &str = "__future__";

fn is_future(one: &Stmt) -> bool {
    matches!(one, Stmt::ImportFrom(import) if import.module.as_deref() == Some(FUTURE))
}

/// Whether a statement may stand before an import from `__future__`.
pub(super) fn comes_first(one: &Stmt) -> bool {
    is_future(one) || matches!(one, Stmt::Expr(words) if words.value.is_string_literal_expr())
}

/// The names that statements read and bind, whatever the scope.
#[derive(Default)]
struct Names {
    read: BTreeSet<String>,
    bound: BTreeSet<String>,
    /// Those that the statements themselves bind, and no function in them.
    at_top: BTreeSet<String>,
    depth: usize,
}

impl Names {
    fn of(body: &[Stmt]) -> Names {
        let mut names = Names::default();
        names.visit_body(body);
        names
    }

    /// The names that somebody else has to bind.
    fn missing(&self) -> BTreeSet<String> {
        self.read.difference(&self.bound).cloned().collect()
    }

    fn bind(&mut self, name: &str) {
        if self.depth == 0 {
            self.at_top.insert(name.to_owned());
        }
        self.bound.insert(name.to_owned());
    }

    fn inside(&mut self, walk: impl FnOnce(&mut Names)) {
        self.depth += 1;
        walk(self);
        self.depth -= 1;
    }
}

impl<'a> Visitor<'a> for Names {
    fn visit_stmt(&mut self, statement: &'a Stmt) {
        match statement {
            Stmt::FunctionDef(function) => self.bind(&function.name),
            Stmt::ClassDef(class) => self.bind(&class.name),
            _ => return visitor::walk_stmt(self, statement),
        }
        self.inside(|names| visitor::walk_stmt(names, statement));
    }

    fn visit_expr(&mut self, expression: &'a Expr) {
        match expression {
            Expr::Name(name) if name.ctx == ExprContext::Load => drop(self.read.insert(name.id.to_string())),
            Expr::Name(name) => self.bind(&name.id),
            Expr::Lambda(_) | Expr::ListComp(_) | Expr::SetComp(_) | Expr::DictComp(_) | Expr::Generator(_) => {
                return self.inside(|names| visitor::walk_expr(names, expression));
            }
            _ => {}
        }
        visitor::walk_expr(self, expression);
    }

    fn visit_parameter(&mut self, parameter: &'a Parameter) {
        self.bound.insert(parameter.name.to_string());
        visitor::walk_parameter(self, parameter);
    }

    fn visit_alias(&mut self, alias: &'a Alias) {
        let name = alias.asname.as_ref().unwrap_or(&alias.name);
        self.bind(name.split('.').next().unwrap_or_default());
    }

    fn visit_except_handler(&mut self, handler: &'a ExceptHandler) {
        let ExceptHandler::ExceptHandler(one) = handler;
        if let Some(name) = &one.name {
            self.bind(name);
        }
        visitor::walk_except_handler(self, handler);
    }

    fn visit_pattern(&mut self, pattern: &'a Pattern) {
        let name = match pattern {
            Pattern::MatchAs(one) => one.name.as_ref(),
            Pattern::MatchStar(one) => one.name.as_ref(),
            Pattern::MatchMapping(one) => one.rest.as_ref(),
            _ => None,
        };
        if let Some(name) = name {
            self.bind(name);
        }
        visitor::walk_pattern(self, pattern);
    }
}
