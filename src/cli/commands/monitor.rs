//! `grpo-2048 monitor`: what the GPUs do, line by line, and a verdict at the end.

use std::path::PathBuf;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use clap::Args;

use crate::cli::opened::gpu_watch::visible_gpus;
use crate::cli::opened::interrupt;
use crate::cli::said::{CliError, output};
use crate::hardware::{GpuReading, GpuSampler, verdict};
use crate::metrics::Console;

/// Watch the GPUs, with a verdict at the end
///
/// Utilisation, memory, power, clocks and temperature of every NVIDIA GPU, a line each time, until Ctrl-C; then how busy
/// each was and what held it back. A run on a GPU does the same by itself, into gpu.csv and gpu/* of its metrics.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  grpo-2048 monitor                        until Ctrl-C
  grpo-2048 monitor --seconds 60 --csv gpu.csv")]
pub struct MonitorArgs {
    /// Also append each reading to this file, under the column names of Weights & Biases
    #[arg(long, value_name = "FILE")]
    csv: Option<PathBuf>,
    /// Seconds between two readings
    #[arg(long, value_name = "S", default_value = "1", value_parser = clap::value_parser!(u32).range(1..=3600))]
    every: u32,
    /// Seconds until it ends by itself
    #[arg(long, value_name = "S", value_parser = clap::value_parser!(u32).range(1..))]
    seconds: Option<u32>,
}

const HEADER: &str = "gpu   util    memory used        power      sm clock   temp  slowed by\n";

impl MonitorArgs {
    pub fn run(self, console: &Console) -> Result<(), CliError> {
        if let Some(path) = &self.csv {
            CliError::refuse_unwritable(format_args!("--csv {}", path.display()), path, "gpu.csv")?;
        }
        let source = visible_gpus().map_err(CliError::run)?;
        let stop = interrupt::stop_flag(console, interrupt::SOON)?;
        let every = Duration::from_secs(u64::from(self.every));
        let is_kept = self.csv.is_some();
        let sampler = GpuSampler::start(Box::new(source), every, self.csv).map_err(CliError::run)?;
        let until = self.seconds.map(|seconds| Instant::now() + Duration::from_secs(u64::from(seconds)));
        let mut is_read = output::print_to_reader(&output::fitted(HEADER))?;
        let mut shown = 0;
        while (is_read || is_kept) && !stop.load(Ordering::SeqCst) && until.is_none_or(|until| Instant::now() < until) {
            let readings = sampler.whole().first().map_or(0, |usage| usage.readings());
            if readings > shown {
                shown = readings;
                let lines = sampler
                    .latest()
                    .iter()
                    .enumerate()
                    .map(|(index, reading)| line(index, reading))
                    .collect::<String>();
                is_read = output::print_to_reader(&output::fitted(&lines))?;
            }
            if let Some(reason) = sampler.take_ended() {
                return Err(CliError::run(std::io::Error::other(reason)));
            }
            std::thread::sleep(every.min(Duration::from_millis(50)));
        }
        let usages = sampler.whole();
        let of_each = usages.iter().zip(sampler.names()).enumerate();
        let words = of_each.map(|(index, (usage, name))| verdict(index, name, usage, None)).collect::<String>();
        output::tell(&format!("\n{words}"))
    }
}

/// One reading, in columns below [`HEADER`].
fn line(index: usize, reading: &GpuReading) -> String {
    let told = |value: Option<String>| value.unwrap_or_else(|| "-".into());
    let gigabytes = |bytes: u64| bytes as f64 / 1e9;
    let memory = reading.memory_used.zip(reading.memory_total);
    let power = reading.power.map(|power| match reading.power_limit {
        Some(limit) => format!("{power:.0}/{limit:.0} W"),
        None => format!("{power:.0} W"),
    });
    let slowed: Vec<&str> = reading.slowed.iter().map(|slowdown| slowdown.name()).collect();
    let text = format!(
        "{index:>3} {:>6} {:>14} {:>12} {:>13} {:>6}  {}",
        told(reading.utilisation.map(|percent| format!("{percent:.0}%"))),
        told(memory.map(|(used, total)| format!("{:.1}/{:.0} GB", gigabytes(used), gigabytes(total)))),
        told(power),
        told(reading.sm_clock.map(|clock| format!("{clock} MHz"))),
        told(reading.temperature.map(|degrees| format!("{degrees} C"))),
        slowed.join(", ")
    );
    format!("{}\n", text.trim_end())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hardware::Slowdown;

    #[test]
    fn readings_stand_below_the_names_of_their_columns() {
        let reading = GpuReading {
            utilisation: Some(97.0),
            memory_used: Some(83_100_000_000),
            memory_total: Some(150_754_000_000),
            power: Some(612.4),
            power_limit: Some(700.0),
            sm_clock: Some(1980),
            temperature: Some(61),
            slowed: vec![Slowdown::Power],
            ..GpuReading::default()
        };
        assert_eq!(line(0, &reading), "  0    97%    83.1/151 GB    612/700 W      1980 MHz   61 C  power\n");
        assert_eq!(line(1, &GpuReading::default()), "  1      -              -            -             -      -\n");
        let end = |words: &str| HEADER.find(words).unwrap() + words.len();
        assert_eq!(["util", "used", "power", "clock", "temp"].map(end), [10, 25, 38, 52, 59]);
    }
}
