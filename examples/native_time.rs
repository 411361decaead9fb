//! Trains the built-in model on tasks about boards, rewarded by the time of its programs in this machine's python3: what rewards for
//! speed usually are, beside `reward.fuel_bonus` (docs/results.md, "Fuel and time").
//!
//! `cargo run --release --example native_time -- DIR [KEY=VALUE ..]`, such as `train.seed=2`. Programs that pass every test are run by
//! python3, outside the sandbox.

use std::collections::BTreeMap;
use std::error::Error;
use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex};

use grpo_2048::arena::{Arena, Rules, Workers, complete};
use grpo_2048::config::Layers;
use grpo_2048::environment::Environment;
use grpo_2048::metrics::{Event, JsonlSink, Sink};
use grpo_2048::parallel::Peers;
use grpo_2048::policy::{Policy, open_device};
use grpo_2048::prompt::{PromptKind, PromptSet};
use grpo_2048::reward::{Judged, Rule};
use grpo_2048::seed::Seed;
use grpo_2048::train::Run;
use grpo_sandbox::Sandbox;

const TASKS: &str = "examples/tasks/moves.jsonl";

/// Loads a program and calls it on every board, once, and answers with the seconds by the clock, for a line of JSON each.
const TIMER: &str = r"
import json, sys, time
for line in sys.stdin:
    source, boards = json.loads(line)
    begin = time.perf_counter()
    names = {}
    exec(compile(source, 'program', 'exec'), names)
    for board in boards:
        names['strategy'](board)
    print(time.perf_counter() - begin, flush=True)
";

/// A python3 that runs one program after the other.
struct Timer {
    _python: Child,
    asks: ChildStdin,
    answers: BufReader<ChildStdout>,
}

impl Timer {
    fn start() -> std::io::Result<Timer> {
        let mut python = Command::new("python3");
        let mut python = python.args(["-c", TIMER]).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn()?;
        let (asks, answers) = (python.stdin.take(), python.stdout.take());
        let (asks, answers) = (asks.expect("it is piped"), BufReader::new(answers.expect("it is piped")));
        Ok(Timer { _python: python, asks, answers })
    }

    /// Seconds of a program on these boards.
    fn seconds(&mut self, source: &str, boards: &[serde_json::Value]) -> std::io::Result<f64> {
        writeln!(self.asks, "{}", serde_json::json!([source, boards]))?;
        let mut line = String::new();
        self.answers.read_line(&mut line)?;
        line.trim().parse().map_err(std::io::Error::other)
    }
}

/// The same as `reward::fuel` with seconds: every halving of a second earns the same, 16 of them 1.
fn worth(seconds: f64) -> f64 {
    (-seconds.log2() / 16.0).clamp(0.0, 1.0)
}

/// The boards of the first task.
fn boards(environment: &Environment) -> Result<Vec<serde_json::Value>, Box<dyn Error>> {
    let tasks = environment.tasks().ok_or("expected tasks")?;
    let arguments = tasks.tasks()[0].tests.iter().map(|test| serde_json::from_str::<Vec<_>>(&test.input));
    Ok(arguments.collect::<Result<Vec<_>, _>>()?.into_iter().flatten().collect())
}

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let mut layers = Layers::default();
    layers.value("the example", "environment.env", TASKS.to_owned())?;
    layers.value("the first argument", "train.output_dir", arguments.next().ok_or("expected DIR")?)?;
    arguments.try_for_each(|setting| layers.assignment(&setting))?;
    let config = layers.resolve()?;

    let (device, _) = open_device("cpu")?;
    let mut policy = Policy::load(&config.model, Seed::root(config.train.seed), &device)?;
    let mut environment = Environment::open(TASKS)?;
    let boards = boards(&environment)?;
    let kind = PromptKind::of(policy.tokenizer(), config.model.raw_prompt);
    let prompts = PromptSet::load(kind, policy.tokenizer(), &environment.briefing())?;
    let sandbox = Sandbox::open(&Sandbox::default_cache_dir()?, || eprintln!("compiling the sandbox, once"))?;
    if let Some(failed) = complete(&sandbox, &mut environment, &Rules::of(&config), 2)?.first() {
        return Err(failed.to_string().into());
    }
    let arena = Arena::new(sandbox, environment, Rules::training(&config), Workers::new(2))?;

    let timer = Arc::new(Mutex::new(Timer::start()?));
    let time = move |judged: &Judged<'_>| match judged.program {
        Some(program) if judged.evaluation.plays() => {
            let mut timer = timer.lock().expect("no other thread panics");
            worth(timer.seconds(program.source(), &boards).expect("python3 runs what passes every test"))
        }
        _ => 0.0,
    };
    let run = Run {
        config: &config,
        policy: &mut policy,
        servers: None,
        arena: &arena,
        rule: Rule::new(&config.reward, arena.environment()).with_part("time", time),
        prompts: &prompts,
        allowance: None,
        stop: &AtomicBool::new(false),
        peers: &Peers::alone(),
        measure: &|_| BTreeMap::new(),
    };
    let mut files = JsonlSink::default();
    let mut kept = Ok(());
    run.start(&[], &mut |event| {
        if let Event::StepDone(record) = event {
            println!("step {}: {:.0}% pass, reward {:.3}", record.step, 100.0 * record.succeeded(), record.reward);
        }
        if kept.is_ok() {
            kept = files.note(&event);
        }
    })?;
    Ok(kept?)
}
