//! The text of a task's prompt: the author's text, the shown tests, and the beginning of the program.

use std::ops::Range;

use super::{Answer, Function, Kind, Task, Test};
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
