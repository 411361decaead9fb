//! Tests of the command line: messages, exit codes, and the output of `score`.

use std::fs;
use std::path::Path;

use serde_json::Value;

use crate::program::{done, program, refused};

#[test]
fn servers_go_with_the_preset_of_a_language_model_and_are_refused_where_every_weight_is_trained() {
    let dir = tempfile::tempdir().unwrap();
    let servers = ["--set", "rollout.servers=[\"http://localhost:8000\"]"];
    let model = [&["config", "--set", "model.model=Qwen/Qwen2.5-Coder-0.5B-Instruct"], &servers[..]].concat();
    let printed = String::from_utf8(done(dir.path(), &model).stdout).unwrap();
    assert!(printed.contains("lora_r = 64"), "{printed}");
    let words = refused(dir.path(), &[&["config"], &servers[..]].concat());
    assert!(words.contains("add --lora-r 16"), "{words}");
}

#[test]
fn wrong_input_is_named_with_what_is_allowed() {
    let empty = tempfile::tempdir().unwrap();
    let cases: &[(&[&str], &[&str])] = &[
        (
            &["train", "--set", "rollout.num_generation=4"],
            &["`rollout.num_generation`", "did you mean `num_generations`"],
        ),
        (&["train", "--set", "grpo.learning_rate=fast"], &["grpo.learning_rate", "fast", "float"]),
        (&["train", "--num-generations", "1"], &["--num-generations = 1 (rollout.num_generations)", "at least 2"]),
        (&["train", "--parallel-rewards", "0"], &["--parallel-rewards", "0", "--sequential"]),
        (&["train", "--sequential", "--parallel-rewards", "2"], &["--sequential", "--parallel-rewards"]),
        (&["train", "--config", "nowhere.toml"], &["nowhere.toml", "No such file"]),
        (&["train", "--preset", "huge"], &["huge", "builtin", "llm"]),
        (&["config", "--preset", "huge"], &["huge", "builtin", "llm"]),
        (&["train", "--resume"], &["--resume", "no run with a checkpoint is called runs/train-001, -002, ..."]),
        (&["train", "--resume", "nowhere"], &["nowhere"]),
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
        (&["eval", "--games", "9"], &["--games", "9", "1..=8"]),
        (&["eval", "--report-games", "193"], &["--report-games", "193", "0..=192"]),
        (&["eval", "--best-of", "4", "--report-games", "0"], &["--best-of", "--report-games 1"]),
        (&["eval", "--baselines", "genius"], &["--baselines", "genius", "greedy"]),
        (&["eval", "--against", "nowhere.gguf"], &["--against nowhere.gguf"]),
        (&["train", "--set", "train.game_seconds=61"], &["train.game_seconds", "61", "at most 60"]),
        (&["train", "--set", "train.eval_games=9"], &["train.eval_games", "9", "1 to 8"]),
        (&["tasks", "convert", "nowhere.jsonl"], &["nowhere.jsonl", "No such file"]),
        (&["tasks", "convert", "."], &[".", "is a directory"]),
        (&["tasks", "new"], &["<DIR>"]),
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
fn a_preset_for_language_models_asks_for_one() {
    let dir = tempfile::tempdir().unwrap();
    let words = refused(dir.path(), &["train", "--preset", "games", "--dry-run"]);
    assert!(words.contains("hint: this is the built-in model; --model M names a language model"), "{words}");
}

#[test]
fn a_misspelt_word_is_answered_with_the_nearest_that_is_there() {
    let dir = tempfile::tempdir().unwrap();
    fs::create_dir_all(dir.path().join("runs/train-001")).unwrap();
    fs::create_dir(dir.path().join("models")).unwrap();
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
        let printed = program(dir.path()).args(["config", "--preset", preset]).output().unwrap();
        assert!(printed.status.success());
        fs::write(dir.path().join("run.toml"), printed.stdout).unwrap();
        let text = fs::read_to_string(dir.path().join("run.toml")).unwrap();
        assert_eq!(text.contains("HuggingFaceTB/SmolLM2-135M-Instruct"), preset == "laptop");
        // The file is accepted; the setting after it is refused.
        let words = refused(dir.path(), &["train", "--config", "run.toml", "--set", "train.nonsense=1"]);
        assert!(words.contains("--set train.nonsense=1: unknown key"), "{words}");
    }
}

const CYCLE: &str = "def strategy(board, s=[0]):\n    s[0] += 1\n    return \"WASD\"[s[0] % 4]\n";

fn score(directory: &Path, arguments: &[&str]) -> Vec<Value> {
    let output = program(directory).arg("score").args(arguments).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let text = String::from_utf8(output.stdout).unwrap();
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

#[test]
fn score_prints_a_line_a_file_in_order_whatever_the_workers() {
    let dir = tempfile::tempdir().unwrap();
    let files = [
        ("cycle.py", CYCLE, "succeeded"),
        ("broken.py", "def strategy(board:\n    return 'W'\n", "not_compiled"),
        ("nothing.py", "print('hello')\n", "no_function"),
        ("raises.py", "def strategy(board):\n    return board[9]\n", "raised"),
        ("constant.py", "def strategy(board):\n    return 'W'\n", "froze"),
    ];
    for (name, source, _) in files {
        fs::write(dir.path().join(name), source).unwrap();
    }
    let names = files.map(|(name, ..)| name);
    let common = ["--json", "--games", "2", "--seed", "5"];
    let lines = score(dir.path(), &[&names[..], &common, &["--sequential"]].concat());
    for (line, (name, _, verdict)) in lines.iter().zip(files) {
        assert_eq!((line["file"].as_str(), line["verdict"].as_str()), (Some(name), Some(verdict)), "{line}");
        assert_eq!(line["reason"].is_null(), ["succeeded", "froze"].contains(&verdict), "{line}");
    }
    let game = &lines[0]["games"][0];
    assert!(game["moves_text"].as_str().unwrap().len() as u64 >= game["moves"].as_u64().unwrap());
    assert!(lines[0]["mean_score"].as_f64() > lines[4]["mean_score"].as_f64());
    assert!(lines[0]["reward"].as_f64() > lines[3]["reward"].as_f64());
    for workers in ["1", "2", "8"] {
        assert_eq!(score(dir.path(), &[&names[..], &common, &["--parallel-rewards", workers]].concat()), lines);
    }
}

#[test]
fn a_program_plays_the_games_that_a_file_a_setting_or_a_flag_says() {
    let dir = tempfile::tempdir().unwrap();
    let constant = "def strategy(board):\n    return 'W'\n";
    fs::write(dir.path().join("constant.py"), constant).unwrap();
    fs::write(dir.path().join("run.toml"), "[arena]\ngames = 3\n").unwrap();
    let item = serde_json::json!({"id": "one", "completion": constant});
    fs::write(dir.path().join("items.jsonl"), item.to_string()).unwrap();
    let setting = ["--set", "arena.games=2"];
    let cases: [(&[&str], usize); 4] = [
        (&[], 10),
        (&["--config", "run.toml"], 3),
        (&["--config", "run.toml", setting[0], setting[1]], 2),
        (&["--config", "run.toml", setting[0], setting[1], "--games", "4"], 4),
    ];
    for (more, expected) in cases {
        let lines = score(dir.path(), &[&["constant.py", "--json", "--seed", "0"][..], more].concat());
        assert_eq!(lines[0]["games"].as_array().unwrap().len(), expected, "{more:?}");
    }
    let judged = |more: &[&str]| printed(dir.path(), &[&["judge", "items.jsonl"][..], more].concat());
    assert_eq!(judged(&setting), judged(&["--games", "2"]));
    assert_ne!(judged(&setting), judged(&[]));
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
fn answers_that_look_alike_are_told_apart() {
    let dir = tempfile::tempdir().unwrap();
    let far: Vec<i32> = (0..99).collect();
    let rows = format!(
        "{}\n{}\n{}\n",
        r#"{"id": "nan", "prompt": "No number.", "entry_point": "lost", "tests": [{"args": "()", "expected": "float('nan')"}]}"#,
        serde_json::json!({"id": "near", "prompt": "Root.", "entry_point": "near",
            "tests": [{"args": "()", "expected": "23.45207879911715"}]}),
        serde_json::json!({"id": "far", "prompt": "Count.", "entry_point": "far",
            "tests": [{"args": "()", "expected": format!("{far:?}")}]}),
    );
    fs::write(dir.path().join("tasks.jsonl"), rows).unwrap();
    let program = "def lost():\n    return float('nan')\n\ndef near():\n    return 550 ** 0.5\n\ndef far():\n    return list(range(98)) + [0]\n";
    fs::write(dir.path().join("both.py"), program).unwrap();
    let reason = |line: &Value| line["failed"]["reason"].as_str().unwrap().to_owned();
    let reasons: Vec<String> =
        score(dir.path(), &["both.py", "--env", "tasks.jsonl", "--json"]).iter().map(reason).collect();
    assert_eq!(reasons[0], "lost() gave nan, expected nan; nan equals nothing, itself included");
    assert_eq!(
        reasons[1],
        "near() gave 23.452078799117146, expected 23.45207879911715; they agree to 1e-9 (a task may set `tolerance`)"
    );
    assert!(reasons[2].ends_with("...; they differ further on"), "{}", reasons[2]);
}

const TASKS: &str = r#"{"id": "sum", "prompt": "Add.", "entry_point": "add", "tests": [{"args": "(1, 2)", "expected": "3"}, {"args": "(2, 2)", "expected": "4"}]}
{"id": "double", "prompt": "Double.", "entry_point": "twice", "tests": [{"args": "(3,)", "expected": "6"}, {"args": "(2,)", "expected": "4"}]}
{"id": "echo", "prompt": "Print the line.", "tests": [{"stdin": "a\n", "stdout": "a\n"}, {"stdin": "b\n", "stdout": "b\n"}]}
"#;

#[test]
fn a_program_is_scored_on_the_tasks_whose_functions_it_defines_or_on_the_one_that_is_named() {
    let dir = tempfile::tempdir().unwrap();
    fs::write(dir.path().join("tasks.jsonl"), TASKS).unwrap();
    fs::write(dir.path().join("both.py"), "def add(a, b):\n    return a + b\n\ndef twice(x):\n    return x * x\n")
        .unwrap();
    fs::write(dir.path().join("echo.py"), "print(input())\n").unwrap();
    fs::write(dir.path().join("broken.py"), "def add(a, b:\n").unwrap();
    let tasks = ["--env", "tasks.jsonl", "--json"];
    let lines = score(dir.path(), &[&["both.py", "broken.py"][..], &tasks].concat());
    let of = |line: &Value| (line["task"].clone(), line["verdict"].clone(), line["passed"].clone());
    let found: Vec<_> = lines.iter().map(of).collect();
    let expected = [("sum", "succeeded", 2), ("double", "wrong_answer", 1), ("sum", "not_compiled", 0)];
    assert_eq!(found, expected.map(|(task, verdict, passed)| (task.into(), verdict.into(), passed.into())));
    assert_eq!(lines[1]["failed"], serde_json::json!({"test": 1, "reason": "twice(3) gave 9, expected 6"}));
    assert_eq!((&lines[0]["reward"], &lines[2]["tests"]), (&1.0.into(), &2.into()));

    let text = printed(dir.path(), &["score", "both.py", "--env", "tasks.jsonl"]);
    assert!(text.contains("1 of 2") && text.contains("test 1: twice(3) gave 9, expected 6"), "{text}");
    let echo = score(dir.path(), &[&["echo.py", "--task", "echo"][..], &tasks].concat());
    assert_eq!(of(&echo[0]), ("echo".into(), "succeeded".into(), 2.into()));

    let refused = |more: &[&str]| refused(dir.path(), &[&["score", "echo.py"][..], more].concat());
    let said = refused(&["--env", "tasks.jsonl"]);
    assert!(
        said.contains("echo.py: defines the function of no task") && said.contains("--task; there are: sum"),
        "{said}"
    );
    let said = refused(&["--env", "tasks.jsonl", "--task", "ecko"]);
    assert!(said.contains("--task ecko: tasks.jsonl has no such task") && said.contains("`echo`"), "{said}");
    assert!(refused(&["--env", "tasks.jsonl", "--games", "3"]).contains("--games with --env tasks.jsonl"));
    assert!(refused(&["--task", "echo"]).contains("--task with --env 2048"));
}

#[test]
fn a_program_for_another_game_is_scored_without_tiles_and_not_watched() {
    let dir = tempfile::tempdir().unwrap();
    fs::write(dir.path().join("cycle.py"), CYCLE).unwrap();
    let game = Path::new(env!("CARGO_MANIFEST_DIR")).join("examples/2584.py").display().to_string();
    let lines = score(dir.path(), &["cycle.py", "--env", &game, "--games", "2", "--json"]);
    assert!(lines[0]["mean_score"].as_f64() > Some(0.0), "{lines:?}");
    assert!(lines[0].get("max_tile").is_none() && lines[0]["games"][0].get("moves_text").is_none(), "{lines:?}");
    let text = printed(dir.path(), &["score", "cycle.py", "--env", &game, "--games", "1"]);
    assert!(text.contains("score") && !text.contains("tile"), "{text}");
    let said = refused(dir.path(), &["play", "cycle.py", "--set", &format!("environment.env={game}")]);
    assert!(said.contains("`play` shows boards of 2048") && said.contains("grpo-2048 score --env"), "{said}");
}

#[test]
fn two_programs_are_played_on_one_board_and_a_pipe_gets_the_last_boards() {
    let dir = tempfile::tempdir().unwrap();
    fs::write(dir.path().join("cycle.py"), CYCLE).unwrap();
    fs::write(dir.path().join("constant.py"), "def strategy(board):\n    return 'W'\n").unwrap();
    fs::write(dir.path().join("broken.py"), "def strategy(board:\n").unwrap();
    let scores = score(dir.path(), &["cycle.py", "constant.py", "--json", "--games", "1", "--seed", "3"]);
    let [left, right] = [0, 1].map(|index| scores[index]["mean_score"].as_f64().unwrap());
    let text = printed(dir.path(), &["play", "cycle.py", "constant.py", "--seed", "3"]);
    assert!(!text.contains('\u{1b}'), "{text}");
    let (boards, figures) = text.split_once("\n\n").unwrap();
    // Each game has a line with its file, a line with move and score, four rows, and its ending.
    let lines: Vec<&str> = boards.lines().map(str::trim_end).collect();
    assert_eq!((lines.len(), lines[0], lines[7]), (14, "cycle.py", "constant.py"), "{text}");
    assert!(lines[1].ends_with(&format!("score {left:>6}")), "{text}");
    assert!(lines[8].ends_with(&format!("score {right:>6}")), "{text}");
    assert!(lines[6].contains("% of the fuel") && lines[13].starts_with("freeze"), "{text}");
    assert!(figures.contains(&format!("cycle.py is ahead by {}", left - right)), "{text}");
    assert!(figures.contains("cycle.py     game_over: score"), "{text}");
    let text = printed(dir.path(), &["play", "broken.py", "--delay", "0"]);
    assert!(text.contains("broken.py: not_compiled: "), "{text}");
}

#[test]
fn help_teaches_the_defaults_and_the_two_modes() {
    let dir = tempfile::tempdir().unwrap();
    let output = program(dir.path()).args(["train", "--help"]).output().unwrap();
    let help = String::from_utf8(output.stdout).unwrap();
    for expected in ["--parallel-rewards <N>", "[default: 8]", "--sequential", "[default: 16; llm: 8]", "Examples:"] {
        assert!(help.contains(expected), "{expected} in {help}");
    }
}

fn printed(directory: &Path, arguments: &[&str]) -> String {
    String::from_utf8(done(directory, arguments).stdout).unwrap()
}

/// The commands that `--help` lists.
fn commands(directory: &Path) -> Vec<String> {
    let help = printed(directory, &["--help"]);
    let listed = help.split("Commands:\n").nth(1).unwrap().split("\n\n").next().unwrap();
    let entries = listed.lines().filter(|line| line.starts_with("  ") && !line.starts_with("   "));
    let names = entries.map(|line| line.split_whitespace().next().unwrap().to_owned());
    names.filter(|name| name != "help").collect()
}

#[test]
fn every_help_has_groups_and_an_example_that_is_a_command_of_its_own() {
    let dir = tempfile::tempdir().unwrap();
    let names = commands(dir.path());
    assert!(names.len() >= 12 && names.contains(&"export-completions".to_owned()), "{names:?}");
    for name in &names {
        let help = printed(dir.path(), &[name, "--help"]);
        let examples = help.split("Examples:\n").nth(1).unwrap_or_else(|| panic!("{name}: no examples in {help}"));
        assert!(examples.contains(&format!("grpo-2048 {name}")), "{name}: {examples}");
        let options = help.split("\nOptions:\n").nth(1).unwrap().split("\n\n").next().unwrap();
        let ungrouped = options.lines().filter(|line| line.trim_start().starts_with("--")).count();
        assert!(ungrouped <= 1, "{name}: flags without a heading in {help}");
        // Examples are aligned in columns, which a terminal of 80 characters must not break.
        let wide = examples.lines().find(|line| line.chars().count() > 84);
        assert_eq!(wide, None, "{name}");
    }
}

#[test]
fn completions_know_every_command_and_shells_accept_them() {
    let dir = tempfile::tempdir().unwrap();
    let names = commands(dir.path());
    for shell in ["bash", "elvish", "fish", "powershell", "zsh"] {
        let script = printed(dir.path(), &["completions", shell]);
        for name in &names {
            assert!(script.contains(name.as_str()), "{shell}: no {name}");
        }
        // Scripts for shells that are not installed are not checked.
        if ["bash", "fish", "zsh"].contains(&shell) {
            fs::write(dir.path().join(shell), &script).unwrap();
            let checked = std::process::Command::new(shell).arg("-n").arg(dir.path().join(shell)).output();
            if let Ok(checked) = checked {
                assert!(checked.status.success(), "{shell}: {}", String::from_utf8_lossy(&checked.stderr));
            }
        }
    }
    assert!(refused(dir.path(), &["completions", "bsh"]).contains("bash"));
}

#[test]
fn bash_completes_commands_presets_styles_and_keys() {
    let dir = tempfile::tempdir().unwrap();
    fs::write(dir.path().join("script"), printed(dir.path(), &["completions", "bash"])).unwrap();
    let offered = |words: &str| {
        let ask = format!(
            "source ./script; COMP_WORDS=({words}); COMP_CWORD=$((${{#COMP_WORDS[@]}} - 1)); \
             _grpo__2048 grpo-2048 \"${{COMP_WORDS[-1]}}\" \"${{COMP_WORDS[-2]}}\"; echo \"${{COMPREPLY[*]}}\""
        );
        let output = std::process::Command::new("bash").current_dir(dir.path()).args(["-c", &ask]).output().unwrap();
        String::from_utf8(output.stdout).unwrap().trim().to_owned()
    };
    assert_eq!(offered("grpo-2048 exp"), "export export-completions");
    assert_eq!(offered("grpo-2048 train --preset gpu-2"), "gpu-24gb");
    assert_eq!(offered("grpo-2048 corpus --style sna"), "snake");
    assert_eq!(offered("grpo-2048 train --set reward.ex"), "reward.exponent=");
    assert_eq!(offered("grpo-2048 eval --baselines gr"), "greedy");
}

#[test]
fn manual_pages_are_one_a_command() {
    let dir = tempfile::tempdir().unwrap();
    let own = printed(dir.path(), &["man"]);
    assert!(own.contains(".TH grpo-2048 1") && own.contains("grpo\\-2048 train"), "{own}");
    printed(dir.path(), &["man", "pages/man1"]);
    let pages = dir.path().join("pages/man1");
    assert_eq!(fs::read_to_string(pages.join("grpo-2048.1")).unwrap(), own);
    let train = fs::read_to_string(pages.join("grpo-2048-train.1")).unwrap();
    assert!(train.contains("parallel\\-rewards") && train.contains(".SH \"EXIT CODES\""), "{train}");
    assert_eq!(fs::read_dir(&pages).unwrap().count(), commands(dir.path()).len() + 1);
    fs::write(dir.path().join("file"), "").unwrap();
    assert!(refused(dir.path(), &["man", "file"]).contains("file"));
}

#[test]
fn doctor_tells_what_a_bug_report_needs() {
    let dir = tempfile::tempdir().unwrap();
    fs::create_dir_all(dir.path().join("hf/hub/models--owner--name")).unwrap();
    let blob = fs::File::create(dir.path().join("hf/hub/models--owner--name/blob")).unwrap();
    blob.set_len(300_000_000).unwrap();
    let output = program(dir.path()).env("HF_HOME", dir.path().join("hf")).args(["doctor", "--json"]).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let examined: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(examined["version"], env!("CARGO_PKG_VERSION"));
    assert!(examined.as_object().unwrap().contains_key("commit"));
    let findings = examined["findings"].as_array().unwrap();
    let finding = |subject: &str| {
        let found = findings.iter().find(|finding| finding["subject"] == subject);
        found.unwrap_or_else(|| panic!("no {subject} in {findings:?}"))
    };
    for (subject, words) in [
        ("program", "commit "),
        ("processor", " cores, "),
        ("memory", " GB free of "),
        ("gpu", ""),
        ("device", ""),
        ("precision", "f32"),
        ("model", "inside this program"),
        ("model cache", "1 model, 0.3 GB"),
        ("disk", " GB free for runs"),
        ("sandbox cache", " MB)"),
        ("sandbox", "median "),
        ("fuel", "Gfuel a second"),
        ("reward order", "greedy"),
    ] {
        assert!(finding(subject)["finding"].as_str().unwrap().contains(words), "{}", finding(subject));
    }
    for finding in findings {
        assert_eq!(finding["level"] == "ok", finding["advice"].is_null(), "{finding}");
    }
    assert!(examined["reward"]["players"].as_array().unwrap().len() > 4);
}

#[test]
fn doctor_says_what_to_do_about_a_model_that_is_not_there() {
    let dir = tempfile::tempdir().unwrap();
    fs::write(dir.path().join("model.gguf"), "").unwrap();
    let output = program(dir.path()).args(["doctor", "--model", "modle.gguf"]).output().unwrap();
    assert_eq!(output.status.code(), Some(1));
    let text = String::from_utf8(output.stdout).unwrap();
    let problem =
        text.lines().position(|line| line.starts_with("problem   model ")).unwrap_or_else(|| panic!("{text}"));
    let advice = text.lines().skip(problem + 1).find(|line| line.contains("-> ")).unwrap();
    assert!(advice.trim().starts_with("-> did you mean `model.gguf`?"), "{text}");
    assert!(text.lines().any(|line| line.starts_with("greedy") && line.contains('\u{2501}')), "a chart: {text}");
}

fn eval(directory: &Path, arguments: &[&str]) -> String {
    let small = ["eval", "--samples", "20", "--games", "2", "--report-games", "3"];
    let quick = ["--set", "sandbox.game_seconds=0.02", "--set", "rollout.max_completion_length=160"];
    let output = program(directory).args([&small[..], &quick, arguments].concat()).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn eval_tells_the_same_whatever_the_workers_and_the_batch() {
    let dir = tempfile::tempdir().unwrap();
    let rivals = ["--against", "builtin", "--best-of", "24", "--json", "--boards", "published"];
    let expected = eval(dir.path(), &[&rivals[..], &["--sequential"]].concat());
    // 16 completions at a time instead of 64.
    let batch = ["--set", "rollout.groups=2", "--set", "rollout.num_generations=8"];
    assert_eq!(eval(dir.path(), &[&rivals[..], &["--parallel-rewards", "3"], &batch].concat()), expected);

    let report: Value = serde_json::from_str(&expected).unwrap();
    let [model, rival] = report["models"].as_array().unwrap().as_slice() else { panic!("{report}") };
    assert_eq!(model, rival, "a model against itself");
    let programs = model["programs"].as_array().unwrap();
    assert_eq!(programs.len(), 20);
    let scores: Vec<f64> = programs.iter().map(|program| program["mean_score"].as_f64().unwrap()).collect();
    let mean = scores.iter().sum::<f64>() / 20.0;
    assert!((model["mean_score"]["value"].as_f64().unwrap() - mean).abs() < 1e-9);
    assert!(model["mean_score"]["low"].as_f64() < Some(mean) && model["mean_score"]["high"].as_f64() > Some(mean));
    assert_eq!(model["best_of"]["1"], model["mean_score"]);
    assert!(model["best_of"]["16"]["value"].is_number() && model["best_of"]["64"].is_null());
    let best = programs.iter().max_by(|a, b| a["mean_score"].as_f64().partial_cmp(&b["mean_score"].as_f64()).unwrap());
    assert_eq!(best.unwrap()["report_scores"].as_array().unwrap().len(), 3);
    let best_of = &report["best_of"][0];
    assert_eq!((best_of["samples"].as_u64(), report["best_of"].as_array().unwrap().len()), (Some(24), 1));
    assert_eq!(best_of["program"]["scores"].as_array().unwrap().len(), 8);
    assert_eq!(best_of["rungs"][3]["games"], 8);
    assert_eq!(report["baselines"][2]["scores"].as_array().unwrap().len(), 5);
}

#[test]
fn boards_that_nobody_knows_are_drawn_recorded_and_played_again() {
    let dir = tempfile::tempdir().unwrap();
    let small = ["--json", "--baselines", "greedy"];
    let of =
        |boards: &[&str]| -> Value { serde_json::from_str(&eval(dir.path(), &[&small[..], boards].concat())).unwrap() };
    let (published, drawn, other) = (of(&["--boards", "published"]), of(&[]), of(&["--boards", "drawn"]));
    assert_eq!(published["boards"], "published");
    let salt = drawn["boards"].as_str().unwrap();
    assert!(salt.len() == 32 && drawn["boards"] != other["boards"], "{salt}");
    let greedy = |report: &Value| report["baselines"][0]["scores"].clone();
    assert!(greedy(&drawn) != greedy(&published) && greedy(&drawn) != greedy(&other));
    assert_eq!(of(&["--boards", salt]), drawn);

    fs::write(dir.path().join("cycle.py"), CYCLE).unwrap();
    let output = program(dir.path()).args(["score", "cycle.py", "--json"]).output().unwrap();
    let told = String::from_utf8(output.stderr).unwrap();
    let salt =
        told.split("--boards ").nth(1).and_then(|rest| rest.split(' ').next()).unwrap_or_else(|| panic!("{told}"));
    assert_eq!(salt.len(), 32, "{told}");
    let again = program(dir.path()).args(["score", "cycle.py", "--json", "--boards", salt]).output().unwrap();
    assert_eq!(String::from_utf8(again.stdout), String::from_utf8(output.stdout));
    let published = score(dir.path(), &["cycle.py", "--json", "--boards", "published"]);
    assert_eq!(published, score(dir.path(), &["cycle.py", "--json", "--seed", "0"]));
    let said = refused(dir.path(), &["score", "cycle.py", "--boards", "mine"]);
    assert!(said.contains("--boards") && said.contains("32 hexadecimal digits"), "{said}");
}

#[test]
fn eval_shows_models_and_native_strategies_in_one_table() {
    let dir = tempfile::tempdir().unwrap();
    let text = eval(dir.path(), &["--baselines", "greedy,cycle", "--parallel-rewards", "2"]);
    let row = |name: &str| text.lines().find(|line| line.starts_with(name)).unwrap_or_else(|| panic!("{name}: {text}"));
    for column in ["mean score", "median", "plays", "unique", ">=2324", ">=14815", "best tile"] {
        assert!(row("   ").contains(column), "{text}");
    }
    for name in ["builtin", "cycle", "greedy", "snake"] {
        assert!(row(name).len() > name.len(), "{text}");
    }
    assert!(!text.contains("random") && row("best@n ").contains("best@16"), "{text}");
}

#[test]
fn eval_on_another_game_has_neither_tiles_nor_native_strategies() {
    let dir = tempfile::tempdir().unwrap();
    let game = Path::new(env!("CARGO_MANIFEST_DIR")).join("examples/2584.py").display().to_string();
    let report: Value = serde_json::from_str(&eval(dir.path(), &["--env", &game, "--json"])).unwrap();
    let model = &report["models"][0];
    assert!(model["mean_score"]["value"].is_number() && model["best_of"]["16"]["value"].is_number(), "{model}");
    assert!(model.get("reaches").is_none() && model.get("max_tile").is_none(), "{model}");
    assert_eq!((report["baselines"].as_array().unwrap().len(), model["programs"][0].get("max_tile")), (0, None));
    let said = refused(dir.path(), &["eval", "--env", &game, "--baselines", "greedy"]);
    assert!(said.contains("--baselines with --env 2584"), "{said}");
}

#[test]
fn rows_become_tasks_and_what_is_dropped_is_named_with_the_reason() {
    let dir = tempfile::tempdir().unwrap();
    let rows = [
        r#"{"task_id": 1, "text": "Add.", "code": "def add(a, b): return a + b", "test_list": ["assert add(1, 2) == 3"]}"#,
        r#"{"task_id": 2, "text": "Sub.", "code": "def sub(a, b): return a - b", "test_list": ["assert other(1) == 3"]}"#,
        r#"{"instruction": "Say hello."}"#,
    ];
    fs::write(dir.path().join("mbpp.jsonl"), rows.join("\n")).unwrap();
    let output = program(dir.path()).args(["tasks", "convert", "mbpp.jsonl"]).output().unwrap();
    let words = String::from_utf8(output.stdout).unwrap();
    assert!(words.starts_with("mbpp.tasks.jsonl  (1 of 3 rows became tasks; MBPP)\n"), "{words}");
    assert!(
        words.contains("dropped 1: is no call with literals compared with a literal: `assert other(1) == 3` (2)\n")
    );
    assert!(words.contains("dropped 1: fields of no known set ('instruction'); there are: EvalPlus"), "{words}");
    let written = fs::read_to_string(dir.path().join("mbpp.tasks.jsonl")).unwrap();
    let expected = r#"{"id":"1","prompt":"Add.","entry_point":"add","tests":[{"args":"(1, 2)","expected":"3"}],"reference":"def add(a, b): return a + b"}"#;
    assert_eq!(written, format!("{expected}\n"));
    fs::write(dir.path().join("none.jsonl"), rows[2]).unwrap();
    assert!(refused(dir.path(), &["tasks", "convert", "none.jsonl"]).contains("none of 1 row became a task"));
    assert!(
        refused(dir.path(), &["tasks", "convert", "mbpp.jsonl", "--output", "./mbpp.jsonl"]).contains("to convert")
    );
    program(dir.path()).args(["tasks", "new", "mine"]).assert().success();
    assert!(refused(dir.path(), &["tasks", "new", "mine"]).contains("mine/env.toml: is there already"));
}

#[test]
fn of_converted_asserts_a_wrong_answer_is_told_from_an_exception_of_the_program() {
    let dir = tempfile::tempdir().unwrap();
    let row = serde_json::json!({
        "task_id": "half", "entry_point": "half", "prompt": "def half(n):\n    \"\"\" Half of n. \"\"\"\n",
        "canonical_solution": "    return n / 2\n",
        "test": "def check(candidate):\n    for n in range(1, 4):\n        assert abs(candidate(n) - n / 2) < 1e-6\n"
    });
    fs::write(dir.path().join("rows.jsonl"), row.to_string()).unwrap();
    done(dir.path(), &["tasks", "convert", "rows.jsonl", "--output", "tasks.jsonl"]);
    let expected = [
        ("return n / 2", "succeeded", 1.0),
        ("return n", "wrong_answer", 0.0),
        // No number can be subtracted from it.
        ("return None", "wrong_answer", 0.0),
        // What answers nothing earns less.
        ("return n / 0", "raised", -0.06),
        ("assert n > 5", "raised", -0.06),
        ("return [0.5][n - 1]", "raised", 0.0),
    ];
    let item = |body: &str| serde_json::json!({"id": "half", "completion": format!("def half(n):\n    {body}")});
    let items: String = expected.iter().map(|(body, ..)| format!("{}\n", item(body))).collect();
    let output = program(dir.path()).args(["judge", "--env", "tasks.jsonl"]).write_stdin(items).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let judged = String::from_utf8(output.stdout).unwrap();
    let judged: Vec<Value> = judged.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(judged.len(), expected.len());
    for (found, (body, verdict, reward)) in judged.iter().zip(expected) {
        assert_eq!((&found["verdict"], &found["reward"]), (&verdict.into(), &reward.into()), "{body}: {found}");
    }
}
