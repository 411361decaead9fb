//! Two steps of GRPO on the built-in model, from settings to a summary, in a directory that is dropped again.
//!
//! `cargo run --release --example training_loop`, a few seconds of two cores.

use std::collections::BTreeMap;
use std::error::Error;
use std::sync::atomic::AtomicBool;

use grpo_2048::arena::{Arena, Rules, Workers};
use grpo_2048::config::Layers;
use grpo_2048::environment::Environment;
use grpo_2048::metrics::Event;
use grpo_2048::parallel::Peers;
use grpo_2048::policy::{Policy, open_device};
use grpo_2048::prompt::{PromptKind, PromptSet};
use grpo_2048::reward::Rule;
use grpo_2048::seed::Seed;
use grpo_2048::train::Run;
use grpo_sandbox::Sandbox;

/// What differs from the defaults, which `grpo-2048 config` explains.
const SETTINGS: [&str; 5] = [
    "train.max_steps=2", "rollout.groups=2", "rollout.num_generations=4", "train.eval_samples=4",
    "train.game_seconds=0.1",
];

fn main() -> Result<(), Box<dyn Error>> {
    let place = tempfile::tempdir()?;
    let mut layers = Layers::default();
    SETTINGS.iter().try_for_each(|setting| layers.assignment(setting))?;
    layers.value("the example", "train.output_dir", place.path().join("run").display().to_string())?;
    let config = layers.resolve()?;

    let (device, _) = open_device("cpu")?;
    let mut policy = Policy::load(&config.model, Seed::root(config.train.seed), &device)?;
    let environment = Environment::open(&config.environment.env)?;
    let kind = PromptKind::of(policy.tokenizer(), config.model.raw_prompt);
    let prompts = PromptSet::load(kind, policy.tokenizer(), &environment.briefing())?;
    let sandbox = Sandbox::open(&Sandbox::default_cache_dir()?, || eprintln!("compiling the sandbox, once"))?;
    let arena = Arena::new(sandbox, environment, Rules::training(&config), Workers::new(2))?;

    let (policy, arena, prompts, stop) = (&mut policy, &arena, &prompts, &AtomicBool::new(false));
    let peers = &Peers::alone();
    let run = Run {
        config: &config,
        policy,
        servers: None,
        arena,
        rule: Rule::new(&config.reward, arena.environment()),
        prompts,
        allowance: None,
        stop,
        peers,
        measure: &|_| BTreeMap::new(),
    };
    let summary = run.start(&[], &mut |event| {
        if let Event::StepDone(record) = event {
            println!("step {}: reward {:.3}, mean score {:.0}", record.step, record.reward, record.score());
        }
    })?;
    println!("{} steps, {} evaluations", summary.steps.len(), summary.evaluations.len());
    Ok(())
}
