//! Parses a task's own Python: the function of a reference, the generator of a checker.

use std::collections::BTreeMap;
use std::ops::Range;

use ruff_python_ast::name::UnqualifiedName;
use ruff_python_ast::{Decorator, Expr, ModModule, Parameters, Stmt, StmtClassDef, StmtFunctionDef};
use ruff_python_parser::Parsed;
use ruff_text_size::Ranged;

use crate::program::{bound_by, first_error, parse};
use crate::value::Value;

/// Bytes of the longest reference or checker; the recursion over a tree is at most as deep as the text is long.
const SOURCE_MAX: usize = 64 << 10;
/// Stack per character of a source while its tree is dropped, estimated generously.
const LEVEL_BYTES: usize = 512;

/// Whether the text is an identifier of Python.
pub(super) fn is_identifier(text: &str) -> bool {
    let is_name = |c: char| c == '_' || c.is_alphabetic();
    text.starts_with(is_name) && text.chars().all(|c| is_name(c) || c.is_numeric()) && !KEYWORDS.contains(&text)
}

const KEYWORDS: [&str; 35] = [
    "False", "None", "True", "and", "as", "assert", "async", "await", "break", "class", "continue", "def", "del",
    "elif", "else", "except", "finally", "for", "from", "global", "if", "import", "in", "is", "lambda", "nonlocal",
    "not", "or", "pass", "raise", "return", "try", "while", "with", "yield",
];

/// Parameters of a function.
pub(super) struct Signature {
    /// Text of the parameters, without parentheses ([`parameters_of`]).
    pub text: String,
    /// Names of the positional parameters, without a method's `self`.
    pub names: Vec<String>,
}

/// Refuses source that does not compile or does not define `entry_point`; returns its parameters where a `def` shows them.
pub(super) fn signature_of(source: &str, entry_point: &str) -> Result<Option<Signature>, String> {
    with_module(source, |module| {
        let Some(function) = definition(&module.body, entry_point) else {
            return otherwise_defined(&module.body, entry_point).map(|()| None);
        };
        let text = parameters_of(source, &function.parameters, is_first(&module.body, function));
        let own = if entry_point.contains('.') { selves(function) } else { 0 };
        Ok(Some(Signature { text, names: places(function, own) }))
    })?
}

/// Refuses a module in which nothing binds `entry_point`: no assignment, no import, no base of its class.
fn otherwise_defined(body: &[Stmt], entry_point: &str) -> Result<(), String> {
    let defined = defined(body);
    let is_bound = match entry_point.split_once('.') {
        Some((class, method)) => defined.iter().any(|name| name == entry_point) || may_have(body, class, method),
        None => body.iter().any(|statement| bound_by(statement).contains(&entry_point)),
    };
    if is_bound {
        return Ok(());
    }
    let mut classes = body.iter().filter_map(Stmt::as_class_def_stmt);
    if classes.any(|class| class.name.as_str() == entry_point) {
        return Err(format!(
            "`{entry_point}` is a class; expected a function, or a method of it that is named as in `{entry_point}.method`"
        ));
    }
    let names = defined.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ");
    let names =
        if names.is_empty() { "nothing at top level by `def`, `class`, `=` or `from .. import`" } else { &names };
    Err(format!("does not define `{entry_point}`; it defines {names}"))
}

/// Whether the class has the method, by itself or by what it is under; a class that is defined elsewhere may have any.
fn may_have(body: &[Stmt], class: &str, method: &str) -> bool {
    let mut known = BTreeMap::from([("object", false)]);
    for statement in body {
        let Stmt::ClassDef(class) = statement else {
            known.extend(bound_by(statement).into_iter().map(|name| (name, true)));
            continue;
        };
        let has = |base: &Expr| !matches!(base, Expr::Name(name) if known.get(name.id.as_str()) == Some(&false));
        let has = defined(&class.body).iter().any(|name| name == method) || class.bases().iter().any(has);
        known.insert(class.name.as_str(), has);
    }
    known.get(class) == Some(&true)
}

/// All names that statements define, those of a class as `Class.name`.
fn defined(body: &[Stmt]) -> Vec<String> {
    let names = |statement: &Stmt| match statement {
        Stmt::FunctionDef(function) => vec![function.name.to_string()],
        Stmt::ClassDef(class) => {
            let own = defined(&class.body).into_iter().map(|name| format!("{}.{name}", class.name));
            std::iter::once(class.name.to_string()).chain(own).collect()
        }
        // An attribute too, as of `Class.name = function`.
        Stmt::Assign(assign) => {
            assign.targets.iter().filter_map(UnqualifiedName::from_expr).map(|name| name.to_string()).collect()
        }
        other => bound_by(other).into_iter().map(str::to_owned).collect(),
    };
    body.iter().flat_map(names).collect()
}

/// Names of the positional parameters of a function after its `own`, which no call passes.
pub(super) fn places(function: &StmtFunctionDef, own: usize) -> Vec<String> {
    let by_place = function.parameters.posonlyargs.iter().chain(&function.parameters.args);
    by_place.skip(own).map(|parameter| parameter.name().to_string()).collect()
}

/// How many arguments a method is given beside those of its call.
pub(super) fn selves(method: &StmtFunctionDef) -> usize {
    let mut decorators = method.decorator_list.iter();
    let is_static =
        |decorator: &Decorator| matches!(&decorator.expression, Expr::Name(name) if name.id.as_str() == "staticmethod");
    usize::from(!decorators.any(is_static))
}

/// Where the header of a function ends, behind its colon.
pub(super) fn end_of_header(source: &str, function: &StmtFunctionDef) -> Option<usize> {
    let end = match &function.returns {
        Some(returned) => behind_brackets(source, returned.end().to_usize()..source.len()),
        None => function.parameters.end().to_usize(),
    };
    Some(end + source[end..].find(':')? + 1)
}

/// Where the brackets end that may stand around an expression, in what follows it: they are no part of its tree.
fn behind_brackets(source: &str, following: Range<usize>) -> usize {
    let (mut end, mut rest) = (following.start, &source[following.clone()]);
    loop {
        rest = rest.trim_start_matches(|c: char| c.is_whitespace() || c == '\\');
        if let Some(behind) = rest.strip_prefix(')') {
            rest = behind;
            end = following.end - rest.len();
        } else if rest.starts_with('#') {
            rest = rest.find('\n').map_or("", |at| &rest[at..]);
        } else {
            return end;
        }
    }
}

/// Where the header of a class ends, behind its colon.
pub(super) fn end_of_class_header(source: &str, class: &StmtClassDef) -> Option<usize> {
    let end = class.arguments.as_ref().map_or(class.name.end(), |arguments| arguments.end()).to_usize();
    Some(end + source[end..].find(':')? + 1)
}

/// Whether nothing stands before one of the statements.
pub(super) fn is_first(body: &[Stmt], one: &impl Ranged) -> bool {
    body.first().is_some_and(|first| first.start() == one.start())
}

/// What stands before the function `name` in the source; `None` where that is nothing.
pub(super) fn before(source: &str, name: &str) -> Option<String> {
    let before = with_module(source, |module| {
        Some(source[..definition(&module.body, name)?.start().to_usize()].trim_end().to_owned())
    });
    before.ok().flatten().filter(|text| !text.is_empty())
}

/// Parameters on one line without their annotations, which may need an import. So may a default that is no literal: it is `None`
/// where something stands before the function.
pub(super) fn parameters_of(source: &str, parameters: &Parameters, is_first: bool) -> String {
    // No text has its place between names and defaults, so `#` begins a comment there.
    let between = |range: Range<usize>| {
        let lines = source[range.clone()].lines().map(|line| line.split('#').next().unwrap_or_default().trim());
        if source[range.clone()].contains('\n') {
            lines.collect::<Vec<_>>().join(" ")
        } else {
            source[range].to_owned()
        }
    };
    let (mut text, mut from) = (String::new(), parameters.start().to_usize());
    // Their own bracket closes none of an annotation.
    let inner_end = parameters.end().to_usize() - 1;
    for one in parameters {
        let name = one.name().range().to_std_range();
        text += &between(from..name.start);
        text += &source[name.clone()];
        from = one
            .annotation()
            .map_or(name.end, |annotation| behind_brackets(source, annotation.end().to_usize()..inner_end));
        if let Some(default) = one.default() {
            let range = default.range().to_std_range();
            let given = &source[range.clone()];
            text += &between(from..range.start);
            match given.contains('\n') {
                false if is_first || Value::from_literal(given).is_ok() => text += given,
                true if !given.contains('#') && Value::from_literal(given).is_ok() => text += &between(range.clone()),
                _ => text += "None",
            }
            from = range.end;
        }
    }
    text += &between(from..parameters.end().to_usize());
    let inside = text.strip_prefix('(').and_then(|rest| rest.strip_suffix(')')).unwrap_or(&text);
    inside.trim().to_owned()
}

/// A range of a source with other text in place of some pieces, none of which overlap.
pub(super) fn edited(source: &str, range: Range<usize>, mut edits: Vec<(Range<usize>, String)>) -> String {
    edits.sort_by_key(|(piece, _)| (piece.start, piece.end));
    let (mut text, mut from) = (String::new(), range.start);
    for (piece, new) in edits {
        text.push_str(&source[from..piece.start]);
        text.push_str(&new);
        from = piece.end;
    }
    text + &source[from..range.end]
}

/// Refuses source that does not compile.
pub(super) fn check(source: &str) -> Result<(), String> {
    with_module(source, |_| ())
}

pub(super) fn with_module<T>(source: &str, then: impl FnOnce(&ModModule) -> T) -> Result<T, String> {
    with_tree(source, |parsed| match first_error(parsed) {
        Some((at, message)) => {
            let line = source[..at].matches('\n').count() + 1;
            Err(format!("line {line} of the Python: {message}"))
        }
        None => Ok(then(parsed.syntax())),
    })?
}

/// The same of source that may be wrong, with as much of its tree as there is.
pub(super) fn with_tree<T>(source: &str, then: impl FnOnce(&Parsed<ModModule>) -> T) -> Result<T, String> {
    if source.len() > SOURCE_MAX {
        return Err(format!("{} bytes of Python; at most {SOURCE_MAX}", source.len()));
    }
    let stack = source.len() * LEVEL_BYTES;
    stacker::maybe_grow(stack, stack, || Ok(then(&parse(source))))
}

/// Whether a text may be the beginning of a program: what is wrong with it is wrong at its end, or it ends within a text.
pub(super) fn is_begun(text: &str) -> bool {
    let stack = text.len() * LEVEL_BYTES;
    stacker::maybe_grow(stack, stack, || {
        let end = text.trim_end().len();
        // A text without its end is reported where it begins.
        let is_open = |said: &str| ["unterminated", "closing quote"].iter().any(|words| said.contains(words));
        first_error(&parse(text)).is_none_or(|(at, said)| at >= end || is_open(&said))
    })
}

pub(super) fn functions(body: &[Stmt]) -> impl Iterator<Item = &StmtFunctionDef> {
    body.iter().filter_map(Stmt::as_function_def_stmt)
}

/// The last class of this name.
pub(super) fn class<'a>(body: &'a [Stmt], name: &str) -> Option<&'a StmtClassDef> {
    body.iter().filter_map(Stmt::as_class_def_stmt).rfind(|class| class.name.as_str() == name)
}

/// The last definition of `name`, or of `method` in the last `Class`.
pub(super) fn definition<'a>(body: &'a [Stmt], entry_point: &str) -> Option<&'a StmtFunctionDef> {
    let (body, name) = match entry_point.split_once('.') {
        Some((of, method)) => (class(body, of)?.body.as_slice(), method),
        None => (body, entry_point),
    };
    functions(body).filter(|function| function.name.as_str() == name).last()
}
