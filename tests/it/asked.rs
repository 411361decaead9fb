//! What people ask of the command line first: tasks that expect exceptions, prompts as a model sees them, and answers to
//! wrong input that lead somewhere.

use std::fs;

use serde_json::Value;

use crate::chat_model::{CHATML, write_model};
use crate::program::{done, printed, ran, refused};

const AGES: &str = include_str!("tasks/ages.jsonl");

#[test]
fn a_task_that_expects_exceptions_passes_its_check_and_only_programs_that_raise_them() {
    let dir = tempfile::tempdir().unwrap();
    fs::write(dir.path().join("ages.jsonl"), AGES).unwrap();
    let text = printed(dir.path(), &["check", "--env", "ages.jsonl"]);
    assert!(text.lines().last().unwrap().starts_with("1 task in order ("), "{text}");
    for (name, body, passed, reason) in [
        (
            "right",
            "    years = int(text)\n    if years < 0:\n        raise UnicodeError(years)\n    return years",
            6,
            "",
        ),
        ("never", "    return int(text or 0)", 3, "age('-1') gave -1, expected a ValueError"),
        (
            "other",
            "    assert int(text) >= 0\n    return int(text)",
            4,
            "age('-1'): AssertionError (line 2), expected a ValueError",
        ),
        ("ever", "    raise ValueError('no')", 2, "age('7'): ValueError: no (line 2)"),
    ] {
        fs::write(dir.path().join("p.py"), format!("def age(text):\n{body}\n")).unwrap();
        let line = printed(dir.path(), &["score", "p.py", "--env", "ages.jsonl", "--json"]);
        let found: Value = serde_json::from_str(&line).unwrap();
        assert_eq!(found["passed"], passed, "{name}: {line}");
        assert_eq!(found["failed"]["reason"].as_str().unwrap_or_default(), reason, "{line}");
        // Raising is one answer, which is right three times as far as anybody knows: a class may be under both types.
        assert_eq!(found["constant"], 3, "{line}");
        assert_eq!(found["reward"].as_f64() > Some(0.0), passed > 3, "{line}");
    }
    let line = AGES.replace("\"raises\": \"TypeError\"", "\"expected\": \"TypeError\"");
    fs::write(dir.path().join("ages.jsonl"), line).unwrap();
    let words = refused(dir.path(), &["check", "--env", "ages.jsonl"]);
    assert!(words.contains("for an exception write \"raises\": \"TypeError\" in place of it"), "{words}");
}

#[test]
fn public_tests_never_count_alone() {
    let dir = tempfile::tempdir().unwrap();
    fs::write(dir.path().join("p.py"), "def age(text):\n    return {'7': 7, '12': 12}.get(text)\n").unwrap();
    // It passes the first and the third test, which is hidden where only two are public.
    for (public, passed) in [(2, 2), (3, 0)] {
        let line = AGES.replacen('{', &format!(r#"{{"public": {public}, "#), 1);
        fs::write(dir.path().join("ages.jsonl"), line).unwrap();
        let line = printed(dir.path(), &["score", "p.py", "--env", "ages.jsonl", "--json"]);
        assert_eq!(serde_json::from_str::<Value>(&line).unwrap()["passed"], passed, "{line}");
    }
}

#[test]
fn a_task_is_shown_as_a_model_sees_it_with_the_tests_that_it_does_not_see() {
    let dir = tempfile::tempdir().unwrap();
    fs::write(dir.path().join("ages.jsonl"), AGES).unwrap();
    let text = printed(dir.path(), &["tasks", "show", "ages.jsonl", "age"]);
    let place = |words: &str| text.find(words).unwrap_or_else(|| panic!("{words} is not in\n{text}"));
    assert!(
        text.starts_with("age (ages.jsonl:1), for training; 6 tests, 2 shown; 1 s of a reference core\n"),
        "{text}"
    );
    let order = [
        "--- system",
        "--- user\nWrite `largest_gap(numbers)`",
        "--- assistant\n```python\n",
        "--- user\nWrite `age(text)`",
        "Examples:\nassert age('7') == 7\nage('-1')  # raises ValueError\n",
        "--- assistant, as far as it is given\n```python\ndef age(text):\n",
        "--- tests that it does not show\nassert age('12') == 12\nage('-3')  # raises ValueError\n",
    ]
    .map(place);
    assert!(order.is_sorted(), "{order:?}\n{text}");
    // Of three public tests the prompt shows two.
    fs::write(dir.path().join("public.jsonl"), AGES.replacen('{', r#"{"public": 3, "#, 1)).unwrap();
    let text = printed(dir.path(), &["tasks", "show", "public.jsonl", "age"]);
    let told = "--- public tests, which only feedback tells\nassert age('12') == 12\n\n--- tests that it does not show\nage('-3')";
    assert!(text.contains("6 tests, 2 shown") && text.contains(told), "{text}");
    let words = refused(dir.path(), &["tasks", "show", "ages.jsonl", "ago"]);
    assert!(words.contains("ages.jsonl: has no task \"ago\"") && words.contains("did you mean `age`?"), "{words}");
    // These commands have no --env that a message could name.
    for arguments in [["tasks", "show", "aegs.jsonl"], ["tasks", "honeypot", "aegs.jsonl"]] {
        let words = refused(dir.path(), &arguments);
        assert!(words.contains("error: aegs.jsonl: ") && words.contains("did you mean `ages.jsonl`?"), "{words}");
    }
}

#[test]
fn what_belongs_behind_a_flag_or_before_none_is_answered_with_what_to_say() {
    let dir = tempfile::tempdir().unwrap();
    fs::write(dir.path().join("ages.jsonl"), AGES).unwrap();
    fs::create_dir(dir.path().join("run 1")).unwrap();
    fs::write(dir.path().join("run 1/config.toml"), "").unwrap();
    let cases: &[(&[&str], &str)] = &[
        (&["check", "ages.jsonl"], "ages.jsonl: `check` takes it behind a flag\nhint: say --env ages.jsonl\n"),
        (&["train", "ages.jsonl"], "hint: say --env ages.jsonl\n"),
        (&["export", "run 1", "--output-dir", "out"], "hint: say --run 'run 1'\n"),
        (&["train", "run 1"], "hint: say --resume 'run 1'\n"),
        (&["eval", "run 1"], "hint: say --model 'run 1'\n"),
        (&["eval", "--run", "run 1"], "hint: say --model RUN\n"),
        (&["verify", "--run", "run 1"], "hint: say `grpo-2048 verify RUN`\n"),
        (&["report", "--run", "run 1"], "hint: say `grpo-2048 report RUN`\n"),
        (&["tasks", "show", "--env", "ages.jsonl", "age"], "hint: say `grpo-2048 tasks show TASKS ID`\n"),
    ];
    for (arguments, expected) in cases {
        let words = refused(dir.path(), arguments);
        assert!(words.ends_with(expected), "{arguments:?}: {words}");
    }
    // What else may be meant is not known: the parser's own message stands.
    let words = refused(dir.path(), &["check", "ages"]);
    assert!(words.contains("'ages'") && !words.contains("hint: "), "{words}");
}

#[test]
fn a_run_of_tasks_that_is_asked_for_players_of_2048_is_told_of() {
    let dir = tempfile::tempdir().unwrap();
    fs::create_dir_all(dir.path().join("run/checkpoint-1")).unwrap();
    fs::write(dir.path().join("run/config.toml"), "[environment]\nenv = \"my tasks.jsonl\"\n").unwrap();
    let asked = |more: &[&str]| {
        let adapter = &["eval", "--model", "nowhere.gguf", "--adapter", "run/checkpoint-1"][..];
        refused(dir.path(), &[adapter, more].concat())
    };
    // It is asked for what it learnt from, unless somebody says otherwise.
    let words = asked(&[]);
    assert!(
        words.contains(" for my tasks.jsonl, as its config.toml says") && !words.contains("players of 2048"),
        "{words}"
    );
    let told = "run was trained on my tasks.jsonl, and is asked for players of 2048 here; --env 'my tasks.jsonl' asks";
    // A file with all settings has 2048 by default.
    fs::write(dir.path().join("all.toml"), "[environment]\nenv = \"2048\"\n").unwrap();
    assert!(asked(&["--config", "all.toml"]).contains(told));
    for said in [["--env", "2048"], ["--env", "my tasks.jsonl"], ["--set", "environment.env=2048"]] {
        let words = asked(&said);
        assert!(!words.contains("was trained on") && !words.contains("it learnt from"), "{words}");
    }
}

#[test]
fn a_search_is_no_run_to_report_and_none_that_is_named_in_its_place() {
    let dir = tempfile::tempdir().unwrap();
    for name in ["runs/evolve", "runs/train-001", "elsewhere"] {
        fs::create_dir_all(dir.path().join(name)).unwrap();
    }
    fs::write(dir.path().join("runs/evolve/evolve.json"), "{}").unwrap();
    let report = |run: &str| refused(dir.path(), &["report", run]);
    let words = report("runs/evolve");
    let hint = "hint: it is a search of `evolve`, whose best program is best.py there";
    assert!(words.ends_with(&format!("{hint}\n")), "{words}");
    let words = refused(dir.path(), &["score", "runs/evolve"]);
    assert!(words.ends_with(&format!("{hint}\n")), "{words}");
    // Its checkpoints have no state of a trainer, and nothing of them is missing.
    fs::create_dir(dir.path().join("runs/evolve/checkpoint-1")).unwrap();
    let words = refused(dir.path(), &["export", "--run", "runs/evolve", "--output-dir", "player"]);
    assert!(words.contains(&format!("{hint}; --adapter or --model takes ")) && !words.contains("is whole"), "{words}");
    // Where weights or completions are asked for, it is told which command takes what is there.
    for (command, told) in [
        (&["eval", "--model", "runs/evolve"][..], "--model runs/evolve: is the directory of a search, "),
        (&["train", "--adapter", "runs/evolve"], "--adapter runs/evolve: is the directory of a search, "),
        (&["export", "--run", "runs/evolve", "--output-dir", "player"], "and `score` the program"),
        (&["verify", "runs/evolve"], "; `score` tries it, and `verify` takes a run of `train`"),
        (&["train", "--resume", "runs/evolve"], "; the same `evolve` command again goes on with it"),
    ] {
        let words = refused(dir.path(), command);
        assert!(words.contains(hint) && words.contains(told), "{command:?}: {words}");
    }
    let none = "hint: name a directory that `grpo-2048 train` wrote, as in runs/train-001\n";
    assert!(report("elsewhere").ends_with(none), "{}", report("elsewhere"));
    fs::write(dir.path().join("runs/train-001/config.toml"), "").unwrap();
    assert!(report("elsewhere").ends_with("hint: there are: runs/train-001\n"), "{}", report("elsewhere"));
}

#[test]
fn a_task_is_shown_for_a_model_to_which_another_one_is_too_long() {
    let dir = tempfile::tempdir().unwrap();
    write_model(&dir.path().join("M"), Some(CHATML));
    let task = |id: &str, words: &str| {
        let tests = serde_json::json!([{"args": [1, 2], "expected": 3}]);
        serde_json::json!({"id": id, "prompt": words, "entry_point": "add", "tests": tests}).to_string()
    };
    let tasks = [task("short", "Add."), task("long", &"Add the numbers. ".repeat(5000))];
    fs::write(dir.path().join("tasks.jsonl"), tasks.join("\n")).unwrap();
    let shown = |id: &str| {
        let model = ["--model", "M", "--set", "rollout.max_completion_length=12"];
        printed(dir.path(), &[&["tasks", "show", "tasks.jsonl", id][..], &model].concat())
    };
    let (short, long) = (shown("short"), shown("long"));
    assert!(short.contains("--- as M reads it: ") && !short.contains("too long"), "{short}");
    let room = "the model's context is 2048 tokens, of which a completion takes up to 12";
    assert!(long.contains(&format!(" tokens; too long: {room}\n")), "{}", &long[..200]);
}

#[test]
fn completions_of_a_chat_are_judged_as_their_text_is() {
    let dir = tempfile::tempdir().unwrap();
    fs::write(dir.path().join("ages.jsonl"), AGES).unwrap();
    let text = serde_json::json!("def age(text):\n    return int(text)");
    let lines = [text.clone(), serde_json::json!([{"role": "assistant", "content": text}])]
        .map(|completion| serde_json::json!({"id": "age", "completion": completion}).to_string());
    fs::write(dir.path().join("lines.jsonl"), lines.join("\n")).unwrap();
    let judged = printed(dir.path(), &["judge", "--env", "ages.jsonl", "lines.jsonl"]);
    let [plain, chat] = <[&str; 2]>::try_from(judged.lines().collect::<Vec<_>>()).unwrap();
    assert_eq!(plain, chat);
    fs::write(dir.path().join("lines.jsonl"), "{\"id\": \"age\", \"completion\": [\n").unwrap();
    let words = refused(dir.path(), &["judge", "--env", "ages.jsonl", "lines.jsonl"]);
    assert!(words.contains("lines.jsonl:1: ends too early at column"), "{words}");
}

#[test]
fn wrong_input_is_answered_with_what_is_right() {
    let dir = tempfile::tempdir().unwrap();
    fs::write(dir.path().join("ages.jsonl"), AGES).unwrap();
    fs::write(dir.path().join("empty.py"), "\n").unwrap();
    fs::create_dir(dir.path().join("mine")).unwrap();
    fs::write(dir.path().join("mine/env.toml"), "tasks = \"missing.jsonl\"\n").unwrap();
    let cases: &[(&[&str], &[&str])] = &[
        (&["train", "--steps", "-3"], &["error: --steps -3: expected a whole number, at least 1"]),
        (&["train", "--steps", "99999999999"], &["error: --steps 99999999999: expected a smaller whole number"]),
        (&["verify", "nowhere", "--every", "0"], &["error: --every 0: expected a whole number, at least 1"]),
        (&["judge", "--games", "0"], &["error: --games 0: expected a whole number, at least 1"]),
        (
            &["verify", "nowhere", "--every", "4294967296"],
            &["error: --every 4294967296: expected a smaller whole number"],
        ),
        (&["train", "--seed", "abc"], &["error: --seed abc: expected a whole number, at least 0"]),
        (&["score", "x.py", "--games", "some"], &["--games some: expected a whole number"]),
        (&["train", "--set", "grpo.loss_type=dpo"], &["dpo is another algorithm"]),
        (&["train", "--resume", "nowhere", "--dry-run"], &["error: --resume nowhere: no such directory"]),
        (&["train", "--config", "nowhere.toml"], &["hint: `grpo-2048 config > nowhere.toml` writes one"]),
        (
            &["train", "--config", "nowhere.yml"],
            &["hint: a file of YAML has TRL's keys", "`grpo-2048 config > nowhere.toml` writes one"],
        ),
        (&["train", "--config", "ages.jsonl"], &["ages.jsonl: is no TOML", "hint: tasks and games go with --env"]),
        (&["train", "--env", "openai/openai_humaneval"], &["hint: is it a data set of the Hub?", "tasks convert"]),
        (&["train", "--env", "mine"], &["mine/env.toml: `tasks` names mine/missing.jsonl, which is no file"]),
        (&["score", "ages.jsonl"], &["ages.jsonl: is no Python file", "a file of tasks goes with --env"]),
        (&["score", "empty.py"], &["empty.py: is empty"]),
        (
            &["play", "x.py", "--env", "g.py"],
            &["`play` shows boards of 2048, and nothing else", "grpo-2048 score --env"],
        ),
        (
            &["sft", "--env", "g.py"],
            &["the built-in model reads players of 2048, and nothing else", "grpo-2048 train --env"],
        ),
    ];
    for (arguments, expected) in cases {
        let words = refused(dir.path(), arguments);
        assert!(expected.iter().all(|expected| words.contains(expected)), "{arguments:?}: {words}");
        assert!(!words.contains("target type") && !words.contains("environment.env="), "{arguments:?}: {words}");
    }
    #[cfg(target_os = "linux")]
    {
        fs::create_dir(dir.path().join("run")).unwrap();
        fs::write(dir.path().join("run/config.toml"), printed(dir.path(), &["config"])).unwrap();
        fs::write(dir.path().join("run/metrics.jsonl"), "").unwrap();
        let words = crate::program::failed(dir.path(), &["report", "run", "--output", "/dev/full"]);
        assert!(words.contains("; make room there, or name a place on another disk"), "{words}");
        std::os::unix::fs::symlink("kept.html", dir.path().join("page.html")).unwrap();
        fs::write(dir.path().join("kept.html"), "").unwrap();
        done(dir.path(), &["report", "run", "--output", "page.html"]);
        assert!(dir.path().join("page.html").is_symlink());
        assert!(fs::read_to_string(dir.path().join("kept.html")).unwrap().starts_with("<!"));
        let page = printed(dir.path(), &["report", "run", "--output", "-"]);
        assert!(page.starts_with("<!") && page.trim_end().ends_with("</html>") && !dir.path().join("-").exists());
        let words = refused(dir.path(), &["report", "run", "--output", "nowhere/page.html"]);
        let told =
            "--output nowhere/page.html: No such file or directory (os error 2)\nhint: name a file in a directory";
        assert!(words.contains(told), "{words}");
    }
}

#[test]
fn a_dry_run_says_of_the_boards_what_the_run_does() {
    let dir = tempfile::tempdir().unwrap();
    // The budget is enough for the reward check, which looks at the boards.
    let quick = [
        &["train", "--steps", "1", "--groups", "1", "--num-generations", "2", "--dry-run"][..],
        &["--set", "train.eval_samples=0", "--set", "train.game_seconds=0.2"],
    ]
    .concat();
    let (_, told, said) = ran(dir.path(), &quick);
    assert!(told.contains("board_salt = \"") && told.contains("drawn for this run"), "{told}");
    assert!(!said.contains("boards are published"), "{said}");
    assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 0);
}

#[test]
fn nothing_is_said_after_the_error_that_ends_a_command() {
    let dir = tempfile::tempdir().unwrap();
    fs::create_dir(dir.path().join("junk")).unwrap();
    fs::write(dir.path().join("junk/config.json"), "{}").unwrap();
    // The reward is checked beside the model's loading, and would go on telling of it.
    for _ in 0..3 {
        let words = refused(dir.path(), &["train", "--model", "junk", "--lora-r", "4"]);
        let last = words.lines().last().unwrap();
        assert!(last.starts_with("error: ") || last.starts_with("hint: "), "{words}");
    }
}
