//! A GPU's kernels on this processor: whole updates against the processor's own kernels. One by one they are compared in
//! `tensor`.

use std::collections::BTreeMap;

use candle_core::backprop::GradStore;
use candle_core::{DType, Device, Tensor, Var};

use grpo_tensor::gpu::emulated;
use grpo_tensor::{ScoreSettings, Spans};

use super::device_decoding::{self as shared, EVERYWHERE};
use crate::{Activations, Adapters, Decoder, DecoderConfig, ModelType, Precision, SlidingWindow};

/// Log-probabilities of tokens, and gradients of what is trained, by name; all f32.
type Found = (Vec<f32>, BTreeMap<String, Vec<f32>>);

/// One pass over two rows of tokens, forwards and backwards.
fn found(decoder: &Decoder, variables: &BTreeMap<String, Var>, activations: Activations) -> Found {
    const TOKENS: u32 = 13;
    let count = 2 * TOKENS as usize;
    let ids = Tensor::from_vec((0..2 * TOKENS).map(|id| 2 + id * 5 % 20).collect::<Vec<u32>>(), count, &Device::Cpu);
    let ids = ids.unwrap();
    let spans = Spans::equal(2, TOKENS as usize);
    let how = ScoreSettings { temperature: 0.8, logit_bytes: 0 };
    let loss_of = |hidden: &Tensor| {
        let (logp, entropy) = decoder.score(&hidden.reshape((count, ())).unwrap(), &ids, how).unwrap();
        let uneven = uneven(count);
        let loss = ((&logp + entropy).unwrap() * uneven).unwrap().sum_all().unwrap();
        (logp, loss)
    };
    let mut gradients = BTreeMap::new();
    let mut collect = |store: GradStore| {
        for (name, var) in variables {
            if let Some(gradient) = store.get(var) {
                assert_eq!(gradient.dtype(), DType::F32);
                gradients.insert(name.clone(), gradient.flatten_all()?.to_vec1()?);
            }
        }
        Ok(())
    };
    let logp = match activations {
        Activations::Kept => {
            let (hidden, tokens) = decoder.hidden_kept(&ids, &spans, Adapters::On).unwrap();
            let (logp, loss) = loss_of(&hidden);
            let mut store = loss.backward().unwrap();
            tokens.complete(&mut store).unwrap();
            collect(store).unwrap();
            logp
        }
        Activations::Recomputed => {
            let (hidden, inputs) = decoder.hidden_checkpointed(&ids, &spans, Adapters::On).unwrap();
            let (logp, loss) = loss_of(&hidden);
            inputs.backward(loss.backward().unwrap(), &mut collect).unwrap();
            logp
        }
    };
    (logp.to_vec1().unwrap(), gradients)
}

fn uneven(count: usize) -> Tensor {
    Tensor::from_vec((0..count).map(|i| 0.2 + (i * 7 % 5) as f32).collect::<Vec<f32>>(), count, &Device::Cpu).unwrap()
}

/// Root of the mean square of the difference, as a share of that of the numbers.
fn apart(found: &[f32], expected: &[f32]) -> f64 {
    let square = |numbers: &mut dyn Iterator<Item = f32>| numbers.map(|x| f64::from(x).powi(2)).sum::<f64>();
    let off = square(&mut found.iter().zip(expected).map(|(a, b)| a - b));
    assert!(off.is_finite() && found.len() == expected.len());
    // Experts that nobody chose have gradients of zero.
    if off == 0.0 { 0.0 } else { (off / square(&mut expected.iter().copied())).sqrt() }
}

/// `found` is no farther from `exact` than twice what `other` is, which computes in the same format by other means.
fn assert_near(found: &Found, (exact, other): (&Found, &Found), allowed: f64, what: &str) {
    let off = |of: &Found| apart(&of.0, &exact.0);
    assert!(off(found) < 2.0 * off(other) + allowed, "{what}: log-probabilities are {} apart", off(found));
    assert_eq!(found.1.keys().collect::<Vec<_>>(), exact.1.keys().collect::<Vec<_>>());
    for name in found.1.keys() {
        let off = |of: &Found| apart(&of.1[name], &exact.1[name]);
        let (here, there) = (off(found), off(other));
        assert!(here < 2.0 * there + allowed, "{what}: gradients by {name} are {here} apart, by tensors {there}");
    }
}

/// Models of every family, of which those after Qwen3 have attention by tensor operations.
fn families() -> Vec<DecoderConfig> {
    let of = |model_type| DecoderConfig { model_type, ..shared::config() };
    let sliding_window = Some(SlidingWindow { tokens: 5, full_every: 0, rope_theta: None });
    vec![
        of(ModelType::Llama),
        of(ModelType::Qwen2),
        of(ModelType::Qwen3),
        DecoderConfig { sliding_window, ..of(ModelType::Mistral) },
        DecoderConfig { partial_rotary_factor: 0.5, ..of(ModelType::Phi3) },
        crate::tests::gemma2(),
        crate::tests::gemma3(),
        crate::tests::qwen3_moe(),
    ]
}

/// Rounded tokens may choose other experts, whose gradients do not compare.
fn formats_of(config: &DecoderConfig) -> &'static [(Precision, f64)] {
    if config.experts.is_some() { &FORMATS[..1] } else { &FORMATS }
}

/// Formats, and what their smallest unit is taken to be in the mean.
const FORMATS: [(Precision, f64); 3] = [(Precision::F32, 2e-5), (Precision::Bf16, 4e-3), (Precision::F16, 5e-4)];

/// Modules with adapters: all, and those of which the maps that lie together have some.
const MODULES: [&[&str]; 2] = [&EVERYWHERE, &["q_proj", "v_proj"]];

#[test]
fn an_update_of_adapters_on_a_gpu_is_that_of_the_processor() {
    for (number, config) in families().into_iter().enumerate() {
        let formats = formats_of(&config);
        for &format in formats {
            assert_adapters_update(&config, format, MODULES[0], &[Activations::Recomputed]);
        }
        // One format of each family, in turn: which maps have adapters has nothing to do with their format.
        assert_adapters_update(&config, formats[number % formats.len()], MODULES[1], &[Activations::Kept]);
    }
}

#[test]
#[ignore = "takes twice as long; `make proofs` runs it"]
fn an_update_of_adapters_on_a_gpu_is_that_of_the_processor_in_every_format() {
    for config in families() {
        for &format in formats_of(&config) {
            for modules in MODULES {
                assert_adapters_update(&config, format, modules, &[Activations::Kept, Activations::Recomputed]);
            }
        }
    }
}

/// Whether layers are kept or computed again makes no difference; with those of `prepared`, nor do factors that are split
/// once.
fn assert_adapters_update(
    config: &DecoderConfig,
    (precision, allowed): (Precision, f64),
    modules: &[&str],
    prepared: &[Activations],
) {
    let of = |computed| shared::adapted_variables(config.clone(), (precision, computed), modules);
    let (decoder, variables) = of(precision);
    let by_tensors = found(&decoder, &variables, Activations::Recomputed);
    let exact = of(Precision::F32);
    let exact = found(&exact.0, &exact.1, Activations::Recomputed);
    let run = |activations| emulated(|| found(&decoder, &variables, activations));
    let (Some(kept), Some(recomputed)) = (run(Activations::Kept), run(Activations::Recomputed)) else { return };
    assert_eq!(kept.1.len(), variables.len(), "every adapter gets a gradient");
    let what = format!("{}, {precision}, {modules:?}", config.model_type);
    assert_near(&recomputed, (&exact, &by_tensors), allowed, &what);
    assert!(kept == recomputed, "{what}: layers computed again give other numbers");
    for &activations in prepared {
        let split = emulated(|| found(&decoder.prepared().unwrap(), &variables, activations)).unwrap();
        assert!(kept == split, "{what}: factors split once give other numbers, layers {activations:?}");
    }
}

#[test]
fn an_update_of_all_weights_on_a_gpu_is_that_of_the_processor() {
    for config in families() {
        for &(precision, allowed) in formats_of(&config) {
            let weights = shared::weights_of(&config);
            let var = |(name, tensor): (&String, &Tensor)| (name.clone(), Var::from_tensor(tensor).unwrap());
            let variables: BTreeMap<String, Var> = weights.iter().map(var).collect();
            let of = |precision| {
                let tracked =
                    variables.iter().map(|(name, var)| (name.clone(), var.as_tensor().clone().into())).collect();
                Decoder::new(config.clone(), &tracked, None, precision).unwrap()
            };
            let run = |decoder: &Decoder| found(decoder, &variables, Activations::Recomputed);
            let decoder = of(precision);
            let Some(here) = emulated(|| run(&decoder)) else { return };
            let what = format!("{}, {precision}", config.model_type);
            let kept = emulated(|| found(&decoder, &variables, Activations::Kept)).unwrap();
            assert!(kept == here, "{what}: layers computed again give other numbers");
            assert_near(&here, (&run(&of(Precision::F32)), &run(&decoder)), allowed, &what);
        }
    }
}
