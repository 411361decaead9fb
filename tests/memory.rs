//! What an update takes of memory, as an allocator counts it, against the plan that is made before a run.

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicUsize, Ordering};

use candle_core::Device;
use grpo_2048::config::{Config, ModelConfig, Precision};
use grpo_2048::groups::Groups;
use grpo_2048::grpo::{self, Batch, Division, Optimizer};
use grpo_2048::policy::kernels::Kernels;
use grpo_2048::policy::{Activations, DecoderConfig, Policy, Tokenizer};
use grpo_2048::prompt::Prompt;
use grpo_2048::rollout::{Completion, FinishReason};
use grpo_2048::seed::Seed;
use grpo_2048::train::memory::{MemoryPlan, Workload};

/// Counts what is in use, and the most there ever was.
struct Counting;

static IN_USE: AtomicUsize = AtomicUsize::new(0);
static PEAK: AtomicUsize = AtomicUsize::new(0);

#[allow(unsafe_code)]
// SAFETY: everything is passed on to the system's allocator.
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

const PROMPT: usize = 30;
const COMPLETION: usize = 120;
const ROWS: usize = 8;

/// Shaped like a language model: the vocabulary is the largest thing in it.
fn shape(qkv_bias: bool, qk_norm: bool) -> DecoderConfig {
    DecoderConfig {
        vocab_size: 8_000,
        hidden_size: 96,
        num_hidden_layers: 8,
        num_attention_heads: 6,
        num_key_value_heads: 2,
        head_dim: 16,
        intermediate_size: 256,
        rope_theta: 10_000.0,
        rope_scaling: None,
        rms_norm_eps: 1e-5,
        tie_word_embeddings: true,
        qkv_bias,
        qk_norm,
        max_position_embeddings: 512,
    }
}

fn policy(shape: &DecoderConfig, config: &Config) -> Policy {
    let tokenizer = serde_json::json!({
        "version": "1.0", "added_tokens": [], "normalizer": null, "pre_tokenizer": null, "post_processor": null,
        "decoder": null, "truncation": null, "padding": null,
        "model": { "type": "BPE", "vocab": { "a": 0 }, "merges": [] },
    });
    let tokenizer = Tokenizer::from_json(&tokenizer.to_string(), None, Some(r#"{"eos_token_id": 0}"#)).unwrap();
    let policy = Policy::initialise(shape.clone(), tokenizer, Seed::root(1), &Device::Cpu).unwrap();
    if config.model.lora_r == 0 {
        return policy;
    }
    let dir = tempfile::tempdir().unwrap();
    policy.save(dir.path()).unwrap();
    let settings = ModelConfig { model: dir.path().display().to_string(), ..config.model.clone() };
    Policy::load(&settings, Seed::root(1), &Device::Cpu).unwrap()
}

fn config(lora_r: usize) -> Config {
    let mut config = Config::preset("llm").unwrap();
    config.model.lora_r = lora_r;
    config.rollout.groups = 2;
    config.rollout.num_generations = ROWS / 2;
    config.rollout.max_completion_length = COMPLETION;
    config.grpo.elite_coef = 0.0;
    config.train.eval_samples = 0;
    config
}

fn batch(config: &Config) -> Batch {
    let ids = |from: usize, count: usize| (from..from + count).map(|id| (id * 37 % 8_000) as u32).collect();
    let prompt = |id: u32| Prompt {
        id,
        style: "plain".into(),
        text: String::new(),
        prefill: String::new(),
        ids: ids(id as usize, PROMPT),
        stop: None,
    };
    let completion = |index: usize| Completion {
        ids: ids(100 * index, COMPLETION),
        logprobs: vec![-9.0; COMPLETION],
        text: String::new(),
        finish: FinishReason::Stop,
    };
    let completions = Groups::new(ROWS / 2, (0..ROWS).map(completion).collect());
    let advantages = Groups::new(ROWS / 2, (0..ROWS).map(|index| index as f32 - 3.5).collect());
    Batch::new(&[prompt(0), prompt(1)], completions, advantages, &config.rollout, &config.grpo)
}

/// Bytes that an update takes at most, over what was there before.
fn measured(policy: &Policy, config: &Config, division: Division) -> u64 {
    let mut optimizer = Optimizer::new(policy.trainable(), &config.grpo).unwrap();
    let batch = batch(config).divided(division);
    let before = IN_USE.load(Ordering::SeqCst);
    PEAK.store(before, Ordering::SeqCst);
    grpo::update(policy, &mut optimizer, &batch, 1e-5, &mut |_, _| ()).unwrap();
    (PEAK.load(Ordering::SeqCst) - before) as u64
}

// One test: the allocator counts for the whole process.
#[test]
fn an_update_takes_what_the_plan_says() {
    let mut shares = Vec::new();
    for (name, shape, lora_r, precision) in [
        ("llama with LoRA", shape(false, false), 8, Precision::F32),
        ("qwen2 with LoRA", shape(true, false), 8, Precision::F32),
        ("qwen3 with LoRA", shape(false, true), 8, Precision::F32),
        ("llama in full", shape(false, false), 0, Precision::F32),
        ("llama with LoRA in bf16", shape(false, false), 8, Precision::Bf16),
    ] {
        let mut config = config(lora_r);
        config.model.precision = precision;
        let policy = policy(&shape, &config);
        let trained = policy.trainable().values().map(|var| var.elem_count()).sum();
        let (precision, kernels) = (policy.decoder().precision(), policy.decoder().kernels());
        let workload =
            Workload { shape: &shape, trained, prompt: PROMPT, config: &config, cores: 1, precision, kernels };
        for (micro_batch, activations, logit_bytes) in [
            (8, Activations::Kept, 64 << 20),
            (2, Activations::Kept, 64 << 20),
            (8, Activations::Recomputed, 64 << 20),
            (8, Activations::Recomputed, 1 << 20),
            (1, Activations::Recomputed, 1 << 20),
        ] {
            let division = Division { micro_batch, activations, logit_bytes, at_once: 1 };
            if shares.is_empty() {
                // For what is built at first use, such as threads.
                measured(&policy, &config, Division { micro_batch: 1, ..division });
            }
            let planned = MemoryPlan::of(&workload, division).update();
            let found = measured(&policy, &config, division);
            // By tensors much is transient, and not all of it at the same time.
            let least = if kernels == Kernels::Fused { 0.5 } else { 0.4 };
            shares.push((found as f64 / planned as f64, least, format!("{name}, {division:?}: {found} bytes")));
        }
    }
    let wrong: Vec<_> = shares.iter().filter(|(share, least, _)| !(*least..=1.0).contains(share)).collect();
    assert!(wrong.is_empty(), "shares of the plan: {wrong:#?}");
}
