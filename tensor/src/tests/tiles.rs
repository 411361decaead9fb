//! Products with a packed weight on every kind of instructions the machine has.

use std::borrow::Cow;
use std::time::Duration;

use cpu_time::ThreadTime;

use crate::linear::tile::{self, Distance, Multiply, Out, PANEL, Tiles};
use crate::rows::Matrix;

const INPUTS: usize = 256;
const OUTPUTS: usize = 256;
/// Columns that are written.
const WIDTH: usize = OUTPUTS - 5;

/// Numbers between -1 and 1 without a pattern that a sum could hide.
fn numbers(count: usize) -> Vec<f32> {
    (0..count as u32).map(|n| n.wrapping_mul(2_654_435_761) as i32 as f32 / 2.0_f32.powi(31)).collect()
}

/// What `way` makes of `rows` rows, whose inputs come in so many slices, with the last panel narrower than the others.
fn multiplied(way: Multiply, rows: usize, x: &[f32], panels: &[f32], slices: usize) -> Vec<f32> {
    let bias = numbers(OUTPUTS);
    let (count, inputs) = (OUTPUTS / PANEL, INPUTS / slices);
    let mut out = vec![0.0; rows * WIDTH];
    for slice in 0..slices {
        let of_slice = |panel: &[f32]| panel[slice * inputs * PANEL..][..inputs * PANEL].to_vec();
        let panels = match slices {
            1 => Cow::Borrowed(panels),
            _ => panels.chunks(INPUTS * PANEL).flat_map(of_slice).collect(),
        };
        let tiles = Tiles {
            x: &x[slice * inputs..],
            stride: INPUTS,
            panels: &panels,
            count,
            distance: Distance::Far,
            bias: (slice == 0).then_some(&bias),
            out: Out(out.as_mut_ptr()),
            outputs: WIDTH,
            width: WIDTH,
        };
        // Safety: `out` has room for the rows, and the machine has the way.
        unsafe { way(tiles, 0..rows) };
    }
    out
}

#[test]
fn every_kind_of_vectors_sums_in_the_order_of_the_inputs() {
    let (x, panels, bias) = (numbers(25 * INPUTS), numbers(INPUTS * OUTPUTS), numbers(OUTPUTS));
    let expected = |row: usize, column: usize, fused: bool| {
        let panel = &panels[column / PANEL * PANEL * INPUTS..][column % PANEL..];
        let products = x[row * INPUTS..][..INPUTS].iter().zip(panel.iter().step_by(PANEL));
        products.fold(bias[column], |sum, (x, weight)| if fused { x.mul_add(*weight, sum) } else { x * weight + sum })
    };
    for (name, way) in tile::ways() {
        let fused = name != "plain" || cfg!(target_arch = "aarch64");
        for (rows, slices) in (1..=25).flat_map(|rows| [(rows, 1), (rows, 4)]) {
            for (place, found) in multiplied(way, rows, &x, &panels, slices).into_iter().enumerate() {
                let (row, column) = (place / WIDTH, place % WIDTH);
                assert_eq!(found, expected(row, column, fused), "{name}, {rows} rows: row {row}, column {column}");
            }
        }
    }
}

#[test]
#[cfg_attr(debug_assertions, ignore = "says something of optimised code alone")]
fn no_number_of_rows_is_multiplied_without_vectors() {
    // A general product of many rows does 8 (AVX2) or 16 (AVX-512) multiplications with an instruction. Four rows have
    // too few sums to keep the processor busy, which costs half; one number at a time costs 8 to 16 times as much.
    const TIMES: f64 = 5.0;
    const MANY: usize = 96;
    let (x, weight) = (numbers(MANY * INPUTS), numbers(INPUTS * OUTPUTS));
    let fastest = |work: &dyn Fn() -> Vec<f32>| {
        let time = |_| {
            let begin = ThreadTime::now();
            for _ in 0..8 {
                std::hint::black_box(work());
            }
            begin.elapsed()
        };
        (0..32).map(time).min().unwrap_or(Duration::MAX).as_secs_f64()
    };
    let of_many = fastest(&|| {
        let mut out = vec![0.0; MANY * OUTPUTS];
        let (x, weight) = (Matrix::new(&x, MANY, INPUTS, INPUTS), Matrix::new(&weight, INPUTS, OUTPUTS, OUTPUTS));
        x.times(weight).write(&mut out, OUTPUTS);
        out
    });
    for (name, way) in tile::ways().filter(|(name, _)| *name != "plain") {
        for rows in 4..=24 {
            let times = fastest(&|| multiplied(way, rows, &x, &weight, 1)) / of_many * MANY as f64 / rows as f64;
            assert!(times < TIMES, "{name}, {rows} rows: {times:.1} times the cost of a row among many");
        }
    }
}
