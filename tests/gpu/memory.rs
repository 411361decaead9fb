//! Tests of a GPU's memory: updates with too little of it, and that steps do not leak memory.

use candle_core::{DType, Device, Tensor};
use grpo_2048::config::Config;
use grpo_2048::grpo::{self, Optimizer, UpdateStats};
use grpo_2048::policy::{CHUNK, Drawing, ModelType, Policy, device_memory};
use grpo_2048::prompt::Prompt;
use grpo_2048::rollout::{self, RolloutEvent};
use grpo_2048::seed::Seed;

use super::synthetic::{ROWS, batch, config, ids, policy};
use super::{gpu, small};

const PIECE: usize = 4 << 20;
/// Bytes that are too few for eight sequences together, but enough for fewer.
const ROOM: usize = 20 << 20;

/// Allocates all memory except `room` bytes.
fn all_but(room: usize, gpu: &Device) -> Vec<Tensor> {
    let mut taken = Vec::new();
    let fill = |taken: &mut Vec<Tensor>, bytes: usize| {
        while let Ok(tensor) = Tensor::zeros(bytes, DType::U8, gpu) {
            taken.push(tensor);
        }
    };
    fill(&mut taken, 256 << 20);
    // The rest is allocated in pieces, so that some can be freed.
    taken.pop();
    fill(&mut taken, PIECE);
    taken.truncate(taken.len() - room / PIECE);
    taken
}

#[test]
fn an_update_that_finds_no_memory_is_divided() {
    let Some(gpu) = gpu() else { return };
    let config = config(8);
    let policy = policy(&small(ModelType::Qwen2), &config, &gpu);
    let mut optimizer = Optimizer::new(policy.trainable(), &config.grpo).unwrap();
    // With a learning rate of zero every update has the same weights.
    let mut update = |micro_batch: usize| -> UpdateStats {
        let mut config = config.clone();
        config.grpo.micro_batch = micro_batch;
        grpo::update(&policy, &mut optimizer, &batch(&config), 0.0, &mut |_, _| ()).unwrap().unwrap()
    };
    // cuBLAS loads its kernels for these shapes while there is room for them.
    for micro_batch in [ROWS / 4, ROWS / 2] {
        update(micro_batch);
    }
    let whole = update(ROWS);
    assert_eq!(whole.division.micro_batch, ROWS);
    let taken = all_but(ROOM, &gpu);
    let divided = update(ROWS);
    assert!(divided.division.micro_batch < ROWS, "{ROOM} bytes were enough: {:?}", divided.division);
    let close = |here: f64, there: f64| (here - there).abs() <= 1e-4 * here.abs() + 1e-6;
    assert!(close(whole.loss, divided.loss) && close(whole.grad_norm, divided.grad_norm), "{whole:?} {divided:?}");
    drop(taken);
    assert_eq!(update(ROWS).division.micro_batch, ROWS, "memory that was given back is used again");
}

/// Samples a few tokens and makes an update.
fn turn(policy: &Policy, optimizer: &mut Optimizer, config: &Config) {
    let prompts = [ids(0, 20), ids(7, 11)];
    let prompts: Vec<&[u32]> = prompts.iter().map(Vec::as_slice).collect();
    let drawing = Drawing { copies: 2, longest: CHUNK, temperature: 0.9, record: true };
    let weights = policy.decoder().snapshot().unwrap();
    let mut drawn = policy.decoder().device_batch(&weights, &prompts, drawing).unwrap().expect("a supported shape");
    drawn.enqueue(CHUNK, &vec![0.5; drawn.rows() * CHUNK]).unwrap();
    drawn.collect().unwrap().unwrap();
    grpo::update(policy, optimizer, &batch(config), 1e-3, &mut |_, _| ()).unwrap().unwrap();
}

#[test]
fn memory_is_the_same_after_every_step() {
    let Some(gpu) = gpu() else { return };
    let config = config(8);
    let policy = policy(&small(ModelType::Qwen2), &config, &gpu);
    let mut optimizer = Optimizer::new(policy.trainable(), &config.grpo).unwrap();
    let mut free = Vec::new();
    for _ in 0..5 {
        turn(&policy, &mut optimizer, &config);
        free.push(device_memory(&gpu).unwrap().unwrap().free);
    }
    // The first steps also load code and allocate buffers.
    assert!(free[2..].windows(2).all(|pair| pair[0] == pair[1]), "{free:?}");
}

/// Bytes for the workspace of cuBLAS, 32 MiB, and for some completions, but not for all of them together.
const SAMPLING_ROOM: usize = 36 << 20;

#[test]
fn completions_that_find_no_memory_together_are_sampled_apart() {
    let Some(gpu) = gpu() else { return };
    let mut config = config(8);
    (config.rollout.groups, config.rollout.num_generations) = (8, 8);
    let policy = policy(&small(ModelType::Qwen2), &config, &gpu);
    let prompt = |id: u32| Prompt { id, style: "plain".into(), ids: ids(id as usize, 20), ..Prompt::default() };
    let prompts: Vec<Prompt> = (0..8).map(prompt).collect();
    let sampled = || {
        let (mut troubles, mut counts) = (0, (0, 0));
        let mut observer = |event: RolloutEvent<'_>| match event {
            RolloutEvent::Trouble(_) => troubles += 1,
            RolloutEvent::Tokens { tokens, finished } => {
                assert!(tokens >= counts.0 && finished >= counts.1, "counts only grow");
                counts = (tokens, finished);
            }
            _ => {}
        };
        let completions = rollout::generate(&policy, &prompts, &config.rollout, Seed::root(3), &mut observer).unwrap();
        let ids: Vec<Vec<u32>> = completions.into_items().into_iter().map(|completion| completion.ids).collect();
        (ids, troubles)
    };
    let (together, none) = sampled();
    assert_eq!(none, 0);
    let taken = all_but(SAMPLING_ROOM, &gpu);
    let (apart, troubles) = sampled();
    drop(taken);
    assert!(troubles > 0, "{SAMPLING_ROOM} bytes were enough");
    assert_eq!(together.len(), apart.len());
    let same = together.iter().zip(&apart).filter(|(here, there)| here == there).count();
    // Another number of rows may be other kernels of cuBLAS, so that a sum ends in another bit and a token is another.
    assert!(same * 2 >= together.len(), "{same} of {} completions are the same", together.len());
}
