//! Programs give the same answers in both tiers, call by call.

use grpo_sandbox::Sandbox;
use grpo_sandbox_compiled::{Limits, Stop, Tier};

const LIMITS: Limits = Limits { game_gas: 10_000_000_000, call_gas: 1_000_000_000, memory_bytes: 128 << 20 };
const FUEL: grpo_sandbox::Limits =
    grpo_sandbox::Limits { game_fuel: 400_000_000_000, call_fuel: 100_000_000_000, memory_bytes: 128 << 20 };

/// Boards of 2048 from a seed: powers of two, the same ones everywhere.
fn boards(seed: u64, count: usize) -> Vec<String> {
    let mut state = seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1;
    let mut tile = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let exponent = (state >> 33) % 9;
        if exponent < 3 { 0 } else { 1u32 << (exponent - 2) }
    };
    let mut row = || (0..4).map(|_| tile().to_string()).collect::<Vec<_>>().join(", ");
    (0..count).map(|_| format!("[[[{}], [{}], [{}], [{}]]]", row(), row(), row(), row())).collect()
}

#[test]
fn the_ladder_gives_the_same_moves_in_both_tiers() {
    let directory = Sandbox::default_cache_dir().expect("a cache directory");
    let sandbox = Sandbox::open(&directory, || ()).expect("the interpreter opens");
    let tier = Tier::open().expect("the tier opens");
    let ladder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../src/environment/game2048/ladder");
    let mut played = 0;
    let mut paths: Vec<_> = std::fs::read_dir(ladder).expect("a ladder").map(|entry| entry.expect("a file").path()).collect();
    paths.sort();
    for path in paths {
        let source = std::fs::read_to_string(&path).expect("a program");
        let program = match tier.compile(&source) {
            Ok(program) => program,
            Err(why) => {
                eprintln!("{}: {why}", path.display());
                continue;
            }
        };
        let mut fast = match program.start(7, &LIMITS) {
            Ok(session) => session,
            Err(why) => {
                eprintln!("{}: {why}", path.display());
                continue;
            }
        };
        let mut slow = sandbox.load(&source, 7, &FUEL).expect("what the tier loads, the interpreter loads");
        for board in boards(3, 60) {
            match fast.call("strategy", &board) {
                Ok(value) => assert_eq!(value, slow.call("strategy", &board).expect("a value"), "{}", path.display()),
                Err(Stop::WayBack { reason }) => {
                    eprintln!("{}: {reason}", path.display());
                    break;
                }
                Err(other) => panic!("{}: {other}", path.display()),
            }
        }
        eprintln!("{}: {} gas", path.display(), fast.gas_used());
        played += 1;
    }
    assert!(played >= 7, "only {played} of the ladder were played");
}
