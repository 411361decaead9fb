//! Tests of `eval`: the same figures whatever computes them, on boards that are published or drawn.

use std::fs;
use std::path::Path;

use serde_json::Value;

use crate::chat_model::{CHATML, write_model};
use crate::program::{done, printed, refused};
use crate::score::{CYCLE, score};

/// A game whose rules fail at the first move.
const BROKEN: &str = r#""""Write play(state)."""
ENTRY = "play(state)"
SCALE = 1
ANCHOR = 1
MOVES = 5

def reset():
    return 0

def step(move):
    return 1 // 0, 0, True

REFERENCES = {1: "def play(state): return 1", 2: "def play(state): return 2"}
"#;

fn eval(directory: &Path, arguments: &[&str]) -> String {
    eval_of("20", directory, arguments)
}

fn eval_of(samples: &str, directory: &Path, arguments: &[&str]) -> String {
    let small = ["eval", "--samples", samples, "--games", "2", "--report-games", "3"];
    let quick = ["--set", "sandbox.game_seconds=0.02", "--set", "rollout.max_completion_length=160"];
    printed(directory, &[&small[..], &quick, arguments].concat())
}

/// Writes so many tasks about boards, which are alike but for their names.
fn write_moves(directory: &Path, tasks: usize) {
    let task = r#""prompt": "Move.", "entry_point": "strategy", "inputs": ["([[0, 2, 0, 0]] * 4,)"], "reference": "def strategy(board):\n    return 'A'""#;
    let lines: String = (0..tasks).map(|number| format!("{{\"id\": \"t{number}\", {task}}}\n")).collect();
    fs::write(directory.join("tasks.jsonl"), lines).unwrap();
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
    let of = |boards: &[&str]| -> Value {
        serde_json::from_str(&eval_of("4", dir.path(), &[&small[..], boards].concat())).unwrap()
    };
    let (published, drawn, other) = (of(&["--boards", "published"]), of(&[]), of(&["--boards", "drawn"]));
    assert_eq!(published["boards"], "published");
    let salt = drawn["boards"].as_str().unwrap();
    assert!(salt.len() == 32 && drawn["boards"] != other["boards"], "{salt}");
    let greedy = |report: &Value| report["baselines"][0]["scores"].clone();
    assert!(greedy(&drawn) != greedy(&published) && greedy(&drawn) != greedy(&other));
    assert_eq!(of(&["--boards", salt]), drawn);

    fs::write(dir.path().join("cycle.py"), CYCLE).unwrap();
    let output = done(dir.path(), &["score", "cycle.py", "--json"]);
    let told = String::from_utf8(output.stderr).unwrap();
    let salt =
        told.split("--boards ").nth(1).and_then(|rest| rest.split(' ').next()).unwrap_or_else(|| panic!("{told}"));
    assert_eq!(salt.len(), 32, "{told}");
    let again = printed(dir.path(), &["score", "cycle.py", "--json", "--boards", salt]);
    assert_eq!(Ok(again), String::from_utf8(output.stdout));
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
    assert!(row(">=N: programs").ends_with("where a fixed cycle of moves"), "{text}");
    assert!(row("makes 2324, greedy").ends_with("one-ply search 14815"), "{text}");
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
fn what_is_refused_is_refused_before_boards_are_told_and_before_a_model_is_evaluated() {
    let dir = tempfile::tempdir().unwrap();
    let game = Path::new(env!("CARGO_MANIFEST_DIR")).join("examples/snake.py").display().to_string();
    // The built-in model writes players of 2048 alone.
    let said = refused(dir.path(), &["eval", "--env", &game]);
    assert!(said.contains("name a language model with --model") && !said.contains("boards: "), "{said}");
    write_model(&dir.path().join("M"), Some(CHATML));
    let quick = ["--samples", "1", "--set", "rollout.max_completion_length=12"];
    let rivals = ["eval", "--env", &game, "--model", "M", "--against", "builtin"];
    let said = refused(dir.path(), &[&rivals[..], &quick].concat());
    assert!(said.contains("name a language model with --model") && !said.contains("sampling"), "{said}");
    // A game whose rules fail is found out when it is played.
    fs::write(dir.path().join("broken.py"), BROKEN).unwrap();
    fs::write(dir.path().join("player.py"), "def play(state):\n    return 1\n").unwrap();
    let said = refused(dir.path(), &["score", "player.py", "--env", "broken.py"]);
    assert!(said.contains("broken.py") && !said.contains("boards: "), "{said}");
}

#[test]
fn eval_has_intervals_over_five_tasks_and_none_over_fewer() {
    let dir = tempfile::tempdir().unwrap();
    let model = |tasks: usize| {
        write_moves(dir.path(), tasks);
        let quick = ["--samples", "2", "--set", "rollout.max_completion_length=24"];
        let text = printed(dir.path(), &[&["eval", "--env", "tasks.jsonl", "--json"][..], &quick].concat());
        let report: Value = serde_json::from_str(&text).unwrap();
        report["models"][0].clone()
    };
    for (tasks, has_interval) in [(4, false), (5, true)] {
        let model = model(tasks);
        for found in [&model["pass_at"]["1"], &model["pass_at"]["2"], &model["tests"], &model["parses"]] {
            assert!(found["value"].is_number(), "{model}");
            let ends = ["low", "high"].map(|end| found.get(end).map(Value::is_number));
            assert_eq!(ends, [Some(has_interval); 2], "{tasks}: {model}");
        }
        // No program passes, which five tasks do not prove of all.
        let most = model["pass_at"]["1"]["high"].as_f64();
        assert_eq!(most.map(|most| (100.0 * most).round()), has_interval.then_some(52.0), "{model}");
    }
}

#[test]
fn tasks_that_a_table_has_no_room_for_are_not_said_to_go_better_where_all_go_alike() {
    let dir = tempfile::tempdir().unwrap();
    write_moves(dir.path(), 21);
    // So few tokens are no program of any task.
    let few = ["--samples", "1", "--set", "rollout.max_completion_length=2"];
    let text = printed(dir.path(), &[&["eval", "--env", "tasks.jsonl"][..], &few].concat());
    assert_eq!(text.matches("0 of 1").count(), 20, "{text}");
    assert!(text.contains("\nand 1 more, no worse than these; --json has all\n"), "{text}");
}
