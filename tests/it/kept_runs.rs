//! Tests of finished and interrupted runs: resumed from other directories, played, scored, exported, and refused.

use std::fs;
use std::path::{Path, PathBuf};
use std::process;
use std::sync::LazyLock;

use crate::program::{done, printed, program, refused};
use crate::{pty, runs};

/// A run as small as they come.
const SMALL: &[&str] = &[
    "--groups", "2", "--num-generations", "2", "--set", "train.eval_samples=0", "--set", "train.preflight=false",
    "--set", "sandbox.game_seconds=0.05", "--set", "train.settle=false",
];

fn trained(directory: &Path, more: &[&str]) {
    done(directory, &[&["train", "--output-dir", "run", "--steps", "1"], SMALL, more].concat());
}

/// Finished runs of which tests have copies: of every weight, and of an adapter.
pub static WHOLE: LazyLock<PathBuf> = LazyLock::new(|| made("it-whole", &[]));
static ADAPTED: LazyLock<PathBuf> = LazyLock::new(|| made("it-adapted", &["--set", "model.lora_r=2"]));

fn made(name: &str, more: &[&str]) -> PathBuf {
    let directory = runs::shared(name);
    fs::create_dir_all(&directory).unwrap();
    trained(&directory, more);
    directory.join("run")
}

#[test]
fn a_run_with_relative_paths_goes_on_and_is_exported_from_elsewhere_and_records_its_new_end() {
    let (home, elsewhere) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let model = Path::new(env!("CARGO_MANIFEST_DIR")).join("models/builtin");
    std::os::unix::fs::symlink(model, home.path().join("model")).unwrap();
    trained(home.path(), &["--model", "model", "--set", "model.lora_r=2"]);
    let run = home.path().join("run").display().to_string();
    let recorded = || fs::read_to_string(home.path().join("run/config.toml")).unwrap();
    let begun = recorded();
    assert!(begun.contains("max_steps = 1\n") && begun.contains("output_dir = \"run\""), "{begun}");
    done(elsewhere.path(), &["train", "--resume", &run, "--steps", "2"]);
    assert_eq!(recorded(), begun.replace("max_steps = 1\n", "max_steps = 2\n"), "and nothing else");
    done(home.path(), &["train", "--resume", "run", "--steps", "1"]);
    assert!(recorded().contains("max_steps = 2\n"), "what does not go on records nothing");
    fs::write(home.path().join("grpo.toml"), "[train]\noutput_dir = \"run\"\n").unwrap();
    for named in [["--output-dir", "run"], ["--config", "grpo.toml"], ["--set", "train.output_dir=run"]] {
        let said = done(home.path(), &[&["train", "--resume"], &named[..]].concat()).stderr;
        let said = String::from_utf8_lossy(&said);
        assert!(said.contains("run is at step 2 already"), "{named:?}: {said}");
    }
    done(elsewhere.path(), &["export", "--run", &run, "--merge", "--output-dir", "whole"]);
    done(elsewhere.path(), &["export", "--run", &run, "--output-dir", "adapter"]);
    let few = ["--samples", "2", "--games", "1", "--report-games", "0", "--baselines", "none"];
    let evaluated = printed(elsewhere.path(), &[&["eval", "--model", &run, "--against", &run], &few[..]].concat());
    assert!(evaluated.contains("checkpoint-2"));
    let earlier = format!("{run}/checkpoint-1");
    let evaluated = printed(elsewhere.path(), &[&["eval", "--model", &earlier], &few[..]].concat());
    assert!(evaluated.contains("checkpoint-1") && !evaluated.contains("checkpoint-2"), "{evaluated}");
}

#[test]
fn the_best_program_of_a_run_is_played_and_scored_by_the_name_of_the_run() {
    let dir = tempfile::tempdir().unwrap();
    runs::copy(&WHOLE, &dir.path().join("run"));
    let best = fs::read_to_string(dir.path().join("run/best.py")).unwrap();
    let scored = |file: &str, input: &str| {
        let mut command = program(dir.path());
        let output =
            command.args(["score", file, "--games", "2", "--seed", "0", "--json"]).write_stdin(input).output().unwrap();
        let line: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
        (line["file"].clone(), line["digest"].clone())
    };
    let (file, digest) = scored("run", "");
    assert_eq!(file, "run/best.py");
    assert_eq!(scored("-", &best), ("-".into(), digest));
    let played = printed(dir.path(), &["play", "run"]);
    assert!(played.contains("run/best.py"), "{played}");
    // The best player of another game is none of 2048.
    let config = dir.path().join("run/config.toml");
    let of_2048 = fs::read_to_string(&config).unwrap();
    fs::write(&config, of_2048.replace("env = \"2048\"", "env = \"snake.py\"")).unwrap();
    for command in ["score", "play"] {
        let words = refused(dir.path(), &[command, "run"]);
        assert!(words.contains("a run that learnt from snake.py, and not from 2048"), "{words}");
        assert!(words.contains("hint: grpo-2048 score run --env snake.py "), "{words}");
        fs::write(dir.path().join("c.toml"), "[environment]\nenv = \"2048\"\n").unwrap();
        for chosen in [["--set", "environment.env=2048"], ["--config", "c.toml"]] {
            printed(dir.path(), &[&[command, "run", "--seed", "0"], &chosen[..]].concat());
        }
    }
    // Nothing else of a run's settings is asked for, which may be those of another version.
    fs::write(&config, format!("{of_2048}old_key = 1\n")).unwrap();
    printed(dir.path(), &["score", "run", "--games", "1"]);
    assert_eq!(printed(dir.path(), &["score", "run", "--env", "2048", "--games", "1", "--json"]).lines().count(), 1);
    fs::remove_file(dir.path().join("run/best.py")).unwrap();
    let words = refused(dir.path(), &["score", "run"]);
    assert!(words.contains("run: the run has no best.py") && words.contains("hint: "), "{words}");
}

#[test]
fn what_cannot_work_is_said_before_any_work_is_done() {
    let dir = tempfile::tempdir().unwrap();
    let words = refused(dir.path(), &["train", "--output-dir", "/proc/x"]);
    assert!(
        words.contains("--output-dir /proc: ") && !words.contains("checking") && !words.contains(".partial"),
        "{words}"
    );
    // A reward that the reward check would refuse, if it took place.
    let flat = ["train", "--max-completion-length", "100000", "--set", "reward.scale=1e12"];
    let words = refused(dir.path(), &flat);
    assert!(words.contains("max_completion_length = 100000") && words.contains("at most 502"), "{words}");
    assert!(!words.contains("memory"), "{words}");
    assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 0);
    runs::copy(&WHOLE, &dir.path().join("run"));
    let lock = fs::File::options().write(true).open(dir.path().join("run/.lock")).unwrap();
    lock.try_lock().unwrap();
    let words = refused(dir.path(), &["train", "--resume", "run", "--steps", "2", "--set", "train.preflight=true"]);
    assert!(words.contains("another process is writing there") && !words.contains("checking"), "{words}");
}

#[test]
fn a_setting_in_the_wrong_words_is_answered_with_the_right_ones() {
    let dir = tempfile::tempdir().unwrap();
    fs::create_dir(dir.path().join("empty")).unwrap();
    fs::write(dir.path().join("grpo.cfg"), "# of TRL\nlearning_rate: 1.0e-5\n").unwrap();
    let cases: &[(&[&str], &[&str])] = &[
        (&["--set", "train.beta=0.1"], &["say grpo.beta"]),
        (&["--set", "steps=3"], &["say --steps 3 or --set train.max_steps=3"]),
        (&["--learning-rate", "-1e-5"], &["--learning-rate -1e-5: is below zero", "hint: expected"]),
        (&["--learning-rate", "-0.1"], &["--learning-rate = -0.1 (grpo.learning_rate)", "hint: expected"]),
        (&["--steps", "0"], &["--steps = 0 (train.max_steps)", "at least 1"]),
        (&["--config", "grpo.cfg"], &["looks like YAML", "is called grpo.yaml"]),
        (&["--adapter", "empty"], &["--adapter empty", "adapter_config.json and adapter_model.safetensors"]),
    ];
    for (arguments, expected) in cases {
        let quick = ["train", "--output-dir", "run", "--set", "train.preflight=false"];
        let words = refused(dir.path(), &[&quick, *arguments].concat());
        for expected in *expected {
            assert!(words.contains(expected), "{arguments:?}: no {expected:?} in {words}");
        }
    }
    runs::copy(&ADAPTED, &dir.path().join("run"));
    let words = refused(dir.path(), &["train", "--output-dir", "next", "--set", "model.adapter=run"]);
    assert!(words.contains("did you mean `run/checkpoint-1`"), "{words}");
}

#[test]
fn an_adapter_is_named_by_the_run_that_trained_it() {
    let dir = tempfile::tempdir().unwrap();
    runs::copy(&ADAPTED, &dir.path().join("run"));
    let named = ["train", "--output-dir", "next", "--steps", "1", "--adapter", "run"];
    done(dir.path(), &[&named[..], SMALL].concat());
    let recorded = fs::read_to_string(dir.path().join("next/config.toml")).unwrap();
    assert!(recorded.contains("run/checkpoint-1\"\n"), "{recorded}");
    let whole = ["train", "--output-dir", "whole", "--steps", "1", "--set", "model.lora_r=0"];
    done(dir.path(), &[&whole[..], SMALL].concat());
    let words = refused(dir.path(), &["export", "--adapter", "whole", "--output-dir", "out"]);
    assert!(words.contains("--adapter whole") && words.contains("say --model whole/checkpoint-1"), "{words}");
}

#[test]
fn that_a_checkpoint_has_no_digests_is_said_once() {
    let dir = tempfile::tempdir().unwrap();
    runs::copy(&WHOLE, &dir.path().join("run"));
    fs::remove_file(dir.path().join("run/checkpoint-1/BLAKE3SUMS")).unwrap();
    let words = done(dir.path(), &["train", "--resume", "run", "--steps", "2"]).stderr;
    let words = String::from_utf8(words).unwrap();
    assert_eq!(words.matches("run/checkpoint-1: has no digests").count(), 1, "{words}");
}

#[test]
fn what_is_told_and_how_is_the_users_to_choose() {
    let dir = tempfile::tempdir().unwrap();
    let told = |name: &str, more: &[&str]| {
        let small = [&["train", "--output-dir", name, "--steps", "2"], SMALL, more].concat();
        let output = done(dir.path(), &small);
        (String::from_utf8(output.stdout).unwrap(), String::from_utf8(output.stderr).unwrap())
    };
    let (result, plain) = told("plain", &["--progress", "plain"]);
    assert!(plain.contains("step 1/2  reward ") && plain.contains("saved plain/checkpoint-2"), "{plain}");
    let (_, without) = told("none", &["--progress", "none"]);
    assert!(!without.contains("step 1/2") && without.contains("saved none/checkpoint-2"), "{without}");
    let (quiet_result, quiet) = told("quiet", &["--quiet"]);
    assert_eq!(quiet, "");
    assert!(result.contains("mean reward") && quiet_result.contains("mean reward"), "{quiet_result}");
    for (choice, colored) in [("always", true), ("never", false)] {
        let output = done(dir.path(), &["score", "plain", "--games", "1", "--color", choice]);
        assert_eq!(output.stdout.contains(&0x1b), colored, "--color {choice}");
    }
}

#[test]
fn make_alone_says_what_there_is_to_make() {
    let make = |arguments: &[&str]| {
        let mut make = std::process::Command::new("make");
        let output = make.current_dir(env!("CARGO_MANIFEST_DIR")).args(arguments).output().ok()?;
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).ok()
    };
    let Some(said) = make(&[]) else { return };
    for target in ["train ", "test ", "install-completions "] {
        assert!(said.lines().any(|line| line.starts_with(target)), "{target} in {said}");
    }
    assert!(make(&["-n", "train"]).is_some_and(|said| said.contains("train --parallel-rewards 8")));
}

/// What the program shows on a terminal of 80 columns, whose kind `TERM` names.
fn on_a_terminal(directory: &Path, kind: &str, command: &str) -> String {
    let mut program = process::Command::new(env!("CARGO_BIN_EXE_grpo-2048"));
    program.current_dir(directory).args(command.split_whitespace());
    pty::shown(program, 80, kind)
}

#[test]
fn on_80_columns_a_run_shows_the_time_that_is_left_and_lines_of_its_steps() {
    let dir = tempfile::tempdir().unwrap();
    let command = format!("train --output-dir run --steps 2 --seed 0 {} --set train.settle=true", SMALL.join(" "));
    let text = on_a_terminal(dir.path(), "xterm", &command);
    let plain = console::strip_ansi_codes(&text);
    let bar = plain.split(['\r', '\n']).find(|line| line.contains("step 1/2") && line.contains(" left"));
    let bar = bar.unwrap_or_else(|| panic!("no bar in {plain}"));
    assert!(bar.contains(" tok/s") && bar.find(" left") < bar.find("reward"), "{bar}");
    assert!(plain.split(['\r', '\n']).any(|line| line.trim().starts_with("step 1/2  reward ")), "{plain}");
    assert!(plain.contains("settling the best: "), "{plain}");
}

#[test]
fn on_a_terminal_that_cannot_draw_bars_there_are_lines_also_where_bars_are_asked_for() {
    let dir = tempfile::tempdir().unwrap();
    let command = format!("train --output-dir run --steps 1 --seed 0 --progress bar {}", SMALL.join(" "));
    let text = on_a_terminal(dir.path(), "dumb", &command);
    assert!(text.contains("step 1/1  reward ") && !text.contains('\u{1b}'), "{text:?}");
}

#[test]
fn tables_fit_80_columns() {
    let dir = tempfile::tempdir().unwrap();
    let command = "eval --samples 4 --games 1 --report-games 1 --progress none";
    let text = on_a_terminal(dir.path(), "xterm", command);
    let plain = console::strip_ansi_codes(&text);
    assert!(plain.contains("best tile"), "{plain}");
    let wide = plain.lines().map(str::trim_end).find(|line| line.chars().count() > 80);
    assert_eq!(wide, None, "{plain}");
}
