//! Tests of `grpo-2048 judge` in the way that another trainer uses it: lines as input, rewards as output.

use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::program::ignores_hangups;

const TASKS: &str = include_str!("tasks/judge.jsonl");

fn judge(directory: &Path, arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_grpo-2048"));
    command.current_dir(directory).env("NO_COLOR", "1").env_remove("RUST_LOG").arg("judge").args(arguments);
    command
}

/// The output of `judge` for a file with these items.
fn answers(directory: &Path, items: &[(&str, &str)], arguments: &[&str]) -> Output {
    let lines = items.iter().map(|(id, completion)| format!("{}\n", json!({ "id": id, "completion": completion })));
    fs::write(directory.join("items.jsonl"), lines.collect::<String>()).unwrap();
    judge(directory, &[&["items.jsonl"], arguments].concat()).output().unwrap()
}

fn parsed(output: &Output) -> Vec<Value> {
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8_lossy(&output.stdout).lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

fn tasks() -> tempfile::TempDir {
    let directory = tempfile::tempdir().unwrap();
    fs::write(directory.path().join("tasks.jsonl"), TASKS).unwrap();
    directory
}

/// Verdict, number of tests passed, number of tests, reward.
type Expected = (&'static str, u32, u32, f32);

#[test]
fn calls_are_answered_as_wholes_and_a_mistake_refuses_its_list_alone() {
    let directory = tasks();
    let item = |id: &str, body: &str| json!({ "id": id, "completion": format!("def add(a, b):\n    return {body}") });
    let calls = [
        json!({ "call": 3, "items": [item("add", "a + b"), item("add", "0")] }),
        json!({ "call": 5, "items": [item("add", "a + b"), item("nope", "a + b")] }),
        json!({ "call": 4, "items": [] }),
        json!({ "call": 6, "requests": null }),
        json!({ "call": 7, "items": [item("add", "a + b"), { "id": 7.5, "completion": "" }] }),
    ];
    let half = r#"{"call": 8, "items": [{"id": "add", "completion": "\ud800"}]}"#;
    let lines: String = calls.iter().map(|call| format!("{call}\n")).chain([format!("{half}\n")]).collect();
    let ask = |lines: &str| {
        let mut command = judge(directory.path(), &["--env", "tasks.jsonl", "--calls"]);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        child.stdin.take().unwrap().write_all(lines.as_bytes()).unwrap();
        child.wait_with_output().unwrap()
    };
    let mut answers = parsed(&ask(&lines));
    assert_eq!(answers.remove(0), json!({ "environment": "tasks", "has_tests": true }));
    answers.sort_by_key(|answer| answer["call"].as_u64());
    let [first, empty, refused, requests, no_item, no_text] = answers.try_into().unwrap();
    let rewards: Vec<&Value> =
        first["judgements"].as_array().unwrap().iter().map(|judgement| &judgement["reward"]).collect();
    assert_eq!(rewards, [1.0, 0.0]);
    assert_eq!(empty, json!({ "call": 4, "judgements": [] }));
    assert_eq!((&refused["call"], &refused["is_input"]), (&json!(5), &json!(true)));
    assert!(refused["error"].as_str().unwrap().starts_with("no task \"nope\" in tasks"), "{refused}");
    for (answer, call, words) in [
        (no_item, 7, "invalid type: floating point `7.5`, expected a text or an integer; "),
        (no_text, 8, "hex escape"),
    ] {
        assert_eq!((&answer["call"], &answer["is_input"]), (&json!(call), &json!(true)));
        assert!(answer["error"].as_str().unwrap().contains(words), "{answer}");
    }
    let asked = requests["requests"].as_array().unwrap();
    let of_add = asked.iter().find(|request| request["id"] == "add").unwrap();
    assert!(asked.len() == 3 && of_add["held_out"] == false, "{asked:?}");
    assert!(of_add["prompt"].as_str().unwrap().contains("add(1, 2)"), "the first tests are shown: {of_add}");
    let output = ask("{\"call\": 1}\n");
    assert_eq!(output.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&output.stderr).contains("stdin:1: missing field `items`"));
}

#[test]
fn right_programs_earn_1_and_wrong_ones_nothing_in_the_order_of_the_lines_whoever_plays() {
    let right_sum = "```python\nn = int(input())\nprint(sum(map(int, input().split())))\n```";
    let right_runs = "```python\nfrom itertools import groupby\ndef runs(xs):\n    return [len(list(g)) for _, g in groupby(xs)]\n```";
    let half = "def add(a, b):\n    return 3 if a == 1 else a + b if a == 2 else None";
    let (loops, raises) = ("def add(a, b):\n    while True: pass", "def add(a, b):\n    return a / 0");
    // Expected are verdict, tests passed, tests, and reward. A constant passes 1 of the 4 tests of `add`. Failures have
    // a quarter of the reward of those of a game whose reward is the square root of its score: -0.40, or -0.24 if no
    // function was found or no answer was given.
    let items: [(&str, &str, Expected); 9] = [
        ("add", "```python\ndef add(a, b):\n    return a + b\n```", ("succeeded", 4, 4, 1.0)),
        ("runs", right_runs, ("succeeded", 4, 4, 1.0)),
        ("sum", right_sum, ("succeeded", 3, 3, 1.0)),
        ("add", loops, ("out_of_budget", 0, 4, -0.06)),
        ("add", "def add(a, b):\n    return 0", ("wrong_answer", 0, 4, 0.0)),
        ("add", half, ("wrong_answer", 2, 4, 1.0 / 3.0)),
        ("runs", "I would count them.", ("no_function", 0, 4, -0.1)),
        ("add", raises, ("raised", 0, 4, -0.06)),
        ("sum", "```python\nprint(6)\n```", ("wrong_answer", 0, 3, 0.0)),
    ];
    let directory = tasks();
    let texts: Vec<(&str, &str)> = items.iter().map(|(id, text, _)| (*id, *text)).collect();
    let base = answers(directory.path(), &texts, &["--env", "tasks.jsonl", "--sequential"]);
    let answered = parsed(&base);
    for ((id, text, (verdict, passed, tests, reward)), answer) in items.iter().zip(&answered) {
        assert_eq!(answer["id"], *id);
        assert_eq!((&answer["verdict"], &answer["passed"]), (&json!(verdict), &json!(passed)), "{text}: {answer}");
        assert_eq!(answer["tests"], *tests, "{answer}");
        assert!((answer["reward"].as_f64().unwrap() - f64::from(*reward)).abs() < 1e-6, "{text}: {answer}");
        assert_eq!(answer["reason"].is_null(), *verdict == "succeeded", "{answer}");
        assert_eq!(answer["fuel"].as_u64().unwrap() == 0, *verdict == "no_function", "{answer}");
    }
    assert_eq!(answered.len(), items.len());
    for workers in ["1", "2", "8"] {
        let output = answers(directory.path(), &texts, &["--env", "tasks.jsonl", "--parallel-rewards", workers]);
        assert_eq!(output.stdout, base.stdout, "{workers} workers");
    }
}

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
        assert!(!output.status.success() && output.stdout.is_empty(), "{checker}: {output:?}");
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
fn a_game_refuses_the_bonus_for_few_instructions_by_its_key() {
    let directory = tasks();
    let output =
        answers(directory.path(), &[("", "def strategy(board): return 'W'")], &["--set", "reward.fuel_bonus=0.5"]);
    assert_eq!(output.status.code(), Some(2));
    let told = String::from_utf8_lossy(&output.stderr);
    assert!(told.contains("reward.fuel_bonus = 0.5") && told.contains("expected 0 with --env 2048"), "{told}");
}

#[test]
fn a_player_of_2048_is_judged_as_score_scores_it() {
    let directory = tempfile::tempdir().unwrap();
    let cycle = include_str!("../../crates/environment/src/game2048/ladder/cycle.py");
    fs::write(directory.path().join("cycle.py"), cycle).unwrap();
    let mut score = Command::new(env!("CARGO_BIN_EXE_grpo-2048"));
    let scored = score
        .current_dir(directory.path())
        .args(["score", "cycle.py", "--games", "3", "--seed", "0", "--json"])
        .output()
        .unwrap();
    let scored: Value = serde_json::from_slice(&scored.stdout).unwrap();
    let answer = parsed(&answers(directory.path(), &[("any name", cycle)], &["--games", "3"])).remove(0);
    assert_eq!(answer["id"], "any name");
    assert_eq!((&answer["reward"], &answer["score"]), (&scored["reward"], &scored["mean_score"]));
}

#[test]
fn a_trainer_that_waits_for_each_answer_gets_it() {
    let directory = tasks();
    let mut child = judge(directory.path(), &["--env", "tasks.jsonl", "--parallel-rewards", "2"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let (mut input, mut output) = (child.stdin.take().unwrap(), BufReader::new(child.stdout.take().unwrap()));
    for (program, reward) in [("def add(a, b): return a + b", 1.0), ("def add(a, b): return a - b", 0.0)] {
        writeln!(input, "{}", json!({ "id": "add", "completion": program })).unwrap();
        let mut line = String::new();
        output.read_line(&mut line).unwrap();
        assert_eq!(serde_json::from_str::<Value>(&line).unwrap()["reward"], reward, "{line}");
    }
    // When nothing reads its output, it ends without an error although its input continues.
    drop(output);
    for _ in 0..3 {
        let _ = writeln!(input, "{}", json!({ "id": "add", "completion": "" }));
        std::thread::sleep(std::time::Duration::from_millis(100));
    }
    assert!(child.wait_with_output().unwrap().status.success());
}

#[test]
fn what_is_no_item_ends_it_with_its_place_and_exit_code_2() {
    let directory = tasks();
    let good = json!({ "id": "add", "completion": "def add(a, b): return a + b" });
    for (wrong, expected) in [
        (json!({ "id": "ad", "completion": "" }).to_string(), "no task \"ad\" in tasks; did you mean \"add\"?"),
        (json!({ "id": "add" }).to_string(), "missing field `completion`"),
        (json!({ "id": "add", "completion": "x".repeat(10 << 20) }).to_string(), "longer than 8388608 bytes"),
    ] {
        fs::write(directory.path().join("items.jsonl"), format!("{good}\n{wrong}\n{good}\n")).unwrap();
        let output = judge(directory.path(), &["--env", "tasks.jsonl", "items.jsonl"]).output().unwrap();
        let words = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{words}");
        assert!(words.contains(&format!("error: items.jsonl:2: {expected}")), "{words}");
        assert_eq!(String::from_utf8_lossy(&output.stdout).lines().count(), 1, "the line before it is answered");
    }
    for (arguments, expected) in [
        (&["nowhere.jsonl"][..], "No such file"),
        (&["."], "is a directory"),
        (&["--env", "tasks.jsonl", "--games", "2", "items.jsonl"], "a task is no game"),
    ] {
        let output = judge(directory.path(), arguments).output().unwrap();
        assert_eq!(output.status.code(), Some(2));
        assert!(String::from_utf8_lossy(&output.stderr).contains(expected));
    }
}

/// Starts `judge --serve`. Returns the process and its address, which it prints when it is ready.
fn server(directory: &Path, arguments: &[&str]) -> (Child, String) {
    let mut command = judge(directory, &[&["--serve", "127.0.0.1:0"], arguments].concat());
    serving(&mut command)
}

fn serving(command: &mut Command) -> (Child, String) {
    let mut child = command.stderr(Stdio::piped()).spawn().unwrap();
    let words = BufReader::new(child.stderr.take().unwrap()).lines().map(Result::unwrap);
    let said = words.take(10).find(|line| line.contains("http://")).unwrap();
    let address = said.split("http://").nth(1).unwrap().split(':').take(2).collect::<Vec<_>>().join(":");
    (child, address)
}

/// A client that has sent these bytes.
fn client(address: &str, request: &str) -> TcpStream {
    let mut stream = TcpStream::connect(address).unwrap();
    stream.write_all(request.as_bytes()).unwrap();
    stream
}

fn received(mut client: TcpStream) -> String {
    let mut answer = String::new();
    client.read_to_string(&mut answer).unwrap();
    answer
}

/// The request of verl's client and of Python's `requests` elsewhere.
fn post(address: &str, path: &str, body: &Value) -> Value {
    let body = body.to_string();
    let head = format!(
        "POST {path} HTTP/1.1\r\nHost: {address}\r\nUser-Agent: python-requests/2.32.3\r\nAccept-Encoding: gzip, deflate\r\n\
         Accept: application/json\r\nConnection: keep-alive\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\r\n",
        body.len()
    );
    let answer = received(client(address, &(head + &body)));
    serde_json::from_str(answer.split_once("\r\n\r\n").unwrap().1).unwrap()
}

#[test]
fn a_server_answers_as_lines_are_answered_and_runs_what_verl_posts_until_ctrl_c() {
    let directory = tasks();
    let items = [("add", "def add(a, b): return a + b"), ("sum", "```python\nprint(6)\n```")];
    let lines = parsed(&answers(directory.path(), &items, &["--env", "tasks.jsonl"]));
    let (child, address) = server(directory.path(), &["--env", "tasks.jsonl", "--parallel-rewards", "2"]);
    let list: Vec<Value> = items.iter().map(|(id, text)| json!({ "id": id, "completion": text })).collect();
    assert_eq!(post(&address, "/judge", &json!(list)), json!(lines));
    assert_eq!(post(&address, "/judge", &list[0]), lines[0]);

    // A function in a program that reads its arguments as JSON lines, after all star imports that verl adds.
    let modules = "string re datetime collections heapq bisect copy math random statistics itertools functools operator \
                   io sys json builtins typing";
    let imports: String = modules.split_whitespace().map(|name| format!("from {name} import *\n")).collect();
    let program = format!(
        "import traceback, sys, json\n{imports}\nclass Solution:\n    def gap(self, a, b):\n        return Counter(a) - Counter(b)\n\
         \nif __name__ == '__main__':\n    arguments = [json.loads(line) for line in sys.stdin.read().split('\\n')]\n    \
         print(json.dumps(Solution().gap(*arguments)))\n"
    );
    let run = |code: &str, stdin: &str, seconds: f64| {
        let request = json!({
            "code": code, "language": "python", "stdin": stdin, "run_timeout": seconds, "compile_timeout": 10,
            "memory_limit_MB": 1024, "files": {}, "fetch_files": []
        });
        post(&address, "/run_code", &request)
    };
    let answer = run(&program, "[1, 1, 2]\n[2]", 10.0);
    assert_eq!(
        (&answer["status"], &answer["run_result"]["stdout"]),
        (&json!("Success"), &json!("{\"1\": 2}\n")),
        "{answer}"
    );
    assert_eq!(run(&program, "[1, 1, 2]\n[2]", 10.0), answer, "the time too");
    for (code, status, return_code) in [
        ("while True: pass", "TimeLimitExceeded", Value::Null),
        ("import sys; sys.exit(7)", "Finished", json!(7)),
        ("1 +", "Finished", json!(1)),
        ("x = [0] * 10**9", "Finished", json!(1)),
    ] {
        let answer = run(code, "", 0.2);
        assert_eq!(
            (&answer["status"], &answer["run_result"]["status"]),
            (&json!("Failed"), &json!(status)),
            "{answer}"
        );
        assert_eq!(answer["run_result"]["return_code"], return_code, "{answer}");
    }
    interrupt(&child);
    assert!(child.wait_with_output().unwrap().status.success());
}

#[test]
fn cells_of_a_notebook_keep_their_state_to_the_end_of_a_request() {
    let directory = tempfile::tempdir().unwrap();
    let (child, address) = server(directory.path(), &[]);
    let run = |cells: &[&str], more: Value| {
        let mut request = json!({ "cells": cells });
        request.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        post(&address, "/run_jupyter", &request)
    };
    // The cells of SandboxFusion's own example.
    let example = [
        "a = 123",
        "a",
        "print(a)",
        "import sys; sys.stderr.write('stderr message')",
        "raise RuntimeError('error message')",
    ];
    let answer = run(&example, json!({}));
    let cells = answer["cells"].as_array().unwrap();
    assert_eq!((&answer["status"], cells.len()), (&json!("Success"), 5), "{answer}");
    assert_eq!((&cells[1]["display"], &cells[2]["stdout"]), (&json!([{ "text/plain": "123" }]), &json!("123\n")));
    assert_eq!(cells[3]["stderr"], "stderr message");
    let error = &cells[4]["error"][0];
    assert_eq!((&error["ename"], &error["evalue"]), (&json!("RuntimeError"), &json!("error message")));
    let lines = error["traceback"].as_array().unwrap();
    assert!(lines.iter().any(|line| line.as_str().unwrap().contains("<cell 5>")) && lines.len() < 6, "{error}");
    assert_eq!(run(&example, json!({})), answer, "the same again, with its time");

    // A cell after an exception goes on, functions see the notebook's names, and no state is left for the next request.
    let answer = run(
        &["def f(n): return n and m + f(n - 1)\nm = 2", "1 / 0", "f(4)", "1 +", "import sys; sys.exit(3)", "m"],
        json!({}),
    );
    let of = |cell: usize| &answer["cells"][cell];
    assert_eq!((&of(2)["display"][0]["text/plain"], &of(5)["display"][0]["text/plain"]), (&json!("8"), &json!("2")));
    let names = [1, 3, 4].map(|cell| of(cell)["error"][0]["ename"].clone());
    assert_eq!(names, ["ZeroDivisionError", "SyntaxError", "SystemExit"].map(|name| json!(name)));
    assert_eq!(run(&["m"], json!({}))["cells"][0]["error"][0]["ename"], "NameError");

    // Bounds: of time, of memory, of output. What was told before is kept.
    let long = run(&["print('kept')", "while True: pass", "print('never')"], json!({ "cell_timeout": 1 }));
    let told = [
        &long["status"],
        &long["driver"]["status"],
        &long["cells"][0]["stdout"],
        &long["cells"][1]["error"][0]["ename"],
    ];
    assert_eq!(
        told,
        [&json!("Failed"), &json!("TimeLimitExceeded"), &json!("kept\n"), &json!("TimeoutError")],
        "{long}"
    );
    assert_eq!(long["cells"].as_array().unwrap().len(), 2);
    let much = run(&["x = [0] * 10**9", "print('z' * 10**6)", "len('z')"], json!({}));
    assert_eq!(much["cells"][0]["error"][0]["ename"], "MemoryError", "{}", much["cells"][0]);
    if much["cells"].as_array().unwrap().len() == 3 {
        let told = much["cells"][1]["stdout"].as_str().unwrap();
        assert!(told.len() < 66_000 && told.ends_with("characters more"), "{}", told.len());
    }
    // A cell that takes the runner's place answers for itself alone.
    let forged = run(&["import sys; sys.modules['program'].run_cell = lambda *_: 7", "1"], json!({}));
    assert_eq!(forged["status"], "Success", "{forged}");
    interrupt(&child);
    assert!(child.wait_with_output().unwrap().status.success());
}

#[test]
fn a_cell_tells_what_it_prints_through_streams_of_earlier_cells_and_what_is_no_text() {
    let directory = tempfile::tempdir().unwrap();
    let (child, address) = server(directory.path(), &[]);
    let run = |cells: &[&str]| {
        let answer = post(&address, "/run_jupyter", &json!({ "cells": cells }));
        assert_eq!(answer["status"], "Success", "{answer}");
        answer["cells"].as_array().unwrap().clone()
    };
    let kept = run(&[
        "import logging, sys\nlogging.basicConfig(format='%(message)s')\no = sys.stdout\nlogging.warning('first')",
        "logging.warning('second')\nprint('kept', file=o)",
        "sys.stdout.close()",
        "print('on')",
    ]);
    assert_eq!((&kept[0]["stderr"], &kept[1]["stderr"]), (&json!("first\n"), &json!("second\n")));
    assert_eq!((&kept[1]["stdout"], &kept[3]["stdout"]), (&json!("kept\n"), &json!("on\n")), "{kept:?}");

    let strange = run(&[
        "print('before')\nprint('\\ud800')",
        "print('before')\nclass E(Exception):\n    def __str__(self):\n        raise RuntimeError('no')\nraise E()",
        "import sys\nt = '\\x01' * 65536\nprint(t)\nprint(t, file=sys.stderr)\nraise ValueError(t)",
        "class F(Exception):\n    __traceback__ = property(lambda self: 1 // 0)\nraise F('odd')",
        "def f():\n    return 1 // 0\nf()",
    ]);
    assert_eq!((&strange[0]["stdout"], &strange[0]["error"]), (&json!("before\n\\ud800\n"), &json!([])));
    let error = |cell: usize| &strange[cell]["error"][0];
    assert_eq!(strange[1]["stdout"], "before\n");
    assert_eq!((&error(1)["ename"], &error(1)["evalue"]), (&json!("E"), &json!("<exception str() failed>")));
    assert_eq!(error(2)["ename"], "ValueError");
    for text in [&strange[2]["stdout"], &strange[2]["stderr"], &error(2)["evalue"]] {
        let text = text.as_str().unwrap();
        assert!(text.starts_with("\x01\x01") && text.ends_with(" characters more"), "{}", text.len());
    }
    assert_eq!((&error(3)["ename"], &error(3)["evalue"]), (&json!("F"), &json!("odd")));
    let lines = |cell: usize| error(cell)["traceback"].as_array().unwrap().iter().map(|line| line.as_str().unwrap());
    assert!(lines(4).any(|line| line == "    return 1 // 0"), "the source of a cell is shown: {}", error(4));
    assert!(
        (0..5).all(|cell| !strange[cell].to_string().contains("<program>")),
        "nothing is told of what runs the cells"
    );

    // All cells together: what is too much is left out, and what comes later and fits is told.
    let much = "import sys\nt = '\\x01' * 65536\nprint(t)\nprint(t, file=sys.stderr)";
    let cells: Vec<&str> = std::iter::repeat_n(much, 30).chain(["1 // 0", "'last'"]).collect();
    let told = run(&cells);
    let bytes = json!(told).to_string().len();
    assert!((3 << 20..5 << 20).contains(&bytes), "{bytes}");
    assert!(told[29]["stdout"].as_str().unwrap().contains(" bytes left out: "), "{}", told[29]);
    assert_eq!(told[30]["error"][0]["ename"], "ZeroDivisionError");
    assert_eq!(told[31]["display"], json!([{ "text/plain": "'last'" }]));
    interrupt(&child);
    assert!(child.wait_with_output().unwrap().status.success());
}

#[test]
fn a_long_body_takes_a_few_times_its_bytes_whatever_is_in_it() {
    let directory = tempfile::tempdir().unwrap();
    let (child, address) = server(directory.path(), &[]);
    let most_kib = || {
        let status = fs::read_to_string(format!("/proc/{}/status", child.id())).unwrap();
        let line = status.lines().find(|line| line.starts_with("VmHWM:")).unwrap();
        line.split_whitespace().nth(1).unwrap().parse::<u64>().unwrap()
    };
    let before = most_kib();
    let numbers = vec![0; 4_000_000];
    for (path, body, words) in [
        ("/run_jupyter", json!({ "cells": [], "files": { "a": numbers } }), "cells in this sandbox have no files"),
        ("/run_jupyter", json!({ "cells": [], "fetch_files": vec![""; 2_700_000] }), "have no files"),
        ("/run_jupyter", json!({ "cells": vec![""; 2_700_000] }), "2700000 cells; expected at most 256"),
        ("/run_code", json!({ "code": "", "language": "python", "files": numbers }), "have no files"),
        (
            "/judge",
            json!({ "id": "", "completion": [{ "content": "", "more": numbers }] }),
            "no top-level `def strategy",
        ),
    ] {
        let answer = post(&address, path, &body).to_string();
        assert!(answer.contains(words), "{answer}");
    }
    let more = most_kib() - before;
    println!("bodies of 8 MiB: at most {more} KiB more");
    assert!(more < 64 << 10, "{more} KiB more");
    interrupt(&child);
    assert!(child.wait_with_output().unwrap().status.success());
}

#[test]
fn a_hangup_ends_a_server_unless_it_was_started_with_hangups_ignored() {
    let directory = tempfile::tempdir().unwrap();
    let hang_up = |child: &Child| {
        assert!(Command::new("kill").args(["-HUP", &child.id().to_string()]).status().unwrap().success());
    };
    if !ignores_hangups() {
        let (child, _) = server(directory.path(), &[]);
        hang_up(&child);
        assert!(child.wait_with_output().unwrap().status.success());
    }
    // As `nohup` starts it.
    let mut command = Command::new("sh");
    command.current_dir(directory.path()).args(["-c", "trap '' HUP; exec \"$@\"", "sh"]);
    command.arg(env!("CARGO_BIN_EXE_grpo-2048")).args(["judge", "--serve", "127.0.0.1:0"]);
    let (child, address) = serving(&mut command);
    hang_up(&child);
    // A server that stops closes its socket within 50 ms.
    std::thread::sleep(Duration::from_millis(500));
    let health = format!("GET /health HTTP/1.1\r\nHost: {address}\r\n\r\n");
    assert!(received(client(&address, &health)).starts_with("HTTP/1.1 200 "));
    interrupt(&child);
    assert!(child.wait_with_output().unwrap().status.success());
}

#[test]
fn a_thousand_slow_connections_cost_a_server_no_threads_and_neither_health_nor_the_end_waits_for_them() {
    let limit = nix::sys::resource::Resource::RLIMIT_NOFILE;
    let (_, most) = nix::sys::resource::getrlimit(limit).unwrap();
    nix::sys::resource::setrlimit(limit, most.min(4096), most).unwrap();
    let directory = tasks();
    let (child, address) = server(directory.path(), &["--env", "tasks.jsonl", "--parallel-rewards", "2"]);
    let status = |key: &str| {
        let status = fs::read_to_string(format!("/proc/{}/status", child.id())).unwrap();
        let line = status.lines().find(|line| line.starts_with(key)).unwrap();
        line.split_whitespace().nth(1).unwrap().parse::<u64>().unwrap()
    };
    let (threads, resident) = (status("Threads:"), status("VmRSS:"));
    let half = format!("POST /judge HTTP/1.1\r\nHost: {address}\r\nX-Slow: ");
    let slow: Vec<TcpStream> = (0..1_000).map(|_| client(&address, &half)).collect();
    let health = format!("GET /health HTTP/1.1\r\nHost: {address}\r\n\r\n");
    let mut waited: Vec<Duration> = (0..20)
        .map(|_| {
            let begun = Instant::now();
            assert!(received(client(&address, &health)).starts_with("HTTP/1.1 200 "));
            begun.elapsed()
        })
        .collect();
    waited.sort();
    println!(
        "/health beside 1,000 slow connections: median {:?}, worst {:?}; {} threads, {} KiB more",
        waited[10],
        waited[19],
        status("Threads:"),
        status("VmRSS:") - resident
    );
    // The promise is 0.2 s; machines that test many things at once have more time.
    assert!(waited[19] < Duration::from_secs(2), "{waited:?}");
    // A few threads begin and end by themselves around an answer.
    assert!(status("Threads:") < threads + 10, "{} threads, {threads} before", status("Threads:"));
    let answer = post(&address, "/judge", &json!({ "id": "add", "completion": "def add(a, b): return a + b" }));
    assert_eq!(answer["reward"], 1.0);
    let begun = Instant::now();
    interrupt(&child);
    assert!(child.wait_with_output().unwrap().status.success());
    assert!(begun.elapsed() < Duration::from_secs(5), "the end took {:?}", begun.elapsed());
    drop(slow);
}

#[test]
fn a_server_without_allow_remote_answers_no_page_of_another_site() {
    let directory = tasks();
    let (child, address) = server(directory.path(), &["--env", "tasks.jsonl", "--parallel-rewards", "1"]);
    let port = address.rsplit_once(':').unwrap().1;
    for (headers, status) in [
        (format!("Host: localhost:{port}\r\n"), "200"),
        (format!("Host: evil.example:{port}\r\n"), "403"),
        (format!("Host: {address}\r\nOrigin: https://evil.example\r\n"), "403"),
        (format!("Host: {address}\r\nSec-Fetch-Site: cross-site\r\n"), "403"),
    ] {
        let answer = received(client(&address, &format!("GET /health HTTP/1.1\r\n{headers}\r\n")));
        assert!(answer.starts_with(&format!("HTTP/1.1 {status} ")), "{headers}{answer}");
    }
    interrupt(&child);
    assert!(child.wait_with_output().unwrap().status.success());
}

#[test]
fn a_named_pipe_is_refused_where_a_file_is_expected() {
    let directory = tasks();
    fs::create_dir(directory.path().join("described")).unwrap();
    fs::write(directory.path().join("described/env.toml"), "tasks = \"pipe.jsonl\"").unwrap();
    for name in ["pipe.jsonl", "pipe.py", "pipe.toml", "described/pipe.jsonl"] {
        assert!(Command::new("mkfifo").arg(directory.path().join(name)).status().unwrap().success());
    }
    for (arguments, named) in [
        (&["judge", "--env", "pipe.jsonl"][..], "--env pipe.jsonl"),
        (&["judge", "--env", "pipe.py"], "--env pipe.py"),
        (&["judge", "--env", "described"], "--env described/pipe.jsonl"),
        (&["judge", "--config", "pipe.toml"], "--config pipe.toml"),
        (&["score", "pipe.py"], "pipe.py"),
        (&["tasks", "convert", "pipe.jsonl", "--output", "out.jsonl"], "pipe.jsonl"),
    ] {
        let output = Command::new("timeout")
            .arg("60")
            .arg(env!("CARGO_BIN_EXE_grpo-2048"))
            .current_dir(directory.path())
            .env("NO_COLOR", "1")
            .args(arguments)
            .output()
            .unwrap();
        let words = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{arguments:?}: {words}");
        assert!(words.contains(&format!("error: {named}: found a named pipe; expected a file")), "{words}");
        assert!(words.contains("hint: write what it gives to a file first"), "{words}");
    }
}

fn interrupt(child: &Child) {
    assert!(Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap().success());
}

#[test]
fn a_file_of_windows_with_the_integers_of_a_data_set_as_ids_is_judged() {
    let directory = tempfile::tempdir().unwrap();
    let task =
        json!({ "id": 5, "prompt": "Add.", "entry_point": "add", "tests": [{ "args": "(1, 2)", "expected": "3" }] });
    let item = |id: Value| json!({ "id": id, "completion": "def add(a, b):\n    return a + b" });
    fs::write(directory.path().join("tasks.jsonl"), task.to_string()).unwrap();
    let lines = format!("\u{feff}{}\r\n{}\r\n", item(json!(5)), item(json!("5")));
    fs::write(directory.path().join("items.jsonl"), lines).unwrap();
    let found = parsed(&judge(directory.path(), &["items.jsonl", "--env", "tasks.jsonl"]).output().unwrap());
    let ids: Vec<&Value> = found.iter().map(|judgement| &judgement["id"]).collect();
    assert_eq!(ids, [&json!(5), &json!("5")]);
    assert!(found.iter().all(|judgement| judgement["passed"] == 1), "{found:?}");
}

#[test]
fn of_a_chat_the_policys_own_messages_are_judged_and_not_what_it_was_told() {
    let directory = tasks();
    let program = |sign: &str| format!("```python\ndef add(a, b):\n    return a {sign} b\n```");
    let own = |content: Value| json!({ "role": "assistant", "content": content });
    let told = |role: &str, sign: &str| json!({ "role": role, "content": format!("See:\n{}", program(sign)) });
    let no_text = json!({ "role": "tool", "name": "run", "content": [{ "type": "image", "image": [7] }, 7] });
    let parts = json!([{ "type": "text", "text": "Here.\n" }, { "type": "text", "text": program("+") }]);
    let chats = [
        (json!([own(json!("I do not know.")), told("user", "+"), own(json!("Thanks."))]), "no_function"),
        (json!([own(json!(program("+"))), told("tool", "-"), own(json!("I stay with mine."))]), "succeeded"),
        (json!([own(json!(program("-"))), told("tool", "-"), own(json!(program("+")))]), "succeeded"),
        // Messages are lines of their own.
        (json!([own(json!("Here is it:")), own(Value::Null), no_text, own(json!(program("+")))]), "succeeded"),
        (json!([{ "content": parts }]), "succeeded"),
    ];
    let lines: String =
        chats.iter().map(|(chat, _)| format!("{}\n", json!({ "id": "add", "completion": chat }))).collect();
    fs::write(directory.path().join("items.jsonl"), lines).unwrap();
    let found = parsed(&judge(directory.path(), &["items.jsonl", "--env", "tasks.jsonl"]).output().unwrap());
    let verdicts: Vec<&Value> = found.iter().map(|judgement| &judgement["verdict"]).collect();
    assert_eq!(verdicts, chats.map(|(_, verdict)| verdict));
}

#[test]
fn only_this_machine_is_served_unless_others_are_allowed() {
    let directory = tempfile::tempdir().unwrap();
    for (arguments, expected) in [
        (&["--serve", "0.0.0.0:0"][..], "error: --serve 0.0.0.0:0: other machines reach 0.0.0.0"),
        (&["--serve", "8080"], "expected HOST:PORT, such as 127.0.0.1:8080"),
        (&["--serve", "127.0.0.1:0", "items.jsonl"], "cannot be used with"),
        (&["--allow-remote"], "--allow-remote: nothing is served to other machines without --serve"),
        (&["--allow-remote", "items.jsonl"], "hint: add --serve HOST:PORT"),
        (&["--allow-remote", "--calls"], "hint: add --serve HOST:PORT"),
    ] {
        let output = judge(directory.path(), arguments).output().unwrap();
        let words = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{words}");
        assert!(words.contains(expected), "{words}");
    }
}

#[test]
fn error_output_is_not_kept_and_a_limit_of_the_sandbox_is_told_as_one() {
    let directory = tempfile::tempdir().unwrap();
    let (child, address) = server(directory.path(), &[]);
    let run = |code: &str| post(&address, "/run_code", &json!({ "code": code, "language": "python" }));
    let warned = run("import sys\nsys.stderr.write('careful')\nprint('done')");
    assert_eq!((&warned["status"], &warned["message"]), (&json!("Success"), &json!("")));
    let result = &warned["run_result"];
    assert_eq!((&result["stdout"], &result["stderr"]), (&json!("done\n"), &json!("")));
    let raised = run("import sys\nsys.stderr.write('careful')\nraise OSError('more than this')");
    let words = raised["run_result"]["stderr"].as_str().unwrap();
    assert!(words.ends_with("OSError: more than this\n") && !words.contains("careful"), "{raised}");
    assert_eq!(raised["message"], "");
    for much in ["print('x' * 3_000_000)", "try:\n    print('x' * 3_000_000)\nexcept OSError:\n    pass"] {
        let failed = run(much);
        assert_eq!((&failed["status"], &failed["run_result"]["return_code"]), (&json!("Failed"), &json!(1)));
        let told = failed["message"].as_str().unwrap();
        assert!(told.starts_with("this sandbox keeps 1048576 bytes of standard output at most"), "{failed}");
    }
    interrupt(&child);
    assert!(child.wait_with_output().unwrap().status.success());
}

#[test]
fn a_cell_may_await_and_a_semicolon_at_its_end_displays_nothing() {
    let directory = tempfile::tempdir().unwrap();
    let (child, address) = server(directory.path(), &[]);
    let shown = [
        ("x = 1; x", Some("1")),
        ("x + 1;", None),
        ("_", Some("1")),
        ("(x + 1)  ;  # as in a plot", None),
        ("';'  # ;", Some("';'")),
        ("import asyncio\nasync def later(n):\n    await asyncio.sleep(n)\n    return n\nawait later(3)", Some("3")),
        ("first = asyncio.create_task(later(4))\nawait first", Some("4")),
        ("last = await later(5)\nlast", Some("5")),
        ("await later(6);", None),
        ("asyncio.run(later(7))", Some("7")),
    ];
    let cells = shown.map(|(cell, _)| cell);
    let answer = post(&address, "/run_jupyter", &json!({ "cells": cells }));
    for ((cell, shown), told) in shown.iter().zip(answer["cells"].as_array().unwrap()) {
        assert_eq!(told["error"], json!([]), "{cell}");
        assert_eq!(told["display"][0]["text/plain"].as_str(), *shown, "{cell}: {told}");
    }
    let failed = ["await later(1)\nawait None", "%time x", "!ls", "def f():\n    await later(1)"];
    let request: Vec<&str> = cells.iter().chain(&failed).copied().collect();
    let answer = post(&address, "/run_jupyter", &json!({ "cells": request }));
    let names: Vec<&Value> = (0..4).map(|cell| &answer["cells"][cells.len() + cell]["error"][0]["ename"]).collect();
    assert_eq!(names, ["TypeError", "SyntaxError", "SyntaxError", "SyntaxError"]);
    let lines = answer["cells"][cells.len()]["error"][0]["traceback"].as_array().unwrap();
    assert!(lines.iter().any(|line| line == "    await None") && lines.len() < 6, "{lines:?}");
    interrupt(&child);
    assert!(child.wait_with_output().unwrap().status.success());
}
