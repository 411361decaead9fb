//! Measures how fast a device copies memory and multiplies matrices.
//!
//! Everything else is compared with these rates, so a copy that is slower or faster than the memory of a GPU can be is
//! refused rather than divided by.

use std::time::Duration;

use candle_core::{DType, Device, Tensor};
use rayon::prelude::*;
use serde::Serialize;

use grpo_2048::policy::{device_memory, memory_rate};

use super::{BenchError, ReadClock};
use crate::Spread;

/// How much is copied and multiplied.
#[derive(Clone, Copy)]
struct Sizes {
    /// Number of elements of the array that is copied, f32 on a processor and bytes on a GPU: more than caches hold.
    copied: usize,
    /// Side of the square matrices that are multiplied.
    side: usize,
}

const OF_CPU: Sizes = Sizes { copied: 16 << 20, side: 1024 };
const OF_GPU: Sizes = Sizes { copied: 512 << 20, side: 8192 };
/// Those of a GPU with less than [`LITTLE`] memory, which is one in software: its rates say nothing.
const OF_LITTLE_GPU: Sizes = Sizes { copied: 1 << 20, side: 128 };
const LITTLE: u64 = 4 << 30;
/// For this time each measurement is repeated.
const REPEATED: Duration = Duration::from_millis(500);
/// Repetitions that a device does before it is waited for: a copy takes a quarter of a millisecond, a wait a tenth of that.
const UNAWAITED: (usize, usize) = (1, 20);
/// The shares of what a GPU's memory can move by its clock and its bus that a large copy may reach.
const PLAUSIBLE: (f64, f64) = (0.6, 1.05);

/// The rates of one round.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Rates {
    /// Bytes per second that a large copy reads and writes.
    pub copied_bytes_per_s: f64,
    /// Operations per second of a large square product, two for every multiplication.
    pub matmul_flops_per_s: f64,
}

impl Rates {
    /// The rates of all rounds.
    pub(super) fn spreads(rates: &[Rates]) -> RateSpreads {
        let spread = |rate: fn(&Rates) -> f64| Spread::of(rates.iter().map(rate)).expect("at least one round");
        RateSpreads {
            copied_bytes_per_s: spread(|rates| rates.copied_bytes_per_s),
            matmul_flops_per_s: spread(|rates| rates.matmul_flops_per_s),
        }
    }
}

/// The distributions of the [`Rates`] over all rounds.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct RateSpreads {
    pub copied_bytes_per_s: Spread,
    pub matmul_flops_per_s: Spread,
}

/// The arrays to copy and matrices to multiply. They are kept between rounds, so that no round allocates them.
pub(super) struct Probe {
    copied: Copied,
    factor: Tensor,
}

enum Copied {
    /// Copied by all threads, as kernels would.
    OnCpu { from: Vec<f32>, to: Vec<f32> },
    /// Copied by the driver, into memory of its pool. candle's own kernel for copies reaches a fifth of the rate.
    OnDevice { from: Tensor },
}

impl Probe {
    /// A probe that multiplies matrices of this number format.
    pub fn new(device: &Device, dtype: DType) -> Result<Probe, BenchError> {
        let on_cpu = device.is_cpu();
        let Sizes { copied: count, side } = match device_memory(device)? {
            None => OF_CPU,
            Some(memory) if memory.total < LITTLE => OF_LITTLE_GPU,
            Some(_) => OF_GPU,
        };
        let factor = Tensor::rand(-1f32, 1.0, (side, side), device)?.to_dtype(dtype)?;
        let copied = match on_cpu {
            // The arrays are written once, so that the system has allocated their memory.
            true => Copied::OnCpu { from: vec![1.0; count], to: vec![2.0; count] },
            false => Copied::OnDevice { from: Tensor::zeros(count, DType::U8, device)? },
        };
        Ok(Probe { copied, factor })
    }

    /// Number of bytes of the device's memory that the probe holds.
    pub fn held_bytes(&self) -> usize {
        let copied = match &self.copied {
            Copied::OnCpu { from, to } => size_of_val(from.as_slice()) + size_of_val(to.as_slice()),
            Copied::OnDevice { from } => from.elem_count(),
        };
        copied + self.factor.elem_count() * self.factor.dtype().size_in_bytes()
    }

    /// Measures by the clock `now`.
    pub fn measure(&mut self, now: ReadClock<'_>) -> Result<Rates, BenchError> {
        let device = self.factor.device().clone();
        let (mut bytes, mut operations) = (0.0, 0.0);
        let copy = repeat(&device, now, &mut || {
            bytes += self.copied.copy()?;
            Ok(())
        })?;
        let side = self.factor.dim(0)? as f64;
        let product = repeat(&device, now, &mut || {
            self.factor.matmul(&self.factor)?;
            operations += 2.0 * side * side * side;
            Ok(())
        })?;
        // The first repetition is counted in `all` but not timed.
        let timed = |all: f64, (seconds, times): (f64, f64)| all * times / (times + 1.0) / seconds;
        let copied = timed(bytes, copy);
        plausible(copied, memory_rate(&device))?;
        Ok(Rates { copied_bytes_per_s: copied, matmul_flops_per_s: timed(operations, product) })
    }
}

impl Copied {
    /// Copies once. Returns the number of bytes read and written.
    fn copy(&mut self) -> Result<f64, BenchError> {
        match self {
            Copied::OnCpu { from, to } => {
                let share = from.len().div_ceil(rayon::current_num_threads());
                to.par_chunks_mut(share).zip(from.par_chunks(share)).for_each(|(to, from)| to.copy_from_slice(from));
                Ok((2 * size_of_val(from.as_slice())) as f64)
            }
            Copied::OnDevice { from } => {
                from.copy()?;
                Ok(2.0 * from.elem_count() as f64)
            }
        }
    }
}

/// Refuses a rate of copies, in bytes a second, that memory which can move `possible` does not have.
fn plausible(copied: f64, possible: Option<f64>) -> Result<(), BenchError> {
    let Some(possible) = possible else { return Ok(()) };
    let share = copied / possible;
    match PLAUSIBLE.0 <= share && share <= PLAUSIBLE.1 {
        true => Ok(()),
        false => Err(BenchError::Copy { copied: copied / 1e9, possible: possible / 1e9 }),
    }
}

/// Repeats `work`, after one repetition that is not timed. Returns the seconds and the number of repetitions.
fn repeat(
    device: &Device,
    now: ReadClock<'_>,
    work: &mut dyn FnMut() -> Result<(), BenchError>,
) -> Result<(f64, f64), BenchError> {
    work()?;
    device.synchronize()?;
    let (begin, mut times) = (now(), 0.0);
    let unawaited = if device.is_cpu() { UNAWAITED.0 } else { UNAWAITED.1 };
    loop {
        for _ in 0..unawaited {
            work()?;
            times += 1.0;
        }
        device.synchronize()?;
        let spent = now() - begin;
        if spent >= REPEATED {
            return Ok((spent.as_secs_f64(), times));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rate_that_the_memory_cannot_have_is_refused() {
        assert!(plausible(4.3e12, Some(4.9e12)).is_ok());
        assert!(plausible(9e11, None).is_ok(), "nobody says what the memory can do");
        let words = plausible(9e11, Some(4.9e12)).unwrap_err().to_string();
        assert!(words.contains("900 GB/s") && words.contains("4900 GB/s"), "{words}");
        assert!(plausible(6e12, Some(4.9e12)).is_err());
    }

    #[test]
    fn a_rate_counts_what_was_repeated_and_not_the_first_time() {
        let ticks = std::sync::atomic::AtomicU64::new(0);
        let now = || Duration::from_millis(100 * ticks.fetch_add(1, std::sync::atomic::Ordering::Relaxed));
        let mut done = 0;
        let (seconds, times) = repeat(&Device::Cpu, &now, &mut || {
            done += 1;
            Ok(())
        })
        .unwrap();
        // The clock is read once before and once after each repetition.
        assert_eq!((done, times), (6, 5.0));
        assert!((seconds - 0.5).abs() < 1e-9);
    }
}
