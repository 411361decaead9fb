//! The program's own kernels: machine code for the GPUs that it is mostly run on, and PTX that the driver translates for
//! any other.

use std::env;
use std::fs;
use std::path::Path;
use std::process::Command;

use crate::toolkit::Toolkit;

const FOLDER: &str = "cuda";
const SOURCE: &str = "kernels.cu";
/// Extensions of files that the compiler may read there.
const READ: [&str; 3] = ["cu", "cuh", "h"];
/// Default of `CUDA_COMPUTE_CAP`, the lowest compute capability of a GPU: 8.0 is the first with bf16.
const LOWEST_CAPABILITY: &str = "80";

/// Compute capabilities that there is machine code for, from the lowest that is asked for on: A100, and H100 and H200.
const TRANSLATED: [u32; 2] = [80, 90];

/// Writes `kernels.fatbin` to `out`.
pub fn compile(toolkit: &Toolkit, out: &Path) -> Result<(), String> {
    let source = Path::new(FOLDER).join(SOURCE);
    let entries = fs::read_dir(FOLDER).map_err(|error| format!("{FOLDER}: {error}"))?;
    for path in entries.flatten().map(|entry| entry.path()) {
        if path.extension().is_some_and(|ending| READ.iter().any(|read| ending == *read)) {
            println!("cargo::rerun-if-changed={}", path.display());
        }
    }
    println!("cargo::rerun-if-env-changed=CUDA_COMPUTE_CAP");
    println!("cargo::rerun-if-env-changed=NVCC_CCBIN");
    let asked = env::var("CUDA_COMPUTE_CAP").unwrap_or_else(|_| LOWEST_CAPABILITY.to_owned());
    let mut nvcc = Command::new(&toolkit.nvcc);
    nvcc.args(["--fatbin", "-O3", "-std=c++17", "--generate-line-info", "--no-compress"]).args(codes(&asked)?);
    // It may ask for compression, which what the program is packed with does better.
    nvcc.env_remove("NVCC_APPEND_FLAGS");
    if let Some(compiler) = env::var_os("NVCC_CCBIN") {
        nvcc.arg("-ccbin").arg(compiler);
    }
    nvcc.arg("-o").arg(out.join("kernels.fatbin")).arg(&source);
    let said = nvcc.output().map_err(|error| format!("{}: {error}", toolkit.nvcc.display()))?;
    match said.status.success() {
        true => Ok(()),
        false => Err(format!(
            "{} does not compile with {}\n{}{}",
            source.display(),
            toolkit.nvcc.display(),
            String::from_utf8_lossy(&said.stdout),
            String::from_utf8_lossy(&said.stderr)
        )),
    }
}

/// Arguments that ask for PTX of the capability that "80", "8.0", "sm_80" or "90a" names, and for machine code.
fn codes(asked: &str) -> Result<Vec<String>, String> {
    let plain: String = asked.trim().trim_start_matches("sm_").chars().filter(|&c| c != '.').collect();
    let digits = plain.trim_end_matches(['a', 'f']);
    let lowest = match digits.parse::<u32>() {
        Ok(lowest @ 50..=999) if plain.len() <= digits.len() + 1 => lowest,
        _ => return Err(format!("CUDA_COMPUTE_CAP={asked}: expected a compute capability such as 80, 90 or 90a")),
    };
    let machine = TRANSLATED.iter().filter(|capability| **capability >= lowest && plain == digits);
    let machine = machine.map(|capability| format!("-gencode=arch=compute_{capability},code=sm_{capability}"));
    Ok(machine.chain([format!("-gencode=arch=compute_{plain},code=compute_{plain}")]).collect())
}
