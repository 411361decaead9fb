//! What keeps the program small: code that it never calls is not linked, and constants are linked once.

use std::env;
use std::fmt::Write as _;
use std::fs;
use std::io::Write as _;
use std::path::Path;
use std::process::{Command, Stdio};

use crate::packages::Packages;

/// The crate with the machine code of products of quantised weights, and the file that declares them.
const KERNELS: (&str, &str) = ("candle-kernels", "ffi.rs");
/// Folds constants that are equal, of which copies are in many units of code: the text of kernels above all. Functions
/// stay as they are.
const FOLD: [&str; 2] = ["-Wl,--icf=safe", "-Wl,--ignore-data-address-equality"];

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

/// Has equal constants linked once, where the linker knows how to.
pub fn fold_constants(out: &Path) {
    if links(out).unwrap_or(false) {
        FOLD.iter().for_each(|argument| println!("cargo::rustc-link-arg={argument}"));
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
    for argument in FOLD {
        command.arg("-C").arg(format!("link-arg={argument}"));
    }
    let mut running = command.arg("-").stdin(Stdio::piped()).stderr(Stdio::null()).spawn()?;
    running.stdin.take().map_or(Ok(()), |mut input| input.write_all(b"fn main() {}"))?;
    let linked = running.wait()?.success();
    let _ = fs::remove_file(program);
    Ok(linked)
}
