//! Tests of `score` and `play`: programs of the user's own.

use std::fs;
use std::path::Path;

use serde_json::Value;

use crate::program::{printed, refused};

pub const CYCLE: &str = "def strategy(board, s=[0]):\n    s[0] += 1\n    return \"WASD\"[s[0] % 4]\n";

pub fn score(directory: &Path, arguments: &[&str]) -> Vec<Value> {
    let text = printed(directory, &[&["score"], arguments].concat());
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

#[test]
fn score_prints_a_line_a_file_in_order_whatever_the_workers() {
    let dir = tempfile::tempdir().unwrap();
    let files = [
        ("cycle.py", CYCLE, "succeeded"),
        ("broken.py", "def strategy(board:\n    return 'W'\n", "not_compiled"),
        ("nothing.py", "print('hello')\n", "no_function"),
        ("raises.py", "def strategy(board):\n    return board[9]\n", "raised"),
        ("constant.py", "def strategy(board):\n    return 'W'\n", "froze"),
    ];
    for (name, source, _) in files {
        fs::write(dir.path().join(name), source).unwrap();
    }
    let names = files.map(|(name, ..)| name);
    let common = ["--json", "--games", "2", "--seed", "5"];
    let lines = score(dir.path(), &[&names[..], &common, &["--sequential"]].concat());
    for (line, (name, _, verdict)) in lines.iter().zip(files) {
        assert_eq!((line["file"].as_str(), line["verdict"].as_str()), (Some(name), Some(verdict)), "{line}");
        assert_eq!(line["reason"].is_null(), ["succeeded", "froze"].contains(&verdict), "{line}");
    }
    let game = &lines[0]["games"][0];
    assert!(game["moves_text"].as_str().unwrap().len() as u64 >= game["moves"].as_u64().unwrap());
    assert!(lines[0]["mean_score"].as_f64() > lines[4]["mean_score"].as_f64());
    assert!(lines[0]["reward"].as_f64() > lines[3]["reward"].as_f64());
    for workers in ["1", "2", "8"] {
        assert_eq!(score(dir.path(), &[&names[..], &common, &["--parallel-rewards", workers]].concat()), lines);
    }
}

#[test]
fn a_program_plays_the_games_that_a_file_a_setting_or_a_flag_says() {
    let dir = tempfile::tempdir().unwrap();
    let constant = "def strategy(board):\n    return 'W'\n";
    fs::write(dir.path().join("constant.py"), constant).unwrap();
    fs::write(dir.path().join("run.toml"), "[arena]\ngames = 3\n").unwrap();
    let item = serde_json::json!({"id": "one", "completion": constant});
    fs::write(dir.path().join("items.jsonl"), item.to_string()).unwrap();
    let setting = ["--set", "arena.games=2"];
    let cases: [(&[&str], usize); 4] = [
        (&[], 10),
        (&["--config", "run.toml"], 3),
        (&["--config", "run.toml", setting[0], setting[1]], 2),
        (&["--config", "run.toml", setting[0], setting[1], "--games", "4"], 4),
    ];
    for (more, expected) in cases {
        let lines = score(dir.path(), &[&["constant.py", "--json", "--seed", "0"][..], more].concat());
        assert_eq!(lines[0]["games"].as_array().unwrap().len(), expected, "{more:?}");
    }
    let judged = |more: &[&str]| printed(dir.path(), &[&["judge", "items.jsonl"][..], more].concat());
    assert_eq!(judged(&setting), judged(&["--games", "2"]));
    assert_ne!(judged(&setting), judged(&[]));
}

#[test]
fn answers_that_look_alike_are_told_apart() {
    let dir = tempfile::tempdir().unwrap();
    let far: Vec<i32> = (0..99).collect();
    let rows = format!(
        "{}\n{}\n{}\n",
        r#"{"id": "nan", "prompt": "No number.", "entry_point": "lost", "tests": [{"args": "()", "expected": "float('nan')"}]}"#,
        serde_json::json!({"id": "near", "prompt": "Root.", "entry_point": "near",
            "tests": [{"args": "()", "expected": "23.45207879911715"}]}),
        serde_json::json!({"id": "far", "prompt": "Count.", "entry_point": "far",
            "tests": [{"args": "()", "expected": format!("{far:?}")}]}),
    );
    fs::write(dir.path().join("tasks.jsonl"), rows).unwrap();
    let program = "def lost():\n    return float('nan')\n\ndef near():\n    return 550 ** 0.5\n\ndef far():\n    return list(range(98)) + [0]\n";
    fs::write(dir.path().join("both.py"), program).unwrap();
    let reason = |line: &Value| line["failed"]["reason"].as_str().unwrap().to_owned();
    let reasons: Vec<String> =
        score(dir.path(), &["both.py", "--env", "tasks.jsonl", "--json"]).iter().map(reason).collect();
    assert_eq!(reasons[0], "lost() gave nan, expected nan; nan equals nothing, itself included");
    assert_eq!(
        reasons[1],
        "near() gave 23.452078799117146, expected 23.45207879911715; they agree to 1e-9 (a task may set `tolerance`)"
    );
    assert!(reasons[2].ends_with("...; they differ further on"), "{}", reasons[2]);
}

/// Why `program` fails in `task` of the tasks in `dir`.
fn failure(dir: &Path, task: &str, program: &str) -> String {
    fs::write(dir.join("own.py"), program).unwrap();
    let line = score(dir, &["own.py", "--env", "tasks.jsonl", "--task", task, "--json"]).remove(0);
    line["failed"]["reason"].as_str().unwrap().to_owned()
}

#[test]
fn of_a_long_output_the_line_that_is_wrong_is_told_and_of_a_long_line_where_it_is() {
    let dir = tempfile::tempdir().unwrap();
    let lines: String = (1..100).map(|line| format!("{line}\n")).collect();
    let line: Vec<String> = (1..100).map(|number| number.to_string()).collect();
    let row = |id: &str, stdout: &str| {
        let tests = serde_json::json!([{"stdin": "7", "stdout": stdout}]);
        serde_json::json!({"id": id, "prompt": "Count.", "tests": tests}).to_string()
    };
    let rows = [
        row("lines", &lines),
        row("line", &line.join(" ")),
        // Space at ends of lines does not count.
        row("spaces", &lines.replace('\n', " \r\n")),
        row("escapes", &format!("{}b", "\u{1b}".repeat(20))),
    ];
    fs::write(dir.path().join("tasks.jsonl"), rows.join("\n")).unwrap();
    let reason = |task: &str, program: &str| failure(dir.path(), task, program);
    let changed = "for n in range(1, 100):\n    print(n if n != 57 else 0)\n";
    for task in ["lines", "spaces"] {
        assert_eq!(reason(task, changed), r#"input "7" gave "0" in line 57, expected "57""#);
    }
    // What is seen of it is not told by its line.
    let early = reason("lines", "print(*range(1, 9), 0, *range(10, 100), sep='\\n')\n");
    assert!(early.starts_with(r#"input "7" gave "1\n2\n"#) && early.contains(r#"..., expected "1\n2\n"#), "{early}");
    assert_eq!(reason("escapes", "print(chr(27) * 20 + 'a')\n"), r#"input "7" gave "...a" in line 1, expected "...b""#);
    assert_eq!(
        reason("lines", "print(*range(1, 91), sep='\\n')\n"),
        r#"input "7" gave nothing in line 91, expected "91""#
    );
    assert_eq!(
        reason("lines", "print(*range(1, 101), sep='\\n')\n"),
        r#"input "7" gave "100" in line 100, expected nothing"#
    );
    let told = reason("line", "print(*range(1, 91), *range(90, 99))\n");
    assert!(
        told.starts_with(r#"input "7" gave "...90 91 92 93"#) && told.contains(r#" in line 1, expected "...91 92 93"#),
        "{told}"
    );
}

#[test]
fn a_program_that_takes_too_long_is_told_so_whether_it_is_called_or_run() {
    let dir = tempfile::tempdir().unwrap();
    fs::write(dir.path().join("tasks.jsonl"), TASKS).unwrap();
    let reason = |task: &str, program: &str| failure(dir.path(), task, program);
    assert_eq!(
        reason("sum", "def add(a, b):\n    while True:\n        pass\n"),
        "add(1, 2): took too long: one call used more than a call may, `sandbox.call_share` of the budget"
    );
    assert_eq!(
        reason("echo", "while True:\n    pass\n"),
        r#"input "a": took too long: one run used more than a run may"#
    );
}

const TASKS: &str = r#"{"id": "sum", "prompt": "Add.", "entry_point": "add", "tests": [{"args": "(1, 2)", "expected": "3"}, {"args": "(2, 2)", "expected": "4"}]}
{"id": "double", "prompt": "Double.", "entry_point": "twice", "tests": [{"args": "(3,)", "expected": "6"}, {"args": "(2,)", "expected": "4"}]}
{"id": "echo", "prompt": "Print the line.", "tests": [{"stdin": "a\n", "stdout": "a\n"}, {"stdin": "b\n", "stdout": "b\n"}]}
"#;

#[test]
fn a_program_is_scored_on_the_tasks_whose_functions_it_defines_or_on_the_one_that_is_named() {
    let dir = tempfile::tempdir().unwrap();
    fs::write(dir.path().join("tasks.jsonl"), TASKS).unwrap();
    fs::write(dir.path().join("both.py"), "def add(a, b):\n    return a + b\n\ndef twice(x):\n    return x * x\n")
        .unwrap();
    fs::write(dir.path().join("echo.py"), "print(input())\n").unwrap();
    fs::write(dir.path().join("broken.py"), "def add(a, b:\n").unwrap();
    let tasks = ["--env", "tasks.jsonl", "--json"];
    let lines = score(dir.path(), &[&["both.py", "broken.py"][..], &tasks].concat());
    let of = |line: &Value| (line["task"].clone(), line["verdict"].clone(), line["passed"].clone());
    let found: Vec<_> = lines.iter().map(of).collect();
    let expected = [("sum", "succeeded", 2), ("double", "wrong_answer", 1), ("sum", "not_compiled", 0)];
    assert_eq!(found, expected.map(|(task, verdict, passed)| (task.into(), verdict.into(), passed.into())));
    assert_eq!(lines[1]["failed"], serde_json::json!({"test": 1, "reason": "twice(3) gave 9, expected 6"}));
    assert_eq!((&lines[0]["reward"], &lines[2]["tests"]), (&1.0.into(), &2.into()));

    // A file of Python is a program as a whole; another may be an answer, of which what is no Python may be words.
    let misspelt = "improt math\n\ndef add(a, b):\n    return a + b\n";
    for (name, verdict) in [("misspelt.py", "not_compiled"), ("answer.txt", "succeeded")] {
        fs::write(dir.path().join(name), misspelt).unwrap();
        assert_eq!(score(dir.path(), &[&[name][..], &tasks].concat())[0]["verdict"], verdict, "{name}");
    }
    fs::write(dir.path().join("player.py"), "x = = 3\n\ndef strategy(board):\n    return 'W'\n").unwrap();
    assert_eq!(score(dir.path(), &["player.py", "--games", "1", "--json"])[0]["verdict"], "not_compiled");

    let text = printed(dir.path(), &["score", "both.py", "--env", "tasks.jsonl"]);
    assert!(text.contains("1 of 2") && text.contains("test 1: twice(3) gave 9, expected 6"), "{text}");
    let echo = score(dir.path(), &[&["echo.py", "--task", "echo"][..], &tasks].concat());
    assert_eq!(of(&echo[0]), ("echo".into(), "succeeded".into(), 2.into()));

    let refused = |more: &[&str]| refused(dir.path(), &[&["score", "echo.py"][..], more].concat());
    let said = refused(&["--env", "tasks.jsonl"]);
    assert!(
        said.contains("echo.py: defines the function of no task") && said.contains("--task; there are: sum"),
        "{said}"
    );
    let said = refused(&["--env", "tasks.jsonl", "--task", "ecko"]);
    assert!(said.contains("--task ecko: tasks.jsonl has no such task") && said.contains("`echo`"), "{said}");
    assert!(refused(&["--env", "tasks.jsonl", "--games", "3"]).contains("--games with --env tasks.jsonl"));
    assert!(refused(&["--task", "echo"]).contains("--task with --env 2048"));
}

#[test]
fn a_program_for_another_game_is_scored_without_tiles_and_not_watched() {
    let dir = tempfile::tempdir().unwrap();
    fs::write(dir.path().join("cycle.py"), CYCLE).unwrap();
    let game = Path::new(env!("CARGO_MANIFEST_DIR")).join("examples/2584.py").display().to_string();
    let lines = score(dir.path(), &["cycle.py", "--env", &game, "--games", "2", "--json"]);
    assert!(lines[0]["mean_score"].as_f64() > Some(0.0), "{lines:?}");
    assert!(lines[0].get("max_tile").is_none() && lines[0]["games"][0].get("moves_text").is_none(), "{lines:?}");
    let text = printed(dir.path(), &["score", "cycle.py", "--env", &game, "--games", "1"]);
    assert!(text.contains("score") && !text.contains("tile"), "{text}");
    let said = refused(dir.path(), &["play", "cycle.py", "--set", &format!("environment.env={game}")]);
    assert!(said.contains("`play` shows boards of 2048") && said.contains("grpo-2048 score --env"), "{said}");
}

#[test]
fn two_programs_are_played_on_one_board_and_a_pipe_gets_the_last_boards() {
    let dir = tempfile::tempdir().unwrap();
    fs::write(dir.path().join("cycle.py"), CYCLE).unwrap();
    fs::write(dir.path().join("constant.py"), "def strategy(board):\n    return 'W'\n").unwrap();
    fs::write(dir.path().join("broken.py"), "def strategy(board:\n").unwrap();
    let scores = score(dir.path(), &["cycle.py", "constant.py", "--json", "--games", "1", "--seed", "3"]);
    let [left, right] = [0, 1].map(|index| scores[index]["mean_score"].as_f64().unwrap());
    let text = printed(dir.path(), &["play", "cycle.py", "constant.py", "--seed", "3"]);
    assert!(!text.contains('\u{1b}'), "{text}");
    let (boards, figures) = text.split_once("\n\n").unwrap();
    // Each game has a line with its file, a line with move and score, four rows, and its ending.
    let lines: Vec<&str> = boards.lines().map(str::trim_end).collect();
    assert_eq!((lines.len(), lines[0], lines[7]), (14, "cycle.py", "constant.py"), "{text}");
    assert!(lines[1].ends_with(&format!("score {left:>6}")), "{text}");
    assert!(lines[8].ends_with(&format!("score {right:>6}")), "{text}");
    assert!(lines[6].contains("% of the fuel") && lines[13].starts_with("freeze"), "{text}");
    assert!(figures.contains(&format!("cycle.py is ahead by {}", left - right)), "{text}");
    assert!(figures.contains("cycle.py     game_over: score"), "{text}");
    let text = printed(dir.path(), &["play", "broken.py", "--delay", "0"]);
    assert!(text.contains("broken.py: not_compiled: "), "{text}");
    // What changes the direction of text is shown, also on the board, where the reason stands too.
    let turned = "raise ValueError('\\u202eabc')\n\ndef strategy(board):\n    return 'W'\n";
    fs::write(dir.path().join("turned.py"), turned).unwrap();
    let text = printed(dir.path(), &["play", "turned.py"]);
    assert!(text.contains("ValueError: \\u{202e}abc") && !text.contains('\u{202e}'), "{text}");
}
