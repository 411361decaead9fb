//! Judges lists of items as calls: lines that each hold a whole list, many of them at once.
//!
//! The protocol between the Python module and the process that judges for it. The first line out describes the
//! environment. Then each line in is a call, `{"call": 7, "items": [..]}`, and each line out the answer to one, as soon as
//! all of its items are judged: `{"call": 7, "judgements": [..]}`, or `{"call": 7, "error": "..", "is_input": true}` where a
//! list with a mistake, or with what is no item, was refused before anything was judged. `{"call": 8, "requests": null}` is answered with what the
//! environment asks for, task by task. The numbers are the caller's own.

use std::io::{BufRead, Write};
use std::panic::{AssertUnwindSafe, catch_unwind};

use grpo_sandbox::THREAD_STACK;
use parking_lot::Mutex;
use serde::de::IgnoredAny;
use serde::{Deserialize, Serialize};

use super::lines::no_item;
use super::{Item, Judge, JudgeError, Judgement, LinesError, object};
use crate::causes::with_causes;
use crate::environment::tasks::{Function, Kind};
use crate::environment::{self, Environment};
use crate::json_line;

/// The first line: what is judged.
#[derive(Serialize)]
struct Described<'a> {
    environment: &'a str,
    /// Whether items name tasks.
    has_tests: bool,
}

#[derive(Deserialize)]
struct Call {
    call: u64,
    #[serde(deserialize_with = "object::list")]
    items: Vec<Item>,
}

/// A call whatever its items are.
#[derive(Deserialize)]
struct NumberedCall {
    call: u64,
    #[serde(rename = "items")]
    _items: IgnoredAny,
}

#[derive(Deserialize)]
struct RequestsCall {
    call: u64,
    #[serde(rename = "requests")]
    _requests: (),
}

/// What a line asks for.
enum Asked {
    Judgements(Call),
    Requests(RequestsCall),
    /// Items of which one is none: a mistake of this call alone, which has a number to answer to.
    NoItems {
        call: u64,
        reason: String,
    },
}

impl Asked {
    fn read(line: &str) -> serde_json::Result<Asked> {
        serde_json::from_str(line).map(Asked::Judgements).or_else(|error| {
            let mistaken = |NumberedCall { call, .. }| Asked::NoItems { call, reason: no_item(&error) };
            let otherwise = serde_json::from_str(line).map(Asked::Requests);
            otherwise.or_else(|_| serde_json::from_str(line).map(mistaken)).map_err(|_| error)
        })
    }
}

#[derive(Serialize)]
struct Answer {
    call: u64,
    #[serde(flatten)]
    given: Given,
}

#[derive(Serialize)]
#[serde(untagged)]
enum Given {
    Judgements { judgements: Vec<Judgement> },
    Requests { requests: Vec<Request> },
    Refusal { error: String, is_input: bool },
}

/// What a policy is asked for.
#[derive(Serialize)]
struct Request {
    /// The task, or the style of play.
    id: String,
    /// The rules, which open the chat.
    system: String,
    prompt: String,
    /// Whether it is for evaluation alone.
    held_out: bool,
}

/// Answers the calls of `input` until it ends, and those at hand to their end; messages call the input `name`.
///
/// Calls take turns on the workers of the arena, each from a thread of its own, so that a short one does not wait for a
/// long one. A line that is no call is an error: its answer would have no number.
pub fn judge_calls(
    judge: &Judge,
    input: impl BufRead,
    name: &str,
    output: impl Write + Send,
) -> Result<(), LinesError> {
    let output = &Mutex::new(output);
    let environment = judge.arena().environment();
    let described = Described { environment: environment.name(), has_tests: environment.has_tests() };
    write(output, &described).map_err(system("cannot answer"))?;
    std::thread::scope(|scope| {
        for (line, text) in (1..).zip(input.lines()) {
            let text: String = text.map_err(system(name))?;
            let asked = Asked::read(&text).map_err(|error| LinesError::Line {
                name: name.to_owned(),
                line,
                reason: error.to_string(),
            })?;
            let answer = move || {
                let answer = match asked {
                    Asked::Judgements(Call { call, items }) => Answer { call, given: given(judge, items) },
                    Asked::Requests(RequestsCall { call, .. }) => Answer { call, given: requests(judge) },
                    Asked::NoItems { call, reason } => {
                        Answer { call, given: Given::Refusal { error: reason, is_input: true } }
                    }
                };
                // Where nobody reads answers any more, the input ends as well.
                if let Err(error) = write(output, &answer) {
                    tracing::debug!("an answer that nobody reads: {error}");
                }
            };
            let thread = std::thread::Builder::new().name("judge-call".into()).stack_size(THREAD_STACK);
            thread.spawn_scoped(scope, answer).map_err(system("cannot start a thread"))?;
        }
        Ok(())
    })
}

fn given(judge: &Judge, items: Vec<Item>) -> Given {
    // A call without an answer would be waited for without end.
    match catch_unwind(AssertUnwindSafe(|| judge.judge(items))) {
        Ok(Ok(judgements)) => Given::Judgements { judgements },
        Ok(Err(error)) => {
            Given::Refusal { is_input: !matches!(error, JudgeError::Arena(_)), error: with_causes(&error) }
        }
        Err(_) => {
            Given::Refusal { error: "the judge panicked; this is a bug in grpo-2048".to_owned(), is_input: false }
        }
    }
}

fn requests(judge: &Judge) -> Given {
    let environment = judge.arena().environment();
    let briefing = environment.briefing();
    let request = |request: environment::Request| Request {
        prompt: words_alone(environment, &request),
        id: request.style,
        system: briefing.system.clone(),
        held_out: request.held_out,
    };
    Given::Requests { requests: briefing.requests.into_iter().map(request).collect() }
}

/// The words of a request, for policies whose answers are not begun for them as they are in training: where the words do
/// not name what the program has to define, the beginning does, without which nobody could know it.
pub(super) fn words_alone(environment: &Environment, request: &environment::Request) -> String {
    let words = &request.words;
    let task = request.task.zip(environment.tasks()).map(|(task, tasks)| &tasks.tasks()[task as usize]);
    let Some(Kind::Function(Function { entry_point, .. })) = task.map(|task| &task.kind) else {
        return words.clone();
    };
    // A name that ends in it, such as `diff(` for `f(`, is another one, and so is a method of that name where a function is asked for.
    let is_named = |name: &str, is_method: bool| {
        let is_other = |before: char| before.is_alphanumeric() || before == '_' || (before == '.' && !is_method);
        let call = format!("{name}(");
        let is_called = words.match_indices(&call).any(|(at, _)| !words[..at].ends_with(is_other));
        is_called || words.contains(&format!("`{name}`"))
    };
    let is_told = match entry_point.split_once('.') {
        Some((class, method)) => is_named(class, false) && is_named(method, true),
        None => is_named(entry_point, false),
    };
    if is_told {
        return words.clone();
    }
    format!("{words}\n\nThe program defines `{entry_point}`, and begins with:\n{}", request.opening)
}

fn write(output: &Mutex<impl Write>, line: &impl Serialize) -> std::io::Result<()> {
    let text = json_line(line)?;
    let mut output = output.lock();
    output.write_all(text.as_bytes())?;
    output.flush()
}

fn system(what: &str) -> impl FnOnce(std::io::Error) -> LinesError {
    let what = what.to_owned();
    |source| LinesError::System { what, source }
}
