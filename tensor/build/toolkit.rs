//! The CUDA toolkit that a build uses.

use std::env;
use std::path::{Path, PathBuf};
use std::process::Command;

/// A compiler, and the directory of its libraries.
pub struct Toolkit {
    /// Path of nvcc.
    pub nvcc: PathBuf,
    /// Its version, such as (13, 0).
    pub version: (u32, u32),
}

impl Toolkit {
    /// Searches where the build scripts of the tensor library do, in the same order: `NVCC`, `PATH`, `CUDA_HOME`,
    /// usual places.
    pub fn find() -> Result<Toolkit, String> {
        for name in ["NVCC", "CUDA_HOME", "CUDA_PATH"] {
            println!("cargo::rerun-if-env-changed={name}");
        }
        let named = env::var_os("NVCC").map(PathBuf::from);
        let in_path = env::var_os("PATH").into_iter().flat_map(|path| env::split_paths(&path).collect::<Vec<_>>());
        let homes = ["CUDA_HOME", "CUDA_PATH"].into_iter().filter_map(env::var_os).map(PathBuf::from);
        let usual = ["/usr/local/cuda", "/opt/cuda", "/usr/lib/cuda"].into_iter().map(PathBuf::from);
        let candidates = named
            .into_iter()
            .chain(in_path.map(|directory| directory.join("nvcc")))
            .chain(homes.chain(usual).map(|home| home.join("bin/nvcc")));
        let nvcc = candidates.into_iter().find(|path| path.is_file()).ok_or(
            "nvcc not found in PATH, CUDA_HOME/bin or /usr/local/cuda/bin\n\
             `make cuda` fetches a CUDA compiler from PyPI; or install the CUDA toolkit, or build without the feature cuda",
        )?;
        let version = version(&nvcc)?;
        Ok(Toolkit { nvcc, version })
    }

    /// The runtime as an archive, so that the program needs no library for it when it starts.
    pub fn static_runtime(&self) -> Result<PathBuf, String> {
        let nvcc = self.nvcc.canonicalize().unwrap_or_else(|_| self.nvcc.clone());
        let homes = [self.nvcc.as_path(), nvcc.as_path()].map(|nvcc| nvcc.parent().and_then(Path::parent));
        let arch = env::var("CARGO_CFG_TARGET_ARCH").unwrap_or_default();
        let platform = if arch == "aarch64" { "sbsa-linux" } else { "x86_64-linux" };
        let places =
            ["lib64".to_owned(), "lib".to_owned(), format!("targets/{platform}/lib"), format!("lib/{arch}-linux-gnu")];
        let found = homes
            .into_iter()
            .flatten()
            .flat_map(|home| places.iter().map(move |place| home.join(place).join("libcudart_static.a")));
        found.into_iter().find(|path| path.is_file()).ok_or_else(|| {
            format!(
                "libcudart_static.a not found beside {}; install the development files of CUDA's runtime",
                nvcc.display()
            )
        })
    }
}

fn version(nvcc: &Path) -> Result<(u32, u32), String> {
    let unusable = |what: &str| format!("{} --version: {what}", nvcc.display());
    let output = Command::new(nvcc).arg("--version").output().map_err(|error| unusable(&error.to_string()))?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let release = text.split("release ").nth(1).and_then(|rest| rest.split(',').next());
    let numbers = release.and_then(|release| release.trim().split_once('.'));
    numbers
        .and_then(|(major, minor)| Some((major.parse().ok()?, minor.parse().ok()?)))
        .ok_or_else(|| unusable("names no release"))
}
