//! The machine: program, processor, memory, precision, GPU.

use std::fs;
use std::process::Command;

use super::finding::Finding;
use crate::cli::memory::Memory;
use crate::config;
use crate::policy::{Device, Precision};

/// Free memory below which even the built-in model may be killed.
const MEMORY_LOW_BYTES: u64 = 2 << 30;

/// Version and commit, and whether the build is one to train with.
pub fn program(commit: Option<&str>) -> Finding {
    let features: Vec<&str> = [("cuda", cfg!(feature = "cuda")), ("mkl", cfg!(feature = "mkl"))]
        .into_iter()
        .filter_map(|(name, on)| on.then_some(name))
        .collect();
    let line = format!(
        "grpo-2048 {}, commit {}, {}-{}, features: {}",
        env!("CARGO_PKG_VERSION"),
        commit.unwrap_or("unknown (`make build` records it)"),
        std::env::consts::ARCH,
        std::env::consts::OS,
        if features.is_empty() { "none".to_owned() } else { features.join(", ") }
    );
    match cfg!(debug_assertions) {
        true => {
            Finding::warning("program", format!("{line}; a debug build"), "build with --release, many times faster")
        }
        false => Finding::ok("program", line),
    }
}

/// Cores, model and instruction sets.
pub fn processor() -> Finding {
    let cores = std::thread::available_parallelism().map_or(1, std::num::NonZeroUsize::get);
    let model = fs::read_to_string("/proc/cpuinfo").ok().and_then(|text| processor_model(&text));
    let features = processor_features();
    let sets = if features.is_empty() { std::env::consts::ARCH.to_owned() } else { features.join(" ") };
    let line = format!("{cores} cores, {}{sets}", model.map_or_else(String::new, |model| format!("{model}, ")));
    match cores {
        1 => Finding::warning("processor", line, "games and decoding will share one core; expect half the speed"),
        _ => Finding::ok("processor", line),
    }
}

fn processor_model(cpuinfo: &str) -> Option<String> {
    let line = cpuinfo.lines().find(|line| line.starts_with("model name"))?;
    Some(line.split_once(':')?.1.trim().to_owned())
}

/// Instruction sets that the matrix products choose from.
fn processor_features() -> Vec<&'static str> {
    #[cfg(target_arch = "x86_64")]
    let known = [
        ("avx2", std::arch::is_x86_feature_detected!("avx2")),
        ("fma", std::arch::is_x86_feature_detected!("fma")),
        ("f16c", std::arch::is_x86_feature_detected!("f16c")),
        ("avx512f", std::arch::is_x86_feature_detected!("avx512f")),
    ];
    #[cfg(not(target_arch = "x86_64"))]
    let known: [(&'static str, bool); 0] = [];
    known.into_iter().filter_map(|(name, there)| there.then_some(name)).collect()
}

/// The number format that layers compute in on this device, and what computes it.
pub fn precision(asked: config::Precision, device: &Device) -> Finding {
    let found = match Precision::of(asked, device) {
        Ok(found) => found,
        Err(error) => {
            return Finding::problem("precision", error, "--set model.precision=auto takes what suits the device");
        }
    };
    let chosen = if asked == config::Precision::Auto { " (auto)" } else { "" };
    let why = match found {
        Precision::F32 => "weights, gradients and sampling alike",
        _ => "weights and products; logits, norms, adapters and all that is trained in f32",
    };
    let why = format!("{why}, so the policy that is trained is the one that was sampled");
    let features = processor_features();
    let products = match (!device.is_cpu(), features.contains(&"avx512f"), features.contains(&"fma")) {
        (true, ..) => "the GPU",
        (false, true, _) => "AVX-512",
        (false, false, true) => "AVX2 and FMA",
        (false, false, false) if cfg!(target_arch = "x86_64") => {
            return Finding::warning(
                "precision",
                format!("{found}{chosen}: {why}; this processor has neither AVX2 nor FMA"),
                "matrix products will be several times slower; use a machine made after 2013",
            );
        }
        _ => "this processor's own vectors",
    };
    let line = format!("{found}{chosen}: {why}; matrix products use {products}");
    match device.is_cpu() && found != Precision::F32 {
        true => {
            Finding::warning("precision", line, "half formats are slower on a processor; leave model.precision at auto")
        }
        false => Finding::ok("precision", line),
    }
}

/// Memory that is left, of what there is for this process.
pub fn memory() -> Finding {
    let Some(memory) = Memory::of_this_process() else {
        return Finding::ok("memory", "this system does not say how much is free");
    };
    let line = format!("{:.1} GB free of {:.1} GB", memory.free as f64 / 1e9, memory.total as f64 / 1e9);
    match memory.free < MEMORY_LOW_BYTES {
        true => Finding::warning("memory", line, "end other programs, or lower grpo.micro_batch and rollout.groups"),
        false => Finding::ok("memory", line),
    }
}

/// NVIDIA GPUs, by the word of their driver.
pub fn gpu() -> Finding {
    let query = ["--query-gpu=name,driver_version,memory.total,memory.free", "--format=csv,noheader,nounits"];
    let asked = Command::new("nvidia-smi").args(query).output();
    let text = asked.ok().filter(|output| output.status.success()).map(|output| output.stdout).unwrap_or_default();
    let gpus: Vec<String> = String::from_utf8_lossy(&text).lines().filter_map(gpu_line).collect();
    match (gpus.is_empty(), cfg!(feature = "cuda")) {
        (true, false) => Finding::ok("gpu", "none found; models run on the processor"),
        (true, true) => Finding::warning(
            "gpu",
            "none found (nvidia-smi says nothing), though this build could use one",
            "install the NVIDIA driver, or give the container its GPU (docker run --gpus all)",
        ),
        (false, true) => Finding::ok("gpu", gpus.join("; ")),
        (false, false) => Finding::warning(
            "gpu",
            format!("{}, which this build cannot use", gpus.join("; ")),
            "build with `cargo build --release --features cuda` (needs nvcc)",
        ),
    }
}

/// A row of nvidia-smi in words.
fn gpu_line(row: &str) -> Option<String> {
    let fields: Vec<&str> = row.split(',').map(str::trim).collect();
    let [name, driver, total, free] = fields.as_slice() else { return None };
    let gigabytes = |mebibytes: &str| mebibytes.parse().map(|size: f64| size * 1.048_576e-3);
    Some(match (gigabytes(total), gigabytes(free)) {
        (Ok(total), Ok(free)) => format!("{name}, driver {driver}, {free:.1} GB free of {total:.1} GB"),
        _ => format!("{name}, driver {driver}"),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_processor_and_a_gpu_are_told_by_name() {
        let text = "processor\t: 0\nmodel name\t: Imaginary CPU @ 3.00GHz\nprocessor\t: 1\n";
        assert_eq!(processor_model(text).as_deref(), Some("Imaginary CPU @ 3.00GHz"));
        let row = "NVIDIA H200, 550.90.07, 143771, 143000";
        assert_eq!(gpu_line(row).as_deref(), Some("NVIDIA H200, driver 550.90.07, 149.9 GB free of 150.8 GB"));
        assert_eq!(gpu_line("NVIDIA-SMI has failed"), None);
    }
}
