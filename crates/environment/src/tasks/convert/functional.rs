//! DeepCoder's tests of functions: asserts in a `check(candidate)`, about a method or a function that the call of `check` names, or else
//! nothing but the solution.

use ruff_python_ast::{Expr, ExprCall, Stmt, StmtFunctionDef};

use super::asserts::{self, Callee, Reduced, Truths};
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
        source::check(code)?;
        let named = passed(&module.body);
        let parameters = match &named {
            Some(name) => {
                source::signature_of(code, name).map_err(|_| UNDEFINED)?.map_or_else(Vec::new, |found| found.names)
            }
            None => Vec::new(),
        };
        let candidate = Callee { name: "candidate".to_owned(), parameters };
        let reduced = asserts::reduce(&check.body, test, &[candidate], Truths::AsEqual)?;
        let name = named.map_or_else(|| tested(code, &reduced)?.ok_or_else(|| UNDEFINED.to_owned()), Ok)?;
        if !draft.take(reduced) {
            let target = Target { called: "candidate", entry_point: &name, prelude: asserts::NAMES };
            draft.checker = Some(checker::from_function(check, test, target)?);
        }
        draft.entry_point = Some(name);
        Ok(draft)
    })?
}

/// The function that tests pass to their `check`: `check(f)`, or `check(Solution().f)`.
fn passed(body: &[Stmt]) -> Option<String> {
    let calls = body.iter().filter_map(|statement| statement.as_expr_stmt()?.value.as_call_expr());
    let is_check = |call: &&ExprCall| matches!(call.func.as_ref(), Expr::Name(name) if name.id.as_str() == "check");
    match calls.filter(is_check).last()?.arguments.args.as_ref() {
        [Expr::Name(function)] => Some(function.id.to_string()),
        [Expr::Attribute(method)] => {
            let class = method.value.as_call_expr()?.func.as_name_expr()?;
            Some(format!("{}.{}", class.id, method.attr))
        }
        _ => None,
    }
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
            let methods = source::functions(&class.body).filter(|method| fits(method, source::selves(method)));
            last = methods.last().map(|method| format!("{}.{}", class.name, method.name)).or(last);
        }
        let functions = source::functions(&module.body).filter(|function| fits(function, 0));
        functions.last().map(|function| function.name.to_string()).or(last)
    })
}
