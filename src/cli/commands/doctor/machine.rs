//! The machine: program, processor, memory, precision, GPU.

use crate::cli::opened::gpu_watch::visible_gpus;
use crate::cli::opened::machine::{MachineMemory, build_features, cores_and_model, processor_features};
use crate::cli::opened::peers::environment;
use crate::cli::said::Finding;
use crate::config;
use crate::hardware::{GpuError, Inventory};
use crate::parallel;
use crate::policy::{self, CudaExamination, Device, Precision};

/// Free memory below which even the built-in model may be killed.
const MEMORY_LOW_BYTES: u64 = 2 << 30;

/// Version and commit, and whether the build is one to train with.
pub fn program(commit: Option<&str>) -> Finding {
    let features = build_features();
    let line = format!(
        "grpo-2048 {}, commit {}, {}-{}, features: {}",
        env!("CARGO_PKG_VERSION"),
        commit.unwrap_or("unknown (`make build` records it)"),
        std::env::consts::ARCH,
        std::env::consts::OS,
        if features.is_empty() { "none".to_owned() } else { features.join(", ") }
    );
    let is_debug = cfg!(debug_assertions);
    let line = if is_debug { format!("{line}; a debug build") } else { line };
    Finding::warning_if(is_debug, "program", line, "build with --release, many times faster")
}

/// Cores, model and instruction sets.
pub fn processor() -> Finding {
    let cores = std::thread::available_parallelism().map_or(1, std::num::NonZeroUsize::get);
    let features = processor_features();
    let sets = if features.is_empty() { std::env::consts::ARCH.to_owned() } else { features.join(" ") };
    let line = format!("{}, {sets}", cores_and_model());
    let advice = "games and decoding will share one core; expect half the speed";
    Finding::warning_if(cores == 1, "processor", line, advice)
}

/// The number format that layers compute in on this device, and what computes it.
pub fn precision(asked: config::PrecisionChoice, device: &Device) -> Finding {
    let found = match Precision::of(asked, device) {
        Ok(found) => found,
        Err(error) => {
            return Finding::problem("precision", error, "--set model.precision=auto takes what suits the device");
        }
    };
    let chosen = if asked == config::PrecisionChoice::Auto { " (auto)" } else { "" };
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
    let advice = "half formats are slower on a processor; leave model.precision at auto";
    Finding::warning_if(device.is_cpu() && found != Precision::F32, "precision", line, advice)
}

/// Free memory, of all that this process may use.
pub fn memory() -> Finding {
    let Some(memory) = MachineMemory::of_this_process() else {
        return Finding::ok("memory", "this system does not say how much is free");
    };
    let line = format!("{:.1} GB free of {:.1} GB", memory.free as f64 / 1e9, memory.total as f64 / 1e9);
    let advice = "end other programs, or lower grpo.micro_batch and rollout.groups";
    Finding::warning_if(memory.free < MEMORY_LOW_BYTES, "memory", line, advice)
}

/// NVIDIA GPUs, as their driver names them.
pub fn gpu() -> Finding {
    gpu_finding(visible_gpus().map(|source| source.inventory()), cfg!(feature = "cuda"))
}

fn gpu_finding(found: Result<Inventory, GpuError>, with_cuda: bool) -> Finding {
    match (found, with_cuda) {
        (Err(_), false) => Finding::ok("gpu", "none found; models run on the processor"),
        (Err(error), true) => Finding::warning(
            "gpu",
            format!("none found, though this build could use one: {error}"),
            "install the NVIDIA driver, or give the container its GPU (docker run --gpus all)",
        ),
        (Ok(inventory), true) => Finding::ok("gpu", inventory.to_string()),
        (Ok(inventory), false) => Finding::warning(
            "gpu",
            format!("{inventory}; this build cannot use it"),
            "build with `make cuda`, which needs no CUDA toolkit",
        ),
    }
}

/// The MPI library that processes would train together with.
pub fn mpi() -> Finding {
    match parallel::library(&environment) {
        Ok((file, version)) => Finding::ok("mpi", format!("{version} ({file})")),
        Err(_) => Finding::ok("mpi", "no library found; needed only by several processes that train together"),
    }
}

/// Versions of the driver, the GPU and the libraries beside those that this build needs; `None` without CUDA.
pub fn cuda() -> Option<Finding> {
    policy::examine_cuda().map(|examination| cuda_finding(&examination))
}

fn cuda_finding(examination: &CudaExamination) -> Finding {
    let kernels = examination.kernels.map_or_else(String::new, |kernels| format!(", compute capability {kernels}"));
    let driver = match &examination.driver {
        Ok(driver) => format!("the driver runs CUDA up to {}", driver.cuda),
        Err(reason) => format!("no driver ({reason})"),
    };
    let libraries =
        examination.libraries.iter().chain([&examination.nccl]).map(ToString::to_string).collect::<Vec<_>>().join(", ");
    let line = format!("built for CUDA {}{kernels}; {driver}; {libraries}", examination.built_with);
    match examination.check(0) {
        Ok(()) => Finding::ok("cuda", line),
        Err(unusable) => {
            Finding::warning("cuda", line, format!("until it is mended models run on the processor: {unusable}"))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::policy::{DriverFound, LibraryFound, Target, Version};
    use crate::preflight::Level;

    #[test]
    fn a_gpu_is_asked_for_by_builds_that_could_use_it() {
        let inventory = || Inventory { driver: Some("580.95.05".into()), cuda: Some((13, 0)), gpus: vec![] };
        let missing = || Err(GpuError::NoGpu);
        assert_eq!(gpu_finding(missing(), false).level, Level::Ok);
        assert_eq!(gpu_finding(missing(), true).level, Level::Warning);
        assert_eq!(gpu_finding(Ok(inventory()), true).level, Level::Ok);
        let unused = gpu_finding(Ok(inventory()), false);
        assert_eq!(
            (unused.level, unused.advice.is_some_and(|advice| advice.contains("make cuda"))),
            (Level::Warning, true)
        );
    }

    #[test]
    fn versions_are_told_together_and_a_lack_with_its_consequence() {
        let mut examination = CudaExamination {
            built_with: Version { major: 13, minor: 0 },
            kernels: Target::of_ptx(".target sm_80"),
            driver: Ok(DriverFound {
                cuda: Version { major: 13, minor: 0 },
                gpus: vec![("NVIDIA H200".into(), Version { major: 9, minor: 0 })],
            }),
            libraries: vec![LibraryFound {
                name: "cuBLAS",
                expected: 13,
                found: Ok(("/opt/libcublas.so.13".into(), Version { major: 13, minor: 1 })),
            }],
            nccl: LibraryFound { name: "NCCL", expected: 2, found: Err("libnccl.so.2: not found".into()) },
        };
        let found = cuda_finding(&examination);
        assert_eq!(
            (found.level, found.finding.as_str()),
            (
                Level::Ok,
                "built for CUDA 13.0, compute capability 8.0 and above; the driver runs CUDA up to 13.0; cuBLAS 13.1 \
                 (/opt/libcublas.so.13), no NCCL (libnccl.so.2: not found)"
            )
        );
        examination.driver = Err("libcuda.so.1: no such file".into());
        let found = cuda_finding(&examination);
        assert!(found.finding.contains("no driver (libcuda.so.1: no such file); cuBLAS 13.1"), "{}", found.finding);
        assert!(found.advice.is_some_and(|advice| advice.contains("run on the processor: no NVIDIA driver")));
    }
}
