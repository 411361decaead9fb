//! Games per second of the ladder programs in the sandbox, the times of their parts, and the same calls in plain
//! CPython.
//!
//! Both sides do the same work: the function in `python3`, loaded again for each game as in the sandbox, gets the
//! boards that the program saw in the sandbox, in the same order. The sandbox's time is that of whole games (instance,
//! loading, calls and engine); the time of `python3` does not include an engine. Without a `python3` the last two
//! columns are empty.

use std::io::Write;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use grpo_2048::arena::{Arena, Rules, Workers};
use grpo_2048::config::Config;
use grpo_2048::environment::game2048::{Game, Move, entry};
use grpo_2048::environment::{Environment, Outcome};
use grpo_2048::program::Program;
use grpo_2048::seed::{Purpose, Seed};
use grpo_sandbox::Sandbox;

const LADDER: [(&str, &str, u64); 7] = [
    ("constant", include_str!("../../crates/environment/src/game2048/ladder/constant.py"), 200),
    ("random_move", include_str!("../../crates/environment/src/game2048/ladder/random_move.py"), 100),
    ("cycle", include_str!("../../crates/environment/src/game2048/ladder/cycle.py"), 100),
    ("priority", include_str!("../../crates/environment/src/game2048/ladder/priority.py"), 40),
    ("greedy", include_str!("../../crates/environment/src/game2048/ladder/greedy.py"), 40),
    ("monotone", include_str!("../../crates/environment/src/game2048/ladder/monotone.py"), 16),
    ("two_ply", include_str!("../../crates/environment/src/game2048/ladder/two_ply.py"), 8),
];

/// Seconds of the parts of some games.
#[derive(Default)]
struct Split {
    load: f64,
    calls: f64,
    engine: f64,
}

fn main() {
    let config = Config::preset("builtin").expect("the defaults resolve");
    let cache = Sandbox::default_cache_dir().expect("a cache directory");
    let sandbox = Sandbox::open(&cache, || eprintln!("compiling the sandbox")).expect("the sandbox opens");
    let rules = Rules::new(&config.sandbox, &config.arena);
    println!(
        "{:<12}{:>6}{:>9}{:>9}{:>9}{:>9}{:>9}{:>10}{:>10}{:>8}",
        "", "games", "score", "games/s", "games/s", "load", "calls", "engine", "native", "speed"
    );
    println!(
        "{:<12}{:>6}{:>9}{:>9}{:>9}{:>9}{:>9}{:>10}{:>10}{:>8}",
        "", "", "mean", "inline", "8 work.", "us", "us/move", "us/move", "us/move", "ratio"
    );
    for (name, source, count) in LADDER {
        let program = Program::from_text(source, &entry()).expect("the ladder parses");
        let seeds: Vec<Seed> = (0..count).map(|index| Seed::root(6).child(Purpose::HeldOut, index)).collect();
        let (games, inline) = evaluate(&sandbox, &rules, Workers::Inline, &program, &seeds);
        let (_, pooled) = evaluate(&sandbox, &rules, Workers::new(8), &program, &seeds);
        let split = split(&sandbox, &rules, &program, &games);
        let calls: usize = games.iter().map(|game| game.moves_text().len()).sum();
        let mean = games.iter().map(|game| game.score).sum::<f64>() as u64 / count;
        let micros = |seconds: f64, of: usize| 1e6 * seconds / of as f64;
        let native = native_seconds(source, &games);
        let (native_text, ratio) = native.map_or(("-".into(), "-".into()), |seconds| {
            (format!("{:.1}", micros(seconds, calls)), format!("{:.2}", seconds / inline.as_secs_f64()))
        });
        println!(
            "{name:<12}{count:>6}{mean:>9}{:>9.1}{:>9.1}{:>9.0}{:>9.1}{:>10.2}{native_text:>10}{ratio:>8}",
            count as f64 / inline.as_secs_f64(),
            count as f64 / pooled.as_secs_f64(),
            micros(split.load, games.len()),
            micros(split.calls, calls),
            micros(split.engine, calls),
        );
    }
}

fn evaluate(
    sandbox: &Sandbox,
    rules: &Rules,
    workers: Workers,
    program: &Program,
    seeds: &[Seed],
) -> (Vec<Outcome>, Duration) {
    let arena = Arena::new(sandbox.clone(), Environment::Game2048, rules.clone(), workers).expect("threads start");
    let begin = Instant::now();
    let evaluations = arena.evaluate_all([(Ok(program.clone()), seeds)], &mut |_, _| ());
    let evaluation = evaluations.expect("the sandbox works").remove(0);
    (evaluation.games, begin.elapsed())
}

/// Plays the same games again and measures each part.
fn split(sandbox: &Sandbox, rules: &Rules, program: &Program, games: &[Outcome]) -> Split {
    let mut split = Split::default();
    for outcome in games {
        let begin = Instant::now();
        let mut session = sandbox.load(program.source(), 0, &rules.limits).expect("it was loaded before");
        split.load += begin.elapsed().as_secs_f64();
        let mut game = Game::new(outcome.seed().expect("a game has a seed"));
        for direction in moves(outcome) {
            let begin = Instant::now();
            let board = serde_json::to_string(&[game.board().cells()]).expect("numbers are JSON");
            let choice = session.call("strategy", &board);
            let chosen = Instant::now();
            game.play(direction);
            game.is_over();
            split.calls += (chosen - begin).as_secs_f64();
            split.engine += chosen.elapsed().as_secs_f64();
            if choice.is_err() {
                break;
            }
        }
    }
    split
}

fn moves(outcome: &Outcome) -> impl Iterator<Item = Move> {
    outcome.moves_text().chars().filter_map(|letter| Move::from_text(letter.encode_utf8(&mut [0; 4])))
}

/// Seconds that `python3` takes for the same calls with the same boards, if there is one.
fn native_seconds(source: &str, games: &[Outcome]) -> Option<f64> {
    let boards = games.iter().map(|outcome| {
        let mut game = Game::new(outcome.seed().expect("a game has a seed"));
        let seen = moves(outcome).map(|direction| {
            let cells = game.board().cells();
            game.play(direction);
            cells
        });
        seen.collect::<Vec<_>>()
    });
    let work = serde_json::json!({ "source": source, "games": boards.collect::<Vec<_>>() });
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/benches/native_games.py");
    let mut python = Command::new("python3").arg(script).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().ok()?;
    python.stdin.take()?.write_all(work.to_string().as_bytes()).ok()?;
    String::from_utf8(python.wait_with_output().ok()?.stdout).ok()?.trim().parse().ok()
}
