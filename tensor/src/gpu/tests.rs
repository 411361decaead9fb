//! The optimiser's kernels on this processor. Without a C++ compiler this says so and checks nothing.

use candle_core::{Device, Tensor};
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;

use super::AdamWRates;
use super::emulated::Emulated;
use super::machine::Machine;
use super::optimizer::{Slots, square_sums, step};

/// Numbers in 0..1.
fn uniforms(stream: u64, count: usize) -> Vec<f64> {
    let mut rng = ChaCha8Rng::seed_from_u64(stream);
    (0..count).map(|_| rng.random()).collect()
}

#[test]
fn all_variables_move_in_two_launches_as_they_do_one_by_one() {
    let Some(machine) = Emulated::open() else { return };
    let numbers = |stream: u64, count: usize| -> Vec<f32> {
        uniforms(stream, count).iter().map(|uniform| (uniform - 0.5) as f32).collect()
    };
    // One variable of several pieces, the last not whole; one smaller than a block.
    let counts = [40_001, 7];
    let rates = AdamWRates {
        scale: 0.5,
        beta1: 0.9,
        beta2: 0.95,
        rate: 1e-2 / (1.0 - 0.9f64.powi(3)),
        root_correction: (1.0 - 0.95f64.powi(3)).sqrt(),
        epsilon: 1e-8,
    };
    let memory = |values: &[f32]| machine.adopt(&Tensor::new(values, &Device::Cpu).unwrap()).unwrap();
    let squared = |values: Vec<f32>| values.into_iter().map(|value| value * value).collect::<Vec<f32>>();
    let (mut slots, mut expected) = (Vec::new(), Vec::new());
    let mut norms = Vec::new();
    for (index, count) in counts.into_iter().enumerate() {
        let of = |part: u64| numbers(10 * index as u64 + part, count);
        let (value, gradient, mean, square) = (of(0), of(1), of(2), squared(of(3)));
        norms.push(gradient.iter().map(|g| f64::from(*g).powi(2)).sum::<f64>());
        let keep = 1.0 - 0.01 * index as f64;
        let one = |i: usize| {
            let g = f64::from(gradient[i]) * rates.scale;
            let m = rates.beta1 * f64::from(mean[i]) + (1.0 - rates.beta1) * g;
            let v = rates.beta2 * f64::from(square[i]) + (1.0 - rates.beta2) * g * g;
            keep * f64::from(value[i]) - rates.rate * m / (v.sqrt() / rates.root_correction + rates.epsilon)
        };
        expected.push((0..count).map(one).collect::<Vec<f64>>());
        slots.push(Slots {
            value: memory(&value),
            gradient: memory(&gradient),
            mean: memory(&mean),
            square: memory(&square),
            count,
            keep: keep as f32,
        });
    }
    let gradients: Vec<_> = counts
        .iter()
        .enumerate()
        .map(|(index, count)| (memory(&numbers(10 * index as u64 + 1, *count)), *count))
        .collect();
    for (found, expected) in square_sums(&machine, &gradients).unwrap().iter().zip(&norms) {
        assert!((found - expected).abs() < 1e-9 * expected, "{found} {expected}");
    }
    step(&machine, &slots, &rates).unwrap();
    for (slot, expected) in slots.iter().zip(&expected) {
        let bytes = machine.read(&slot.value, 4 * slot.count).unwrap();
        for (found, expected) in bytes.as_chunks::<4>().0.iter().zip(expected) {
            let found = f64::from(f32::from_le_bytes(*found));
            assert!((found - expected).abs() < 1e-6 * expected.abs().max(1.0), "{found} {expected}");
        }
    }
}
