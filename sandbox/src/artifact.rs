//! The committed interpreter, embedded in the binary in compressed form.

use crate::HostError;

/// The component, compressed by xz.
const COMPRESSED: &[u8] = include_bytes!("../artifact/program.wasm.xz");

const CHECKSUM_LINE: &str = include_str!("../artifact/program.wasm.sha256");

/// Sha256 of the component, in hexadecimal. A verdict depends on it.
pub const SHA256: &str = CHECKSUM_LINE.split_at(64).0;

/// Compressed size in bytes.
pub const WASM_BYTES: usize = COMPRESSED.len();

/// Decompresses the component and verifies its checksum.
pub(crate) fn component() -> Result<Vec<u8>, HostError> {
    use sha2::Digest;
    let broken = |what: String| HostError::Artifact(what);
    let mut wasm = Vec::new();
    lzma_rs::xz_decompress(&mut &COMPRESSED[..], &mut wasm)
        .map_err(|error| broken(format!("does not decompress: {error}")))?;
    let found: String = sha2::Sha256::digest(&wasm).iter().map(|byte| format!("{byte:02x}")).collect();
    if found != SHA256 {
        return Err(broken(format!("has sha256 {found}, expected {SHA256}")));
    }
    Ok(wasm)
}
