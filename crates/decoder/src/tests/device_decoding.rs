//! The GPU's steps and kernels, on this processor, against the decoder that candle's operations and the CPU's kernels
//! make up. Without a C++ compiler they say so and check nothing.

use std::collections::BTreeMap;

use candle_core::{D, DType, Device, Tensor, Var};
use rand::Rng;

use crate::adapters::set;
use crate::adapters::set::AdapterSet;
use crate::{
    CHUNK, Decoder, DecoderConfig, DeviceBatch, Drawing, Drawn, ModelType, Precision, SlidingWindow, tests as shared,
    weights,
};
use grpo_base::seed::{Purpose, Seed};
use grpo_tensor::gpu::{WeightLayout, emulated_launches};

const PROMPTS: [&[u32]; 2] = [&[2, 3, 4], &[5, 6, 7, 8, 9, 10]];

/// Heads as wide as the kernels ask for, and room for several splits of the cache.
pub(super) fn config() -> DecoderConfig {
    DecoderConfig { head_dim: 16, intermediate_size: 40, max_position_embeddings: 1024, ..shared::config() }
}

/// Numbers between -1/2 and 1/2.
fn noise(stream: u64, shape: &[usize]) -> Tensor {
    let mut rng = Seed::root(8).child(Purpose::Sample, stream).rng();
    let values: Vec<f32> = (0..shape.iter().product()).map(|_| rng.random::<f32>() - 0.5).collect();
    Tensor::from_vec(values, shape, &Device::Cpu).unwrap()
}

/// Weights large enough that tokens differ in likelihood, biases and norms included.
pub(super) fn weights_of(config: &DecoderConfig) -> BTreeMap<String, Tensor> {
    let mut weights = weights::initial(config, Seed::root(7), &Device::Cpu).unwrap();
    for (stream, tensor) in weights.values_mut().enumerate() {
        *tensor = (&*tensor + (noise(stream as u64, tensor.dims()) * 0.4).unwrap()).unwrap();
    }
    weights
}

fn decoder(config: DecoderConfig) -> Decoder {
    let weights = weights_of(&config);
    Decoder::new(config, &weights::dense(weights), None, Precision::F32).unwrap()
}

/// A decoder with adapters on these modules.
fn adapted(config: DecoderConfig, precision: Precision, modules: &[&str]) -> Decoder {
    adapted_variables(config, (precision, precision), modules).0
}

/// The same, weights in one format and layers in another, and what of it is trained.
pub(super) fn adapted_variables(
    config: DecoderConfig,
    (weights_in, precision): (Precision, Precision),
    modules: &[&str],
) -> (Decoder, BTreeMap<String, Var>) {
    let mut weights = weights_of(&config);
    weights.values_mut().for_each(|tensor| *tensor = tensor.to_dtype(weights_in.format()).unwrap());
    let mut variables = BTreeMap::new();
    for (stream, (name, tensor)) in weights.iter().enumerate() {
        let carries = |name: &&str| modules.iter().any(|it| name.ends_with(it)) && !name.contains(".experts.");
        let Some(module) = name.strip_suffix(".weight").filter(carries) else {
            continue;
        };
        let (outputs, inputs) = tensor.dims2().unwrap();
        for (side, shape) in [("A", [4, inputs]), ("B", [outputs, 4])] {
            let factor = noise(100 + 2 * stream as u64 + u64::from(side == "B"), &shape);
            let factor = Var::from_tensor(&factor).unwrap();
            variables.insert(format!("{}{module}.lora_{side}.weight", set::PREFIX), factor);
        }
    }
    let tensors = variables.iter().map(|(name, var)| (name.clone(), var.as_tensor().clone())).collect();
    let layers = config.num_hidden_layers;
    let set = AdapterSet { rank: 4, alpha: 4.0, rslora: false, dropout: 0.0, layers, tensors };
    (Decoder::new(config, &weights::dense(weights), Some(&set), precision).unwrap(), variables)
}

/// Numbers in 0..1 for `count` tokens of each row.
fn uniforms(stream: u64, rows: usize, count: usize) -> Vec<f64> {
    let mut rng = Seed::root(9).child(Purpose::Sample, stream).rng();
    (0..rows * count).map(|_| rng.random()).collect()
}

fn draw(batch: &mut DeviceBatch, count: usize, uniforms: &[f64]) -> Drawn {
    batch.enqueue(count, uniforms).unwrap();
    batch.collect().unwrap().unwrap()
}

/// Distributions of the next token, one for each row.
fn distributions(logits: &Tensor, temperature: f64) -> Vec<Vec<f32>> {
    let logits = (logits / temperature).unwrap();
    candle_nn::ops::log_softmax(&logits, D::Minus1).unwrap().to_vec2().unwrap()
}

/// Asserts that every token drawn is the one that its number falls on, and its log-probability, where the CPU's
/// decoder is fed the same tokens.
fn assert_drawn_from(decoder: &Decoder, drawing: Drawing, chunks: &[(Drawn, Vec<f64>)], tolerance: f32) {
    assert_drawn_after(&PROMPTS, decoder, drawing, chunks, tolerance);
}

/// The same after other prompts, of which the second is the longest.
fn assert_drawn_after(
    prompts: &[&[u32]; 2],
    decoder: &Decoder,
    drawing: Drawing,
    chunks: &[(Drawn, Vec<f64>)],
    tolerance: f32,
) {
    let mut cache = decoder.new_cache(prompts.len(), prompts[1].len() + drawing.longest).unwrap();
    let logits = decoder.prefill(prompts, &mut cache).unwrap();
    let rows = prompts.len() * drawing.copies;
    cache.select(&(0..rows).map(|row| row / drawing.copies).collect::<Vec<_>>()).unwrap();
    let of: Vec<u32> = (0..rows).map(|row| (row / drawing.copies) as u32).collect();
    let mut logits = logits.index_select(&Tensor::new(of, &Device::Cpu).unwrap(), 0).unwrap();
    for (drawn, uniforms) in chunks {
        let count = drawn.tokens[0].len();
        for place in 0..count {
            let expected = distributions(&logits, drawing.temperature);
            let tokens: Vec<u32> = drawn.tokens.iter().map(|row| row[place].unwrap()).collect();
            for (row, (token, logps)) in tokens.iter().zip(&expected).enumerate() {
                let found = drawn.logprobs[row][place];
                assert!((found - logps[*token as usize]).abs() < tolerance, "{found} {}", logps[*token as usize]);
                let below: f64 = logps[..*token as usize].iter().map(|logp| f64::from(*logp).exp()).sum();
                let above = below + f64::from(logps[*token as usize]).exp();
                let uniform = uniforms[row * count + place];
                let slack = f64::from(tolerance);
                assert!(below - slack <= uniform && uniform < above + slack, "{uniform} not in {below}..{above}");
            }
            logits = decoder.feed(&tokens.chunks(1).collect::<Vec<_>>(), &mut cache).unwrap();
        }
    }
}

fn assert_decodes_like_the_cpu(config: DecoderConfig, longest: usize, temperature: f64) {
    let (decoder, drawing) = (decoder(config), Drawing { copies: 3, longest, temperature, record: true });
    let Some(mut batch) = decoder.emulated_batch(&PROMPTS, drawing).unwrap() else { return };
    let mut chunks = Vec::new();
    for first in (0..longest).step_by(CHUNK) {
        let count = CHUNK.min(longest - first);
        let uniforms = uniforms(first as u64, batch.rows(), count);
        chunks.push((draw(&mut batch, count, &uniforms), uniforms));
    }
    assert_drawn_from(&decoder, drawing, &chunks, 2e-4);
}

#[test]
fn every_family_decodes_as_on_the_cpu() {
    assert_decodes_like_the_cpu(config(), 2 * CHUNK + 3, 1.0);
    assert_decodes_like_the_cpu(DecoderConfig { model_type: ModelType::Qwen2, ..config() }, CHUNK, 0.7);
    let qwen3 = DecoderConfig { model_type: ModelType::Qwen3, tie_word_embeddings: false, ..config() };
    assert_decodes_like_the_cpu(qwen3, CHUNK, 1.3);
    let window = SlidingWindow { tokens: 64, full_every: 0, rope_theta: None };
    let mistral = DecoderConfig { model_type: ModelType::Mistral, sliding_window: Some(window), ..config() };
    assert_decodes_like_the_cpu(mistral, CHUNK, 1.0);
    assert_decodes_like_the_cpu(DecoderConfig { model_type: ModelType::Phi3, ..config() }, CHUNK, 1.0);
}

#[test]
fn windows_that_are_outgrown_and_partial_rotations_are_left_to_tensor_operations() {
    let served = |config: DecoderConfig, slots| {
        let decoder = decoder(config);
        decoder.is_served(&decoder.snapshot().unwrap(), slots)
    };
    let window = SlidingWindow { tokens: 64, full_every: 0, rope_theta: None };
    let mistral = DecoderConfig { model_type: ModelType::Mistral, sliding_window: Some(window), ..config() };
    assert!(served(mistral.clone(), 64) && !served(mistral, 65));
    let phi3 = DecoderConfig { model_type: ModelType::Phi3, ..config() };
    assert!(served(phi3.clone(), 500) && !served(DecoderConfig { partial_rotary_factor: 0.5, ..phi3 }, 5));
}

#[test]
fn heads_of_every_width_and_grouping_decode_as_on_the_cpu() {
    let heads = |queries, keys, head_dim| DecoderConfig {
        num_hidden_layers: 1,
        num_attention_heads: queries,
        num_key_value_heads: keys,
        head_dim,
        ..config()
    };
    // More queries a key than a block serves; wider than a block; no power of two.
    for (queries, keys, width) in [(20, 2, 8), (2, 1, 256), (6, 3, 80), (1, 1, 136)] {
        assert_decodes_like_the_cpu(heads(queries, keys, width), 3, 1.0);
    }
}

#[test]
fn a_cache_of_several_splits_decodes_as_on_the_cpu() {
    let decoder = decoder(DecoderConfig { num_hidden_layers: 1, ..config() });
    let long: Vec<u32> = (0..300).map(|i| i % config().vocab_size as u32).collect();
    let prompts: [&[u32]; 2] = [&long[..2], &long];
    let drawing = Drawing { copies: 1, longest: 4, temperature: 1.0, record: true };
    let Some(mut batch) = decoder.emulated_batch(&prompts, drawing).unwrap() else { return };
    let uniforms = uniforms(0, 2, 4);
    let drawn = draw(&mut batch, 4, &uniforms);
    assert_drawn_after(&prompts, &decoder, drawing, &[(drawn, uniforms)], 2e-4);
}

#[test]
fn rows_that_stay_are_not_changed_by_those_that_go() {
    let decoder = decoder(config());
    let drawing = Drawing { copies: 3, longest: 12, temperature: 1.0, record: true };
    let Some(mut whole) = decoder.emulated_batch(&PROMPTS, drawing).unwrap() else { return };
    let mut thinned = decoder.emulated_batch(&PROMPTS, drawing).unwrap().unwrap();
    let first = uniforms(0, 6, 4);
    assert_eq!(draw(&mut whole, 4, &first), draw(&mut thinned, 4, &first));
    let order = thinned.keep(&[1, 4, 5]).unwrap();
    assert_eq!(order, [4, 1, 5], "the row in front stays, the others fill the gaps");
    assert_eq!(thinned.rows(), 3);
    let second = uniforms(1, 6, 4);
    let of_kept: Vec<f64> = order.iter().flat_map(|row| second[row * 4..][..4].to_vec()).collect();
    let (whole, thinned) = (draw(&mut whole, 4, &second), draw(&mut thinned, 4, &of_kept));
    for (place, row) in order.iter().enumerate() {
        assert_eq!(thinned.tokens[place], whole.tokens[*row]);
        assert_eq!(thinned.logprobs[place], whole.logprobs[*row]);
    }
}

#[test]
fn chunks_in_flight_are_collected_in_order() {
    let decoder = decoder(config());
    let drawing = Drawing { copies: 1, longest: 8, temperature: 1.0, record: true };
    let Some(mut one) = decoder.emulated_batch(&PROMPTS, drawing).unwrap() else { return };
    let mut other = decoder.emulated_batch(&PROMPTS, drawing).unwrap().unwrap();
    let (first, second) = (uniforms(0, 2, 4), uniforms(1, 2, 4));
    let expected = [draw(&mut one, 4, &first), draw(&mut one, 4, &second)];
    other.enqueue(4, &first).unwrap();
    other.enqueue(4, &second).unwrap();
    assert_eq!([other.collect().unwrap().unwrap(), other.collect().unwrap().unwrap()], expected);
    assert_eq!(other.collect().unwrap(), None);
}

#[test]
fn logits_that_are_no_numbers_give_no_token() {
    let mut decoder = decoder(config());
    decoder.norm.weight = (&decoder.norm.weight * f64::NAN).unwrap();
    let drawing = Drawing { copies: 1, longest: 2, temperature: 1.0, record: true };
    let Some(mut batch) = decoder.emulated_batch(&PROMPTS, drawing).unwrap() else { return };
    let drawn = draw(&mut batch, 2, &uniforms(0, 2, 2));
    assert_eq!(drawn.tokens, [[None, None], [None, None]]);
}

#[test]
fn half_precision_with_adapters_is_drawn_as_it_is_scored() {
    let config = || DecoderConfig { model_type: ModelType::Qwen2, ..config() };
    let drawing = Drawing { copies: 5, longest: 8, temperature: 1.0, record: true };
    for (precision, tolerance) in [(Precision::Bf16, 0.05), (Precision::F16, 0.01)] {
        for modules in [&EVERYWHERE[..], &["q_proj", "v_proj"], &[]] {
            let decoder = adapted(config(), precision, modules);
            let Some(mut batch) = decoder.emulated_batch(&PROMPTS, drawing).unwrap() else { return };
            let uniforms = uniforms(0, 10, 8);
            let drawn = draw(&mut batch, 8, &uniforms);
            assert_drawn_from(&decoder, drawing, &[(drawn, uniforms)], tolerance);
        }
    }
}

pub(super) const EVERYWHERE: [&str; 7] = ["q_proj", "k_proj", "v_proj", "o_proj", "gate_proj", "up_proj", "down_proj"];

#[test]
fn a_layer_is_thirteen_launches_with_adapters_and_ten_without() {
    let launches = |layers: usize, layout: WeightLayout, modules: &[&str]| {
        let config = DecoderConfig { num_hidden_layers: layers, ..config() };
        let decoder = adapted(config, Precision::Bf16, modules);
        let drawing = Drawing { copies: 1, longest: 1, temperature: 1.0, record: true };
        let mut batch = decoder.emulated_in(layout, &PROMPTS, drawing).unwrap()?;
        let before = emulated_launches();
        draw(&mut batch, 1, &uniforms(0, 2, 1));
        Some(emulated_launches() - before)
    };
    let joined = (WeightLayout::Joined, &EVERYWHERE[..], 13);
    for (layout, modules, expected) in
        [joined, (WeightLayout::Apart, &EVERYWHERE[..], 20), (WeightLayout::Joined, &[], 10)]
    {
        let (Some(one), Some(three)) = (launches(1, layout, modules), launches(3, layout, modules)) else { return };
        assert_eq!(three - one, 2 * expected, "{layout:?} {modules:?}");
    }
}

/// The order of a sum is that of its inputs, wherever the weights lie.
#[test]
fn weights_one_under_the_other_draw_the_same_bits_as_weights_apart() {
    let drawing = Drawing { copies: 5, longest: 3, temperature: 1.0, record: true };
    for precision in [Precision::Bf16, Precision::F16] {
        for modules in [&EVERYWHERE[..], &["q_proj", "v_proj", "gate_proj"]] {
            let decoder = adapted(DecoderConfig { model_type: ModelType::Qwen2, ..config() }, precision, modules);
            let drawn = |layout| {
                let mut batch = decoder.emulated_in(layout, &PROMPTS, drawing).unwrap()?;
                Some(draw(&mut batch, 3, &uniforms(0, 10, 3)))
            };
            assert_eq!(drawn(WeightLayout::Joined), drawn(WeightLayout::Apart));
        }
    }
}

#[test]
fn weights_are_copied_where_there_is_room_for_them() {
    let decoder = adapted(config(), Precision::Bf16, &EVERYWHERE);
    let view = decoder.view(&decoder.snapshot().unwrap()).unwrap();
    let DecoderConfig { hidden_size, intermediate_size, num_hidden_layers, .. } = config();
    let (heads, rank) = (config().heads(), 4);
    let rows = [(heads.total() + 3 * rank, hidden_size), (hidden_size + rank, heads.queries * heads.width)];
    let fed = [(2 * intermediate_size + 2 * rank, hidden_size), (hidden_size + rank, intermediate_size)];
    let numbers: usize = rows.iter().chain(&fed).map(|(rows, inputs)| rows * inputs).sum();
    let bytes = 2 * (num_hidden_layers * numbers) as u64;
    assert_eq!(view.joined_bytes(), bytes);
    assert_eq!(
        [4 * bytes, 4 * bytes - 1].map(|free| WeightLayout::within(free, &view)),
        [WeightLayout::Joined, WeightLayout::Apart]
    );
}

#[test]
fn prompts_that_are_fed_in_parts_are_fed_as_together() {
    let decoder = adapted(config(), Precision::Bf16, &EVERYWHERE);
    let (weights, prompts) = (decoder.snapshot().unwrap(), [PROMPTS[0], PROMPTS[1], PROMPTS[0]]);
    let [together, apart] =
        [usize::MAX, 1].map(|bytes| decoder.prefilled_within(bytes, weights.clone(), &prompts).unwrap());
    assert_eq!((&together.first, together.slots), (&vec![3, 0, 3], 6));
    assert_eq!((together.first, together.slots), (apart.first, apart.slots));
    let numbers = |x: &Tensor| x.to_dtype(DType::F32).unwrap().flatten_all().unwrap().to_vec1::<f32>().unwrap();
    assert_eq!(numbers(&together.logits), numbers(&apart.logits));
    for (here, there) in together.keys_values.iter().zip(&apart.keys_values) {
        assert_eq!((numbers(&here.0), numbers(&here.1)), (numbers(&there.0), numbers(&there.1)));
    }
    let of_one = 16 * config().num_attention_heads * 100 * 100;
    assert_eq!([1, 3].map(|prompts| crate::prefill_bytes(&config(), prompts, 100)), [of_one, 3 * of_one]);
    assert_eq!(crate::prefill_bytes(&config(), 1 << 20, 100), 1 << 30, "more of them are fed in parts");
}

#[test]
fn rows_that_are_padded_are_fed_together_and_those_left_out_once_are_left_out() {
    let decoder = adapted(config(), Precision::Bf16, &[]);
    let mut cache = decoder.new_cache(2, 8).unwrap();
    assert!(!cache.feeds_rows_alone());
    decoder.prefill(&[&[1, 2, 3], &[4]], &mut cache).unwrap();
    assert!(matches!(decoder.feed(&[&[5, 6], &[7]], &mut cache), Err(crate::PolicyError::Argument { .. })));
    let both = decoder.feed(&[&[5], &[7]], &mut cache).unwrap();
    let one = decoder.feed(&[&[], &[8]], &mut cache).unwrap();
    assert_eq!((both.dim(0).unwrap(), one.dim(0).unwrap()), (2, 1));
    let mut alone = decoder.new_cache(1, 8).unwrap();
    let expected = decoder.prefill(&[&[4, 7, 8]], &mut alone).unwrap();
    assert!(shared::largest_difference(&one, &expected) < 0.05);
}
