//! The supported data sets, recognised by the fields of their rows.

use super::asserts::{Callee, Truths};
use super::cases::{Cases, NearFloats, name_in};
use super::checker::Target;
use super::draft::{Draft, Row, unfenced};
use super::kod_code::draft as kod_code;
use super::live_code_bench::{draft as live_code_bench, forgiving, with_names};
use super::solution::about_functions_of;
use super::{asserts, checker, crux_eval, evalplus, functional, opening};
use crate::tasks::source;
use crate::value::Value;

/// A format of rows.
pub(super) struct Format {
    pub name: &'static str,
    /// Fields that distinguish it from the other formats.
    fields: &'static [&'static str],
    pub convert: fn(&Row) -> Result<Draft, String>,
}

/// The first format whose fields a row has is taken.
const FORMATS: [Format; 14] = [
    Format { name: "EvalPlus", fields: &["entry_point", "base_input", "canonical_solution"], convert: evalplus::draft },
    Format { name: "HumanEval", fields: &["entry_point", "canonical_solution", "test"], convert: human_eval },
    Format { name: "MBPP", fields: &["test_list", "code"], convert: mbpp },
    Format { name: "CRUXEval", fields: &CRUX_EVAL, convert: crux_eval::outputs },
    Format { name: "CRUXEval, inputs", fields: &CRUX_EVAL, convert: crux_eval::inputs },
    Format { name: "NeMo-Gym", fields: &["responses_create_params", "verifier_metadata"], convert: nemo_gym },
    Format { name: "verl", fields: &["reward_model", "prompt"], convert: verl },
    Format { name: "SYNTHETIC-1", fields: &["verification_info", "prompt"], convert: synthetic },
    Format { name: "LiveCodeBench", fields: &["question_content", "public_test_cases"], convert: live_code_bench },
    Format { name: "CodeContests", fields: &["description", "public_tests"], convert: code_contests },
    Format { name: "APPS", fields: &["question", "input_output"], convert: apps },
    Format { name: "DeepCoder", fields: &["problem", "tests"], convert: deep_coder },
    Format { name: "KodCode", fields: &["question", "solution", "test"], convert: kod_code },
    Format { name: "KodCode", fields: &["question", "solution", "test_code"], convert: kod_code },
];

/// Fields of a row that a message names.
const FOUND_MAX: usize = 12;

/// Fields of CRUXEval, whose rows are asked for an output, or for an input where that is asked for by name.
const CRUX_EVAL: [&str; 3] = ["code", "input", "output"];

pub(super) fn of(row: &Row) -> Option<&'static Format> {
    FORMATS.iter().find(|format| format.has(row))
}

pub(super) fn named(name: &str) -> Option<&'static Format> {
    FORMATS.iter().find(|format| format.name == name)
}

impl Format {
    pub fn has(&self, row: &Row) -> bool {
        self.lacking(row).is_empty()
    }

    /// The fields of this format that a row has not.
    fn lacking(&self, row: &Row) -> Vec<&'static str> {
        self.fields.iter().copied().filter(|field| row.get(field).is_none()).collect()
    }

    /// The message for a row of another format.
    pub fn wanted(&self) -> String {
        format!("no row of {}, which has {}", self.name, self.fields.join(", "))
    }
}

/// The message for a row of no supported format, with the names of its first fields, and the sets of which it lacks one field. A
/// field with nothing in it is lacking.
pub(super) fn unknown(row: &Row) -> String {
    let mut found: Vec<String> = row.0.pairs().iter().map(|(name, _)| name.to_string()).take(FOUND_MAX + 1).collect();
    if let Some(more) = found.get_mut(FOUND_MAX) {
        *more = "...".to_owned();
    }
    let nearly = |format: &Format| match format.lacking(row)[..] {
        [field] if format.fields.len() > 1 => Some(format!("{} ({field})", format.name)),
        _ => None,
    };
    let near: Vec<String> = FORMATS.iter().filter_map(nearly).collect();
    let near = if near.is_empty() { String::new() } else { format!("; one field is missing for {}", near.join(", ")) };
    format!("fields of no known set ({}){near}", found.join(", "))
}

/// The supported data sets, each with its fields.
pub(super) fn known() -> String {
    let known = FORMATS.iter().map(|format| format!("{} ({})", format.name, format.fields.join(", ")));
    known.collect::<Vec<_>>().join("; ")
}

fn human_eval(row: &Row) -> Result<Draft, String> {
    let (name, prompt, test) = (row.need("entry_point")?, row.need("prompt")?, row.need("test")?);
    let reference = format!("{prompt}{}", row.need("canonical_solution")?);
    let mut draft = Draft {
        prompt: completion_of(prompt),
        entry_point: Some(name.to_owned()),
        opening: opening::of_code(prompt, name),
        // Its grader puts a program behind the prompt, which may have a function that the one asked for calls.
        prelude: source::before(prompt, name).map(|before| forgiving(&before)),
        reference: Some(opening::without_words_before(&reference).to_owned()),
        shows_none: true,
        ..Draft::default()
    };
    source::with_module(test, |module| {
        let check = source::functions(&module.body).find(|function| function.name.as_str() == "check");
        let check = check.ok_or("no `check(candidate)` in `test`")?;
        // Some copies of the set call it by the function's own name.
        let candidate = check.parameters.args.first().map_or("candidate", |parameter| parameter.name().as_str());
        let callees = [candidate, name].map(|name| Callee { name: name.to_owned(), parameters: Vec::new() });
        let (called, prelude) = match asserts::reduce(&check.body, test, &callees, Truths::AsPython) {
            Ok(reduced) => {
                let called = reduced.called.clone();
                if draft.take(reduced) {
                    return Ok(draft);
                }
                (called, asserts::NAMES.to_owned())
            }
            Err(_) => {
                let function = Target { called: name, entry_point: name, prelude: "" };
                let beside = checker::beside(&module.body, test, function)?;
                (candidate.to_owned(), format!("{}\n\n\n{beside}", reference.trim_end()))
            }
        };
        let target = Target { called: &called, entry_point: name, prelude: &prelude };
        draft.checker = Some(checker::from_function(check, test, target)?);
        Ok(draft)
    })?
}

/// The prompt of a task that asks to complete a function.
pub(super) fn completion_of(prompt: &str) -> String {
    format!("Complete this function:\n\n```python\n{}\n```", prompt.trim())
}

fn mbpp(row: &Row) -> Result<Draft, String> {
    let prompt = row.text("text").or_else(|| row.text("prompt")).ok_or("no text in `text` or `prompt`")?;
    let code = row.need("code")?;
    let mut source = String::new();
    for key in ["test_list", "challenge_test_list"] {
        let tests = match row.get(key) {
            Some(Value::List(tests)) => tests.as_slice(),
            Some(other) => return Err(format!("a {} in `{key}`; expected a list of asserts", other.kind())),
            None => &[],
        };
        texts(tests).for_each(|test| source.push_str(&format!("{}\n", test.trim())));
    }
    if source.trim().is_empty() {
        return Err("no text in `test_list`; expected a list of asserts".into());
    }
    let imports = match row.get("test_imports") {
        Some(Value::List(lines)) => Some(texts(lines).collect::<Vec<_>>().join("\n")),
        _ => None,
    };
    let draft = Draft {
        prompt: prompt.to_owned(),
        // They are run in the module of the program.
        prelude: imports.as_deref().filter(|lines| !lines.trim().is_empty()).map(forgiving),
        reference: Some(code.to_owned()),
        ..Draft::default()
    };
    let setup = imports.unwrap_or_else(|| row.text("test_setup_code").unwrap_or_default().to_owned());
    about_functions_of(draft, code, &source, Some(&setup))
}

fn apps(row: &Row) -> Result<Draft, String> {
    // Problems that have no tests have an empty text.
    let mut cases = Cases::read(&row.json_if_any("input_output")?.ok_or("no tests")?)?;
    cases.starter = row.text("starter_code");
    cases.solutions = solutions(row);
    (cases.is_of_apps, cases.near_floats) = (true, NearFloats::Numbers);
    cases.draft(row.need("question")?).map(|draft| with_names(draft.in_group(row, "difficulty")))
}

fn code_contests(row: &Row) -> Result<Draft, String> {
    for (key, does) in [("input_file", "reads"), ("output_file", "writes")] {
        if row.text(key).is_some() {
            return Err(format!("{does} a file"));
        }
    }
    let mut cases = Cases::default();
    (cases.solutions, cases.near_floats) = (solutions(row), NearFloats::Anywhere);
    for key in ["public_tests", "private_tests", "generated_tests"] {
        // Some of the three may be empty.
        if let Some(tests) = row.json_if_any(key)? {
            cases.add(&tests).map_err(|why| format!("`{key}`: {why}"))?;
        }
    }
    if cases.inputs.is_empty() {
        return Err("no tests".into());
    }
    cases.draft(row.need("description")?)
}

fn synthetic(row: &Row) -> Result<Draft, String> {
    if let Some(kind) = row.text("task_type").filter(|kind| *kind != "verifiable_code") {
        return Err(format!("a task of the type `{kind}`; only `verifiable_code` has tests"));
    }
    let Value::Dict(info) = row.json_or_literal("verification_info")? else {
        return Err("no object in `verification_info`".into());
    };
    let info = Row(&info);
    if let Some(language) = info.text("language").filter(|language| !language.eq_ignore_ascii_case("python")) {
        return Err(format!("written in {language}"));
    }
    let mut cases = Cases::read(&info.json_or_literal("test_cases")?)?;
    cases.solutions = row.text("gold_standard_solution").map(str::to_owned).into_iter().collect();
    cases.is_of_apps = true;
    cases.draft(row.need("prompt")?).map(with_names)
}

fn deep_coder(row: &Row) -> Result<Draft, String> {
    let tests = row.json("tests")?;
    if let Value::Dict(dict) = &tests
        && let Some(Value::Str(test)) = dict.get("functional")
    {
        let solutions = solutions(row);
        let code = solutions.first().ok_or(functional::UNDEFINED)?;
        let draft = functional::draft(row.need("problem")?, unfenced(code), test)?;
        return Ok(with_names(draft.begun(row.text("starter_code"))));
    }
    let mut cases = Cases::read(&tests)?;
    // In a list they are those of LiveCodeBench.
    cases.is_of_apps = matches!(tests, Value::Dict(_));
    if cases.is_of_apps {
        cases.near_floats = NearFloats::Numbers;
    }
    cases.starter = row.text("starter_code");
    cases.solutions = solutions(row);
    if (cases.starter.is_some() || cases.is_functional) && cases.fn_name.is_none() {
        cases.fn_name = row.json("metadata").ok().as_ref().and_then(name_in);
    }
    cases.draft(row.need("problem")?).map(with_names)
}

fn verl(row: &Row) -> Result<Draft, String> {
    let Some(Value::Dict(reward)) = row.get("reward_model") else { return Err("no object in `reward_model`".into()) };
    let truth =
        Row(reward).json("ground_truth").map_err(|_| "a ground truth that is no tests (an answer in words?)")?;
    // Asserts stand for what is beside them, which may be an empty input and an empty output for each: doing nothing would pass.
    if let Value::Dict(tests) = &truth
        && let Some(Value::List(asserts)) = tests.get("assert_case")
        && texts(asserts.as_slice()).any(|assert| !assert.trim().is_empty())
    {
        return Err("asserts in `assert_case`, and nothing names the function".into());
    }
    let mut cases = Cases::read(&truth)?;
    cases.is_of_apps = matches!(truth, Value::Dict(_));
    if cases.is_of_apps {
        cases.near_floats = NearFloats::Lines;
    }
    let mut draft = with_names(cases.draft(&words(row.get("prompt"))?)?);
    draft.group = row.text("data_source").map(str::to_owned);
    Ok(draft)
}

fn nemo_gym(row: &Row) -> Result<Draft, String> {
    let (Some(Value::Dict(asked)), Some(Value::Dict(tests))) =
        (row.get("responses_create_params"), row.get("verifier_metadata"))
    else {
        return Err("no objects in `responses_create_params` and `verifier_metadata`".into());
    };
    Cases::read(&Row(tests).json("unit_tests")?)?.draft(&words(asked.get("input"))?).map(with_names)
}

/// The user's text in a list of messages, or a plain text.
fn words(value: Option<&Value>) -> Result<String, String> {
    match value {
        Some(Value::Str(text)) => Ok(text.clone()),
        Some(Value::List(messages)) => {
            let said = messages.iter().filter_map(|message| {
                let Value::Dict(message) = message else { return None };
                Row(message).text("content").filter(|_| Row(message).text("role") == Some("user"))
            });
            let said: Vec<&str> = said.collect();
            if said.is_empty() { Err("no message of a user".into()) } else { Ok(said.join("\n\n")) }
        }
        _ => Err("no messages".into()),
    }
}

/// Programs that pass, if the data set has any.
fn solutions(row: &Row) -> Vec<String> {
    /// CodeContests' number for Python 3.
    const PYTHON3: i64 = 3;
    match row.json("solutions") {
        Ok(Value::List(items)) => texts(&items).map(str::to_owned).collect(),
        Ok(Value::Dict(dict)) => match (dict.get("language"), dict.get("solution")) {
            (Some(Value::List(languages)), Some(Value::List(programs))) => {
                let python = languages.iter().zip(programs);
                let python = python.filter(|(language, _)| **language == Value::Int(PYTHON3.into()));
                texts(python.map(|(_, program)| program)).map(str::to_owned).collect()
            }
            _ => Vec::new(),
        },
        _ => row.text("solutions").map(str::to_owned).into_iter().collect(),
    }
}

/// The texts among some values.
fn texts<'a>(values: impl IntoIterator<Item = &'a Value>) -> impl Iterator<Item = &'a str> {
    values.into_iter().filter_map(|value| if let Value::Str(text) = value { Some(text.as_str()) } else { None })
}

impl Draft {
    pub fn in_group(mut self, row: &Row, key: &str) -> Draft {
        self.group = match row.get(key) {
            Some(Value::Str(group)) => Some(group.clone()),
            Some(Value::Int(level)) => Some(level.to_string()),
            _ => None,
        };
        self
    }
}
