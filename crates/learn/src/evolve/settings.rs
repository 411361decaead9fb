//! The settings of a search, and what it is recognised by.

use serde_json::{Map, Value, json};

use crate::config::Config;
use crate::environment::tasks::Tasks;
use crate::environment::{Environment, Request};
use crate::train::run_dir::Fingerprint;

/// The settings of a search, beside those of sampling and judging.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Settings {
    pub rounds: usize,
    /// Number of islands, at least 1.
    pub islands: usize,
    /// Programs that a group is shown beside the one to improve.
    pub inspirations: usize,
    /// Rounds after which the best of each island settles on the next one too; 0: never.
    pub migration: usize,
    /// Whether the policy learns from each round, as `grpo` says, or stays as it is.
    pub update: bool,
    /// Boards that every program plays.
    pub boards: usize,
}

/// Settings of the configuration that may change when a search goes on, as when a run of training does, or that it does not read.
const FREE_KEYS: [&str; 7] = [
    "rollout.servers", "rollout.adapter_dir", "rollout.server_requests", "rollout.server_seconds",
    "sandbox.on_difference", "rollout.feedback", "rollout.resample_tied",
];

/// Everything that a search follows from, but for the number of its rounds and of workers.
pub(super) fn fingerprint(
    config: &Config,
    settings: &Settings,
    judge: &Environment,
    requests: &[Request],
) -> Fingerprint {
    let contents = contents(judge, requests);
    let Config { environment, model, rollout, sandbox, arena, reward, grpo, train, .. } = config;
    let Settings { islands, inspirations, migration, boards, update, rounds: _ } = *settings;
    let requests: Vec<&str> = requests.iter().map(|request| request.style.as_str()).collect();
    let sections = [
        ("environment", json!(environment)),
        ("model", json!(model)),
        ("rollout", json!(rollout)),
        ("sandbox", json!(sandbox)),
        ("arena", json!({ "freeze_after": arena.freeze_after, "moves_max": arena.moves_max })),
        ("reward", json!(reward)),
        ("grpo", if update { json!(grpo) } else { Value::Null }),
        ("train", json!({ "seed": train.seed, "board_salt": train.board_salt })),
    ];
    let flags = [("islands", islands), ("inspirations", inspirations), ("migration", migration), ("games", boards)];
    let mut named: Map<_, _> = flags.into_iter().map(|(flag, value)| (format!("--{flag}"), json!(value))).collect();
    let asked = match judge {
        Environment::Tasks(_) => ("--task", json!(requests.first())),
        _ => ("requests", json!(requests)),
    };
    named.extend([("--update".into(), json!(update)), (asked.0.into(), asked.1)]);
    named.insert("contents of --env".into(), json!(contents));
    let learnt = if update { format!(", updated by {grpo:?}") } else { String::new() };
    let unnamed = format!(
        "islands {islands}, inspirations {inspirations}, migration {migration}, boards {boards}, {requests:?}, seed {}, \
         salt {:?}, freeze after {}, moves {}, {environment:?}, {model:?}, {rollout:?}, {sandbox:?}, {reward:?}{learnt}",
        train.seed, train.board_salt, arena.freeze_after, arena.moves_max
    );
    let mut fingerprint = Fingerprint::new(named, &sections, unnamed).with_files(model);
    for key in FREE_KEYS {
        fingerprint.named.remove(key);
    }
    fingerprint
}

/// A digest of what programs are asked for and judged by, which the path of a file does not tell: scores by two evaluators are
/// no ranking. None of 2048.
fn contents(judge: &Environment, requests: &[Request]) -> Option<String> {
    let texts = match judge {
        Environment::Game2048 => return None,
        Environment::Script(game) => game.source().to_owned(),
        Environment::Evaluator(evaluator) => format!("{:?}", (evaluator.source(), evaluator.initial())),
        Environment::Tasks(tasks) => asked(tasks, requests),
    };
    Some(blake3::hash(texts.as_bytes()).to_hex()[..16].to_owned())
}

/// The tasks of these requests, but for what has no part in requests and verdicts: other tasks may come into the file.
fn asked(tasks: &Tasks, requests: &[Request]) -> String {
    let tasks = requests.iter().filter_map(|request| tasks.tasks().get(request.task? as usize));
    let parts = tasks.map(|task| {
        let request = (&task.prompt, &task.kind, &task.opening, task.shown);
        let verdict = (&task.prelude, &task.tests, &task.equality, task.array_types, task.numpy, task.seconds);
        // Without more public tests than those that are shown, the digest is that of earlier versions, whose searches go on.
        let public = if task.public > task.shown { task.public.to_string() } else { String::new() };
        format!("{:?}{public}", (request, verdict))
    });
    parts.collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Feedback;

    #[test]
    fn settings_that_differ_are_named_and_a_search_of_an_earlier_version_is_known() {
        let config = Config::preset("llm").unwrap();
        let settings = Settings { rounds: 4, islands: 2, inspirations: 2, migration: 2, update: false, boards: 1 };
        let of = |config: &Config, settings| fingerprint(config, &settings, &Environment::Game2048, &[]);
        let began = of(&config, settings);
        let recorded = Value::from(began.named.clone());
        assert_eq!(of(&config, Settings { rounds: 9, ..settings }).differing(&recorded), None);
        // The server of yesterday may have another address today.
        let mut served = config.clone();
        served.rollout.servers = vec!["http://localhost:8000".into()];
        let first = Value::from(of(&served, settings).named);
        served.rollout.servers = vec!["http://localhost:8001".into()];
        (served.rollout.server_requests, served.rollout.adapter_dir) = (3, "adapters".into());
        assert_eq!(of(&served, settings).differing(&first), None);
        // Neither is what a search does not read.
        let mut unread = config.clone();
        (unread.rollout.feedback, unread.rollout.resample_tied) = (Feedback::Verdict, 0);
        assert_ne!(unread.rollout, config.rollout);
        assert_eq!(of(&unread, settings).differing(&recorded), None);
        let mut other = config.clone();
        (other.train.seed, other.model.model) = (5, "tiny".into());
        let wanted = of(&other, Settings { update: true, ..settings });
        let model = format!("model.model: {:?} -> \"tiny\"", config.model.model);
        let expected = ["--update: false -> true", &model, "train.seed: 0 -> 5"].map(String::from).to_vec();
        assert_eq!(wanted.differing(&recorded), Some(expected));
        assert_eq!(began.differing(&Value::from(began.unnamed.clone())), None);
        assert_eq!(wanted.differing(&Value::from(began.unnamed.clone())), Some(Vec::new()));
    }

    #[test]
    fn another_model_in_the_same_place_is_another_search() {
        let folder = tempfile::tempdir().unwrap();
        let write = |name: &str, text: &str| std::fs::write(folder.path().join(name), text).unwrap();
        for name in ["config.json", "model.safetensors", "generation_config.json"] {
            write(name, "{}");
        }
        let mut config = Config::preset("llm").unwrap();
        config.model.model = folder.path().display().to_string();
        let settings = Settings { rounds: 4, islands: 2, inspirations: 2, migration: 2, update: false, boards: 1 };
        let of_now = || fingerprint(&config, &settings, &Environment::Game2048, &[]);
        let recorded = Value::from(of_now().named);
        write("generation_config.json", "{\"eos_token_id\": 2}");
        assert_eq!(of_now().differing(&recorded), None);
        write("model.safetensors", "others");
        let differing = of_now().differing(&recorded).unwrap();
        assert!(differing.len() == 1 && differing[0].starts_with("model file model.safetensors: "), "{differing:?}");
        // A template that has come is part of every prompt.
        write("model.safetensors", "{}");
        write("chat_template.jinja", "{{ messages }}");
        let differing = of_now().differing(&recorded).unwrap();
        let come = "model file chat_template.jinja: no file -> ";
        assert!(differing.len() == 1 && differing[0].starts_with(come), "{differing:?}");
        let gone = of_now().named;
        std::fs::remove_file(folder.path().join("chat_template.jinja")).unwrap();
        assert_eq!(of_now().differing(&Value::from(gone)).map(|differing| differing.len()), Some(1));
        assert_eq!(of_now().differing(&recorded), None);
    }

    #[test]
    fn a_search_for_another_task_is_told_by_its_flag() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("two.jsonl");
        let tests = r#"[{"args": "(1,)", "expected": "2"}, {"args": "(2,)", "expected": "4"}]"#;
        let row = |id: &str| format!(r#"{{"id": "{id}", "prompt": "P.", "entry_point": "f", "tests": {tests}}}"#);
        std::fs::write(&path, format!("{}\n{}\n", row("one"), row("two"))).unwrap();
        let environment = Environment::open(path.to_str().unwrap()).unwrap();
        let config = Config::preset("llm").unwrap();
        let settings = Settings { rounds: 4, islands: 2, inspirations: 2, migration: 2, update: false, boards: 1 };
        let requests = environment.briefing().requests;
        let of = |number: usize| fingerprint(&config, &settings, &environment, &requests[number..=number]);
        let differing = of(1).differing(&Value::from(of(0).named)).unwrap();
        assert!(differing.contains(&r#"--task: "one" -> "two""#.to_owned()), "{differing:?}");
        assert_eq!(of(1).differing(&Value::from(of(1).named)), None);
    }

    #[test]
    fn another_evaluator_at_the_same_path_is_another_search() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("evaluator.py");
        let of = |score: u32| {
            let source = format!("def evaluate(program_path):\n    return {{'combined_score': {score}}}\n");
            std::fs::write(&path, source).unwrap();
            contents(&Environment::open(path.to_str().unwrap()).unwrap(), &[])
        };
        let first = of(1);
        assert!(first.is_some() && of(1) == first && of(2) != first);
        std::fs::write(folder.path().join("initial_program.py"), "pass\n").unwrap();
        assert_ne!(of(1), first);
        assert_eq!(contents(&Environment::Game2048, &[]), None);
    }

    #[test]
    fn a_task_that_is_asked_or_judged_otherwise_is_another_search() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("add.jsonl");
        let of = |more: &str| {
            let tests = r#"[{"args": "(1, 2)", "expected": "3"}, {"args": "(2, 2)", "expected": "4"}]"#;
            let row = format!(r#"{{"id": "add", "prompt": "Add.", "entry_point": "add", "tests": {tests}{more}}}"#);
            std::fs::write(&path, row).unwrap();
            let environment = Environment::open(path.to_str().unwrap()).unwrap();
            contents(&environment, &environment.briefing().requests)
        };
        let first = of("");
        assert!(first.is_some() && of("") == first);
        let opening = r#", "opening": "def add(a, b):""#;
        for more in [r#", "array_types": true"#, r#", "modules": ["numpy"]"#, r#", "shown": 0"#, opening] {
            assert_ne!(of(more), first, "{more}");
        }
        let public = |count: usize| of(&format!(r#", "shown": 0, "public": {count}"#));
        assert_ne!(public(1), public(0), "the second test alone decides then");
        assert_eq!(public(0), of(r#", "shown": 0"#));
        assert_eq!(of(r#", "group": "sums""#), first, "no part of what is asked or judged");
    }
}
