//! The committed interpreters, embedded in the binary in compressed form.

use crate::HostError;

/// A component, compressed by xz.
pub(crate) struct Artifact {
    compressed: &'static [u8],
    checksum_line: &'static str,
    /// Linear memory that it takes before a program does, with room for a rebuilt guest.
    pub(crate) taken_bytes: u64,
}

/// CPython and its library.
pub(crate) const PROGRAM: Artifact = Artifact {
    compressed: include_bytes!("../artifact/program.wasm.xz"),
    checksum_line: include_str!("../artifact/program.wasm.sha256"),
    taken_bytes: 20 << 20,
};

/// The same with numpy.
pub(crate) const NUMPY: Artifact = Artifact {
    compressed: grpo_sandbox_numpy::COMPRESSED,
    checksum_line: grpo_sandbox_numpy::CHECKSUM_LINE,
    taken_bytes: 29 << 20,
};

/// Sha256 of the component, in hexadecimal. A verdict depends on it.
pub const SHA256: &str = PROGRAM.sha256();

/// Compressed size in bytes.
pub const WASM_BYTES: usize = PROGRAM.compressed.len();

/// Sha256 of the component with numpy. The verdict of a program that has numpy depends on it, and no other.
pub const NUMPY_SHA256: &str = NUMPY.sha256();

impl Artifact {
    /// Sha256 of the component, in hexadecimal.
    pub(crate) const fn sha256(&self) -> &'static str {
        self.checksum_line.split_at(64).0
    }

    /// Decompresses the component and verifies its checksum.
    pub(crate) fn component(&self) -> Result<Vec<u8>, HostError> {
        use sha2::Digest;
        let broken = |what: String| HostError::Artifact(what);
        let mut wasm = Vec::new();
        lzma_rs::xz_decompress(&mut &self.compressed[..], &mut wasm)
            .map_err(|error| broken(format!("does not decompress: {error}")))?;
        let found: String = sha2::Sha256::digest(&wasm).iter().map(|byte| format!("{byte:02x}")).collect();
        let expected = self.sha256();
        if found != expected {
            return Err(broken(format!("has sha256 {found}, expected {expected}")));
        }
        Ok(wasm)
    }
}
