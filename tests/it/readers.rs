//! Opens the files of a run with TensorBoard, pandas and polars, and runs the examples for other trainers.
//!
//! `make readers` installs the packages and runs this.

use std::path::Path;
use std::process::Command;

use crate::program::done;

#[test]
#[ignore = "needs TensorBoard, pandas and polars; `make readers` runs it"]
fn a_run_opens_in_the_tools_that_people_have() {
    let python = std::env::var("READERS_PYTHON").expect("READERS_PYTHON names an interpreter; use `make readers`");
    let scratch = tempfile::tempdir().unwrap();
    let small = ["train", "--output-dir", "run", "--steps", "3", "--groups", "2", "--num-generations", "4"];
    let quick = ["--eval-steps", "2", "--set", "train.eval_samples=4", "--set", "train.preflight=false"];
    done(scratch.path(), &[&small[..], &quick].concat());
    for table in ["table.jsonl", "table.csv", "table.parquet"] {
        done(scratch.path(), &["export-completions", "run", "--output", table]);
    }
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/readers/check.py");
    let mut check = Command::new(python);
    let output = check.current_dir(scratch.path()).args([script, "run", "table.jsonl", "table.csv"]).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    print!("{}", String::from_utf8_lossy(&output.stdout));
}

#[test]
#[ignore = "needs python3; `make readers` runs it"]
fn the_examples_for_other_trainers_give_rewards() {
    let python = std::env::var("READERS_PYTHON").expect("READERS_PYTHON names an interpreter; use `make readers`");
    let binaries = Path::new(env!("CARGO_BIN_EXE_grpo-2048")).parent().unwrap();
    let path = format!("{}:{}", binaries.display(), std::env::var("PATH").unwrap_or_default());
    let mut check = Command::new(python);
    check.current_dir(env!("CARGO_MANIFEST_DIR")).env("PATH", path).arg("tests/readers/judge_examples.py");
    let output = check.output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    print!("{}", String::from_utf8_lossy(&output.stdout));
}
