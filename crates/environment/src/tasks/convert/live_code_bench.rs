//! LiveCodeBench's code generation: rows with a question, tests, and perhaps the beginning of a class.

use super::cases::{Cases, name_in};
use super::draft::{Draft, Row};

/// The modules that LiveCodeBench's grader gives to every program, in its order, with all their names: of one name, the last counts.
const MODULES: &str =
    "string re datetime collections heapq bisect copy math random statistics itertools functools operator io sys json";
/// Modules after them, of which it gives the names alone; so `pow` and `open` are those of Python, not of `math` and `io`.
const NAMES_ALONE: &str = "builtins typing";
/// The depth of calls that it allows.
const DEPTH: u32 = 50_000;

pub(super) fn draft(row: &Row) -> Result<Draft, String> {
    let mut cases = Cases::read(&row.json("public_test_cases")?)?;
    // The private tests are a pickle, which is never read; some copies have them as JSON.
    if let Ok(private) = row.json("private_test_cases").and_then(|tests| Cases::read(&tests)) {
        cases.inputs.extend(private.inputs);
        cases.outputs.extend(private.outputs);
    }
    cases.starter = row.text("starter_code");
    if cases.starter.is_some() {
        cases.fn_name = row.json("metadata").ok().as_ref().and_then(name_in);
        cases.fn_name.as_ref().ok_or("a function that `metadata.func_name` does not name")?;
    }
    let draft = cases.draft(row.need("question_content")?)?.in_group(row, "difficulty");
    Ok(Draft { prelude: Some(prelude()), ..draft })
}

/// What runs before every program (`import_string` in lcb_runner/evaluation/testing_util.py, commit 15808c7).
fn prelude() -> String {
    let modules = || MODULES.split_whitespace();
    let names = modules().chain(NAMES_ALONE.split_whitespace()).map(|module| format!("from {module} import *\n"));
    let modules = modules().map(|module| format!("import {module}\n"));
    names.chain(modules).chain([format!("sys.setrecursionlimit({DEPTH})\n")]).collect()
}
