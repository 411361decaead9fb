//! The text of a task's prompt: the author's text, the shown tests, and the beginning of the program.

use std::ops::Range;

use ruff_python_ast::{ModModule, Stmt};

use super::{Answer, Function, Kind, Task, Test, source};
use crate::value::Value;

impl Task {
    /// The request: the author's text, then the shown tests that have an answer.
    pub fn words(&self) -> String {
        let examples = self.told(self.examples());
        let prompt = self.prompt.trim_end();
        if examples.is_empty() {
            return prompt.to_owned();
        }
        match (&self.kind, self.equality.tolerance > 0.0) {
            (Kind::Script, _) => format!("{prompt}\n\n{}", examples.join("\n\n")),
            (_, false) => format!("{prompt}\n\nExamples:\n{}", examples.join("\n")),
            (_, true) => {
                let tolerance = Value::Float(self.equality.tolerance);
                format!("{prompt}\n\nExamples, to within {tolerance}:\n{}", examples.join("\n"))
            }
        }
    }

    /// These tests as a person would write them; without those whose answers nobody has computed.
    pub fn told(&self, tests: Range<usize>) -> Vec<String> {
        let tests = self.tests[tests].iter();
        match &self.kind {
            Kind::Function(function) => tests.filter_map(|test| assertion(function, test)).collect(),
            Kind::Script => tests.filter_map(transcript).collect(),
        }
    }

    /// The beginning of the program, as far as the task fixes it.
    pub fn opening(&self) -> String {
        if let Some(opening) = &self.opening {
            return opening.clone();
        }
        let Kind::Function(function) = &self.kind else { return String::new() };
        if function.literal {
            return format!("def {}():\n    return", function.entry_point);
        }
        match (function.entry_point.split_once('.'), &function.signature) {
            (Some((class, _)), _) => format!("class {class}:"),
            (None, Some(signature)) => format!("def {}({signature}):", function.entry_point),
            (None, None) => format!("def {}(", function.entry_point),
        }
    }

    /// Whether some program of Python goes on from the author's beginning of it.
    pub fn opening_is_begun(&self) -> bool {
        self.opening.as_deref().is_none_or(source::is_begun)
    }

    /// What the author's beginning of the program leaves open, if it is another definition than the one that is asked for, with which
    /// the reference does not begin either.
    pub fn other_opening(&self) -> Option<String> {
        let is_of_reference = |opening: &&String| {
            self.reference.as_ref().is_some_and(|reference| reference.trim_start().starts_with(opening.trim()))
        };
        let opening =
            self.opening.as_ref().filter(|opening| !is_of_reference(opening) && source::check(opening).is_err())?;
        let mut ends = [" pass", "\n    pass", " 0", "): pass"].iter();
        let open = ends.find_map(|end| source::with_module(&format!("{opening}{end}"), left_open).ok())?;
        let Kind::Function(function) = &self.kind else { return None };
        let wanted = function.entry_point.split('.').next().unwrap_or_default();
        let is_other = !open.is_empty() && open.iter().all(|name| name != wanted);
        is_other.then(|| format!("it begins `{}`, and `{wanted}` is asked for", open.join("`, `")))
    }
}

/// All names that are defined, if the last statement is a definition.
fn left_open(module: &ModModule) -> Vec<String> {
    let name = |statement: &Stmt| match statement {
        Stmt::FunctionDef(function) => Some(function.name.to_string()),
        Stmt::ClassDef(class) => Some(class.name.to_string()),
        _ => None,
    };
    let names = module.body.iter().filter_map(name);
    if module.body.last().and_then(name).is_some() { names.collect() } else { Vec::new() }
}

fn assertion(function: &Function, test: &Test) -> Option<String> {
    let Ok(Value::List(arguments)) = Value::from_json(&test.input) else { return None };
    let arguments = arguments.iter().map(Value::expression).collect::<Vec<_>>().join(", ");
    let callee = match function.entry_point.split_once('.') {
        Some((class, method)) => format!("{class}().{method}"),
        None => function.entry_point.clone(),
    };
    match test.expected.as_ref()? {
        Answer::Value(expected) => Some(format!("assert {callee}({arguments}) == {}", expected.expression())),
        Answer::Raised(kind) => Some(format!("{callee}({arguments})  # raises {kind}")),
        Answer::Printed(_) => None,
    }
}

fn transcript(test: &Test) -> Option<String> {
    let Some(Answer::Printed(expected)) = &test.expected else { return None };
    Some(format!("Input:\n{}\nOutput:\n{}", test.input.trim_end(), expected.trim_end()))
}
