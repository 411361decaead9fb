//! Converts rows of public data sets to tasks.
//!
//! Takes a row as it is stored; gives a line of a file of tasks, or the reason why there is none. Nothing is unpickled
//! and nothing runs: if a data set has only a reference solution and inputs, so has the line.

mod asserts;
mod cases;
mod checker;
mod crux_eval;
mod formats;
#[cfg(test)]
mod tests;

use std::collections::HashSet;

use serde_json::{Map, json};

use super::row;
use super::source;
use crate::environment::value::{Dict, Value};

/// Characters of an id that are kept.
const ID_MAX: usize = 90;

/// Converts rows to the lines of one file.
#[derive(Debug, Default)]
pub struct Converter {
    rows: usize,
    ids: HashSet<String>,
}

/// A line of a file of tasks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Line {
    /// The id of its task.
    pub id: String,
    /// The line, without its end.
    pub text: String,
    /// Name of the data set's format.
    pub format: &'static str,
    /// Whether its tests need a checker, because they are more than calls with literal arguments and answers.
    pub has_checker: bool,
}

/// A row that was not converted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Dropped {
    /// The row's id, or its number.
    pub id: String,
    /// The reason, worded so that equal reasons can be counted.
    pub why: String,
}

/// A task before it is written.
#[derive(Default)]
struct Draft {
    prompt: String,
    entry_point: Option<String>,
    /// The beginning of the program, if it is more than the line that defines the function.
    opening: Option<String>,
    /// Inputs and expected outputs.
    tests: Vec<(String, String)>,
    /// Inputs whose answers the reference computes.
    inputs: Vec<String>,
    reference: Option<String>,
    checker: Option<String>,
    tolerance: f64,
    tuples_are_lists: bool,
    /// Whether a program may be nothing but a function that returns a literal.
    literal: bool,
    /// Whether the prompt shows no tests, because its text contains examples.
    shows_none: bool,
    group: Option<String>,
}

/// The format that a row seems to have.
pub(super) fn format_of(value: &Value) -> Option<&'static str> {
    let Value::Dict(dict) = value else { return None };
    formats::of(&Row(dict)).map(|format| format.name)
}

impl Converter {
    /// Converts the next row.
    pub fn convert(&mut self, value: &Value) -> Result<Line, Dropped> {
        self.rows += 1;
        let number = format!("row {}", self.rows);
        let Value::Dict(dict) = value else {
            return Err(Dropped { id: number, why: format!("a {} and no object", value.kind()) });
        };
        let row = Row(dict);
        let Some(format) = formats::of(&row) else {
            return Err(Dropped { id: row.id().unwrap_or(number), why: formats::unknown() });
        };
        self.convert_by(format, row)
    }

    /// Converts the next row, which has to be one of the format `name`.
    ///
    /// # Panics
    /// When there is no such format.
    pub(super) fn convert_as(&mut self, name: &str, value: &Value) -> Result<Line, Dropped> {
        let format = formats::named(name).expect("the name of a format");
        self.rows += 1;
        let number = format!("row {}", self.rows);
        let row = match value {
            Value::Dict(dict) => Row(dict),
            other => return Err(Dropped { id: number, why: format!("a {} and no object", other.kind()) }),
        };
        match format.has(&row) {
            true => self.convert_by(format, row),
            false => Err(Dropped { id: row.id().unwrap_or(number), why: format.wanted() }),
        }
    }

    fn convert_by(&mut self, format: &formats::Format, row: Row) -> Result<Line, Dropped> {
        let id = self.free_id(row.id().unwrap_or_else(|| format!("{}-{}", format.name, self.rows)));
        let draft = (format.convert)(&row).map_err(|why| Dropped { id: id.clone(), why })?;
        let has_checker = draft.checker.is_some();
        let text = draft.line(&id);
        // The line is parsed again, so that no file is written which this program would refuse.
        let read = Value::from_json(&text).map_err(|error| error.to_string());
        let read = read.and_then(|value| row::task(&value).map(drop).map_err(|faults| faults[0].0.clone()));
        match read {
            Ok(()) => Ok(Line { id, text, format: format.name, has_checker }),
            Err(why) => Err(Dropped { id, why }),
        }
    }

    /// This id on one line, with a number if it is already taken.
    fn free_id(&mut self, id: String) -> String {
        let id: String = id.chars().map(|c| if c.is_control() { ' ' } else { c }).take(ID_MAX).collect();
        let numbered = (2..).map(|number| format!("{id}-{number}"));
        let free = [id.clone()].into_iter().chain(numbered).find(|id| !self.ids.contains(id));
        let free = free.expect("numbers do not end");
        self.ids.insert(free.clone());
        free
    }
}

impl Draft {
    fn line(self, id: &str) -> String {
        let is_function = self.entry_point.is_some();
        let mut line = Map::new();
        let mut put = |key: &str, value: serde_json::Value| line.insert(key.to_owned(), value);
        put("id", json!(id));
        put("prompt", json!(self.prompt));
        self.entry_point.map(|name| put("entry_point", json!(name)));
        self.opening.map(|opening| put("opening", json!(opening)));
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
struct Row<'a>(&'a Dict);

impl<'a> Row<'a> {
    fn get(self, key: &str) -> Option<&'a Value> {
        self.0.get(key).filter(|value| !matches!(value, Value::None))
    }

    fn text(self, key: &str) -> Option<&'a str> {
        match self.get(key)? {
            Value::Str(text) if !text.trim().is_empty() => Some(text),
            _ => None,
        }
    }

    fn need(self, key: &str) -> Result<&'a str, String> {
        self.text(key).ok_or_else(|| format!("no text in `{key}`"))
    }

    /// A value, which may be stored as JSON text.
    fn json(self, key: &str) -> Result<Value, String> {
        match self.get(key) {
            None => Err(format!("nothing in `{key}`")),
            Some(Value::Str(text)) => {
                Value::from_plain_json(text).map_err(|_| format!("`{key}` holds text that is no JSON"))
            }
            Some(value) => Ok(value.clone()),
        }
    }

    /// The row's id in the data set.
    fn id(self) -> Option<String> {
        let names = ["task_id", "question_id", "problem_id", "id", "name", "uuid", "index"];
        names.into_iter().find_map(|name| match self.get(name)? {
            Value::Str(text) if !text.is_empty() => Some(text.clone()),
            Value::Int(int) => Some(int.to_string()),
            _ => None,
        })
    }
}

/// The code in a text, which may be in a fence.
fn unfenced(text: &str) -> &str {
    let inside = text.split_once("```").and_then(|(_, rest)| rest.split_once('\n')).map(|(_, code)| code);
    inside.map_or(text, |code| code.split("```").next().unwrap_or(code))
}
