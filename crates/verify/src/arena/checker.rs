//! The checker of a task: Python that decides what no comparison of values can, in an instance of its own.
//!
//! It is a generator, `check()`, that yields calls, `(function, argument, ...)`, is sent what the program returned, and
//! returns whether that was right, as True or False, or 1 or 0. A call that raises raises in the checker, which may catch it; any other failure of a
//! call ends it, and so does an exception of its own: neither is a pass.
//! All calls go to one instance of the program, unless the task keeps them apart.
//! Where it can be written as a function of the answers so far, it is run compiled; the interpreter has the last word on
//! whatever is not a call or a verdict. What a checker does before it has an answer is no program's doing: a mistake
//! there is the author's. After that it is taken for what the answers have led to.

use grpo_sandbox::{Failure, Fault, HostError, Limits, Sandbox, Session};

use super::play::{GameError, Unplayed, ending};
use super::solver::Solver;
use crate::environment::tasks::{ExceptionTypes, Function, Kind};
use crate::environment::{Ending, Value};

/// Calls that a checker may yield.
const CALLS_MAX: usize = 1000;
/// Words of which a checker has one where it may take up an exception: otherwise none is shown to it.
const TAKES_UP: [&str; 3] = ["except", "finally", "with"];
/// Runs the generator on, through answers that it has not seen; what it yields and returns is told apart by the first
/// item.
const DRIVER: &str = concat!("\n\n", include_str!("checker/driver.py"));
/// How the driver names None.
const NONE: &str = "None";
/// Most answers, and most bytes of them, with which a checker is run compiled: it does all again for each, so that many
/// cost more than the interpreter does.
const REPLAYED_MAX: usize = 64;
const REPLAYED_BYTES_MAX: usize = 64 << 10;

/// What a checker found out about a program.
pub(super) struct Checked {
    /// Whether the program answered any of its calls.
    pub answered: bool,
    /// How the program fails, and why in words; none where it passes.
    pub failed: Option<(Ending, String)>,
}

/// Why a checker does not go on.
enum Stop {
    /// The program failed in a call.
    Program(Ending, String),
    /// The checker failed, or asks for what is no call.
    Checker(String),
    /// Its author made a mistake, whatever the answers are.
    Mistake(String),
    /// The budget does not suffice for the checker. It has one of its own, as large as the program's: what the program has
    /// used depends on what ran it.
    Budget(Fault),
    Unplayed(Unplayed),
}

impl<E: Into<Unplayed>> From<E> for Stop {
    fn from(error: E) -> Self {
        Stop::Unplayed(error.into())
    }
}

/// What the checker of the task says of a program; none where there is no checker.
pub(super) fn check(solver: &mut Solver<'_>) -> Result<Option<Checked>, Unplayed> {
    let Kind::Function(function) = &solver.task.kind else { return Ok(None) };
    let Some(source) = &function.checker else { return Ok(None) };
    let mut answers = Vec::new();
    let passes = passes(solver, function, source, &mut answers);
    let answered = !answers.is_empty();
    let failed = match passes {
        Ok(true) => None,
        Ok(false) if answered => Some((Ending::WrongAnswer, "found the answers wrong".to_owned())),
        Ok(false) => return Err(early(solver, "returns what is not true")),
        Err(Stop::Checker(reason) | Stop::Mistake(reason)) if !answered => return Err(early(solver, &reason)),
        Err(Stop::Mistake(reason)) => return Err(solver.mistake(&format!("the checker {reason}"))),
        Err(Stop::Checker(reason)) => Some((Ending::WrongAnswer, format!("fails on the answers: {reason}"))),
        Err(Stop::Budget(fault)) => Some((ending(&fault), format!("takes too long itself: {fault}"))),
        Err(Stop::Program(ending, reason)) => Some((ending, reason)),
        Err(Stop::Unplayed(unplayed)) => return Err(unplayed),
    };
    Ok(Some(Checked { answered: answered || failed.is_none(), failed }))
}

/// A mistake in the checker itself, which no answer has led to.
fn early(solver: &Solver<'_>, reason: &str) -> Unplayed {
    solver.mistake(&format!("the checker, before it has an answer: {reason}"))
}

/// Whether the checker takes the program's answers for right.
fn passes(solver: &mut Solver<'_>, function: &Function, source: &str, answers: &mut Vec<Reply>) -> Result<bool, Stop> {
    let mut compiled = solver.sandbox.compiled().zip(function.replayed.as_deref());
    let takes_up = TAKES_UP.iter().any(|word| source.contains(word));
    let mut raised = None;
    let mut generator = Generator { source, session: None, seen: 0 };
    while answers.len() <= CALLS_MAX {
        let replayed = match &compiled {
            Some((sandbox, source)) => replayed(sandbox, source, &solver.task_limits(), answers)?,
            None => None,
        };
        let asked = match replayed {
            Some(asked) => asked,
            None => {
                compiled = None;
                generator.advance(solver, answers)?
            }
        };
        match asked {
            Asked::Verdict(verdict) => return Ok(verdict),
            Asked::NoVerdict(found) => return no_verdict(solver, &found),
            Asked::NotCaught => {
                answers.pop_if(|last| last.raised);
                return Err(raised.expect("only what was raised can be left uncaught"));
            }
            Asked::Call { name, arguments } => match answer(solver, &name, arguments)? {
                Ok(value) => answers.push(Reply { raised: false, json: value.to_json() }),
                Err(fault) => {
                    let reply = if takes_up { Reply::raised(&fault, solver.lineage()) } else { None };
                    let asks = if is_missing(&fault, &name) { ", which the checker calls" } else { "" };
                    let stop = Stop::Program(ending(&fault), format!("{name}: {}{asks}", solver.told(&fault)));
                    let Some(reply) = reply else { return Err(stop) };
                    (compiled, raised) = (None, Some(stop));
                    answers.push(reply);
                }
            },
        }
    }
    let reason = format!("yielded more than {CALLS_MAX} calls, the most that it may");
    // Other programs may have led it there, as one that never says that it is done.
    Err(if solver.is_reference() { Stop::Mistake(reason) } else { Stop::Checker(reason) })
}

/// What is made of a value that a checker has returned and that is no verdict.
fn no_verdict(solver: &Solver<'_>, found: &str) -> Result<bool, Stop> {
    let end = match found {
        // One that returns True where all is right, and otherwise comes to its end, says no there.
        NONE if !solver.is_reference() => return Ok(false),
        NONE => ", as by `return True` at its end",
        _ => "",
    };
    let reason = format!("returned {found}; expected True or False{end}");
    // Other programs may have led it there, as by a text where a number was expected.
    Err(match found {
        NONE => Stop::Checker(reason),
        _ if solver.is_reference() => Stop::Mistake(reason),
        _ => Stop::Checker(reason),
    })
}

/// What a checker asks for.
enum Asked {
    Call {
        name: String,
        arguments: Vec<Value>,
    },
    Verdict(bool),
    /// What it has returned in place of one, with its type.
    NoVerdict(String),
    /// Nothing: it has not caught what the last call raised.
    NotCaught,
}

/// What a call came to.
struct Reply {
    raised: bool,
    /// The value, or the exception as JSON: the name of its type and of those above it, and its message.
    json: String,
}

impl Reply {
    /// The reply of a call with this fault, where a checker can catch it: a limit or a trap is no exception of Python's.
    fn raised(fault: &Fault, lineage: &ExceptionTypes) -> Option<Reply> {
        match fault {
            Fault::Raised { kind, message, .. } if !["Trap", "Spent"].contains(&kind.as_str()) => {
                let line = Value::List(lineage.line(kind).into_iter().map(Value::Str).collect());
                let words = vec![line, Value::Str(message.clone())];
                Some(Reply { raised: true, json: Value::List(words).to_json() })
            }
            _ => None,
        }
    }
}

impl Asked {
    fn call(words: &[Value]) -> Option<Asked> {
        let [Value::Str(name), arguments @ ..] = words else { return None };
        Some(Asked::Call { name: name.clone(), arguments: arguments.to_vec() })
    }

    /// What compiled code has returned: a call in a list, a verdict in a tuple, or None at its end.
    fn compiled(returned: &Value) -> Option<Asked> {
        match returned {
            Value::None => Some(Asked::NoVerdict(NONE.to_owned())),
            Value::Tuple(verdict) => match verdict.as_slice() {
                [Value::Bool(verdict)] => Some(Asked::Verdict(*verdict)),
                _ => None,
            },
            Value::List(calls) => match calls.as_slice() {
                [Value::Tuple(words) | Value::List(words)] => Asked::call(words),
                _ => None,
            },
            _ => None,
        }
    }
}

/// What the checker asks for after these answers, by compiled code; none where the interpreter has to be asked, as for
/// whatever is a failure.
fn replayed(sandbox: &Sandbox, source: &str, limits: &Limits, answers: &[Reply]) -> Result<Option<Asked>, HostError> {
    let answers: Vec<&str> = answers.iter().map(|reply| reply.json.as_str()).collect();
    if answers.len() > REPLAYED_MAX || answers.iter().map(|json| json.len()).sum::<usize>() > REPLAYED_BYTES_MAX {
        return Ok(None);
    }
    let session = sandbox.load_exact(source, 0, limits).map_err(|unloaded| unloaded.failure);
    match session.and_then(|mut session| session.call("check", &format!("[[{}]]", answers.join(",")))) {
        Ok(text) => Ok(Value::from_json(&text).ok().as_ref().and_then(Asked::compiled)),
        Err(Failure::Program(_) | Failure::Host(HostError::LeftTier(_) | HostError::Arguments(_))) => Ok(None),
        Err(Failure::Host(error)) => Err(error),
    }
}

/// A checker as it is written, in the interpreter.
struct Generator<'a> {
    source: &'a str,
    session: Option<Session>,
    /// Answers that it has been sent.
    seen: usize,
}

impl Generator<'_> {
    /// What it asks for after these answers.
    fn advance(&mut self, solver: &Solver<'_>, answers: &[Reply]) -> Result<Asked, Stop> {
        let session = match &mut self.session {
            Some(session) => session,
            None => self.session.insert(self.loaded(solver)?),
        };
        let unseen = answers[std::mem::replace(&mut self.seen, answers.len())..].iter();
        let unseen: Vec<String> = unseen.map(|Reply { raised, json }| format!("[{raised},{json}]")).collect();
        let asked = session.call("__advance", &format!("[[{}]]", unseen.join(",")));
        let asked = asked.map_err(|failure| of_checker(failure, self.source))?;
        let Ok(Value::List(words)) = Value::from_json(&asked) else { return Err(no_call()) };
        match words.as_slice() {
            [Value::Str(word), Value::Bool(verdict)] if word == "done" => Ok(Asked::Verdict(*verdict)),
            // It may be a count, of which a program that fails brings it to 1. The reference shows whether it is one.
            [Value::Str(word), Value::Bool(verdict), Value::Str(found)] if word == "number" => {
                Ok(match solver.task.reference.is_some() {
                    true => Asked::Verdict(*verdict),
                    false => Asked::NoVerdict(found.clone()),
                })
            }
            [Value::Str(word), Value::Str(found)] if word == "no verdict" => Ok(Asked::NoVerdict(found.clone())),
            [Value::Str(word)] if word == "not caught" => Ok(Asked::NotCaught),
            [Value::Str(word), Value::Str(found)] if word == "no call" => {
                Err(Stop::Mistake(format!("yielded {found}; expected a call in a tuple, such as `yield (\"f\", 1)`")))
            }
            [Value::Str(word), words @ ..] if word == "call" => Asked::call(words).ok_or_else(no_call),
            _ => Err(no_call()),
        }
    }

    fn loaded(&self, solver: &Solver<'_>) -> Result<Session, Stop> {
        let interpreter = solver.sandbox.interpreting();
        let loaded = interpreter.load(&format!("{}{DRIVER}", self.source), 0, &solver.task_limits());
        loaded.map_err(|unloaded| of_checker(unloaded.failure, self.source))
    }
}

/// The program's answer to a call, or how it fails.
fn answer(solver: &mut Solver<'_>, name: &str, arguments: Vec<Value>) -> Result<Result<Value, Fault>, Stop> {
    match solver.ask(name, &Value::List(arguments).to_json()) {
        Ok(answered) => Ok(answered),
        Err(Unplayed::Broken(GameError::Host(HostError::Arguments(reason)))) => {
            Err(Stop::Checker(format!("{name}: {reason}")))
        }
        Err(other) => Err(Stop::Unplayed(other)),
    }
}

/// Whether the program has no function of this name.
fn is_missing(fault: &Fault, name: &str) -> bool {
    let words = format!("no function `{name}`");
    matches!(fault, Fault::Raised { kind, message, line: None, .. } if kind == "NameError" && *message == words)
}

/// The failure of the checker with this source. Its author knows no line of what runs it, where `check` takes arguments.
fn of_checker(failure: Failure, source: &str) -> Stop {
    match failure {
        Failure::Program(fault @ Fault::OutOfFuel { .. }) => Stop::Budget(fault),
        Failure::Program(mut fault) => {
            if let Fault::Raised { line, .. } | Fault::StackOverflow { line } = &mut fault {
                *line = line.filter(|line| *line as usize <= source.lines().count());
            }
            Stop::Checker(fault.to_string())
        }
        // An answer of the program that no call takes, such as one nested too deep.
        Failure::Host(HostError::Arguments(reason)) => Stop::Checker(reason),
        Failure::Host(error) => error.into(),
    }
}

fn no_call() -> Stop {
    Stop::Checker("yielded no call".into())
}

#[cfg(test)]
mod tests;
