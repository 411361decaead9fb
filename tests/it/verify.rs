//! What a run keeps: rewards are recomputed from it, and pages and tables are made of it.

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::LazyLock;

use serde_json::Value;

use crate::kept_runs::WHOLE;
use crate::program::{done, failed, refused};
use crate::runs;
use crate::turns::COMBINED;

fn verify(dir: &Path, more: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_grpo-2048"));
    command.current_dir(dir).args(["verify", "run"]).args(more).output().unwrap()
}

fn certificate(output: &Output) -> Value {
    serde_json::from_slice(&output.stdout).unwrap()
}

/// Writes a file of JSON again whose lines are changed.
fn forge(log: &Path, change: impl FnOnce(&mut [Value])) {
    let mut lines = runs::lines(log);
    change(&mut lines);
    fs::write(log, lines.iter().map(|line| format!("{line}\n")).collect::<String>()).unwrap();
}

/// The completions that differ, by their indices.
fn differing(certificate: &Value) -> Vec<u64> {
    certificate["differences"].as_array().unwrap().iter().map(|one| one["index"].as_u64().unwrap()).collect()
}

/// A finished run of three steps, of which tests have copies. Its metrics have more lines than steps, those of its evaluations.
static THREE_STEPS: LazyLock<PathBuf> = LazyLock::new(|| {
    let dir = runs::shared("it-three-steps");
    runs::run(&dir, &["--steps", "3"]);
    dir
});

#[test]
fn every_reward_of_a_run_is_recomputed_and_a_changed_one_is_found() {
    let place = tempfile::tempdir().unwrap();
    runs::copy(&THREE_STEPS, &place.path().join("run"));
    let whole = verify(place.path(), &["--json", "--sequential"]);
    assert_eq!(whole.status.code(), Some(0), "{}", String::from_utf8_lossy(&whole.stderr));
    let found = certificate(&whole);
    assert_eq!((&found["steps"], &found["completions"], &found["equal"]), (&3.into(), &24.into(), &24.into()));
    let again = verify(place.path(), &["--json", "--parallel-rewards", "3"]);
    assert_eq!(again.stdout, whole.stdout, "the certificate does not depend on the workers");
    let some = certificate(&verify(place.path(), &["--json", "--every", "2"]));
    assert_eq!((&some["steps"], &some["equal"]), (&2.into(), &16.into()));

    // What a line says beside its reward and its digest.
    let log = place.path().join("run/completions/step_00001.jsonl");
    let honest = fs::read_to_string(&log).unwrap();
    let forgeries: [fn(&mut Value); 9] = [
        |line| line["program"] = "0".repeat(64).into(),
        |line| line["games"][0]["score"] = 1e6.into(),
        |line| line["games"][0]["max_tile"] = 131072.into(),
        |line| line["games"][0]["moves_text"] = "WW".into(),
        |line| line["games"][0]["fuel"] = 1.into(),
        |line| {
            line["evaluation"] =
                serde_json::json!({"verdict": "succeeded", "games": [{"score": 1e6, "ending": "game_over"}]})
        },
        |line| line["became"] = "succeeded".into(),
        |line| line["verdict"] = "crash".into(),
        |line| line["reward_parts"]["game"] = 0.5.into(),
    ];
    for forgery in forgeries {
        let mut place_of = 0;
        forge(&log, |lines| {
            place_of = lines.iter().position(|line| line["verdict"] == "succeeded").unwrap();
            forgery(&mut lines[place_of]);
        });
        let found = certificate(&verify(place.path(), &["--json"]));
        assert!(differing(&found).into_iter().eq([place_of as u64]), "{found}");
        fs::write(&log, &honest).unwrap();
    }

    // Other words for the same are no forgery: another build may write them.
    forge(&log, |lines| lines[1..3].iter_mut().for_each(|line| line["reason"] = "It is wrong.".into()));
    let found = certificate(&verify(place.path(), &["--json"]));
    assert_eq!(
        (&found["equal"], &found["other_words"]),
        (
            &24.into(),
            &serde_json::json!([
                {"step": 1, "index": 1}, {"step": 1, "index": 2}
            ])
        )
    );
    let words = String::from_utf8(done(place.path(), &["verify", "run"]).stdout).unwrap();
    assert!(
        words.contains("2 lines with other words for the same, ") && words.contains(" step 1, completion 1\n"),
        "{words}"
    );
    fs::write(&log, &honest).unwrap();

    // A line that says to be of an earlier version, and a file whose lines all do.
    forge(&log, |lines| lines[1]["version"] = 2.into());
    let said = refused(place.path(), &["verify", "run"]);
    assert!(said.contains("step_00001.jsonl: has lines of several versions"), "{said}");
    forge(&log, |lines| lines.iter_mut().for_each(|line| line["version"] = 2.into()));
    assert_eq!(certificate(&verify(place.path(), &["--json"]))["of_earlier_versions"], 8);
    fs::write(&log, &honest).unwrap();

    // A better reward than the program earned, and another program with the reward that is logged.
    let log = place.path().join("run/completions/step_00002.jsonl");
    let mut played = 0;
    forge(&log, |lines| {
        lines[1]["reward"] = 0.75.into();
        played = lines.iter().position(|line| line["verdict"] == "succeeded").unwrap();
        lines[played]["completion"] = "def strategy(board):\n    return 'no move'\n".into();
    });
    let forged = verify(place.path(), &["--json"]);
    assert_eq!(forged.status.code(), Some(1));
    let found = certificate(&forged);
    let mut places = differing(&found);
    places.dedup();
    assert!(places.iter().eq(&BTreeSet::from([1, played as u64])), "{found}");
    assert!(found["differences"].as_array().unwrap().iter().all(|one| one["step"] == 2));
    let [figure] = &found["other_figures"].as_array().unwrap()[..] else { panic!("{found}") };
    assert_eq!((&figure["step"], &figure["metric"]), (&2.into(), &"reward".into()));
    let words = verify(place.path(), &[]);
    let (shown, told) = (String::from_utf8_lossy(&words.stdout), String::from_utf8_lossy(&words.stderr));
    assert!(shown.contains("step 2, completion 1: 0.75 in the log"), "{shown}");
    assert!(told.contains("rewards are not the ones that this run learnt from"), "{told}");
}

#[test]
fn an_environment_that_is_not_the_one_of_the_run_is_told_with_the_setting_that_names_it() {
    let place = tempfile::tempdir().unwrap();
    let run = place.path().join("run");
    runs::copy(&THREE_STEPS, &run);
    let hint = "hint: judge the run with what it was trained on: --set environment.env=FILE\n";
    let task = r#"{"id": "two", "prompt": "Print 2.", "shown": 0, "tests": [{"stdin": "", "stdout": "2"}]}"#;
    fs::write(place.path().join("tasks.jsonl"), task).unwrap();
    // Parts of a reward that only games have are refused first.
    forge(&run.join("completions/step_00001.jsonl"), |lines| {
        lines.iter_mut().for_each(|line| line["reward_parts"] = serde_json::json!({}));
    });
    let said = refused(place.path(), &["verify", "run", "--set", "environment.env=tasks.jsonl"]);
    assert!(said.contains("` is not in tasks.jsonl\n") && said.ends_with(hint), "{said}");
    fs::write(run.join("config.toml"), "[environment]\nenv = \"gone.jsonl\"\n").unwrap();
    let said = refused(place.path(), &["verify", "run"]);
    assert!(said.contains("error: gone.jsonl: ") && said.ends_with(hint), "{said}");
}

#[test]
fn of_a_game_that_was_edited_since_its_run_the_file_is_named_where_it_judges_again() {
    let place = tempfile::tempdir().unwrap();
    let (game, run) = (place.path().join("game.py"), place.path().join("run"));
    let rules = fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/examples/2584.py")).unwrap();
    fs::write(&game, &rules).unwrap();
    runs::run(&run, &["--steps", "1", "--env", game.to_str().unwrap()]);
    let few = ["eval", "--model", "run", "--samples", "1", "--games", "1", "--report-games", "0"];
    let evaluated = || {
        let output = done(place.path(), &few);
        (String::from_utf8(output.stdout).unwrap(), String::from_utf8(output.stderr).unwrap())
    };
    let (shown, said) = evaluated();
    assert!(shown.contains("1 held-out game each, 0.2 s of a reference core a game"), "the run's own: {shown}");
    assert!(said.contains(", with a budget of 0.2 s for ") && !said.contains("is not as it was"), "{said}");
    let with_preset = done(place.path(), &[&few[..], &["--preset", "demo"]].concat());
    let shown = String::from_utf8(with_preset.stdout).unwrap();
    assert!(shown.contains(", 0.25 s of a reference core a game"), "that of the preset: {shown}");
    assert!(certificate(&verify(place.path(), &["--json"])).get("environment_changed").is_none());

    fs::write(&game, format!("{rules}# Another line.\n")).unwrap();
    let named = "game.py is not as it was when run began: contents of game.py: \"";
    let (_, said) = evaluated();
    assert!(said.contains("warning: ") && said.contains(named), "{said}");
    let output = verify(place.path(), &["--json"]);
    assert!(certificate(&output)["environment_changed"].as_str().unwrap().contains(named));
    let said = String::from_utf8_lossy(&output.stderr);
    let (_, blamed) = said.split_once(" evaluations are not as the log tells, with the same rewards: ").expect(&said);
    assert!(blamed.contains(named) && blamed.contains("hint: put it back as it was, or name a copy"), "{said}");
    // The game itself spends other fuel, which is part of the evidence.
    assert_eq!(output.status.code(), Some(1));
}

#[test]
fn completions_that_a_run_learnt_from_and_no_longer_has_are_missing() {
    let place = tempfile::tempdir().unwrap();
    let run = place.path().join("run");
    runs::copy(&THREE_STEPS, &run);
    let [first, second, third] = [1, 2, 3].map(|step| run.join(format!("completions/step_0000{step}.jsonl")));
    let text = fs::read_to_string(&second).unwrap();
    let (lines, _) = text.trim_end().rsplit_once('\n').unwrap();
    let (_, without_first) = text.split_once('\n').unwrap();
    let missing = |more: &[&str]| {
        let output = verify(place.path(), &[&["--json"], more].concat());
        let steps = certificate(&output)["missing"].as_array().unwrap().clone();
        let of = |one: &Value| [&one["step"], &one["completions"]].map(|n| n.as_u64().unwrap());
        (output.status.code(), steps.iter().map(of).collect::<Vec<_>>())
    };
    for (left, gone) in [(lines, 1), (without_first, 1), ("", 8)] {
        fs::write(&second, left).unwrap();
        assert_eq!(missing(&[]), (Some(1), vec![[2, gone]]), "{left}");
    }
    fs::remove_file(&second).unwrap();
    assert_eq!(missing(&[]), (Some(1), vec![[2, 8]]));
    assert_eq!(missing(&["--every", "2"]), (Some(0), vec![]), "of the steps that were asked for, all are there");
    let words = verify(place.path(), &[]);
    let (shown, told) = (String::from_utf8_lossy(&words.stdout), String::from_utf8_lossy(&words.stderr));
    assert!(shown.contains("16 of 24 rewards of run (3 steps)") && shown.contains("step 2: missing 8 of 8"), "{shown}");
    assert!(told.contains("8 of 24 completions that this run learnt from are missing"), "{told}");

    // The last steps are known from the metrics, and without these from the step at which the run ended.
    fs::write(&second, &text).unwrap();
    fs::remove_file(&third).unwrap();
    fs::remove_file(run.join("ended")).unwrap();
    assert_eq!(missing(&[]), (Some(1), vec![[3, 8]]));
    fs::write(run.join("ended"), "3\n").unwrap();
    let metrics = fs::read_to_string(run.join("metrics.jsonl")).unwrap();
    fs::remove_file(run.join("metrics.jsonl")).unwrap();
    assert_eq!(missing(&[]), (Some(1), vec![[3, 8]]));
    fs::remove_file(run.join("ended")).unwrap();
    assert_eq!(missing(&[]), (Some(0), vec![]));

    // A step that is being made has its file before its line.
    let begun: String = metrics.split_inclusive('\n').filter(|line| line.starts_with("{\"step\":1,")).collect();
    fs::write(run.join("metrics.jsonl"), begun).unwrap();
    assert_eq!(missing(&[]), (Some(0), vec![]));
    fs::write(run.join("metrics.jsonl"), metrics).unwrap();
    fs::remove_file(first).unwrap();
    fs::remove_file(second).unwrap();
    assert_eq!(missing(&[]), (Some(1), vec![[1, 8], [2, 8], [3, 8]]), "none is left");
}

#[test]
fn completions_of_another_step_or_there_twice_and_settings_that_were_cut_are_refused() {
    let place = tempfile::tempdir().unwrap();
    let run = place.path().join("run");
    runs::copy(&THREE_STEPS, &run);
    let [first, second] = [1, 2].map(|step| run.join(format!("completions/step_0000{step}.jsonl")));
    let text = fs::read_to_string(&second).unwrap();
    let last = text.trim_end().rsplit('\n').next().unwrap();
    for (found, expected) in [
        (fs::read_to_string(first).unwrap(), "has completions of step 1, expected those of step 2"),
        (format!("{text}{last}\n"), "has completion 7 twice"),
    ] {
        fs::write(&second, found).unwrap();
        let said = refused(place.path(), &["verify", "run"]);
        assert!(said.contains(&format!("completions/step_00002.jsonl: {expected}\n")), "{said}");
    }
    fs::write(&second, text).unwrap();
    let path = run.join("config.toml");
    let config = fs::read_to_string(&path).unwrap();
    let (cut, _) = config.split_once("\n[reward]").unwrap();
    for (cut, section) in [(cut, "reward"), ("", "run"), (&config[..30], "run")] {
        fs::write(&path, cut).unwrap();
        for command in
            [&["verify", "run"][..], &["eval", "--model", "run"], &["export", "--run", "run", "--output-dir", "out"]]
        {
            let said = refused(place.path(), command);
            let expected = format!("config.toml: has no [{section}], which every run records there");
            assert!(said.contains(&expected), "{cut:?}: {said}");
        }
    }
    fs::write(&path, &config[..config.len() / 2]).unwrap();
    let said = refused(place.path(), &["verify", "run"]);
    assert!(said.contains("run/config.toml: "), "{said}");
}

#[test]
fn rewards_with_a_part_of_another_program_are_refused_and_not_called_wrong() {
    let place = tempfile::tempdir().unwrap();
    runs::copy(&THREE_STEPS, &place.path().join("run"));
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
    for run in &*COMBINED {
        let (place, combined) = (tempfile::tempdir().unwrap(), run.file_name().unwrap().to_str().unwrap());
        runs::copy(run, &place.path().join("run"));
        let found = certificate(&verify(place.path(), &["--json"]));
        assert_eq!((&found["completions"], &found["equal"]), (&8.into(), &8.into()), "{combined}: {found}");

        // Other verdicts of turns than their programs have, also where only an earlier version reads them.
        let log = place.path().join("run/completions/step_00001.jsonl");
        let honest = fs::read_to_string(&log).unwrap();
        for key in ["verdict", "became"] {
            forge(&log, |lines| {
                for place in [2, 5] {
                    let turn = &mut lines[place]["turns"][0];
                    let other = if turn["verdict"] == "succeeded" { "crash" } else { "succeeded" };
                    turn[key] = other.into();
                }
            });
            let forged = certificate(&verify(place.path(), &["--json"]));
            assert_eq!(differing(&forged), [2, 5], "{combined}, {key}: {forged}");
            fs::write(&log, &honest).unwrap();
        }

        // A conversation without its turns, or without one of them, and what was told and what came of a turn.
        let count = |line: &Value| line["turns"].as_array().unwrap().len();
        let forgeries: &[fn(&mut Value)] = &[
            |line| drop(line.as_object_mut().unwrap().remove("turns")),
            |line| line["turns"] = Value::Array(Vec::new()),
            |line| drop(line["turns"].as_array_mut().unwrap().pop()),
            |line| line["turns"][0]["told"] = "Write it.".into(),
            |line| line["reason"] = "It is wrong.".into(),
            |line| line["turns"][0]["score"] = 1e6.into(),
            |line| line["completion"] = "def strategy(board):\n    return 'W'\n".into(),
        ];
        // How rewards of turns are combined has no part in these, so one run shows them.
        let forgeries = if combined == "last" { forgeries } else { &[] };
        for (number, forgery) in forgeries.iter().enumerate() {
            let mut place_of = 0;
            forge(&log, |lines| {
                place_of = lines.iter().position(|line| count(line) == 2).expect("a conversation of two turns");
                forgery(&mut lines[place_of]);
            });
            let forged = certificate(&verify(place.path(), &["--json"]));
            assert_eq!(differing(&forged), [place_of as u64], "{combined}, {number}: {forged}");
            fs::write(&log, &honest).unwrap();
        }

        // Other words for the same, in a turn and before it.
        let words: [fn(&mut Value); 2] = [
            |line| line["turns"][1]["told"] = "It is right.".into(),
            |line| {
                let all = line["turns"].as_array_mut().unwrap().iter_mut();
                all.for_each(|turn| turn["reason"] = "It is wrong.".into());
                line["reason"] = "It is wrong.".into();
            },
        ];
        for change in words {
            forge(&log, |lines| change(lines.iter_mut().find(|line| count(line) == 2).unwrap()));
            let found = certificate(&verify(place.path(), &["--json"]));
            assert_eq!((differing(&found).len(), found["other_words"].as_array().unwrap().len()), (0, 1), "{found}");
            fs::write(&log, &honest).unwrap();
        }

        // A better reward than the turns earned together; a better reward of one turn; another program in one turn.
        let mut several = 0;
        forge(&log, |lines| {
            lines[1]["reward"] = 0.75.into();
            lines[3]["turns"][0]["reward"] = 0.75.into();
            let written = |place: usize| lines[place]["turns"][1]["completion"].is_string();
            several = (4..8).find(|place| written(*place)).expect("a conversation of two turns");
            let last = if combined == "best" { 0 } else { 1 };
            lines[several]["turns"][last]["completion"] =
                "def strategy(board):\n    return 'W' if board[0][0] else 'S'\n".into();
        });
        let forged = certificate(&verify(place.path(), &["--json"]));
        assert_eq!(differing(&forged), [1, 3, several as u64], "{combined}: {forged}");
    }
}

#[test]
fn last_turns_that_are_gone_from_a_log_are_told_by_the_metrics_and_no_turn_follows_one_that_was_cut() {
    let [last, best, _] = &*COMBINED;
    let place = tempfile::tempdir().unwrap();
    let (run, log) = (place.path().join("run"), place.path().join("run/completions/step_00001.jsonl"));
    let written = |line: &Value| line["turns"].as_array().unwrap().len();
    runs::copy(best, &run);
    // Those that count for nothing: the line tells the same without them.
    forge(&log, |lines| {
        let is_first = |line: &&mut Value| written(line) == 2 && line["completion"] == line["turns"][0]["completion"];
        let mut gone = 0;
        for line in lines.iter_mut().filter(is_first) {
            line["turns"].as_array_mut().unwrap().pop();
            line["tokens"] = line["turns"][0]["tokens"].clone();
            gone += 1;
        }
        assert!(gone > 0);
    });
    let found = certificate(&verify(place.path(), &["--json"]));
    let [figure] = &found["other_figures"].as_array().unwrap()[..] else { panic!("{found}") };
    assert_eq!((differing(&found).len(), &figure["metric"]), (0, &"turns/mean".into()));
    let said = String::from_utf8(verify(place.path(), &[]).stderr).unwrap();
    assert!(said.contains("1 of 1 steps have other completions than the metrics of this run tell"), "{said}");

    runs::copy(last, &run);
    let mut place_of = 0;
    forge(&log, |lines| {
        let goes_on = |line: &Value| written(line) == 2 && line["turns"][0]["verdict"] == "succeeded";
        place_of = lines.iter().position(goes_on).expect("a conversation that went on after a success");
        lines[place_of]["turns"][0]["finish"] = "length".into();
    });
    let found = certificate(&verify(place.path(), &["--json"]));
    assert_eq!(differing(&found), [place_of as u64], "{found}");
}

#[test]
fn what_holds_no_completions_is_refused() {
    let place = tempfile::tempdir().unwrap();
    for expected in ["verify run: no such directory", "run: no completions were logged"] {
        let output = verify(place.path(), &[]);
        assert_eq!(output.status.code(), Some(2));
        assert!(String::from_utf8_lossy(&output.stderr).contains(expected), "{expected}");
        // From then on it is there, and empty.
        fs::create_dir_all(place.path().join("run")).unwrap();
    }
}

#[test]
fn what_may_not_be_read_is_named_and_not_taken_for_missing() {
    let place = tempfile::tempdir().unwrap();
    let (dir, run) = (place.path(), place.path().join("run"));
    runs::copy(&THREE_STEPS, &run);
    fs::remove_file(run.join("completions/step_00003.jsonl")).unwrap();
    // The system gives up a link to itself, as it refuses what one may not read; root may read everything.
    let close = |path: &Path| {
        fs::rename(path, path.with_extension("away")).unwrap();
        symlink(path, path).unwrap();
    };
    close(&run.join("metrics.jsonl"));
    let words = failed(dir, &["verify", "run"]);
    assert!(words.contains("run/metrics.jsonl: Too many levels"), "{words}");
    fs::rename(run.join("metrics.away"), run.join("metrics.jsonl")).unwrap();
    let log = run.join("completions/step_00002.jsonl");
    close(&log);
    let words = failed(dir, &["verify", "run"]);
    assert!(words.contains("run/completions/step_00002.jsonl: Too many levels"), "{words}");
    close(&run.join("completions"));
    for command in [&["verify", "run"][..], &["report", "run"], &["export-completions", "run", "--output", "t.csv"]] {
        let words = failed(dir, command);
        assert!(words.contains("run/completions: Too many levels"), "{command:?}: {words}");
    }
    close(&run.join("config.toml"));
    for command in [&["eval", "--model", "run"][..], &["score", "run"], &["train", "--adapter", "run"]] {
        let words = refused(dir, command);
        assert!(words.contains(" run/config.toml: Too many levels"), "{command:?}: {words}");
    }
    close(&run);
    for command in [&["verify", "run"][..], &["export", "--run", "run", "--output-dir", "player"]] {
        let words = refused(dir, command);
        assert!(words.contains(" run: Too many levels"), "{command:?}: {words}");
    }
}

#[test]
fn a_page_and_a_table_of_the_newest_run_replace_no_file_of_it_and_name_lines_that_cannot_be_read() {
    let place = tempfile::tempdir().unwrap();
    let (dir, run) = (place.path(), place.path().join("runs/train-001"));
    runs::copy(&WHOLE, &run);
    let table = |output: &str| done(dir, &["export-completions", "latest", "--output", output]);
    // A page and a table beside the files of the run are made anew.
    for _ in 0..2 {
        done(dir, &["report", "latest"]);
        assert_eq!(table("runs/train-001/t.csv").stderr, b"");
    }
    assert!(run.join("report.html").is_file());
    let link = dir.join("link.jsonl");
    std::os::unix::fs::symlink(run.join("metrics.jsonl"), &link).unwrap();
    for (command, file) in [
        ("export-completions", "runs/train-001/metrics.jsonl"),
        ("export-completions", "runs/train-001/completions/step_00001.jsonl"),
        ("export-completions", "link.jsonl"),
        ("report", "runs/train-001/config.toml"),
        ("report", "runs/train-001/checkpoint-1/config.json"),
    ] {
        let before = fs::read(dir.join(file)).unwrap();
        let words = refused(dir, &[command, "latest", "--output", file]);
        assert!(words.contains(&format!("--output {file}: that is a file of the run itself")), "{words}");
        assert_eq!(fs::read(dir.join(file)).unwrap(), before);
    }

    let log = run.join("completions/step_00001.jsonl");
    fs::write(&log, fs::read_to_string(&log).unwrap().replacen('{', "x{", 1)).unwrap();
    let damaged = table("t.jsonl");
    assert_eq!(fs::read_to_string(dir.join("t.jsonl")).unwrap().lines().count(), 3);
    let told = String::from_utf8(damaged.stderr).unwrap();
    assert_eq!(told, "warning: runs/train-001/completions/step_00001.jsonl: 1 line left out: unreadable\n");
}
