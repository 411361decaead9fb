//! Tests of `tasks convert`: rows of data sets become tasks.

use std::fs;

use serde_json::Value;

use crate::program::{done, printed, program, refused};

#[test]
fn rows_become_tasks_and_what_is_dropped_is_named_with_the_reason() {
    let dir = tempfile::tempdir().unwrap();
    let rows = [
        r#"{"task_id": 1, "text": "Add.", "code": "def add(a, b): return a + b", "test_list": ["assert add(1, 2) == 3"]}"#,
        r#"{"task_id": 2, "text": "Sub.", "code": "def sub(a, b): return a - b", "test_list": ["assert other(1) == 3"]}"#,
        r#"{"instruction": "Say hello."}"#,
    ];
    fs::write(dir.path().join("mbpp.jsonl"), rows.join("\n")).unwrap();
    let words = printed(dir.path(), &["tasks", "convert", "mbpp.jsonl"]);
    assert!(words.starts_with("mbpp.tasks.jsonl  (1 of 3 rows became tasks; MBPP)\n"), "{words}");
    assert!(
        words.contains("dropped 1: is no call with literals compared with a literal: `assert other(1) == 3` (2)\n")
    );
    assert!(words.contains("dropped 1: fields of no known set ('instruction') (row 3)\n"), "{words}");
    assert!(words.contains("known sets are: EvalPlus (entry_point, "), "{words}");
    let written = fs::read_to_string(dir.path().join("mbpp.tasks.jsonl")).unwrap();
    let expected = r#"{"id":"1","prompt":"Add.","entry_point":"add","tests":[{"args":"(1, 2)","expected":"3"}],"reference":"def add(a, b): return a + b"}"#;
    assert_eq!(written, format!("{expected}\n"));
    // The same is written again; what else is there is kept.
    done(dir.path(), &["tasks", "convert", "mbpp.jsonl"]);
    let own = written.replace("Add.", "Add two numbers.");
    fs::write(dir.path().join("mbpp.tasks.jsonl"), &own).unwrap();
    let there = refused(dir.path(), &["tasks", "convert", "mbpp.jsonl"]);
    assert!(there.contains("--output mbpp.tasks.jsonl: is there already, and holds something else"), "{there}");
    assert_eq!(fs::read_to_string(dir.path().join("mbpp.tasks.jsonl")).unwrap(), own);
    fs::write(dir.path().join("none.jsonl"), rows[2]).unwrap();
    let none = refused(dir.path(), &["tasks", "convert", "none.jsonl"]);
    assert!(none.contains("none of 1 row became a task") && none.contains("hint: known sets are: EvalPlus"), "{none}");
    // Tasks have different keys, and are told once.
    let tasks = [
        r#"{"id": "add", "prompt": "Add.", "entry_point": "add", "tests": [{"args": [1, 2], "expected": 3}]}"#,
        r#"{"id": "two", "prompt": "Print 2.", "tests": [{"stdin": "", "expected": "2"}], "split": "held_out"}"#,
    ];
    fs::write(dir.path().join("own.jsonl"), tasks.join("\n")).unwrap();
    let own = refused(dir.path(), &["tasks", "convert", "own.jsonl"]);
    assert!(own.contains("dropped 2: a task already, which --env takes as it is (add, two)"), "{own}");
    assert!(!own.contains("known sets") && !own.contains("hint: "), "{own}");
    assert!(
        refused(dir.path(), &["tasks", "convert", "mbpp.jsonl", "--output", "./mbpp.jsonl"]).contains("to convert")
    );
    done(dir.path(), &["tasks", "new", "mine"]);
    assert!(refused(dir.path(), &["tasks", "new", "mine"]).contains("mine/env.toml: is there already"));
}

#[test]
fn no_result_replaces_a_file_of_another_kind() {
    let dir = tempfile::tempdir().unwrap();
    let write = |name: &str, text: &str| fs::write(dir.path().join(name), text).unwrap();
    let task = r#"{"id": "two", "prompt": "Print 2.", "tests": [{"stdin": "", "stdout": "2"}]}"#;
    write("tasks.jsonl", &format!("{task}\n"));
    write("completions.jsonl", r#"{"id": "two", "completion": "print(2)"}"#);
    write("mine.jsonl", &task.replace("two", "too"));
    fs::create_dir(dir.path().join("run")).unwrap();
    write("run/metrics.jsonl", "{\"step\":1,\"reward\":0.5}\nrubbish\n");
    let cases: [&[&str]; 5] = [
        &["check", "--env", "tasks.jsonl", "--keep", "mine.jsonl"],
        &["train", "--steps", "1", "--trace", "mine.jsonl", "--trace-step", "9"],
        &["report", "run", "--output", "mine.jsonl"],
        &["judge", "--env", "tasks.jsonl", "completions.jsonl", "--differences", "mine.jsonl"],
        &["export-completions", "run", "--output", "mine.jsonl"],
    ];
    for asked in cases {
        let words = refused(dir.path(), asked);
        assert!(words.contains(" mine.jsonl: is there already, and holds something else"), "{asked:?}: {words}");
    }
    // An earlier result of the same command is replaced, or goes on.
    write("mine.jsonl", r#"{"traceEvents": []}"#);
    assert!(refused(dir.path(), cases[1]).contains("--trace-step 9: no step of this session"));
    write("mine.jsonl", "{\"compiled\": \"1\", \"interpreted\": \"2\"}\n");
    assert!(printed(dir.path(), cases[3]).contains("\"passed\":1"));
    let completions = refused(dir.path(), &["check", "--env", "tasks.jsonl", "--keep", "completions.jsonl"]);
    assert!(completions.contains("holds something else"), "{completions}");
    let numbered = task.replace("\"two\"", "2");
    for (tasks, kept) in [(task, task.replace("Print", "Say")), (&*numbered, format!("\u{feff}{numbered}"))] {
        write("tasks.jsonl", tasks);
        write("mine.jsonl", &format!("{kept}\n\n"));
        let output = program(dir.path()).args(cases[0]).output().unwrap();
        assert!(!String::from_utf8_lossy(&output.stderr).contains("is there already"), "{kept}");
    }
    // Nor is a log, or a page, of another kind replaced.
    for (asked, text) in [(4, r#"{"step": 1, "mean_score": 2.0}"#), (2, "<!doctype html>\n<title>grpo-2048</title>")] {
        write("mine.jsonl", text);
        assert!(refused(dir.path(), cases[asked]).contains("holds something else"), "{text}");
    }
    write("mine.jsonl", r#"{"step": 1, "prompt": "", "completion": "", "mean_score": null}"#);
    assert!(refused(dir.path(), cases[4]).contains("run: no completions were logged"));
    write("mine.jsonl", "<!doctype html>\n<title>run · grpo-2048</title>\n");
    let output = program(dir.path()).args(cases[2]).arg("--quiet").output().unwrap();
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(said.starts_with("warning: run: metrics.jsonl: 1 line left out: no records.\n"), "{said}");
    assert!(!said.contains("No completions were logged"), "no warning: {said}");
}

#[test]
fn tasks_in_a_list_are_told_to_be_lines_and_how() {
    let dir = tempfile::tempdir().unwrap();
    let list = r#"[{"id": "two", "prompt": "Print 2.", "tests": [{"stdin": "", "stdout": "2"}]}]"#;
    fs::write(dir.path().join("own.json"), list).unwrap();
    let words = refused(dir.path(), &["tasks", "convert", "own.json"]);
    let hint = "hint: --env takes them as lines of JSON in a file that ends in .jsonl; in Python: \
                datasets.load_dataset(\"json\", data_files=\"own.json\")[\"train\"].to_json(\"tasks.jsonl\")\n";
    assert!(words.contains("dropped 1: a task already, ") && words.ends_with(hint), "{words}");
}

#[test]
fn a_row_that_cannot_be_read_is_named_and_the_others_become_tasks() {
    let dir = tempfile::tempdir().unwrap();
    let row = |id: u32, words: &str| {
        format!(
            r#"{{"task_id": {id}, "text": "{words}", "code": "def add(a, b): return a + b", "test_list": ["assert add(1, 2) == 3"]}}"#
        )
    };
    let rows = [row(11, "Add."), row(12, "Add \\ud800."), row(13, "Add, too."), r#"{"instruction": "x"}"#.to_owned()];
    fs::write(dir.path().join("mbpp.jsonl"), rows.join("\n")).unwrap();
    fs::write(dir.path().join("list.json"), format!("[{}]", rows.join(", "))).unwrap();
    let left_out = "dropped 1: half a surrogate pair, which is no character (row 2)\n";
    for file in ["mbpp.jsonl", "list.json"] {
        let words = printed(dir.path(), &["tasks", "convert", file, "--output", "tasks.jsonl"]);
        assert!(words.starts_with("tasks.jsonl  (2 of 4 rows became tasks; MBPP)\n"), "{words}");
        assert!(words.contains(left_out) && words.contains("known set ('instruction') (row 4)\n"), "{words}");
    }
    let arguments = ["tasks", "convert", "mbpp.jsonl", "--suite", "mbpp", "--output", "tasks.jsonl"];
    let words = printed(dir.path(), &arguments);
    assert!(words.contains("(2 of 4 rows became tasks; mbpp)\n") && words.contains(left_out), "{words}");
    // A line that is no JSON is the file's fault, which may have been cut off.
    fs::write(dir.path().join("cut.jsonl"), format!("{}\n{}", rows[0], &rows[2][..40])).unwrap();
    let said = refused(dir.path(), &["tasks", "convert", "cut.jsonl"]);
    assert!(said.contains("cut.jsonl:2: not JSON: "), "{said}");
}

#[test]
fn rows_of_a_table_of_ones_own_are_told_what_columns_are_missing_and_how_they_become_tasks() {
    let dir = tempfile::tempdir().unwrap();
    let row = r#"{"idx": 1, "question": "Add.", "solution": "def add(a, b): return a + b", "tests": "assert add(1, 2) == 3"}"#;
    fs::write(dir.path().join("own.jsonl"), row).unwrap();
    fs::write(dir.path().join("own.csv"), "question,solution,tests\nAdd.,def add(a): pass,assert add(1)\n").unwrap();
    let said = refused(dir.path(), &["tasks", "convert", "own.jsonl"]);
    let found = "fields of no known set ('idx', 'question', 'solution', 'tests'); one field is missing for APPS (input_output), \
                 DeepCoder (problem), KodCode (test), KodCode (test_code) (row 1)";
    assert!(said.contains(found) && said.contains("; rename the columns of a table of your own"), "{said}");
    // `tasks convert` reads no CSV, so that nobody is sent there with one.
    for arguments in [["tasks", "convert", "own.csv"], ["check", "--env", "own.csv"]] {
        let said = refused(dir.path(), &arguments);
        assert!(said.contains("hint: docs/tasks.md has the lines of Python that make rows of a CSV"), "{said}");
    }
    let said = refused(dir.path(), &["check", "--env", "own.jsonl"]);
    assert!(said.contains("hint: `grpo-2048 tasks convert own.jsonl` makes tasks of rows"), "{said}");
    // Such a file may hold tasks as well, of which there is nothing to convert.
    fs::write(dir.path().join("own.json"), format!("[{row}]")).unwrap();
    let said = refused(dir.path(), &["check", "--env", "own.json"]);
    let expected =
        "hint: tasks are lines of JSON, in a file that ends in .jsonl; `grpo-2048 tasks convert own.json` makes";
    assert!(said.contains(expected), "{said}");
    // A misspelt key is no column.
    let task = r#"{"id": "add", "prompt": "Add.", "entry_point": "add", "tests": [{"args": [1, 2], "expected": 3}]}"#;
    for (key, slip) in [("id", "idd"), ("prompt", "promt"), ("entry_point", "entry_pont")] {
        fs::write(dir.path().join("slip.jsonl"), task.replacen(&format!("\"{key}\""), &format!("\"{slip}\""), 1))
            .unwrap();
        let said = refused(dir.path(), &["check", "--env", "slip.jsonl"]);
        assert!(said.contains(&format!("did you mean `{key}`?")) && !said.contains("tasks convert"), "{said}");
    }
}

/// What `judge` says of programs with these bodies, in the task that HumanEval's row of `half` becomes with this `test`.
fn judged(test: &str, bodies: &[&str]) -> Vec<Value> {
    let dir = tempfile::tempdir().unwrap();
    let row = serde_json::json!({
        "task_id": "half", "entry_point": "half", "prompt": "def half(n):\n    \"\"\" Half of n. \"\"\"\n",
        "canonical_solution": "    return n / 2\n", "test": test
    });
    fs::write(dir.path().join("rows.jsonl"), row.to_string()).unwrap();
    done(dir.path(), &["tasks", "convert", "rows.jsonl", "--output", "tasks.jsonl"]);
    let item = |body: &&str| serde_json::json!({"id": "half", "completion": format!("def half(n):\n    {body}")});
    let items: String = bodies.iter().map(|body| format!("{}\n", item(body))).collect();
    let output = program(dir.path()).args(["judge", "--env", "tasks.jsonl"]).write_stdin(items).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let judged = String::from_utf8(output.stdout).unwrap();
    judged.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

#[test]
fn of_converted_asserts_a_wrong_answer_is_told_from_an_exception_of_the_program() {
    let expected = [
        ("return n / 2", "succeeded", 1.0),
        ("return n", "wrong_answer", 0.0),
        // No number can be subtracted from it.
        ("return None", "wrong_answer", 0.0),
        // What answers nothing earns less.
        ("return n / 0", "raised", -0.06),
        ("assert n > 5", "raised", -0.06),
        ("return [0.5][n - 1]", "raised", 0.0),
    ];
    let test = "def check(candidate):\n    for n in range(1, 4):\n        assert abs(candidate(n) - n / 2) < 1e-6\n";
    let judged = judged(test, &expected.map(|(body, ..)| body));
    assert_eq!(judged.len(), expected.len());
    for (found, (body, verdict, reward)) in judged.iter().zip(expected) {
        assert_eq!((&found["verdict"], &found["reward"]), (&verdict.into(), &reward.into()), "{body}: {found}");
    }
}

#[test]
fn tests_of_human_eval_have_what_stands_beside_them() {
    let test = "import math\n\ndef assertion(out, exp):\n    assert math.isclose(out, exp)\n\n\
        def check(candidate):\n    for n in range(1, 4):\n        assertion(candidate(n), n / 2)\n";
    let judged = judged(test, &["return n / 2", "return n"]);
    let verdicts: Vec<&str> = judged.iter().map(|found| found["verdict"].as_str().unwrap()).collect();
    assert_eq!(verdicts, ["succeeded", "wrong_answer"]);
}
