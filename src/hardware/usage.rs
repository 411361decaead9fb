//! Summarises the readings of one GPU.

use std::collections::BTreeMap;

use super::{GpuReading, Slowdown};

/// The mean of the values that are present.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
struct Mean {
    sum: f64,
    count: f64,
}

impl Mean {
    fn add(&mut self, value: Option<f64>) {
        if let Some(value) = value {
            self.sum += value;
            self.count += 1.0;
        }
    }

    fn value(&self) -> Option<f64> {
        (self.count > 0.0).then(|| self.sum / self.count)
    }
}

/// A summary of readings of one GPU.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct GpuUsage {
    readings: usize,
    utilisation: Mean,
    power: Mean,
    sm_clock: Mean,
    /// In watts, of the latest reading that has it.
    pub(super) power_limit: Option<f64>,
    /// Maximum of the memory in use, in bytes.
    pub(super) memory_peak: Option<u64>,
    /// All memory, in bytes.
    pub(super) memory_total: Option<u64>,
    /// Number of readings with each slowdown.
    slowed: BTreeMap<Slowdown, usize>,
}

impl GpuUsage {
    pub fn add(&mut self, reading: &GpuReading) {
        self.readings += 1;
        self.utilisation.add(reading.utilisation);
        self.power.add(reading.power);
        self.sm_clock.add(reading.sm_clock.map(f64::from));
        self.power_limit = reading.power_limit.or(self.power_limit);
        self.memory_peak = self.memory_peak.max(reading.memory_used);
        self.memory_total = reading.memory_total.or(self.memory_total);
        for &slowdown in &reading.slowed {
            *self.slowed.entry(slowdown).or_default() += 1;
        }
    }

    pub fn readings(&self) -> usize {
        self.readings
    }

    /// Mean utilisation, in percent.
    pub fn utilisation(&self) -> Option<f64> {
        self.utilisation.value()
    }

    /// Mean power, in watts.
    pub fn power(&self) -> Option<f64> {
        self.power.value()
    }

    /// Mean clock of the multiprocessors, in MHz.
    pub fn sm_clock(&self) -> Option<f64> {
        self.sm_clock.value()
    }

    /// Share of the readings with this slowdown, 0 to 1.
    pub fn slowed(&self, slowdown: Slowdown) -> f64 {
        self.slowed.get(&slowdown).map_or(0.0, |&count| count as f64 / self.readings.max(1) as f64)
    }

    /// The metrics of a step, under the names of `metrics.jsonl`.
    pub fn metrics(&self) -> impl Iterator<Item = (&'static str, f64)> {
        let gigabytes = self.memory_peak.map(|bytes| bytes as f64 / 1e9);
        let all = [
            ("gpu/util", self.utilisation()),
            ("gpu/power_w", self.power()),
            ("gpu/sm_clock_mhz", self.sm_clock()),
            ("gpu/mem_used_gb", gigabytes),
        ];
        all.into_iter().filter_map(|(name, value)| Some((name, value?)))
    }
}
