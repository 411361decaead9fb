//! Any source ends in a value or a fault, inside its budget, and the same way the second time.

#![no_main]

use std::sync::LazyLock;

use grpo_sandbox::{FUEL_PER_SECOND, Failure, Limits, Sandbox};
use libfuzzer_sys::fuzz_target;

const LIMITS: Limits =
    Limits { game_fuel: FUEL_PER_SECOND / 20, call_fuel: FUEL_PER_SECOND / 50, memory_bytes: 64 << 20 };

static SANDBOX: LazyLock<Sandbox> = LazyLock::new(|| {
    let cache = Sandbox::default_cache_dir().expect("a cache directory");
    Sandbox::open(&cache, || eprintln!("compiling the sandbox")).expect("the sandbox opens")
});

/// Value or fault, and the fuel it took.
fn play(source: &str) -> (String, u64) {
    let mut session = match SANDBOX.load(source, 5, &LIMITS) {
        Ok(session) => session,
        Err(unloaded) => return (told(&unloaded.failure), unloaded.fuel),
    };
    let answer = session.call("strategy", "[[[2,0,0,4],[0,0,0,0],[0,8,0,0],[0,0,0,2]]]");
    (answer.unwrap_or_else(|failure| told(&failure)), session.fuel_used())
}

fn told(failure: &Failure) -> String {
    match failure {
        Failure::Program(fault) => fault.to_string(),
        Failure::Host(error) => panic!("the host failed: {error}"),
    }
}

fuzz_target!(|source: &str| {
    let (answer, fuel) = play(source);
    assert!(fuel <= LIMITS.game_fuel);
    assert_eq!(play(source), (answer, fuel));
});
