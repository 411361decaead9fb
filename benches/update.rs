//! One GRPO update of a language model with LoRA: processor seconds and memory. `benches/peers/update.py` runs it beside
//! PyTorch and PEFT.
//!
//!     cargo bench --bench update -- MODEL [MICRO_BATCH [kept|recomputed]]
//!
//! Eight completions of 128 tokens behind prompts of 168, adapters of rank 16 on all linear layers. Prints JSON.

use std::fs;

use candle_core::Device;
use cpu_time::ProcessTime;
use grpo_2048::config::{Config, ModelConfig};
use grpo_2048::groups::Groups;
use grpo_2048::grpo::{Batch, Division, Optimizer, cores, update};
use grpo_2048::policy::{Activations, Policy};
use grpo_2048::prompt::Prompt;
use grpo_2048::rollout::{Completion, FinishReason};
use grpo_2048::seed::Seed;

/// As in the program itself.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

const PROMPT: usize = 168;
const COMPLETION: usize = 128;
const GROUP: usize = 4;
const ROWS: usize = 8;

fn ids(from: usize, count: usize) -> Vec<u32> {
    (from..from + count).map(|place| (place * 7919 % 49_000) as u32).collect()
}

fn batch(config: &Config, division: Division) -> Batch {
    let prompt = |id: u32| Prompt {
        id,
        style: "plain".into(),
        text: String::new(),
        prefill: String::new(),
        ids: ids(1000 * id as usize, PROMPT),
        stop: None,
    };
    let completion = |index: usize| Completion {
        ids: ids(5000 + 1000 * index, COMPLETION),
        logprobs: vec![-10.0; COMPLETION],
        text: String::new(),
        finish: FinishReason::Stop,
    };
    let completions = Groups::new(GROUP, (0..ROWS).map(completion).collect());
    let advantages = Groups::new(GROUP, (0..ROWS).map(|index| (index % GROUP) as f32 - 1.5).collect());
    Batch::new(&[prompt(0), prompt(1)], completions, advantages, &config.rollout, &config.grpo).divided(division)
}

/// A line of `/proc/self/status`, in bytes.
fn status(name: &str) -> Option<u64> {
    let text = fs::read_to_string("/proc/self/status").ok()?;
    let line = text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':'))?;
    Some(1024 * line.split_whitespace().next()?.parse::<u64>().ok()?)
}

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).filter(|argument| argument != "--bench").collect();
    let Some(model) = arguments.first() else {
        println!("skipped: name a model, as in `cargo bench --bench update -- models/smollm2/*.gguf`");
        return;
    };
    let mut config = Config::preset("llm").expect("the preset resolves");
    (config.rollout.num_generations, config.rollout.max_completion_length) = (GROUP, COMPLETION);
    config.grpo.micro_batch = arguments.get(1).map_or(ROWS, |count| count.parse().expect("a micro-batch"));
    let settings = ModelConfig { model: model.clone(), lora_r: 16, lora_alpha: 32.0, ..config.model.clone() };
    let policy = Policy::load(&settings, Seed::root(0), &Device::Cpu).expect("the model loads");
    let activations = match arguments.get(2).map(String::as_str) {
        Some("recomputed") => Activations::Recomputed,
        _ => Activations::Kept,
    };
    let division = Division { activations, at_once: cores(&Device::Cpu), ..Division::from(&config.grpo) };
    let mut optimizer = Optimizer::new(policy.trainable(), &config.grpo).expect("an optimiser");
    let batch = batch(&config, division);
    // Forgets the highest mark of before.
    let reset = fs::write("/proc/self/clear_refs", "5").is_ok();
    let (before, start) = (status("VmRSS"), ProcessTime::now());
    update(&policy, &mut optimizer, &batch, 1e-5, &mut |_, _| ()).expect("an update");
    let seconds = start.elapsed().as_secs_f64();
    let rise = status("VmHWM").zip(before).map(|(peak, before)| peak.saturating_sub(before)).filter(|_| reset);
    let peak = status("VmHWM");
    println!(
        "{}",
        serde_json::json!({ "cpu_seconds": seconds, "update_bytes": rise, "peak_bytes": peak, "division": division })
    );
}
