//! What a grader is told of a completion: the columns of a data set of programs, as trainers pass them.

use serde_json::{Map, Number, Value as Json, json};

use super::transport::{Asked, Form};
use crate::environment::tasks::{Answer, Function, Kind, Task};
use crate::environment::{Dict, Value};

/// The completion with the columns of its task:
///
/// | key | |
/// |---|---|
/// | `id` | the name of the task |
/// | `prompt`, `completion` | texts, or lists of messages |
/// | `entry_point` | the function asked for; null where a whole program is |
/// | `inputs`, `outputs` | a list of arguments and the answer of each test, or its standard input and output; null where JSON lacks one of the values |
/// | `asserts` | the tests of a function as lines of Python |
pub(super) fn item(asked: &Asked<'_>, form: Form) -> Json {
    let task = asked.task;
    let written = |role: &str, text: String| match form {
        Form::Text => Json::String(text),
        Form::Chat => json!([{ "role": role, "content": text }]),
    };
    let (inputs, outputs) =
        tests(task).map_or((Json::Null, Json::Null), |(inputs, outputs)| (inputs.into(), outputs.into()));
    let asserts: Vec<String> = match task.kind {
        Kind::Function(_) => {
            task.told(0..task.tests.len()).into_iter().filter(|line| line.starts_with("assert ")).collect()
        }
        Kind::Script => Vec::new(),
    };
    json!({
        "id": task.id,
        "prompt": written("user", task.words()),
        "completion": written("assistant", asked.completion.clone()),
        "entry_point": match &task.kind {
            Kind::Function(Function { entry_point, .. }) => Json::from(entry_point.as_str()),
            Kind::Script => Json::Null,
        },
        "inputs": inputs,
        "outputs": outputs,
        "asserts": asserts,
    })
}

/// Inputs and outputs of all tests, if JSON has them all.
fn tests(task: &Task) -> Option<(Vec<Json>, Vec<Json>)> {
    let test = |test: &crate::environment::tasks::Test| match test.expected.as_ref()? {
        Answer::Value(answer) => Some((plain(&Value::from_json(&test.input).ok()?)?, plain(answer)?)),
        Answer::Printed(text) => Some((Json::from(test.input.as_str()), Json::from(text.as_str()))),
        Answer::Raised(_) => None,
    };
    task.tests.iter().map(test).collect::<Option<Vec<_>>>().map(|tests| tests.into_iter().unzip())
}

/// A value as JSON without tags, in which a tuple is a list; `None` for what JSON lacks.
fn plain(value: &Value) -> Option<Json> {
    match value {
        Value::None => Some(Json::Null),
        Value::Bool(truth) => Some(Json::Bool(*truth)),
        Value::Int(int) => int.as_i64().map(Json::from),
        Value::Float(float) => Number::from_f64(*float).map(Json::Number),
        Value::Str(text) => Some(Json::from(text.as_str())),
        Value::List(items) | Value::Tuple(items) => {
            items.iter().map(plain).collect::<Option<Vec<_>>>().map(Json::Array)
        }
        Value::Dict(dict) => object(dict),
        Value::Complex { .. } | Value::Bytes(_) | Value::ByteArray(_) | Value::Set(_) => None,
    }
}

fn object(dict: &Dict) -> Option<Json> {
    let pairs = dict.pairs().iter().map(|(key, value)| match key {
        Value::Str(key) => Some((key.clone(), plain(value)?)),
        _ => None,
    });
    pairs.collect::<Option<Map<String, Json>>>().map(Json::Object)
}
