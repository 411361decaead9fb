//! When two texts are the same program: their syntax trees agree, whatever their layout, comments and local names.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::hash::{Hash, Hasher};

use ruff_python_ast::comparable::ComparableStmt;
use ruff_python_ast::name::Name;
use ruff_python_ast::token::TokenKind;
use ruff_python_ast::visitor::transformer::{self, Transformer};
use ruff_python_ast::{
    Alias, ExceptHandler, Expr, ExprContext, Identifier, Parameter, Pattern, Stmt, StmtFunctionDef, TypeParams,
};

use super::extract;

/// Tokens of the longest logical line whose tree is walked. Walks recurse, and a line of n tokens may nest n deep.
const LINE_TOKENS_MAX: usize = 256;
/// Deepest indentation that is walked; the interpreter takes no more than this.
const INDENTS_MAX: usize = 100;

/// Digest of the syntax tree of `source` without docstrings, its variables, parameters and functions numbered in the
/// order of their appearance; `None` where the tree may be too deep to walk.
pub(super) fn digest(source: &str) -> Option<[u8; 32]> {
    let parsed = extract::parse(source);
    if !is_shallow(parsed.tokens().iter().map(|token| token.kind())) {
        return None;
    }
    let mut body = parsed.into_syntax().body;
    let names = Bound::default();
    names.visit_body(&mut body);
    names.into_renaming().visit_body(&mut body);
    let mut hasher = Blake3(blake3::Hasher::new_derive_key("grpo-2048 program form v1"));
    body.iter().map(ComparableStmt::from).for_each(|statement| statement.hash(&mut hasher));
    Some(*hasher.0.finalize().as_bytes())
}

fn is_shallow(kinds: impl Iterator<Item = TokenKind>) -> bool {
    let (mut line, mut indents) = (0, 0_usize);
    for kind in kinds {
        match kind {
            TokenKind::Newline => line = 0,
            TokenKind::Indent => indents += 1,
            TokenKind::Dedent => indents = indents.saturating_sub(1),
            _ => line += 1,
        }
        if line > LINE_TOKENS_MAX || indents > INDENTS_MAX {
            return false;
        }
    }
    true
}

/// Names that a program gives to things, in the order of their appearance; takes docstrings away on its walk.
#[derive(Default)]
struct Bound {
    numbers: RefCell<BTreeMap<Name, usize>>,
    /// Names that are also bound where [`Renaming`] does not reach, and so stay.
    fixed: RefCell<BTreeSet<Name>>,
}

impl Bound {
    fn bind(&self, name: &Name) {
        let mut numbers = self.numbers.borrow_mut();
        let next = numbers.len();
        numbers.entry(name.clone()).or_insert(next);
    }

    fn fix<'a>(&self, names: impl IntoIterator<Item = &'a Identifier>) {
        self.fixed.borrow_mut().extend(names.into_iter().map(|name| name.id.clone()));
    }

    fn into_renaming(self) -> Renaming {
        let fixed = self.fixed.into_inner();
        // No identifier can look like this, so no name that stays is met by one that is given.
        let named = self.numbers.into_inner().into_iter().filter(|(name, _)| !fixed.contains(name));
        Renaming { names: named.map(|(name, number)| (name, Name::from(format!("${number}")))).collect() }
    }
}

impl Transformer for Bound {
    fn visit_stmt(&self, statement: &mut Stmt) {
        match statement {
            Stmt::FunctionDef(function) => {
                self.bind(&function.name.id);
                drop_docstring(function);
            }
            Stmt::ClassDef(class) => self.fix([&class.name]),
            Stmt::Global(global) => self.fix(&global.names),
            Stmt::Nonlocal(nonlocal) => self.fix(&nonlocal.names),
            _ => {}
        }
        transformer::walk_stmt(self, statement);
    }

    fn visit_expr(&self, expression: &mut Expr) {
        transformer::walk_expr(self, expression);
        if let Expr::Name(name) = expression
            && matches!(name.ctx, ExprContext::Store)
        {
            self.bind(&name.id);
        }
    }

    fn visit_parameter(&self, parameter: &mut Parameter) {
        self.bind(&parameter.name.id);
        transformer::walk_parameter(self, parameter);
    }

    fn visit_alias(&self, alias: &mut Alias) {
        self.fix([&alias.name]);
        self.fix(&alias.asname);
    }

    fn visit_except_handler(&self, handler: &mut ExceptHandler) {
        let ExceptHandler::ExceptHandler(inner) = handler;
        self.fix(&inner.name);
        transformer::walk_except_handler(self, handler);
    }

    fn visit_pattern(&self, pattern: &mut Pattern) {
        match pattern {
            Pattern::MatchAs(capture) => self.fix(&capture.name),
            Pattern::MatchStar(capture) => self.fix(&capture.name),
            Pattern::MatchMapping(mapping) => self.fix(&mapping.rest),
            _ => {}
        }
        transformer::walk_pattern(self, pattern);
    }

    fn visit_type_params(&self, parameters: &mut TypeParams) {
        self.fix(parameters.iter().map(|parameter| parameter.name()));
        transformer::walk_type_params(self, parameters);
    }
}

/// Takes away what documents a function, unless that is all there is in it.
fn drop_docstring(function: &mut StmtFunctionDef) {
    let documents = |statement: &Stmt| matches!(statement, Stmt::Expr(inner) if inner.value.is_string_literal_expr());
    if function.body.len() > 1 && function.body.first().is_some_and(documents) {
        function.body.remove(0);
    }
}

/// Numbers in the place of names.
struct Renaming {
    names: BTreeMap<Name, Name>,
}

impl Renaming {
    fn rename(&self, name: &mut Name) {
        if let Some(new) = self.names.get(name) {
            *name = new.clone();
        }
    }
}

impl Transformer for Renaming {
    fn visit_stmt(&self, statement: &mut Stmt) {
        if let Stmt::FunctionDef(function) = statement {
            self.rename(&mut function.name.id);
        }
        transformer::walk_stmt(self, statement);
    }

    fn visit_expr(&self, expression: &mut Expr) {
        if let Expr::Name(name) = expression {
            self.rename(&mut name.id);
        }
        transformer::walk_expr(self, expression);
    }

    fn visit_parameter(&self, parameter: &mut Parameter) {
        self.rename(&mut parameter.name.id);
        transformer::walk_parameter(self, parameter);
    }
}

struct Blake3(blake3::Hasher);

impl Hasher for Blake3 {
    fn write(&mut self, bytes: &[u8]) {
        self.0.update(bytes);
    }

    fn finish(&self) -> u64 {
        let digest = self.0.finalize();
        u64::from_le_bytes(*digest.as_bytes().first_chunk().expect("a digest has 32 bytes"))
    }
}
