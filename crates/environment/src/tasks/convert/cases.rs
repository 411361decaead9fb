//! Inputs with outputs, the format of most data sets: texts for standard input, or arguments if a function is named.

use super::draft::{Draft, unfenced};
use super::opening;
use crate::tasks::source;
use crate::value::{Dict, Value};

/// Most solutions that are tried as a reference.
const SOLUTIONS_MAX: usize = 20;
/// By how much printed numbers may differ for the graders of APPS and those made of it, which compare them by numpy's `allclose`, and
/// for that of CodeContests.
const PRINTED_TOLERANCE: f64 = 1e-5;
/// Words for a test that calls a function, where a data set says of each test what it is.
const OF_FUNCTIONS: [&str; 2] = ["functional", "function_call"];

/// Inputs and outputs of a row, and what decides how they are read.
#[derive(Default)]
pub(super) struct Cases<'a> {
    pub inputs: Vec<Value>,
    pub outputs: Vec<Value>,
    /// Whether a test says that it calls a function.
    pub is_functional: bool,
    pub fn_name: Option<String>,
    /// The given beginning of the code, which shows whether the function is a method.
    pub starter: Option<&'a str>,
    /// Whether they are read as APPS's grader reads them: keys of dicts that read as integers are integers.
    pub is_of_apps: bool,
    pub near_floats: NearFloats,
    pub solutions: Vec<String>,
    /// What the first test says of itself: whether it calls a function.
    said: Option<bool>,
    /// Why not all tests are of one function, or of whole programs.
    mixed: Option<&'static str>,
}

/// Where floats that are printed may differ a little for a data set's grader.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) enum NearFloats {
    #[default]
    Nowhere,
    /// In outputs that have one number a line.
    Lines,
    /// In outputs that are nothing but numbers.
    Numbers,
    Anywhere,
}

impl NearFloats {
    /// Whether all outputs with floats are of this kind, and there are some.
    fn are_in<'o>(self, outputs: impl Iterator<Item = &'o str>) -> bool {
        let is_number = |word: &str| word.parse::<f64>().is_ok();
        let is_near = |output: &str| match self {
            NearFloats::Nowhere => false,
            NearFloats::Lines => output.lines().map(str::trim).filter(|line| !line.is_empty()).all(is_number),
            NearFloats::Numbers => output.split_whitespace().all(is_number),
            NearFloats::Anywhere => true,
        };
        let mut floats = outputs.filter(|output| output.split_whitespace().any(is_float)).peekable();
        floats.peek().is_some() && floats.all(is_near)
    }
}

impl Cases<'_> {
    /// Reads at least one test.
    pub fn read(value: &Value) -> Result<Cases<'static>, String> {
        let mut cases = Cases::default();
        cases.add(value)?;
        if cases.inputs.is_empty() { Err("no tests".into()) } else { Ok(cases) }
    }

    /// Adds the tests of a dict `{"inputs": [..], "outputs": [..], "fn_name"?}`, or of a list of `{"input", "output", ..}`, which may
    /// have none.
    pub fn add(&mut self, value: &Value) -> Result<(), String> {
        match value {
            Value::Dict(dict) => {
                let list = |names: [&str; 2]| match names.into_iter().find_map(|name| dict.get(name)) {
                    Some(Value::List(items)) => Ok(items.clone()),
                    _ => Err(format!("no list in `{}`", names[0])),
                };
                let (inputs, outputs) = (list(["inputs", "input"])?, list(["outputs", "output"])?);
                if inputs.len() != outputs.len() {
                    return Err("not as many inputs as outputs".into());
                }
                self.inputs.extend(inputs);
                self.outputs.extend(outputs);
                self.kind(value, dict);
            }
            Value::List(items) => {
                for item in items {
                    let Value::Dict(case) = item else { return Err("a test that is no object".into()) };
                    let (Some(input), Some(output)) = (case.get("input"), case.get("output")) else {
                        return Err("a test without `input` and `output`".into());
                    };
                    self.inputs.push(input.clone());
                    self.outputs.push(output.clone());
                    self.kind(item, case);
                }
            }
            _ => return Err("tests that are neither a list nor `inputs` with `outputs`".into()),
        }
        Ok(())
    }

    /// Takes in what tests say of themselves.
    fn kind(&mut self, value: &Value, dict: &Dict) {
        let said = ["testtype", "type"].into_iter().find_map(|key| dict.get(key));
        if let Some(Value::Str(kind)) = said {
            let calls = OF_FUNCTIONS.contains(&kind.as_str());
            self.is_functional |= calls;
            if *self.said.get_or_insert(calls) != calls {
                self.mixed = Some("tests that call a function beside tests of whole programs");
            }
        }
        if let Some(name) = name_in(value)
            && *self.fn_name.get_or_insert_with(|| name.clone()) != name
        {
            self.mixed = Some("tests of several functions");
        }
    }

    /// The task with these tests.
    pub fn draft(self, prompt: &str) -> Result<Draft, String> {
        if let Some(why) = self.mixed {
            return Err(why.into());
        }
        let mut draft = Draft { prompt: prompt.to_owned(), shows_none: true, ..Draft::default() };
        let solutions = self.solutions.iter().take(SOLUTIONS_MAX).map(|solution| unfenced(solution));
        let Some(name) = &self.fn_name else {
            if self.is_functional {
                return Err("calls of a function that nothing names".into());
            }
            draft.reference = solutions.into_iter().find(|code| source::check(code).is_ok()).map(str::to_owned);
            for (input, output) in self.inputs.iter().zip(&self.outputs) {
                draft.tests.push((text(input)?, text(output)?));
            }
            if self.near_floats.are_in(draft.tests.iter().map(|(_, output)| output.as_str())) {
                draft.tolerance = PRINTED_TOLERANCE;
            }
            return Ok(draft);
        };
        let method = format!("Solution.{name}");
        let starter = self.starter.or_else(|| starter_in(prompt, name));
        let is_method = match starter {
            Some(code) => code.contains("class Solution"),
            None => solutions.clone().any(|code| source::signature_of(code, &method).is_ok()),
        };
        let entry_point = if is_method { method } else { name.clone() };
        let mut fitting = solutions.filter(|code| source::signature_of(code, &entry_point).is_ok());
        draft.reference = fitting.next().map(str::to_owned);
        let returned = starter.and_then(|code| opening::returned_by(code, &entry_point));
        draft.tests = self.calls(returned.map_or(0, |annotation| lists_in(&annotation)))?;
        draft.entry_point = Some(entry_point);
        // JSON has no tuples, so an answer that is a tuple was stored as a list.
        draft.tuples_are_lists = true;
        Ok(draft.begun(self.starter))
    }

    /// Arguments and answers as Python literals. An answer is known to be of so many `lists` within one another; 0 where nothing is known.
    fn calls(&self, lists: usize) -> Result<Vec<(String, String)>, String> {
        let mut calls = Vec::new();
        for (input, output) in self.inputs.iter().zip(&self.outputs) {
            calls.push(match (input, output) {
                // Each line is an argument in JSON; the answer is JSON too.
                (Value::Str(lines), Value::Str(answer)) => {
                    let lines = lines.lines().filter(|line| !line.trim().is_empty());
                    (lines.map(literal).collect::<Result<Vec<_>, _>>()?, literal(answer)?)
                }
                (Value::List(arguments), answer) => (arguments.clone(), answer.clone()),
                _ => return Err("arguments that are no list".into()),
            });
        }
        // Some data sets put every answer into a list of its own, but none of those that have texts of JSON.
        let unwrap = self.inputs.iter().all(|input| matches!(input, Value::List(_)))
            && calls.iter().all(|(_, answer)| matches!(answer, Value::List(items) if items.len() == 1))
            && calls.iter().any(|(_, answer)| answer.depth() > lists);
        let tests = calls.into_iter().map(|(mut arguments, mut answer)| {
            if let (true, Value::List(items)) = (unwrap, &answer) {
                answer = items[0].clone();
            }
            if self.is_of_apps {
                arguments.iter_mut().take(1).chain([&mut answer]).for_each(number_keys);
            }
            (Value::Tuple(arguments).to_string(), answer.to_string())
        });
        Ok(tests.collect())
    }
}

/// Makes integers of the keys of a dict, if all of them read as integers: JSON has texts for them.
fn number_keys(value: &mut Value) {
    let Value::Dict(dict) = value else { return };
    let numbered = dict.pairs().iter().map(|(key, value)| {
        let Value::Str(key) = key else { return None };
        Some((Value::Int(key.trim().parse::<i64>().ok()?.into()), value.clone()))
    });
    if let Some(numbered) = numbered.collect::<Option<_>>().and_then(|pairs| Value::dict(pairs).ok()) {
        *value = numbered;
    }
}

/// The class with the method `name` that a prompt gives as the beginning of the code.
fn starter_in<'p>(prompt: &'p str, name: &str) -> Option<&'p str> {
    let classes = prompt.match_indices("class Solution").map(|(at, _)| at);
    let mut codes = classes.map(|at| prompt[at..].split("```").next().unwrap_or_default().trim_end());
    codes.find(|code| code.contains(&format!("def {name}(")))
}

/// How many lists are within one another in what an annotation such as `List[List[int]]` stands for.
fn lists_in(annotation: &str) -> usize {
    let (mut rest, mut lists) = (annotation, 0);
    while let Some(items) = ["List[", "list["].into_iter().find_map(|list| rest.trim_start().strip_prefix(list)) {
        (rest, lists) = (items, lists + 1);
    }
    lists
}

/// The name of the function in a dict or its metadata.
pub(super) fn name_in(value: &Value) -> Option<String> {
    let Value::Dict(dict) = value else { return None };
    let own = ["fn_name", "func_name"].into_iter().find_map(|key| dict.get(key));
    match own {
        Some(Value::Str(name)) if !name.is_empty() => Some(name.clone()),
        _ => dict.get("metadata").and_then(name_in),
    }
}

/// Whether a word that is printed is a number with a point or an exponent.
fn is_float(word: &str) -> bool {
    let has_digits = word.contains(|letter: char| letter.is_ascii_digit());
    has_digits && word.contains(['.', 'e', 'E']) && word.parse::<f64>().is_ok()
}

/// Text for a script; some data sets store a list of lines.
fn text(value: &Value) -> Result<String, String> {
    match value {
        Value::Str(text) => Ok(text.clone()),
        Value::List(lines) => Ok(lines.iter().map(text).collect::<Result<Vec<_>, _>>()?.join("\n")),
        Value::Int(_) | Value::Float(_) => Ok(value.to_string()),
        other => Err(format!("a {} where text of standard input or output is expected", other.kind())),
    }
}

fn literal(text: &str) -> Result<Value, String> {
    let read = Value::from_plain_json(text).or_else(|_| Value::from_literal(text));
    read.map_err(|_| "an argument or answer that is neither JSON nor a Python literal".into())
}
