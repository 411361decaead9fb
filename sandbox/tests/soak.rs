//! Many verdicts in one process: nothing grows, nothing leaks, no verdict changes. `make soak` says how many.

#![cfg(target_os = "linux")]

use std::fs;

use grpo_sandbox::{FUEL_PER_SECOND, Limits, Sandbox, TierChoice};

const LIMITS: Limits =
    Limits { game_fuel: FUEL_PER_SECOND / 20, call_fuel: FUEL_PER_SECOND / 50, memory_bytes: 64 << 20 };

/// What may be resident beyond the first round.
const GROWTH: u64 = 32 << 20;

const ARGUMENTS: &str = "[[[2,0,0,4],[0,0,0,0],[0,8,0,0],[0,0,0,2]]]";

/// Programs that end in every way there is: a value, each fault, each trap.
const PROGRAMS: [&str; 8] = [
    "import random\n\ndef strategy(board):\n    return random.choice('WASD')\n",
    "def strategy(board):\n    return sorted({str(x) for row in board for x in row})[0]\n",
    "def strategy(board):\n    while True:\n        pass\n",
    "def strategy(board):\n    return bytearray(1 << 30)\n",
    "def strategy(board):\n    return strategy(board)\n",
    "import os\n\ndef strategy(board):\n    os._exit(0)\n",
    "def strategy(board):\n    return {(1, 2): [board, {3}, b'4', 5j]}\n",
    "def strategy(board):\n    return (\n",
];

/// One more is a script, which prints its values.
const SCRIPT: &str = "print(sorted(map(int, input().split())))\n";

/// Value, output or fault in words, and the fuel it took; all programs in one tier, then in the other.
fn verdict(tiers: &[Sandbox; 2], index: usize) -> (String, u64) {
    let sandbox = &tiers[index / (PROGRAMS.len() + 1) % tiers.len()];
    let Some(program) = PROGRAMS.get(index % (PROGRAMS.len() + 1)) else {
        let run = sandbox.run(SCRIPT, "3 1 2\n", 7, &LIMITS).unwrap();
        return (run.printed.unwrap_or_else(|fault| fault.to_string()), run.fuel);
    };
    let mut session = match sandbox.load(program, 7, &LIMITS) {
        Ok(session) => session,
        Err(unloaded) => return (unloaded.to_string(), unloaded.fuel),
    };
    let answer = session.call("strategy", ARGUMENTS).unwrap_or_else(|failure| failure.to_string());
    (answer, session.fuel_used())
}

fn resident() -> u64 {
    let pages = fs::read_to_string("/proc/self/statm").unwrap();
    pages.split(' ').nth(1).unwrap().parse::<u64>().unwrap() * 4096
}

#[test]
#[ignore = "long; `make soak` runs it"]
fn nothing_grows_and_no_verdict_changes() {
    let count = std::env::var("SOAK_VERDICTS").map_or(10_000, |count| count.parse().expect("a number of verdicts"));
    let sandbox = Sandbox::open(&Sandbox::default_cache_dir().unwrap(), || ()).unwrap();
    let tiers = [TierChoice::Interpreter, TierChoice::Auto].map(|tier| sandbox.with_tiers(tier, 0));
    let threads = 2;
    let first: Vec<_> = (0..tiers.len() * (PROGRAMS.len() + 1)).map(|index| verdict(&tiers, index)).collect();
    let play = |count: usize| {
        std::thread::scope(|scope| {
            for thread in 0..threads {
                let (tiers, first) = (&tiers, &first);
                scope.spawn(move || {
                    for index in (thread..count).step_by(threads) {
                        assert_eq!(verdict(tiers, index), first[index % first.len()], "verdict {index}");
                    }
                });
            }
        });
    };
    // The pool's slots and the allocator's arenas fill up once.
    play(count / 10);
    let before = resident();
    play(count);
    let growth = resident().saturating_sub(before);
    println!("{count} verdicts, {} KiB more resident than after the first {}", growth >> 10, count / 10);
    assert!(growth <= GROWTH, "{} MiB", growth >> 20);
}
