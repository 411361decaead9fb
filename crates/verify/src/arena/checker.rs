//! The checker of a task: Python that decides what no comparison of values can, in an instance of its own.
//!
//! It is a generator, `check()`, that yields calls, `(function, argument, ...)`, is sent what the program returned, and
//! returns whether that was right. A call that raises raises in the checker, which may catch it; any other failure of a
//! call ends it, and so does an exception of its own: neither is a pass.
//! Where it can be written as a function of the answers so far, it is run compiled; the interpreter has the last word on
//! whatever is not a call or a verdict. What a checker does before it has an answer is no program's doing: a mistake
//! there is the author's. After that it is taken for what the answers have led to.

use grpo_sandbox::{Failure, Fault, HostError, Limits, Sandbox, Session};

use super::play::{GameError, Unplayed, ending};
use super::solver::Solver;
use crate::environment::tasks::{Function, Kind, Tasks};
use crate::environment::{Ending, Value};

/// Calls that a checker may yield.
const CALLS_MAX: usize = 1000;
/// Runs the generator on, through answers that it has not seen; what it yields and returns is told apart by the first
/// item.
const DRIVER: &str = "\n\n
def __exception(kind, message):
    import builtins
    made = getattr(builtins, kind, None)
    if not isinstance(made, type) or not issubclass(made, Exception):
        made = type(kind, (Exception,), {})
    try:
        return made(message)
    except TypeError:
        return type(kind, (made,), {'__init__': lambda self: None})()


def __advance(answers):
    global __calls
    thrown = None
    try:
        if '__calls' not in globals():
            __calls = check()
            call = next(__calls)
        for raised, answer in answers:
            thrown = __exception(*answer) if raised else None
            call = __calls.throw(thrown) if raised else __calls.send(answer)
        return ['call', *call]
    except StopIteration as end:
        return ['done', bool(end.value)]
    except Exception as error:
        if error is thrown:
            return ['not caught']
        raise
";
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
pub(super) fn check(solver: &mut Solver<'_>, tasks: &Tasks) -> Result<Option<Checked>, Unplayed> {
    let Kind::Function(function) = &solver.task.kind else { return Ok(None) };
    let Some(source) = &function.checker else { return Ok(None) };
    let mut answers = Vec::new();
    let passes = passes(solver, function, source, &mut answers);
    let answered = !answers.is_empty();
    let failed = match passes {
        Ok(true) => None,
        Ok(false) if answered => Some((Ending::WrongAnswer, "found the answers wrong".to_owned())),
        Ok(false) => return Err(mistake(solver, tasks, "returns what is not true")),
        Err(Stop::Checker(reason)) if !answered => return Err(mistake(solver, tasks, &reason)),
        Err(Stop::Checker(reason)) => Some((Ending::WrongAnswer, format!("fails on the answers: {reason}"))),
        Err(Stop::Budget(fault)) => Some((ending(&fault), fault.to_string())),
        Err(Stop::Program(ending, reason)) => Some((ending, reason)),
        Err(Stop::Unplayed(unplayed)) => return Err(unplayed),
    };
    Ok(Some(Checked { answered: answered || failed.is_none(), failed }))
}

/// A mistake in the checker itself.
fn mistake(solver: &Solver<'_>, tasks: &Tasks, reason: &str) -> Unplayed {
    let task = solver.task;
    let message = format!("line {} ({}): the checker, before it has an answer: {reason}", task.line, task.id);
    Unplayed::Broken(GameError::Environment { game: tasks.path().to_owned(), message })
}

/// Whether the checker takes the program's answers for right.
fn passes(solver: &mut Solver<'_>, function: &Function, source: &str, answers: &mut Vec<Reply>) -> Result<bool, Stop> {
    let mut compiled = solver.sandbox.compiled().zip(function.replayed.as_deref());
    let (catches, mut raised) = (source.contains("except"), None);
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
            Asked::NotCaught => {
                answers.pop();
                return Err(raised.expect("only what was raised can be left uncaught"));
            }
            Asked::Call { name, arguments } => match answer(solver, &name, arguments)? {
                Ok(value) => answers.push(Reply { raised: false, json: value.to_json() }),
                Err(fault) => {
                    let reply = Reply::raised(&fault).filter(|_| catches);
                    let stop = Stop::Program(ending(&fault), format!("{name}: {fault}"));
                    let Some(reply) = reply else { return Err(stop) };
                    (compiled, raised) = (None, Some(stop));
                    answers.push(reply);
                }
            },
        }
    }
    Err(Stop::Checker(format!("yielded more than {CALLS_MAX} calls")))
}

/// What a checker asks for.
enum Asked {
    Call {
        name: String,
        arguments: Vec<Value>,
    },
    Verdict(bool),
    /// Nothing: it has not caught what the last call raised.
    NotCaught,
}

/// What a call came to.
struct Reply {
    /// Whether it raised.
    raised: bool,
    /// The value, or type and message of the exception, as JSON.
    json: String,
}

impl Reply {
    /// The reply of a call with this fault, where a checker can catch it: a limit or a trap is no exception of Python's, and
    /// a generator cannot be thrown a StopIteration.
    fn raised(fault: &Fault) -> Option<Reply> {
        match fault {
            Fault::Raised { kind, message, .. } if !["Trap", "Spent", "StopIteration"].contains(&kind.as_str()) => {
                let words = [kind, message].map(|text| Value::Str(text.clone()));
                Some(Reply { raised: true, json: Value::List(words.into()).to_json() })
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
        Ok(text) => Ok(match Value::from_json(&text) {
            Ok(Value::Bool(verdict)) => Some(Asked::Verdict(verdict)),
            Ok(Value::None) => Some(Asked::Verdict(false)),
            Ok(Value::List(calls)) => match calls.as_slice() {
                [Value::Tuple(words) | Value::List(words)] => Asked::call(words),
                _ => None,
            },
            _ => None,
        }),
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
        let asked = session.call("__advance", &format!("[[{}]]", unseen.join(","))).map_err(of_checker)?;
        let Ok(Value::List(words)) = Value::from_json(&asked) else { return Err(no_call()) };
        match words.as_slice() {
            [Value::Str(word), Value::Bool(verdict)] if word == "done" => Ok(Asked::Verdict(*verdict)),
            [Value::Str(word)] if word == "not caught" => Ok(Asked::NotCaught),
            [Value::Str(word), words @ ..] if word == "call" => Asked::call(words).ok_or_else(no_call),
            _ => Err(no_call()),
        }
    }

    fn loaded(&self, solver: &Solver<'_>) -> Result<Session, Stop> {
        let interpreter = solver.sandbox.interpreting();
        let loaded = interpreter.load(&format!("{}{DRIVER}", self.source), 0, &solver.task_limits());
        loaded.map_err(|unloaded| of_checker(unloaded.failure))
    }
}

/// The program's answer to a call, or how it fails.
fn answer(solver: &mut Solver<'_>, name: &str, arguments: Vec<Value>) -> Result<Result<Value, Fault>, Stop> {
    match solver.call(name, &Value::List(arguments).to_json()) {
        Ok(answered) => Ok(answered),
        Err(Unplayed::Broken(GameError::Host(HostError::Arguments(reason)))) => {
            Err(Stop::Checker(format!("{name}: {reason}")))
        }
        Err(other) => Err(Stop::Unplayed(other)),
    }
}

fn of_checker(failure: Failure) -> Stop {
    match failure {
        Failure::Program(fault @ Fault::OutOfFuel { .. }) => Stop::Budget(fault),
        Failure::Program(fault) => Stop::Checker(fault.to_string()),
        // An answer of the program that no call takes, such as one nested too deep.
        Failure::Host(HostError::Arguments(reason)) => Stop::Checker(reason),
        Failure::Host(error) => error.into(),
    }
}

fn no_call() -> Stop {
    Stop::Checker("yielded no call".into())
}

#[cfg(test)]
mod tests {
    use std::sync::OnceLock;

    use grpo_sandbox::TierChoice;

    use super::*;
    use crate::arena::Rules;
    use crate::config::Config;
    use crate::program::Program;

    fn sandbox(choice: TierChoice) -> Sandbox {
        static SANDBOX: OnceLock<Sandbox> = OnceLock::new();
        let open = || Sandbox::open(&Sandbox::default_cache_dir().unwrap(), || ()).unwrap();
        // Every session is compared with the interpreter.
        SANDBOX.get_or_init(open).with_tiers(choice, 1)
    }

    /// A task with this checker and nothing else.
    fn tasks(checker: &str) -> Tasks {
        let file = tempfile::NamedTempFile::new().unwrap();
        let task = serde_json::json!({"id": "t", "prompt": "Do.", "entry_point": "f", "checker": checker});
        std::fs::write(file.path(), task.to_string()).unwrap();
        Tasks::open(file.path()).unwrap()
    }

    /// How the program fails by the checker; none where it passes.
    fn failed(tasks: &Tasks, choice: TierChoice, source: &str) -> Option<(Ending, String)> {
        let (sandbox, rules) = (sandbox(choice), Rules::training(&Config::preset("llm").unwrap()));
        let program = Program::from_text(source, &tasks.tasks()[0].entry()).unwrap();
        let mut solver = Solver::new(&sandbox, &rules, &program, &tasks.tasks()[0]);
        check(&mut solver, tasks).ok().flatten().expect("it has a checker").failed
    }

    #[test]
    fn a_checker_whose_yields_stand_alone_runs_compiled_from_its_first_call_to_its_verdict() {
        let tasks =
            tasks("def check():\n    a = yield ('f', 1, [2])\n    b = yield 'g', a\n    return b == (1, 'x')\n");
        let Kind::Function(function) = &tasks.tasks()[0].kind else { panic!("not a function") };
        let source = function.replayed.as_deref().expect("it can be written as a function");
        let limits = Rules::training(&Config::preset("llm").unwrap()).limits;
        let asked = |answers: &[&str]| {
            let reply = |&json: &&str| Reply { raised: false, json: json.to_owned() };
            let answers: Vec<Reply> = answers.iter().map(reply).collect();
            match replayed(&sandbox(TierChoice::Compiled), source, &limits, &answers).unwrap() {
                Some(Asked::Call { name, arguments }) => format!("{name}{}", Value::List(arguments).to_json()),
                Some(Asked::Verdict(verdict)) => verdict.to_string(),
                Some(Asked::NotCaught) | None => "left".to_owned(),
            }
        };
        assert_eq!([asked(&[]), asked(&["[7]"])], ["f[1, [2]]", "g[[7]]"]);
        assert_eq!([asked(&["7", "{\"()\":[1,\"x\"]}"]), asked(&["7", "[1,\"x\"]"])], ["true", "false"]);
        assert_eq!(asked(&["[1]", "{\"float\":\"nan\"}"]), "left", "an argument that is not modelled");
    }

    #[test]
    fn a_checker_catches_what_a_call_raises_and_what_it_does_not_catch_is_the_programs_failure() {
        let tasks = tasks(
            "def check():\n    a = yield ('f', 1)\n    try:\n        yield ('f', -1)\n    except ValueError as error:\n        \
             return a == 1 and str(error) == '-1'\n    return False\n",
        );
        let of = |body: &str| {
            let source = format!("def f(x):\n    if x < 0:\n        {body}\n    return x\n");
            let [auto, interpreted] =
                [TierChoice::Auto, TierChoice::Interpreter].map(|choice| failed(&tasks, choice, &source));
            assert_eq!(auto, interpreted, "{body}");
            auto
        };
        assert_eq!(of("raise ValueError(x)"), None);
        assert_eq!(of("return 0"), Some((Ending::WrongAnswer, "found the answers wrong".into())));
        assert_eq!(of("raise ValueError('no')").map(|(ending, _)| ending), Some(Ending::WrongAnswer));
        assert_eq!(of("raise KeyError(x)"), Some((Ending::Raised, "f: KeyError: -1 (line 3)".into())));
        assert_eq!(of("x = [][0]"), Some((Ending::Raised, "f: IndexError: list index out of range (line 3)".into())));
        // Its constructor takes more than a message.
        assert_eq!(of("b'\\xff'.decode()").map(|(ending, _)| ending), Some(Ending::WrongAnswer));
    }

    #[test]
    fn a_checker_says_the_same_in_both_tiers_also_where_it_leaves_the_one_on_the_way() {
        let all = "def check():\n    for i in range(70):\n        r = yield ('f', i)\n        if 100 // (r + 1) != 100 // (i + 1):\n            return []\n    return True\n";
        let random = "import random\ndef check():\n    for _ in range(5):\n        i = random.randint(0, 9)\n        r = yield ('f', i)\n        if r != i:\n            return False\n    return [r]\n";
        let programs =
            ["x", "0 if x == 5 else x", "0 if x == 69 else x", "-1 if x == 68 else x", "'a'", "[][x]", "1 << x"];
        for checker in [all, random] {
            let tasks = tasks(checker);
            for value in programs {
                let source = format!("def f(x):\n    return {value}\n");
                let [auto, interpreted] =
                    [TierChoice::Auto, TierChoice::Interpreter].map(|choice| failed(&tasks, choice, &source));
                assert_eq!(auto, interpreted, "{value}");
                assert!(checker == random || auto.is_none() == (value == "x"), "{value}: {auto:?}");
            }
        }
    }
}
