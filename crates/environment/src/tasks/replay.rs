//! Writes the generator of a checker as a plain function, because the compiled tier takes no generators.
//!
//! The function is given the answers so far and does all again from its start: at the first `yield` without an answer it
//! returns that call, in a list, and the verdict in a tuple. In a fresh instance each time it does what the generator
//! does, since a checker sees nothing but answers.

use std::ops::Range;

use ruff_python_ast::visitor::{self, Visitor};
use ruff_python_ast::{Expr, ExprYield, Stmt};
use ruff_text_size::Ranged;

use super::source;

/// The parameter with the answers; no source that has this name is rewritten.
const ANSWERS: &str = "_answers";

/// The source with `check(_answers)` in place of the generator `check()`. None where a `yield` is more than a line of its
/// own, `yield call` or `r = yield call`, or where `check` is used by name.
pub(super) fn replayed(source: &str) -> Option<String> {
    // A statement after a continued line does not begin where its line does.
    if source.contains(ANSWERS) || source.contains("\\\n") {
        return None;
    }
    source::with_module(source, |module| {
        let mut checks = source::functions(&module.body).filter(|function| function.name.as_str() == "check");
        let (check, None) = (checks.next()?, checks.next()) else { return None };
        let mut named = Named(0);
        named.visit_body(&module.body);
        let is_plain = !check.is_async && check.decorator_list.is_empty() && check.parameters.is_empty();
        if named.0 > 0 || !is_plain {
            return None;
        }
        let edits = vec![(check.parameters.range().to_std_range(), format!("({ANSWERS})"))];
        let mut rewriting = Rewriting { source, edits, is_possible: true };
        rewriting.visit_body(&check.body);
        rewriting.is_possible.then(|| source::edited(source, 0..source.len(), rewriting.edits))
    })
    .ok()?
}

/// Counts what reads or binds the name `check`, beside its definition.
struct Named(usize);

impl Visitor<'_> for Named {
    fn visit_expr(&mut self, expression: &Expr) {
        self.0 += usize::from(matches!(expression, Expr::Name(name) if name.id.as_str() == "check"));
        visitor::walk_expr(self, expression);
    }
}

struct Rewriting<'a> {
    source: &'a str,
    edits: Vec<(Range<usize>, String)>,
    is_possible: bool,
}

impl Rewriting<'_> {
    /// Puts the way out before a statement that takes the answer to a call.
    fn ask(&mut self, statement: &Stmt, call: Option<&ExprYield>) {
        let at = statement.start().to_usize();
        let before = &self.source[..at];
        let indentation = &before[before.rfind('\n').map_or(0, |end| end + 1)..];
        let Some((call, value)) = call.and_then(|call| Some((call, call.value.as_deref()?))) else {
            self.is_possible = false;
            return;
        };
        self.is_possible &= indentation.trim().is_empty();
        self.visit_expr(value);
        let asked = &self.source[value.range()];
        let way_out = format!("if not {ANSWERS}: return [({asked})]\n{indentation}");
        self.edits.push((at..at, way_out));
        self.edits.push((call.range().to_std_range(), format!("{ANSWERS}.pop(0)")));
    }
}

impl Visitor<'_> for Rewriting<'_> {
    fn visit_stmt(&mut self, statement: &Stmt) {
        match statement {
            Stmt::Expr(inner) if inner.value.is_yield_expr() => self.ask(statement, inner.value.as_yield_expr()),
            Stmt::Assign(assign) if assign.value.is_yield_expr() => {
                assign.targets.iter().for_each(|target| self.visit_expr(target));
                self.ask(statement, assign.value.as_yield_expr());
            }
            Stmt::Return(end) => {
                if let Some(value) = &end.value {
                    self.visit_expr(value);
                    let verdict = format!("(({}),)", &self.source[value.range()]);
                    self.edits.push((value.range().to_std_range(), verdict));
                }
            }
            // What these yield and return is their own.
            Stmt::FunctionDef(_) | Stmt::ClassDef(_) => {}
            _ => visitor::walk_stmt(self, statement),
        }
    }

    fn visit_expr(&mut self, expression: &Expr) {
        match expression {
            Expr::Yield(_) | Expr::YieldFrom(_) => self.is_possible = false,
            Expr::Lambda(_) => {}
            _ => visitor::walk_expr(self, expression),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_yield_on_a_line_of_its_own_becomes_a_way_out_and_an_answer() {
        let source = "\
WORDS = ['a', 'b']

def check():
    for word in WORDS:
        code = yield 'encode', word
        if len(code) > 3: return False
        back = yield (
            'decode', code)
        if back != word:
            return word, back
    yield ('close',)
    return (not
            code)
";
        let expected = "\
WORDS = ['a', 'b']

def check(_answers):
    for word in WORDS:
        if not _answers: return [('encode', word)]
        code = _answers.pop(0)
        if len(code) > 3: return ((False),)
        if not _answers: return [((
            'decode', code))]
        back = _answers.pop(0)
        if back != word:
            return ((word, back),)
    if not _answers: return [(('close',))]
    _answers.pop(0)
    return (((not
            code),))
";
        assert_eq!(replayed(source).as_deref(), Some(expected));
    }

    #[test]
    fn a_generator_that_does_more_is_left_as_it_is() {
        for body in [
            "    assert (yield ('f', 1)) == 2",
            "    if True: r = yield ('f', 1)",
            "    r = 1; s = yield ('f', r)",
            "    r = \\\n    yield ('f', 1)",
            "    yield from other()",
            "    r = yield ('f', (yield ('f', 1)))",
            "    x[(yield ('f', 1))] = yield ('f', 2)",
            "    r = yield",
            "    while (yield ('f', 1)): pass",
            "    return (yield ('f', 1))",
            "    _answers = yield ('f', 1)",
            "    r = yield ('f', check)",
        ] {
            assert_eq!(replayed(&format!("def check():\n{body}\n")), None, "{body}");
        }
        for source in [
            "def check(x=1):\n    yield 1",
            "@cached\ndef check():\n    yield 1",
            "check = 1\ndef check():\n    yield 1",
        ] {
            assert_eq!(replayed(source), None, "{source}");
        }
    }
}
