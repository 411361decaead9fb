//! Tests of the command line: messages, exit codes, and the configuration that is printed.

use std::fs;
use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};

use crate::program::{printed, program, refused, told};
use crate::runs;

#[test]
fn servers_go_with_the_preset_of_a_language_model_and_are_refused_where_every_weight_is_trained() {
    let dir = tempfile::tempdir().unwrap();
    let servers = ["--set", "rollout.servers=[\"http://localhost:8000\"]"];
    let model = [&["config", "--set", "model.model=Qwen/Qwen2.5-Coder-0.5B-Instruct"], &servers[..]].concat();
    let text = printed(dir.path(), &model);
    assert!(text.contains("lora_r = 64"), "{text}");
    let words = refused(dir.path(), &[&["config"], &servers[..]].concat());
    // Not every command has the flag.
    assert!(words.contains("add --lora-r 16 or --set model.lora_r=16"), "{words}");
}

#[test]
fn commands_that_divide_nothing_are_refused_under_a_launcher_of_several_processes() {
    let dir = tempfile::tempdir().unwrap();
    let under = |size: &str, arguments: &[&str]| {
        let output = program(dir.path()).args(arguments).env("OMPI_COMM_WORLD_SIZE", size).output().unwrap();
        assert_eq!((output.status.code(), &output.stdout[..]), (Some(2), &b""[..]), "{arguments:?}");
        String::from_utf8(output.stderr).unwrap()
    };
    for command in ["eval", "sft", "evolve"] {
        let arguments = [command, "--model", "nowhere.gguf"];
        let words = under("2", &arguments);
        let expected =
            format!("error: {command} was started by mpirun of Open MPI in 2 processes, and only train divides");
        assert!(words.starts_with(&expected) && words.contains("env -u OMPI_COMM_WORLD_SIZE"), "{words}");
        let words = under("1", &arguments);
        assert!(words.starts_with("error: --model nowhere.gguf: No such file"), "{words}");
    }
    // A trainer that was started so itself has its own programs judged.
    let words = under("2", &["judge", "nowhere.jsonl"]);
    assert!(words.contains("\nerror: nowhere.jsonl: No such file"), "{words}");
    assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 0);
}

#[test]
fn wrong_input_is_named_with_what_is_allowed() {
    let empty = tempfile::tempdir().unwrap();
    let cases: &[(&[&str], &[&str])] = &[
        (
            &["train", "--set", "rollout.num_generation=4"],
            &["`rollout.num_generation`", "did you mean `num_generations`"],
        ),
        (&["train", "--num-generations", "1"], &["--num-generations = 1 (rollout.num_generations)", "at least 2"]),
        (&["train", "--parallel-rewards", "0"], &["--parallel-rewards", "0", "--sequential"]),
        (&["train", "--sequential", "--parallel-rewards", "2"], &["--sequential", "--parallel-rewards"]),
        (&["train", "--config", "nowhere.toml"], &["nowhere.toml", "No such file"]),
        (&["train", "--preset", "huge"], &["huge", "builtin", "llm"]),
        (&["config", "--preset", "huge"], &["huge", "builtin", "llm"]),
        (
            &["train", "--preset", "games", "--dry-run"],
            &["hint: this is the built-in model; --model M names a language model"],
        ),
        (&["train", "--resume"], &["--resume", "no run with a checkpoint is called runs/train-001, -002, ..."]),
        (&["train", "--resume", "nowhere"], &["nowhere"]),
        (&["monitor", "--csv", "nowhere/gpu.csv"], &["--csv nowhere/gpu.csv: no such directory: nowhere"]),
        (&["train", "--model", "nowhere.gguf"], &["error: --model nowhere.gguf: No such file"]),
        (&["train", "--model", "/nowhere"], &["error: --model /nowhere: no such file or directory, and not"]),
        (&["train", "--env", "."], &["holds `env.toml` (`grpo-2048 tasks new DIR` writes one)"]),
        (
            &["train", "--adapter", "nowhere"],
            &["error: --adapter nowhere: nowhere/adapter_config.json: No such file", "hint: expected a PEFT adapter"],
        ),
        (&["train", "--device", "abacus"], &["abacus"]),
        (&["train", "--trace", "nowhere/step.json"], &["--trace nowhere/step.json", "no such directory: nowhere"]),
        (&["train", "--trace", "."], &["--trace .", "is a directory", "trace.json"]),
        (&["train", "--trace-step", "2"], &["--trace <FILE>"]),
        (&["train", "--trace", "t.json", "--trace-step", "0"], &["--trace-step", "0"]),
        (
            &["train", "--steps", "2", "--trace", "t.json", "--trace-step", "3"],
            &["--trace-step 3", "expected 1 to 2", "--steps"],
        ),
        (&["score", "nowhere.py"], &["nowhere.py", "No such file"]),
        (&["score", "."], &[".", "is a directory"]),
        (&["score"], &["FILE.py"]),
        (&["score", "-", "-"], &["error: -: standard input is named more than once", "name that"]),
        (&["train", "--total-tokens", "5"], &["hint: `grpo-2048 sft` alone reads sft.total_tokens"]),
        (&["config", "--set", "grpo=1"], &["unknown key `grpo`", "hint: it is a section: say grpo.KEY=VALUE"]),
        (&["report", "nowhere"], &["nowhere", "no such directory", "runs/train-001"]),
        (&["report", "."], &["neither metrics.jsonl nor config.toml"]),
        (&["report", "nowhere", "--port", "1"], &["--follow"]),
        (&["export-completions", ".", "--output", "t.xlsx"], &["t.xlsx", ".parquet, .csv or .jsonl"]),
        (&["eval", "--games", "9"], &["error: --games 9: expected a whole number, 1 to 8\n"]),
        (&["eval", "--report-games", "193"], &["error: --report-games 193: expected a whole number, 0 to 192\n"]),
        (&["eval", "--samples", "0"], &["error: --samples 0: expected a whole number, 1 to 1000000\n"]),
        (&["eval", "--samples", "many"], &["error: --samples many: expected a whole number\n"]),
        (&["train", "--temperature", "hot"], &["error: --temperature hot: expected a number\n"]),
        (
            &["train", "--parallel-rewards", "x"],
            &["error: --parallel-rewards x: expected a whole number, at least 1\n"],
        ),
        (&["eval", "--boards", "mine"], &["error: --boards mine: expected \"published\", \"drawn\", or the 32 "]),
        (&["eval", "--best-of", "4", "--report-games", "0"], &["--best-of", "--report-games 1"]),
        (&["eval", "--baselines", "genius"], &["--baselines", "genius", "greedy"]),
        (
            &["eval", "--model", "latest", "--adapter", "warm"],
            &["error: --adapter with --model latest", "leave it away"],
        ),
        (&["eval", "--model", "latest", "--revision", "v2"], &["error: --revision with --model latest"]),
        (&["export", "--run", "latest", "--revision", "v2", "--output-dir", "out"], &["--run <DIR>", "--revision <R>"]),
        (&["eval", "--against", "nowhere.gguf"], &["--against nowhere.gguf"]),
        (&["train", "--set", "train.game_seconds=61"], &["train.game_seconds", "61", "at most 60"]),
        (&["train", "--set", "train.eval_games=9"], &["train.eval_games", "9", "1 to 8"]),
        (&["tasks", "convert", "nowhere.jsonl"], &["nowhere.jsonl", "No such file"]),
        (&["tasks", "convert", "."], &[".", "is a directory"]),
        (&["tasks", "new"], &["<DIR>"]),
        (&["demo", "--steps", "0"], &["--steps", "0", "at least 1"]),
        (&["dance"], &["dance"]),
    ];
    for (arguments, expected) in cases {
        let words = refused(empty.path(), arguments);
        for expected in *expected {
            assert!(words.contains(expected), "{arguments:?}: no {expected:?} in {words}");
        }
    }
    assert_eq!(fs::read_dir(empty.path()).unwrap().count(), 0, "a refused command leaves nothing behind");
}

#[test]
fn a_demonstration_that_has_no_room_says_where_to_go() {
    let dir = tempfile::tempdir().unwrap();
    fs::write(dir.path().join("runs"), "").unwrap();
    let words = refused(dir.path(), &["demo"]);
    assert!(words.contains("runs: is no directory") && words.contains("call it in another directory"), "{words}");
}

#[test]
fn a_misspelt_word_is_answered_with_the_nearest_that_is_there() {
    let dir = tempfile::tempdir().unwrap();
    fs::create_dir_all(dir.path().join("runs/train-001")).unwrap();
    fs::create_dir(dir.path().join("models")).unwrap();
    fs::create_dir(dir.path().join("runs/strategy")).unwrap();
    for file in ["strategy.py", "run.toml", "models/smollm2.gguf"] {
        fs::write(dir.path().join(file), "").unwrap();
    }
    let cases: &[(&[&str], &str)] = &[
        (&["trian"], "'train'"),
        (&["export-completion"], "'export-completions'"),
        (&["train", "--step", "3"], "'--steps'"),
        (&["eval", "--agianst", "builtin"], "'--against'"),
        (&["corpus", "--style", "snaek"], "'snake'"),
        (&["train", "--preset", "labtop"], "'laptop'"),
        (&["train", "--preset", "gpu-24"], "'gpu-24gb'"),
        (&["config", "--preset", "llms"], "'llm'"),
        (&["eval", "--baselines", "random,gredy"], "'greedy'"),
        (&["completions", "powershel"], "'powershell'"),
        (&["train", "--set", "grpo.learning_rat=1"], "`learning_rate`"),
        (&["train", "--set", "gpro.beta=1"], "`grpo`"),
        (&["train", "--model", "bultin"], "`builtin`"),
        (&["train", "--model", "models/smollm.gguf"], "`models/smollm2.gguf`"),
        (&["eval", "--against", "model/smollm2.gguf"], "`models/smollm2.gguf`"),
        (&["train", "--config", "runs.tml"], "`run.toml`"),
        (&["score", "stratgey.py"], "`strategy.py`"),
        (&["play", "strategy.py", "strategi.py"], "`strategy.py`"),
        (&["report", "runs/train-01"], "`runs/train-001`"),
        (&["train", "--resume", "run/train-001"], "`runs/train-001`"),
        (&["train", "--resume", "train-001"], "`runs/train-001`"),
        (&["train", "--resume", "train-01"], "`runs/train-001`"),
        (&["eval", "--model", "train-001"], "`runs/train-001`"),
        (&["eval", "--against", "train-001"], "`runs/train-001`"),
        (&["train", "--adapter", "train-001"], "`runs/train-001`"),
        (&["report", "train-001"], "`runs/train-001`"),
        (&["export-completions", "train-001", "--output", "t.csv"], "`runs/train-001`"),
        (&["score", "train-001"], "`runs/train-001`"),
        (&["verify", "train-001"], "`runs/train-001`"),
        // A file of that name, where one is asked for, is meant before a run of it.
        (&["train", "--env", "strategy", "--dry-run"], "`strategy.py`"),
        (&["score", "strategy"], "`strategy.py`"),
        (&["verify", "strategy"], "`runs/strategy`"),
    ];
    for (arguments, expected) in cases {
        let words = refused(dir.path(), arguments);
        let hint = words.lines().find(|line| line.contains("did you mean") || line.contains("tip: "));
        assert!(hint.is_some_and(|hint| hint.contains(expected)), "{arguments:?}: no {expected} in {words}");
    }
    assert!(!refused(dir.path(), &["score", "unrelated.py"]).contains("did you mean"));
}

#[test]
fn damaged_files_are_named() {
    let dir = tempfile::tempdir().unwrap();
    fs::write(dir.path().join("latin.py"), b"# caf\xe9\n").unwrap();
    fs::write(dir.path().join("broken.toml"), "[train\n").unwrap();
    fs::write(dir.path().join("cut.gguf"), b"GGUF\x03\0\0\0").unwrap();
    assert!(refused(dir.path(), &["score", "latin.py"]).contains("latin.py: not UTF-8 text, at byte 5"));
    assert!(refused(dir.path(), &["train", "--config", "broken.toml"]).contains("broken.toml"));
    assert!(refused(dir.path(), &["train", "--model", "cut.gguf"]).contains("cut.gguf"));
}

#[test]
fn the_word_for_the_newest_run_is_no_directory_to_write_to() {
    let dir = tempfile::tempdir().unwrap();
    let rest: [&[&str]; 6] = [
        &["train", "--output-dir", "latest"],
        &["train", "--set", "train.output_dir=latest"],
        &["train", "--config", "run.toml"],
        &["sft", "--output-dir", "latest"],
        &["evolve", "--model", "owner/name", "--output-dir", "latest"],
        &["export", "--model", "builtin", "--merge", "--output-dir", "latest"],
    ];
    fs::write(dir.path().join("run.toml"), "[train]\noutput_dir = \"latest\"\n").unwrap();
    for command in rest {
        let words = refused(dir.path(), command);
        assert!(words.contains("--output-dir latest: is the word for the newest run; say ./latest"), "{words}");
    }
    let words = refused(dir.path(), &["train", "--output-dir", "./latest", "--model", "nowhere.gguf"]);
    assert!(words.contains("nowhere.gguf"), "{words}");
}

#[test]
fn a_folder_that_is_called_as_the_builtin_model_is_not_taken_for_it() {
    let dir = tempfile::tempdir().unwrap();
    fs::create_dir_all(dir.path().join("builtin/checkpoint-1")).unwrap();
    fs::write(dir.path().join("builtin/config.toml"), "").unwrap();
    let words = refused(dir.path(), &["export", "--model", "builtin", "--output-dir", "out"]);
    assert!(words.contains("builtin has no adapter"), "{words}");
    let words = refused(dir.path(), &["eval", "--model", "builtin", "--adapter", "nowhere"]);
    assert!(words.contains("--adapter nowhere: "), "{words}");
    let words = refused(dir.path(), &["export", "--model", "./builtin", "--output-dir", "out"]);
    assert!(words.contains("--model ./builtin: is the directory of a run"), "{words}");
    fs::rename(dir.path().join("builtin/config.toml"), dir.path().join("builtin/evolve.json")).unwrap();
    let words = refused(dir.path(), &["export", "--model", "builtin", "--output-dir", "out"]);
    assert!(words.contains("builtin has no adapter"), "{words}");
}

#[test]
fn a_directory_of_something_else_is_left_alone() {
    let dir = tempfile::tempdir().unwrap();
    fs::create_dir(dir.path().join("thesis")).unwrap();
    fs::write(dir.path().join("thesis/chapter.tex"), "mine").unwrap();
    fs::write(dir.path().join("notes"), "mine").unwrap();
    // The error comes before the model is loaded, and so before anything that takes long.
    let train = |place| refused(dir.path(), &["train", "--output-dir", place, "--model", "nowhere.gguf"]);
    let words = train("thesis");
    assert!(words.contains("--output-dir thesis: is not empty and holds no run"), "{words}");
    let words = train("notes");
    assert!(words.contains("--output-dir notes: is no directory"), "{words}");
    assert_eq!(fs::read_dir(dir.path().join("thesis")).unwrap().count(), 1);
}

#[test]
fn the_printed_configuration_is_one_that_can_be_given_back() {
    let dir = tempfile::tempdir().unwrap();
    for preset in ["builtin", "llm", "games", "laptop", "gpu-8gb", "gpu-24gb", "gpu-80gb", "h200"] {
        let text = printed(dir.path(), &["config", "--preset", preset]);
        fs::write(dir.path().join("run.toml"), &text).unwrap();
        assert_eq!(text.contains("HuggingFaceTB/SmolLM2-135M-Instruct"), preset == "laptop");
        // The file is accepted; the setting after it is refused.
        let words = refused(dir.path(), &["train", "--config", "run.toml", "--set", "train.nonsense=1"]);
        assert!(words.contains("--set train.nonsense=1: unknown key"), "{words}");
    }
}

#[test]
fn what_prints_without_end_ends_with_its_reader() {
    let dir = tempfile::tempdir().unwrap();
    // More programs than could be written in the seconds of a processor that the limit leaves.
    let shell = "ulimit -t 20; \"$0\" corpus --count 1000000000 | head -n 1 > first; exit ${PIPESTATUS[0]}";
    let ended = std::process::Command::new("bash")
        .current_dir(dir.path())
        .args(["-c", shell, env!("CARGO_BIN_EXE_grpo-2048")])
        .status()
        .unwrap();
    assert!(ended.success(), "{ended}");
    assert!(fs::read_to_string(dir.path().join("first")).unwrap().starts_with("# asked for "));
}

#[test]
fn an_error_that_nobody_can_read_still_has_its_exit_code() {
    let (reader, writer) = std::io::pipe().unwrap();
    drop(reader);
    let mut refused = Command::new(env!("CARGO_BIN_EXE_grpo-2048"));
    let ended = refused.args(["config", "--set", "grpo.bet=1"]).stderr(writer).status().unwrap();
    assert_eq!(ended.code(), Some(2), "{ended}");
}

#[test]
fn a_file_beyond_the_limit_on_file_sizes_is_named_as_the_machines_fault() {
    let dir = tempfile::tempdir().unwrap();
    let mut limited = Command::new("sh");
    limited.args(["-c", "ulimit -f 0 && exec \"$0\" tasks new mine", env!("CARGO_BIN_EXE_grpo-2048")]);
    let (code, said) = told(limited.current_dir(dir.path()));
    let expected = "error: mine/env.toml: File too large (os error 27); raise the limit on files (ulimit -f), ";
    assert!(code == Some(1) && said.starts_with(expected), "{code:?} {said}");
}

#[test]
fn a_signal_before_the_first_step_ends_a_run_at_once_with_nothing_written() {
    let root = tempfile::tempdir().unwrap();
    let dir = root.path().join("run");
    // The reward check takes seconds, for which nobody waits who has asked to stop.
    let check = ["--set", "train.preflight=true", "--set", "train.game_seconds=1", "--set", "sandbox.game_seconds=1"];
    for dry in [&["--dry-run"][..], &[]] {
        let mut child = runs::train(&dir, &[&check[..], dry].concat()).stderr(Stdio::piped()).spawn().unwrap();
        let mut lines = BufReader::new(child.stderr.take().unwrap()).lines().map(Result::unwrap);
        assert!(lines.any(|line| line.contains("checking the reward")), "{dry:?}");
        runs::signal("-TERM", child.id());
        let said: Vec<String> = lines.collect();
        assert_eq!(child.wait().unwrap().code(), Some(130), "{dry:?}: {said:?}");
        assert!(said.contains(&"interrupted before the first step: nothing has been written".to_owned()), "{said:?}");
        let goes_on = |line: &String| line.contains("stopping after") || line.starts_with("reward check:");
        assert!(!said.iter().any(goes_on) && !dir.exists(), "{dry:?}: {said:?}");
    }
}
