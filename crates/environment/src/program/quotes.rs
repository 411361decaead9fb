//! Whether a piece only repeats what an earlier one of the same answer has written, as where it is explained.

use std::cell::Cell;
use std::collections::{BTreeMap, HashSet};

use ruff_python_ast::Stmt;
use ruff_python_ast::comparable::ComparableStmt;
use ruff_python_ast::statement_visitor::{self, StatementVisitor};
use ruff_text_size::Ranged;

use super::syntax::parse;
use super::{SOURCE_BYTES_MAX, fences, lines};

/// Bytes of statements that are compared for all pieces of an answer. An honest one has a tenth of that.
pub(super) const COMPARED_BYTES_MAX: usize = 4 << 20;

/// Whether the `own` lines of a program stand in one of the `earlier` pieces as they are, one after the other but where a gap is
/// marked (`# ...`), and what it uses (the other statements of its `body`) was there by then, as it is there and not as a later piece
/// has mended it. What is compared is taken from the bytes `left`, without which nothing is a quote.
pub(super) fn quotes(own: &str, body: &[Stmt], earlier: &[String], left: &Cell<usize>) -> bool {
    let pays = |bytes: usize| left.get().checked_sub(bytes).map(|rest| left.set(rest)).is_some();
    let blocks: Vec<_> = fences::blocks(earlier).into_iter().filter(|block| block.len() <= SOURCE_BYTES_MAX).collect();
    if !pays(blocks.iter().map(String::len).sum()) {
        return false;
    }
    let parsed: Vec<_> = blocks.iter().map(|block| parse(block)).collect();
    let own_parsed = parse(own);
    let own_statements: HashSet<_> = own_parsed.syntax().body.iter().map(ComparableStmt::from).collect();
    let own_lines = lines::of(own, own_parsed.tokens());
    let uses = || body.iter().filter(|one| !own_statements.contains(&ComparableStmt::from(*one)));
    let used: Vec<ComparableStmt<'_>> = uses().map(ComparableStmt::from).collect();
    let named: BTreeMap<&str, &ComparableStmt<'_>> =
        uses().zip(&used).filter_map(|(one, same)| Some((name(one)?, same))).collect();
    // What is not yet there, piece by piece.
    let used: HashSet<&ComparableStmt<'_>> = used.iter().collect();
    let mut unseen = used.clone();
    blocks.iter().zip(&parsed).any(|(block, parsed)| {
        for one in &parsed.syntax().body {
            let mut written = Statements(Vec::new());
            written.visit_stmt(one);
            // One within others is compared with each of them.
            for one in written.0.into_iter().take_while(|one| pays(one.range().len().to_usize())) {
                unseen.remove(&ComparableStmt::from(one));
            }
            let meant = name(one).and_then(|name| named.get(name)).copied();
            unseen.extend(meant.filter(|meant| **meant != ComparableStmt::from(one)));
        }
        unseen.is_empty() && lines::have(&lines::of(block, parsed.tokens()), &own_lines)
    })
}

/// All statements, also those within others, as a whole program may stand in a function.
struct Statements<'a>(Vec<&'a Stmt>);

impl<'a> StatementVisitor<'a> for Statements<'a> {
    fn visit_stmt(&mut self, one: &'a Stmt) {
        self.0.push(one);
        statement_visitor::walk_stmt(self, one);
    }
}

/// The name of the function or the class that a statement defines.
fn name(statement: &Stmt) -> Option<&str> {
    match statement {
        Stmt::FunctionDef(function) => Some(&function.name),
        Stmt::ClassDef(class) => Some(&class.name),
        _ => None,
    }
}
