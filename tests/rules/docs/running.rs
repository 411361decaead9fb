//! Runs the commands of the documents, in the order of a reader's afternoon and in one directory, and holds what the shorter ones
//! print.
//!
//! `INSTA_UPDATE=always cargo test --release --test rules running` writes the snapshot of what they print again.

use std::fs;
use std::path::Path;
use std::process::{Command, Output};

use super::DOCUMENTS;
use super::markdown::Document;
use crate::{assert_none, chat_model, read, root};

/// Flags that make a step of minutes one of a second.
const SHORT: &str =
    "--groups 1 --num-generations 2 --sequential --set train.eval_samples=0 --set train.preflight=false";
const FEW_TOKENS: &str = "--max-completion-length 24";
const FEW_TOKENS_SET: &str = "--set rollout.max_completion_length=24";
const WARM: &str = "--lora-r 4 --total-tokens 2048 --set sft.batch_tokens=1024";

/// A command as the documents have it, up to its comment.
pub struct Typed {
    pub said: &'static str,
    /// What is typed in place of parts of it; they differ in digits alone.
    fewer: &'static [(&'static str, &'static str)],
    /// Flags that are typed behind it.
    also: &'static [&'static str],
    /// Whether the snapshot has what it prints; other commands print a long text, times, or scores on boards that are drawn.
    is_held: bool,
}

const fn held(said: &'static str) -> Typed {
    Typed { said, fewer: &[], also: &[], is_held: true }
}

const fn run(said: &'static str) -> Typed {
    Typed { said, fewer: &[], also: &[], is_held: false }
}

/// A command that the snapshot has, with more flags.
const fn held_with(said: &'static str, also: &'static [&'static str]) -> Typed {
    Typed { said, fewer: &[], also, is_held: true }
}

/// A command of minutes or hours with smaller numbers and more flags.
const fn short(
    said: &'static str,
    fewer: &'static [(&'static str, &'static str)],
    also: &'static [&'static str],
) -> Typed {
    Typed { said, fewer, also, is_held: false }
}

pub const TYPED: &[Typed] = &[
    run("grpo-2048 config"),
    run("grpo-2048 corpus --style chance"),
    held("grpo-2048 check --env examples/bin_packing/evaluator.py"),
    held(
        "grpo-2048 score --env examples/bin_packing/evaluator.py --games 8 --seed 0 examples/bin_packing/initial_program.py",
    ),
    held("grpo-2048 tasks new mine"),
    held("grpo-2048 tasks show mine count_words"),
    // Programs without an end use up all of their budget.
    held_with("grpo-2048 check --env mine", &["--set train.game_seconds=0.1"]),
    held("grpo-2048 score --env mine solution.py"),
    held("grpo-2048 judge --env examples/tasks/micro.jsonl < completions.jsonl"),
    held("grpo-2048 judge --env tasks.jsonl < completions.jsonl"),
    held("grpo-2048 tasks convert mbpp.jsonl"),
    held("grpo-2048 tasks honeypot tasks.jsonl"),
    short("grpo-2048 check --env tasks.honeypots.jsonl", &[], &["--set train.game_seconds=0.1"]),
    run("grpo-2048 score my_player.py --games 20"),
    held("grpo-2048 score mine.py --explain"),
    run("grpo-2048 score mine.py --tier interpreter"),
    run("grpo-2048 play my_player.py theirs.py"),
    // The built-in model.
    short("grpo-2048 train --steps 60 --seed 7", &[("--steps 60", "--steps 1")], &[SHORT, FEW_TOKENS]),
    short("grpo-2048 train --resume latest --steps 400", &[("--steps 400", "--steps 2")], &[]),
    short(
        "grpo-2048 train --sequential --steps 2",
        &[("--steps 2", "--steps 1")],
        &["--groups 1 --num-generations 2 --set train.eval_samples=0 --set train.preflight=false", FEW_TOKENS],
    ),
    short(
        "grpo-2048 train --env examples/tasks/moves.jsonl --seed 1 --steps 30 --output-dir runs/right",
        &[("--steps 30", "--steps 1")],
        &[SHORT, FEW_TOKENS],
    ),
    short(
        "grpo-2048 train --env examples/tasks/moves.jsonl --seed 1 --steps 30 --set reward.fuel_bonus=1 --output-dir runs/fuel",
        &[("--steps 30", "--steps 1")],
        &[SHORT, FEW_TOKENS],
    ),
    short("grpo-2048 train --set sandbox.tier=interpreter", &[], &["--steps 1", SHORT, FEW_TOKENS]),
    short("grpo-2048 train --steps 2 --trace step.json", &[], &[SHORT, FEW_TOKENS]),
    run("grpo-2048 report runs/train-001"),
    short(
        "grpo-2048 eval --model runs/train-001/checkpoint-100 --against builtin",
        &[("checkpoint-100", "checkpoint-1")],
        &["--samples 2", FEW_TOKENS_SET],
    ),
    short("grpo-2048 eval --model runs/train-001 --boards published", &[], &["--samples 2", FEW_TOKENS_SET]),
    // A language model M.
    short("grpo-2048 sft --model M --output-dir warm", &[], &[WARM, "--set sft.eval_samples=0"]),
    short("grpo-2048 train --preset games --model M --adapter warm --dry-run", &[], &["--set train.preflight=false"]),
    short("grpo-2048 train --preset games --model M --adapter warm", &[], &["--steps 1", SHORT, FEW_TOKENS]),
    run("grpo-2048 export --run latest --merge --output-dir player"),
    short("grpo-2048 train --env mine --model M", &[], &["--steps 1", SHORT, FEW_TOKENS]),
    short("grpo-2048 eval --env mine --model M", &[], &["--samples 1", FEW_TOKENS_SET]),
    short("grpo-2048 train --env tasks.honeypots.jsonl --model M", &[], &["--steps 1", SHORT, FEW_TOKENS]),
    short(
        "grpo-2048 train --env tasks.jsonl --model M --turns 3 --max-completion-length 2000",
        &[("length 2000", "length 60")],
        &["--steps 1", SHORT],
    ),
    short("grpo-2048 eval --env tasks.jsonl --model latest --turns 3", &[], &["--samples 1", FEW_TOKENS_SET]),
    short(
        "grpo-2048 sft --env tasks.jsonl --model M --turns 2 --output-dir repairs",
        &[],
        &[WARM, "--set sft.eval_samples=0"],
    ),
    short(
        "grpo-2048 train --env tasks.jsonl --model M --adapter repairs --turns 2",
        &[],
        &["--steps 1", SHORT, "--max-completion-length 60"],
    ),
    short(
        "grpo-2048 sft --env examples/tasks/told.jsonl --model M --turns 2 --total-tokens 25000 --output-dir told",
        &[("--total-tokens 25000", "--total-tokens 2048")],
        &["--lora-r 4", "--set sft.batch_tokens=1024 --set sft.eval_samples=0"],
    ),
    short(
        "grpo-2048 train --env examples/tasks/told.jsonl --model M --adapter told --turns 2 --groups 4 --num-generations 8 \
         --max-completion-length 160 --learning-rate 1e-4 --steps 16 --seed 1",
        &[
            ("--groups 4 --num-generations 8", "--groups 1 --num-generations 2"),
            ("--max-completion-length 160", "--max-completion-length 60"),
            ("--steps 16", "--steps 1"),
        ],
        &["--sequential --set train.eval_samples=0 --set train.preflight=false"],
    ),
];

impl Typed {
    /// The line that is run.
    fn line(&self) -> String {
        let mut line = self.said.to_owned();
        for (long, short) in self.fewer {
            let without_digits = |text: &str| text.chars().filter(|c| !c.is_ascii_digit()).collect::<String>();
            assert_eq!(without_digits(long), without_digits(short));
            assert!(line.contains(long), "{line}: no {long} in it");
            line = line.replace(long, short);
        }
        [&[line.as_str()], self.also].concat().join(" ")
    }
}

/// A command without its comment, with single spaces.
pub fn bare(line: &str) -> String {
    line.split(" #").next().unwrap().split_whitespace().collect::<Vec<_>>().join(" ")
}

#[test]
fn commands_of_the_documents_do_what_they_should() {
    let said: Vec<String> = DOCUMENTS.iter().flat_map(Document::commands).map(|piece| bare(&piece.text)).collect();
    let place = tempfile::tempdir().unwrap();
    furnish(place.path());
    let (mut session, mut wrong) = (String::new(), Vec::new());
    for typed in TYPED {
        assert!(said.iter().any(|line| line == typed.said), "no document says to type: {}", typed.said);
        let output = shell(place.path(), &typed.line());
        let words = String::from_utf8_lossy(&output.stderr);
        if !output.status.success() || output.stdout.is_empty() && words.is_empty() {
            wrong.push(format!("{}: {}\n{words}", typed.line(), output.status));
        }
        if typed.is_held {
            let printed = without_seconds(&String::from_utf8(output.stdout).unwrap());
            session.push_str(&format!("$ {}\n{printed}\n", typed.said));
        }
    }
    assert_none(wrong);
    let mut settings = insta::Settings::clone_current();
    settings.set_prepend_module_to_snapshot(false);
    settings.set_omit_expression(true);
    settings.bind(|| insta::assert_snapshot!("session", session));
    let lines = fs::read_to_string(place.path().join("mine/tasks.jsonl")).unwrap().lines().count();
    assert_eq!(lines, 10, "`tasks new` writes ten tasks");
    every_file_of_a_run_is_told(place.path());
}

/// The first block of a language in a document.
fn block(path: &str, language: &str) -> &'static str {
    let page = DOCUMENTS.iter().find(|document| document.path == path).unwrap_or_else(|| panic!("no {path}"));
    &page.blocks.iter().find(|block| block.language == language).unwrap_or_else(|| panic!("{path}: no {language}")).text
}

/// What the judge says of completions of a task, as their verdicts.
fn verdicts(place: &Path, task: &serde_json::Value, completions: &[&str]) -> Vec<String> {
    fs::write(place.join("one.jsonl"), format!("{task}\n")).unwrap();
    let item = |text: &&str| serde_json::json!({"id": task["id"], "completion": text}).to_string() + "\n";
    fs::write(place.join("items.jsonl"), completions.iter().map(item).collect::<String>()).unwrap();
    let output = shell(place, "grpo-2048 judge --env one.jsonl items.jsonl");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let verdict =
        |line: &str| serde_json::from_str::<serde_json::Value>(line).unwrap()["verdict"].as_str().unwrap().into();
    String::from_utf8(output.stdout).unwrap().lines().map(verdict).collect()
}

#[test]
fn the_checker_of_the_documents_tells_right_from_wrong() {
    let place = tempfile::tempdir().unwrap();
    let checker = block("docs/tasks.md", "python");
    let task = serde_json::json!({"id": "codec", "prompt": "Write `encode(text)` and `decode(packed)`.", "entry_point": "encode",
        "checker": checker});
    let decode = "def decode(packed):\n    if packed is None:\n        raise TypeError\n    return packed\n";
    let right = format!("def encode(text):\n    return text\n{decode}");
    let wrong = format!("def encode(text):\n    return text[:2]\n{decode}");
    let silent = right.replace("raise TypeError", "return ''");
    let wrapped = right.replace("return text", "return [text]").replace("return packed", "return packed[0]");
    let said = verdicts(place.path(), &task, &[&right, &wrong, &silent, &wrapped]);
    assert_eq!(said, ["succeeded", "wrong_answer", "wrong_answer", "wrong_answer"]);
}

#[test]
fn the_task_of_the_skill_is_one() {
    let place = tempfile::tempdir().unwrap();
    let text = block("skills/grpo-2048-tasks/SKILL.md", "json");
    let task: serde_json::Value = serde_json::from_str(text).unwrap();
    let reference = task["reference"].as_str().unwrap();
    assert_eq!(
        verdicts(place.path(), &task, &[reference, "def runs(xs):\n    return 1"]),
        ["succeeded", "wrong_answer"]
    );
}

/// docs/results.md shows a program that a run wrote, and what it makes over so many boards.
fn the_program_makes_what_the_results_say(boards: usize) {
    let place = tempfile::tempdir().unwrap();
    fs::write(place.path().join("best.py"), block("docs/results.md", "python")).unwrap();
    let output = shell(place.path(), &format!("grpo-2048 score best.py --games {boards} --seed 2048 --json"));
    let said: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    let page = read("docs/results.md");
    let before = page.split_once(&format!(" points a game over {boards} boards")).expect("a figure").0;
    let told = before.rsplit(char::is_whitespace).next().unwrap();
    assert_eq!(told.replace(',', ""), format!("{:.0}", said["mean_score"].as_f64().unwrap()));
}

#[test]
fn the_program_of_the_results_makes_what_they_say_of_its_first_boards() {
    the_program_makes_what_the_results_say(20);
}

#[test]
#[ignore = "most of a minute of a processor; `make proofs` runs it"]
fn the_program_of_the_results_makes_what_they_say_of_all_boards() {
    the_program_makes_what_the_results_say(200);
}

/// Runs a line of a shell in `place`, with the program on its path.
fn shell(place: &Path, line: &str) -> Output {
    let program = assert_cmd::cargo::cargo_bin!("grpo-2048");
    let path = format!("{}:{}", program.parent().unwrap().display(), std::env::var("PATH").unwrap());
    let mut shell = Command::new("sh");
    shell.args(["-c", line]).current_dir(place).env("PATH", path).env("NO_COLOR", "1").env_remove("RUST_LOG");
    shell.output().unwrap()
}

/// docs/runs.md lists a run's files. The run of this session has the listed ones, but for those of games that were played
/// well, of differences and of GPUs, and no other.
fn every_file_of_a_run_is_told(place: &Path) {
    let page = DOCUMENTS.iter().find(|document| document.path == "docs/runs.md").unwrap();
    let listing = page.blocks.iter().find(|block| block.text.starts_with("runs/train-001/")).expect("a listing");
    let entries = listing.text.lines().filter_map(|line| line.strip_prefix("  "));
    let entries = entries.filter(|line| !line.starts_with(' ')).map(|line| line.split("  ").next().unwrap());
    let listed: Vec<&str> = entries.flat_map(|names| names.split(", ")).collect();
    assert!(listed.len() > 8, "{listed:?}");
    let digits = |name: &str| name.chars().filter(|c| !c.is_ascii_digit()).collect::<String>();
    let first = |name: &str| digits(name.split('/').next().unwrap());
    for run in fs::read_dir(place.join("runs")).unwrap() {
        for entry in fs::read_dir(run.unwrap().path()).unwrap() {
            let name = entry.unwrap().file_name().into_string().unwrap();
            let is_told = name.starts_with('.')
                || listed.iter().any(|listed| first(listed) == digits(&name))
                || name == "report.html";
            assert!(is_told, "{name}: in a run, and not in docs/runs.md: {listed:?}");
        }
    }
}

/// The lines, with dots for the seconds at their ends, which differ from run to run.
fn without_seconds(said: &str) -> String {
    let line = |line: &str| match line.rsplit_once(" (").filter(|(_, end)| end.ends_with(" s)")) {
        Some((before, _)) => format!("{before} (... s)\n"),
        None => format!("{line}\n"),
    };
    said.lines().map(line).collect()
}

/// The files of a reader: the examples of the repository, tasks and a checker that documents show, and the reader's own.
fn furnish(place: &Path) {
    let write = |name: &str, text: &str| fs::write(place.join(name), text).unwrap();
    let copy = |from: &str, to: &str| fs::copy(root().join(from), place.join(to)).unwrap();
    fs::create_dir_all(place.join("examples/tasks")).unwrap();
    fs::create_dir_all(place.join("examples/bin_packing")).unwrap();
    for file in ["evaluator.py", "initial_program.py"] {
        let path = format!("examples/bin_packing/{file}");
        copy(&path, &path);
    }
    for file in ["micro.jsonl", "moves.jsonl", "told.jsonl"] {
        let path = format!("examples/tasks/{file}");
        copy(&path, &path);
    }
    for player in ["my_player.py", "mine.py"] {
        copy("crates/environment/src/game2048/ladder/greedy.py", player);
    }
    write("theirs.py", "def strategy(board):\n    return \"W\"\n");
    write("solution.py", "def middle(values):\n    return sorted(values)[len(values) // 2]\n");
    write("completions.jsonl", "{\"id\": \"add\", \"completion\": \"def add(a, b): return a + b\"}\n");
    write("tasks.jsonl", block("docs/tasks.md", "jsonl"));
    let row = r#"{"task_id": 1, "text": "Write a function to add two numbers.", "code": "def add(a, b):\n    return a + b",
        "test_list": ["assert add(1, 2) == 3", "assert add(5, 7) == 12"], "test_setup_code": ""}"#;
    write("mbpp.jsonl", &format!("{}\n", row.replace('\n', " ")));
    chat_model::write_model(&place.join("M"), Some(chat_model::CHATML));
}
