//! Keeps the program small: code that is never called is not linked.

use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use crate::packages::Packages;

/// The crate with the machine code of products of quantised weights, and the file that declares them.
const KERNELS: (&str, &str) = ("candle-kernels", "ffi.rs");
/// Writes `quantized.rs` to `out`, with a stub for each product of quantised weights, so that the archive with the
/// real ones is not linked. Weights are dequantised when they are loaded, so no stub is ever called.
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
