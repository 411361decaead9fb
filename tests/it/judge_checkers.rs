//! Tests of what `grpo-2048 judge` pays for: checkers, budgets, and the bonus for few instructions.

use std::fs;

use serde_json::{Value, json};

use crate::judge::{answers, parsed, tasks};

#[test]
fn a_value_that_a_program_forged_is_a_wrong_answer_to_a_checker_too_and_stops_nothing() {
    let directory = tempfile::tempdir().unwrap();
    let checker = "def check():\n    s = yield ('encode', 'xyz')\n    r = yield ('decode', s)\n    return r == 'xyz'\n";
    let task = json!({"id": "code", "prompt": "Undo.", "entry_point": "encode", "shown": 0, "checker": checker,
        "tests": [{"args": "('a',)", "expected": "'a'"}, {"args": "('b',)", "expected": "'b'"}]});
    fs::write(directory.path().join("tasks.jsonl"), task.to_string()).unwrap();
    let deep = |levels: usize| format!("{}{}", "[".repeat(levels), "]".repeat(levels));
    let forged =
        ["1, 2", "1], [2", "{\"()\": 3}", "[1", "nothing", &deep(50), &deep(126), &deep(127), &deep(200), &deep(1000)];
    let program = |text: &&str| {
        let forging = format!("sys.modules['values'].write = lambda value: {text:?}");
        format!(
            "import sys\ndef encode(s):\n    if s != 'xyz':\n        return s\n    {forging}\n    return [s]\ndef decode(s):\n    return 'xyz'\n"
        )
    };
    let programs: Vec<String> = forged.iter().map(program).collect();
    let items: Vec<(&str, &str)> = programs.iter().map(|program| ("code", program.as_str())).collect();
    let answers = parsed(&answers(directory.path(), &items, &["--env", "tasks.jsonl"]));
    assert_eq!(answers.len(), forged.len());
    for (answer, text) in answers.iter().zip(forged) {
        assert!(
            ["wrong_answer", "bad_value"].iter().any(|verdict| answer["verdict"] == *verdict),
            "{text:.20}: {answer}"
        );
        assert_eq!(answer["tests"], 3, "{text:.20}: {answer}");
    }
}

/// A task without tests, whose checker asks for a code and for what it was made of.
fn with_checker(check: &str) -> tempfile::TempDir {
    let directory = tempfile::tempdir().unwrap();
    let task = json!({"id": "code", "prompt": "Undo.", "entry_point": "encode", "checker": check});
    fs::write(directory.path().join("tasks.jsonl"), format!("\n{task}\n")).unwrap();
    directory
}

const UNDOES: &str =
    "def check():\n    s = yield ('encode', 'xyz')\n    r = yield ('decode', s)\n    return r[0] == 'x'\n";

#[test]
fn a_checkers_no_is_a_wrong_answer_and_only_a_program_without_any_answer_is_penalised() {
    let directory = with_checker(UNDOES);
    let program = |encode: &str, decode: &str| {
        format!("def encode(s):\n    return {encode}\ndef decode(s):\n    return {decode}\n")
    };
    let cases = [
        (program("s", "s"), "succeeded", 1.0, None),
        (program("'a'", "s"), "wrong_answer", 0.0, Some("test 1: checker: found the answers wrong")),
        (
            program("s", "7"),
            "wrong_answer",
            0.0,
            Some("test 1: checker: fails on the answers: TypeError: 'int' object"),
        ),
        (program("s", "1 // 0"), "raised", 0.0, Some("test 1: checker: decode: ZeroDivisionError")),
        (program("1 // 0", "s"), "raised", -0.06, Some("checker: encode: ZeroDivisionError")),
    ];
    let items: Vec<(&str, &str)> = cases.iter().map(|(program, ..)| ("code", program.as_str())).collect();
    for tier in ["sandbox.tier=auto", "sandbox.tier=interpreter", "sandbox.tier=compiled"] {
        // A program that raises leaves the compiled tier, which that setting forbids.
        let items = if tier.ends_with("compiled") { &items[..3] } else { &items[..] };
        let answers = parsed(&answers(directory.path(), items, &["--env", "tasks.jsonl", "--set", tier]));
        assert_eq!(answers.len(), items.len());
        for (answer, (_, verdict, reward, reason)) in answers.iter().zip(&cases) {
            assert_eq!((&answer["verdict"], &answer["reward"]), (&json!(verdict), &json!(reward)), "{tier}: {answer}");
            let found = answer["reason"].as_str();
            assert!(
                found.zip(*reason).map_or(found == *reason, |(found, reason)| found.starts_with(reason)),
                "{answer}"
            );
        }
    }
}

#[test]
fn a_checker_that_fails_before_it_has_an_answer_is_named_and_no_program_pays_for_it() {
    let broken = [
        ("def check():\n    yield ('encode', words)", "NameError: name 'words' is not defined"),
        ("import pandas\ndef check():\n    yield ('encode', '')", "ModuleNotFoundError: No module named 'pandas'"),
        ("def check():\n    yield 7", "yielded int 7; expected a call in a tuple, such as `yield (\"f\", 1)`"),
        ("def check():\n    yield ('encode')", "yielded str 'encode'; expected a call in a tuple"),
        ("def check():\n    yield (7, 7)", "yielded no call"),
        ("def check():\n    if 0:\n        yield\n    return False", "returns what is not true"),
    ];
    for (checker, expected) in broken {
        let directory = with_checker(checker);
        let output = answers(directory.path(), &[("code", "def encode(s):\n    return s")], &["--env", "tasks.jsonl"]);
        let told = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.code() == Some(2) && output.stdout.is_empty(), "{checker}: {output:?}");
        let named = ["tasks.jsonl: line 2 (code): the checker, before it has an answer: ", expected];
        assert!(named.iter().all(|words| told.contains(words)), "{checker}: {told}");
    }
}

#[test]
fn a_program_whose_budget_ends_before_its_last_test_has_not_passed_and_is_paid_no_bonus() {
    let directory = tempfile::tempdir().unwrap();
    let task = json!({"id": "slow", "prompt": "Wait.", "entry_point": "f", "seconds": 0.02, "shown": 0,
        "inputs": ["(0,)", "(200,)", "(400,)", "(600,)", "(800,)", "(1000,)"], "reference": "def f(x):\n    return x"});
    fs::write(directory.path().join("tasks.jsonl"), task.to_string()).unwrap();
    let slow = "def f(x):\n    n = 0\n    for i in range(100 * x):\n        n += i * i % 7\n    return x";
    let settings = ["--env", "tasks.jsonl", "--set", "reward.fuel_bonus=0.5", "--set", "sandbox.call_share=1"];
    let answer = parsed(&answers(directory.path(), &[("slow", slow)], &settings)).remove(0);
    assert_eq!((&answer["verdict"], &answer["parts"]["fuel"]), (&json!("out_of_budget"), &json!(0.0)), "{answer}");
    assert!(answer["reason"].as_str().unwrap().contains("budget used up"), "{answer}");
}

#[test]
fn the_bonus_for_few_instructions_is_paid_in_one_currency_whatever_ran_the_program() {
    let directory = tasks();
    let right = "def add(a, b):\n    n = 0\n    for i in range(20_000):\n        n += i % 3\n    return a + b";
    let (useless, slower) = (format!("class _x: pass\n{right}"), right.replace("20_000", "40_000"));
    let items = [("add", right), ("add", useless.as_str()), ("add", slower.as_str())];
    let judged = |more: &[&str]| {
        let settings = [&["--env", "tasks.jsonl", "--set"], more].concat();
        parsed(&answers(directory.path(), &items, &settings))
    };
    let bonus = |answer: &Value| answer["parts"]["fuel"].as_f64().unwrap();
    let auto = judged(&["reward.fuel_bonus=0.5"]);
    assert_eq!(auto, judged(&["reward.fuel_bonus=0.5", "--set", "sandbox.tier=interpreter"]));
    assert!(auto.iter().all(|answer| answer["verdict"] == "succeeded"), "{auto:?}");
    // The class itself costs some 300,000 instructions, less than a hundredth of what the program takes.
    let [with, without, slower] = [&auto[1], &auto[0], &auto[2]].map(bonus);
    assert!(with <= without && without - with < 0.001, "{with} {without}");
    assert!(without - slower > 0.02, "half of the work earns most of a halving: {without} {slower}");
    // Without the bonus nothing is played twice, and the tiers count otherwise.
    let plain = judged(&["reward.fuel_bonus=0"]);
    assert!(plain[0]["fuel"] != auto[0]["fuel"] && plain[1]["fuel"] == auto[1]["fuel"], "{plain:?}");
    assert_eq!(plain[0]["parts"].get("fuel"), None);
}

#[test]
fn a_reward_that_needs_more_than_a_text_is_refused_by_its_key() {
    let directory = tasks();
    for (setting, expected, way_out) in [
        (
            "reward.length_penalty=0.5",
            "reward.length_penalty: found 0.5, expected 0\n",
            "--set reward.length_penalty=0,",
        ),
        ("reward.shuffled=true", "reward.shuffled: found true, expected false\n", "--set reward.shuffled=false;"),
    ] {
        let arguments = ["--env", "tasks.jsonl", "--set", setting];
        let output = answers(directory.path(), &[("add", "def add(a, b): return a + b")], &arguments);
        let told = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.code() == Some(2) && output.stdout.is_empty() && told.contains(expected), "{told}");
        assert!(told.contains(way_out), "{told}");
    }
}

#[test]
fn a_game_refuses_the_bonus_for_few_instructions_by_its_key() {
    let directory = tasks();
    let output =
        answers(directory.path(), &[("", "def strategy(board): return 'W'")], &["--set", "reward.fuel_bonus=0.5"]);
    assert_eq!(output.status.code(), Some(2));
    let told = String::from_utf8_lossy(&output.stderr);
    assert!(told.contains("reward.fuel_bonus = 0.5") && told.contains("expected 0 with --env 2048"), "{told}");
}
