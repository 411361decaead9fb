//! Tests as Python about functions of the solution, which nothing else names.

use ruff_python_ast::Stmt;
use ruff_text_size::Ranged;

use super::asserts::{Callee, Truths};
use super::checker::Target;
use super::draft::Draft;
use super::live_code_bench::forgiving;
use super::{asserts, checker};
use crate::program::bound_by;
use crate::tasks::source;

/// Tests by the asserts in `tests`, about a function that `code` defines. `setup` is what the asserts need beside it; where nobody knows
/// that, only calls with literals are taken, and truths as equalities, so that most rows have tests.
pub(super) fn about_functions_of(
    mut draft: Draft,
    code: &str,
    tests: &str,
    setup: Option<&str>,
) -> Result<Draft, String> {
    let defined = source::with_module(code, |module| {
        let bound = module.body.iter().flat_map(bound_by);
        let bound = bound.map(|name| Callee { name: name.to_owned(), parameters: Vec::new() });
        let functions = source::functions(&module.body)
            .map(|function| Callee { name: function.name.to_string(), parameters: source::places(function, 0) });
        (functions.collect::<Vec<_>>(), bound.collect::<Vec<_>>())
    });
    let (functions, bound) = defined.map_err(|why| format!("solution: {why}"))?;
    without_objects(code, &[tests, setup.unwrap_or_default()])?;
    let truths = if setup.is_some() { Truths::AsPython } else { Truths::AsEqual };
    source::with_module(tests, |module| {
        let reduced = |callees: &[Callee]| asserts::reduce(&module.body, tests, callees, truths);
        // Beside functions, what is imported is a tool, such as `Counter`.
        let (name, prelude) = match reduced(&functions).or_else(|why| reduced(&bound).map_err(|_| why)) {
            Ok(reduced) => {
                let called = reduced.called.clone();
                if draft.take(reduced) {
                    draft.entry_point = Some(called);
                    return Ok(draft);
                }
                (called, asserts::NAMES.to_owned())
            }
            Err(why) => {
                // The data does not name the tested function: it is the last one that all asserts call.
                let texts = module.body.iter().map(|statement| &tests[statement.range().to_std_range()]);
                let lines: Vec<&str> = texts.collect();
                let called = |callee: &&Callee| {
                    let call = format!("{}(", callee.name);
                    lines.iter().all(|line| line.contains(&call))
                };
                let name = &functions.iter().rev().find(called).ok_or(why)?.name;
                let setup = setup.ok_or("tests by more than asserts about calls with literals")?;
                without_objects(setup, &[tests, setup])?;
                (name.clone(), format!("{code}\n{}", forgiving(setup)))
            }
        };
        let target = Target { called: &name, entry_point: &name, prelude: &prelude };
        draft.checker = Some(checker::from_statements(&module.body, tests, target)?);
        draft.entry_point = Some(name);
        // What the checker finds is told as little as a hidden test.
        draft.shows_none = true;
        Ok(draft)
    })?
}

/// Refuses texts that make objects of a class which `source` defines.
fn without_objects(source: &str, texts: &[&str]) -> Result<(), String> {
    let are_made = |class: &str| {
        let call = format!("{class}(");
        texts.iter().any(|text| text.matches(&call).count() > text.matches(&format!("class {call}")).count())
    };
    let made = source::with_module(source, |module| {
        module.body.iter().filter_map(Stmt::as_class_def_stmt).any(|class| are_made(&class.name))
    });
    match made {
        Ok(true) => Err("calls with objects of a class of its own, which no value stands for".into()),
        _ => Ok(()),
    }
}
