//! Whole programs: players of 2048 over many boards.

use std::fs;
use std::path::Path;

use grpo_sandbox::{Sandbox, TierChoice};
use grpo_sandbox_compiled::{CompiledTier, GasLimits, Stop};

/// What a player may be charged compiled, as a share of what it is charged interpreted. Never more than all of it, with
/// what `BUDGET_SHARE` of the sandbox adds to compiled budgets: leaving the tier must not pay.
const BOUNDS: std::ops::RangeInclusive<f64> = 0.67..=1.05;

const BOARDS: usize = 60;

const GAS: GasLimits = GasLimits { game_gas: u64::MAX / 4, call_gas: u64::MAX / 4, memory_bytes: 1 << 28 };
const FUEL: grpo_sandbox::Limits =
    grpo_sandbox::Limits { game_fuel: u64::MAX / 4, call_fuel: u64::MAX / 4, memory_bytes: 1 << 28 };

/// Boards of 2048 from a seed: powers of two, the same ones everywhere.
fn boards() -> Vec<String> {
    let mut state = 7u64;
    let mut tile = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let exponent = (state >> 33) % 9;
        if exponent < 3 { 0 } else { 1u32 << (exponent - 2) }
    };
    let mut row = || (0..4).map(|_| tile().to_string()).collect::<Vec<_>>().join(", ");
    (0..BOARDS).map(|_| format!("[[[{}], [{}], [{}], [{}]]]", row(), row(), row(), row())).collect()
}

/// The share of a program; none if the tier does not play it to its end.
fn share(tier: &CompiledTier, sandbox: &Sandbox, source: &str) -> Option<f64> {
    let mut compiled = tier.compile(source).ok()?.start(7, &GAS).ok()?;
    let mut interpreted = sandbox.load(source, 7, &FUEL).ok()?;
    let before = (compiled.gas_used(), interpreted.fuel_used());
    for board in boards() {
        match compiled.call("strategy", &board) {
            Ok(_) => interpreted.call("strategy", &board).ok()?,
            Err(Stop::WayBack { .. }) => return None,
            Err(stop) => panic!("{stop}\n{source}"),
        };
    }
    Some((compiled.gas_used() - before.0) as f64 / (interpreted.fuel_used() - before.1) as f64)
}

#[test]
fn a_player_is_charged_in_both_tiers_alike() {
    let directory = Sandbox::default_cache_dir().expect("a cache directory");
    let sandbox = Sandbox::open(&directory, || ()).expect("the interpreter opens");
    let sandbox = sandbox.with_tiers(TierChoice::Interpreter, 0);
    let tier = CompiledTier::open().expect("the tier opens");
    let players = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/costs/players");
    let ladder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../src/environment/game2048/ladder");
    let mut played = 0;
    for directory in [ladder, players] {
        for entry in fs::read_dir(directory).expect("players") {
            let path = entry.expect("a file").path();
            let source = fs::read_to_string(&path).expect("a program");
            let Some(share) = share(&tier, &sandbox, &source) else { continue };
            assert!(BOUNDS.contains(&share), "{}: {share:.3}", path.display());
            played += 1;
        }
    }
    assert!(played >= 12, "{played} players");
}
