//! Tokens per second of the built-in model: decoding a batch, and the forward and backward pass of an update.

use candle_core::{D, Device, Tensor};
use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use grpo_2048::config::Config;
use grpo_2048::policy::{Adapters, Policy};
use grpo_2048::seed::Seed;
use grpo_tensor as kernels;

const ROWS: usize = 64;
const PROMPT: usize = 20;
const STEPS: usize = 120;

fn policy() -> Policy {
    let config = Config::preset("builtin").expect("the defaults resolve");
    Policy::load(&config.model, Seed::root(0), &Device::Cpu).expect("the built-in model loads")
}

fn decode(policy: &Policy) -> Tensor {
    let prompt: Vec<u32> = (10..10 + PROMPT as u32).collect();
    let decoder = policy.decoder();
    let mut cache = decoder.new_cache(1, PROMPT + STEPS).expect("a cache");
    let mut logits = decoder.prefill(&[&prompt], &mut cache).expect("a prefill");
    cache.expand(ROWS).expect("an expansion");
    for step in 0..STEPS {
        let ids: Vec<u32> = (0..ROWS).map(|row| ((row * 31 + step * 17) % 700) as u32).collect();
        let ids = Tensor::from_vec(ids, ROWS, &Device::Cpu).expect("ids");
        logits = decoder.step(&ids, &mut cache).expect("a step");
    }
    logits
}

fn update(policy: &Policy, rows: usize) -> usize {
    let ids: Vec<u32> = (0..rows * STEPS).map(|index| (index * 37 % 700) as u32).collect();
    let targets = Tensor::from_slice(&ids, rows * STEPS, &Device::Cpu).expect("targets");
    let ids = targets.reshape((rows, STEPS)).expect("ids");
    let decoder = policy.decoder();
    let hidden = decoder.hidden(&ids, Adapters::On).expect("hidden states");
    let logits = decoder.logits(&hidden.reshape((rows * STEPS, ())).expect("rows")).expect("logits");
    let (logp, _) = kernels::token_log_probs(&logits, &targets).expect("log-probabilities");
    let gradients = logp.mean(D::Minus1).expect("a mean").backward().expect("gradients");
    policy.trainable().values().filter(|var| gradients.get(var).is_some()).count()
}

fn benchmarks(criterion: &mut Criterion) {
    let policy = policy();
    let mut group = criterion.benchmark_group("builtin");
    group.sample_size(10);
    group.throughput(Throughput::Elements((ROWS * STEPS) as u64));
    group.bench_function("decode 64 rows", |bencher| bencher.iter(|| decode(&policy)));
    group.bench_function("forward and backward, 64 rows", |bencher| bencher.iter(|| update(&policy, ROWS)));
    group.throughput(Throughput::Elements((8 * STEPS) as u64));
    group.bench_function("forward and backward, 8 rows", |bencher| bencher.iter(|| update(&policy, 8)));
    group.finish();
}

criterion_group!(benches, benchmarks);
criterion_main!(benches);
