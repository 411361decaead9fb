//! Tests of the two tiers: both play the same games, and the reason why a program is not compiled is shown.

use std::fs;
use std::path::Path;

use serde_json::{Value, json};

use crate::program::{printed, ran};

const LADDER: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/crates/environment/src/game2048/ladder");

/// What `score` prints.
fn score(dir: &Path, arguments: &[&str]) -> String {
    printed(dir, &[&["score"], arguments].concat())
}

/// Writes a task that doubles, with more fields than it needs.
fn write_task(dir: &Path, more: Value) {
    let mut task = json!({"id": "twice", "prompt": "Double.", "entry_point": "twice", "inputs": ["(1,)", "(2,)"],
        "reference": "def twice(x):\n    return 2 * x"});
    task.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    fs::write(dir.join("tasks.jsonl"), task.to_string()).unwrap();
    fs::write(dir.join("twice.py"), "def twice(x):\n    return x + x\n").unwrap();
}

const CHECKER: &str = "def check():\n    y = yield ('twice', 21)\n    return y == 42\n";

#[test]
fn both_tiers_play_the_same_games() {
    let dir = tempfile::tempdir().unwrap();
    let files = ["monotone.py", "greedy.py", "cycle.py", "crash.py"].map(|name| format!("{LADDER}/{name}"));
    let games = |tier: &str| -> Vec<Value> {
        let more = ["--games", "2", "--seed", "0", "--json", "--tier", tier];
        let arguments: Vec<&str> = files.iter().map(String::as_str).chain(more).collect();
        let output = score(dir.path(), &arguments);
        let mut lines: Vec<Value> = output.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        for line in &mut lines {
            // The tiers count fuel differently.
            line["digest"].take();
            line["games"].as_array_mut().unwrap().iter_mut().for_each(|game| drop(game["fuel"].take()));
        }
        lines
    };
    let interpreted = games("interpreter");
    assert_eq!(interpreted.len(), files.len());
    assert_eq!(games("auto"), interpreted);
}

#[test]
fn a_program_that_is_not_compiled_is_named_with_its_line() {
    let dir = tempfile::tempdir().unwrap();
    let classy =
        "class Player:\n    def move(self):\n        return 'W'\n\ndef strategy(board):\n    return Player().move()\n";
    let failing = "def strategy(board):\n    return 'WASD'[board[0][0]]\n";
    for (name, source) in [("classy.py", classy), ("failing.py", failing), ("text.py", "no program")] {
        fs::write(dir.path().join(name), source).unwrap();
    }
    let cycle = format!("{LADDER}/cycle.py");
    let said = score(dir.path(), &["classy.py", "failing.py", "text.py", &cycle, "--explain"]);
    let lines: Vec<&str> = said.lines().collect();
    assert!(lines[0].starts_with("classy.py: interpreted: line 1: "), "{said}");
    assert!(lines[1].starts_with("failing.py: compiled, but given up for the interpreter while it runs: "), "{said}");
    assert!(lines[2].starts_with("text.py: ") && !lines[2].contains("compiled"), "{said}");
    assert!(lines[3].ends_with("cycle.py: compiled"), "{said}");

    let (code, _, said) = ran(dir.path(), &["score", "classy.py", "--tier", "compiled", "--games", "1"]);
    assert!(code != Some(0) && said.contains("a program leaves the compiled tier: line 1"), "{said}");
    assert!(
        said.contains("sandbox.tier = \"compiled\" does not run its program") && !said.contains("failed"),
        "{said}"
    );
    assert!(said.contains("classy.py: not tried"), "{said}");
}

#[test]
fn what_runs_a_program_is_told_for_each_task_that_it_answers() {
    let dir = tempfile::tempdir().unwrap();
    write_task(dir.path(), json!({}));
    let path = dir.path().join("tasks.jsonl");
    let apart = json!({"id": "apart", "prompt": "Double.", "entry_point": "twice", "checker": CHECKER, "apart": true});
    fs::write(&path, format!("{}\n{apart}\n", fs::read_to_string(&path).unwrap())).unwrap();
    let said = score(dir.path(), &["twice.py", "--env", "tasks.jsonl", "--explain"]);
    let lines: Vec<&str> = said.lines().collect();
    assert_eq!(lines[0], "twice.py, task twice: compiled");
    assert!(lines[1].starts_with("twice.py, task apart: interpreted: its task keeps"), "{said}");

    let failing = "def twice(x):\n    return [0, 2, 4][x + 5]\n";
    fs::write(dir.path().join("twice.py"), failing).unwrap();
    let (code, _, said) = ran(dir.path(), &["score", "twice.py", "--env", "tasks.jsonl", "--tier", "compiled"]);
    assert!(code == Some(1) && said.contains("twice.py, task twice: not tried"), "{said}");
}

#[test]
fn a_program_is_not_blamed_for_what_its_checker_is_written_in() {
    let dir = tempfile::tempdir().unwrap();
    write_task(dir.path(), json!({"checker": CHECKER}));
    fs::write(dir.path().join("fails.py"), "def twice(x):\n    return [0, 2, 4][x]\n").unwrap();
    let said = score(dir.path(), &["twice.py", "fails.py", "--env", "tasks.jsonl", "--task", "twice", "--explain"]);
    let lines: Vec<&str> = said.lines().collect();
    assert!(lines[0].ends_with("twice.py: compiled"), "{said}");
    assert!(lines[1].contains("fails.py: compiled, but given up for the interpreter while it runs: "), "{said}");
    score(dir.path(), &["twice.py", "--env", "tasks.jsonl", "--task", "twice", "--tier", "compiled"]);
}

#[test]
fn what_a_task_has_interpreted_is_not_called_compiled() {
    let dir = tempfile::tempdir().unwrap();
    for (more, why) in [
        (json!({"prelude": "import math\nfrom math import *\n"}), "the prelude of its task, line 2: "),
        (json!({"checker": CHECKER, "apart": true}), "its task keeps the calls of its checker apart"),
    ] {
        write_task(dir.path(), more);
        let said = score(dir.path(), &["twice.py", "--env", "tasks.jsonl", "--task", "twice", "--explain"]);
        assert!(said.starts_with(&format!("twice.py: interpreted: {why}")), "{said}");
    }
}
