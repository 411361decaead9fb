//! KodCode: tests in the style of pytest, which are functions with asserts.

use ruff_python_ast::name::Name;
use ruff_python_ast::{Decorator, Expr, Stmt, StmtFunctionDef};
use ruff_text_size::Ranged;

use super::draft::{Draft, Row};
use super::solution::about_functions_of;
use crate::tasks::source;

/// Marks of tests that are not run, or whose failure is no fault.
const MARKS: [&str; 6] = ["skip", "skipif", "xfail", "skipIf", "skipUnless", "expectedFailure"];

/// The task of a row.
pub(super) fn draft(row: &Row) -> Result<Draft, String> {
    let code = row.need("solution")?;
    let test = row.text("test").map_or_else(|| row.need("test_code"), Ok)?;
    let asserts = source::with_module(test, |module| {
        let statements = pytest_functions(&module.body).into_iter().flat_map(|function| function.body.iter());
        let texts = statements.map(|statement| &test[statement.range().to_std_range()]);
        texts.collect::<Vec<_>>().join("\n")
    })?;
    let draft =
        Draft { prompt: row.need("question")?.to_owned(), reference: Some(code.to_owned()), ..Draft::default() };
    about_functions_of(draft, code, &asserts, None)
}

/// The functions that pytest runs, in their order: `test..`, also in classes `Test..` and in those of unittest. What one of these has of
/// its `self` is no literal, by which the row is refused. What is marked as skipped or as failing is passed over, as is a class that
/// pytest takes for no test.
fn pytest_functions(body: &[Stmt]) -> Vec<&StmtFunctionDef> {
    let is_test_case = |base: &Expr| match base {
        Expr::Name(name) => name.id.as_str() == "TestCase",
        Expr::Attribute(attribute) => attribute.attr.as_str() == "TestCase",
        _ => false,
    };
    let defined = |statement: &Stmt| match statement {
        Stmt::FunctionDef(function) => Some(function.name.id.clone()),
        Stmt::ClassDef(class) => Some(class.name.id.clone()),
        _ => None,
    };
    let names: Vec<Option<Name>> = body.iter().map(defined).collect();
    let mut found = Vec::new();
    for (place, statement) in body.iter().enumerate() {
        match statement {
            // The last definition of a name is the one that is there.
            _ if names[place].is_some() && names[place + 1..].contains(&names[place]) => {}
            Stmt::FunctionDef(function)
                if function.name.starts_with("test") && !is_marked(&function.decorator_list) =>
            {
                found.push(function);
            }
            Stmt::ClassDef(class) if !is_marked(&class.decorator_list) && !is_no_test(&class.body) => {
                let is_case = class.bases().iter().any(is_test_case);
                let has_init = source::functions(&class.body).any(|method| method.name.as_str() == "__init__");
                if is_case || (class.name.starts_with("Test") && !has_init) {
                    found.extend(pytest_functions(&class.body));
                }
            }
            _ => {}
        }
    }
    found
}

/// Whether a mark of pytest or unittest says that a test is skipped, or that it fails. Nobody knows what a condition says, so that
/// one counts as true.
fn is_marked(decorators: &[Decorator]) -> bool {
    decorators.iter().any(|decorator| {
        let mark = match &decorator.expression {
            Expr::Call(call) => call.func.as_ref(),
            mark => mark,
        };
        let name = match mark {
            Expr::Attribute(attribute) => attribute.attr.as_str(),
            Expr::Name(name) => name.id.as_str(),
            _ => "",
        };
        MARKS.contains(&name)
    })
}

/// Whether a class says `__test__ = False`.
fn is_no_test(body: &[Stmt]) -> bool {
    let mut assigned = body.iter().filter_map(Stmt::as_assign_stmt);
    assigned.any(|assign| {
        let is_test = |target: &Expr| matches!(target, Expr::Name(name) if name.id.as_str() == "__test__");
        let is_false = matches!(assign.value.as_ref(), Expr::BooleanLiteral(literal) if !literal.value);
        is_false && assign.targets.iter().any(is_test)
    })
}
