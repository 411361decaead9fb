//! What tests do in their own process: the sandbox that they share, and training.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::sync::LazyLock;
use std::sync::atomic::AtomicBool;

use grpo_2048::arena::{Arena, Rules, Workers};
use grpo_2048::config::{Config, Layers};
use grpo_2048::environment::Environment;
use grpo_2048::metrics::{JsonlSink, Sink, StepRecord};
use grpo_2048::parallel::Peers;
use grpo_2048::policy::{Policy, open_device};
use grpo_2048::prompt::{PromptKind, PromptSet};
use grpo_2048::reward::Rule;
use grpo_2048::seed::Seed;
use grpo_2048::train::{Run, RunSummary};
use grpo_sandbox::Sandbox;

pub static SANDBOX: LazyLock<Sandbox> = LazyLock::new(|| {
    Sandbox::open(&Sandbox::default_cache_dir().unwrap(), || eprintln!("compiling the sandbox")).unwrap()
});

/// The settings of the built-in model.
pub static CONFIG: LazyLock<Config> = LazyLock::new(|| Config::preset("builtin").unwrap());

/// The rules that these ask for.
pub fn rules() -> Rules {
    Rules::of(&CONFIG)
}

/// The environment of these tasks.
pub fn tasks(rows: &str) -> Environment {
    let place = tempfile::tempdir().unwrap();
    let path = place.path().join("tasks.jsonl");
    fs::write(&path, rows).unwrap();
    Environment::open(path.to_str().unwrap()).unwrap()
}

/// Trains in `dir` with these settings; `measure` adds to the record of each step.
pub fn trained(
    dir: &Path,
    settings: &[&str],
    sandbox: Sandbox,
    workers: usize,
    measure: &dyn Fn(&StepRecord) -> BTreeMap<String, f64>,
) -> RunSummary {
    let mut layers = Layers::default();
    settings.iter().for_each(|setting| layers.assignment(setting).unwrap());
    layers.value("the test", "train.output_dir", dir.display().to_string()).unwrap();
    let config = layers.resolve().unwrap();
    let (device, _) = open_device("cpu").unwrap();
    let mut policy = Policy::load(&config.model, Seed::root(config.train.seed), &device).unwrap();
    let environment = Environment::open(&config.environment.env).unwrap();
    let kind = PromptKind::of(policy.tokenizer(), config.model.raw_prompt);
    let prompts = PromptSet::load(kind, policy.tokenizer(), &environment.briefing()).unwrap();
    let arena = Arena::new(sandbox, environment, Rules::training(&config), Workers::new(workers)).unwrap();
    let run = Run {
        config: &config,
        policy: &mut policy,
        servers: None,
        arena: &arena,
        rule: Rule::new(&config.reward, arena.environment()),
        prompts: &prompts,
        allowance: None,
        stop: &AtomicBool::new(false),
        peers: &Peers::alone(),
        measure,
    };
    let mut metrics = JsonlSink::default();
    run.start(&[], &mut |event| metrics.note(&event).unwrap()).unwrap()
}
