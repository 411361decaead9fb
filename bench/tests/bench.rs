//! Tests of the program: what it measures, what it refuses, its help, and the commands in documents.

#[path = "../../tests/rules/docs/markdown.rs"]
#[expect(dead_code, reason = "links and anchors are looked at by tests/rules")]
mod markdown;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Output;

use assert_cmd::cargo::cargo_bin_cmd;
use serde_json::Value;

use markdown::Document;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

/// The text of a file of the repository.
fn read(path: &str) -> String {
    fs::read_to_string(root().join(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
}

fn run(directory: &Path, arguments: &[&str]) -> Output {
    let mut program = cargo_bin_cmd!("grpo-2048-bench");
    program.current_dir(directory).env("NO_COLOR", "1").env_remove("RUST_LOG").args(arguments).output().unwrap()
}

/// The output of a command that must succeed.
fn program(directory: &Path, arguments: &[&str]) -> String {
    let output = run(directory, arguments);
    assert!(output.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn wrong_input_is_named_with_what_is_allowed() {
    let empty = tempfile::tempdir().unwrap();
    let cases: &[(&[&str], &[&str])] = &[
        (&["rewards", "--completions", "3"], &["--completions", "3", "4 to 4096"]),
        (&["rewards", "--rounds", "0"], &["--rounds", "0", "1 to 1000"]),
        (&["rewards", "--python", "abacus"], &["--python abacus", "name another interpreter"]),
        (&["generate", "--random-weights", "qwen9"], &["--random-weights", "qwen9", "qwen2.5-7b"]),
        (&["generate", "--random-weights", "qwen2.5-7b", "--model", "x"], &["--random-weights", "--model"]),
        (&["generate", "--model", "nowhere.gguf"], &["--model nowhere.gguf"]),
        (&["generate", "--batch", "9"], &["--batch 9", "a multiple of --groups 4"]),
        (&["generate", "--peer", "abacus"], &["--peer abacus", "torch, transformers and peft"]),
        (&["generate", "--peer-dtype", "float32"], &["--peer <PYTHON>"]),
        (&["train", "--peer-micro-batch", "4"], &["--peer <PYTHON>"]),
        (&["train", "--peer", "python3", "--peer-checkpointing", "perhaps"], &["perhaps", "both"]),
        (&["train", "--batch", "3", "--groups", "2"], &["--batch 3", "two completions for each", "--groups 2"]),
        (&["train", "--rounds", "0"], &["--rounds", "0", "1 to 1000"]),
        (&["train", "--against", "grpo.micro_batsch=2"], &["--against", "micro_batsch", "micro_batch"]),
        (&["train", "--against", "grpo.micro_batch=0"], &["grpo.micro_batch"]),
        (&["train", "--beta", "0.1"], &["--beta", "hint: say --set grpo.beta=0.1"]),
    ];
    for (arguments, expected) in cases {
        let output = run(empty.path(), arguments);
        let words = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(2), "{arguments:?}: {words}");
        for part in *expected {
            assert!(words.contains(part), "{arguments:?}: no {part:?} in {words}");
        }
    }
}

/// `INSTA_UPDATE=always cargo test --release -p grpo-2048-bench --test bench help` writes the files again.
#[test]
fn help_is_as_it_was_reviewed() {
    let mut command = grpo_2048_bench::cli::command().term_width(100);
    command.build();
    let mut settings = insta::Settings::clone_current();
    settings.set_prepend_module_to_snapshot(false);
    settings.set_omit_expression(true);
    settings.bind(|| {
        insta::assert_snapshot!("grpo-2048-bench", command.render_long_help());
        for what in ["rewards", "generate", "train"] {
            let help = command.find_subcommand_mut(what).unwrap().render_long_help();
            insta::assert_snapshot!(format!("grpo-2048-bench-{what}"), help);
        }
    });
}

/// The program accepts every command of it in the documents, and every row of the GPU's table.
#[test]
fn commands_of_the_documents_are_taken() {
    let docs =
        fs::read_dir(root().join("docs")).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let documents = docs.filter(|name| name.ends_with(".md")).map(|name| format!("docs/{name}"));
    let mut typed = Vec::new();
    for path in documents.chain(["README.md".to_owned()]) {
        let Document { spans, blocks, .. } = Document::read(&path);
        let lines = blocks.iter().flat_map(|block| block.text.lines()).map(str::to_owned);
        let said = spans.into_iter().map(|span| span.text).chain(lines);
        typed.extend(said.filter_map(|line| {
            let place =
                ["-p grpo-2048-bench -- ", "grpo-2048-bench "].into_iter().find(|place| line.contains(place))?;
            Some((path.clone(), line.split_once(place)?.1.to_owned()))
        }));
    }
    let rows = read("scripts/gpu-check/rows.txt");
    typed.extend(
        gpu_rows(&rows)
            .into_iter()
            .filter(|row| row.command != "steps")
            .map(|row| ("rows.txt".to_owned(), row.typed())),
    );
    assert!(typed.len() > 20, "the documents are no longer read: {typed:?}");
    for (path, line) in typed {
        // Numbers are replaced by N.
        let words = shlex::split(line.split(" #").next().unwrap()).expect("quotes match");
        let words = words.into_iter().map(|word| if word == "N" { "4".to_owned() } else { word });
        let words = std::iter::once("grpo-2048-bench".to_owned()).chain(words);
        if let Err(error) = grpo_2048_bench::cli::command().try_get_matches_from(words) {
            panic!("{path}: {line}\n{error}");
        }
    }
}

/// A row of the GPU's table, in `scripts/gpu-check/rows.txt`.
struct GpuRow<'a> {
    what: &'a str,
    part: &'a str,
    command: &'a str,
    minimum: &'a str,
    goal: &'a str,
}

impl GpuRow<'_> {
    /// The arguments of `grpo-2048-bench` as `scripts/gpu-check/run.sh` gives them.
    fn typed(&self) -> String {
        let peer = if self.part == "peers" { " --peer PY" } else { "" };
        format!("{} --device cuda --json{peer}", self.command)
    }
}

fn gpu_rows(text: &str) -> Vec<GpuRow<'_>> {
    let rows = text.lines().filter(|row| !row.is_empty() && !row.starts_with('#'));
    rows.map(|row| {
        let cells: Vec<&str> = row.split('|').map(str::trim).collect();
        let [what, part, command, _, _, minimum, goal] = cells[..] else { panic!("seven cells: {row}") };
        GpuRow { what, part, command, minimum, goal }
    })
    .collect()
}

/// What is measured by hand is what the script measures.
#[test]
fn the_rows_of_a_gpu_are_those_of_the_documents() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let rows = read("scripts/gpu-check/rows.txt");
    let results = fs::read_to_string(root.join("docs/results.md")).unwrap();
    let (_, section) = results.split_once("### On an H200").unwrap();
    let table = section.lines().skip_while(|line| !line.starts_with("|---")).skip(1);
    let shown: Vec<Vec<&str>> = table
        .take_while(|line| line.starts_with('|'))
        .map(|line| line.trim_matches('|').split(" | ").map(str::trim).collect())
        .collect();
    let rows = gpu_rows(&rows);
    assert_eq!(shown.len(), rows.len());
    for (row, shown) in rows.iter().zip(shown) {
        let command = match row.command {
            "steps" => "`scripts/gpu-check.sh training`".to_owned(),
            _ => format!("`grpo-2048-bench {}`", row.typed().replace(" --json", "")),
        };
        let [what, minimum, goal, _, by] = shown[..] else { panic!("five cells: {shown:?}") };
        assert_eq!((what, minimum, goal, by), (row.what, row.minimum, row.goal, command.as_str()));
    }
}

#[test]
fn rewards_are_a_table_in_three_forms() {
    let dir = tempfile::tempdir().unwrap();
    let small = ["rewards", "--completions", "4", "--rounds", "1", "--set", "sandbox.game_seconds=0.1"];
    let text = |more: &[&str]| program(dir.path(), &[&small, more].concat());

    let table: Value = serde_json::from_str(&text(&["--json"])).unwrap();
    let rows = table["rows"].as_array().unwrap();
    let arena: Vec<&Value> = rows.iter().filter(|row| row["way"].as_str().unwrap().starts_with("arena")).collect();
    assert_eq!(arena.len(), 10, "five ways, healthy and with a program that spins");
    for row in &arena {
        assert_eq!(row["innocents"]["changed"], 0, "{row}");
        let way = row["way"].as_str().unwrap();
        let peer = usize::from(row["work"] != "healthy") * 5 + usize::from(way != "arena inline (interpreter)");
        assert_eq!(row["innocents"]["moves"], arena[peer]["innocents"]["moves"]);
        assert!(row["wall_s"]["median"].as_f64().unwrap() > 0.0 && row["cpu_s"]["low"].as_f64().unwrap() > 0.0);
    }
    assert_eq!((&arena[0]["innocents"]["count"], &arena[5]["innocents"]["count"]), (&4.into(), &3.into()));
    assert_eq!(rows.last().unwrap()["way"], "sandbox instance");
    let compared = rows[0]["way"].as_str().unwrap().starts_with("python3");
    assert!(rows.iter().all(|row| row["cpu_ratio"].is_object() == compared), "{table}");

    let lines = text(&[]);
    for words in [
        "4 programs, one game each, of 0.1 s where some spin",
        "arena 8 workers",
        "1/4 spinning",
        "wall ratio",
        "changed",
    ] {
        assert!(lines.contains(words), "{words} in {lines}");
    }
}

#[test]
fn generate_and_train_measure_a_model_beside_itself_with_a_setting_changed() {
    let dir = tempfile::tempdir().unwrap();
    let model = concat!(env!("CARGO_MANIFEST_DIR"), "/../models/builtin");
    let work = ["--batch", "4", "--groups", "2", "--prompt-tokens", "5", "--new-tokens", "6", "--rounds", "2"];
    let text = |what: &[&str], more: &[&str]| {
        let all = [what, &work, &["--model", model], more].concat();
        program(dir.path(), &all)
    };
    let measured = |row: &Value, key: &str| {
        let figure = row[key]["median"].as_f64().unwrap_or_else(|| panic!("{key} in {row}"));
        assert!(figure > 0.0, "{key}: {figure}");
    };

    let generate: &[&str] = &["generate"];
    let sheet: Value = serde_json::from_str(&text(generate, &["--json", "--against", "rollout.groups=4"])).unwrap();
    assert_eq!((&sheet["device"], &sheet["dtype"], &sheet["rounds"]), (&"cpu".into(), &"f32".into(), &2.into()));
    measured(&sheet["rates"], "copied_bytes_per_s");
    measured(&sheet["rates"], "matmul_flops_per_s");
    let rows = sheet["rows"].as_array().unwrap();
    assert_eq!(
        rows.iter().map(|row| row["way"].as_str().unwrap()).collect::<Vec<_>>(),
        ["grpo-2048", "rollout.groups=4"]
    );
    for row in rows {
        for key in ["tokens_per_s", "tokens_per_cpu_s", "prefill_s", "decode_s", "sampling_s", "roofline", "peak_bytes"]
        {
            measured(row, key);
        }
        assert!(row["peer_ratio"].is_null() && row["gpu_percent"].is_null(), "{row}");
    }
    assert!(rows[0]["ratio"].is_null());
    measured(&rows[1], "ratio");

    let train: &[&str] = &["train"];
    let changed = ["--against", "grpo.gradient_checkpointing=on", "--json"];
    let sheet: Value = serde_json::from_str(&text(train, &changed)).unwrap();
    for row in sheet["rows"].as_array().unwrap() {
        for key in ["tokens_per_s", "forward_s", "backward_s", "optimiser_s", "mfu", "peak_bytes"] {
            measured(row, key);
        }
    }
    let lines = text(train, &[]);
    for words in ["4 completions in an update of 6 tokens, 2 prompts of 5", "a large copy", "backward", "MFU"] {
        assert!(lines.contains(words), "{words} in {lines}");
    }
}
