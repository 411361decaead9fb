//! Runs the commands of the documents that take only seconds, exactly as they are written, and holds what they print.
//!
//! `INSTA_UPDATE=always cargo test --release --test rules running` writes the snapshot of what they print again.

use std::fs;
use std::path::Path;

use assert_cmd::cargo::cargo_bin_cmd;

use super::documents;
use super::tree::Tree;

/// The commands in their order, in a directory with the files that the documents mention. The snapshot holds the output of
/// those marked `true`; the others print a long text, or scores on boards that are drawn.
const TYPED: &[(&str, bool)] = &[
    ("grpo-2048 config", false),
    ("grpo-2048 corpus --style chance", false),
    ("grpo-2048 tasks new mine", true),
    ("grpo-2048 check --env mine", true),
    ("grpo-2048 score --env mine solution.py", true),
    ("grpo-2048 score my_player.py --games 20", false),
    ("grpo-2048 judge --env examples/tasks/micro.jsonl < completions.jsonl", true),
    ("grpo-2048 tasks convert mbpp.jsonl", true),
];

#[test]
fn commands_that_take_seconds_do_what_they_should() {
    let tree = Tree::read();
    let documents = documents(&tree);
    let said: Vec<String> = documents.iter().flat_map(|document| document.commands()).map(|(_, line)| line).collect();
    let place = tempfile::tempdir().unwrap();
    furnish(place.path(), tree.root());
    let mut session = String::new();
    for (typed, is_held) in TYPED {
        let is_it = |line: &String| line.split(" #").next().unwrap().trim() == *typed;
        assert!(said.iter().any(is_it), "no document says to type: {typed}");
        let (command, input) = typed.split_once(" < ").map_or((*typed, None), |(command, file)| (command, Some(file)));
        let mut program = cargo_bin_cmd!("grpo-2048");
        program.current_dir(place.path()).env("NO_COLOR", "1").args(command.split(' ').skip(1));
        if let Some(file) = input {
            program.pipe_stdin(place.path().join(file)).unwrap();
        }
        let output = program.output().unwrap();
        let words = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success() && !output.stdout.is_empty(), "{typed}: {}\n{words}", output.status);
        if *is_held {
            session.push_str(&format!("$ {typed}\n{}\n", without_seconds(&String::from_utf8(output.stdout).unwrap())));
        }
    }
    let mut settings = insta::Settings::clone_current();
    settings.set_prepend_module_to_snapshot(false);
    settings.set_omit_expression(true);
    settings.bind(|| insta::assert_snapshot!("session", session));
    let lines = fs::read_to_string(place.path().join("mine/tasks.jsonl")).unwrap().lines().count();
    assert_eq!(lines, 10, "`tasks new` writes ten tasks");
}

/// The lines, with dots for the seconds at their ends, which differ from run to run.
fn without_seconds(said: &str) -> String {
    let line = |line: &str| match line.rsplit_once(" (").filter(|(_, end)| end.ends_with(" s)")) {
        Some((before, _)) => format!("{before} (... s)\n"),
        None => format!("{line}\n"),
    };
    said.lines().map(line).collect()
}

/// The files of a reader: the examples of the repository and the reader's own.
fn furnish(place: &Path, root: &Path) {
    let write = |name: &str, text: &str| fs::write(place.join(name), text).unwrap();
    fs::create_dir_all(place.join("examples/tasks")).unwrap();
    fs::copy(root.join("examples/tasks/micro.jsonl"), place.join("examples/tasks/micro.jsonl")).unwrap();
    fs::copy(root.join("crates/verify/src/environment/game2048/ladder/greedy.py"), place.join("my_player.py")).unwrap();
    write("solution.py", "def middle(values):\n    return sorted(values)[len(values) // 2]\n");
    write("completions.jsonl", "{\"id\": \"add\", \"completion\": \"def add(a, b): return a + b\"}\n");
    let row = r#"{"task_id": 1, "text": "Write a function to add two numbers.", "code": "def add(a, b):\n    return a + b",
        "test_list": ["assert add(1, 2) == 3", "assert add(5, 7) == 12"], "test_setup_code": ""}"#;
    write("mbpp.jsonl", &format!("{}\n", row.replace('\n', " ")));
}
