//! Whether a piece only repeats what an earlier one of the same answer has written, as where it is explained.

use std::collections::{BTreeMap, BTreeSet, HashSet};

use ruff_python_ast::comparable::ComparableStmt;
use ruff_python_ast::statement_visitor::{self, StatementVisitor};
use ruff_python_ast::token::TokenKind;
use ruff_python_ast::{ModModule, Stmt};
use ruff_python_parser::Parsed;
use ruff_text_size::Ranged;

use super::syntax::parse;
use super::{SOURCE_BYTES_MAX, fences};

/// Stands between the indentation of a line and its words.
const WORDS: char = '\0';

/// Whether the `own` lines of a program stand in one of the `earlier` pieces as they are, one after the other, and what it uses (the
/// other statements of its `body`) was there by then, as it is there and not as a later piece has mended it.
pub(super) fn quotes(own: &str, body: &[Stmt], earlier: &[String]) -> bool {
    let blocks: Vec<_> = fences::blocks(earlier).into_iter().filter(|block| block.len() <= SOURCE_BYTES_MAX).collect();
    let parsed: Vec<_> = blocks.iter().map(|block| parse(block)).collect();
    let own_parsed = parse(own);
    let own_statements: HashSet<_> = own_parsed.syntax().body.iter().map(ComparableStmt::from).collect();
    let own = lines(own, &own_parsed);
    let own = run(&own);
    let uses = || body.iter().filter(|one| !own_statements.contains(&ComparableStmt::from(*one)));
    let used: Vec<ComparableStmt<'_>> = uses().map(ComparableStmt::from).collect();
    let named: BTreeMap<&str, &ComparableStmt<'_>> =
        uses().zip(&used).filter_map(|(one, same)| Some((name(one)?, same))).collect();
    // What is not yet there, piece by piece.
    let mut unseen: HashSet<&ComparableStmt<'_>> = used.iter().collect();
    blocks.iter().zip(&parsed).any(|(block, parsed)| {
        let body = &parsed.syntax().body;
        let mut written = Statements(Vec::new());
        written.visit_body(body);
        for one in written.0 {
            unseen.remove(&ComparableStmt::from(one));
        }
        let mended = |one: &Stmt| named.get(name(one)?).filter(|meant| ***meant != ComparableStmt::from(one)).copied();
        unseen.extend(body.iter().filter_map(mended));
        unseen.is_empty() && lines(block, parsed).contains(own)
    })
}

/// The blocks, those that the `own` lines of a program all stand in, but otherwise, without the statements that are written anew by them.
pub(super) fn without_mended(own: &str, mut blocks: Vec<String>) -> Vec<String> {
    let own = lines(own, &parse(own));
    let mending: BTreeSet<&str> = words(&own).collect();
    let is_near = |block: &&mut String| {
        block.len() <= SOURCE_BYTES_MAX && mending.first().is_some_and(|words| block.contains(words))
    };
    for block in blocks.iter_mut().filter(is_near) {
        let parsed = parse(block);
        let here = lines(block, &parsed);
        if here.contains(run(&own)) || !mending.is_subset(&words(&here).collect()) {
            continue;
        }
        let (mut kept, mut from) = (String::new(), 0);
        for range in parsed.syntax().body.iter().map(|one| one.range().to_std_range()) {
            let text = &block[range.clone()];
            if words(&lines(text, &parse(text))).all(|words| mending.contains(words)) {
                kept += &block[from..range.start];
                from = range.end;
            }
        }
        *block = kept + &block[from..];
    }
    blocks
}

/// The [`lines`] of a piece as they stand in another, where what is indented may stand without its indentation.
fn run(lines: &str) -> &str {
    &lines[lines.find(WORDS).unwrap_or(0)..]
}

/// The words of each of the [`lines`] of a text.
fn words(lines: &str) -> impl Iterator<Item = &str> {
    lines.lines().filter_map(|line| Some(line.split_once(WORDS)?.1))
}

/// All statements, also those within others, as a whole program may stand in a function.
struct Statements<'a>(Vec<&'a Stmt>);

impl<'a> StatementVisitor<'a> for Statements<'a> {
    fn visit_stmt(&mut self, one: &'a Stmt) {
        self.0.push(one);
        statement_visitor::walk_stmt(self, one);
    }
}

/// The lines of a text that are neither empty nor comments, without the comments at their ends, each with how much further than
/// the one before it is indented.
fn lines(text: &str, parsed: &Parsed<ModModule>) -> String {
    let (mut code, mut from) = (String::new(), 0);
    for comment in parsed.tokens().iter().filter(|token| token.kind() == TokenKind::Comment) {
        code += &text[from..comment.start().to_usize()];
        from = comment.end().to_usize();
    }
    code += &text[from..];
    let (mut found, mut before) = (String::new(), 0);
    for line in code.lines().filter(|line| !line.trim().is_empty()) {
        let indentation = (line.len() - line.trim_start().len()) as isize;
        found += &format!("{}{WORDS}{}\n", indentation - before, line.trim());
        before = indentation;
    }
    found
}

/// The name of the function or the class that a statement defines.
fn name(statement: &Stmt) -> Option<&str> {
    match statement {
        Stmt::FunctionDef(function) => Some(&function.name),
        Stmt::ClassDef(class) => Some(&class.name),
        _ => None,
    }
}
