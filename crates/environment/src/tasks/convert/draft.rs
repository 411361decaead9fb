//! Rows of data sets, and the tasks that are made of them.

use serde_json::{Map, json};

use super::asserts::Reduced;
use super::opening;
use crate::value::{Dict, Value};

/// A task before it is written.
#[derive(Default)]
pub(super) struct Draft {
    pub prompt: String,
    pub entry_point: Option<String>,
    /// The beginning of the program, if it is more than the line that defines the function.
    pub opening: Option<String>,
    /// What runs before every program.
    pub prelude: Option<String>,
    /// Inputs and expected outputs.
    pub tests: Vec<(String, String)>,
    /// Inputs whose answers the reference computes.
    pub inputs: Vec<String>,
    pub reference: Option<String>,
    pub checker: Option<String>,
    pub tolerance: f64,
    pub tuples_are_lists: bool,
    /// Whether a program may be nothing but a function that returns a literal.
    pub literal: bool,
    /// Whether the prompt shows no tests, because its text contains examples.
    pub shows_none: bool,
    pub group: Option<String>,
}

impl Draft {
    /// Takes the tests of asserts. False, and nothing is taken, where no tests say what the asserts say.
    pub fn take(&mut self, reduced: Reduced) -> bool {
        let Some(tolerance) = reduced.tolerance else { return false };
        self.tests = reduced.tests.iter().map(|(input, answer)| (input.to_string(), answer.to_string())).collect();
        self.tolerance = tolerance;
        true
    }

    /// Begins the program as the row's `starter` code does, as far as the body of the function. Where both that and the reference
    /// begin with the method it begins as the reference does, because a warm-up reads what begins like that; where the prompt
    /// defines the method, the line of the class is enough for one that has something between. Where there is no starter code, and
    /// the prompt does not define a method either, nobody could know its name: the reference says it. A function begins as its
    /// reference does without that.
    pub fn begun(mut self, starter: Option<&str>) -> Draft {
        let unmarked = |code: String| opening::without_words_before(&code.replace("\r\n", "\n")).to_owned();
        self.reference = self.reference.map(unmarked);
        let (Some(entry_point), reference) = (&self.entry_point, self.reference.as_deref()) else { return self };
        let method = entry_point.split_once('.').map(|(_, method)| method);
        let starter = starter.filter(|_| method.is_some() || reference.is_none());
        let is_told = method.is_some_and(|method| self.prompt.contains(&format!("def {method}(")));
        let own = reference.and_then(|code| opening::of_solution(code, entry_point));
        self.opening = match starter.and_then(|code| opening::of_code(unfenced(code), entry_point)) {
            Some(given) if opening::is_method_alone(&given, entry_point) => {
                let begins = |own: &String| reference.is_some_and(|code| code.starts_with(own.as_str()));
                let is_classed = is_told && reference.is_some_and(|code| code.starts_with("class "));
                own.filter(begins).or_else(|| (!is_classed).then_some(given))
            }
            Some(given) => Some(given),
            None => own.filter(|_| !is_told),
        };
        self
    }

    pub fn line(self, id: &str) -> String {
        let is_function = self.entry_point.is_some();
        let mut line = Map::new();
        let mut put = |key: &str, value: serde_json::Value| line.insert(key.to_owned(), value);
        put("id", json!(id));
        put("prompt", json!(self.prompt));
        self.entry_point.map(|name| put("entry_point", json!(name)));
        self.opening.map(|opening| put("opening", json!(opening)));
        self.prelude.map(|prelude| put("prelude", json!(prelude)));
        let [given, wanted] = if is_function { ["args", "expected"] } else { ["stdin", "stdout"] };
        if !self.tests.is_empty() {
            let tests = self.tests.into_iter().map(|(input, answer)| json!({given: input, wanted: answer}));
            put("tests", tests.collect());
        }
        if !self.inputs.is_empty() {
            put("inputs", json!(self.inputs));
        }
        self.reference.map(|source| put("reference", json!(source)));
        self.checker.map(|source| put("checker", json!(source)));
        if self.tolerance > 0.0 {
            put("tolerance", json!(self.tolerance));
        }
        if self.tuples_are_lists {
            put("tuples_are_lists", json!(true));
        }
        if self.literal {
            put("literal", json!(true));
        }
        if self.shows_none {
            put("shown", json!(0));
        }
        self.group.map(|group| put("group", json!(group)));
        serde_json::Value::Object(line).to_string()
    }
}

/// A row of a data set.
#[derive(Clone, Copy)]
pub(super) struct Row<'a>(pub &'a Dict);

impl<'a> Row<'a> {
    pub fn get(self, key: &str) -> Option<&'a Value> {
        self.0.get(key).filter(|value| !matches!(value, Value::None))
    }

    pub fn text(self, key: &str) -> Option<&'a str> {
        match self.get(key)? {
            Value::Str(text) if !text.trim().is_empty() => Some(text),
            _ => None,
        }
    }

    pub fn need(self, key: &str) -> Result<&'a str, String> {
        self.text(key).ok_or_else(|| format!("no text in `{key}`"))
    }

    /// A value, which may be stored as JSON text.
    pub fn json(self, key: &str) -> Result<Value, String> {
        match self.get(key) {
            None => Err(format!("nothing in `{key}`")),
            Some(Value::Str(text)) => Value::from_plain_json(text).map_err(|error| match error.beyond_values() {
                Some(what) => format!("`{key}`: {what}"),
                None => format!("`{key}` holds text that is no JSON"),
            }),
            Some(value) => Ok(value.clone()),
        }
    }

    /// A value, which may be stored as the text of JSON, or as what Python's `str` makes of it.
    pub fn json_or_literal(self, key: &str) -> Result<Value, String> {
        match self.get(key) {
            Some(Value::Str(text)) => Value::from_plain_json(text)
                .or_else(|_| Value::from_literal(text))
                .map_err(|_| format!("`{key}` holds text that is neither JSON nor a Python literal")),
            _ => self.json(key),
        }
    }

    /// The same as `json` where there may be nothing: no field, or an empty text.
    pub fn json_if_any(self, key: &str) -> Result<Option<Value>, String> {
        match self.get(key) {
            None => Ok(None),
            Some(Value::Str(text)) if text.trim().is_empty() => Ok(None),
            Some(_) => self.json(key).map(Some),
        }
    }

    /// The row's id in the data set.
    pub fn id(self) -> Option<String> {
        let names = ["task_id", "question_id", "problem_id", "id", "name", "uuid", "index"];
        names.into_iter().find_map(|name| match self.get(name)? {
            Value::Str(text) if !text.is_empty() => Some(text.clone()),
            Value::Int(int) => Some(int.to_string()),
            _ => None,
        })
    }
}

/// The code in a text, which may be in a fence.
pub(super) fn unfenced(text: &str) -> &str {
    let inside = text.split_once("```").and_then(|(_, rest)| rest.split_once('\n')).map(|(_, code)| code);
    inside.map_or(text, |code| code.split("```").next().unwrap_or(code))
}
