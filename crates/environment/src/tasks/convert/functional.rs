//! DeepCoder's tests of functions: asserts in a `check(candidate)`, about a method or a function that nothing but the solution names.

use ruff_python_ast::{Decorator, Expr, Stmt, StmtFunctionDef};

use super::asserts::{self, Reduced, Truths};
use super::checker::{self, Target};
use super::draft::Draft;
use crate::program::takes;
use crate::tasks::source;
use crate::value::Value;

/// Why a row has no function to ask for.
pub(super) const UNDEFINED: &str = "asserts about a function that no solution defines";

/// The task of a row with the solution `code`.
pub(super) fn draft(problem: &str, code: &str, test: &str) -> Result<Draft, String> {
    let mut draft = Draft { prompt: problem.to_owned(), shows_none: true, ..Draft::default() };
    draft.reference = Some(code.to_owned());
    source::with_module(test, |module| {
        let check = source::functions(&module.body).find(|function| function.name.as_str() == "check");
        let check = check.ok_or("no `check(candidate)` in `tests`")?;
        let reduced = asserts::reduce(&check.body, test, &["candidate"], Truths::AsEqual)?;
        let name = tested(code, &reduced)?.ok_or(UNDEFINED)?;
        if !draft.take(reduced) {
            let target = Target { called: "candidate", entry_point: &name, prelude: asserts::NAMES };
            draft.checker = Some(checker::from_function(check, test, target)?);
        }
        draft.entry_point = Some(name);
        Ok(draft)
    })?
}

/// The last method or function of `code` that every assert can call: what a solution ends with may be a `main()`.
fn tested(code: &str, reduced: &Reduced) -> Result<Option<String>, String> {
    let counts = reduced.tests.iter().map(|(arguments, _)| match arguments {
        Value::Tuple(arguments) => arguments.len(),
        _ => 1,
    });
    let counts: Vec<usize> = counts.collect();
    let fits = |function: &StmtFunctionDef, own: usize| counts.iter().all(|count| takes(function, own + count));
    source::with_module(code, |module| {
        let mut last = None;
        for class in module.body.iter().filter_map(Stmt::as_class_def_stmt) {
            let methods = source::functions(&class.body).filter(|method| fits(method, selves(method)));
            last = methods.last().map(|method| format!("{}.{}", class.name, method.name)).or(last);
        }
        let functions = source::functions(&module.body).filter(|function| fits(function, 0));
        functions.last().map(|function| function.name.to_string()).or(last)
    })
}

/// How many arguments a method is given beside those of its call.
fn selves(method: &StmtFunctionDef) -> usize {
    let mut decorators = method.decorator_list.iter();
    let is_static =
        |decorator: &Decorator| matches!(&decorator.expression, Expr::Name(name) if name.id.as_str() == "staticmethod");
    usize::from(!decorators.any(is_static))
}
