//! What keeps the program small: code that it never calls is not linked, and equal functions are linked once.

use std::env;
use std::fmt::Write as _;
use std::fs;
use std::io::Write as _;
use std::path::Path;
use std::process::{Command, Stdio};

use crate::packages::Packages;

/// The crate with the machine code of products of quantised weights, and the file that declares them.
const KERNELS: (&str, &str) = ("candle-kernels", "ffi.rs");
/// Links equal functions once: Rust promises none an address of its own. Not for machine code of GPUs, where an address
/// on the host names a kernel; none of that is linked.
const FOLD: &str = "link-arg=-Wl,--icf=all";

/// Leaves `quantized.rs` in `out`: a function for each product of quantised weights, so that the archive that holds the
/// real ones is not linked. Weights are made plain numbers when they are loaded, so none is ever called.
pub fn leave_out_quantised(packages: &Packages, out: &Path) -> Result<(), String> {
    let source = packages.source(KERNELS.0)?.join(KERNELS.1);
    let declared = fs::read_to_string(&source).map_err(|error| format!("{}: {error}", source.display()))?;
    let mut text = String::new();
    for declaration in declared.split("pub fn ").skip(1) {
        let name = declaration.split('(').next().unwrap_or_default();
        let _ = writeln!(text, "#[unsafe(no_mangle)]\nextern \"C\" fn {name}() {{\n    absent(\"{name}\")\n}}");
    }
    let generated = out.join("quantized.rs");
    fs::write(&generated, text).map_err(|error| format!("{}: {error}", generated.display()))
}

/// Has equal functions linked once, where the linker knows how to.
pub fn fold_functions(out: &Path) {
    if links(out).unwrap_or(false) {
        println!("cargo::rustc-{FOLD}");
    }
}

/// Whether a program can be linked that way.
fn links(out: &Path) -> std::io::Result<bool> {
    let compiler = env::var_os("RUSTC").unwrap_or_else(|| "rustc".into());
    let mut command = Command::new(compiler);
    let program = out.join("folded");
    command.args(["--target", &env::var("TARGET").unwrap_or_default(), "-o"]).arg(&program);
    if let Some(linker) = env::var_os("RUSTC_LINKER") {
        command.arg("-C").arg(format!("linker={}", linker.to_string_lossy()));
    }
    let flags = env::var("CARGO_ENCODED_RUSTFLAGS").unwrap_or_default();
    command.args(flags.split('\x1f').filter(|flag| !flag.is_empty()));
    command.args(["-C", FOLD]);
    let mut running = command.arg("-").stdin(Stdio::piped()).stderr(Stdio::null()).spawn()?;
    running.stdin.take().map_or(Ok(()), |mut input| input.write_all(b"fn main() {}"))?;
    let linked = running.wait()?.success();
    let _ = fs::remove_file(program);
    Ok(linked)
}
