//! What a program of a model is worth: the text is searched for a program, which plays in the sandbox.
//!
//! `cargo run --release -p grpo-verify --example judge`; the first run on a machine compiles the sandbox, in about 12 seconds.

use std::error::Error;

use grpo_verify::arena::{Arena, Rules, Workers};
use grpo_verify::config::Config;
use grpo_verify::environment::Environment;
use grpo_verify::judge::{Item, Judge};
use grpo_verify::sandbox::Sandbox;
use grpo_verify::seed::Seed;

/// What a policy might write: a program between words, one that never moves, and one that does not compile.
const COMPLETIONS: [(&str, &str); 3] = [
    (
        "turns",
        "Sure!\n```python\ndef strategy(board, turn=[0]):\n    turn[0] += 1\n    return 'WASD'[turn[0] % 4]\n```",
    ),
    ("idle", "def strategy(board):\n    return None"),
    ("broken", "def strategy(board):\n    return 'W' if"),
];

fn main() -> Result<(), Box<dyn Error>> {
    let config = Config::preset("builtin")?;
    let sandbox = Sandbox::open(&Sandbox::default_cache_dir()?, || eprintln!("compiling the sandbox, once"))?;
    let rules = Rules::of(&config);
    let arena = Arena::new(sandbox, Environment::Game2048, rules, Workers::new(2))?;
    // Every program plays the same four boards.
    let judge = Judge::new(arena, &config.reward, Seed::root(7).games(4));
    let items = COMPLETIONS.map(|(id, completion)| Item { id: id.into(), completion: completion.into() });
    for judgement in judge.judge(items.into())? {
        let why = judgement.reason.unwrap_or_default();
        println!("{}: reward {:.4}, mean score {} {why}", judgement.id, judgement.reward, judgement.score);
    }
    Ok(())
}
