//! Tests of the messages of commands: none with --quiet, colours if requested, and no plural after a 1.

use std::fs;
use std::path::Path;
use std::process::Output;

use assert_cmd::Command;

use crate::chat_model::{CHATML, write_model};
use crate::program;

/// The program, which chooses itself whether it colours.
fn program(directory: &Path) -> Command {
    let mut command = program::program(directory);
    for name in program::COLOURS {
        command.env_remove(name);
    }
    command
}

/// Makes the built-in model.
const FROM_NOTHING: &str = "sft --output-dir made --total-tokens 2048";

/// Commands in an order in which each finds the files that it needs, with minimal amounts of work. `doctor` takes seconds to
/// measure the machine: its own tests look at what it says.
const COMMANDS: &[&str] = &[
    "train --config trl.yaml --output-dir run --groups 1 --games 1 --set train.eval_samples=1 --set train.eval_games=1 \
     --set rollout.max_completion_length=250 --set sandbox.game_seconds=0.05",
    "train --dry-run --steps 1 --groups 1 --num-generations 2 --set train.eval_samples=0 --set train.preflight=false",
    "train --sequential --output-dir debug --steps 1 --groups 1 --num-generations 2 --set train.preflight=false \
     --set train.eval_samples=0 --set sandbox.game_seconds=0.05 --set rollout.max_completion_length=24",
    "train --resume run --steps 1",
    "sft --model base --lora-r 4 --output-dir warm --total-tokens 2048 --set sft.eval_samples=1",
    FROM_NOTHING,
    "eval --samples 1 --games 1 --report-games 1 --set sandbox.game_seconds=0.05",
    "eval --model run --samples 1 --games 1 --report-games 0 --baselines none --set sandbox.game_seconds=0.05",
    "score player.py --games 1 --set sandbox.game_seconds=0.05",
    "judge request.jsonl",
    "play player.py",
    "check --env task.jsonl --set train.game_seconds=0.1",
    "tasks convert row.jsonl --output converted.jsonl",
    "export --run run --merge --output-dir exported",
    "export-completions run --output completions.csv",
    "report run",
];

fn prepared(directory: &Path) {
    write_model(&directory.join("base"), Some(CHATML));
    let tasks = fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/examples/tasks/micro.jsonl")).unwrap();
    let player = "def strategy(board):\n    return 'W'\n";
    let request = serde_json::json!({ "id": "one", "completion": format!("```python\n{player}```"), "seed": 1 });
    let code = "def pair(a, b):\n    return (a, b)";
    let row = serde_json::json!({ "task_id": 7, "text": "Join a pair.", "code": code, "test_list": ["assert pair(1, 2) == (1, 2)"] });
    for (name, text) in [
        ("task.jsonl", format!("{}\n", tasks.lines().next().unwrap())),
        ("trl.yaml", "num_generations: 2\nmax_steps: 1\n".to_owned()),
        ("player.py", player.to_owned()),
        ("request.jsonl", format!("{request}\n")),
        ("row.jsonl", format!("{row}\n")),
    ] {
        fs::write(directory.join(name), text).unwrap();
    }
}

fn ran(directory: &Path, command: &str, more: &[&str]) -> Output {
    let output = program(directory).args(command.split_whitespace()).args(more).output().unwrap();
    assert!(output.status.success(), "{command}: {}", String::from_utf8_lossy(&output.stderr));
    output
}

/// Words ending in s that may follow a 1.
const SINGULAR: &[&str] = &["s", "is", "has", "was", "plays", "replays", "earns", "of"];

/// Finds a 1 that is followed by a plural, directly or after an adjective: `1 games`.
pub fn plural_of_one(text: &str) -> Option<String> {
    text.lines().find_map(plural_in)
}

fn plural_in(line: &str) -> Option<String> {
    let ends = |letter: char| letter.is_whitespace() || ",;:()".contains(letter);
    let words: Vec<&str> = line.split(ends).chain([""]).collect();
    let is_plural = |word: &str| {
        word.ends_with('s') && !SINGULAR.contains(&word) && word.chars().all(|letter| letter.is_ascii_lowercase())
    };
    let ones = words.windows(3).filter(|words| words[0] == "1");
    let adjectives = ["held-out", "other", "training", "reference"];
    let wrong = |words: &&[&str]| is_plural(words[1]) || (adjectives.contains(&words[1]) && is_plural(words[2]));
    ones.filter(|words| wrong(words)).map(|words| words.join(" ")).next()
}

#[test]
fn one_thing_is_told_in_the_singular() {
    assert_eq!(plural_of_one("of 1 programs written").as_deref(), Some("1 programs written"));
    assert_eq!(plural_of_one("(1 held-out games)").as_deref(), Some("1 held-out games"));
    assert_eq!(plural_of_one("11 games, 0.1 games, 1 game plays 1 s"), None);
    let dir = tempfile::tempdir().unwrap();
    prepared(dir.path());
    for command in COMMANDS {
        // The reward check tells of ten players and four cheats, whatever the run; the test of quiet commands has it take place.
        let more: &[&str] = if *command == COMMANDS[0] { &["--set", "train.preflight=false"] } else { &[] };
        let output = ran(dir.path(), command, more);
        for text in [output.stdout, output.stderr] {
            let text = String::from_utf8(text).unwrap();
            assert_eq!(plural_of_one(&text), None, "{command}: {text}");
        }
    }
    let card = fs::read_to_string(dir.path().join("exported/README.md")).unwrap();
    assert_eq!(plural_of_one(&card), None, "{card}");
}

#[test]
fn a_quiet_command_says_nothing_but_its_result() {
    let dir = tempfile::tempdir().unwrap();
    prepared(dir.path());
    // The built-in model takes seconds to read its programs, and says nothing that a small one does not.
    for command in COMMANDS.iter().filter(|command| **command != FROM_NOTHING) {
        let output = ran(dir.path(), command, &["--quiet"]);
        assert_eq!(String::from_utf8(output.stderr).unwrap(), "", "{command}");
    }
}

#[test]
fn a_quiet_command_warns_that_no_task_is_held_out() {
    let dir = tempfile::tempdir().unwrap();
    let tasks = fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/examples/tasks/moves.jsonl")).unwrap();
    fs::write(dir.path().join("moves.jsonl"), format!("{}\n", tasks.lines().next().unwrap())).unwrap();
    let train = "train --env moves.jsonl --output-dir run --steps 1 --groups 1 --num-generations 2 --max-completion-length 12 \
                 --set train.preflight=false --set train.eval_samples=1";
    let eval = "eval --env moves.jsonl --samples 1 --set rollout.max_completion_length=12";
    let trained = "no task is held out (\"split\": \"held_out\"); evaluations ask those that are trained on";
    for (command, warning) in [(train, trained), (eval, "none is held out; asking for all: 1 task")] {
        let output = ran(dir.path(), command, &["--quiet"]);
        assert_eq!(String::from_utf8(output.stderr).unwrap(), format!("warning: moves.jsonl: {warning}\n"));
    }
}

#[test]
fn help_refusals_and_errors_are_coloured_as_was_asked() {
    let dir = tempfile::tempdir().unwrap();
    let help = ["train", "--help"].as_slice();
    let refusal = ["train", "--steps", "many"].as_slice();
    let error = ["score", "nowhere.py"].as_slice();
    let environments: [&[(&str, &str)]; 4] =
        [&[], &[("CLICOLOR_FORCE", "1")], &[("NO_COLOR", "1")], &[("NO_COLOR", "1"), ("CLICOLOR_FORCE", "1")]];
    for (number, environment) in environments.into_iter().enumerate() {
        for said in [help, refusal, error] {
            let colored = |more: &[&str], after: &[&str]| {
                let mut command = program(dir.path());
                command.envs(environment.iter().copied()).args(more).args(said).args(after);
                let output = command.output().unwrap();
                [output.stdout, output.stderr].concat().contains(&0x1b)
            };
            assert!(colored(&["--color", "always"], &[]), "{said:?} {environment:?}");
            assert!(colored(&[], &["--color=always"]), "{said:?} {environment:?}");
            assert!(!colored(&["--color", "never"], &[]), "{said:?} {environment:?}");
            assert_eq!(colored(&[], &[]), number == 1, "{said:?} {environment:?}");
        }
    }
}
