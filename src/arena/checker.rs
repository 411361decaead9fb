//! The checker of a task: Python that decides what no comparison of values can, in an instance of its own.
//!
//! It is a generator, `check()`, that yields calls, `(function, argument, ...)`, is sent what the program returned, and
//! returns whether that was right. A call that fails ends it, and so does an exception of its own: neither is a pass.
//! That a checker lets the reference pass is looked at before a run.

use grpo_sandbox::{Failure, HostError, Sandbox, Session};

use super::play::{GameError, Unplayed};
use super::solver::Solver;
use crate::environment::Value;
use crate::environment::tasks::Kind;

/// Calls that a checker may yield.
const CALLS_MAX: usize = 1000;
/// Runs the generator a call at a time; what it yields and returns is told apart by the first item.
const DRIVER: &str = "\n\n
def __advance(answer):
    global __calls
    try:
        if '__calls' not in globals():
            __calls = check()
            return ['call', *next(__calls)]
        return ['call', *__calls.send(answer)]
    except StopIteration as end:
        return ['done', bool(end.value)]
";

/// What the checker of the task says, in words where it does not let the program pass; none where there is no checker.
pub(super) fn passes(solver: &mut Solver<'_>) -> Result<Option<Result<(), String>>, Unplayed> {
    let Kind::Function(function) = &solver.task.kind else { return Ok(None) };
    let Some(source) = &function.checker else { return Ok(None) };
    let source = format!("{source}{DRIVER}");
    let mut checker = match load(solver.sandbox, &source, solver) {
        Ok(session) => session,
        Err(Failure::Program(fault)) => return Ok(Some(Err(fault.to_string()))),
        Err(Failure::Host(error)) => return Err(error.into()),
    };
    let mut answer = "null".to_owned();
    for _ in 0..CALLS_MAX {
        let asked = match checker.call("__advance", &format!("[{answer}]")) {
            Ok(text) => Value::from_json(&text),
            Err(Failure::Program(fault)) => return Ok(Some(Err(fault.to_string()))),
            // An answer of the program that no call takes, such as one nested too deep.
            Err(Failure::Host(HostError::Arguments(reason))) => return Ok(Some(Err(reason))),
            Err(Failure::Host(error)) => return Err(error.into()),
        };
        let Ok(Value::List(words)) = asked else { return Ok(Some(Err("yielded no call".into()))) };
        match words.as_slice() {
            [Value::Str(word), Value::Bool(verdict)] if word == "done" => {
                return Ok(Some(if *verdict { Ok(()) } else { Err("found the answers wrong".into()) }));
            }
            [Value::Str(word), Value::Str(name), arguments @ ..] if word == "call" => {
                let arguments = Value::List(arguments.to_vec()).to_json();
                match solver.call(name, &arguments) {
                    Ok(Ok(value)) => answer = value.to_json(),
                    Ok(Err(fault)) => return Ok(Some(Err(format!("{name}: {fault}")))),
                    // The checker hands on what the program gave it.
                    Err(Unplayed::Broken(GameError::Host(HostError::Arguments(reason)))) => {
                        return Ok(Some(Err(format!("{name}: {reason}"))));
                    }
                    Err(other) => return Err(other),
                }
            }
            _ => return Ok(Some(Err("yielded no call".into()))),
        }
    }
    Ok(Some(Err(format!("yielded more than {CALLS_MAX} calls"))))
}

fn load(sandbox: &Sandbox, source: &str, solver: &Solver<'_>) -> Result<Session, Failure> {
    sandbox.load(source, 0, &solver.limits()).map_err(|unloaded| unloaded.failure)
}
