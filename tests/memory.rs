//! Compares the memory of an update, counted by an allocator, with the plan that is made before a run.

mod synthetic;

use std::alloc::{GlobalAlloc, Layout, System};
use std::ops::Range;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use candle_core::Device;
use grpo_2048::config::{Config, FrozenWeights, PrecisionChoice};
use grpo_2048::grpo::{self, Division, Optimizer};
use grpo_2048::policy::{Activations, Adapters, DecoderConfig, Experts, ModelType, Policy, SlidingWindow};
use grpo_2048::train::memory::{MemoryPlan, Place, Workload};
use grpo_tensor::Kernels;

use synthetic::{PROMPT, batch, config, policy, shape};

/// An allocator that counts the bytes in use and their maximum.
struct Counting;

static IN_USE: AtomicUsize = AtomicUsize::new(0);
static PEAK: AtomicUsize = AtomicUsize::new(0);

// SAFETY: all calls are passed on to the system's allocator.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        let now = IN_USE.fetch_add(layout.size(), Ordering::SeqCst) + layout.size();
        PEAK.fetch_max(now, Ordering::SeqCst);
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        IN_USE.fetch_sub(layout.size(), Ordering::SeqCst);
        unsafe { System.dealloc(pointer, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// The maximum of bytes that `work` takes in addition to those in use before.
fn peak_of(work: impl FnOnce()) -> u64 {
    let before = IN_USE.load(Ordering::SeqCst);
    PEAK.store(before, Ordering::SeqCst);
    work();
    (PEAK.load(Ordering::SeqCst) - before) as u64
}

/// That of an update.
fn measured(policy: &Policy, config: &Config, division: Division) -> u64 {
    let mut optimizer = Optimizer::new(policy.trainable(), &config.grpo).unwrap();
    let batch = batch(config).divided(division);
    peak_of(|| {
        grpo::update(policy, &mut optimizer, &batch, 1e-5, &mut |_, _| ()).unwrap();
    })
}

/// That of computing the log-probabilities that an update begins with where it has several iterations.
fn measured_before(policy: &Policy, config: &Config, division: Division) -> u64 {
    let batch = batch(config).divided(division);
    peak_of(|| {
        grpo::reference_logprobs(policy.decoder(), Adapters::On, &batch).unwrap();
    })
}

/// A name, a shape, the rank of its adapters (0: trained in full) and a format.
type Model = (&'static str, DecoderConfig, usize, PrecisionChoice);

fn models() -> Vec<Model> {
    let sliding_window = Some(SlidingWindow { tokens: 50, full_every: 0, rope_theta: None });
    let mistral = DecoderConfig { sliding_window, ..shape(ModelType::Mistral) };
    let gemma2 = DecoderConfig {
        sliding_window: Some(SlidingWindow { tokens: 400, full_every: 2, rope_theta: None }),
        attn_logit_softcapping: Some(50.0),
        final_logit_softcapping: Some(30.0),
        ..shape(ModelType::Gemma2)
    };
    let sliding_window = Some(SlidingWindow { tokens: 50, full_every: 4, rope_theta: Some(1000.0) });
    let gemma3 = DecoderConfig { sliding_window, ..shape(ModelType::Gemma3) };
    let experts = Experts {
        num_experts: 8,
        num_experts_per_tok: 2,
        moe_intermediate_size: 64,
        norm_topk_prob: true,
        decoder_sparse_step: 1,
        mlp_only_layers: vec![],
    };
    let moe = DecoderConfig { experts: Some(experts), ..shape(ModelType::Qwen3Moe) };
    vec![
        ("llama with LoRA", shape(ModelType::Llama), 8, PrecisionChoice::F32),
        ("qwen2 with LoRA", shape(ModelType::Qwen2), 8, PrecisionChoice::F32),
        ("qwen3 with LoRA", shape(ModelType::Qwen3), 8, PrecisionChoice::F32),
        ("mistral with LoRA", mistral, 8, PrecisionChoice::F32),
        ("phi3 with LoRA", shape(ModelType::Phi3), 8, PrecisionChoice::F32),
        ("phi3 in full", shape(ModelType::Phi3), 0, PrecisionChoice::F32),
        ("gemma2 with LoRA", gemma2.clone(), 8, PrecisionChoice::F32),
        ("gemma2 in full", gemma2, 0, PrecisionChoice::F32),
        ("gemma3 with LoRA", gemma3, 8, PrecisionChoice::F32),
        ("qwen3_moe with LoRA", moe.clone(), 8, PrecisionChoice::F32),
        ("qwen3_moe in full", moe, 0, PrecisionChoice::F32),
        ("llama with LoRA, packed", shape(ModelType::Llama), 8, PrecisionChoice::F32),
        ("llama in full", shape(ModelType::Llama), 0, PrecisionChoice::F32),
        ("llama with LoRA in bf16", shape(ModelType::Llama), 8, PrecisionChoice::Bf16),
    ]
}

/// Ways to divide an update: completions at once, what is kept of layers, and the bytes of logits at once.
const DIVISIONS: [(usize, Activations, usize); 5] = [
    (8, Activations::Kept, 64 << 20),
    (8, Activations::Recomputed, 1 << 20),
    (2, Activations::Kept, 64 << 20),
    (8, Activations::Recomputed, 64 << 20),
    (1, Activations::Recomputed, 1 << 20),
];
/// Of them, those that models are measured in by turns: all layers at once, and one layer with few logits.
const BY_TURNS: usize = 2;
/// Models that are measured in all of them. How an update is divided has one plan for all families, which differs with
/// adapters, without them, and where experts choose.
const IN_ALL: [&str; 3] = ["llama with LoRA", "llama in full", "qwen3_moe with LoRA"];

/// The allocator counts the memory of the whole process, so that no two tests run at the same time.
static ALONE: Mutex<()> = Mutex::new(());

#[test]
fn an_update_takes_what_the_plan_says() {
    assert_takes_what_the_plan_says(|number, model| {
        let one = number % BY_TURNS;
        if IN_ALL.contains(&model) { 0..DIVISIONS.len() } else { one..one + 1 }
    });
}

#[test]
#[ignore = "takes three times as long; `make proofs` runs it"]
fn an_update_of_every_model_in_every_division_takes_what_the_plan_says() {
    assert_takes_what_the_plan_says(|_, _| 0..DIVISIONS.len());
}

/// `measured_in` gives the places of the divisions that a model is measured in, by its number and name.
fn assert_takes_what_the_plan_says(measured_in: impl Fn(usize, &str) -> Range<usize>) {
    let _alone = ALONE.lock().unwrap();
    let mut shares = Vec::new();
    for (number, (name, shape, lora_r, precision)) in models().into_iter().enumerate() {
        let mut config = config(lora_r);
        config.model.precision = precision;
        if name.ends_with("packed") {
            config.model.frozen_weights = FrozenWeights::Packed;
        }
        let policy = policy(&shape, &config, &Device::Cpu);
        let trained = policy.trainable().values().map(|var| var.elem_count()).sum();
        let (precision, kernels, place) = (policy.decoder().precision(), policy.decoder().kernels(), Place::Host);
        let (config, cores, processes, packed) = (&config, 1, 1, policy.packed_bytes());
        let workload = Workload {
            shape: &shape,
            trained,
            prompt: PROMPT,
            config,
            cores,
            processes,
            place,
            precision,
            kernels,
            packed,
            dropout: policy.dropout(),
        };
        for (micro_batch, activations, logit_bytes) in DIVISIONS[measured_in(number, name)].iter().copied() {
            let division = Division { micro_batch, activations, logit_bytes, at_once: 1, held: 1 };
            if shares.is_empty() {
                // The first update also allocates what is built at first use, such as threads.
                measured(&policy, config, Division { micro_batch: 1, ..division });
            }
            let planned = MemoryPlan::of(&workload, division).update();
            let found = measured(&policy, config, division);
            // No layer keeps its activations, whatever the update does with them.
            if name == "llama with LoRA" && activations == Activations::Recomputed && micro_batch > 1 {
                let before = measured_before(&policy, config, division);
                assert!(before <= found, "{division:?}: {before} bytes for log-probabilities, {found} for the update");
            }
            // Operations by tensors have many temporary results, not all of them at the same time.
            let fused = kernels == Kernels::Fused && shape.experts.is_none();
            let least = if fused { 0.5 } else { 0.4 };
            shares.push((found as f64 / planned as f64, least, format!("{name}, {division:?}: {found} bytes")));
        }
    }
    let wrong: Vec<_> = shares.iter().filter(|(share, least, _)| !(*least..=1.0).contains(share)).collect();
    assert!(wrong.is_empty(), "shares of the plan: {wrong:#?}");
}
