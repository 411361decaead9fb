//! Whole programs: players of 2048 over many boards.

use std::fs;
use std::path::Path;

use grpo_sandbox::{Failure, Fault, Sandbox, TierChoice};
use grpo_sandbox_compiled::{CompiledTier, GasLimits, Stop};

use crate::boards::boards;

/// What a player may be charged compiled, as a share of what it is charged interpreted. The sandbox gives compiled games
/// as much more as is allowed here above one, so that leaving the tier does not pay.
const BOUNDS: std::ops::RangeInclusive<f64> = 0.67..=1.05;

const BOARDS: usize = 60;

/// The budget of a game here, and the most moves that are waited for.
const BUDGET: u64 = grpo_sandbox::FUEL_PER_SECOND / 8;
const MOVES_MAX: usize = 2_000;

const GAS: GasLimits = GasLimits { game_gas: u64::MAX / 4, call_gas: u64::MAX / 4, memory_bytes: 1 << 28 };
const FUEL: grpo_sandbox::Limits =
    grpo_sandbox::Limits { game_fuel: u64::MAX / 4, call_fuel: u64::MAX / 4, memory_bytes: 1 << 28 };

/// The share of a program; none if the tier does not play it to its end.
fn share(tier: &CompiledTier, sandbox: &Sandbox, source: &str) -> Option<f64> {
    let mut compiled = tier.compile(source).ok()?.start(7, &GAS).ok()?;
    let mut interpreted = sandbox.load(source, 7, &FUEL).ok()?;
    let before = (compiled.gas_used(), interpreted.fuel_used());
    for board in boards(7, BOARDS) {
        match compiled.call("strategy", &board) {
            Ok(_) => interpreted.call("strategy", &board).ok()?,
            Err(Stop::GivenUp { .. }) => return None,
            Err(stop) => panic!("{stop}\n{source}"),
        };
    }
    Some((compiled.gas_used() - before.0) as f64 / (interpreted.fuel_used() - before.1) as f64)
}

fn sandbox(choice: TierChoice) -> Sandbox {
    let directory = Sandbox::default_cache_dir().expect("a cache directory");
    Sandbox::open(&directory, || ()).expect("the interpreter opens").with_tiers(choice, 0)
}

/// The reference players, and generated ones: those that are charged least and most beside the interpreter, and the
/// dearest.
fn players() -> Vec<(String, String)> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut players = Vec::new();
    for directory in [root.join("../../crates/environment/src/game2048/ladder"), root.join("tests/costs/players")] {
        for entry in fs::read_dir(directory).expect("players") {
            let path = entry.expect("a file").path();
            players.push((path.display().to_string(), fs::read_to_string(&path).expect("a program")));
        }
    }
    players
}

#[test]
fn a_player_is_charged_in_both_tiers_alike() {
    let (tier, sandbox) = (CompiledTier::open().expect("the tier opens"), sandbox(TierChoice::Interpreter));
    let mut played = 0;
    for (name, source) in players() {
        let Some(share) = share(&tier, &sandbox, &source) else { continue };
        assert!(BOUNDS.contains(&share), "{name}: {share:.3}");
        played += 1;
    }
    assert!(played >= 20, "{played} players");
}

#[test]
fn comments_are_charged_in_both_tiers_alike() {
    let (tier, sandbox) = (CompiledTier::open().expect("the tier opens"), sandbox(TierChoice::Interpreter));
    let loading = |source: &str| {
        let compiled = tier.compile(source).expect("it compiles").start(7, &GAS).expect("it loads");
        let interpreted = sandbox.load(source, 7, &FUEL).expect("it loads");
        [compiled.gas_used(), interpreted.fuel_used()].map(|used| used as f64)
    };
    let bare = loading("def strategy(board):\n    return 'S'\n");
    let line = format!("#{}\n", "-".repeat(78));
    for comment in ["    # the largest tile stays in its corner\n", &line, "#\n", "\n"] {
        let with = loading(&format!("def strategy(board):\n{}    return 'S'\n", comment.repeat(400)));
        let share = (with[0] - bare[0]) / (with[1] - bare[1]);
        assert!((0.67..=1.2).contains(&share), "{comment}: {share:.3}");
    }
}

/// Moves that a player makes before its budget ends; none if it fails otherwise.
fn moves(sandbox: &Sandbox, source: &str) -> Option<usize> {
    let limits = grpo_sandbox::Limits { game_fuel: BUDGET, call_fuel: BUDGET, memory_bytes: 128 << 20 };
    let mut session = sandbox.load(source, 7, &limits).ok()?;
    let boards = boards(7, BOARDS);
    for made in 0..MOVES_MAX {
        match session.call("strategy", &boards[made % boards.len()]) {
            Ok(_) => {}
            Err(Failure::Program(Fault::OutOfFuel { .. })) => return Some(made),
            Err(_) => return None,
        }
    }
    None
}

#[test]
fn no_player_gains_by_leaving_the_tier() {
    let sandbox = sandbox(TierChoice::Auto);
    let mut played = 0;
    for (name, source) in players() {
        let outside = format!("class _x: pass\n{source}");
        let (Some(inside), Some(outside)) = (moves(&sandbox, &source), moves(&sandbox, &outside)) else { continue };
        assert!(inside >= outside, "{name}: {inside} moves, and {outside} with a class in front");
        played += 1;
    }
    assert!(played >= 15, "{played} players whose budget ends");
}
