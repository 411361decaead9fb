//! What a session of the interpreter costs: fresh instance and load, one call, and fuel a second.

use std::time::{Duration, Instant};

use criterion::{Criterion, criterion_group, criterion_main};
use grpo_sandbox::{FUEL_PER_SECOND, Limits, Sandbox};

const ARGUMENTS: &str = "[[[2,0,0,4],[2,0,0,4],[2,0,0,4],[2,0,0,4]]]";
const CONSTANT: &str = "def strategy(board):\n    return 'W'\n";
const LIMITS: Limits = Limits { game_fuel: u64::MAX, call_fuel: FUEL_PER_SECOND, memory_bytes: 128 << 20 };

fn sandbox(criterion: &mut Criterion) {
    let sandbox = Sandbox::open(&Sandbox::default_cache_dir().unwrap(), || eprintln!("compiling the sandbox")).unwrap();
    let sandbox = sandbox.interpreting();
    let mut times: Vec<Duration> = (0..500)
        .map(|_| {
            let start = Instant::now();
            drop(sandbox.load(CONSTANT, 0, &LIMITS).unwrap());
            start.elapsed()
        })
        .collect();
    times.sort();
    println!("fresh instance, load and drop: p50 {:?}, p99 {:?} of {}", times[250], times[495], times.len());
    println!("fuel a second: {:.2e}, nominal {FUEL_PER_SECOND:.2e}", sandbox.calibrate().unwrap());
    criterion.bench_function("instance and load", |bencher| {
        bencher.iter(|| sandbox.load(CONSTANT, 0, &LIMITS).unwrap());
    });
    let mut session = sandbox.load(CONSTANT, 0, &LIMITS).unwrap();
    criterion.bench_function("one call", |bencher| bencher.iter(|| session.call("strategy", ARGUMENTS).unwrap()));
}

criterion_group! {
    name = benches;
    config = Criterion::default().sample_size(50).measurement_time(Duration::from_secs(3));
    targets = sandbox
}
criterion_main!(benches);
