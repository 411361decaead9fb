//! Whether a piece only repeats what an earlier one of the same answer has written, as where it is explained.

use std::collections::{BTreeMap, HashSet};

use ruff_python_ast::Stmt;
use ruff_python_ast::comparable::ComparableStmt;
use ruff_python_ast::statement_visitor::{self, StatementVisitor};
use ruff_text_size::Ranged;

use super::syntax::parse;
use super::{SOURCE_BYTES_MAX, fences, lines};

/// Whether the `own` lines of a program stand in one of the `earlier` pieces as they are, and what it uses (the other statements of
/// its `body`) was there by then, as it is there and not as a later piece has mended it. They stand one after the other, but where a
/// gap is marked (`# ...`); and where the piece cannot do without what stands between its statements, any may be left out.
pub(super) fn quotes(own: &str, body: &[Stmt], earlier: &[String]) -> bool {
    let blocks: Vec<_> = fences::blocks(earlier).into_iter().filter(|block| block.len() <= SOURCE_BYTES_MAX).collect();
    let parsed: Vec<_> = blocks.iter().map(|block| parse(block)).collect();
    let own_parsed = parse(own);
    let statements: Vec<_> = own_parsed.syntax().body.iter().map(ComparableStmt::from).collect();
    let own_statements: HashSet<_> = statements.iter().collect();
    let together = lines::of(own, own_parsed.tokens());
    let lines_of = |one: &Stmt| lines::of(own, own_parsed.tokens().in_range(one.range()));
    let apart = own_parsed.syntax().body.iter().map(lines_of).collect::<Vec<_>>().join(lines::GAP);
    let uses = || body.iter().filter(|one| !own_statements.contains(&ComparableStmt::from(*one)));
    let used: Vec<ComparableStmt<'_>> = uses().map(ComparableStmt::from).collect();
    let named: BTreeMap<&str, &ComparableStmt<'_>> =
        uses().zip(&used).filter_map(|(one, same)| Some((name(one)?, same))).collect();
    // What is not yet there, piece by piece.
    let used: HashSet<&ComparableStmt<'_>> = used.iter().collect();
    let mut unseen = used.clone();
    blocks.iter().zip(&parsed).any(|(block, parsed)| {
        let mut needs_gaps = false;
        let mut has_begun = false;
        for one in &parsed.syntax().body {
            let mut written = Statements(Vec::new());
            written.visit_stmt(one);
            for one in written.0.into_iter().map(ComparableStmt::from) {
                needs_gaps |= has_begun && used.contains(&one);
                has_begun |= statements.first() == Some(&one);
                unseen.remove(&one);
            }
            let meant = name(one).and_then(|name| named.get(name)).copied();
            unseen.extend(meant.filter(|meant| **meant != ComparableStmt::from(one)));
        }
        unseen.is_empty()
            && lines::have(&lines::of(block, parsed.tokens()), if needs_gaps { &apart } else { &together })
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
