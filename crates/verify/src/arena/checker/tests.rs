//! What a checker comes to in both tiers, and whose failure is whose.

use std::sync::OnceLock;

use grpo_sandbox::TierChoice;

use super::*;
use crate::arena::Rules;
use crate::config::Config;
use crate::environment::tasks::Tasks;
use crate::program::Program;

fn sandbox(choice: TierChoice) -> Sandbox {
    static SANDBOX: OnceLock<Sandbox> = OnceLock::new();
    let open = || Sandbox::open(&Sandbox::default_cache_dir().unwrap(), || ()).unwrap();
    // Every session is compared with the interpreter.
    SANDBOX.get_or_init(open).with_tiers(choice, 1)
}

/// A task with this checker and nothing else.
fn tasks(checker: &str) -> Tasks {
    with_keys(checker, serde_json::json!({}))
}

/// The same with more keys.
fn with_keys(checker: &str, keys: serde_json::Value) -> Tasks {
    let mut task = serde_json::json!({"id": "t", "prompt": "Do.", "entry_point": "f", "checker": checker});
    task.as_object_mut().unwrap().extend(keys.as_object().unwrap().clone());
    Tasks::of_rows(std::path::Path::new("t.jsonl"), "t", &task.to_string()).unwrap()
}

/// What the checker says of the program, and the instructions that the program has spent.
fn judged(tasks: &Tasks, choice: TierChoice, source: &str) -> (Result<Option<Checked>, Unplayed>, u64) {
    let (sandbox, rules) = (sandbox(choice), Rules::training(&Config::preset("llm").unwrap()));
    let program = Program::from_text(source, &tasks.tasks()[0].entry()).unwrap();
    let mut solver = Solver::new(&sandbox, &rules, &program, tasks, 0);
    (check(&mut solver), solver.fuel())
}

/// How the program fails by the checker; none where it passes.
fn failed(tasks: &Tasks, choice: TierChoice, source: &str) -> Option<(Ending, String)> {
    judged(tasks, choice, source).0.ok().flatten().expect("it has a checker").failed
}

/// How the program ends by the checker, none where it passes, and the instructions that it has spent.
fn spent(tasks: &Tasks, choice: TierChoice, source: &str) -> (Option<Ending>, u64) {
    let (checked, fuel) = judged(tasks, choice, source);
    let failed = checked.ok().flatten().expect("it has a checker").failed;
    (failed.map(|(ending, _)| ending), fuel)
}

/// Has each of some texts packed and unpacked, in two calls.
fn round_trips(texts: &str, keys: serde_json::Value) -> Tasks {
    let checker = format!(
        "def check():\n    for text in {texts}:\n        packed = yield ('f', text)\n        again = yield ('g', packed)\n        \
         if again != text:\n            return False\n    return True\n"
    );
    with_keys(&checker, keys)
}

#[test]
fn a_program_remembers_nothing_from_one_call_to_the_next_where_they_are_kept_apart() {
    let remembers = "kept = []\ndef f(x):\n    kept.append(x)\n    return 0\ndef g(packed):\n    return kept[-1]\n";
    let packs = "def f(x):\n    return x[::-1]\ndef g(packed):\n    return packed[::-1]\n";
    let of = |apart: bool| round_trips("['ab', 'cd']", serde_json::json!({"apart": apart}));
    for choice in [TierChoice::Auto, TierChoice::Interpreter] {
        assert_eq!(failed(&of(false), choice, remembers), None, "all calls share what the program keeps");
        let found = failed(&of(true), choice, remembers);
        assert_eq!(found, Some((Ending::Raised, "g: IndexError: list index out of range (line 6)".into())));
        assert_eq!([true, false].map(|apart| failed(&of(apart), choice, packs)), [None, None]);
    }
}

#[test]
fn each_start_of_a_program_whose_calls_are_kept_apart_counts_and_the_tier_changes_nothing() {
    let source = |turns: u32| {
        let functions = "def f(x):\n    return x[::-1]\ndef g(packed):\n    return packed[::-1]\n";
        format!("for turn in range({turns}):\n    pass\n{functions}")
    };
    let of = |apart: bool| round_trips("['ab', 'cd']", serde_json::json!({"apart": apart}));
    let once = spent(&of(false), TierChoice::Interpreter, &source(100_000));
    let fourfold = spent(&of(true), TierChoice::Interpreter, &source(100_000));
    assert_eq!((once.0, fourfold.0), (None, None));
    let share = fourfold.1 as f64 / once.1 as f64;
    assert!((3.0..4.1).contains(&share), "four calls, four starts: {share}");
    assert_eq!(spent(&of(true), TierChoice::Auto, &source(100_000)), fourfold);
    // Each start is within what a call may spend, and five are beyond the budget.
    let many = round_trips("'abcdef'", serde_json::json!({"apart": true, "seconds": 0.1}));
    let limits = Rules::training(&Config::preset("llm").unwrap()).of_task(&many.tasks()[0]);
    let costly = source((100_000.0 * 0.9 * limits.call_fuel as f64 / once.1 as f64) as u32);
    let ended = spent(&many, TierChoice::Interpreter, &costly);
    let share = ended.1 as f64 / limits.game_fuel as f64;
    assert!(ended.0 == Some(Ending::Hung) && (0.99..1.01).contains(&share), "{ended:?} {share}");
    assert_eq!(spent(&many, TierChoice::Auto, &costly), ended);
}

#[test]
fn a_checker_whose_yields_stand_alone_runs_compiled_from_its_first_call_to_its_verdict() {
    let tasks = tasks("def check():\n    a = yield ('f', 1, [2])\n    b = yield 'g', a\n    return b == (1, 'x')\n");
    let Kind::Function(function) = &tasks.tasks()[0].kind else { panic!("not a function") };
    let source = function.replayed.as_deref().expect("it can be written as a function");
    let limits = Rules::training(&Config::preset("llm").unwrap()).limits;
    let asked = |answers: &[&str]| {
        let reply = |&json: &&str| Reply { raised: false, json: json.to_owned() };
        let answers: Vec<Reply> = answers.iter().map(reply).collect();
        match replayed(&sandbox(TierChoice::Compiled), source, &limits, &answers).unwrap() {
            Some(Asked::Call { name, arguments }) => format!("{name}{}", Value::List(arguments).to_json()),
            Some(Asked::Verdict(verdict)) => verdict.to_string(),
            Some(Asked::NotCaught | Asked::NoVerdict(_)) | None => "left".to_owned(),
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
    let random = "import random\ndef check():\n    for _ in range(5):\n        i = random.randint(0, 9)\n        r = yield ('f', i)\n        if r != i:\n            return False\n    return 1\n";
    let programs = ["x", "0 if x == 5 else x", "0 if x == 69 else x", "-1 if x == 68 else x", "'a'", "[][x]", "1 << x"];
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

/// What is said of the task, which a mistake in its checker stops.
fn mistake(tasks: &Tasks, source: &str) -> String {
    match judged(tasks, TierChoice::Auto, source).0 {
        Err(Unplayed::Broken(GameError::Environment { message, .. })) => message,
        _ => "no mistake".to_owned(),
    }
}

#[test]
fn what_is_returned_in_place_of_a_verdict_is_a_mistake_by_the_reference_and_a_wrong_answer_by_others() {
    let of = |end: &str| {
        let checker =
            format!("from fractions import Fraction\ndef check():\n    r = yield ('f', 1)\n    return {end}\n");
        with_keys(&checker, serde_json::json!({"reference": "def f(x):\n    return 1\n"}))
    };
    let program = |answer: &str| format!("def f(x):\n    return {answer}\n");
    for (end, found) in [
        ("r == 2, 'why'", "tuple (False, 'why')"),
        ("'wrong'", "str 'wrong'"),
        ("[r]", "list [1]"),
        ("0.6", "float 0.6"),
        ("float('nan')", "float nan"),
        ("-r", "int -1"),
        ("r + 1", "int 2"),
        ("Fraction(r, 2)", "Fraction Fraction(1, 2)"),
    ] {
        let expected = format!("line 1 (t): the checker returned {found}; expected True or False");
        assert_eq!(mistake(&of(end), &program("1")), expected);
    }
    // A program that fails may bring a count to 1.
    let alone = "def check():
    return (yield ('f', 1)) + (yield ('f', 2))
";
    let counted = failed(
        &with_keys(alone, serde_json::json!({})),
        TierChoice::Auto,
        "def f(x):
    return x == 1
",
    );
    let reason = "fails on the answers: returned int 1; expected True or False".to_owned();
    assert_eq!(counted, Some((Ending::WrongAnswer, reason)));
    for choice in [TierChoice::Auto, TierChoice::Interpreter] {
        let ends = ["r", "r - 1", "Fraction(r, 1)", "r == 1", "0.0"]
            .map(|end| failed(&of(end), choice, &program("1")).is_none());
        assert_eq!(ends, [true, false, true, true, false]);
        // A program ends nobody's run.
        for (end, answer, found) in [
            ("r", "'yes'", "str 'yes'"),
            ("r[0]", "'no'", "str 'n'"),
            ("r == 1, 'why'", "2", "tuple (False, 'why')"),
            ("r", "0.6", "float 0.6"),
        ] {
            let reason = format!("fails on the answers: returned {found}; expected True or False");
            assert_eq!(failed(&of(end), choice, &program(answer)), Some((Ending::WrongAnswer, reason)));
        }
    }
}

#[test]
fn a_checker_that_returns_nothing_says_no_and_of_the_tasks_own_program_why() {
    let program = "def f(x):\n    return x\n";
    let checker = "def check():\n    r = yield ('f', 1)\n    assert r == 1\n";
    let tasks = with_keys(checker, serde_json::json!({"reference": program}));
    for choice in [TierChoice::Auto, TierChoice::Interpreter] {
        let said = |source: &str| failed(&tasks, choice, source).map(|(_, reason)| reason);
        let reason = "fails on the answers: returned None; expected True or False, as by `return True` at its end";
        assert_eq!(said(program).as_deref(), Some(reason));
        assert_eq!(said("def f(x):\n    return 1\n").as_deref(), Some("found the answers wrong"));
    }
}

#[test]
fn a_function_that_the_program_does_not_have_is_said_to_be_called_by_the_checker() {
    let tasks = tasks("def check():\n    r = yield ('encod', 1)\n    return r == 1\n");
    let reason = "encod: NameError: no function `encod`, which the checker calls";
    for choice in [TierChoice::Auto, TierChoice::Interpreter] {
        let found = failed(&tasks, choice, "def f(x):\n    return x\n");
        assert_eq!(found, Some((Ending::Raised, reason.to_owned())));
    }
}

#[test]
fn a_mistake_in_a_checker_has_a_line_of_its_own_or_none() {
    let program = "def f(x):\n    return x\n";
    for (head, expected) in [
        ("(f):\n", "TypeError: check() missing 1 required positional argument: 'f'"),
        ("():\n    None.x\n", "AttributeError: 'NoneType' object has no attribute 'x' (line 2)"),
    ] {
        let said = mistake(&tasks(&format!("def check{head}    yield ('f', 1)\n    return True\n")), program);
        assert_eq!(said, format!("line 1 (t): the checker, before it has an answer: {expected}"));
    }
}

#[test]
fn a_checker_catches_the_end_of_an_iterator_and_leaves_one_that_it_does_not_catch_to_the_program() {
    let source = "def f(x): return next(iter(x))\n";
    let caught = tasks(
        "def check():\n    a = yield ('f', [3])\n    try:\n        yield ('f', [])\n    except StopIteration:\n        \
         return a == 3\n    return False\n",
    );
    let left = tasks("def check():\n    a = yield ('f', [])\n    return True\n");
    for choice in [TierChoice::Auto, TierChoice::Interpreter] {
        assert_eq!(failed(&caught, choice, source), None);
        let (ending, reason) = failed(&left, choice, source).unwrap();
        assert!(ending == Ending::Raised && reason.contains("StopIteration"), "{ending:?} {reason}");
    }
}

#[test]
fn a_checker_catches_exceptions_by_the_types_that_they_are_under() {
    let checker = |raised: &str| {
        tasks(&format!(
            "from json import JSONDecodeError\nclass Own(Exception): pass\ndef check():\n    r = yield ('f', 1)\n    try:\n        \
             yield ('f', 0)\n    except {raised} as error:\n        return str(error).startswith('no')\n    return False\n"
        ))
    };
    let program = |raise: &str| {
        format!(
            "import json, decimal\nclass Below(ValueError):\n    def __init__(self, a, b): super().__init__('no ' + a)\n\
             class Own(Exception): pass\nclass Lower(Below): pass\nclass Quit(SystemExit): pass\n\
             class End(StopIteration): pass\n\
             def f(x):\n    if not x:\n        raise {raise}\n    return x\n"
        )
    };
    for (raise, caught) in [
        ("Below('a', 1)", "ValueError"),
        ("Lower('a', 1)", "(KeyError, ValueError)"),
        ("json.JSONDecodeError('no', '', 0)", "ValueError"),
        ("json.JSONDecodeError('no', '', 0)", "JSONDecodeError"),
        ("decimal.DivisionByZero('no')", "ZeroDivisionError"),
        ("Own('no')", "Own"),
        ("ExceptionGroup('no', [ValueError()])", "Exception"),
        ("SystemExit('no')", "SystemExit"),
        ("Quit('no')", "SystemExit"),
        ("End('no')", "StopIteration"),
    ] {
        assert_eq!(failed(&checker(caught), TierChoice::Auto, &program(raise)), None, "{raise} as {caught}");
    }
    for (raise, caught) in [
        ("Below('a', 1)", "KeyError"),
        ("decimal.DivisionByZero('no')", "ValueError"),
        ("SystemExit('no')", "Exception"),
        ("Quit('no')", "Exception"),
        ("End('no')", "ValueError"),
        ("KeyboardInterrupt('no')", "Exception"),
        ("BaseExceptionGroup('no', [KeyboardInterrupt()])", "Exception"),
    ] {
        let ending = failed(&checker(caught), TierChoice::Auto, &program(raise)).map(|(ending, _)| ending);
        assert_eq!(ending, Some(Ending::Raised), "{raise} as {caught}");
    }
}

#[test]
fn a_key_that_is_missing_is_the_argument_of_its_exception() {
    let checker = |key: &str, args: &str| {
        tasks(&format!(
            "def check():\n    try:\n        yield ('f', {key})\n    except KeyError as error:\n        \
             return (error.args, str(error)) == ({args}, repr({key}))\n    return False\n"
        ))
    };
    for (key, args) in [("'k'", "('k',)"), ("\"it's\"", "(\"it's\",)"), ("(1, 'a')", "((1, 'a'),)"), ("5", "(5,)")] {
        for raised in ["{}[x]", "1\n    raise Missing(x)"] {
            let source = format!("class Missing(KeyError): pass\ndef f(x):\n    {raised}\n");
            assert_eq!(failed(&checker(key, args), TierChoice::Auto, &source), None, "{raised} {key}");
        }
    }
    // One that is no literal is shown as it is.
    let checker = "def check():\n    try:\n        yield ('f', 1)\n    except KeyError as error:\n        \
                   return str(error) == '<built-in function len>'\n    return False\n";
    assert_eq!(failed(&tasks(checker), TierChoice::Auto, "def f(x):\n    return {}[len]\n"), None);
}

#[test]
fn whatever_takes_up_an_exception_gets_it_and_what_goes_on_is_the_programs_failure() {
    let program = "def f(x):\n    if x < 0:\n        raise KeyError('no')\n    return x\n";
    let suppressed = "from contextlib import suppress\ndef check():\n    with suppress(KeyError):\n        yield ('f', -1)\n        \
                      return False\n    return True\n";
    assert_eq!(failed(&tasks(suppressed), TierChoice::Auto, program), None);
    // Another call on the way out changes nothing of what is raised on after it.
    for last in ["r = 1", "r = yield ('f', 2)"] {
        let at_last = format!(
            "def check():\n    yield ('f', 1)\n    try:\n        yield ('f', -1)\n    finally:\n        {last}\n"
        );
        let found = failed(&tasks(&at_last), TierChoice::Auto, program);
        assert_eq!(found, Some((Ending::Raised, "f: KeyError: 'no' (line 3)".into())), "{last}");
    }
}

#[test]
fn a_yield_that_is_no_call_and_more_calls_than_there_may_be_are_mistakes_of_the_task() {
    let program = "def f(x=5):\n    return x\n";
    for checker in
        ["    r = yield ('f')\n    return r == 5\n", "    r = yield ('f', 1)\n    s = yield ('f')\n    return True\n"]
    {
        let said = mistake(&tasks(&format!("def check():\n{checker}")), program);
        let when = if checker.contains("1)") { "" } else { ", before it has an answer:" };
        let expected = "yielded str 'f'; expected a call in a tuple, such as `yield (\"f\", 1)`";
        assert_eq!(said, format!("line 1 (t): the checker{when} {expected}"));
    }
    let checker =
        |calls: usize| format!("def check():\n    for i in range({calls}):\n        yield ('f', i)\n    return True\n");
    assert_eq!(failed(&tasks(&checker(1000)), TierChoice::Auto, program), None);
    let (many, reason) = (tasks(&checker(1001)), "yielded more than 1000 calls, the most that it may");
    // A program may be what leads it there, so that no other program than the task's own stops a run.
    let found = failed(&many, TierChoice::Auto, program);
    assert_eq!(found, Some((Ending::WrongAnswer, format!("fails on the answers: {reason}"))));
    let own = with_keys(&checker(1001), serde_json::json!({"reference": program}));
    assert_eq!(mistake(&own, program), format!("line 1 (t): the checker {reason}"));
}
