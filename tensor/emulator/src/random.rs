//! cuRAND: numbers that look random, from a generator of its own (Marsaglia 2003, xorshift64).

use std::f64::consts::TAU;
use std::ffi::c_int;

use crate::driver::state;
use crate::exports;
use crate::queue::Work;

const SUCCESS: u32 = 0;
const LENGTH_NOT_MULTIPLE: u32 = 105;
const LAUNCH_FAILURE: u32 = 201;

struct Generator {
    stream: u64,
    state: u64,
}

impl Generator {
    /// In `0..1`, never zero.
    fn uniform(&mut self) -> f64 {
        self.state ^= self.state << 13;
        self.state ^= self.state >> 7;
        self.state ^= self.state << 17;
        ((self.state >> 11) as f64 + 0.5) / (1_u64 << 53) as f64
    }

    /// Source: Box and Muller 1958.
    fn normal(&mut self) -> f64 {
        (-2.0 * self.uniform().ln()).sqrt() * (TAU * self.uniform()).cos()
    }

    fn write(&self, to: u64, bytes: impl Iterator<Item = u8>) -> u32 {
        let mut state = state();
        match state.ask(self.stream, Work::Write { to, bytes: bytes.collect() }) {
            Ok(()) => SUCCESS,
            Err(fault) => {
                state.fail(fault);
                LAUNCH_FAILURE
            }
        }
    }
}

exports! {
    fn curandGetProperty(part: u32, value: &mut c_int) {
        *value = if part == 0 { 10 } else { 0 };
        SUCCESS
    }

    fn curandCreateGenerator(generator: &mut *mut Generator, _kind: u32) {
        *generator = Box::into_raw(Box::new(Generator { stream: 0, state: 1 }));
        SUCCESS
    }

    fn curandDestroyGenerator(generator: *mut Generator) {
        // Safety: given by `curandCreateGenerator`.
        drop(unsafe { Box::from_raw(generator) });
        SUCCESS
    }

    fn curandSetStream(generator: &mut Generator, stream: u64) {
        generator.stream = stream;
        SUCCESS
    }

    fn curandSetPseudoRandomGeneratorSeed(generator: &mut Generator, seed: u64) {
        // Zero would stay zero.
        generator.state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
        SUCCESS
    }

    fn curandSetGeneratorOffset(_generator: &mut Generator, _offset: u64) { SUCCESS }

    fn curandGenerateUniform(generator: &mut Generator, to: u64, count: usize) {
        let numbers: Vec<f32> = (0..count).map(|_| generator.uniform() as f32).collect();
        generator.write(to, numbers.into_iter().flat_map(f32::to_le_bytes))
    }

    fn curandGenerateUniformDouble(generator: &mut Generator, to: u64, count: usize) {
        let numbers: Vec<f64> = (0..count).map(|_| generator.uniform()).collect();
        generator.write(to, numbers.into_iter().flat_map(f64::to_le_bytes))
    }

    // Numbers come in pairs, and the library refuses others.
    fn curandGenerateNormal(generator: &mut Generator, to: u64, count: usize, mean: f32, deviation: f32) {
        if !count.is_multiple_of(2) {
            return LENGTH_NOT_MULTIPLE;
        }
        let numbers: Vec<f32> = (0..count).map(|_| mean + deviation * generator.normal() as f32).collect();
        generator.write(to, numbers.into_iter().flat_map(f32::to_le_bytes))
    }

    fn curandGenerateNormalDouble(generator: &mut Generator, to: u64, count: usize, mean: f64, deviation: f64) {
        if !count.is_multiple_of(2) {
            return LENGTH_NOT_MULTIPLE;
        }
        let numbers: Vec<f64> = (0..count).map(|_| mean + deviation * generator.normal()).collect();
        generator.write(to, numbers.into_iter().flat_map(f64::to_le_bytes))
    }
}
