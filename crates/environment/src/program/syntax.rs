//! Parsing, as the interpreter in the sandbox does.

use ruff_python_ast::{ModModule, PythonVersion};
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
