use super::*;
use crate::config::Checkpointing;
use crate::policy::{Activations, DecoderConfig, Device, KNOWN_SHAPES, Policy};
use crate::seed::Seed;

fn smollm2() -> DecoderConfig {
    let found = KNOWN_SHAPES.iter().find(|shape| shape.name == "smollm2-135m");
    found.expect("a known shape").config.clone()
}

/// A configuration with adapters of rank `lora_r`; 0 trains all weights.
fn config(lora_r: usize) -> Config {
    let mut config = Config::preset("llm").unwrap();
    config.model.lora_r = lora_r;
    (config.rollout.groups, config.rollout.max_completion_length) = (2, 256);
    config.grpo.micro_batch = 12;
    config.train.eval_samples = 0;
    config
}

fn workload<'a>(shape: &'a DecoderConfig, config: &'a Config, cores: usize) -> Workload<'a> {
    let trained = if config.model.lora_r > 0 { 4_884_480 } else { shape.parameters() };
    let (precision, kernels) = (Precision::F32, Kernels::Fused);
    let (place, processes, packed) = (Place::Host, 1, None);
    let dropout = config.model.lora_dropout;
    Workload { shape, trained, prompt: 170, config, cores, processes, precision, kernels, place, packed, dropout }
}

/// The divisions for smaller and smaller limits, each once, and the limit below which nothing fits.
fn ladder(config: &Config, cores: usize) -> (Vec<Division>, u64) {
    let (shape, mut divisions, mut limit) = (smollm2(), Vec::<Division>::new(), 10_u64 << 30);
    let workload = workload(&shape, config, cores);
    loop {
        match MemoryPlan::fitting(&workload, Some(limit), None) {
            Ok(plan) => {
                assert!(plan.total() <= limit);
                let division = Division { at_once: 1, held: 1, ..plan.division };
                if divisions.last() != Some(&division) {
                    divisions.push(division);
                }
            }
            Err(TooSmall { limit: refused, smallest, .. }) => {
                assert_eq!(refused, limit);
                assert_eq!(smallest.division, divisions[divisions.len() - 1]);
                return (divisions, limit);
            }
        }
        limit -= 8 << 20;
    }
}

#[test]
fn less_memory_halves_the_micro_batch_then_recomputes_layers_then_shrinks_chunks() {
    let (divisions, refused) = ladder(&config(0), 1);
    let (kept, recomputed) = (Activations::Kept, Activations::Recomputed);
    let expected = [
        (12, kept, 64),
        (8, kept, 64),
        (4, kept, 64),
        (2, kept, 64),
        (1, kept, 64),
        (1, recomputed, 64),
        // 128 and 64 rows of 49,152 logits. Fewer are never held.
        (1, recomputed, 32),
        (1, recomputed, 16),
    ];
    let of = |(micro_batch, activations, mebibytes): (usize, Activations, usize)| Division {
        micro_batch,
        activations,
        logit_bytes: mebibytes << 20,
        at_once: 1,
        held: 1,
    };
    assert_eq!(divisions, expected.map(of));
    // Weights, two moments, and gradients twice, 538 MB each.
    assert!((2_690_000_000..3_400_000_000).contains(&refused), "{refused}");
}

#[test]
fn cores_share_an_update_without_changing_how_it_is_cut() {
    assert_eq!(ladder(&config(0), 1), ladder(&config(0), 3));
    let (shape, config) = (smollm2(), config(0));
    let at_once =
        |limit| MemoryPlan::fitting(&workload(&shape, &config, 4), Some(limit), None).unwrap().division.at_once;
    assert_eq!((at_once(12 << 30), at_once(64 << 30)), (1, 4));
}

/// 16 completions and four elites in parts of one, on four processes: each has five parts, or six if its parts are
/// short.
#[test]
fn gradients_are_held_as_far_as_memory_allows_and_do_not_change_how_an_update_is_cut() {
    const TRAINED: usize = 40_000_000;
    let (shape, mut adapters, mut full) = (smollm2(), config(16), config(0));
    (adapters.grpo.micro_batch, full.grpo.micro_batch) = (1, 1);
    let of = |config, processes| Workload { processes, ..workload(&shape, config, 1) };
    // With adapters this large the update takes more than sampling.
    let large = |processes| Workload { trained: TRAINED, ..of(&adapters, processes) };
    let plan = |processes, limit| MemoryPlan::fitting(&large(processes), limit, None).unwrap();
    let roomy = plan(4, Some(64 << 30));
    assert_eq!((roomy.division.held, roomy.gradients), (6, 7 * 4 * TRAINED as u64));
    assert_eq!(plan(4, None).division.held, 6);
    let tight = Some(roomy.total() - 2 * 4 * TRAINED as u64);
    let (found, alone) = (plan(4, tight), plan(1, tight));
    assert_eq!(found.division.held, 4, "{found:?}");
    assert_eq!(found.division.micro_batch, alone.division.micro_batch);
    assert_eq!(alone.gradients, 2 * 4 * TRAINED as u64, "nothing is held by one process");
    // The gradients of all weights take 538 MB for each part that is held.
    assert_eq!(MemoryPlan::fitting(&of(&full, 4), Some(64 << 30), None).unwrap().division.held, 1);
}

#[test]
fn checkpointing_is_forbidden_or_forced_by_its_key() {
    let mut forbidden = config(0);
    forbidden.grpo.gradient_checkpointing = Checkpointing::Off;
    assert!(ladder(&forbidden, 1).0.iter().all(|division| division.activations == Activations::Kept));
    let mut forced = forbidden;
    forced.grpo.gradient_checkpointing = Checkpointing::On;
    assert!(ladder(&forced, 1).0.iter().all(|division| division.activations == Activations::Recomputed));
}

#[test]
fn a_run_that_goes_on_is_cut_as_it_was_or_smaller() {
    let (shape, config) = (smollm2(), config(0));
    let workload = workload(&shape, &config, 1);
    let division = |limit: u64, had| MemoryPlan::fitting(&workload, Some(limit << 20), had).unwrap().division;
    let had = division(6_000, None);
    assert_eq!(had.micro_batch, 4);
    assert_eq!(division(64_000, Some(had)), had);
    assert_eq!(division(4_200, Some(had)).micro_batch, 1);
}

#[test]
fn the_plan_is_told_in_a_line_and_a_cut_in_another() {
    let (shape, config) = (smollm2(), config(16));
    let workload = workload(&shape, &config, 1);
    let plan = MemoryPlan::fitting(&workload, None, None).unwrap();
    let line = plan.to_string();
    for part in [
        " at most: weights in f32 538 MB, adapters 20 MB, optimiser 39 MB, program and games 304 MB; ",
        "sampling weights 538 MB, cache 340 MB; ",
    ] {
        assert!(line.starts_with("memory: ") && line.contains(part), "{line}");
    }
    let on_gpu = MemoryPlan::of(&Workload { place: Place::Gpu, ..workload }, plan.division).to_string();
    assert!(on_gpu.contains(", optimiser 39 MB, CUDA 268 MB; sampling weights 538 MB"), "{on_gpu}");
    assert_eq!(notice(&config, workload.kernels, plan.division, None), None);
    let cut = MemoryPlan::fitting(&workload, Some(1_830_000_000), None).unwrap();
    let told = notice(&config, workload.kernels, cut.division, None).unwrap();
    assert!(told.starts_with("memory: cut to fit: 1 of 12 completions at once;"), "{told}");
}

#[test]
fn blocks_are_counted_once_with_the_numbers_of_one_map_and_of_the_head() {
    let (shape, config) = (smollm2(), config(16));
    let dense = workload(&shape, &config, 1);
    let packed = Workload { packed: Some(90_000_000), ..dense };
    let activations = Activations::Recomputed;
    let division = Division { micro_batch: 1, activations, logit_bytes: 1, at_once: 1, held: 1 };
    let of = |workload: &Workload<'_>| MemoryPlan::of(workload, division);
    let (dense, packed) = (of(&dense), of(&packed));
    assert_eq!((dense.weights, dense.sampled, packed.weights), (538_060_032, 538_060_032, 90_000_000));
    // Copies of the adapters, and the head of 49,152 x 576 numbers.
    assert_eq!((packed.sampled, packed.head - dense.head), (4 * 4_884_480, 4 * 49_152 * 576));
    assert!(packed.to_string().contains(" at most: weights, packed 90 MB, adapters 20 MB"), "{packed}");
}

#[test]
fn who_has_too_little_memory_hears_what_blocks_take() {
    let (shape, config) = (smollm2(), config(16));
    let refusal = |workload: &Workload<'_>| MemoryPlan::fitting(workload, Some(1 << 20), None).unwrap_err();
    let too_small = refusal(&workload(&shape, &config, 1));
    let (dense, packed) = (too_small.smallest.total(), too_small.packed.unwrap());
    assert!(packed < dense && too_small.to_string().contains("model.frozen_weights = \"packed\""), "{too_small}");
    for cannot in [
        Workload { packed: Some(90_000_000), ..workload(&shape, &config, 1) },
        Workload { place: Place::Gpu, ..workload(&shape, &config, 1) },
    ] {
        assert_eq!(refusal(&cannot).packed, None);
    }
}

#[test]
fn a_gpu_holds_scores_a_block_at_a_time_and_logits_once() {
    let (shape, mut config) = (smollm2(), config(16));
    config.rollout.max_completion_length = 2048;
    let plan = |config: &Config, kernels| {
        let workload =
            Workload { kernels, precision: Precision::Bf16, place: Place::Gpu, ..workload(&shape, config, 1) };
        MemoryPlan::of(&workload, Division::from(&config.grpo)).update()
    };
    let (by_tensors, on_gpu) = (plan(&config, Kernels::ByTensors), plan(&config, Kernels::OnGpu));
    // Four copies of the scores of 12 sequences of 2,218 tokens and 9 heads, compared with one block of scores and its
    // weights.
    let scores = 4 * 12 * 9 * 2218_u64.pow(2);
    assert!(by_tensors - on_gpu > 3 * scores, "{by_tensors} {on_gpu}");
    let dropped = Config { model: crate::config::ModelConfig { lora_dropout: 0.1, ..config.model.clone() }, ..config };
    assert!(plan(&dropped, Kernels::OnGpu) > on_gpu);
    let workload = Workload { kernels: Kernels::OnGpu, place: Place::Gpu, ..workload(&shape, &dropped, 1) };
    let plan = MemoryPlan::fitting(&workload, None, None).unwrap();
    assert_eq!(plan.division.logit_bytes, 512 << 20);
    assert_eq!(notice(&dropped, Kernels::OnGpu, plan.division, None), None);
    // Chunks of logits that were halved are a cut, though they are larger than those of a processor.
    let halved = Division { logit_bytes: 256 << 20, ..plan.division };
    let told = notice(&dropped, Kernels::OnGpu, halved, Some(plan.division)).unwrap();
    assert!(told.starts_with("memory: cut to fit: logits in chunks of 268 MB;"), "{told}");
}

#[test]
fn dropout_in_front_of_adapters_is_counted_on_a_processor_too() {
    let (shape, config) = (smollm2(), config(16));
    let update = |config: &Config| {
        let division = Division { logit_bytes: 1, ..Division::from(&config.grpo) };
        MemoryPlan::of(&workload(&shape, config, 1), division).update()
    };
    let model = crate::config::ModelConfig { lora_dropout: 0.1, ..config.model.clone() };
    // 12 sequences of 426 tokens; the widest results of a layer have more numbers than the logits of 64 tokens.
    assert!(update(&Config { model, ..config.clone() }) > update(&config) + 4 * 12 * 426 * 1536);
}

#[test]
fn an_adapter_that_is_loaded_has_its_own_dropout() {
    let dir = tempfile::tempdir().unwrap();
    let mut config = Config::preset("builtin").unwrap();
    config.model.model = "builtin".into();
    (config.model.lora_r, config.model.lora_dropout) = (4, 0.1);
    let load = |config: &Config| Policy::load(&config.model, Seed::root(0), &Device::Cpu).unwrap();
    load(&config).save(dir.path()).unwrap();
    (config.model.adapter, config.model.lora_dropout) = (dir.path().display().to_string(), 0.0);
    assert_eq!(Workload::of(&load(&config), &config, 0).dropout, 0.1);
}

#[test]
fn a_run_that_goes_on_as_it_was_divided_is_not_said_to_be_cut_to_fit() {
    let (shape, config) = (smollm2(), config(16));
    let on_processor = MemoryPlan::fitting(&workload(&shape, &config, 1), None, None).unwrap().division;
    // As a checkpoint has it.
    let had = Division { at_once: 1, held: 1, ..on_processor };
    let on_gpu = Workload { kernels: Kernels::OnGpu, place: Place::Gpu, ..workload(&shape, &config, 4) };
    let plan = |limit: Option<u64>| MemoryPlan::fitting(&on_gpu, limit, Some(had)).unwrap();
    let told = |plan: &MemoryPlan| notice(&config, Kernels::OnGpu, plan.division, Some(had)).unwrap();
    let roomy = plan(None);
    assert!(told(&roomy).starts_with("memory: divided as before: logits in chunks of 67 MB;"), "{}", told(&roomy));
    let cut = plan(Some(2_500_000_000));
    let expected = format!("memory: cut to fit: {} of 12 completions at once,", cut.division.micro_batch);
    assert!(told(&cut).starts_with(&expected), "{}", told(&cut));
}

#[test]
fn a_preset_of_a_card_uses_most_of_it_and_no_more() {
    let cards = [
        ("gpu-8gb", 8, "qwen2.5-0.5b"),
        ("gpu-12gb", 12, "qwen2.5-1.5b"),
        ("gpu-16gb", 16, "qwen2.5-1.5b"),
        ("gpu-24gb", 24, "qwen2.5-1.5b"),
        ("gpu-48gb", 48, "qwen2.5-7b"),
        ("gpu-80gb", 80, "qwen2.5-7b"),
    ];
    for (preset, gigabytes, name) in cards {
        let config = Config::preset(preset).unwrap();
        let shape = &KNOWN_SHAPES.iter().find(|shape| shape.name == name).unwrap().config;
        let trained = shape.num_hidden_layers * adapter_numbers(shape, config.model.lora_r);
        let (precision, kernels, place) = (Precision::Bf16, Kernels::OnGpu, Place::Gpu);
        let workload = Workload { trained, prompt: 280, precision, kernels, place, ..workload(shape, &config, 1) };
        let card = gigabytes * 1_000_000_000;
        let limit = (config.train.gpu_memory_fraction * card as f64) as u64;
        let plan = MemoryPlan::fitting(&workload, Some(limit), None).unwrap();
        assert_eq!(plan.division.micro_batch, config.grpo.micro_batch, "{preset}: {plan}");
        assert!(plan.total() > card * 7 / 10, "{preset} leaves much of the card: {plan}");
    }
}

/// Number of weights in the adapters of one layer.
fn adapter_numbers(shape: &DecoderConfig, rank: usize) -> usize {
    let (hidden, inner) = (shape.hidden_size, shape.intermediate_size);
    let [queries, keys] = [shape.num_attention_heads, shape.num_key_value_heads].map(|heads| heads * shape.head_dim);
    rank * (2 * (hidden + queries) + 2 * (hidden + keys) + 3 * (hidden + inner))
}

#[test]
fn an_evaluation_needs_the_cache_of_what_it_samples_together_and_no_more() {
    let shape = smollm2();
    let plan = |samples: usize| {
        let mut config = config(8);
        config.train.eval_samples = samples;
        let workload = workload(&shape, &config, 1);
        MemoryPlan::of(&workload, Division { micro_batch: 1, at_once: 1, ..largest(&config) }).cache
    };
    // A step samples 2 groups of 8, an evaluation as many together.
    assert_eq!(plan(5000), plan(0));
}

#[test]
fn the_reference_of_an_adapter_that_is_trained_on_is_a_copy_of_it() {
    let shape = smollm2();
    let plan = |beta: f64, lora_r: usize, adapter: &str| {
        let mut config = config(lora_r);
        (config.grpo.beta, config.model.adapter) = (beta, adapter.into());
        let plan = MemoryPlan::of(&workload(&shape, &config, 1), largest(&config));
        (plan.weights, plan.adapters)
    };
    let (weights, adapters) = plan(0.0, 8, "");
    assert_eq!(plan(0.1, 8, ""), (weights, adapters), "fresh adapters are switched off");
    assert_eq!(plan(0.1, 8, "warm"), (weights, 2 * adapters));
    assert_eq!(plan(0.1, 0, ""), (2 * weights, 0));
}
