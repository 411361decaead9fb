//! `grpo-2048 judge` as another trainer meets it: lines in, rewards out, whoever plays.

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Command, Output, Stdio};

use serde_json::{Value, json};

const TASKS: &str = r#"
{"id": "add", "prompt": "Write `add(a, b)` that returns the sum.", "entry_point": "add", "tests": [{"args": "(1, 2)", "expected": "3"}, {"args": "(-1, 1)", "expected": "0"}, {"args": "(10, 5)", "expected": "15"}, {"args": "(2, 2)", "expected": "4"}], "reference": "def add(a, b):\n    return a + b"}
{"id": "runs", "prompt": "Write `runs(xs)`, the lengths of runs of equal items.", "entry_point": "runs", "inputs": ["([1, 1, 2],)", "([],)", "([3],)", "([4, 4, 4, 5, 5],)"], "reference": "def runs(xs):\n    out = []\n    last = None\n    for x in xs:\n        if out and x == last:\n            out[-1] += 1\n        else:\n            out.append(1)\n        last = x\n    return out"}
{"id": "sum", "prompt": "Read n, then n numbers; print their sum.", "tests": [{"stdin": "3\n1 2 3\n", "stdout": "6\n"}, {"stdin": "1\n9\n", "stdout": "9\n"}, {"stdin": "2\n5 6\n", "stdout": "11\n"}]}
"#;

fn judge(directory: &Path, arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_grpo-2048"));
    command.current_dir(directory).env("NO_COLOR", "1").env_remove("RUST_LOG").arg("judge").args(arguments);
    command
}

/// What `judge` answers to a file of these items.
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

#[test]
fn right_programs_earn_1_and_wrong_ones_nothing_in_the_order_of_the_lines_whoever_plays() {
    let right_sum = "```python\nn = int(input())\nprint(sum(map(int, input().split())))\n```";
    let right_runs = "```python\nfrom itertools import groupby\ndef runs(xs):\n    return [len(list(g)) for _, g in groupby(xs)]\n```";
    let half = "def add(a, b):\n    return 3 if a == 1 else a + b if a == 2 else None";
    let (loops, raises) = ("def add(a, b):\n    while True: pass", "def add(a, b):\n    return a / 0");
    // What is expected: verdict, tests passed, tests, reward. A constant passes 1 of the 4 tests of `add`, and failures
    // are worth a quarter of those of a game that pays the square root: -0.40, -0.24 for nothing found, nothing answered.
    let items: [(&str, &str, (&str, u32, u32, f32)); 9] = [
        ("add", "```python\ndef add(a, b):\n    return a + b\n```", ("passed", 4, 4, 1.0)),
        ("runs", right_runs, ("passed", 4, 4, 1.0)),
        ("sum", right_sum, ("passed", 3, 3, 1.0)),
        ("add", loops, ("faulted", 0, 4, -0.06)),
        ("add", "def add(a, b):\n    return 0", ("wrong", 0, 4, 0.0)),
        ("add", half, ("wrong", 2, 4, 1.0 / 3.0)),
        ("runs", "I would count them.", ("rejected", 0, 4, -0.1)),
        ("add", raises, ("faulted", 0, 4, -0.06)),
        ("sum", "```python\nprint(6)\n```", ("wrong", 0, 3, 0.0)),
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
        assert_eq!(answer["reason"].is_null(), *verdict == "passed", "{answer}");
        assert_eq!(answer["fuel"].as_u64().unwrap() == 0, *verdict == "rejected", "{answer}");
    }
    assert_eq!(answered.len(), items.len());
    for workers in ["1", "2", "8"] {
        let output = answers(directory.path(), &texts, &["--env", "tasks.jsonl", "--parallel-rewards", workers]);
        assert_eq!(output.stdout, base.stdout, "{workers} workers");
    }
}

#[test]
fn a_player_of_2048_is_judged_as_score_scores_it() {
    let directory = tempfile::tempdir().unwrap();
    let cycle = include_str!("../src/environment/game2048/ladder/cycle.py");
    fs::write(directory.path().join("cycle.py"), cycle).unwrap();
    let mut score = Command::new(env!("CARGO_BIN_EXE_grpo-2048"));
    let scored =
        score.current_dir(directory.path()).args(["score", "cycle.py", "--games", "3", "--json"]).output().unwrap();
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
    // Nobody reads any more: it ends quietly, though its input goes on.
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
    for (file, expected) in [("nowhere.jsonl", "No such file"), (".", "is a directory")] {
        let output = judge(directory.path(), &[file]).output().unwrap();
        assert_eq!(output.status.code(), Some(2));
        assert!(String::from_utf8_lossy(&output.stderr).contains(expected));
    }
}
