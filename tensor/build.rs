//! Prepares a build with CUDA: the program's own kernels, and stubs that are linked in place of NVIDIA's libraries. A
//! build without CUDA needs nothing of this.

#[cfg(feature = "cuda")]
#[path = "build/kernels.rs"]
mod kernels;
#[cfg(feature = "cuda")]
#[path = "build/libraries.rs"]
mod libraries;
#[cfg(feature = "cuda")]
#[path = "build/packages.rs"]
mod packages;
#[cfg(feature = "cuda")]
#[path = "build/size.rs"]
mod size;
#[cfg(feature = "cuda")]
#[path = "build/toolkit.rs"]
mod toolkit;

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    #[cfg(feature = "cuda")]
    if let Err(message) = with_cuda() {
        for line in message.lines() {
            println!("cargo::error={line}");
        }
    }
}

#[cfg(feature = "cuda")]
fn with_cuda() -> Result<(), String> {
    println!("cargo::rerun-if-changed=build");
    let out = std::path::PathBuf::from(std::env::var_os("OUT_DIR").ok_or("OUT_DIR is not set")?);
    let (toolkit, packages) = (toolkit::Toolkit::find()?, packages::Packages::read()?);
    kernels::compile(&toolkit, &out)?;
    size::leave_out_quantised(&packages, &out)?;
    libraries::build(&toolkit, &packages, &out.join("lib"))
}
