//! What a GPU does in an update, on this processor, against the plain compositions. Without a C++ compiler these say so
//! and check nothing.

use std::sync::Arc;

use candle_core::backprop::GradStore;

use super::formats::{check_formats, in_full, largest, rounded, unit, wide};
use super::*;
use crate::attention::gpu::{Attention, Limits};
use crate::gpu::{emulated, emulated_launches, in_both_orders};
use crate::{Masks, Middle, Prepared, Residual, residuals};

/// Numbers that begin one number behind the start of their storage, and the variable they are a view of.
fn unaligned(rows: usize, width: usize, seed: u64) -> (Var, impl Fn() -> Tensor) {
    let whole = random(&[rows * width + 1], seed);
    let view = whole.clone();
    (whole, move || view.narrow(0, 1, rows * width).unwrap().reshape((rows, width)).unwrap())
}

#[test]
fn norms_of_a_gpu_are_plain_norms() {
    for (rows, width) in [(1, 7), (67, 48), (5, 33), (9, 8), (3, 1), (300, 600)] {
        let ((x, view), weight) = (unaligned(rows, width, 1), random(&[width], 2));
        let plain = || norm::plain(&view(), &weight, 1e-5);
        emulated(|| check(&[&x, &weight], || norm::by_tensors(&view(), &weight, 1e-5), plain));
        let x = random(&[rows, width], 1);
        let plain = || norm::plain(&x, &weight, 1e-5);
        emulated(|| check(&[&x, &weight], || norm::rms_norm(&x, &weight, 1e-5), plain));
    }
}

#[test]
fn gates_of_a_gpu_are_plain_gates() {
    for (rows, inner) in [(1, 3), (70, 24), (2, 1), (1, 3000)] {
        let (x, view) = unaligned(rows, 2 * inner, 1);
        emulated(|| {
            check(&[&x], || gate::by_tensors(&view(), Activation::Silu), || gate::plain(&view(), Activation::Silu))
        });
        let x = random(&[rows, 2 * inner], 1);
        emulated(|| check(&[&x], || gate::gated(&x, Activation::Silu), || gate::plain(&x, Activation::Silu)));
    }
}

#[test]
fn weights_that_are_trained_on_a_gpu_get_plain_gradients() {
    let (x, weight) = (random(&[37, 12], 1), random(&[20, 12], 2));
    emulated(|| check(&[&x, &weight], || linear::linear(&x, &weight), || linear::plain(&x, &weight)));
}

#[test]
fn attention_of_a_gpu_is_plain_attention() {
    for (rows, steps, queries, keys, width) in [(1, 1, 1, 1, 2), (3, 37, 4, 2, 8), (2, 70, 3, 3, 16), (2, 65, 6, 1, 10)]
    {
        let (heads, rope) = (Heads::new(queries, keys, width), rope(width, steps + 3));
        let spans = Spans::equal(rows, steps);
        let plain = |qkv: &Tensor| attention::plain_causal(qkv, rows, heads, &rope);
        let (qkv, view) = unaligned(rows * steps, heads.total(), 3);
        emulated(|| check(&[&qkv], || attention::by_tensors(&view(), rows, heads, &rope), || plain(&view())));
        let qkv = random(&[rows * steps, heads.total()], 3);
        emulated(|| check(&[&qkv], || attention::causal_attention(&qkv, &spans, heads, &rope), || plain(&qkv)));
    }
}

#[test]
fn attention_of_a_gpu_does_not_depend_on_the_size_of_its_blocks() {
    let (rows, steps, heads) = (5, 19, Heads::new(6, 2, 8));
    let rope = rope(heads.width, steps);
    let (qkv, slope) = (random(&[rows * steps, heads.total()], 1), random(&[rows * steps, 48], 2));
    let both = |score_bytes: usize, tokens: usize| {
        let mut attention = Attention::new(&qkv, rows, heads, rope.angles()).unwrap();
        attention.limits = Limits { score_bytes, tokens };
        [attention.forward(&qkv).unwrap(), attention.backward(&qkv, &slope).unwrap()]
    };
    emulated(|| {
        let whole = both(1 << 30, 1000);
        let of_a_token = 6 * 24 * 4;
        for (bytes, tokens) in [(1 << 30, 8), (0, 1), (of_a_token * 5, 1000), (of_a_token * 5 * 2, 5)] {
            for (found, expected) in both(bytes, tokens).iter().zip(&whole) {
                let off = difference(found, expected);
                assert!(off < 1e-5, "{bytes} bytes, {tokens} tokens: differs by {off}");
            }
        }
    });
}

#[test]
fn scores_of_a_gpu_are_those_of_the_logits() {
    for (rows, width, vocabulary, temperature) in [(1, 6, 9, 1.0), (130, 12, 40, 0.7), (70, 40, 2100, 1.3)] {
        let (hidden, weight) = (random(&[rows, width], 1), random(&[vocabulary, width], 2));
        let targets = targets(rows, vocabulary);
        let how = head::ScoreSettings { temperature, logit_bytes: 0 };
        emulated(|| {
            check(
                &[&hidden, &weight],
                || joined(head::score_tokens(&hidden, &dense(&weight), &targets, how)?),
                || joined(head::plain(&hidden, &weight, &targets, temperature)?),
            );
        });
    }
}

#[test]
fn scores_of_a_gpu_are_f32_in_every_format() {
    let (hidden, weight, targets) = (random(&[130, 12], 1), random(&[40, 12], 2), targets(130, 40));
    let how = head::ScoreSettings { temperature: 0.7, logit_bytes: 0 };
    for (of_hidden, of_weight) in
        [(DType::BF16, DType::BF16), (DType::F16, DType::F16), (DType::BF16, DType::F32), (DType::F16, DType::F32)]
    {
        let (hidden, weight) = (rounded(&hidden, of_hidden), rounded(&weight, of_weight));
        let exact = [rounded(&wide(&hidden), DType::F32), rounded(&wide(&weight), DType::F32)];
        emulated(|| {
            let found = joined(head::score_tokens(&hidden, &dense(&weight), &targets, how).unwrap()).unwrap();
            let expected = joined(head::plain(&exact[0], &exact[1], &targets, how.temperature).unwrap()).unwrap();
            assert_eq!(found.dtype(), DType::F32);
            assert!(difference(&found, &expected) < 2e-5);
            let uneven = random(&[130, 2], 3);
            let gradients = |out: &Tensor| (out * uneven.as_tensor()).unwrap().sum_all().unwrap().backward().unwrap();
            let (found, expected) = (gradients(&found), gradients(&expected));
            for (var, exact) in [&hidden, &weight].into_iter().zip(&exact) {
                let (found, expected) = (found.get(var).unwrap(), expected.get(exact).unwrap());
                assert_eq!(found.dtype(), var.dtype());
                // Gradients of logits are rounded, and what is made of them once more.
                let (off, allowed) = (difference(&wide(found), expected), 2.0 * unit(of_hidden) * largest(expected));
                assert!(off < allowed, "{of_hidden:?} {of_weight:?}: differs by {off}, allowed {allowed}");
            }
        });
    }
}

#[test]
fn scores_of_a_gpu_stay_finite_for_extreme_logits_and_say_where_they_are_none() {
    let weight = Tensor::new(&[[1e4_f32], [-1e4], [0.0], [-1e4], [0.0]], &Device::Cpu).unwrap();
    let hidden = Tensor::new(&[[1.0_f32], [-1.0], [f32::NAN], [1.0]], &Device::Cpu).unwrap();
    // The last is none of the vocabulary's.
    let targets = Tensor::new(&[0_u32, 3, 0, 5], &Device::Cpu).unwrap();
    let how = head::ScoreSettings { temperature: 1.0, logit_bytes: 0 };
    emulated(|| {
        let (logp, entropy) = head::score_tokens(&hidden, &dense(&weight), &targets, how).unwrap();
        let (logp, entropy) = (logp.to_vec1::<f32>().unwrap(), entropy.to_vec1::<f32>().unwrap());
        assert_eq!((logp[0], entropy[0]), (0.0, 0.0));
        assert!((logp[1] + 2.0_f32.ln()).abs() < 1e-3 && (entropy[1] - 2.0_f32.ln()).abs() < 1e-3);
        assert!(logp[2].is_nan() && entropy[2].is_nan() && logp[3].is_nan());
    });
}

/// Maps of one `x` of twelve numbers; the first has no bias.
pub(super) fn maps(outputs: &[usize], format: DType) -> Vec<lora::Frozen> {
    let part = |shape: &[usize], seed: u64| rounded(&random(shape, seed), format).as_detached_tensor();
    let map = |(seed, outputs): (u64, &usize)| lora::Frozen {
        weight: part(&[*outputs, 12], 10 + seed).into(),
        bias: (seed > 0).then(|| part(&[*outputs], 20 + seed)),
        dropout: None,
    };
    (0..).zip(outputs).map(map).collect()
}

#[test]
fn adapted_maps_of_a_gpu_are_products_and_low_rank_terms() {
    for (rows, outputs, rank) in [(37, &[20_usize, 8, 1][..], 3), (1, &[20], 8), (5, &[3, 5], 1)] {
        let (x, maps) = (random(&[rows, 12], 1), maps(outputs, DType::F32));
        let (a, b) = (random(&[outputs.len() * rank, 12], 2), random(&[outputs.iter().sum(), rank], 3));
        emulated(|| {
            let adapted = adapted(&a, &b, &maps);
            check(&[&x, &a, &b], || lora::adapted_linear(&x, &adapted), || lora::plain(&x, &adapted));
        });
    }
}

#[test]
fn maps_whose_weights_lie_together_are_one_product_of_the_same_bits() {
    let (x, apart) = (rounded(&random(&[37, 12], 1), DType::BF16), maps(&[20, 8, 4], DType::BF16));
    let weights: Vec<Tensor> = apart.iter().map(|map| map.weight.tensor().unwrap()).collect();
    let (all, mut begin) = (Tensor::cat(&weights, 0).unwrap(), 0);
    let together = apart.iter().zip(&weights).map(|(map, weight)| {
        let rows = weight.dim(0).unwrap();
        begin += rows;
        lora::Frozen { weight: all.narrow(0, begin - rows, rows).unwrap().into(), ..map.clone() }
    });
    let together: Vec<lora::Frozen> = together.collect();
    let (a, b) = (random(&[3 * 4, 12], 2), random(&[32, 4], 3));
    emulated(|| {
        let run = |maps: &[lora::Frozen]| {
            let before = emulated_launches();
            let out = lora::adapted_linear(&x, &adapted(&a, &b, maps)).unwrap();
            (wide(&out).to_vec2::<f32>().unwrap(), emulated_launches() - before)
        };
        let ((expected, three), (found, one)) = (run(&apart), run(&together));
        assert!(expected == found && three == one + 2, "{three} launches became {one}");
    });
}

#[test]
fn half_a_layer_of_a_gpu_is_its_norm_its_maps_and_what_lies_between() {
    const RANK: usize = 3;
    let heads = Heads::new(2, 1, 4);
    let (x, weight, rope) = (random(&[2 * 19, 12], 1), random(&[12], 2).as_detached_tensor(), rope(4, 19));
    let attention = Middle::Attention { rows: 2, heads, rope: rope.clone() };
    for (outputs, inner, middle) in [(&[8, 4, 4][..], 8, attention), (&[10, 10], 10, Middle::Gate)] {
        // Little of each map, because the numbers of a half grow with the third power.
        let small = |shape: &[usize], seed: u64| (random(shape, seed).as_tensor() * 0.3).unwrap();
        let map = |shape: [usize; 2], seed: u64| {
            let bias = Some(small(&shape[..1], 40 + seed));
            lora::Frozen { weight: small(&shape, 30 + seed).into(), bias, dropout: None }
        };
        let of_first: Vec<_> = (0..).zip(outputs).map(|(seed, outputs)| map([*outputs, 12], seed)).collect();
        let of_last = [map([12, inner], 5)];
        let var = |shape: &[usize], seed: u64| Var::from_tensor(&small(shape, seed)).unwrap();
        let (a, b) = (var(&[outputs.len() * RANK, 12], 6), var(&[outputs.iter().sum(), RANK], 7));
        let (a_last, b_last) = (var(&[RANK, inner], 8), var(&[12, RANK], 9));
        let (first, last) = (adapted(&a, &b, &of_first), adapted(&a_last, &b_last, &of_last));
        let half =
            Residual { norm: weight.clone(), epsilon: 1e-5, first, middle: middle.clone(), last, prepared: None };
        assert!(!half.is_served(&x), "the processor has kernels of its own");
        let plain = || {
            let mapped = lora::plain(&norm::plain(&x, &weight, 1e-5)?, &half.first)?;
            let mixed = match middle {
                Middle::Attention { .. } => attention::plain_causal(&mapped, 2, heads, &rope)?,
                Middle::Gate => gate::plain(&mapped, Activation::Silu)?,
            };
            x.as_tensor() + lora::plain(&mixed, &half.last)?
        };
        emulated(|| {
            let inputs = [&x, &a, &b, &a_last, &b_last];
            assert!(half.is_served(&x));
            check(&inputs, || residuals(&x, std::slice::from_ref(&half)), plain);
            let dropped = lora::Frozen { dropout: Some(Masks::new(Vec::new(), 0.5)), ..of_last[0].clone() };
            let thinned = Residual { last: adapted(&a_last, &b_last, &[dropped]), ..half.clone() };
            assert!(!thinned.is_served(&x));
        });
    }
}

#[test]
fn factors_that_are_split_once_give_the_same_numbers_in_fewer_launches() {
    const RANK: usize = 3;
    let (x, weight) = (random(&[9, 12], 1), random(&[12], 2).as_detached_tensor());
    let (a, b) = (random(&[2 * RANK, 12], 3), random(&[20, RANK], 4));
    let (a_last, b_last) = (random(&[RANK, 10], 5), random(&[12, RANK], 6));
    let down = (random(&[12, 10], 7).as_detached_tensor() * 0.01).unwrap();
    let down = [lora::Frozen { weight: down.into(), bias: None, dropout: None }];
    let (first, last) = (adapted(&a, &b, &maps(&[10, 10], DType::F32)), adapted(&a_last, &b_last, &down));
    let half = Residual { norm: weight, epsilon: 1e-5, first, middle: Middle::Gate, last, prepared: None };
    let run = |half: &Residual| {
        let before = emulated_launches();
        // Two of the same, so that there is something between halves.
        let y = residuals(&x, &[half.clone(), half.clone()]).unwrap();
        let launches = emulated_launches() - before;
        let store = y.sum_all().unwrap().backward().unwrap();
        (launches, y.detach().to_vec2::<f32>().unwrap(), store)
    };
    emulated(|| {
        let (launches, y, store) = run(&half);
        let prepared = Arc::new(Prepared::new(&half.first, &half.last, DType::F32).unwrap());
        let (fewer, same, of_prepared) = run(&Residual { prepared: Some(prepared.clone()), ..half.clone() });
        // Two maps of each half, with two factors each.
        assert!(y == same && launches == fewer + 8, "{launches} launches became {fewer}");
        let of_x = |store: &GradStore| store.get(&x).unwrap().to_vec2::<f32>().unwrap();
        assert!(of_x(&store) == of_x(&of_prepared) && of_prepared.get(&a).is_none());
        let slopes = prepared.take_slopes().expect("gradients by the factors");
        for (slope, var) in slopes.iter().zip([&a, &b, &a_last, &b_last]) {
            assert_eq!(slope.dims(), store.get(var).unwrap().dims());
        }
        assert!(prepared.take_slopes().is_none());
    });
}

#[test]
fn low_rank_terms_of_a_gpu_keep_nearly_all_of_f32_in_every_format() {
    const RANK: usize = 4;
    let (x, a, b) = (random(&[37, 12], 1), random(&[2 * RANK, 12], 2), random(&[25, RANK], 3));
    for format in [DType::BF16, DType::F16] {
        let (x, narrow) = (rounded(&x, format), maps(&[20, 5], format));
        let uneven = rounded(&random(&[37, 25], 99), format);
        let run = |x: &Var, maps: &[lora::Frozen]| {
            let y = lora::adapted_linear(x, &adapted(&a, &b, maps)).unwrap();
            let store = (wide(&y) * wide(&uneven)).unwrap().sum_all().unwrap().backward().unwrap();
            (y.detach(), [x, &a, &b].map(|var| wide(store.get(var).unwrap())))
        };
        let (expected, of_exact) = run(&rounded(&wide(&x), DType::F32), &in_full(&narrow));
        emulated(|| {
            let (found, gradients) = run(&x, &narrow);
            assert!(difference(&wide(&found), &expected) <= 2.0 * unit(format) * largest(&expected));
            // The gradient by x is rounded to its format; those by the factors never are. Sixteen bits of a factor are
            // left of two numbers of bf16.
            for ((found, expected), allowed) in gradients.iter().zip(&of_exact).zip([unit(format), 3e-5, 3e-5]) {
                let off = difference(found, expected);
                assert!(off <= allowed * largest(expected), "{format:?}: differs by {off}");
            }
        });
    }
}

#[test]
fn half_formats_are_rounded_on_a_gpu_as_they_are_by_tensors() {
    let (x, factors, weight) = (random(&[37, 24], 1), random(&[24], 2), random(&[20, 24], 3));
    let heads = Heads::new(4, 2, 16);
    let (qkv, rope) = (random(&[2 * 37, heads.total()], 3), rope(16, 37));
    emulated(|| {
        check_formats(&[&x, &factors], 1.0, |inputs| norm::rms_norm(&inputs[0], &inputs[1], 1e-5));
        check_formats(&[&x], 1.0, |inputs| gate::gated(&inputs[0], Activation::Silu));
        check_formats(&[&x, &weight], 1.0, |inputs| linear::linear(&inputs[0], &inputs[1]));
        // Queries, keys, weights and the gradient by scores are rounded on the way.
        check_formats(&[&qkv], 4.0, |inputs| {
            attention::causal_attention(&inputs[0], &Spans::equal(2, 37), heads, &rope)
        });
    });
}

#[test]
fn numbers_of_a_gpu_do_not_depend_on_the_order_of_blocks_and_threads() {
    let (heads, rope) = (Heads::new(4, 2, 16), rope(16, 37));
    let targets = targets(74, 300);
    for format in [DType::F32, DType::BF16] {
        let part = |shape: &[usize], seed: u64| rounded(&random(shape, seed), format);
        let (x, weight, head) = (part(&[74, 12], 1), random(&[12], 2), part(&[300, 64], 4));
        let (a, b, maps) = (random(&[2 * 3, 12], 5), random(&[128, 3], 6), maps(&[64, 64], format));
        let run = || -> Result<Vec<Vec<f32>>> {
            let normed = norm::rms_norm(&x, &weight, 1e-5)?;
            let qkv = lora::adapted_linear(&normed, &adapted(&a, &b, &maps))?;
            let mixed = attention::causal_attention(&qkv, &Spans::equal(2, 37), heads, &rope)?;
            let gated = gate::gated(&Tensor::cat(&[&mixed, &mixed], 1)?, Activation::Silu)?;
            let how = head::ScoreSettings { temperature: 0.9, logit_bytes: 0 };
            let (logp, entropy) = head::score_tokens(&gated, &dense(&head), &targets, how)?;
            let store = (&logp + &entropy)?.sum_all()?.backward()?;
            let numbers = |tensor: &Tensor| wide(tensor).flatten_all()?.to_vec1::<f32>();
            let gradients = [&x, &weight, &head, &a, &b].map(|var| numbers(store.get(var).unwrap()));
            [numbers(&logp), numbers(&entropy)].into_iter().chain(gradients).collect()
        };
        let Some([in_order, backwards]) = in_both_orders(|| run().unwrap()) else { return };
        assert!(in_order == backwards, "{format:?}");
    }
}
