//! Every kernel against its plain composition, forward and gradient.

mod emulated;
mod formats;
mod packed;
mod tiles;

use candle_core::{DType, Device, Result, Tensor, Var};
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;

use super::Angles;
use super::attention::rope::RopeTable;
use super::attention::spans::Spans;
use super::attention::{self, Heads, Scores, cached, window};
use super::gate::{self, Activation};
use super::head::log_probs;
use super::{Weight, head, linear, lora, norm};

pub(crate) fn random(shape: &[usize], seed: u64) -> Var {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    let count = shape.iter().product::<usize>();
    // Box and Muller 1958.
    let mut normal = || {
        let radius = (-2.0 * (1.0 - rng.random::<f64>()).ln()).sqrt();
        (radius * (rng.random::<f64>() * std::f64::consts::TAU).cos()) as f32
    };
    let values: Vec<f32> = (0..count).map(|_| normal()).collect();
    Var::from_tensor(&Tensor::from_vec(values, shape, &Device::Cpu).unwrap()).unwrap()
}

/// Rotations of heads of `width` dimensions, by positions below `length`.
fn rope(width: usize, length: usize) -> RopeTable {
    RopeTable::new(&Angles::plain(10_000.0, width), length, &Device::Cpu).unwrap()
}

fn difference(a: &Tensor, b: &Tensor) -> f32 {
    assert_eq!(a.dims(), b.dims());
    (a - b).unwrap().abs().unwrap().flatten_all().unwrap().max(0).unwrap().to_scalar().unwrap()
}

fn dense(weight: &Tensor) -> Weight {
    weight.clone().into()
}

/// A token of the vocabulary for each row.
fn targets(rows: usize, vocabulary: usize) -> Tensor {
    let targets: Vec<u32> = (0..rows).map(|row| (row * 7 % vocabulary) as u32).collect();
    Tensor::from_vec(targets, rows, &Device::Cpu).unwrap()
}

fn joined((logp, entropy): (Tensor, Tensor)) -> Result<Tensor> {
    Tensor::stack(&[logp, entropy], 1)
}

/// Outputs and gradients of `fused` and `plain` agree, with an uneven weight on every output.
fn check(inputs: &[&Var], fused: impl Fn() -> Result<Tensor>, plain: impl Fn() -> Result<Tensor>) {
    let (fused, plain) = (fused().unwrap(), plain().unwrap());
    assert!(difference(&fused, &plain) < 2e-5, "forward differs by {}", difference(&fused, &plain));
    let uneven = random(fused.dims(), 99);
    let gradients = |out: &Tensor| (out * uneven.as_tensor()).unwrap().sum_all().unwrap().backward().unwrap();
    let (fused, plain) = (gradients(&fused), gradients(&plain));
    for (index, input) in inputs.iter().enumerate() {
        let (fused, plain) = (fused.get(input).expect("fused gradient"), plain.get(input).expect("plain gradient"));
        let scale = plain.abs().unwrap().flatten_all().unwrap().max(0).unwrap().to_scalar::<f32>().unwrap().max(1.0);
        let found = difference(fused, plain);
        assert!(found < 3e-5 * scale, "gradient of input {index} differs by {found} at scale {scale}");
    }
}

#[test]
fn norms_are_plain_norms() {
    for (rows, width) in [(1, 7), (67, 48), (5, 33)] {
        let (x, weight) = (random(&[rows, width], 1), random(&[width], 2));
        let plain = || norm::plain(&x, &weight, 1e-5);
        check(&[&x, &weight], || norm::rms_norm(&x, &weight, 1e-5), plain);
        check(&[&x, &weight], || norm::by_tensors(&x, &weight, 1e-5), plain);
    }
}

#[test]
fn gates_are_plain_gates() {
    for (rows, inner) in [(1, 3), (70, 24)] {
        let x = random(&[rows, 2 * inner], 1);
        for activation in [Activation::Silu, Activation::Gelu] {
            check(&[&x], || gate::gated(&x, activation), || gate::plain(&x, activation));
            check(&[&x], || gate::by_tensors(&x, activation), || gate::plain(&x, activation));
        }
    }
}

#[test]
fn linear_maps_are_products() {
    let (x, weight) = (random(&[37, 12], 1), random(&[20, 12], 2));
    check(&[&x, &weight], || linear::linear(&x, &weight), || linear::plain(&x, &weight));
    check(&[&x, &weight], || linear::by_tensors(&x, &weight), || linear::plain(&x, &weight));
}

#[test]
fn a_projection_is_a_product_on_one_thread_and_on_several() {
    for (count, inputs, outputs) in [(5, 12, 20), (40, 700, 650)] {
        let (x, weight) = (random(&[count, inputs], 1), random(&[inputs, outputs], 2));
        check(&[], || linear::project(&x, &weight), || x.matmul(&weight));
    }
}

#[test]
fn a_frozen_weight_gets_no_gradient() {
    let (x, weight) = (random(&[4, 3], 1), random(&[5, 3], 2).as_detached_tensor());
    for y in [linear::linear(&x, &weight).unwrap(), linear::by_tensors(&x, &weight).unwrap()] {
        let gradients = y.sum_all().unwrap().backward().unwrap();
        assert!(gradients.get(&x).is_some());
        assert!(gradients.get(&weight).is_none());
    }
}

#[test]
fn scores_from_hidden_states_are_those_of_the_logits() {
    for (rows, width, vocabulary, temperature) in
        [(1, 6, 2, 1.0), (1, 6, 9, 1.0), (130, 12, 40, 0.7), (300, 40, 700, 1.3), (3, 6, 1000, 1.0)]
    {
        let (hidden, weight) = (random(&[rows, width], 1), random(&[vocabulary, width], 2));
        let targets = targets(rows, vocabulary);
        let how = head::ScoreSettings { temperature, logit_bytes: 0 };
        check(
            &[&hidden, &weight],
            || joined(head::score_tokens(&hidden, &dense(&weight), &targets, how)?),
            || joined(head::plain(&hidden, &weight, &targets, temperature)?),
        );
        check(
            &[&hidden, &weight],
            || joined(head::by_tensors(&hidden, &weight, &targets, how, None)?),
            || joined(head::plain(&hidden, &weight, &targets, temperature)?),
        );
    }
}

#[test]
fn capped_scores_are_those_of_capped_logits() {
    let (hidden, weight, targets) = (random(&[130, 12], 1), random(&[40, 12], 2), targets(130, 40));
    let (how, cap) = (head::ScoreSettings { temperature: 0.7, logit_bytes: 0 }, 3.0);
    let plain = || {
        let logits = (hidden.matmul(&weight.t()?)? / cap)?.tanh()?;
        log_probs::token_log_probs(&(logits * (cap / how.temperature))?, &targets)
    };
    check(
        &[&hidden, &weight],
        || joined(head::score_capped_tokens(&hidden, &dense(&weight), &targets, how, cap)?),
        || joined(plain()?),
    );
}

#[test]
fn scores_do_not_depend_on_the_size_of_chunks() {
    const ROWS: usize = 5 * 64 + 3;
    let (hidden, weight) = (random(&[ROWS, 600], 1), random(&[500, 600], 2));
    let targets: Vec<u32> = (0..ROWS as u32).map(|row| row * 13 % 500).collect();
    let targets = Tensor::from_vec(targets, ROWS, &Device::Cpu).unwrap();
    let run = |logit_bytes: usize| {
        let how = head::ScoreSettings { temperature: 0.9, logit_bytes };
        let (logp, entropy) = head::score_tokens(&hidden, &dense(&weight), &targets, how).unwrap();
        let uneven = random(&[ROWS], 3);
        let loss = ((&logp + &entropy).unwrap() * uneven.as_tensor()).unwrap().sum_all().unwrap();
        let store = loss.backward().unwrap();
        let numbers = |tensor: &Tensor| tensor.flatten_all().unwrap().to_vec1::<f32>().unwrap();
        [&logp, &entropy, store.get(&hidden).unwrap(), store.get(&weight).unwrap()].map(numbers)
    };
    let whole = run(usize::MAX / 8);
    for rows in [64, 128, 256] {
        assert_eq!(head::ScoreSettings { temperature: 0.9, logit_bytes: rows * 4 * 500 }.rows(500), rows);
        assert!(run(rows * 4 * 500) == whole, "{rows} rows at once give other numbers");
    }
}

#[test]
fn a_frozen_head_gets_no_gradient() {
    let (hidden, weight) = (random(&[4, 3], 1), random(&[5, 3], 2).as_detached_tensor());
    let targets = Tensor::new(&[0_u32, 1, 2, 4], &Device::Cpu).unwrap();
    let how = head::ScoreSettings { temperature: 1.0, logit_bytes: 0 };
    let fused = head::score_tokens(&hidden, &dense(&weight), &targets, how).unwrap();
    for (logp, _) in [fused, head::by_tensors(&hidden, &weight, &targets, how, None).unwrap()] {
        let gradients = logp.sum_all().unwrap().backward().unwrap();
        assert!(gradients.get(&hidden).is_some());
        assert!(gradients.get(&weight).is_none());
    }
}

/// Maps with low-rank terms whose factors are trained.
fn adapted(a: &Var, b: &Var, maps: &[lora::Frozen]) -> lora::Adapted {
    lora::Adapted { a: a.as_tensor().clone(), b: b.as_tensor().clone(), scale: 0.7, maps: maps.to_vec() }
}

#[test]
fn adapted_maps_are_products_and_low_rank_terms() {
    const RANK: usize = 3;
    let (x, outputs) = (random(&[37, 12], 1), [20_usize, 8, 1]);
    for count in [1, 3] {
        let outputs = &outputs[..count];
        let maps = emulated::maps(outputs, DType::F32);
        let (a, b) = (random(&[count * RANK, 12], 2), random(&[outputs.iter().sum(), RANK], 3));
        let adapted = adapted(&a, &b, &maps);
        check(&[&x, &a, &b], || lora::adapted_linear(&x, &adapted), || lora::plain(&x, &adapted));
        check(&[&x, &a, &b], || lora::by_tensors(&x, &adapted), || lora::plain(&x, &adapted));
    }
}

#[test]
fn a_backward_pass_begins_at_the_slope_that_it_is_given() {
    let (x, slope) = (random(&[4, 3], 1), random(&[4, 3], 2).as_detached_tensor());
    let y = x.sqr().unwrap();
    let of = |loss: Tensor| loss.backward().unwrap().get(&x).unwrap().to_vec2::<f32>().unwrap();
    let by_product = of((&y * &slope).unwrap().sum_all().unwrap());
    assert_eq!(of(super::with_slope(&y, &slope).unwrap()), by_product);
}

#[test]
fn a_frozen_bias_is_added_and_gets_no_gradient() {
    let (y, bias) = (random(&[40, 6], 1), random(&[6], 2).as_detached_tensor());
    check(&[&y], || lora::add_frozen_bias(&y, &bias), || y.broadcast_add(&bias));
    let gradients = lora::add_frozen_bias(&y, &bias).unwrap().sum_all().unwrap().backward().unwrap();
    assert!(gradients.get(&bias).is_none());
}

#[test]
fn log_probs_stay_finite_for_extreme_logits() {
    let rows = [[1e4_f32, -1e4, 0.0], [-1e4; 3]];
    let targets = Tensor::new(&[0_u32, 2], &Device::Cpu).unwrap();
    let (logp, entropy) = log_probs::token_log_probs(&Tensor::new(&rows, &Device::Cpu).unwrap(), &targets).unwrap();
    let [logp, entropy] = [logp, entropy].map(|of| of.to_vec1::<f32>().unwrap());
    let by_tensors = [(logp[0], entropy[0]), (logp[1], entropy[1])];
    for [sure, even] in [[log_probs::score(&rows[0], 0), log_probs::score(&rows[1], 2)], by_tensors] {
        assert!(sure.0 == 0.0 && sure.1.is_finite(), "{sure:?}");
        assert!((even.0 + 3.0_f32.ln()).abs() < 1e-3 && (even.1 - 3.0_f32.ln()).abs() < 1e-3, "{even:?}");
    }
}

#[test]
fn targets_outside_the_vocabulary_and_too_few_or_many_are_refused() {
    let (hidden, weight, logits) = (random(&[2, 2], 1), random(&[3, 2], 2), random(&[2, 3], 3));
    let how = head::ScoreSettings { temperature: 1.0, logit_bytes: 0 };
    let taken = |targets: &[u32]| {
        // A column of a table, whose numbers do not lie one after another.
        let table: Vec<u32> = targets.iter().flat_map(|target| [*target; 2]).collect();
        let table = Tensor::from_vec(table, (targets.len(), 2), &Device::Cpu).unwrap();
        let targets = table.narrow(1, 0, 1).unwrap().squeeze(1).unwrap();
        let scored = head::score_tokens(&hidden, &dense(&weight), &targets, how).is_ok();
        [scored, log_probs::token_log_probs(&logits, &targets).is_ok()]
    };
    assert_eq!(taken(&[2, 0]), [true, true]);
    for targets in [&[0_u32, 3][..], &[0, u32::MAX], &[0], &[0, 0, 0]] {
        assert_eq!(taken(targets), [false, false], "{targets:?}");
    }
}

#[test]
fn attentions_are_plain_attention() {
    for (rows, steps, queries, keys, width) in [(1, 1, 1, 1, 2), (3, 37, 4, 2, 8), (2, 70, 3, 3, 16), (2, 65, 6, 1, 10)]
    {
        let heads = Heads::new(queries, keys, width);
        let rope = rope(width, steps);
        let qkv = random(&[rows * steps, heads.total()], 3);
        check(
            &[&qkv],
            || attention::causal_attention(&qkv, &Spans::equal(rows, steps), heads, &rope),
            || attention::plain_causal(&qkv, rows, heads, &rope),
        );
        check(
            &[&qkv],
            || attention::by_tensors(&qkv, rows, heads, &rope),
            || attention::plain_causal(&qkv, rows, heads, &rope),
        );
    }
}

#[test]
fn scaled_capped_and_windowed_attention_is_plain_attention() {
    let scores = [
        Scores { scale: Some(0.2), ..Scores::default() },
        Scores { cap: Some(1.5), ..Scores::default() },
        Scores { window: Some(7), ..Scores::default() },
        Scores { scale: Some(0.5), cap: Some(2.0), window: Some(33) },
    ];
    let rope = rope(8, 37);
    for scores in scores {
        let heads = Heads { scores, ..Heads::new(4, 2, 8) };
        let qkv = random(&[3 * 37, heads.total()], 3);
        check(
            &[&qkv],
            || attention::causal_attention(&qkv, &Spans::equal(3, 37), heads, &rope),
            || attention::plain_causal(&qkv, 3, heads, &rope),
        );
    }
}

#[test]
fn sequences_behind_a_shared_beginning_attend_as_if_each_had_its_own() {
    let heads = Heads::new(4, 2, 8);
    for (shared, own) in [(37, vec![5, 40, 1]), (1, vec![1]), (33, vec![0, 7]), (64, vec![32, 32]), (0, vec![9, 70, 2])]
    {
        let spans = Spans::new(shared, own.clone());
        let rope = rope(heads.width, spans.longest());
        let qkv = random(&[spans.tokens(), heads.total()], 3);
        let plain = || {
            let alone = |tokens: Vec<usize>, kept: usize| {
                let ids: Vec<u32> = tokens.iter().map(|token| *token as u32).collect();
                let qkv = qkv.index_select(&Tensor::from_vec(ids, tokens.len(), &Device::Cpu)?, 0)?;
                attention::plain_causal(&qkv, 1, heads, &rope)?.narrow(0, tokens.len() - kept, kept)
            };
            let (mut outputs, mut start) = (Vec::new(), shared);
            if shared > 0 {
                outputs.push(alone((0..shared).collect(), shared)?);
            }
            for own in own.iter().filter(|own| **own > 0) {
                outputs.push(alone((0..shared).chain(start..start + own).collect(), *own)?);
                start += own;
            }
            Tensor::cat(&outputs, 0)
        };
        check(&[&qkv], || attention::causal_attention(&qkv, &spans, heads, &rope), plain);
    }
}

#[test]
fn blocks_and_tensors_cache_alike() {
    caches_agree(Heads::new(4, 2, 18));
    caches_agree(Heads { scores: Scores { window: Some(6), ..Scores::default() }, ..Heads::new(4, 2, 18) });
    let scores = Scores { scale: Some(0.7), cap: Some(1.5), window: None };
    caches_agree(Heads { scores, ..Heads::new(4, 2, 18) });
}

/// Rows of blocks advance alone; those of tensors are padded to the same slots.
fn caches_agree(heads: Heads) {
    let rope = rope(heads.width, 64);
    let (mut alone, mut padded) = (window::Window::new(3, 40), window::Window::new(3, 40));
    padded.first = vec![0, 2, 17];
    let mut blocks = cached::KeyValues::new(&alone, heads, &Device::Cpu, DType::F32).unwrap();
    let mut tensors = cached::KeyValues::tensors(&padded, heads, &Device::Cpu, DType::F32).unwrap();
    for (call, steps) in [19, 1, 1, 5, 1].into_iter().enumerate() {
        let qkv = random(&[3 * steps, heads.total()], call as u64);
        padded.fed = vec![steps; 3];
        alone.fed = padded.first.iter().map(|first| if call == 0 { steps - first } else { steps }).collect();
        let written = |row: usize| (row + 1) * steps - alone.fed[row]..(row + 1) * steps;
        let places: Vec<u32> = (0..3).flat_map(written).map(|place| place as u32).collect();
        let places = Tensor::new(places, &Device::Cpu).unwrap();
        let own = qkv.index_select(&places, 0).unwrap();
        let fused = cached::cached_attention(&own, &mut blocks, &alone, heads, &rope).unwrap();
        let plain = cached::cached_attention(&qkv, &mut tensors, &padded, heads, &rope).unwrap();
        let found = difference(&fused, &plain.index_select(&places, 0).unwrap());
        assert!(found < 1e-5, "call {call} differs by {found}");
        alone.advance();
        padded.advance();
        if call == 2 {
            alone.select(&[2, 0, 2]);
            padded.select(&[2, 0, 2]);
            blocks.select(&[2, 0, 2], 3).unwrap();
            tensors.select(&[2, 0, 2], 3).unwrap();
        }
    }
}

#[test]
fn the_exponential_is_that_of_f64_rounded() {
    for step in -8_700..8_800 {
        let x = step as f32 * 0.01;
        let (found, expected) = (f64::from(super::rows::exp(x)), f64::from(x).exp());
        assert!((found / expected - 1.0).abs() < 2.5e-7, "exp({x}) = {found}, expected {expected}");
    }
    assert_eq!(super::rows::exp(0.0), 1.0);
    assert!(super::rows::exp(f32::NEG_INFINITY) < 1.3e-38 && super::rows::exp(f32::NAN).is_nan());
}

#[test]
fn numbers_do_not_depend_on_the_count_of_threads() {
    let heads = Heads::new(4, 2, 8);
    let rope = rope(8, 87);
    let (x, weight) = (random(&[140, 200], 1), random(&[64, 200], 2));
    let (norm_weight, head_weight, targets) = (random(&[200], 3), random(&[300, 32], 4), targets(140, 300));
    let how = head::ScoreSettings { temperature: 0.9, logit_bytes: 0 };
    let spans = Spans::new(20, vec![50, 3, 67]);
    let run = || -> Result<Vec<Vec<f32>>> {
        let normed = norm::rms_norm(&x, &norm_weight, 1e-5)?;
        let mixed = attention::causal_attention(&linear::linear(&normed, &weight)?, &spans, heads, &rope)?;
        let gated = gate::gated(&Tensor::cat(&[&mixed, &mixed], 1)?, Activation::Silu)?;
        let (logp, entropy) = head::score_tokens(&gated, &dense(&head_weight), &targets, how)?;
        let gradients = (logp + entropy)?.sum_all()?.backward()?;
        let of = |var: &Var| gradients.get(var).unwrap().flatten_all()?.to_vec1::<f32>();
        [&x, &weight, &norm_weight, &head_weight].map(of).into_iter().collect()
    };
    let with_threads = |count: usize| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(count).build().unwrap();
        pool.install(|| run().unwrap())
    };
    let alone = with_threads(1);
    assert_eq!(alone, with_threads(2));
    assert_eq!(alone, with_threads(7));
}
