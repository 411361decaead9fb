//! Tests of `check` for a file of tasks: errors are reported with their place, and not any more when they are
//! corrected.

use std::fs;
use std::path::Path;

use serde_json::Value;

use crate::program::{printed, ran};

const TASKS: &str = include_str!("tasks/check.jsonl");

fn check(directory: &Path, arguments: &[&str]) -> (Option<i32>, String, String) {
    ran(directory, &[&["check"], arguments].concat())
}

/// With a budget that references need a fraction of, and cheats without an end use up.
const QUICK: [&str; 4] = ["--env", "tasks.jsonl", "--set", "train.game_seconds=0.1"];

#[test]
fn tasks_are_mended_by_what_the_check_says() {
    let dir = tempfile::tempdir().unwrap();
    fs::write(dir.path().join("tasks.jsonl"), TASKS).unwrap();
    let (code, text, _) = check(dir.path(), &QUICK);
    assert_eq!(code, Some(2), "{text}");
    for words in [
        "tasks.jsonl: 3 tasks (3 functions), 12 tests",
        "references   tasks.jsonl:2 (square): the reference fails test 3 of 4: square(5) gave 25, expected 26",
        "references   tasks.jsonl:3 (third): the reference fails test 3 of 4: third([1, 2]): IndexError",
        "-> correct the reference, or what the test expects",
        "38 cheats earn nothing",
    ] {
        assert!(text.contains(words), "{words}\nis not in\n{text}");
    }
    assert!(text.lines().last().unwrap().starts_with("3 tasks: 1 in order, 2 to mend ("), "{text}");

    let (code, text, said) = check(dir.path(), &[&QUICK[..], &["--json", "--keep", "rest.jsonl"]].concat());
    assert_eq!(code, Some(2));
    assert!(said.contains("rest.jsonl: 1 of 3 tasks, without square, third"), "{said}");
    let rest = fs::read_to_string(dir.path().join("rest.jsonl")).unwrap();
    assert_eq!(rest, format!("{}\n", TASKS.lines().next().unwrap()), "the line as it was");
    let object: Value = serde_json::from_str(&text).unwrap();
    assert_eq!((&object["level"], &object["tasks"]["to_mend"]), (&"problem".into(), &2.into()));
    assert_eq!(object["findings"][0]["place"]["line"], 2);

    fs::write(dir.path().join("tasks.jsonl"), TASKS.replace("26", "25").replace("[1, 2],", "[1, 2, 0],")).unwrap();
    let (code, text, _) = check(dir.path(), &QUICK);
    assert_eq!(code, Some(0), "{text}");
    assert!(text.lines().last().unwrap().starts_with("3 tasks in order ("), "{text}");
}

#[test]
fn a_prelude_that_fails_by_itself_stops_check_and_score_as_wrong_input_and_names_its_task() {
    let dir = tempfile::tempdir().unwrap();
    let task = serde_json::json!({"id": "half", "prompt": "Halve.", "entry_point": "half", "prelude": "import math\n1 / 0",
        "tests": [{"args": "(4,)", "expected": "2"}], "shown": 0});
    fs::write(dir.path().join("tasks.jsonl"), task.to_string()).unwrap();
    fs::write(dir.path().join("half.py"), "def half(x):\n    return x // 2\n").unwrap();
    let expected =
        "tasks.jsonl: line 1 (half): the prelude fails by itself: ZeroDivisionError: division by zero (line 2)";
    let (code, text, _) = check(dir.path(), &["--env", "tasks.jsonl"]);
    assert!(code == Some(2) && text.contains(expected), "{text}");
    // Whatever else is wrong with the tasks is not known then.
    let (code, _, said) = check(dir.path(), &["--env", "tasks.jsonl", "--keep", "rest.jsonl"]);
    let nothing = format!("--keep rest.jsonl: nothing is written, since the check ended at {expected}");
    assert!(code == Some(2) && said.contains(&nothing), "{said}");
    assert!(!dir.path().join("rest.jsonl").exists());
    let (code, _, said) = ran(dir.path(), &["score", "half.py", "--env", "tasks.jsonl"]);
    assert!(code == Some(2) && said.contains(expected), "{said}");
}

#[test]
fn what_a_reference_does_not_answer_is_named_with_the_way_to_use_the_rest() {
    let dir = tempfile::tempdir().unwrap();
    let task = |id: &str, body: &str| {
        format!(
            r#"{{"id":"{id}","prompt":"P.","entry_point":"f","inputs":["(1,)","(2,)","(5,)"],"reference":"def f(x):\n    {body}"}}"#
        )
    };
    let good = task("good", "return 2 * x");
    fs::write(dir.path().join("tasks.jsonl"), format!("\n{}\n{good}\n", task("slow", "while x > 1: pass"))).unwrap();
    fs::write(dir.path().join("f.py"), "def f(x):\n    return 2 * x\n").unwrap();
    let score = |env: &str| ran(dir.path(), &["score", "--env", env, "--task", "good", "f.py"]);
    let (code, _, said) = score("tasks.jsonl");
    assert_eq!(code, Some(2), "{said}");
    assert!(said.contains("tasks.jsonl:2 (slow): the reference fails on test 2: "), "{said}");
    assert!(said.contains("`grpo-2048 check --env tasks.jsonl --keep FILE` tells of all"), "{said}");
    let (_, _, said) = check(dir.path(), &["--env", "tasks.jsonl", "--keep", "rest.jsonl"]);
    assert!(said.contains("rest.jsonl: 1 of 2 tasks, without slow"), "{said}");
    assert_eq!(fs::read_to_string(dir.path().join("rest.jsonl")).unwrap(), format!("{good}\n"));
    assert_eq!(score("rest.jsonl").0, Some(0));

    for (arguments, words) in [
        (["--env", "tasks.jsonl", "--keep", "tasks.jsonl"], "--keep tasks.jsonl: that is the file to check"),
        (
            ["--env", "tasks.jsonl", "--keep", "nowhere/rest.jsonl"],
            "--keep nowhere/rest.jsonl: no such directory: nowhere",
        ),
        (["--env", "tasks.jsonl", "--keep", "."], "--keep .: is a directory"),
        (["--env", "2048", "--keep", "rest.jsonl"], "--keep rest.jsonl: 2048 has no tasks that could be kept"),
    ] {
        let (code, _, said) = check(dir.path(), &arguments);
        assert!(code == Some(2) && said.contains(words), "{said}");
    }
}

#[test]
fn a_game_shows_its_ladder_and_2048_too() {
    for (env, player) in [("2048", "monotone"), (concat!(env!("CARGO_MANIFEST_DIR"), "/examples/snake.py"), "rank 4")] {
        let (code, text, _) = check(Path::new("."), &["--env", env]);
        assert_eq!(code, Some(0), "{text}");
        assert!(text.lines().any(|line| line.starts_with(player) && line.contains('\u{2501}')), "{text}");
        assert!(text.lines().last().unwrap().starts_with("the reward is in order"), "{text}");
    }
    // Its programs have the time of training games.
    let idle = ["--env", "2048", "--set", "sandbox.game_seconds=2", "--set", "train.game_seconds=2"];
    let said = check(Path::new("."), &idle).2;
    let expected = "warning: --set sandbox.game_seconds=2: no effect; `check` does not read sandbox.game_seconds, as ";
    assert!(said.contains(expected) && said.contains("; say train.game_seconds"), "{said}");
    assert!(!said.contains("--set train"), "{said}");
    let (code, _, said) = check(Path::new("."), &["--env", "nowhere.jsonl"]);
    assert!(code == Some(2) && said.contains("nowhere.jsonl"), "{said}");
}

/// Tasks whose references import what is not a part of the interpreter's first snapshot.
const LIBRARIES: &str = include_str!("tasks/libraries.jsonl");

#[test]
fn references_import_the_library_and_numpy_and_are_judged_alike_by_one_worker_and_by_eight() {
    let dir = tempfile::tempdir().unwrap();
    fs::write(dir.path().join("tasks.jsonl"), LIBRARIES).unwrap();
    let (code, text, _) = check(dir.path(), &QUICK);
    assert_eq!(code, Some(0), "{text}");
    assert!(text.contains("2 references, each of which passes all tests of its task"), "{text}");

    let sums = "import numpy as np\n\ndef column_sums(m):\n    return np.array(m).sum(axis=0)\n";
    let wrong = "import numpy as np\n\ndef column_sums(m):\n    return np.array(m).sum(axis=1)\n";
    fs::write(dir.path().join("sums.py"), sums).unwrap();
    fs::write(dir.path().join("wrong.py"), wrong).unwrap();
    let judged = ["1", "8"].map(|workers| {
        let flags = ["--env", "tasks.jsonl", "--task", "column_sums", "--json", "--parallel-rewards", workers];
        printed(dir.path(), &[&["score", "sums.py", "wrong.py"][..], &flags].concat())
    });
    assert_eq!(judged[0], judged[1]);
    assert!(judged[0].contains("\"passed\"") && judged[0].contains("\"wrong_answer\""), "{}", judged[0]);
}

/// A task that compares types, the same without, and one whose programs have numpy whatever they say.
const ARRAYS: &str = r#"{"id":"typed","prompt":"Double.","entry_point":"f","array_types":true,"inputs":["([1, 2],)","([3],)","([],)"],"tests":[{"args":"([7],)","expected":"('int64', (1,), [14])"}],"reference":"import numpy\ndef f(xs):\n    return 2 * numpy.array(xs, int)"}
{"id":"plain","prompt":"Double.","entry_point":"f","inputs":["([1, 2],)","([3],)","([],)"],"reference":"def f(xs):\n    return [2 * x for x in xs]"}
{"id":"given","prompt":"Double.","entry_point":"f","modules":["numpy"],"inputs":["([1, 2],)","([3],)","([],)"],"reference":"def f(xs):\n    return [2 * x for x in xs]"}
"#;

#[test]
fn the_types_and_shapes_of_arrays_are_compared_where_a_task_says_so() {
    let dir = tempfile::tempdir().unwrap();
    fs::write(dir.path().join("tasks.jsonl"), ARRAYS).unwrap();
    let hides = "m = __import__('num' + 'py')\n\ndef f(xs):\n    return 2 * m.array(xs, int)\n";
    for (name, text) in [
        ("int.py", "import numpy\n\ndef f(xs):\n    return 2 * numpy.array(xs, int)\n"),
        ("float.py", "import numpy\n\ndef f(xs):\n    return 2.0 * numpy.array(xs, float)\n"),
        ("rows.py", "import numpy\n\ndef f(xs):\n    return 2 * numpy.array(xs, int).reshape(-1, 1)\n"),
        ("hides.py", hides),
    ] {
        fs::write(dir.path().join(name), text).unwrap();
    }
    let passed = |task: &str| {
        let flags = ["--env", "tasks.jsonl", "--task", task, "--json"];
        let text = printed(dir.path(), &[&["score", "int.py", "float.py", "rows.py", "hides.py"], &flags[..]].concat());
        let programs: Vec<&str> = text.lines().filter(|line| line.contains(".py")).collect();
        assert_eq!(programs.len(), 4, "{text}");
        programs.iter().map(|line| line.contains("\"succeeded\"")).collect::<Vec<_>>()
    };
    assert_eq!(passed("typed"), [true, false, false, true], "numpy is there for what compares its types");
    assert_eq!(passed("plain"), [true, true, false, false]);
    assert_eq!(passed("given"), [true, true, false, true]);
}
