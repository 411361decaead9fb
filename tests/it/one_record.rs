//! Tests that sinks and checkpoint have the same record of a step, including measurements from outside the loop.

use std::collections::BTreeMap;
use std::sync::atomic::AtomicBool;

use grpo_2048::arena::{Arena, Rules, Workers};
use grpo_2048::config::Layers;
use grpo_2048::environment::Environment;
use grpo_2048::metrics::{JsonlSink, METRICS_FILE, Sink, StepRecord};
use grpo_2048::parallel::Peers;
use grpo_2048::policy::{Policy, open_device};
use grpo_2048::prompt::{PromptKind, PromptSet};
use grpo_2048::reward::Rule;
use grpo_2048::seed::Seed;
use grpo_2048::train::Run;
use grpo_sandbox::Sandbox;
use serde_json::Value;

const SETTINGS: [&str; 6] = [
    "train.max_steps=2",
    "rollout.groups=1",
    "rollout.num_generations=2",
    "rollout.max_completion_length=160",
    "train.eval_samples=0",
    "train.game_seconds=0.05",
];

#[test]
fn metrics_and_checkpoint_hold_the_same_records() {
    let place = tempfile::tempdir().unwrap();
    let mut layers = Layers::default();
    SETTINGS.iter().for_each(|setting| layers.assignment(setting).unwrap());
    layers.value("the test", "train.output_dir", place.path().join("run").display().to_string()).unwrap();
    let config = layers.resolve().unwrap();

    let (device, _) = open_device("cpu").unwrap();
    let mut policy = Policy::load(&config.model, Seed::root(config.train.seed), &device).unwrap();
    let environment = Environment::open(&config.environment.env).unwrap();
    let kind = PromptKind::of(policy.tokenizer(), config.model.raw_prompt);
    let prompts = PromptSet::load(kind, policy.tokenizer(), &environment.briefing()).unwrap();
    let sandbox = Sandbox::open(&Sandbox::default_cache_dir().unwrap(), || ()).unwrap();
    let arena = Arena::new(sandbox, environment, Rules::training(&config), Workers::new(2)).unwrap();
    let measure = |record: &StepRecord| BTreeMap::from([("gpu/util".into(), 50.0 + record.step as f64)]);
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
        measure: &measure,
    };
    let mut metrics = JsonlSink::default();
    let summary = run.start(&[], &mut |event| metrics.note(&event).unwrap()).unwrap();

    let read = |path: std::path::PathBuf| std::fs::read_to_string(path).unwrap();
    let lines = read(summary.output_dir.join(METRICS_FILE));
    let lines: Vec<Value> = lines.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let state: Value = serde_json::from_str(&read(summary.checkpoint.join("trainer_state.json"))).unwrap();
    assert_eq!(Value::Array(lines.clone()), state["log_history"]);
    assert_eq!(lines.iter().map(|line| &line["gpu/util"]).collect::<Vec<_>>(), [51.0, 52.0]);
}
