//! Kernels by tensors: in half formats, with frozen constants, with dropout.

use super::*;
use crate::Masks;

/// The same numbers as a variable of another format, rounded.
pub(super) fn rounded(x: &Tensor, format: DType) -> Var {
    Var::from_tensor(&x.detach().to_dtype(format).unwrap()).unwrap()
}

pub(super) fn wide(x: &Tensor) -> Tensor {
    x.to_dtype(DType::F32).unwrap()
}

pub(super) fn largest(x: &Tensor) -> f32 {
    wide(x).abs().unwrap().flatten_all().unwrap().max(0).unwrap().to_scalar().unwrap()
}

/// The same maps with their numbers in f32.
pub(super) fn in_full(maps: &[lora::Frozen]) -> Vec<lora::Frozen> {
    let in_full = |map: &lora::Frozen| lora::Frozen {
        weight: map.weight.to_dtype(DType::F32).unwrap().into(),
        bias: map.bias.as_ref().map(wide),
        dropout: None,
    };
    maps.iter().map(in_full).collect()
}

/// Half a unit in the last place, relative.
pub(super) fn unit(format: DType) -> f32 {
    if format == DType::BF16 { 1.0 / 256.0 } else { 1.0 / 2048.0 }
}

/// Outputs and gradients in half formats are those in f32 of the same rounded numbers, but for a few roundings at the
/// scale of the largest. `run` is given the inputs in the format that is tested.
pub(super) fn check_formats(inputs: &[&Var], roundings: f32, run: impl Fn(&[Var]) -> Result<Tensor>) {
    for format in [DType::BF16, DType::F16] {
        let narrow: Vec<Var> = inputs.iter().map(|input| rounded(input, format)).collect();
        let exact: Vec<Var> = narrow.iter().map(|input| rounded(&wide(input), DType::F32)).collect();
        let (found, expected) = (run(&narrow).unwrap(), run(&exact).unwrap());
        let near = |what: &str, found: &Tensor, expected: &Tensor| {
            let (off, allowed) = (difference(&wide(found), expected), roundings * unit(format) * largest(expected));
            assert!(off <= allowed, "{format:?}: {what} differs by {off}, allowed {allowed}");
        };
        near("output", &found, &expected);
        let uneven = rounded(&random(found.dims(), 99), format);
        let gradients = |out: &Tensor| {
            let uneven = wide(&uneven).to_dtype(out.dtype()).unwrap().detach();
            (out * uneven).unwrap().sum_all().unwrap().backward().unwrap()
        };
        let (of_narrow, of_exact) = (gradients(&found), gradients(&expected));
        for (index, (narrow, exact)) in narrow.iter().zip(&exact).enumerate() {
            let found = of_narrow.get(narrow).expect("a gradient");
            assert_eq!(found.dtype(), format, "input {index}");
            near(&format!("gradient of input {index}"), found, of_exact.get(exact).expect("a gradient"));
        }
    }
}

#[test]
fn half_formats_are_rounded_once_around_norm_gate_and_product() {
    let (x, factors) = (random(&[37, 24], 1), random(&[24], 2));
    check_formats(&[&x, &factors], 1.0, |inputs| norm::rms_norm(&inputs[0], &inputs[1], 1e-5));
    check_formats(&[&x], 1.0, |inputs| gate::gated(&inputs[0], Activation::Silu));
    check_formats(&[&x], 1.0, |inputs| gate::gated(&inputs[0], Activation::Gelu));
    let weight = random(&[20, 24], 3);
    check_formats(&[&x, &weight], 1.0, |inputs| linear::linear(&inputs[0], &inputs[1]));
}

#[test]
fn half_formats_are_rounded_once_more_at_the_rotation_of_attention() {
    let heads = Heads::new(4, 2, 8);
    let rope = rope(8, 37);
    let qkv = random(&[2 * 37, heads.total()], 3);
    check_formats(&[&qkv], 3.0, |inputs| attention::causal_attention(&inputs[0], &Spans::equal(2, 37), heads, &rope));
}

#[test]
fn scores_are_f32_in_every_format() {
    let (hidden, weight, targets) = (random(&[130, 12], 1), random(&[40, 12], 2), targets(130, 40));
    let how = head::ScoreSettings { temperature: 0.7, logit_bytes: 0 };
    for format in [DType::BF16, DType::F16] {
        let (hidden, weight) = (rounded(&hidden, format), rounded(&weight, format));
        let found = joined(head::score_tokens(&hidden, &dense(&weight), &targets, how).unwrap()).unwrap();
        let exact = joined(head::plain(&wide(&hidden), &wide(&weight), &targets, how.temperature).unwrap()).unwrap();
        assert_eq!(found.dtype(), DType::F32);
        assert!(difference(&found, &exact) < 2e-5);
    }
}

#[test]
fn low_rank_terms_keep_f32_factors_and_gradients_in_every_format() {
    const RANK: usize = 3;
    let (x, a, b) = (random(&[37, 12], 1), random(&[RANK, 12], 2), random(&[20, RANK], 3));
    let maps = |format: DType| {
        let part = |shape: &[usize], seed: u64| rounded(&random(shape, seed), format).as_detached_tensor();
        [lora::Frozen { weight: part(&[20, 12], 10).into(), bias: Some(part(&[20], 11)), dropout: None }]
    };
    for format in [DType::BF16, DType::F16] {
        let (x, maps) = (rounded(&x, format), maps(format));
        let uneven = random(&[37, 20], 99);
        let run = |x: &Tensor, maps: &[lora::Frozen]| {
            let y = lora::adapted_linear(x, &adapted(&a, &b, maps)).unwrap();
            let store = (wide(&y) * uneven.as_tensor()).unwrap().sum_all().unwrap().backward().unwrap();
            let of = |var: &Var| store.get(var).unwrap().clone();
            (y.detach(), [of(&a), of(&b)], maps.iter().all(|map| store.get(map.weight.dense().unwrap()).is_none()))
        };
        let ((found, gradients, frozen), (expected, of_exact, _)) = (run(&x, &maps), run(&wide(&x), &in_full(&maps)));
        assert!(frozen && found.dtype() == format);
        assert!(difference(&wide(&found), &expected) <= 2.0 * unit(format) * largest(&expected));
        for (found, expected) in gradients.iter().zip(&of_exact) {
            assert_eq!(found.dtype(), DType::F32);
            // The gradient that comes in is rounded; what is made of it is not.
            assert!(difference(found, expected) <= unit(format) * largest(expected), "{format:?}");
        }
    }
}

#[test]
fn chunks_of_the_head_change_no_number_by_tensors() {
    const ROWS: usize = 3 * 64 + 3;
    let (hidden, weight) = (random(&[ROWS, 60], 1), random(&[50, 60], 2));
    let targets = Tensor::from_vec((0..ROWS as u32).map(|row| row * 13 % 50).collect::<Vec<_>>(), ROWS, &Device::Cpu);
    let targets = targets.unwrap();
    let run = |logit_bytes: usize| {
        let how = head::ScoreSettings { temperature: 0.9, logit_bytes };
        let (logp, entropy) = head::by_tensors(&hidden, &weight, &targets, how, None).unwrap();
        let store = ((&logp + &entropy).unwrap() * random(&[ROWS], 3).as_tensor()).unwrap().sum_all().unwrap();
        let store = store.backward().unwrap();
        [logp, entropy, store.get(&hidden).unwrap().clone(), store.get(&weight).unwrap().clone()]
    };
    for (whole, cut) in run(usize::MAX / 8).iter().zip(run(0)) {
        assert!(difference(whole, &cut) < 1e-5, "differs by {}", difference(whole, &cut));
    }
}

/// The masks of rows that have chance of their own.
fn masks(probability: f64, first: u64, rows: u64) -> Masks {
    Masks::new((first..first + rows).map(ChaCha8Rng::seed_from_u64).collect(), probability)
}

#[test]
fn dropout_is_the_low_rank_term_of_what_a_mask_leaves() {
    const RANK: usize = 2;
    let (x, a, b) = (random(&[6, 4], 1), random(&[2 * RANK, 4], 2), random(&[5, RANK], 3));
    let map = |outputs: usize, layer: u64| lora::Frozen {
        weight: random(&[outputs, 4], 10 + layer).as_detached_tensor().into(),
        bias: None,
        dropout: Some(masks(0.4, 2 * layer, 2)),
    };
    let maps = [map(3, 7), map(2, 8)];
    // By hand: `x` times zeros and 1 / 0.6 for each map, plain products after that.
    let by_hand = || -> Result<Tensor> {
        let mut column = 0;
        let parts = maps.iter().enumerate().map(|(index, map)| {
            let factors = map.dropout.as_ref().unwrap().factors([6, 4], &Device::Cpu)?;
            let kept = factors.flatten_all()?.to_vec1::<f32>()?;
            assert!(kept.iter().all(|factor| *factor == 0.0 || (factor - 1.0 / 0.6).abs() < 1e-4), "{kept:?}");
            assert!(kept.contains(&0.0) && kept.iter().any(|factor| *factor > 1.0), "{kept:?}");
            let count = map.weight.dim(0)?;
            let (a, b) = (a.narrow(0, index * RANK, RANK)?, b.narrow(0, column, count)?);
            column += count;
            x.matmul(&map.weight.tensor()?.t()?)?
                + ((x.as_tensor() * factors)?.matmul(&a.t()?)?.matmul(&b.t()?)? * 0.7)?
        });
        Tensor::cat(&parts.collect::<Result<Vec<_>>>()?, 1)
    };
    check(&[&x, &a, &b], || lora::adapted_linear(&x, &adapted(&a, &b, &maps)), by_hand);
}

#[test]
fn dropout_keeps_the_mean_and_drops_the_share_that_is_asked_for() {
    for probability in [0.1, 0.5] {
        let factors = masks(probability, 0, 50).factors([50 * 20, 40], &Device::Cpu).unwrap();
        let factors = factors.flatten_all().unwrap().to_vec1::<f32>().unwrap();
        let count = factors.len() as f64;
        let dropped = factors.iter().filter(|factor| **factor == 0.0).count() as f64 / count;
        // Five standard deviations of a share of 40,000 draws.
        let allowed = 5.0 * (probability * (1.0 - probability) / count).sqrt();
        assert!((dropped - probability).abs() < allowed, "{dropped} of {probability}");
        let mean = factors.iter().map(|factor| f64::from(*factor)).sum::<f64>() / count;
        assert!((mean - 1.0).abs() < allowed / (1.0 - probability), "mean {mean}");
    }
}

#[test]
fn masks_depend_on_the_chance_of_a_row_and_the_place_alone() {
    let numbers = |masks: &Masks, shape: [usize; 2]| {
        masks.factors(shape, &Device::Cpu).unwrap().flatten_all().unwrap().to_vec1::<f32>().unwrap()
    };
    let together = numbers(&masks(0.3, 0, 3), [3 * 5, 8]);
    // A row alone, and one that is padded to a greater length.
    assert_eq!(numbers(&masks(0.3, 1, 1), [5, 8]), together[5 * 8..10 * 8]);
    assert_eq!(numbers(&masks(0.3, 2, 1), [9, 8])[..5 * 8], together[10 * 8..]);
    let other = masks(0.3, 7, 1);
    assert_ne!(numbers(&other, [5, 8]), together[5 * 8..10 * 8]);
    let with_threads = |count: usize| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(count).build().unwrap();
        pool.install(|| numbers(&masks(0.3, 0, 3), [3 * 5, 8]))
    };
    assert!(with_threads(1) == together && with_threads(3) == together);
    // Rows of activations that do not divide among the rows of chance are refused.
    assert!(masks(0.3, 0, 3).factors([7, 8], &Device::Cpu).is_err());
}
