//! Parsing, as the interpreter in the sandbox does.

use ruff_python_ast::{ModModule, PythonVersion, StmtFunctionDef};
use ruff_python_parser::{Mode, ParseOptions, Parsed, parse_unchecked};

/// Parses like CPython 3.14.
pub(crate) fn parse(code: &str) -> Parsed<ModModule> {
    let options = ParseOptions::from(Mode::Module).with_target_version(PythonVersion::PY314);
    parse_unchecked(code, options).try_into_module().expect("module mode gives a module")
}

/// Where the first error begins, in bytes, and what it is.
pub(crate) fn first_error(parsed: &Parsed<ModModule>) -> Option<(usize, String)> {
    let first = parsed.errors().iter().min_by_key(|error| error.location.start())?;
    Some((first.location.start().to_usize(), first.error.to_string()))
}

/// Whether a function can be called with so many arguments by their places.
pub(crate) fn takes(function: &StmtFunctionDef, arguments: usize) -> bool {
    let parameters = &function.parameters;
    let by_position = || parameters.posonlyargs.iter().chain(&parameters.args);
    let needed = by_position().filter(|parameter| parameter.default.is_none()).count();
    let fits = needed <= arguments && (arguments <= by_position().count() || parameters.vararg.is_some());
    fits && parameters.kwonlyargs.iter().all(|parameter| parameter.default.is_some())
}
