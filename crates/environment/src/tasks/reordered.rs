//! A reference in another order, so that a program begins as a prompt does.

use std::borrow::Cow;

use ruff_python_ast::{Expr, Parameters, Stmt};
use ruff_text_size::Ranged;

use super::{Kind, Task, source};

impl Task {
    /// The reference as a program that begins with `opening`, which may end behind the line of a class or of a function. Where it
    /// begins otherwise, that function comes first, and what stood before it follows: most programs look up names only when they
    /// are called. Whoever shows the new order judges it before, because some do not work in it.
    pub fn reference_from(&self, opening: &str) -> Option<Cow<'_, str>> {
        let reference = self.reference.as_deref()?;
        if reference.starts_with(opening) {
            return Some(Cow::Borrowed(reference));
        }
        let Kind::Function(function) = &self.kind else { return None };
        reordered(reference, opening, &function.entry_point).map(Cow::Owned)
    }
}

/// What an opening ends with: the indentation and the parameters of a function, or the line of a class.
enum Ending {
    Function { indentation: String, names: Vec<String> },
    Class,
}

fn reordered(code: &str, opening: &str, entry_point: &str) -> Option<String> {
    let ending = ending(opening, entry_point)?;
    let class_name = entry_point.split_once('.').map(|(class, _)| class);
    let program = source::with_module(code, |module| {
        let class = class_name.and_then(|name| source::class(&module.body, name));
        let rest = |statement: &dyn Ranged, from: usize| &code[from..behind_comment(code, statement.end().to_usize())];
        let (first, text): (&dyn Ranged, String) = match &ending {
            Ending::Class => (class?, rest(class?, source::end_of_class_header(code, class?)?).to_owned()),
            Ending::Function { indentation, names } => {
                let function = source::definition(&module.body, entry_point)?;
                if names_of(&function.parameters) != *names {
                    return None;
                }
                let text = rest(function, source::end_of_header(code, function)?);
                match class {
                    None => (function, text.to_owned()),
                    Some(class) => {
                        let from = behind_comment(code, source::end_of_class_header(code, class)?);
                        let others = others(code, &class.body, from, function, opening);
                        let own = indentation_of(code, function.start().to_usize());
                        (class, indented(&format!("{text}\n{others}"), own, indentation))
                    }
                }
            }
        };
        let others = others(code, &module.body, 0, first, opening);
        Some(format!("{opening}{}\n\n\n{}", text.trim_end(), others.trim_start()).trim_end().to_owned() + "\n")
    });
    program.ok().flatten()
}

fn ending(opening: &str, entry_point: &str) -> Option<Ending> {
    let whole = format!("{opening} pass");
    let ending = source::with_module(&whole, |module| {
        let (end, ending) = match source::definition(&module.body, entry_point) {
            Some(function) => {
                let indentation = indentation_of(&whole, function.start().to_usize()).to_owned();
                let names = names_of(&function.parameters);
                (source::end_of_header(&whole, function)?, Ending::Function { indentation, names })
            }
            None => {
                let class = source::class(&module.body, entry_point.split_once('.')?.0)?;
                (source::end_of_class_header(&whole, class)?, Ending::Class)
            }
        };
        (end == opening.len()).then_some(ending)
    });
    ending.ok().flatten()
}

fn names_of(parameters: &Parameters) -> Vec<String> {
    parameters.iter().map(|parameter| parameter.name().to_string()).collect()
}

/// The statements of a body, which begins at `from`, but for `first` with the comments before it, descriptions, and lines that
/// `opening` has.
fn others(code: &str, body: &[Stmt], mut from: usize, first: &dyn Ranged, opening: &str) -> String {
    let mut text = String::new();
    for statement in body {
        let range = statement.range().to_std_range();
        let end = behind_comment(code, range.end);
        let is_text = matches!(statement, Stmt::Expr(one) if matches!(*one.value, Expr::StringLiteral(_)));
        let is_given = || opening.lines().any(|line| line.trim() == &code[range.clone()]);
        if statement.range() != first.range() && !is_text && !is_given() {
            text += &code[from..end];
        }
        from = end;
    }
    text
}

/// Where a comment ends that stands behind `at` in its line; `at` where none does.
fn behind_comment(code: &str, at: usize) -> usize {
    let rest = code[at..].lines().next().unwrap_or_default();
    at + if rest.trim_start().starts_with('#') { rest.len() } else { 0 }
}

/// The blanks before what begins at `at`.
fn indentation_of(code: &str, at: usize) -> &str {
    &code[code[..at].rfind('\n').map_or(0, |end| end + 1)..at]
}

/// Lines indented by `new` for every `old` that they begin with.
fn indented(text: &str, old: &str, new: &str) -> String {
    if old == new || old.is_empty() {
        return text.to_owned();
    }
    let line = |line: &str| {
        let inside = line.trim_start_matches(old);
        new.repeat((line.len() - inside.len()) / old.len()) + inside
    };
    text.split_inclusive('\n').map(line).collect()
}
