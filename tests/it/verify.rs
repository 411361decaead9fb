//! `grpo-2048 verify`: rewards are recomputed from what a run keeps.

use std::fs;
use std::path::Path;
use std::process::{Command, Output};

use serde_json::Value;

use crate::runs;

fn verify(dir: &Path, more: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_grpo-2048"));
    command.current_dir(dir).args(["verify", "run"]).args(more).output().unwrap()
}

fn certificate(output: &Output) -> Value {
    serde_json::from_slice(&output.stdout).unwrap()
}

#[test]
fn every_reward_of_a_run_is_recomputed_and_a_changed_one_is_found() {
    let place = tempfile::tempdir().unwrap();
    runs::run(&place.path().join("run"), &["--steps", "3"]);
    let whole = verify(place.path(), &["--json", "--sequential"]);
    assert_eq!(whole.status.code(), Some(0), "{}", String::from_utf8_lossy(&whole.stderr));
    let found = certificate(&whole);
    assert_eq!((&found["steps"], &found["completions"], &found["equal"]), (&3.into(), &24.into(), &24.into()));
    let again = verify(place.path(), &["--json", "--parallel-rewards", "3"]);
    assert_eq!(again.stdout, whole.stdout, "the certificate does not depend on the workers");
    let some = certificate(&verify(place.path(), &["--json", "--every", "2"]));
    assert_eq!((&some["steps"], &some["equal"]), (&2.into(), &16.into()));

    // A better reward than the program earned, and another program with the reward that is logged.
    let log = place.path().join("run/completions/step_00002.jsonl");
    let text = fs::read_to_string(&log).unwrap();
    let mut lines: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    lines[1]["reward"] = 0.75.into();
    let played = lines.iter().position(|line| line["verdict"] == "succeeded").unwrap();
    lines[played]["completion"] = "def strategy(board):\n    return 'no move'\n".into();
    fs::write(&log, lines.iter().map(|line| format!("{line}\n")).collect::<String>()).unwrap();
    let forged = verify(place.path(), &["--json"]);
    assert_eq!(forged.status.code(), Some(1));
    let differences = certificate(&forged)["differences"].as_array().unwrap().clone();
    let mut places: Vec<u64> = differences.iter().map(|one| one["index"].as_u64().unwrap()).collect();
    places.dedup();
    let mut expected = vec![1, played as u64];
    expected.sort_unstable();
    expected.dedup();
    assert_eq!(places, expected, "{differences:?}");
    assert!(differences.iter().all(|one| one["step"] == 2));
    let words = verify(place.path(), &[]);
    let (shown, told) = (String::from_utf8_lossy(&words.stdout), String::from_utf8_lossy(&words.stderr));
    assert!(shown.contains("step 2, completion 1: 0.75 in the log"), "{shown}");
    assert!(told.contains("rewards are not the ones that this run learnt from"), "{told}");
}

#[test]
fn rewards_with_a_part_of_another_program_are_refused_and_not_called_wrong() {
    let place = tempfile::tempdir().unwrap();
    runs::run(&place.path().join("run"), &["--steps", "1"]);
    let log = place.path().join("run/completions/step_00001.jsonl");
    let text = fs::read_to_string(&log).unwrap().replacen("\"reward_parts\":{", "\"reward_parts\":{\"time\":0.5,", 1);
    fs::write(&log, text).unwrap();
    let refused = verify(place.path(), &[]);
    let told = String::from_utf8_lossy(&refused.stderr);
    assert_eq!((refused.status.code(), refused.stdout.len()), (Some(2), 0), "{told}");
    assert!(
        told.contains("step 1: the rewards have a part `time`; with the settings of this run there are: game, failure"),
        "{told}"
    );
}

#[test]
fn every_turn_is_judged_and_combined_as_the_run_combined_it() {
    for combined in ["last", "best", "discounted"] {
        let place = tempfile::tempdir().unwrap();
        let turns = format!("reward.turns={combined}");
        let two = ["--turns", "2", "--set", "rollout.max_completion_length=490", "--set", "rollout.feedback=verdict"];
        runs::run(&place.path().join("run"), &[&["--steps", "1", "--set", &turns][..], &two[..]].concat());
        let found = certificate(&verify(place.path(), &["--json"]));
        assert_eq!((&found["completions"], &found["equal"]), (&8.into(), &8.into()), "{combined}: {found}");

        // A better reward than the turns earned together; a better reward of one turn; another program in one turn.
        let log = place.path().join("run/completions/step_00001.jsonl");
        let text = fs::read_to_string(&log).unwrap();
        let mut lines: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        lines[1]["reward"] = 0.75.into();
        lines[3]["turns"][0]["reward"] = 0.75.into();
        let written = |place: usize| lines[place]["turns"][1]["completion"].is_string();
        let several = (4..8).find(|place| written(*place)).expect("a conversation of two turns");
        let last = if combined == "best" { 0 } else { 1 };
        lines[several]["turns"][last]["completion"] =
            "def strategy(board):\n    return 'W' if board[0][0] else 'S'\n".into();
        fs::write(&log, lines.iter().map(|line| format!("{line}\n")).collect::<String>()).unwrap();
        let forged = certificate(&verify(place.path(), &["--json"]));
        let places: Vec<u64> =
            forged["differences"].as_array().unwrap().iter().map(|one| one["index"].as_u64().unwrap()).collect();
        assert_eq!(places, [1, 3, several as u64], "{combined}: {forged}");
    }
}

#[test]
fn a_path_without_a_run_is_refused() {
    let place = tempfile::tempdir().unwrap();
    let output = verify(place.path(), &[]);
    assert_eq!(output.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&output.stderr).contains("verify run: no such directory"));
}

#[test]
fn a_directory_without_completions_is_refused() {
    let place = tempfile::tempdir().unwrap();
    fs::create_dir(place.path().join("run")).unwrap();
    let output = verify(place.path(), &[]);
    assert_eq!(output.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&output.stderr).contains("run: no completions were logged"));
}
