//! A reward with a part of one's own: what a program earns by its tests, and a little more for each line that it is short of ten.
//!
//! `cargo run --release -p grpo-verify --example reward_part -- examples/tasks/basics.jsonl < completions.jsonl`

use std::error::Error;
use std::sync::Arc;

use grpo_verify::arena::{Arena, Rules, Workers, complete};
use grpo_verify::config::Layers;
use grpo_verify::environment::Environment;
use grpo_verify::judge::{Judge, judge_lines};
use grpo_verify::reward::Judged;
use grpo_verify::sandbox::Sandbox;

fn short(judged: &Judged<'_>) -> f64 {
    let lines = judged.program.map_or(10, |program| program.lines());
    0.01 * (10 - lines.min(10)) as f64
}

fn main() -> Result<(), Box<dyn Error>> {
    let config = Layers::default().resolve()?;
    let sandbox = Sandbox::open(&Sandbox::default_cache_dir()?, || eprintln!("compiling the sandbox, once"))?;
    let mut environment = Environment::open(&std::env::args().nth(1).ok_or("expected a file of tasks")?)?;
    let rules = Rules::of(&config);
    if let Some(failed) = complete(&sandbox, &mut environment, &rules, 2)?.first() {
        return Err(failed.to_string().into());
    }
    let arena = Arena::new(sandbox, environment, rules, Workers::new(2))?;
    let judge = Judge::new(arena, &config.reward, Vec::new()).with_part("short", short);
    judge_lines(&Arc::new(judge), std::io::stdin(), "stdin", &mut |judged| {
        println!("{}: reward {:.3} of {:?}", judged.id, judged.reward, judged.parts);
        Ok(())
    })?;
    Ok(())
}
