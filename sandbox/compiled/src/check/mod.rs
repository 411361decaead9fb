//! Decides which sources are compiled: those that CPython certainly compiles, and that take bounded time to compile
//! here.
//!
//! Takes a source, gives its syntax tree. Length, characters and nesting are checked before parsing.

mod declarations;
mod syntax;
mod text;

use ruff_python_ast::{ModModule, PythonVersion};
use ruff_python_parser::{Mode, ParseOptions, Parsed, parse_unchecked};
use ruff_text_size::{Ranged, TextSize};

use crate::Outside;

/// The syntax tree of a source, or why it is not compiled.
pub(crate) fn parse(source: &str) -> Result<Parsed<ModModule>, Outside> {
    text::check(source)?;
    let options = ParseOptions::from(Mode::Module).with_target_version(PythonVersion::PY314);
    let outside = |at: TextSize, construct: &str| Outside { line: line_of(source, at), construct: construct.into() };
    let parsed = parse_unchecked(source, options).try_into_module();
    let parsed = parsed.ok_or_else(|| outside(TextSize::new(0), "no module"))?;
    if let Some(error) = parsed.errors().first() {
        return Err(outside(error.location.start(), "a syntax error"));
    }
    if let Some(error) = parsed.unsupported_syntax_errors().first() {
        return Err(outside(error.range().start(), "a syntax error"));
    }
    match syntax::check(source, parsed.suite()) {
        Some((construct, at)) => Err(outside(at, &construct)),
        None => Ok(parsed),
    }
}

/// The line of a position in a source, from 1.
pub(crate) fn line_of(source: &str, at: TextSize) -> usize {
    let before = source.as_bytes().iter().take(at.to_usize());
    1 + before.filter(|byte| **byte == b'\n').count()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scope::Scopes;

    /// The line at which a source is refused, by this module or by the scopes.
    fn refused(source: &str) -> usize {
        let parsed = match parse(source) {
            Ok(parsed) => parsed,
            Err(outside) => return outside.line,
        };
        match Scopes::build(parsed.suite()) {
            Ok(_) => panic!("{source:?} is taken"),
            Err(refused) => line_of(source, refused.at),
        }
    }

    #[test]
    fn what_cpython_does_not_compile_is_outside() {
        for source in [
            "def f(a, a): pass",
            "def f():\n    nonlocal x",
            "def f():\n    x = 1\n    global x",
            "def f():\n    print(x)\n    global x",
            "def f(x):\n    global x",
            "def f():\n    x = 1\n    def g():\n        x = 2\n        nonlocal x",
            "def f():\n    def g():\n        nonlocal f",
            "def f():\n    x = 1\n    def g():\n        nonlocal x\n        x: int = 2",
            "def f():\n    global x\n    x: int = 1",
            "x = 0\ndef f():\n    global x\n    if x:\n        x: int",
            "x = 1\ndef f():\n    nonlocal x",
            "f(a=1, a=2)",
            "try:\n    pass\nexcept:\n    pass\nexcept KeyError:\n    pass",
            "return 1",
            "def f():\n    return 1\n    break",
            "continue",
            "for x in y:\n    def f():\n        break",
            "[x := 1 for x in y]",
            "[y for y in (x := [1])]",
            "__debug__ = 1",
            "*a = b",
            "x = 1 +",
            "def f():\n\tif x:\n        y",
            "yield 1",
            "nonlocal x",
            "del f()",
            "f() = 1",
            "lambda x, x: 1",
            "x: int = (yield)",
            "def f(x: (y := 1)): pass",
            "a = '\\N{no such name}'",
            "x = 1\0",
            "from __future__ import nothing",
            "global x\nx = 1\nglobal x",
            "(a, b) += 1",
            "def f(a=1, b): pass",
            "f(**a, *b)",
            "x = 0777",
            "class A:\n    return 1",
        ] {
            refused(source);
        }
    }

    #[test]
    fn what_is_large_or_deep_is_outside_before_it_is_parsed() {
        let deep =
            |open: &str, close: &str, levels: usize| format!("x = {}1{}", open.repeat(levels), close.repeat(levels));
        refused(&deep("(", ")", 60));
        refused(&deep("[", "]", 100_000 / 2));
        refused(&deep("-", "", 60_000));
        refused(&deep("not ", "", 500));
        refused(&deep("lambda: ", "", 500));
        refused(&deep("1 + ", "", 500));
        refused(&deep("x.a if x else ", "", 500));
        refused(&format!("x = y{}", "()".repeat(500)));
        refused(&format!("x = 1 # {}", "x".repeat(70_000)));
        refused(&(0..40).map(|level| format!("{}if x:\n", " ".repeat(level))).collect::<String>());
        refused(&format!("if x:\n    pass\n{}", "elif x:\n    pass\n".repeat(100)));
        refused(&(0..15).map(|level| format!("{}for x in y:\n", " ".repeat(level))).collect::<String>());
    }

    #[test]
    fn the_line_of_what_is_refused_is_told() {
        assert_eq!(refused("x = 1\n\ny = 1 +\n"), 3);
        assert_eq!(refused("def f():\n    x = 1\n    global x\n"), 3);
    }
}
