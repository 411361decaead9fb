//! Converts tests that are more than calls with literals to a checker: every call of the tested function becomes a
//! `yield` of that call. Nothing is caught: an assert that fails, or another exception that an answer leads to, is a wrong
//! answer, and what a call raises is the program's failure.

use std::ops::Range;

use ruff_python_ast::visitor::{self, Visitor};
use ruff_python_ast::{Expr, ExprCall, Stmt, StmtFunctionDef};
use ruff_text_size::Ranged;

use super::asserts::KEYWORDS;
use crate::tasks::source::edited;

/// Why asserts in which no call is found are no checker.
const NO_CALL: &str = "tests that do not call the function";

/// Why a row is refused whose tests would ask the reference in place of the program.
const NOT_CALLED: &str = "tests that use the function otherwise than by calling it";
/// Why a row is refused whose `check` has others call the function for it.
const ELSEWHERE: &str = "tests that call the function in a function of their own";

/// Name of the generator that contains the asserts.
const ASSERTS: &str = "_asserts";
/// The function in which tests are, and what HumanEval says of their author beside it.
const CHECK: &str = "check";
const AUTHOR: &str = "METADATA";

/// Types that tests pass to a function.
const TYPES: [&str; 9] = ["bool", "bytes", "dict", "float", "int", "list", "set", "str", "tuple"];

/// The function that calls are redirected to.
#[derive(Clone, Copy)]
pub(super) struct Target<'a> {
    /// Name of the function in the tests.
    pub called: &'a str,
    /// Name of the function in programs.
    pub entry_point: &'a str,
    /// Python that the tests need: imports, and other functions of the task.
    pub prelude: &'a str,
}

/// Makes a checker from the function that contains the asserts.
pub(super) fn from_function(function: &StmtFunctionDef, source: &str, target: Target) -> Result<String, String> {
    let header = function.start().to_usize()..function.parameters.end().to_usize();
    let mut all = vec![(header, format!("def {ASSERTS}()"))];
    let calls = edits(&function.body, source, target)?;
    if calls.is_empty() {
        return Err(NO_CALL.into());
    }
    all.extend(calls);
    Ok(assemble(target.prelude, &edited(source, function.range().to_std_range(), all)))
}

/// Makes a checker from asserts at top level.
pub(super) fn from_statements(statements: &[Stmt], source: &str, target: Target) -> Result<String, String> {
    let (mut asserts, mut calls) = (format!("def {ASSERTS}():"), 0);
    for statement in statements {
        let edits = edits(std::slice::from_ref(statement), source, target)?;
        calls += edits.len();
        let text = edited(source, statement.range().to_std_range(), edits);
        // Further lines of a statement with a body would need the indentation too; those of others may begin anywhere.
        if text.contains('\n') && !matches!(statement, Stmt::Assert(_) | Stmt::Expr(_)) {
            return Err("a statement of several lines among the asserts".into());
        }
        asserts.push_str(&format!("\n    {text}"));
    }
    if calls == 0 { Err(NO_CALL.into()) } else { Ok(assemble(target.prelude, &asserts)) }
}

/// What the tests of a `source` have beside their `check`, which may need it: imports, functions, classes and constants. What calls `check`,
/// and what gets the function from elsewhere, is left out.
pub(super) fn beside(statements: &[Stmt], source: &str, target: Target) -> Result<String, String> {
    let is_function = |name: &str| name == target.called;
    let mut kept = String::new();
    for statement in statements {
        let is_needed = match statement {
            Stmt::FunctionDef(function) => function.name.as_str() != CHECK,
            Stmt::ImportFrom(import) => !import.names.iter().any(|alias| is_function(alias.name.as_str())),
            Stmt::Assign(assign) => match (assign.targets.as_slice(), assign.value.as_ref()) {
                (_, Expr::Name(other)) => !is_function(other.id.as_str()),
                ([Expr::Name(name)], _) => name.id.as_str() != AUTHOR,
                _ => true,
            },
            Stmt::Import(_) | Stmt::AnnAssign(_) | Stmt::ClassDef(_) => true,
            _ => false,
        };
        if is_needed {
            // Here a call would be one of the reference, whatever the program does.
            if !edits(std::slice::from_ref(statement), source, target)?.is_empty() {
                return Err(ELSEWHERE.into());
            }
            kept.push_str(&format!("{}\n", &source[statement.range().to_std_range()]));
        }
    }
    Ok(kept)
}

fn assemble(prelude: &str, asserts: &str) -> String {
    let prelude = prelude.trim_end();
    let check = format!("def check():\n    yield from {ASSERTS}()\n    return True\n");
    format!("{prelude}\n\n\n{}\n\n\n{check}", asserts.trim_end()).trim_start().to_owned()
}

type Edit = (Range<usize>, String);

/// What makes a `yield` of each call of the function.
fn edits(statements: &[Stmt], source: &str, target: Target) -> Result<Vec<Edit>, String> {
    let mut calls = Calls { source, target, edits: Vec::new(), fault: None };
    calls.visit_body(statements);
    match calls.fault {
        Some(fault) => Err(fault.into()),
        None => Ok(calls.edits),
    }
}

struct Calls<'a> {
    source: &'a str,
    target: Target<'a>,
    edits: Vec<Edit>,
    fault: Option<&'static str>,
}

impl Calls<'_> {
    fn is_ours(&self, call: &ExprCall) -> bool {
        self.source[call.func.range().to_std_range()] == *self.target.called
    }

    fn replace(&mut self, call: &ExprCall) {
        if !call.arguments.keywords.is_empty() {
            self.fault = Some(KEYWORDS);
        }
        let is_type = |argument: &Expr| TYPES.contains(&&self.source[argument.range().to_std_range()]);
        if call.arguments.args.iter().any(is_type) {
            self.fault = Some("calls with a type, which no value stands for");
        }
        let (start, end) = (call.start().to_usize(), call.end().to_usize());
        let arguments = call.arguments.start().to_usize() + 1;
        self.edits.push((start..arguments, format!("(yield (\"{}\", ", self.target.entry_point)));
        self.edits.push((end - 1..end, "))".into()));
    }
}

impl<'a> Visitor<'a> for Calls<'_> {
    fn visit_expr(&mut self, expression: &'a Expr) {
        let before = self.edits.len();
        match expression {
            Expr::Call(call) if self.is_ours(call) => {
                self.replace(call);
                self.visit_arguments(&call.arguments);
            }
            Expr::Name(name) if name.id.as_str() == self.target.called => self.fault = Some(NOT_CALLED),
            _ => visitor::walk_expr(self, expression),
        }
        let is_scope = matches!(
            expression,
            Expr::Lambda(_) | Expr::ListComp(_) | Expr::SetComp(_) | Expr::DictComp(_) | Expr::Generator(_)
        );
        if is_scope && self.edits.len() > before {
            self.fault = Some("tests that call the function in a lambda or a comprehension");
        }
    }

    fn visit_stmt(&mut self, statement: &'a Stmt) {
        let before = self.edits.len();
        visitor::walk_stmt(self, statement);
        if matches!(statement, Stmt::FunctionDef(_) | Stmt::ClassDef(_)) && self.edits.len() > before {
            self.fault = Some(ELSEWHERE);
        }
    }
}
