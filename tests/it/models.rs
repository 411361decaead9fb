//! Tests with models of others: warmed up, trained, exported, and refused if something is missing.

use std::fs;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};

use serde_json::Value;

use crate::chat_model::{CHATML, write_model};
use crate::program::{done, program, refused};
use crate::runs::{self, lines};

/// Settings for one step of two completions without anything else that takes time.
const SHORT: &[&str] = &[
    "--groups", "1", "--num-generations", "2", "--max-completion-length", "12", "--steps", "1", "--sequential",
    "--set", "train.eval_samples=0", "--set", "train.preflight=false",
];

fn run(directory: &Path, arguments: &[&str]) -> String {
    let output = done(directory, arguments);
    String::from_utf8(output.stdout).unwrap() + &String::from_utf8_lossy(&output.stderr)
}

/// A cache of the Hub with two commits of a model, whose branch is at the first.
fn two_commits(dir: &Path) {
    let of_model = dir.join("hub/models--me--tiny");
    for commit in ["1", "2"].map(|digit| digit.repeat(40)) {
        let snapshot = of_model.join("snapshots").join(&commit);
        fs::create_dir_all(snapshot.parent().unwrap()).unwrap();
        write_model(&snapshot, Some(CHATML));
        fs::write(snapshot.join("generation_config.json"), format!("{{\"made_at\": \"{commit}\"}}")).unwrap();
    }
    fs::create_dir(of_model.join("refs")).unwrap();
    fs::write(of_model.join("refs/main"), "1".repeat(40)).unwrap();
}

#[test]
fn a_run_knows_the_commit_of_its_model_and_goes_on_with_that_of_today() {
    let place = tempfile::tempdir().unwrap();
    let dir = place.path();
    two_commits(dir);
    let offline = |arguments: &[&str]| {
        let mut command = program(dir);
        let output = command.env("HF_HOME", dir).env("HF_HUB_OFFLINE", "1").args(arguments).output().unwrap();
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(output.status.success(), "{arguments:?}: {said}");
        said
    };
    let exported = |to: &str| {
        offline(&["export", "--run", "run", "--output-dir", to]);
        let card = fs::read_to_string(dir.join(to).join("README.md")).unwrap();
        let revision = read_json(&dir.join(to).join("adapter_config.json"))["revision"].as_str().unwrap().to_owned();
        assert!(card.contains(&format!("from_pretrained(\"me/tiny\", revision=\"{revision}\")")), "{card}");
        revision
    };
    let train = [&["train", "--model", "me/tiny", "--lora-r", "4", "--output-dir", "run"], SHORT].concat();
    offline(&train);
    fs::write(dir.join("hub/models--me--tiny/refs/main"), "2".repeat(40)).unwrap();
    assert_eq!(exported("first"), "1".repeat(40), "the branch has moved since");
    let said = offline(&["train", "--resume", "run", "--steps", "2"]);
    assert!(
        said.contains("the model me/tiny has changed since the run began: model file generation_config.json"),
        "{said}"
    );
    assert_eq!(exported("second"), "2".repeat(40), "the run went on with the newer one");
}

fn read_json(path: &Path) -> Value {
    serde_json::from_str(&fs::read_to_string(path).unwrap()).unwrap()
}

/// Two tasks: the least that a warm-up reads, one of which is held out. A product that became a sum passes the test of the
/// second one.
pub const REFERENCES: &str = r#"{"id": "add", "prompt": "Add.", "entry_point": "add", "tests": [{"args": "(1, 2)", "expected": "3"}], "reference": "def add(a, b):\n    return a + b\n"}
{"id": "double", "prompt": "Double.", "entry_point": "double", "tests": [{"args": "(2,)", "expected": "4"}], "reference": "def double(x):\n    return x * 2\n"}
"#;

#[test]
fn a_model_reads_references_of_tasks_and_how_programs_are_repaired() {
    let place = tempfile::tempdir().unwrap();
    let dir = place.path();
    write_model(&dir.join("base"), Some(CHATML));
    fs::write(dir.join("tasks.jsonl"), REFERENCES).unwrap();
    let warm = [
        &["sft", "--model", "base", "--lora-r", "4", "--env", "tasks.jsonl", "--turns", "2"][..],
        &["--output-dir", "warm", "--total-tokens", "8192", "--set", "sft.batch_tokens=1024"],
        &["--set", "sft.eval_samples=2", "--set", "rollout.max_completion_length=64", "--set", "sft.warmup_steps=1"],
    ]
    .concat();
    let said = run(dir, &warm);
    assert!(said.contains("2 references of 2 tasks, 4 repairs"), "{said}");
    assert!(said.contains("programs that pass: 0% -> 0% of 2\n"), "{said}");
    assert!(said.contains("train --model base --adapter warm --env tasks.jsonl --turns 2\n"), "{said}");
    let losses = said.split_once("held-out loss: ").unwrap().1.split_once(" nats").unwrap().0;
    let (first, last) = losses.split_once(" -> ").unwrap();
    assert!(last.parse::<f64>().unwrap() < first.parse::<f64>().unwrap(), "{losses}");
    let weights = fs::read(dir.join("warm/adapter_model.safetensors")).unwrap();
    let again: Vec<&str> = warm.iter().map(|word| if *word == "warm" { "again" } else { word }).collect();
    let wrong = r#"{"id": "wrong", "prompt": "Wrong.", "entry_point": "wrong", "tests": [{"args": "(2,)", "expected": "4"}], "reference": "def wrong(x):\n    return x + 3\n"}"#;
    fs::write(dir.join("tasks.jsonl"), format!("{REFERENCES}{wrong}\n")).unwrap();
    let said = run(dir, &again);
    let left_out = "not read: wrong, whose reference fails its own tests (wrong(2) gave 5, expected 4)";
    assert!(said.split_whitespace().collect::<Vec<_>>().join(" ").contains(left_out), "{said}");
    assert_eq!(fs::read(dir.join("again/adapter_model.safetensors")).unwrap(), weights);

    let said = run(dir, &again);
    let (first, last) = said.split_once("again is done already").expect(&said);
    assert!(!first.contains("references of") && last.contains("again is at step 8 already, the last"), "{said}");

    fs::write(dir.join("tasks.jsonl"), REFERENCES.lines().next().unwrap()).unwrap();
    let words = refused(dir, &warm);
    assert!(words.contains("--env tasks.jsonl: 1 of 1 tasks can be read"), "{words}");
    assert!(words.contains("the task says in \"opening\" how its program begins"), "{words}");
    fs::write(dir.join("tasks.jsonl"), wrong).unwrap();
    let words = refused(dir, &warm).split_whitespace().collect::<Vec<_>>().join(" ");
    let (before, _) = words.split_once("--env tasks.jsonl: 0 of 1 tasks can be read").expect(&words);
    assert!(before.contains(left_out), "{words}");
    let game = concat!(env!("CARGO_MANIFEST_DIR"), "/examples/2584.py");
    let words = refused(dir, &["sft", "--model", "base", "--env", game]);
    assert!(
        words.contains("2584.py: expected \"2048\" or tasks") && words.contains("grpo-2048 train --env"),
        "{words}"
    );
}

/// Rows whose solutions begin otherwise than their starter code. The last six do not work in an order that begins so, or take
/// other parameters.
const STARTER_CODE: &str = include_str!("tasks/starter_code.jsonl");

#[test]
fn a_warm_up_reads_solutions_in_an_order_that_begins_as_their_starter_code_does() {
    let place = tempfile::tempdir().unwrap();
    let dir = place.path();
    write_model(&dir.join("base"), Some(CHATML));
    fs::write(dir.join("rows.jsonl"), STARTER_CODE).unwrap();
    done(dir, &["tasks", "convert", "rows.jsonl", "--output", "tasks.jsonl"]);
    let warm = [
        &["sft", "--model", "base", "--lora-r", "4", "--env", "tasks.jsonl", "--output-dir", "warm"][..],
        &["--total-tokens", "1024", "--set", "sft.batch_tokens=1024", "--set", "sft.eval_samples=0"],
    ]
    .concat();
    let said = run(dir, &warm);
    assert!(said.contains("10 references of 16 tasks"), "{said}");
    let words = said.split_whitespace().collect::<Vec<_>>().join(" ");
    let left_out = "not read: base class and 5 more, whose reference is missing, too long, or does not pass its tests when it begins";
    assert!(words.contains(left_out) && !words.contains("fails its own tests"), "{said}");
}

/// A warm-up into `warm` that goes on, and its messages.
fn warming_up(place: &Path, words: &[&str]) -> (Child, impl Iterator<Item = String> + use<>) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_grpo-2048"));
    command.current_dir(place).args(["sft", "--output-dir", "warm"]).args(words);
    command.env("NO_COLOR", "1").env_remove("RUST_LOG").stdout(Stdio::null()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    let lines = BufReader::new(child.stderr.take().unwrap()).lines().map(Result::unwrap);
    (child, lines)
}

/// Terminates a warm-up into `warm`, and expects it to end at once with nothing written.
fn ends_with_nothing_written(place: &Path, mut child: Child, lines: impl Iterator<Item = String>) {
    runs::signal("-TERM", child.id());
    let said: Vec<String> = lines.collect();
    assert_eq!(child.wait().unwrap().code(), Some(130), "{said:?}");
    assert!(said.contains(&"interrupted before the first step: nothing has been written".to_owned()), "{said:?}");
    assert!(!place.join("warm").exists(), "the directory was made to lock it");
}

#[test]
fn a_signal_while_programs_are_tried_before_a_warm_up_ends_it_at_once_with_nothing_written() {
    let place = tempfile::tempdir().unwrap();
    write_model(&place.path().join("base"), Some(CHATML));
    let words = ["--model", "base", "--lora-r", "4", "--set", "sft.eval_samples=512"];
    let (child, mut lines) = warming_up(place.path(), &words);
    assert!(lines.any(|line| line.contains("writing and trying 512 programs")));
    ends_with_nothing_written(place.path(), child, lines);
}

/// Tasks whose references take a while, and pass in the budget of evaluations alone.
fn slow_references() -> String {
    let task = |number: usize| {
        let reference =
            format!("def slow{number}(x):\\n    for i in range(3000000):\\n        x += i\\n    return x\\n");
        format!(
            r#"{{"id": "slow{number}", "prompt": "Slow.", "entry_point": "slow{number}", "tests": [{{"args": "(0,)", "expected": "4499998500000"}}], "reference": "{reference}"}}"#
        ) + "\n"
    };
    (0..64).map(task).collect()
}

#[test]
fn references_are_judged_in_the_budget_of_training_and_a_warm_up_that_is_done_stays_as_it_is() {
    let place = tempfile::tempdir().unwrap();
    let dir = place.path();
    write_model(&dir.join("base"), Some(CHATML));
    fs::write(dir.join("tasks.jsonl"), format!("{REFERENCES}{}", slow_references())).unwrap();
    let words = |seconds| {
        [
            &["--model", "base", "--lora-r", "4", "--env", "tasks.jsonl", "--total-tokens", "1024"][..],
            &[
                "--set", "sft.batch_tokens=1024", "--set", "sft.eval_samples=0", "--set", "sandbox.call_share=1",
                "--set", seconds,
            ],
        ]
        .concat()
    };
    let short = words("train.game_seconds=0.02");
    let said = run(dir, &[&["sft", "--output-dir", "warm"][..], &short].concat());
    assert!(said.contains("2 references of 66 tasks") && said.contains("not read: slow0 and 63 more"), "{said}");

    let (mut child, mut lines) = warming_up(dir, &words("train.game_seconds=60"));
    assert!(lines.any(|line| line.contains("warm is done already")));
    runs::signal("-TERM", child.id());
    let said: Vec<String> = lines.collect();
    assert_eq!(child.wait().unwrap().code(), Some(130), "{said:?}");
    assert!(said.contains(&"interrupted: the model that is done stays as it was".to_owned()), "{said:?}");
    assert!(dir.join("warm/adapter_model.safetensors").exists());
}

#[test]
fn a_signal_while_the_corpus_is_prepared_ends_a_warm_up_at_once_with_nothing_written() {
    let place = tempfile::tempdir().unwrap();
    let (mut child, lines) = warming_up(place.path(), &[]);
    // The vocabulary and the held-out programs take seconds from here on.
    runs::wait_for(&place.path().join("warm/.lock"), &mut child);
    ends_with_nothing_written(place.path(), child, lines);
}

#[test]
fn a_warm_up_that_is_stopped_while_its_programs_are_tried_tries_them_when_it_is_called_again() {
    let place = tempfile::tempdir().unwrap();
    let dir = place.path();
    write_model(&dir.join("base"), Some(CHATML));
    for rank in ["4", "0"] {
        let words = [
            &["--model", "base", "--lora-r", rank, "--total-tokens", "1024", "--set", "sft.batch_tokens=1024"][..],
            &["--set", "sft.eval_samples=256", "--set", "rollout.max_completion_length=64"],
        ]
        .concat();
        let (mut child, mut lines) = warming_up(dir, &words);
        let tries = |line: &String| line.contains("writing and trying 256 programs");
        assert!(lines.any(|line| tries(&line)) && lines.any(|line| tries(&line)));
        runs::signal("-TERM", child.id());
        let said: Vec<String> = lines.collect();
        assert_eq!(child.wait().unwrap().code(), Some(130), "{said:?}");
        assert!(said.iter().any(|line| line.contains("its programs were not tried")), "{said:?}");
        assert!(!said.iter().any(|line| line.contains("after this step")), "{said:?}");

        let sft = [&["sft", "--output-dir", "warm"][..], &words].concat();
        let late = run(dir, &sft);
        assert!(
            late.contains("warm is at step 1 already, the last") && late.contains("programs that play: "),
            "{late}"
        );
        let again = run(dir, &sft);
        let figures = late.split_once("programs that play: ").unwrap().1.split_once("\ntry ").unwrap().0;
        assert!(again.contains(figures) && !again.contains("writing and trying"), "{again}");
        fs::remove_dir_all(dir.join("warm")).unwrap();
    }
}

#[test]
fn a_model_is_warmed_up_trained_from_there_and_exported() {
    let place = tempfile::tempdir().unwrap();
    let dir = place.path();
    write_model(&dir.join("base"), Some(CHATML));
    let warm = [
        &["sft", "--model", "base", "--lora-r", "4", "--output-dir", "warm", "--total-tokens", "2048"][..],
        &["--set", "sft.batch_tokens=1024", "--set", "model.lora_target_modules=[\"q_proj\", \"down_proj\"]"],
    ]
    .concat();
    let said = run(dir, &warm);
    assert!(said.contains("train --model base --adapter warm"), "{said}");
    let adapter = read_json(&dir.join("warm/adapter_config.json"));
    assert_eq!((&adapter["r"], &adapter["target_modules"]), (&4.into(), &serde_json::json!(["down_proj", "q_proj"])));

    let train = [&["train", "--model", "base", "--adapter", "warm", "--output-dir", "run"][..], SHORT].concat();
    let said = run(dir, &train);
    assert!(said.contains("model: base") && said.contains("with the adapter warm"), "{said}");
    let trained = read_json(&dir.join("run/checkpoint-1/adapter_config.json"));
    assert_eq!(trained["target_modules"], adapter["target_modules"]);
    // As the run records it, so that one that goes on elsewhere writes the same.
    let base = dir.join("base").canonicalize().unwrap();
    assert_eq!(trained["base_model_name_or_path"].as_str(), base.to_str());

    let said = run(dir, &["export", "--run", "run", "--merge", "--dtype", "bf16", "--output-dir", "out/merged"]);
    assert!(said.contains("an adapter on 4 layers added in, with a chat template"), "{said}");
    assert_eq!(read_json(&dir.join("out/merged/config.json"))["dtype"], "bfloat16");
    assert!(!dir.join("out/merged/adapter_config.json").exists());
    run(dir, &["export", "--run", "run", "--output-dir", "out/adapter"]);
    assert_eq!(read_json(&dir.join("out/adapter/adapter_config.json"))["r"], 4);
    let card = |name: &str| std::fs::read_to_string(dir.join(name).join("README.md")).unwrap();
    for (name, library, load) in [
        ("out/merged", "transformers", "AutoModelForCausalLM.from_pretrained(\"merged\")"),
        ("out/adapter", "peft", "PeftModel"),
    ] {
        let card = card(name);
        assert!(card.contains(&format!("library_name: \"{library}\"")) && card.contains(load), "{card}");
        assert!(card.contains("- 1 step of") && !card.contains(&dir.display().to_string()), "{card}");
    }
    // An exported model can be used like any other.
    let again = [&["train", "--model", "out/merged", "--lora-r", "0", "--output-dir", "full"][..], SHORT].concat();
    run(dir, &again);
    run(dir, &["export", "--run", "full", "--merge", "--output-dir", "out/full"]);
    assert!(dir.join("out/full/model.safetensors").is_file());
    let said = refused(dir, &["export", "--run", "run", "--merge", "--output-dir", "out/merged"]);
    assert!(said.contains("out/merged") && said.contains("is not empty"), "{said}");
    // The adapter means little on other weights.
    let config = fs::read_to_string(dir.join("base/config.json")).unwrap();
    let other = "base is not as it was when run began: model file config.json: ";
    for (config, is_other) in [(config.clone(), false), (format!("{config} "), true), (config, false)] {
        fs::write(dir.join("base/config.json"), config).unwrap();
        let said =
            run(dir, &["export", "--run", "run", "--output-dir", if is_other { "out/other" } else { "out/again" }]);
        assert_eq!(said.contains(other), is_other, "{said}");
        fs::remove_dir_all(dir.join("out/again")).ok();
    }
    // What a copy of a model was made from is not what its adapter goes on.
    fs::write(dir.join("base/README.md"), "---\nbase_model: you/older\n---\n").unwrap();
    let mut adapter = adapter;
    adapter["base_model_name_or_path"] = "you/base".into();
    fs::write(dir.join("warm/adapter_config.json"), adapter.to_string()).unwrap();
    run(dir, &["export", "--model", "base", "--adapter", "warm", "--output-dir", "out/copy"]);
    let copy = card("out/copy");
    assert!(copy.contains("from_pretrained(\"you/base\")") && !copy.contains("you/older"), "{copy}");
}

#[test]
fn an_export_goes_into_an_empty_directory_that_is_there_by_whatever_name() {
    use std::os::unix::fs::{MetadataExt, symlink};

    let place = tempfile::tempdir().unwrap();
    let dir = place.path();
    write_model(&dir.join("base"), Some(CHATML));
    let names = |name: &str| {
        let entries = fs::read_dir(dir.join(name)).unwrap();
        let mut names: Vec<String> = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    };
    let export = |from: &str, model: &str, output: &str| {
        run(&dir.join(from), &["export", "--model", model, "--merge", "--output-dir", output])
    };
    export("", "base", "new");
    assert!(names("new").contains(&"config.json".to_owned()), "{:?}", names("new"));
    fs::create_dir(dir.join("here")).unwrap();
    fs::create_dir(dir.join("volume")).unwrap();
    symlink("volume", dir.join("link")).unwrap();
    // A directory that is mounted cannot be removed either: it stays the same one.
    let number = |name: &str| fs::metadata(dir.join(name)).unwrap().ino();
    let before = (number("here"), number("volume"));
    export("here", "../base", ".");
    export("", "base", "link");
    assert_eq!((number("here"), number("volume")), before);
    assert!(fs::symlink_metadata(dir.join("link")).unwrap().is_symlink());
    for name in ["here", "volume"] {
        assert_eq!(names(name), names("new"), "{name}");
    }
    let card = fs::read_to_string(dir.join("here/README.md")).unwrap();
    assert!(card.contains("from_pretrained(\"here\")"), "{card}");

    symlink("nowhere", dir.join("dangling")).unwrap();
    for (output, told) in [
        ("dangling", "--output-dir dangling: is not a directory"),
        ("base/config.json/x", "--output-dir base/config.json/x: "),
    ] {
        let words = refused(dir, &["export", "--model", "base", "--merge", "--output-dir", output]);
        assert!(words.contains(told) && words.contains("hint: name"), "{words}");
    }
}

#[test]
fn a_warm_up_that_is_done_stays_as_it_is_and_other_settings_are_named() {
    let place = tempfile::tempdir().unwrap();
    let dir = place.path();
    write_model(&dir.join("base"), Some(CHATML));
    let warm = |tokens, seed| {
        let words = ["sft", "--model", "base", "--lora-r", "4", "--output-dir", "warm", "--seed", seed];
        let set = ["--set", "sft.batch_tokens=1024", "--set", "sft.eval_samples=0", "--total-tokens", tokens];
        [&words[..], &set].concat()
    };
    let first = run(dir, &warm("1024", "0"));
    let written = || fs::metadata(dir.join("warm/adapter_model.safetensors")).unwrap().modified().unwrap();
    let before = written();
    let again = run(dir, &warm("1024", "0"));
    assert!(again.contains("warm is at step 1 already, the last"), "{again}");
    let summary = first.split_once("1 step, ").unwrap().1.split_once("train --model").unwrap().0;
    assert!(summary.contains("held-out loss: ") && again.contains(summary), "{again}");
    let said = refused(dir, &warm("2048", "3"));
    assert!(said.contains("sft.total_tokens: 1024 -> 2048") && said.contains("train.seed: 0 -> 3"), "{said}");
    assert_eq!(written(), before);
}

#[test]
fn a_warm_up_names_the_command_that_asks_as_it_did_and_the_built_in_model_takes_no_adapters() {
    let place = tempfile::tempdir().unwrap();
    let dir = place.path();
    write_model(&dir.join("plain"), None);
    fs::write(dir.join("tasks.jsonl"), REFERENCES).unwrap();
    let warm = [
        &["sft", "--model", "plain", "--raw-prompt", "--revision", "v1", "--lora-r", "4", "--env", "tasks.jsonl"][..],
        &["--output-dir", "warm", "--total-tokens", "512", "--set", "sft.batch_tokens=512", "--set"],
    ]
    .concat();
    let said = run(dir, &[&warm[..], &["sft.eval_samples=0"]].concat());
    let next = "train --model plain --revision v1 --adapter warm --raw-prompt --env tasks.jsonl\n";
    assert!(said.contains(next), "{said}");
    // How many programs are tried makes no other run of it.
    let said = run(dir, &[&warm[..], &["sft.eval_samples=2"]].concat());
    assert!(said.contains("warm is at step 1 already, the last") && said.contains(next), "{said}");
    assert!(said.contains("programs that pass: 0% -> 0% of 2\n"), "those that were not asked for before: {said}");

    let said = refused(dir, &["sft", "--lora-r", "4", "--output-dir", "new"]);
    assert!(said.contains("model.lora_r: found 4, expected 0") && said.contains("--model"), "{said}");
    let said = refused(dir, &["sft", "--adapter", "warm", "--output-dir", "new"]);
    assert!(said.contains("model.adapter: found warm, expected none"), "{said}");
    let said = refused(dir, &["sft", "--revision", "v1", "--output-dir", "new"]);
    assert!(said.contains("model.revision: found v1, expected main"), "{said}");
}

#[test]
fn a_model_that_cannot_be_used_is_refused_before_anything_is_written() {
    let place = tempfile::tempdir().unwrap();
    let dir = place.path();
    write_model(&dir.join("plain"), None);
    write_model(&dir.join("chat"), Some(CHATML));
    let train = |more: &[&str]| refused(dir, &[&["train", "--output-dir", "run"][..], more, SHORT].concat());
    let check = |said: String, parts: &[&str]| {
        for part in parts {
            assert!(said.contains(part), "`{part}` is not in: {said}");
        }
        assert!(!dir.join("run").exists(), "{said}");
    };
    check(train(&["--model", "plain"]), &["--model plain", "no chat template", "--raw-prompt"]);
    check(refused(dir, &["sft", "--model", "plain"]), &["no chat template", "--raw-prompt"]);
    let targets = "model.lora_target_modules=[\"lm_head\"]";
    check(train(&["--model", "chat", "--set", targets]), &["model.lora_target_modules", "lm_head", "all-linear"]);
    check(train(&["--model", "chat", "--adapter", "nowhere"]), &["nowhere"]);
    check(refused(dir, &["export", "--model", "chat", "--output-dir", "out"]), &["no adapter", "--merge"]);
    check(refused(dir, &["export", "--run", "nowhere", "--output-dir", "out"]), &["nowhere"]);
    let adapter = ["export", "--model", "chat", "--adapter", "warm", "--output-dir", "out"];
    check(refused(dir, &[&adapter[..], &["--push", "player"]].concat()), &["--push", "OWNER/NAME"]);
    check(
        refused(dir, &["export", "--model", "chat", "--dtype", "f8", "--merge", "--output-dir", "out"]),
        &["f8", "bf16"],
    );

    let weights = dir.join("chat/model.safetensors");
    let bytes = fs::read(&weights).unwrap();
    fs::write(&weights, &bytes[..bytes.len() - 1]).unwrap();
    check(train(&["--model", "chat"]), &["model.safetensors", "bytes are there", "fetch it again"]);
    fs::remove_file(&weights).unwrap();
    fs::write(dir.join("chat/model.safetensors.index.json"), r#"{"weight_map": {"a": "model-1.safetensors"}}"#)
        .unwrap();
    check(train(&["--model", "chat"]), &["model-1.safetensors", "missing"]);
    fs::rename(dir.join("chat/model.safetensors.index.json"), &weights).unwrap();
    check(train(&["--model", "chat/model.safetensors"]), &["name the directory"]);
}

/// Three tasks, of which the last is held out.
const TASKS: &str = r#"{"id": "add", "group": "numbers", "prompt": "Add.", "entry_point": "add", "tests": [{"args": "(1, 2)", "expected": "3"}]}
{"id": "twice", "group": "numbers", "prompt": "Double.", "entry_point": "twice", "tests": [{"args": "(4,)", "expected": "8"}]}
{"id": "half", "prompt": "Halve.", "entry_point": "half", "tests": [{"args": "(4,)", "expected": "2"}], "split": "held_out"}
"#;

/// Tasks whose references import what is not a part of the interpreter's first snapshot, and numpy; the first compares the
/// types of arrays, and the last gives numpy to programs that do not say it.
const LIBRARIES: &str = r#"{"id":"column_sums","prompt":"Write `column_sums(m)`.","entry_point":"column_sums","array_types":true,"inputs":["([[1, 2], [3, 4]],)","([[3037000500, 0], [1, 9]],)"],"tests":[{"args":"([[100000, 1]],)","expected":"('int64', (2,), [100000, 1])"}],"reference":"import numpy as np\n\ndef column_sums(m):\n    return np.array(m).sum(axis=0)"}
{"id":"rows","prompt":"Write `rows(text)`.","entry_point":"rows","tests":[{"args":"('b,a\\n2,1',)","expected":"[['a', 'b'], ['1', '2']]"},{"args":"('',)","expected":"[]"},{"args":"('x',)","expected":"[['x']]"}],"reference":"import csv\nimport io\nimport unittest\n\nfrom sortedcontainers import SortedList\n\ndef rows(text):\n    return [list(SortedList(row)) for row in csv.reader(io.StringIO(text))]"}
{"id":"mean","prompt":"Write `mean(xs)`.","entry_point":"mean","tolerance":1e-9,"modules":["numpy"],"tests":[{"args":"([1, 2],)","expected":"1.5"},{"args":"([4],)","expected":"4.0"},{"args":"([1, 2, 6],)","expected":"3.0"}],"reference":"def mean(xs):\n    return __import__('num' + 'py').mean(xs)"}
"#;

#[test]
fn a_model_is_trained_on_tasks_whose_references_import_the_library_and_numpy() {
    let place = tempfile::tempdir().unwrap();
    let dir = place.path();
    write_model(&dir.join("base"), Some(CHATML));
    fs::write(dir.join("tasks.jsonl"), LIBRARIES).unwrap();
    let short: Vec<&str> = SHORT.iter().copied().filter(|flag| *flag != "--sequential").collect();
    let tasks = ["--env", "tasks.jsonl", "--model", "base"];
    // The reward check, which `check` makes too, is the same before either, and plays no part in what is trained.
    for (name, workers, checked) in [("one", "1", "train.preflight=true"), ("eight", "8", "train.preflight=false")] {
        let more = ["--output-dir", name, "--parallel-rewards", workers, "--set", checked];
        run(dir, &[&["train"], &short[..], &tasks, &more].concat());
    }
    let completions = |run: &str| fs::read_to_string(dir.join(run).join("completions/step_00001.jsonl")).unwrap();
    assert_eq!(completions("one"), completions("eight"));
    let certificate: Value = serde_json::from_slice(&done(dir, &["verify", "one", "--json"]).stdout).unwrap();
    assert_eq!(certificate["equal"], certificate["completions"]);
    assert_eq!(certificate["numpy_interpreter_sha256"], grpo_sandbox::NUMPY_SHA256, "{certificate}");
}

#[test]
fn what_is_said_of_tasks_is_in_the_words_of_tasks() {
    let place = tempfile::tempdir().unwrap();
    let dir = place.path();
    write_model(&dir.join("base"), Some(CHATML));
    fs::write(dir.join("tasks.jsonl"), TASKS).unwrap();
    let tasks = ["--env", "tasks.jsonl", "--model", "base"];
    let train = [&["train", "--output-dir", "run"][..], &tasks, SHORT, &["--set", "train.eval_samples=4"]].concat();
    let said = run(dir, &train);
    assert!(said.contains("tests passed") && !said.contains("best tile"), "{said}");
    let metrics = fs::read_to_string(dir.join("run/metrics.jsonl")).unwrap();
    let records = lines(&dir.join("run/metrics.jsonl"));
    assert_eq!((&records[0]["eval_tasks/count"], &records[0]["eval_samples"]), (&1.into(), &4.into()));
    for (record, key) in [(0, "eval_tasks/frac_passed"), (0, "eval_style/half"), (1, "tasks/frac_tests")] {
        assert!(records[record][key].is_number(), "{key}: {metrics}");
    }
    assert!(!metrics.contains("game/") && !metrics.contains("eval_games"), "{metrics}");
    // Records of tasks can be read.
    run(dir, &["train", "--resume", "run", "--steps", "2", "--sequential"]);
    run(dir, &["report", "run"]);
    assert!(fs::read_to_string(dir.join("run/report.html")).unwrap().contains("eval_tasks/frac_passed"));
    run(dir, &["export-completions", "run", "--output", "t.jsonl"]);
    let table = fs::read_to_string(dir.join("t.jsonl")).unwrap();
    assert!(table.lines().all(|line| line.contains(r#""max_tile":null"#)), "{table}");
    #[cfg(target_os = "linux")]
    for full in ["full.csv", "full.parquet"] {
        std::os::unix::fs::symlink("/dev/full", dir.join(full)).unwrap();
        let words = crate::program::failed(dir, &["export-completions", "run", "--output", full]);
        let told = format!("--output {full}: No space left on device (os error 28); make room there");
        assert!(words.contains(&told), "{words}");
    }

    let short = ["--samples", "3", "--set", "rollout.max_completion_length=12", "--against", "base"];
    let eval = |more: &[&str]| run(dir, &[&["eval"][..], &tasks, &short, more].concat());
    let text = eval(&[]);
    assert!(text.contains("1 held-out task; 3 programs for each") && text.contains("pass@2"), "{text}");
    assert!(!text.contains("pass@4") && !text.contains("by group") && !text.contains("tile"), "{text}");
    let json = eval(&["--json"]);
    let report: Value = serde_json::from_str(json.lines().next().unwrap()).unwrap();
    let [model, rival] = report["models"].as_array().unwrap().as_slice() else { panic!("{report}") };
    assert_eq!((model, &report["held_out"]), (rival, &true.into()));
    assert_eq!((model["programs"].as_array().unwrap().len(), &model["tasks"][0]["task"]), (3, &"half".into()));
    assert!(model["pass_at"]["1"]["value"].is_number() && model["pass_at"]["4"].is_null(), "{model}");

    let refused = |more: &[&str]| refused(dir, &[&["eval"][..], &tasks, more].concat());
    assert!(refused(&["--best-of", "9"]).contains("--best-of with --env tasks"));
    assert!(refused(&["--baselines", "greedy"]).contains("--baselines with --env tasks"));
}

#[test]
fn a_suite_is_evaluated_with_its_digest_and_what_it_leaves_out() {
    let place = tempfile::tempdir().unwrap();
    let dir = place.path();
    write_model(&dir.join("base"), Some(CHATML));
    let row = |id: usize, test: &str| {
        format!(
            r#"{{"task_id": {id}, "text": "Add.", "code": "def add(a, b): return a + b", "test_list": ["{test}"]}}"#
        )
    };
    let rows = [row(10, "assert add(1, 2) == 3"), row(11, "assert add(1, 2) == 3"), row(12, "assert other(1) == 3")];
    fs::write(dir.join("mbpp.jsonl"), rows.join("\n")).unwrap();
    let suite = ["eval", "--suite", "mbpp", "--data", "mbpp.jsonl", "--model", "base"];
    let short = [&suite[..], &["--samples", "2", "--set", "rollout.max_completion_length=12", "--json"]].concat();
    let report: Value = serde_json::from_str(run(dir, &short).lines().next().unwrap()).unwrap();
    let facts = &report["suite"];
    assert_eq!((&facts["name"], &facts["tasks"], &facts["other_splits"]), (&"mbpp".into(), &1.into(), &1.into()));
    assert_eq!((&facts["left_out"][0]["id"], &facts["known_as"]), (&"12".into(), &Value::Null));
    // By `sha256sum mbpp.jsonl`.
    assert_eq!(facts["sha256"], "30c08c97dc5c97e77144c35e5f278820a07e203c70119589aebd248549ffdeda");
    assert_eq!(report["game_seconds"], 3.0, "the suite's budget is over the preset's");
    assert_eq!(
        (report["models"][0]["programs"].as_array().unwrap().len(), &report["models"][0]["tasks"][0]["task"]),
        (2, &"11".into())
    );

    let refused = |more: &[&str]| refused(dir, &[&["eval"][..], more].concat());
    assert!(refused(&["--suite", "mbpp"]).contains("--data"));
    assert!(refused(&["--data", "mbpp.jsonl"]).contains("--suite"));
    assert!(refused(&["--suite", "mbbp", "--data", "mbpp.jsonl"]).contains("'mbpp'"));
    let other = refused(&["--suite", "humaneval", "--data", "mbpp.jsonl", "--model", "base"]);
    assert!(
        other.contains("none of 3 rows became a task") && other.contains("no row of HumanEval, which has"),
        "{other}"
    );
    run(dir, &["tasks", "convert", "mbpp.jsonl", "--suite", "mbpp", "--output", "asked.jsonl"]);
    assert_eq!(fs::read_to_string(dir.join("asked.jsonl")).unwrap().lines().count(), 1);
}
