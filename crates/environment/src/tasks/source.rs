//! Parses a task's own Python: the function of a reference, the generator of a checker.

use std::collections::BTreeMap;
use std::ops::Range;

use ruff_python_ast::name::UnqualifiedName;
use ruff_python_ast::{AnyParameterRef, Decorator, Expr, ModModule, Parameters, Stmt, StmtFunctionDef};
use ruff_text_size::Ranged;

use crate::program::{bound_by, first_error, parse};

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
    /// Text of the parameters on one line, without parentheses, and without annotations because these may need an
    /// import.
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
        let text = without_annotations(source, &function.parameters);
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

/// The annotation of what the function `entry_point` returns, if it has one. `beginning` may end where the function's body begins.
pub(super) fn returned_by(beginning: &str, entry_point: &str) -> Option<String> {
    let whole = format!("{beginning}pass");
    let annotation = with_module(&whole, |module| {
        let returned = definition(&module.body, entry_point)?.returns.as_ref()?;
        Some(whole[returned.range().to_std_range()].to_owned())
    });
    annotation.ok().flatten()
}

/// The source up to the body of the function `name`, with the imports and the functions before it; `None` if it does not
/// define the function.
pub(super) fn header_of(source: &str, name: &str) -> Option<String> {
    let header = with_module(source, |module| {
        let body = definition(&module.body, name)?.body.first()?;
        Some(source[..body.start().to_usize()].trim().to_owned())
    });
    header.ok().flatten()
}

/// How a program with the method of `Class.method` begins: the lines of its class and of the method, without what is between them.
/// What stands before the class may define its bases and types, so these are there only where it comes first.
pub(super) fn lines_of_method(source: &str, entry_point: &str) -> Option<String> {
    let name = entry_point.split_once('.')?.0;
    let lines = with_module(source, |module| {
        let class =
            module.body.iter().filter_map(Stmt::as_class_def_stmt).rfind(|class| class.name.as_str() == name)?;
        let method = definition(&module.body, entry_point)?;
        let (start, parameters) = (method.start().to_usize(), method.parameters.range().to_std_range());
        let indent = source[..start].rsplit('\n').next()?;
        let begun = &source[start..parameters.start];
        if module.body[0].start() != class.start() {
            let parameters = without_annotations(source, &method.parameters);
            return Some(format!("class {name}:\n{indent}{begun}({parameters}):"));
        }
        let bases = class.arguments.as_ref().map_or("", |bases| &source[bases.range().to_std_range()]);
        let end = method.returns.as_ref().map_or(parameters.end, |returned| returned.end().to_usize());
        let end = end + source[end..].find(':')?;
        Some(format!("class {name}{bases}:\n{indent}{begun}{}:", &source[parameters.start..end]))
    });
    lines.ok().flatten()
}

/// What stands before the function `name` in the source; `None` where that is nothing.
pub(super) fn before(source: &str, name: &str) -> Option<String> {
    let before = with_module(source, |module| {
        Some(source[..definition(&module.body, name)?.start().to_usize()].trim_end().to_owned())
    });
    before.ok().flatten().filter(|text| !text.is_empty())
}

fn without_annotations(source: &str, parameters: &Parameters) -> String {
    let all = parameters.iter().map(AnyParameterRef::as_parameter);
    let annotations = all.filter_map(|one| {
        let annotation = one.name.end().to_usize()..one.annotation.as_ref()?.end().to_usize();
        Some((annotation, String::new()))
    });
    let text = edited(source, parameters.range().to_std_range(), annotations.collect());
    let inside = text.strip_prefix('(').and_then(|rest| rest.strip_suffix(')')).unwrap_or(&text);
    inside.split_whitespace().collect::<Vec<_>>().join(" ")
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
    if source.len() > SOURCE_MAX {
        return Err(format!("{} bytes of Python; at most {SOURCE_MAX}", source.len()));
    }
    let stack = source.len() * LEVEL_BYTES;
    stacker::maybe_grow(stack, stack, || {
        let parsed = parse(source);
        match first_error(&parsed) {
            Some((at, message)) => {
                let line = source[..at].matches('\n').count() + 1;
                Err(format!("line {line} of the Python: {message}"))
            }
            None => Ok(then(parsed.syntax())),
        }
    })
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

/// The last definition of `name`, or of `method` in the last `Class`.
fn definition<'a>(body: &'a [Stmt], entry_point: &str) -> Option<&'a StmtFunctionDef> {
    let (body, name) = match entry_point.split_once('.') {
        Some((class, method)) => {
            let mut classes = body.iter().filter_map(Stmt::as_class_def_stmt);
            (classes.rfind(|found| found.name.as_str() == class)?.body.as_slice(), method)
        }
        None => (body, entry_point),
    };
    functions(body).filter(|function| function.name.as_str() == name).last()
}
