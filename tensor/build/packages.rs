//! Sources of the packages in this build.

use std::env;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The output of `cargo metadata`.
pub struct Packages {
    metadata: String,
    complaint: String,
}

impl Packages {
    /// Runs cargo.
    pub fn read() -> Result<Packages, String> {
        println!("cargo::rerun-if-changed=../Cargo.lock");
        let cargo = env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
        let target = env::var("TARGET").unwrap_or_default();
        let asked = Command::new(cargo)
            .args([
                "metadata", "--format-version", "1", "--offline", "--features", "cuda", "--filter-platform", &target,
            ])
            .output()
            .map_err(|error| format!("cargo metadata: {error}"))?;
        let [metadata, complaint] =
            [asked.stdout, asked.stderr].map(|text| String::from_utf8_lossy(&text).into_owned());
        Ok(Packages { metadata, complaint })
    }

    /// Directory of the Rust sources of the package `name`.
    pub fn source(&self, name: &str) -> Result<PathBuf, String> {
        let package = self.metadata.split(&format!("\"name\":\"{name}\",\"version\":")).nth(1);
        let manifest = package.and_then(|rest| rest.split("\"manifest_path\":\"").nth(1)?.split('"').next());
        let directory = manifest.and_then(|path| Some(Path::new(path).parent()?.join("src")));
        directory.ok_or_else(|| format!("cargo metadata names no package {name}\n{}", self.complaint))
    }
}
