//! Weights as sampling reads them, and blocks as every reader sees them.

use candle_core::quantized::{GgmlDType, QTensor};

use super::*;
use crate::linear::blocks::{self, Blocks};
use crate::{Map, Packed};

/// What a file may keep weights in.
const FORMATS: [GgmlDType; 12] = [
    GgmlDType::F16,
    GgmlDType::BF16,
    GgmlDType::Q4_0,
    GgmlDType::Q4_1,
    GgmlDType::Q5_0,
    GgmlDType::Q5_1,
    GgmlDType::Q8_0,
    GgmlDType::Q2K,
    GgmlDType::Q3K,
    GgmlDType::Q4K,
    GgmlDType::Q5K,
    GgmlDType::Q6K,
];

/// A weight in blocks, and its numbers as the tensor library makes them.
fn in_blocks(format: GgmlDType, shape: [usize; 2], seed: u64) -> (Weight, Tensor) {
    let stored = QTensor::quantize(&random(&shape, seed), format).unwrap();
    let blocks = Blocks::new(format, &stored.data().unwrap(), shape, |row| row).unwrap();
    (Weight::Packed(blocks.into()), stored.dequantize(&Device::Cpu).unwrap())
}

fn numbers(tensor: &Tensor) -> Vec<f32> {
    tensor.flatten_all().unwrap().to_vec1().unwrap()
}

#[test]
fn blocks_of_every_format_stand_for_the_numbers_of_their_file() {
    for format in FORMATS {
        let (weight, expected) = in_blocks(format, [37, 512], 1);
        assert_eq!(numbers(&weight.tensor().unwrap()), numbers(&expected), "{format:?}");
        let ids = Tensor::new(&[36_u32, 0, 17, 17], &Device::Cpu).unwrap();
        let rows = expected.index_select(&ids, 0).unwrap();
        assert_eq!(numbers(&weight.rows(&ids).unwrap()), numbers(&rows), "{format:?}");
        assert!(weight.rows(&Tensor::new(&[37_u32], &Device::Cpu).unwrap()).is_err());
    }
}

#[test]
fn every_kind_of_vectors_expands_blocks_to_the_same_numbers() {
    for format in FORMATS {
        let (weight, expected) = in_blocks(format, [16, 512], 2);
        let (Weight::Packed(blocks), expected) = (weight, expected.t().unwrap()) else { unreachable!() };
        for (name, way) in blocks::ways() {
            assert_eq!(blocks.expanded_by(way), numbers(&expected), "{format:?}, {name}");
        }
    }
}

#[test]
fn rows_of_blocks_are_taken_in_the_order_that_is_asked_for() {
    let shape = [5, 64];
    let stored = QTensor::quantize(&random(&shape, 3), GgmlDType::Q4_0).unwrap();
    let blocks = Blocks::new(GgmlDType::Q4_0, &stored.data().unwrap(), shape, |row| 4 - row).unwrap();
    let reversed = Tensor::new(&[4_u32, 3, 2, 1, 0], &Device::Cpu).unwrap();
    let expected = stored.dequantize(&Device::Cpu).unwrap().index_select(&reversed, 0).unwrap();
    assert_eq!(blocks.numbers(), numbers(&expected));
    assert!(Blocks::new(GgmlDType::Q4_0, &stored.data().unwrap(), [6, 64], |row| row).is_err());
    assert!(!Blocks::hold(GgmlDType::Q4_0, 40) && !Blocks::hold(GgmlDType::F32, 64));
}

#[test]
fn a_product_with_blocks_is_that_with_their_numbers_to_the_last_bit() {
    for (format, rows, inputs) in
        [(GgmlDType::Q4_1, 1, 64), (GgmlDType::Q8_0, 8, 288), (GgmlDType::Q4K, 9, 768), (GgmlDType::F16, 200, 300)]
    {
        let (x, bias) = (random(&[rows, inputs], 1), random(&[40], 4));
        let ((upper, upper_numbers), (lower, lower_numbers)) =
            (in_blocks(format, [40, inputs], 2), in_blocks(format, [3, inputs], 3));
        let product = |upper: &Weight, lower: &Weight| {
            let upper = Map { weight: upper.clone(), bias: Some(bias.as_tensor().clone()), term: None };
            let maps = [upper, Map { weight: lower.clone(), bias: None, term: None }];
            numbers(&Packed::new(&maps).unwrap().forward(&x).unwrap())
        };
        let expected = product(&dense(&upper_numbers), &dense(&lower_numbers));
        assert_eq!(product(&upper, &lower), expected, "{format:?}, {rows} rows");
    }
}

#[test]
fn low_rank_terms_beside_a_packed_weight_add_to_its_product() {
    for rows in [1, 12, 130] {
        let (x, (weight, plain)) = (random(&[rows, 64], 1), in_blocks(GgmlDType::Q4_0, [40, 64], 2));
        let (a, b, bias) = (random(&[5, 64], 3), random(&[40, 5], 4), random(&[40], 5));
        let without = Map { weight, bias: None, term: None };
        let term = Some((a.as_tensor().clone(), b.as_tensor().clone(), 0.7));
        let with = Map { bias: Some(bias.as_tensor().clone()), term, ..without.clone() };
        let found = Packed::new(&[without, with.clone(), with]).unwrap().forward(&x).unwrap();
        let base = linear::plain(&x, &plain).unwrap();
        let low = (linear::plain(&linear::plain(&x, &a).unwrap(), &b).unwrap() * 0.7).unwrap();
        let adapted = (&base + low).unwrap().broadcast_add(&bias).unwrap();
        let expected = Tensor::cat(&[&base, &adapted, &adapted], 1).unwrap();
        assert!(difference(&found, &expected) < 2e-5, "{rows} rows: {}", difference(&found, &expected));
    }
}

#[test]
fn a_product_of_an_update_with_blocks_is_that_with_their_numbers_to_the_last_bit() {
    let (x, (weight, plain)) = (random(&[37, 64], 1), in_blocks(GgmlDType::Q4_1, [40, 64], 2));
    let targets = Tensor::from_vec((0..37).map(|row| row % 40).collect::<Vec<u32>>(), 37, &Device::Cpu).unwrap();
    let how = head::ScoreSettings { temperature: 0.7, logit_bytes: 0 };
    let run = |weight: &Weight| {
        let y = weight.linear(&x).unwrap();
        let (logp, entropy) = head::score_tokens(&x, weight, &targets, how).unwrap();
        let loss = (y.sqr().unwrap().sum_all().unwrap() + (logp + entropy).unwrap().sum_all().unwrap()).unwrap();
        let store = loss.backward().unwrap();
        (numbers(&y), numbers(&loss), numbers(store.get(&x).unwrap()))
    };
    assert!(run(&weight) == run(&dense(&plain)));
}

#[test]
fn a_packed_weight_gives_the_plain_product() {
    // Whole panels and parts of one; tiles of every height; rows beyond one block; parts with and without a bias.
    for (rows, inputs, outputs) in [(1, 7, 5), (4, 12, 16), (8, 33, 40), (11, 20, 49), (31, 48, 64), (200, 70, 90)] {
        let (x, upper, lower) = (random(&[rows, inputs], 1), random(&[outputs, inputs], 2), random(&[3, inputs], 3));
        let bias = random(&[outputs], 4);
        let map = |weight, bias| Map { weight, bias, term: None };
        let parts = [map(dense(&upper), Some(bias.as_tensor().clone())), map(dense(&lower), None)];
        let found = Packed::new(&parts).unwrap().forward(&x).unwrap();
        let upper = linear::plain(&x, &upper).unwrap().broadcast_add(&bias).unwrap();
        let plain = Tensor::cat(&[upper, linear::plain(&x, &lower).unwrap()], 1).unwrap();
        assert!(difference(&found, &plain) < 2e-5, "{rows} x {inputs} x {outputs}: {}", difference(&found, &plain));
    }
}

#[test]
fn a_row_of_a_packed_product_is_the_same_alone_among_others_and_on_several_threads() {
    let (x, weight) = (random(&[37, 700], 1), random(&[1000, 700], 2));
    let packed = Packed::new(&[Map { weight: dense(&weight), bias: None, term: None }]).unwrap();
    let on = |threads: usize, x: &Tensor| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| packed.forward(x).unwrap().to_vec2::<f32>().unwrap())
    };
    let together = on(1, &x);
    assert_eq!(together, on(3, &x));
    for (index, row) in together.iter().enumerate() {
        assert_eq!(row, &on(1, &x.narrow(0, index, 1).unwrap())[0], "row {index}");
    }
}
