//! Search at test time: what is found follows from the settings alone, and what a model is shown is what was found.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;
use std::sync::atomic::{AtomicBool, Ordering};

use candle_core::Device;
use grpo_2048::arena::{Arena, Rules, Workers};
use grpo_2048::config::{Config, ScaleRewards};
use grpo_2048::environment::Environment;
use grpo_2048::evolve::{Discovery, Ended, EvolveError, Search, Settings};
use grpo_2048::parallel::Peers;
use grpo_2048::policy::Policy;
use grpo_2048::prompt::PromptKind;
use grpo_2048::rollout::{RolloutError, Servers};
use grpo_2048::seed::Seed;
use grpo_2048::train::TrainError;
use serde_json::{Value, json};
use walkdir::WalkDir;

use crate::chat_model::{CHATML, write_model};
use crate::inside::SANDBOX;
use crate::program::{failed, printed, refused};
use crate::runs::shared;
use crate::served::{Served, honest, serve};

const SETTINGS: Settings = Settings { rounds: 3, islands: 2, inspirations: 2, migration: 2, update: false, boards: 1 };

/// How a search of the tests is made.
#[derive(Clone, Default)]
struct Way {
    workers: usize,
    /// The round after which it is stopped.
    stop_after: Option<usize>,
    servers: Vec<String>,
    update: bool,
    /// It runs without being checked before, which would refuse what is in the directory.
    unchecked: bool,
}

/// Searches in `dir` with the built-in model, whose programs work though it reads none.
fn search(dir: &Path, workers: usize, stop_after: Option<usize>) -> Ended {
    searched(dir, Way { workers, stop_after, ..Way::default() })
}

fn searched(dir: &Path, way: Way) -> Ended {
    tried(dir, way).unwrap()
}

fn tried(dir: &Path, Way { workers, stop_after, servers, update, unchecked }: Way) -> Result<Ended, EvolveError> {
    let mut config = Config::preset("builtin").unwrap();
    (config.rollout.servers, config.model.lora_r) = (servers, 4);
    // A rate at which three rounds show in what is written.
    (config.grpo.learning_rate, config.grpo.warmup_steps) = (0.02, 0);
    config.grpo.scale_rewards = ScaleRewards::Entropic;
    (config.rollout.groups, config.rollout.num_generations) = (2, 4);
    config.sandbox.game_seconds = 0.02;
    let mut policy = Policy::load(&config.model, Seed::root(0), &Device::Cpu).unwrap();
    let arena = Arena::new(SANDBOX.clone(), Environment::Game2048, Rules::of(&config), Workers::new(workers)).unwrap();
    let requests = arena.environment().briefing().requests;
    let stop = AtomicBool::new(false);
    let mut servers = Servers::open(&config.rollout, 64).unwrap();
    let mut search = Search {
        policy: &mut policy,
        servers: servers.as_mut(),
        arena: &arena,
        config: &config,
        peers: Peers::alone(),
        settings: Settings { update, ..SETTINGS },
        allowance: None,
        kind: PromptKind::Builtin,
        requests,
        stop: &stop,
    };
    if !unchecked {
        search.check(dir)?;
    }
    search.run(dir, &mut |_| (), &mut |round| stop.store(stop_after == Some(round.number), Ordering::SeqCst))
}

fn found(ended: Ended) -> Discovery {
    match ended {
        Ended::Done(Some(found)) => *found,
        other => panic!("{other:?}"),
    }
}

fn files(dir: &Path) -> Vec<(String, Vec<u8>)> {
    let paths = WalkDir::new(dir).sort_by_file_name().into_iter().map(|entry| entry.unwrap().into_path());
    let files = paths.filter(|path| path.is_file());
    files.map(|path| (path.strip_prefix(dir).unwrap().display().to_string(), fs::read(&path).unwrap())).collect()
}

/// A finished search that learns nothing, by one worker, and what it found. It is only read.
static SEARCHED: LazyLock<(PathBuf, Discovery)> = LazyLock::new(|| {
    let dir = shared("it-searched");
    let found = found(search(&dir, 1, None));
    (dir, found)
});

#[test]
fn a_search_finds_the_same_with_any_number_of_workers_and_where_it_was_stopped() {
    let (dir, first) = &*SEARCHED;
    let stopped = tempfile::tempdir().unwrap();
    // After the last round the score of the best is still to be estimated. Other workers go on each time.
    for (workers, round) in [(2, 1), (0, SETTINGS.rounds)] {
        assert_eq!(search(stopped.path(), workers, Some(round)), Ended::Stopped);
    }
    assert_eq!(found(search(stopped.path(), 8, None)), *first);
    let expected = files(dir);
    assert!(expected.len() > 8, "{:?}", expected.iter().map(|(name, _)| name).collect::<Vec<_>>());
    assert!(files(stopped.path()) == expected, "files of {} differ", stopped.path().display());
    assert!(first.report.as_ref().is_some_and(|report| report.mean_score.value > 0.0));
}

#[test]
fn a_search_that_learns_finds_the_same_with_any_number_of_workers_and_where_it_was_stopped() {
    let [unbroken, stopped] = [(); 2].map(|()| tempfile::tempdir().unwrap());
    let way = |workers, stop_after| Way { workers, stop_after, update: true, ..Way::default() };
    let first = found(searched(unbroken.path(), way(1, None)));
    for (workers, round) in [(8, 1), (2, 2)] {
        assert_eq!(searched(stopped.path(), way(workers, Some(round))), Ended::Stopped);
    }
    // As a process leaves it that was killed while it wrote, and before it removed the round before.
    for left in [".partial-abc", "checkpoint-1"] {
        fs::create_dir_all(stopped.path().join(left)).unwrap();
        fs::write(stopped.path().join(left).join("model.safetensors"), "half").unwrap();
    }
    assert_eq!(found(searched(stopped.path(), way(8, None))), first);
    let expected = files(unbroken.path());
    assert!(files(stopped.path()) == expected, "files of {} differ", stopped.path().display());
    // The weights of the last round are there, those of the rounds before are not, and what was learnt shows in what is written.
    let names: Vec<&str> = expected.iter().map(|(name, _)| name.as_str()).collect();
    for name in ["checkpoint-3/adapter_model.safetensors", "checkpoint-3/optimizer.safetensors"] {
        assert!(names.contains(&name), "{names:?}");
    }
    assert!(!names.iter().any(|name| name.starts_with("checkpoint-2")), "{names:?}");
    let written = |dir: &Path| fs::read_to_string(dir.join("evolve.json")).unwrap();
    let programs = |text: String| -> Value { serde_json::from_str::<Value>(&text).unwrap()["database"].take() };
    assert!(programs(written(&SEARCHED.0)) != programs(written(unbroken.path())));
}

#[test]
fn a_search_that_was_killed_before_its_first_file_begins_again() {
    let dir = tempfile::tempdir().unwrap();
    let left = [".partial-tried", ".partial-abc", ".lock"].map(|name| dir.path().join(name));
    fs::create_dir(&left[0]).unwrap();
    fs::write(&left[1], "{").unwrap();
    fs::write(&left[2], "").unwrap();
    assert_eq!(search(dir.path(), 2, Some(1)), Ended::Stopped);
    assert!(!left[0].exists() && !left[1].exists() && dir.path().join("evolve.json").exists());
}

/// The server writes the same for the same request, as vLLM does if it is started to. The model that it serves writes, without
/// the adapter that changes nothing.
#[test]
fn a_search_on_servers_repeats_if_these_do() {
    let [first, second] = [(); 2].map(|()| tempfile::tempdir().unwrap());
    let served = Served::start(honest);
    let way = |workers| Way { workers, servers: vec![served.url.clone()], ..Way::default() };
    let expected = found(searched(first.path(), way(1)));
    assert_eq!(found(searched(second.path(), way(8))), expected);
    assert!(served.loaded().is_empty() && !first.path().join("adapters").exists());
}

/// The first eight requests are those of the first round.
#[test]
fn a_search_whose_server_fails_goes_on_from_its_last_whole_round() {
    let [broken, whole] = [(); 2].map(|()| tempfile::tempdir().unwrap());
    let way = |served: &Served| Way { workers: 2, servers: vec![served.url.clone()], ..Way::default() };
    let failing = Served::start(|earlier, answer| match earlier < 8 {
        true => honest(earlier, answer),
        false => (500, "out of memory".into()),
    });
    let error = tried(broken.path(), way(&failing)).unwrap_err();
    let server = matches!(&error, EvolveError::Step(TrainError::Rollout(RolloutError::Server(_))));
    assert!(server && error.to_string().contains("answered 500: out of memory"), "{error}");
    let state: Value = serde_json::from_slice(&fs::read(broken.path().join("evolve.json")).unwrap()).unwrap();
    assert_eq!(state["database"]["rounds"], 1);
    let served = Served::start(honest);
    assert_eq!(found(searched(broken.path(), way(&served))), found(searched(whole.path(), way(&served))));
}

#[test]
fn a_search_refuses_servers_of_another_model_before_it_writes() {
    let root = tempfile::tempdir().unwrap();
    let [own, foreign] = ["own", "foreign"].map(|name| root.path().join(name));
    let way = |served: &Served, update| Way {
        workers: 2,
        stop_after: Some(1),
        servers: vec![served.url.clone()],
        update,
        ..Way::default()
    };
    let other = Served::start(|_, mut answer| {
        for token in answer["choices"][0]["logprobs"]["content"].as_array_mut().unwrap() {
            token["logprob"] = json!(token["logprob"].as_f64().unwrap() - 1.0);
        }
        (200, answer.to_string())
    });
    for update in [true, false] {
        let error = tried(&foreign, way(&other, update)).unwrap_err().to_string();
        assert!(error.contains("differ from those of builtin by 1.0") && !foreign.exists(), "{error}");
    }
    assert_eq!(tried(&own, way(&Served::start(honest), true)).unwrap(), Ended::Stopped);
}

/// The model here has a context of 2,048 tokens, the server one of 512.
#[test]
fn a_server_needs_room_for_the_request_and_one_that_fails_is_told_of() {
    let dir = tempfile::tempdir().unwrap();
    write_model(&dir.path().join("m"), Some(CHATML));
    let task =
        r#"{"id": "add", "prompt": "Add.", "entry_point": "add", "tests": [{"args": "(1, 2)", "expected": "3"}]}"#;
    fs::write(dir.path().join("task.jsonl"), task).unwrap();
    let models = r#"{"data": [{"id": "m", "max_model_len": 512}]}"#;
    let url = serve(move |path, _| match path {
        "/v1/models" => (200, models.into()),
        _ => (500, "out of memory".into()),
    });
    let arguments = ["evolve", "--model", "m", "--env", "task.jsonl", "--set", "model.lora_r=4", "--rollouts", &url];
    let said = refused(dir.path(), &[&arguments[..], &SHORT].concat());
    assert!(said.contains(&format!("--rollouts {url}: answered 500: out of memory; its log says more")), "{said}");
    let said = refused(dir.path(), &[&arguments[..], &["--max-completion-length", "510"]].concat());
    assert!(said.contains("room for 512 tokens") && said.contains("or lower --max-completion-length here"), "{said}");
}

#[test]
fn a_search_leaves_the_adapters_of_one_that_goes_on_in_its_directory() {
    let dir = tempfile::tempdir().unwrap();
    fs::write(dir.path().join("evolve.json"), "{}").unwrap();
    let adapter = dir.path().join("adapters/grpo-2048-0");
    fs::create_dir_all(&adapter).unwrap();
    let held = fs::File::create(dir.path().join(".lock")).unwrap();
    held.lock().unwrap();
    let served = Served::start(honest);
    let way = Way { workers: 1, servers: vec![served.url.clone()], unchecked: true, ..Way::default() };
    let error = tried(dir.path(), way).unwrap_err();
    assert!(matches!(error, EvolveError::Dir(_)) && adapter.is_dir(), "{error}");
}

#[test]
fn programs_descend_from_those_of_earlier_rounds_and_openevolve_reads_them() {
    let (dir, Discovery { best, .. }) = &*SEARCHED;
    let state: Value = serde_json::from_slice(&fs::read(dir.join("evolve.json")).unwrap()).unwrap();
    let candidates = state["database"]["candidates"].as_array().unwrap();
    let parents: Vec<usize> = candidates.iter().filter_map(|one| Some(one["parent"].as_u64()? as usize)).collect();
    assert!(!parents.is_empty());
    for candidate in candidates.iter().filter(|one| !one["parent"].is_null()) {
        let parent = &candidates[candidate["parent"].as_u64().unwrap() as usize];
        assert!(parent["round"].as_u64() < candidate["round"].as_u64());
        assert!(parent["reached"].as_f64() >= candidate["reward"].as_f64(), "{parent} {candidate}");
    }
    let digests: BTreeSet<&str> = candidates.iter().map(|one| one["digest"].as_str().unwrap()).collect();
    assert_eq!(digests.len(), candidates.len());

    // Its visualiser takes the newest directory of this name.
    let checkpoint = dir.join("openevolve/checkpoint_3");
    let read = |path: String| -> Value { serde_json::from_slice(&fs::read(checkpoint.join(path)).unwrap()).unwrap() };
    let metadata = read("metadata.json".into());
    let id = metadata["best_program_id"].as_str().unwrap();
    let program = read(format!("programs/{id}.json"));
    assert_eq!(program["code"].as_str().unwrap(), best.source);
    assert_eq!(fs::read_to_string(dir.join("best.py")).unwrap(), best.source);
    // It draws the programs of the islands, and no others: all of them, so that each has its parent. One that has settled on
    // another island has a copy there.
    let named = metadata["islands"].as_array().unwrap().iter().flat_map(|island| island.as_array().unwrap());
    let named: Vec<&str> = named.map(|name| name.as_str().unwrap()).collect();
    let drawn: BTreeSet<&str> = named.iter().copied().collect();
    assert_eq!(drawn.len(), named.len());
    let programs = drawn.iter().map(|name| read(format!("programs/{name}.json")));
    assert_eq!(programs.filter(|program| program["metadata"]["migrant"] == false).count(), candidates.len());
}

#[test]
fn what_a_search_cannot_use_is_refused_with_a_hint() {
    let dir = tempfile::tempdir().unwrap();
    write_model(&dir.path().join("m"), Some(CHATML));
    let tasks = concat!(env!("CARGO_MANIFEST_DIR"), "/examples/tasks/micro.jsonl");
    for (arguments, expected) in [
        (&["evolve"][..], "it reads the names of styles, and no programs"),
        (&["evolve", "--model", "m", "--env", tasks], "--task "),
        (&["evolve", "--model", "m", "--env", tasks, "--task", "nothing"], "has no such task"),
        (&["evolve", "--model", "m", "--env", tasks, "--task", "ad"], "did you mean `add`?"),
        (&["evolve", "--model", "m", "--task", "add"], "2048 has no tasks"),
        (&["evolve", "--model", "m", "--set", "rollout.turns=2"], "rollout.turns: found 2, expected 1"),
        (
            &["evolve", "--model", "m", "--set", "rollout.resample_tied=3"],
            "rollout.resample_tied: found 3, expected 0 or 1",
        ),
        (&["evolve", "--model", "m", "--set", "rollout.draw=pools"], "rollout.draw: found \"pools\", expected \"all\""),
        (&["evolve", "--model", "m", "--set", "reward.shuffled=true"], "reward.shuffled: found true, expected false"),
        (&["evolve", "--model", "m", "--update", "--num-generations", "2"], "grpo.scale_rewards = entropic"),
        (
            &["evolve", "--model", "m", "--update", "--set", "train.memory_mib=1"],
            "error: train.memory_mib = 1: expected at least ",
        ),
    ] {
        let said = refused(dir.path(), arguments);
        assert!(said.contains(expected), "{arguments:?}: {said}");
    }
}

/// A search of so many rounds that is over soon.
const SHORT: [&str; 6] = ["--groups", "1", "--num-generations", "2", "--max-completion-length", "8"];

#[test]
fn a_language_model_is_asked_round_after_round_and_another_search_is_refused() {
    let dir = tempfile::tempdir().unwrap();
    write_model(&dir.path().join("m"), Some(CHATML));
    let arguments = [&["evolve", "--model", "m", "--rounds", "2"][..], &SHORT].concat();
    // A task that training holds out may be searched for as any other.
    let held_out = r#"{"id": "add", "prompt": "Add.", "entry_point": "add", "split": "held_out", "tests": [{"args": "(1, 2)", "expected": "3"}]}"#;
    fs::write(dir.path().join("held_out.jsonl"), held_out).unwrap();
    let of_task = ["--env", "held_out.jsonl", "--output-dir", "h", "--raw-prompt"];
    let said = failed(dir.path(), &[&arguments[..], &of_task].concat());
    let hint = "hint: see what it writes: grpo-2048 eval --model m --env held_out.jsonl --raw-prompt\n";
    assert!(said.contains("error: no program of 2 rounds earned anything\n") && said.ends_with(hint), "{said}");
    // Each round says what came of its completions, and the end what came of the last, with what to try.
    assert!(said.contains("round 1/2  0 new  best nothing works yet; of those written 0% pass, "), "{said}");
    assert!(said.contains("anything\nin the last round, of 2 completions 0% pass, "), "{said}");
    assert!(said.contains("\nfor example: ") && said.contains("\ntry more completions (--num-generations"), "{said}");
    let of_one = ["--env", "held_out.jsonl", "--task", "add", "--output-dir", "o", "--raw-prompt"];
    let said = failed(dir.path(), &[&arguments[..], &of_one].concat());
    assert!(said.contains("see what it writes for every task there: grpo-2048 eval --model m"), "{said}");
    // Random weights write nothing that works, which is an outcome and no fault of the user's.
    let said = failed(dir.path(), &arguments);
    assert!(said.contains("no program of 2 rounds earned anything"), "{said}");
    let words = "evolve --model m --update --groups 1 --num-generations 4 --max-completion-length 8 --output-dir u \
                 --set grpo.lr_scheduler_type=linear --rounds";
    let updated = |rounds| failed(dir.path(), &words.split(' ').chain([rounds]).collect::<Vec<_>>());
    let said = updated("2");
    assert!(said.contains("no program of 2 rounds earned anything") && !said.contains("falls to zero"), "{said}");
    let said = updated("3");
    assert!(said.contains("the learning rate falls to zero at round 3 now, no longer at round 2: "), "{said}");
    let said = refused(dir.path(), &[&arguments[..], &["--islands", "3", "--seed", "1"]].concat());
    assert!(said.contains("is of another search: --islands: 4 -> 3, train.seed: 0 -> 1\n"), "{said}");
    assert!(said.contains("another --output-dir"), "{said}");
}

#[test]
fn a_search_begins_with_the_program_beside_an_evaluator_and_ends_with_no_less() {
    let dir = tempfile::tempdir().unwrap();
    write_model(&dir.path().join("m"), Some(CHATML));
    let initial = "def answer():\n    return 3\n";
    fs::write(dir.path().join("initial_program.py"), initial).unwrap();
    let evaluator = r#""""Find a large number."""
from importlib.util import module_from_spec, spec_from_file_location
def evaluate(program_path):
    spec = spec_from_file_location("program", program_path)
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return {"combined_score": module.answer() / 4}
"#;
    fs::write(dir.path().join("evaluator.py"), evaluator).unwrap();
    let arguments = ["evolve", "--model", "m", "--env", "evaluator.py", "--rounds", "1", "--games", "2"];
    let said = printed(dir.path(), &[&arguments[..], &SHORT, &["--output-dir", "e"]].concat());
    assert!(said.starts_with("best: the program to begin with: score 0.7500, reward 0.7500"), "{said}");
    assert_eq!(fs::read_to_string(dir.path().join("e/best.py")).unwrap(), initial);
    let state: Value = serde_json::from_slice(&fs::read(dir.path().join("e/evolve.json")).unwrap()).unwrap();
    assert_eq!(state["database"]["islands"], json!([[0], [0], [0], [0]]));
    // It was there to be improved in the first round already.
    let first = &state["database"]["candidates"][0];
    assert_eq!((&first["round"], &first["asked"]), (&0.into(), &1.into()));
    // One that does not work is left out, and the user hears of it.
    fs::write(dir.path().join("initial_program.py"), "def answer():\n    return 1 / 0\n").unwrap();
    let said = failed(dir.path(), &[&arguments[..], &SHORT, &["--output-dir", "g"]].concat());
    let expected = "warning: the search begins without initial_program.py, which earns nothing: ZeroDivisionError";
    assert!(said.contains(expected), "{said}");
    // Of one that works, the score shows why.
    fs::write(dir.path().join("initial_program.py"), "def answer():\n    return -1\n").unwrap();
    let said = failed(dir.path(), &[&arguments[..], &SHORT, &["--output-dir", "n"]].concat());
    assert!(said.contains("which earns nothing: its score is -0.25, and its reward 0\n"), "{said}");
    // One that scores 0 is there to be improved.
    fs::write(dir.path().join("initial_program.py"), "def answer():\n    return 0\n").unwrap();
    let said = printed(dir.path(), &[&arguments[..], &SHORT, &["--output-dir", "z"]].concat());
    assert!(said.starts_with("best: the program to begin with: score 0.0000, reward 0.0000, "), "{said}");
    // A small score is told with its digits.
    fs::write(dir.path().join("initial_program.py"), "def answer():\n    return 0.00005\n").unwrap();
    let said = printed(dir.path(), &[&arguments[..], &SHORT, &["--output-dir", "s"]].concat());
    let expected = "best: the program to begin with: score 1.250e-5, reward 1.250e-5, ";
    assert!(said.starts_with(expected) && said.contains("boards: 1.250e-5 points a game\n"), "{said}");
    // An evaluator that fails before it has a program is the user's to mend.
    fs::write(dir.path().join("evaluator.py"), format!("import nowhere\n{evaluator}")).unwrap();
    let said = refused(dir.path(), &[&arguments[..], &SHORT, &["--output-dir", "f"]].concat());
    assert!(said.contains("evaluator.py"), "{said}");
    // What another evaluator gave is no score by this one.
    let said = refused(dir.path(), &[&arguments[..], &SHORT, &["--output-dir", "e"]].concat());
    assert!(said.contains("is of another search: contents of --env: "), "{said}");
}

#[test]
fn a_search_writes_only_into_a_new_directory_and_only_with_prompts_that_the_model_reads() {
    let dir = tempfile::tempdir().unwrap();
    write_model(&dir.path().join("m"), None);
    for file in ["notes/notes.txt", "run/checkpoint-1/adapter_model.safetensors", "run/config.toml", "bare/config.toml"]
    {
        let path = dir.path().join(file);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, "").unwrap();
    }
    for name in ["notes", "run", "bare"] {
        let before = files(&dir.path().join(name));
        let words = ["evolve", "--model", "m", "--raw-prompt", "--output-dir", name];
        let said = refused(dir.path(), &[&words[..], &SHORT].concat());
        let expected = format!("error: --output-dir {name}: is not empty and holds no search; choose an empty or new");
        assert!(said.starts_with(&expected), "before any other work: {said}");
        assert!(files(&dir.path().join(name)) == before);
    }
    let said = refused(dir.path(), &[&["evolve", "--model", "m"][..], &SHORT].concat());
    assert!(said.contains("--model m: the model has no chat template") && said.contains("--raw-prompt"), "{said}");
    assert!(!said.contains(" rounds of ") && !dir.path().join("runs").exists(), "{said}");
}
