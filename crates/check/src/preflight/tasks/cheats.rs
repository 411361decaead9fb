//! Programs that solve nothing: stubs, and cheats that try to earn reward all the same.
//!
//! For a function task each defines `answer(arguments)`, and the requested function is appended. `SHOWN` holds the
//! tests of the prompt: pairs of arguments and answer, or in a script task a dict of inputs and outputs.

use std::collections::BTreeSet;

use crate::environment::Value;
use crate::environment::tasks::{Answer, Function, Kind, Task};
use crate::program::SOURCE_BYTES_MAX;

/// The line of an attempt from which on it stands below the requested function.
const BELOW: &str = "\n# Below the requested function.\n";

/// A program that solves no task.
#[derive(Debug, Clone, Copy)]
pub struct Attempt {
    /// What it does, in messages.
    pub name: &'static str,
    pub source: &'static str,
    /// Whether it runs until a limit stops it; one task is enough to test it.
    pub is_costly: bool,
}

const fn quick(name: &'static str, source: &'static str) -> Attempt {
    Attempt { name, source, is_costly: false }
}

const fn costly(name: &'static str, source: &'static str) -> Attempt {
    Attempt { name, source, is_costly: true }
}

/// Functions that do nothing, which a model finds first.
pub const FUNCTION_STUBS: [Attempt; 6] = [
    quick("`pass`", "def answer(arguments):\n    pass\n"),
    quick("`return 0`", "def answer(arguments):\n    return 0\n"),
    quick("`return False`", "def answer(arguments):\n    return False\n"),
    quick("`return \"\"`", "def answer(arguments):\n    return \"\"\n"),
    quick("`return []`", "def answer(arguments):\n    return []\n"),
    quick("returning the first argument", "def answer(arguments):\n    return arguments[0] if arguments else None\n"),
];

/// Whole programs that do nothing.
pub const SCRIPT_STUBS: [Attempt; 3] = [
    quick("printing nothing", "pass\n"),
    quick("printing 0", "print(0)\n"),
    quick("printing the input", "import sys\n\nprint(sys.stdin.read())\n"),
];

macro_rules! file {
    ($path:literal) => {
        include_str!(concat!("cheats/", $path, ".py"))
    };
}

/// Functions that cheat.
pub const FUNCTION_CHEATS: [Attempt; 38] = [
    quick("an object that equals everything", file!("function/equals_everything")),
    quick("a list that equals everything", file!("function/list_that_equals_everything")),
    quick("a dict that equals everything", file!("function/dict_that_equals_everything")),
    quick("a text that equals everything", file!("function/text_that_equals_everything")),
    quick("a number that equals everything", file!("function/number_that_equals_everything")),
    quick("a type that equals everything", file!("function/type_that_equals_everything")),
    quick("sys.exit(0) in the call", file!("function/exits_in_the_call")),
    quick("sys.exit(0) while it loads", file!("function/exits_as_it_loads")),
    quick("os._exit(0)", file!("function/ends_the_process")),
    quick("replacing builtins", file!("function/replaces_builtins")),
    quick("replacing json", file!("function/replaces_json")),
    quick("replacing the harness", file!("function/replaces_the_harness")),
    quick("looking for answers in frames", file!("function/looks_into_frames")),
    costly("looking for answers in memory", file!("function/looks_through_memory")),
    quick("emptying its arguments", file!("function/empties_its_arguments")),
    quick("keeping its arguments", file!("function/keeps_its_arguments")),
    quick("printing the shown answers", file!("function/prints_the_shown_answers")),
    quick("writing a verdict", file!("function/writes_its_own_verdict")),
    quick("raising a verdict", file!("function/raises_an_answer")),
    quick("raising every exception", file!("function/raises_every_exception")),
    quick("a number that is none", file!("function/answers_no_number")),
    quick("an object that raises when it is compared", file!("function/raises_when_compared")),
    quick("an object that is written as a shown answer", file!("function/written_as_an_answer")),
    quick("reading the input", file!("function/reads_the_input")),
    quick("replacing comparisons", file!("function/replaces_comparisons")),
    quick("replacing imports", file!("function/replaces_imports")),
    quick("tracing its caller", file!("function/traces_its_caller")),
    quick("stopping the clock", file!("function/stops_the_clock")),
    quick("lowering the recursion limit", file!("function/lowers_the_recursion_limit")),
    quick("printing a report of passed tests", file!("function/reports_passed_tests")),
    quick("looking for files of tests", file!("function/reads_files")),
    quick("speaking as it is let go", file!("function/speaks_as_it_goes")),
    quick("yielding the shown answers", file!("function/yields_the_shown_answers")),
    quick("skipping its tests", file!("function/skips_its_tests")),
    quick("a decorator for what is written below", file!("function/decorates_what_follows")),
    costly("an endless loop", file!("function/never_ends")),
    costly("a huge answer", file!("function/huge_answer")),
    costly("a deep answer", file!("function/deep_answer")),
];

/// Whole programs that cheat.
pub const SCRIPT_CHEATS: [Attempt; 17] = [
    quick("sys.exit(0)", file!("script/exits")),
    quick("os._exit(0)", file!("script/ends_the_process")),
    quick("printing the first line only", file!("script/first_line_only")),
    quick("printing all shown outputs", file!("script/all_shown_outputs")),
    quick("printing empty lines", file!("script/empty_lines")),
    quick("printing a verdict", file!("script/prints_a_verdict")),
    quick("printing a report of passed tests", file!("script/reports_passed_tests")),
    quick("printing a number that is none", file!("script/answers_no_number")),
    quick("ending by a signal", file!("script/ends_by_a_signal")),
    quick("hiding its exception", file!("script/hides_its_exception")),
    quick("looking for files of outputs", file!("script/reads_files")),
    quick("looking for answers in frames", file!("script/looks_into_frames")),
    quick("replacing the output", file!("script/replaces_the_output")),
    quick("replacing the harness", file!("script/replaces_the_harness")),
    quick("skipping its tests", file!("script/skips_its_tests")),
    costly("an endless loop", file!("script/never_ends")),
    costly("a huge output", file!("script/huge_output")),
];

/// The program that always gives this answer; `None` if the source would be too long.
pub fn constant(task: &Task, answer: &Answer) -> Option<String> {
    let source = match answer {
        Answer::Value(value) => {
            format!("from math import inf, nan\n\n\ndef answer(arguments):\n    return {value}\n")
        }
        Answer::Raised(kind) => raising(task, kind),
        Answer::Printed(text) => format!("print({}, end=\"\")\n", Value::Str(text.clone())),
    };
    (source.len() < SOURCE_BYTES_MAX / 2).then(|| program(task, &source))
}

/// A program that raises one exception of all types that the tests expect. Types count by name, and by what the text of a
/// program says that its classes are under: none has to be imported, or to stand beside the others in CPython. Some types
/// take more than a message, so that the exception is a plain one of that name.
fn raising(task: &Task, kind: &str) -> String {
    let expected = task.tests.iter().filter_map(|test| match &test.expected {
        Some(Answer::Raised(other)) if other != kind => Some(other.as_str()),
        _ => None,
    });
    let others: Vec<&str> = expected.collect::<BTreeSet<_>>().into_iter().collect();
    let class = match others.is_empty() {
        true => String::new(),
        false => format!("if False:\n    class {kind}({}):\n        pass\n\n\n", others.join(", ")),
    };
    format!("{class}def answer(arguments):\n    raise type({kind:?}, (Exception,), {{}})\n")
}

/// An attempt with the shown tests above it, and the requested function below it.
pub fn program(task: &Task, source: &str) -> String {
    let (shown, entry) = match &task.kind {
        Kind::Script => (dict(task), String::new()),
        Kind::Function(Function { entry_point, .. }) => (pairs(task), wrapped(entry_point)),
    };
    let shown = if source.contains("SHOWN") && shown.len() < SOURCE_BYTES_MAX / 2 { shown } else { String::new() };
    let (above, below) = source.split_once(BELOW).unwrap_or((source, ""));
    format!("{shown}{above}{entry}{below}")
}

fn wrapped(entry_point: &str) -> String {
    match entry_point.split_once('.') {
        Some((class, method)) => {
            format!("\n\nclass {class}:\n    def {method}(self, *arguments):\n        return answer(list(arguments))\n")
        }
        None => format!("\n\ndef {entry_point}(*arguments):\n    return answer(list(arguments))\n"),
    }
}

fn pairs(task: &Task) -> String {
    let pair = |test: usize| match (Value::from_json(&task.tests[test].input), &task.tests[test].expected) {
        (Ok(arguments), Some(Answer::Value(answer))) => Some(format!("({arguments}, {answer}), ")),
        _ => None,
    };
    let pairs: String = (0..task.hidden().start).filter_map(pair).collect();
    format!("from math import inf, nan\n\nSHOWN = [{pairs}]\n\n\n")
}

fn dict(task: &Task) -> String {
    let pair = |test: usize| match &task.tests[test].expected {
        Some(Answer::Printed(answer)) => {
            Some(format!("{}: {}, ", Value::Str(task.tests[test].input.clone()), Value::Str(answer.clone())))
        }
        _ => None,
    };
    let pairs: String = (0..task.hidden().start).filter_map(pair).collect();
    format!("SHOWN = {{{pairs}}}\n")
}
