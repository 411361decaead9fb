//! Tests of TRL's configurations, of flags that are settings, and of dry runs.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use grpo_2048::config::{Layers, keys, trl};

use crate::program::{ran, refused};
use crate::runs::copy;

const MANIFEST: &str = env!("CARGO_MANIFEST_DIR");

/// The line with the error and the line with its hint.
fn error_of(words: &str) -> String {
    words.lines().skip_while(|line| !line.starts_with("error: ")).collect::<Vec<_>>().join("\n")
}

fn is_empty(directory: &Path) -> bool {
    fs::read_dir(directory).unwrap().next().is_none()
}

#[test]
fn a_setting_given_as_a_flag_is_answered_with_what_to_say() {
    let dir = tempfile::tempdir().unwrap();
    let cases: &[(&[&str], &str)] = &[
        (&["train", "--beta", "0.04"], "hint: say --set grpo.beta=0.04"),
        (&["train", "--beta=0.04"], "hint: say --set grpo.beta=0.04"),
        (&["train", "--steps", "3", "--beta", "-v"], "hint: say --set grpo.beta=-v"),
        (&["train", "--beta"], "hint: say --set grpo.beta=VALUE"),
        (&["train", "--warmup-steps", "3"], "hint: say --set grpo.warmup_steps=3"),
        (&["sft", "--warmup-steps", "3"], "hint: say --set sft.warmup_steps=3"),
        (&["sft", "--learning-rate", "1"], "hint: say --sft-learning-rate 1"),
        (&["eval", "--top_p", "0.9"], "hint: say --set rollout.top_p=0.9"),
        // What the command reads, by its own flags and settings first.
        (&["train", "--samples", "2"], "hint: say --num-generations N, or --set train.eval_samples=N for"),
        (&["train", "--rounds", "2"], "error: --rounds: `train` counts steps\nhint: say --steps N"),
        (&["evolve", "--steps", "2"], "error: --steps: `evolve` counts rounds\nhint: say --rounds N"),
        (&["sft", "--sequential"], "hint: say --set arena.parallel_rewards=0"),
        (&["sft", "--steps", "2"], "hint: say --total-tokens N"),
        (&["eval", "--steps", "2"], "hint: `grpo-2048 train` alone reads train.max_steps"),
        (&["eval", "--groups", "2"], "hint: say --set rollout.groups=2\n"),
        (&["eval", "--draw", "all"], "hint: `grpo-2048 train` alone reads rollout.draw"),
        (&["verify", "--batch-tokens", "9"], "hint: `grpo-2048 sft` alone reads sft.batch_tokens"),
        (&["config", "--total-tokens", "9"], "hint: say --set sft.total_tokens=9\n"),
        (&["judge", "--eval-samples", "9"], "hint: `grpo-2048 train` alone reads train.eval_samples"),
        (&["sft", "--num-train-epochs", "1"], "hint: `grpo-2048 train` alone reads train.max_steps"),
        (
            &["evolve", "--turns", "2"],
            "hint: `evolve` does not read rollout.turns, as `train`, `sft`, `eval`, `check` do",
        ),
        (&["evolve", "--save-steps", "2"], "hint: `grpo-2048 train` alone reads train.save_steps"),
        (&["evolve", "--lora-r", "64"], "hint: say --set model.lora_r=64\n"),
        (&["evolve", "--beta", "1"], "hint: `evolve` does not read grpo.beta, as `train`, `evolve --update` do"),
        (&["evolve", "--update", "--beta", "1"], "hint: say --set grpo.beta=1"),
        (&["score", "--model", "m", "a.py"], "hint: `grpo-2048 eval --model M` samples them"),
        (&["judge", "--per-device-train-batch-size", "8"], "hint: `judge` does not read rollout.groups, as"),
        (&["train", "--max-completion_length", "9"], "hint: say --max-completion-length"),
        (&["train", "--max-steps", "5"], "hint: say --steps 5"),
        (&["train", "--model_name_or_path", "x"], "hint: say --model x"),
        (&["train", "--lr", "1e-5"], "hint: say --learning-rate"),
        (&["sft", "--lr", "1e-5"], "hint: say --sft-learning-rate 1e-5"),
        // What is said to be copied is quoted for a shell.
        (&["train", "--model_name_or_path", "my model"], "hint: say --model 'my model'"),
        (&["train", "--epsilon", "a b"], "hint: say --set 'grpo.epsilon=a b'"),
        (&["train", "--set", "env=my tasks.jsonl"], "--env 'my tasks.jsonl' or --set 'environment.env=my tasks.jsonl'"),
        // Two letters in each other's place, with settings and without.
        (&["train", "--evn", "x"], "hint: did you mean `--env`?"),
        (&["check", "--evn=x"], "hint: did you mean `--env`?"),
        (&["corpus", "--sede", "3"], "'--seed'"),
        (&["train", "--epsilon", "0.1"], "hint: say --set grpo.epsilon=0.1 --set grpo.epsilon_high=0.1 (TRL's upper"),
        (&["train", "--scale_rewards", "false"], "hint: say --set grpo.scale_rewards=none"),
        (
            &["train", "--per-device-train-batch-size", "16"],
            "hint: say --groups 2 --set grpo.micro_batch=16 (groups: 16",
        ),
        (&["train", "--use_vllm", "true"], "hint: TRL's use_vllm: completions come from this program's own decoder"),
        (&["train", "--num-train-epochs", "2"], "hint: say --steps N; "),
        (&["train", "--use-dora"], "hint: TRL's use_dora = true: adapters are plain LoRA"),
        (&["train", "--entropy-coeff", "0"], "hint: did you mean `entropy_coef`? say --set grpo.entropy_coef=0"),
        (&["eval", "--set", "groups=3"], "error: --set groups=3: expected rollout.groups=3\n"),
        (&["train", "--set", "beta=0.04"], "hint: say grpo.beta"),
        (&["train", "--set", "model_revision=x"], "hint: say model.revision"),
    ];
    for (arguments, expected) in cases {
        let words = refused(dir.path(), arguments);
        assert!(words.contains(expected), "{arguments:?}: no {expected:?} in {words}");
    }
    // A word that is closer to a flag, or that is given to a command without settings, is answered by the parser.
    for (arguments, expected) in [(["train", "--step"], "'--steps'"), (["corpus", "--beta"], "'--beta'")] {
        let words = refused(dir.path(), &arguments);
        assert!(words.contains(expected) && !words.contains("hint: "), "{arguments:?}: {words}");
    }
    assert!(is_empty(dir.path()));
}

#[test]
fn commands_with_a_directory_of_their_own_say_that_the_one_of_a_file_is_for_training() {
    let dir = tempfile::tempdir().unwrap();
    fs::write(dir.path().join("run.yaml"), "output_dir: out\nmax_steps: 3\n").unwrap();
    for command in ["sft", "evolve"] {
        let words = refused(dir.path(), &[command, "--config", "run.yaml", "--model", "nowhere.gguf"]);
        let told =
            format!("train.output_dir = out: is for `train`; `{command}` writes to runs/{command} (--output-dir)\n");
        assert!(words.contains(&told), "{words}");
    }
}

#[test]
fn a_file_that_cannot_be_taken_is_refused_key_by_key() {
    let dir = tempfile::tempdir().unwrap();
    let file = "learning_rat: 1e-5\nbeta: 0.1\nuse_dora: true\ngroups: 4\n";
    fs::write(dir.path().join("run.yaml"), file).unwrap();
    let words = refused(dir.path(), &["train", "--config", "run.yaml"]);
    let expected = "error: run.yaml: 3 keys cannot be taken\n  \
                    learning_rat: TRL has no such key; did you mean `learning_rate`?\n  \
                    use_dora = true: adapters are plain LoRA; leave it away, or take use_rslora: true\n  \
                    groups: is a key of this program and not of TRL; say --set rollout.groups=4\n\
                    hint: docs/trl.md says what becomes of every key of TRL\n";
    assert_eq!(words, expected);
    fs::write(dir.path().join("data.yml"), "dataset_name: openai_humaneval\nmax_steps: 2\n").unwrap();
    let words = refused(dir.path(), &["train", "--config", "data.yml"]);
    assert!(words.starts_with("error: data.yml: dataset_name = \"openai_humaneval\"\nhint: "), "{words}");
    assert!(words.contains("--env") && words.contains("tasks convert") && words.contains("docs/tasks.md"), "{words}");
    let words = refused(dir.path(), &["train", "--config", "data.yml", "--env", "nowhere.jsonl"]);
    assert!(
        words.contains("dataset_name = \"openai_humaneval\": no effect, --env says what is to be learnt"),
        "{words}"
    );
    assert!(words.contains("error: --env nowhere.jsonl"), "{words}");
}

#[test]
fn what_becomes_of_a_file_is_told_once() {
    let dir = tempfile::tempdir().unwrap();
    fs::write(dir.path().join("run.yaml"), "beta: 0.1\n").unwrap();
    fs::write(dir.path().join("tasks.jsonl"), include_str!("tasks/check.jsonl")).unwrap();
    let told = |arguments: &[&str]| {
        let words = refused(dir.path(), &[arguments, &["--config", "run.yaml"]].concat());
        words.matches("beta = 0.1 -> grpo.beta = 0.1").count()
    };
    assert_eq!(told(&["check", "--env", "tasks.jsonl", "--keep", "tasks.jsonl"]), 1);
    assert_eq!(told(&["eval", "--against", "nowhere.gguf"]), 1);
}

#[test]
fn a_file_of_json_is_told_what_to_be_called() {
    let dir = tempfile::tempdir().unwrap();
    let text = "{\n  \"beta\": 0.1\n}\n";
    ["run.json", "run.yaml"].iter().for_each(|name| fs::write(dir.path().join(name), text).unwrap());
    let words = refused(dir.path(), &["config", "--config", "run.json"]);
    assert!(words.starts_with("error: --config run.json: is no TOML but looks like JSON\nhint: "), "{words}");
    assert!(words.ends_with(" is called run.yaml\n"), "{words}");
    let words = refused(dir.path(), &["config", "--config", "run.yaml", "--set", "grpo.bet=1"]);
    assert!(words.contains("--set grpo.bet=1: unknown key"), "{words}");
}

#[test]
fn epochs_are_steps_where_there_are_tasks() {
    let dir = tempfile::tempdir().unwrap();
    let task = |id: usize| {
        let split = if id < 5 { "train" } else { "held_out" };
        let tests = serde_json::json!([{"args": "(1, 2)", "expected": "3"}, {"args": "(2, 2)", "expected": "4"}]);
        let row = serde_json::json!({
            "id": format!("t{id}"), "prompt": "Add.", "entry_point": "add", "split": split, "tests": tests,
        });
        format!("{row}\n")
    };
    fs::write(dir.path().join("tasks.jsonl"), (0..7).map(task).collect::<String>()).unwrap();
    fs::write(dir.path().join("run.yaml"), "num_train_epochs: 3\nper_device_train_batch_size: 16\n").unwrap();
    let words = refused(dir.path(), &["train", "--config", "run.yaml"]);
    assert!(words.starts_with("error: run.yaml: num_train_epochs = 3: 2048 has no tasks"), "{words}");
    // Five tasks with two per step need two steps per epoch, and there are three epochs. The step after the last is
    // refused.
    let asked = ["train", "--config", "run.yaml", "--env", "tasks.jsonl", "--trace", "t.json", "--trace-step", "7"];
    let words = refused(dir.path(), &asked);
    assert!(words.contains("expected 1 to 6"), "{words}");
}

#[test]
fn what_cannot_start_is_refused_before_anything_is_written_dry_or_not() {
    let dir = tempfile::tempdir().unwrap();
    fs::write(dir.path().join("file"), "mine").unwrap();
    let endless = dir.path().join("endless");
    copy(&Path::new(MANIFEST).join("models/builtin"), &endless);
    let config = fs::read_to_string(endless.join("config.json")).unwrap();
    let config = config.replace("\"max_position_embeddings\": 512", "\"max_position_embeddings\": 1000000000");
    assert!(config.contains("1000000000"));
    fs::write(endless.join("config.json"), config).unwrap();
    let cases: &[(&[&str], &str)] = &[
        (&["--max-completion-length", "100000"], "error: rollout.max_completion_length = 100000: with a prompt of "),
        (&["--max-completion-length", "100000"], "that is more than the 512 positions of the model; expected at most "),
        (
            &["--model", "endless", "--max-completion-length", "50000000"],
            " is all the memory there is; expected at least ",
        ),
        (&["--set", "train.memory_mib=100"], "error: train.memory_mib = 100: expected at least "),
        (&["--output-dir", "file/run"], "error: --output-dir file: is no directory"),
        (&["--set", "reward.exponent=9"], "error: reward.exponent = 9"),
    ];
    for (arguments, expected) in cases {
        let quick = ["train", "--steps", "1", "--set", "train.preflight=false"];
        let placed = if arguments[0] == "--output-dir" { &[][..] } else { &["--output-dir", "out"] };
        let arguments = [&quick[..], placed, arguments].concat();
        let said = refused(dir.path(), &arguments);
        assert!(said.contains(expected), "{arguments:?}: no {expected:?} in {said}");
        let dry = refused(dir.path(), &[&arguments[..], &["--dry-run"]].concat());
        // Free memory changes all the time; the memory of the machine does not.
        assert_eq!(error_of(&dry), error_of(&said));
        let left: BTreeSet<_> = fs::read_dir(dir.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
        assert_eq!(left, ["endless", "file"].map(Into::into).into(), "{arguments:?}");
    }
}

#[test]
fn a_dry_run_of_the_example_says_what_it_would_be_and_writes_nothing() {
    let dir = tempfile::tempdir().unwrap();
    let example = Path::new(MANIFEST).join("examples/trl/grpo.yaml").display().to_string();
    let asked = [
        &["train", "--config", &example, "--model", "builtin", "--dry-run"][..],
        &["--set", "rollout.min_p=0.02", "--set", "train.preflight=false"],
        // To measure the machine, programs are written and learnt from; most end within this.
        &["--set", "rollout.max_completion_length=160"],
    ]
    .concat();
    let (code, printed, told) = ran(dir.path(), &asked);
    assert_eq!(code, Some(0), "{told}");
    assert!(is_empty(dir.path()), "{printed}");
    let answers: Vec<&str> =
        told.lines().filter(|line| line.contains(" -> ") || line.contains(": no effect, ")).collect();
    let keys_of_file = fs::read_to_string(&example).unwrap();
    assert_eq!(
        answers.len(),
        keys_of_file.lines().filter(|line| line.contains(": ") && !line.starts_with('#')).count()
    );

    for line in [
        "model = \"builtin\"",
        "lora_r = 8  # ORIGIN: lora_r",
        "groups = 2  # ORIGIN: num_generations",
        "min_p = 0.02  # --set rollout.min_p=0.02",
        "epsilon = 0.2",
        "epsilon_high = 0.2  # ORIGIN: epsilon",
        "warmup_steps = 2  # ORIGIN: warmup_ratio",
        "learning_rate = 0.00002  # ORIGIN: learning_rate",
        "max_steps = 20  # ORIGIN: max_steps",
    ] {
        let line = line.replace("ORIGIN", &example);
        assert!(printed.lines().any(|printed| printed == line), "no {line:?} in {printed}");
    }
    for words in [
        "# memory: ", " a step (sampling ", "20 steps and 2 evaluations ", "# measured on this machine",
        "16 completions",
    ] {
        assert!(printed.contains(words), "no {words:?} in {printed}");
    }
    // The output is a configuration, and printing it again gives the same.
    let mut layers = Layers::default();
    layers.text("printed", &printed).unwrap();
    let config = layers.resolve().unwrap();
    assert_eq!((config.grpo.beta, config.rollout.temperature, config.train.seed), (0.04, 0.9, 42));
    assert!(config.grpo.mask_truncated_completions);
}

#[test]
fn the_page_about_trl_names_keys_that_exist() {
    let page = include_str!("../../docs/trl.md");
    let rows = page.split("## Words").nth(1).unwrap().lines().filter(|line| line.starts_with("| `"));
    let quoted = |cell: &str| cell.split('`').skip(1).step_by(2).map(str::to_owned).collect::<Vec<_>>();
    let (ours, theirs): (Vec<String>, Vec<&str>) = (keys(), trl::names().collect());
    let mut seen = 0;
    for cells in rows.map(|row| row.split('|').collect::<Vec<_>>()) {
        for key in quoted(cells[1]) {
            assert!(theirs.contains(&key.as_str()), "{key}");
            seen += 1;
        }
        for key in quoted(cells[2]) {
            assert!(ours.contains(&key), "{key}");
        }
    }
    assert!(seen > 40, "{seen}");
}
