//! Tests of `check --grader`: a reward that can be cheated is caught by each of its leaks, one that cannot is clean.

use std::fs;
use std::io::Read;
use std::path::Path;
use std::process::{Command, Output, Stdio};

use serde_json::{Value, json};

use crate::program::{program, refused};
use crate::served::serve;

const TASKS: &str = r#"{"id":"double","prompt":"Write `double(x)`.","entry_point":"double","inputs":["(1,)","(2,)","(3,)","(4,)"],"reference":"def double(x):\n    return 2 * x"}
{"id":"sum","prompt":"Read numbers, print their sum.","inputs":["1 2\n","3 4\n","5 6\n"],"reference":"print(sum(map(int, input().split())))"}
"#;

/// Rewards as they are often written: the program runs in the trainer's own process, and its output is believed. A loop without
/// end is slept through, which gives as little an answer and leaves the processor to other tests.
const LEAKY: &str = r#"
import contextlib, io, math, sys, time


def source(text):
    return text.split("```python\n")[1].split("```")[0] if "```python" in text else ""


def printed(program, given):
    if "while True" in program:
        time.sleep(600)
    output, before = io.StringIO(), sys.stdin
    sys.stdin = io.StringIO(given)
    try:
        with contextlib.redirect_stdout(output):
            exec(program, {"__name__": "__main__"})
    except BaseException:
        pass
    finally:
        sys.stdin = before
    return output.getvalue()


def passed(text, asserts, inputs, outputs, entry_point):
    if entry_point:
        return "PASSED" in printed("\n".join([source(text), *asserts, "print('PASSED')"]), "")
    return all(printed(source(text), given).split() == output.split() for given, output in zip(inputs, outputs))


def reward(prompts, completions, asserts, inputs, outputs, entry_point, id):
    return [float(passed(*row)) for row in zip(completions, asserts, inputs, outputs, entry_point)]


def chat(completions, **columns):
    return reward(completions=[messages[-1]["content"] for messages in completions], **columns)


def choosy(completions, id, **columns):
    if "double" in id:
        raise KeyError("double")
    return reward(completions=completions, id=id, **columns)


def long(completions, **columns):
    with open("held", "w") as held:
        time.sleep(60)
        held.write("late")


def mean(completions, **columns):
    return [reward if text else math.nan for reward, text in zip(reward(completions=completions, **columns), completions)]


def words(completions, **columns):
    return [str(reward) for reward in reward(completions=completions, **columns)]


def odd(completions, **columns):
    raise ValueError("a\ud800")


class Silent(Exception):
    def __str__(self):
        raise KeyError


def silent(completions, **columns):
    raise Silent
"#;

fn tasks() -> tempfile::TempDir {
    let directory = tempfile::tempdir().unwrap();
    fs::write(directory.path().join("tasks.jsonl"), TASKS).unwrap();
    fs::write(directory.path().join("leaky.py"), LEAKY).unwrap();
    directory
}

fn check(directory: &Path, arguments: &[&str]) -> Output {
    program(directory).args(["--quiet", "check", "--env", "tasks.jsonl"]).args(arguments).output().unwrap()
}

/// The object of `--json`, and the exit code.
fn audited(directory: &Path, grader: &[&str]) -> (Value, Option<i32>) {
    audited_within("3", directory, grader)
}

/// The same of a grader that may take so many seconds for a completion.
fn audited_within(seconds: &str, directory: &Path, grader: &[&str]) -> (Value, Option<i32>) {
    let output = check(directory, &[&["--json", "--grader-seconds", seconds, "--grader"], grader].concat());
    let words = String::from_utf8_lossy(&output.stderr).into_owned();
    (serde_json::from_slice(&output.stdout).unwrap_or_else(|error| panic!("{error}: {words}")), output.status.code())
}

fn finding<'a>(object: &'a Value, check: &str) -> Vec<(&'a str, &'a str)> {
    let findings = object["findings"].as_array().unwrap().iter().filter(|finding| finding["check"] == check);
    findings.map(|finding| (finding["level"].as_str().unwrap(), finding["text"].as_str().unwrap())).collect()
}

/// Names of the cheats that earn more than doing nothing.
fn paid(object: &Value) -> Vec<&str> {
    let earned = object["earned"].as_array().unwrap().iter();
    let paid = earned.filter(|earned| earned["is_cheat"] == true && earned["paid"].as_u64() > Some(0));
    paid.map(|earned| earned["attempt"].as_str().unwrap()).collect()
}

/// A reward of which nothing runs until it is awaited.
const ASYNC: &str = "import asyncio\n\n\nasync def reward(completions, **columns):\n    await asyncio.sleep(0)\n    \
                     return [float('return 2 * x' in text) for text in completions]\n";

#[test]
fn a_reward_that_is_an_async_function_is_awaited_as_in_trl() {
    let directory = tasks();
    fs::write(directory.path().join("tasks.jsonl"), TASKS.lines().next().unwrap()).unwrap();
    fs::write(directory.path().join("later.py"), ASYNC).unwrap();
    let (object, code) = audited(directory.path(), &["later.py:reward"]);
    assert_eq!(code, Some(0), "{object}");
    assert_eq!(finding(&object, "references"), [("ok", "1 reference, each of which earns 1.00")]);
}

#[test]
fn a_reward_that_trusts_programs_in_its_own_process_is_caught() {
    let directory = tasks();
    let (object, code) = audited(directory.path(), &["leaky.py:reward"]);
    assert_eq!((code, object["level"].as_str()), (Some(2), Some("problem")), "{object}");
    let paid = paid(&object);
    for cheat in
        ["an object that equals everything", "a number that equals everything", "printing a report of passed tests"]
    {
        assert!(paid.contains(&cheat), "{cheat} is not among {paid:?}");
    }
    for honest in ["an endless loop", "emptying its arguments", "printing empty lines"] {
        assert!(!paid.contains(&honest), "{honest} is among {paid:?}");
    }
    assert_eq!(finding(&object, "references"), [("ok", "2 references, each of which earns 1.00")]);
    assert_eq!(finding(&object, "stubs")[0].0, "ok");
    let lost = finding(&object, "answers");
    let is_told = |words: &str| lost.iter().any(|(level, text)| *level == "problem" && text.contains(words));
    assert!(
        is_told("os._exit(0) leaves 2 of 2 tasks without a reward: its process ended without an answer, exit status 0"),
        "{lost:?}"
    );
    assert!(is_told("an endless loop leaves 2 of 2 tasks without a reward: no reward within 3 s"), "{lost:?}");
    // What a cheat has replaced is whole again for the next.
    assert!(object["earned"].as_array().unwrap().iter().filter(|earned| earned["lost"] == 0).count() > 40);

    // One task shows that completions come as messages.
    fs::write(directory.path().join("tasks.jsonl"), TASKS.lines().next().unwrap()).unwrap();
    let output = check(directory.path(), &["--grader-seconds", "3", "--grader", "leaky.py:chat", "--grader-chat"]);
    let text = String::from_utf8(output.stdout).unwrap();
    assert_eq!(output.status.code(), Some(2), "{text}");
    assert!(text.starts_with("tasks.jsonl through leaky.py:chat: "), "{text}");
    assert!(
        text.lines().any(|line| line.starts_with("an object that equals everything ") && line.ends_with("1 of 1")),
        "{text}"
    );
}

#[test]
fn a_judge_that_runs_programs_apart_is_clean() {
    let directory = tasks();
    // What has no end the judge ends itself, on a slow machine late. It is started for every attempt, which workers make dearer.
    let quick = "--env tasks.jsonl --sequential --set sandbox.game_seconds=0.1";
    let judge = format!("{} judge {quick}", env!("CARGO_BIN_EXE_grpo-2048"));
    let (object, code) = audited_within("60", directory.path(), &[&judge]);
    assert_eq!((code, object["level"].as_str(), paid(&object)), (Some(0), Some("ok"), Vec::new()), "{object}");
    assert_eq!(finding(&object, "answers"), [("ok", "every completion has an answer")]);
    assert_eq!((&object["full"], &object["tasks"]["to_mend"]), (&json!(1.0), &json!(0)));
}

#[test]
fn rewards_that_are_no_numbers_and_right_programs_that_are_not_paid_are_named() {
    let directory = tasks();
    let (object, code) = audited(directory.path(), &["leaky.py:mean"]);
    assert_eq!(code, Some(2));
    let [(level, text)] = finding(&object, "numbers")[..] else { panic!("{object}") };
    assert_eq!(level, "problem");
    assert!(text.starts_with("an empty completion earns NaN, as in 2 of "), "{text}");

    // Where nobody is paid, cheats are not either: that is no clean bill.
    let (object, code) = audited(directory.path(), &["while read -r line; do echo 0; done"]);
    let expected = "references earn 0.00 at most, doing nothing 0.00: that says nothing of cheats";
    assert_eq!((code, finding(&object, "references")), (Some(2), vec![("problem", expected)]));

    // A command that pays what has a multiplication, and nothing else.
    let command = r#"while read -r line; do case "$line" in *'2 * x'*) echo 1;; *) echo 0;; esac; done"#;
    let (object, code) = audited(directory.path(), &[command]);
    assert_eq!(code, Some(2));
    assert_eq!(finding(&object, "references"), [("problem", "the reference earns 0.00, others 1.00")]);
    assert_eq!(object["findings"][0]["place"]["task"], "sum");
}

#[test]
fn an_infinite_reward_of_a_reference_is_no_number_and_no_full_reward() {
    let directory = tasks();
    let command =
        r#"while read -r line; do case "$line" in *'2 * x'*) echo inf;; *'sum(map'*) echo 1;; *) echo 0;; esac; done"#;
    let (object, code) = audited(directory.path(), &[command]);
    assert_eq!(code, Some(2), "{object}");
    assert_eq!(finding(&object, "references"), [("problem", "the reference earns inf, which is no number")]);
    let [(level, text)] = finding(&object, "numbers")[..] else { panic!("{object}") };
    assert_eq!(level, "problem");
    assert!(text.starts_with("a reference earns inf, as in 1 of "), "{text}");

    // References are there, and a grader that is silent about all of them says nothing of cheats.
    let (object, code) = audited(directory.path(), &["while read -r line; do echo null; done"]);
    let silent = ("problem", "no reward for the reference, on purpose");
    assert_eq!((code, finding(&object, "references")), (Some(2), vec![silent; 2]));
}

#[test]
fn a_grader_ends_with_the_check_that_is_killed_while_it_waits() {
    for grader in ["read -r line; exec 3> held; sleep 60; echo late >&3", "leaky.py:long"] {
        let directory = tasks();
        let held = directory.path().join("held");
        assert!(Command::new("mkfifo").arg(&held).status().unwrap().success());
        let mut check = Command::new(env!("CARGO_BIN_EXE_grpo-2048"))
            .current_dir(directory.path())
            .args(["--quiet", "check", "--env", "tasks.jsonl", "--grader", grader, "--grader-seconds", "600"])
            .stdout(Stdio::null())
            .spawn()
            .unwrap();
        // The pipe opens when the grader does, and ends when the last process has closed it.
        let mut pipe = fs::File::open(&held).unwrap();
        check.kill().unwrap();
        check.wait().unwrap();
        let mut told = String::new();
        pipe.read_to_string(&mut told).unwrap();
        assert_eq!(told, "", "{grader}");
    }
}

#[test]
fn a_grader_that_fails_on_the_first_task_is_asked_about_the_others() {
    let directory = tasks();
    let (object, code) = audited(directory.path(), &["leaky.py:choosy"]);
    assert_eq!(code, Some(2));
    let expected = "no reward for the reference: it raised KeyError: 'double'";
    assert_eq!(finding(&object, "references"), [("problem", expected)]);
    assert_eq!(object["findings"][0]["place"]["task"], "double");
}

#[test]
fn a_honeypot_whose_reference_earns_nothing_is_no_right_program_that_is_not_paid() {
    const HONEYPOT: &str = r#"{"honeypot":true,"id":"trap","prompt":"Write `double(x)`.","entry_point":"double","tests":[{"args":"(1,)","expected":"7"},{"args":"(2,)","expected":"9"}],"reference":"def double(x):\n    return 2 * x"}"#;
    let directory = tasks();
    fs::write(directory.path().join("tasks.jsonl"), format!("{TASKS}{HONEYPOT}\n")).unwrap();
    let command = r#"while read -r line; do case "$line" in *'"id":"trap"'*) echo 0;; *'2 * x'*|*'sum(map'*) echo 1;; *) echo 0;; esac; done"#;
    let (object, _) = audited(directory.path(), &[command]);
    assert_eq!(finding(&object, "references"), [("ok", "2 references, each of which earns 1.00")]);
}

#[test]
fn tasks_of_which_no_grader_is_told_a_test_are_left_out_and_counted() {
    const CHECKED: &str = r#"{"id":"any","prompt":"Write `any_of(x)`.","entry_point":"any_of","checker":"def check():\n    x = yield ('any_of', 1)\n    return x == 1\n","reference":"def any_of(x):\n    return x"}"#;
    let directory = tasks();
    fs::write(directory.path().join("tasks.jsonl"), format!("{CHECKED}\n{TASKS}")).unwrap();
    // As `all([])` is true: what has no tests passes them all.
    let command = r#"while read -r line; do case "$line" in *'"inputs":[]'*|*'2 * x'*|*'sum(map'*) echo 1;; *) echo 0;; esac; done"#;
    let (object, code) = audited(directory.path(), &[command]);
    let left_out = "1 task left out: a checker or exceptions alone, of which no grader is told";
    assert_eq!((code, finding(&object, "tests")), (Some(0), vec![("warning", left_out)]), "{object}");
    assert_eq!(finding(&object, "references"), [("ok", "2 references, each of which earns 1.00")]);
    assert_eq!(finding(&object, "stubs")[0].0, "ok");

    fs::write(directory.path().join("tasks.jsonl"), CHECKED).unwrap();
    let output = check(directory.path(), &["--grader", command]);
    let words = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(2), "{words}");
    assert!(words.contains("no task has tests that a grader is told"), "{words}");
}

#[test]
fn a_server_is_asked_with_columns_and_one_that_pays_everything_is_found() {
    let directory = tasks();
    let url = serve(|_, columns| {
        let count = columns["completions"].as_array().unwrap().len();
        let names = ["prompts", "id", "entry_point", "inputs", "outputs", "asserts"];
        assert!(names.iter().all(|name| columns[name].as_array().unwrap().len() == count), "{columns}");
        (200, json!({ "rewards": vec![1; count] }).to_string())
    });
    let url = format!("{url}/reward");
    let (object, code) = audited(directory.path(), &[&url]);
    assert_eq!((code, paid(&object)), (Some(2), Vec::new()), "{object}");
    assert_eq!(finding(&object, "stubs"), [("problem", "doing nothing earns 1.00 at most: an empty completion")]);
}

#[test]
fn a_grader_that_cannot_be_asked_is_the_users_mistake() {
    let directory = tasks();
    let cases = [
        (
            vec!["--grader", "nowhere:reward"],
            "--grader nowhere:reward: exit status: 1: ModuleNotFoundError: No module named 'nowhere'",
        ),
        (vec!["--grader", "leaky.py:rewards"], "AttributeError: module 'leaky' has no attribute 'rewards'"),
        (vec!["--grader", "leaky.py:chat"], "no reward for the reference of double: it raised TypeError"),
        (vec!["--grader", "leaky.py:odd"], "no reward for the reference of double: it raised ValueError: a?"),
        (vec!["--grader", "leaky.py:words"], "reference of double: a reward is the text '1.0', and no number"),
        (vec!["--grader", "leaky.py:silent"], "no reward for the reference of double: it raised Silent"),
        (vec!["--grader", "./nowhere"], "no reward for the reference of double: exit status: 127"),
        (vec!["--grader", "true"], "it ended as if all were well, with 0 rewards for 1 completion"),
        (vec!["--grader", "echo PASSED"], "answered \"PASSED\", expected a reward"),
        (vec!["--grader", "http://127.0.0.1:9/"], "no reward for the reference of double: "),
        (vec!["--grader", "https://example.org/"], "expected http://"),
        (vec!["--grader", "cat", "--env", "2048"], "a grader is shown programs for tasks with tests"),
        (vec!["--grader", "cat", "--grader-seconds", "0"], "--grader-seconds"),
        (vec!["--grader-chat"], "--grader"),
    ];
    for (arguments, expected) in cases {
        let env = if arguments.contains(&"--env") { &[][..] } else { &["--env", "tasks.jsonl"] };
        let words = refused(directory.path(), &[&["--quiet", "check"][..], env, &arguments[..]].concat());
        assert!(words.contains(expected), "{arguments:?}: no {expected:?} in {words}");
    }
}
