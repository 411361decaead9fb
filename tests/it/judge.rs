//! Tests of `grpo-2048 judge` in the way that another trainer uses it: lines as input, rewards as output.

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Command, Output, Stdio};

use serde_json::{Value, json};

use crate::score::score;

const TASKS: &str = include_str!("tasks/judge.jsonl");

pub fn judge(directory: &Path, arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_grpo-2048"));
    command.current_dir(directory).env("NO_COLOR", "1").env_remove("RUST_LOG").arg("judge").args(arguments);
    command
}

/// The output of `judge` for a file with these items.
pub fn answers(directory: &Path, items: &[(&str, &str)], arguments: &[&str]) -> Output {
    let lines = items.iter().map(|(id, completion)| format!("{}\n", json!({ "id": id, "completion": completion })));
    fs::write(directory.join("items.jsonl"), lines.collect::<String>()).unwrap();
    judge(directory, &[&["items.jsonl"], arguments].concat()).output().unwrap()
}

pub fn parsed(output: &Output) -> Vec<Value> {
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8_lossy(&output.stdout).lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

pub fn tasks() -> tempfile::TempDir {
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
    assert!(refused["error"].as_str().unwrap().ends_with(" (item 2 of 2)"), "{refused}");
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
    let pooled = answers(directory.path(), &texts, &["--env", "tasks.jsonl", "--parallel-rewards", "8"]);
    assert_eq!(pooled.stdout, base.stdout);
}

#[test]
fn a_player_of_2048_is_judged_as_score_scores_it() {
    let directory = tempfile::tempdir().unwrap();
    let cycle = include_str!("../../crates/environment/src/game2048/ladder/cycle.py");
    fs::write(directory.path().join("cycle.py"), cycle).unwrap();
    let scored = score(directory.path(), &["cycle.py", "--games", "3", "--seed", "0", "--json"]).remove(0);
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
        (r#"{"id": "add""#.to_owned(), "ends too early at column 12; "),
        (r#"{"id": "add", "completion": "def"#.to_owned(), "ends too early at column 32; "),
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
        (&["--env", "items.jsonl", "tasks.jsonl"], "hint: that holds completions; --env names the tasks"),
    ] {
        let output = judge(directory.path(), arguments).output().unwrap();
        assert_eq!(output.status.code(), Some(2));
        assert!(String::from_utf8_lossy(&output.stderr).contains(expected));
    }
}

#[test]
fn whoever_names_no_environment_is_told_which_one_judges() {
    let directory = tasks();
    let told = |arguments: &[&str]| {
        let output = answers(directory.path(), &[("add", "def add(a, b):\n    return a + b")], arguments);
        assert_eq!(parsed(&output).len(), 1);
        String::from_utf8(output.stderr).unwrap().contains("judging players of 2048; --env names tasks")
    };
    assert!(told(&[]) && !told(&["--env", "2048"]) && !told(&["--set", "environment.env=tasks.jsonl"]));
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
fn calls_end_when_nobody_can_read_their_answers() {
    let directory = tasks();
    let mut command = judge(directory.path(), &["--env", "tasks.jsonl", "--calls"]);
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
    // Open, so that it is not the end of its input that ends it.
    let input = child.stdin.take().unwrap();
    let mut described = String::new();
    BufReader::new(child.stdout.take().unwrap()).read_line(&mut described).unwrap();
    assert!(described.ends_with("\"has_tests\":true}\n"), "{described}");
    assert!(child.wait().unwrap().success());
    drop(input);
}
