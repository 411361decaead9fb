//! LiveCodeBench's code generation: rows with a question, tests, and perhaps the beginning of a class.

use ruff_python_ast::Stmt;
use ruff_text_size::Ranged;

use super::cases::{Cases, name_in};
use super::draft::{Draft, Row};
use crate::tasks::source;

/// The modules that LiveCodeBench's grader gives to every program, in its order, with all their names: of one name, the last counts.
const MODULES: &str =
    "string re datetime collections heapq bisect copy math random statistics itertools functools operator io sys json";
/// Modules after them, of which it gives the names alone; so `pow` and `open` are those of Python, not of `math` and `io`.
const NAMES_ALONE: &str = "builtins typing";
/// The depth of calls that it allows.
const DEPTH: u32 = 50_000;
/// Why a row is dropped whose tests are those of its question alone: a program that repeats them would pass.
const PACKED: &str =
    "its private tests are a pickle, which is never read; docs/suites.md has the lines that unpack them";

pub(super) fn draft(row: &Row) -> Result<Draft, String> {
    let mut cases = Cases::read(&row.json("public_test_cases")?)?;
    // Some copies have the private tests as JSON. The letters of a pickle (base64) have no brackets among them.
    let is_json = row.text("private_test_cases").is_some_and(|text| text.trim_start().starts_with(['[', '{']));
    let private = row.json_if_any("private_test_cases");
    if let Some(private) = private.map_err(|why| if is_json { why } else { PACKED.to_owned() })? {
        cases.add(&private).map_err(|why| format!("`private_test_cases`: {why}"))?;
    }
    cases.starter = row.text("starter_code");
    if cases.starter.is_some() {
        cases.fn_name = row.json("metadata").ok().as_ref().and_then(name_in);
        cases.fn_name.as_ref().ok_or("a function that `metadata.func_name` does not name")?;
    }
    cases.draft(row.need("question_content")?).map(|draft| with_names(draft.in_group(row, "difficulty")))
}

/// The task with the names that graders which derive from that of APPS, as this one does, give to every program.
pub(super) fn with_names(draft: Draft) -> Draft {
    Draft { prelude: Some(prelude()), ..draft }
}

/// A text that is to run before every program. What it imports beside the modules above, a library that a grader may have and the
/// sandbox has not, is missed by programs that use it, instead of being a fault of the task.
pub(super) fn forgiving(text: &str) -> String {
    let is_known = |module: &str| {
        let mut known = MODULES.split_whitespace().chain(NAMES_ALONE.split_whitespace()).chain(["__future__"]);
        known.any(|known| module.split('.').next() == Some(known))
    };
    let may_fail = |statement: &Stmt| match statement {
        Stmt::Import(import) => !import.names.iter().all(|alias| is_known(&alias.name)),
        Stmt::ImportFrom(import) => !import.module.as_deref().is_some_and(is_known),
        _ => false,
    };
    let forgiving = source::with_module(text, |module| {
        let mut forgiving = text.to_owned();
        for statement in module.body.iter().rev().filter(|statement| may_fail(statement)) {
            let place = statement.range().to_std_range();
            let import = format!("try:\n    {}\nexcept ImportError:\n    pass", &text[place.clone()]);
            forgiving.replace_range(place, &import);
        }
        forgiving
    });
    // Two statements of one line have no room for this.
    forgiving.ok().filter(|text| source::check(text).is_ok()).unwrap_or_else(|| text.to_owned())
}

/// What runs before every program (`import_string` in lcb_runner/evaluation/testing_util.py, commit 15808c7).
fn prelude() -> String {
    let modules = || MODULES.split_whitespace();
    let names = modules().chain(NAMES_ALONE.split_whitespace()).map(|module| format!("from {module} import *\n"));
    let modules = modules().map(|module| format!("import {module}\n"));
    names.chain(modules).chain([format!("sys.setrecursionlimit({DEPTH})\n")]).collect()
}
