//! The machine-code cache: one file for each combination of interpreter, wasmtime, configuration and processor.
//!
//! Machine code is run as it is, so a file is used only if it is whole (checksum) and belongs to this user, and the
//! key in its name covers everything it was compiled from. Everything else is compiled again.

use std::fs;
use std::hash::{Hash, Hasher};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use etcetera::BaseStrategy;
use wasmtime::Engine;

use crate::{HostError, artifact};

/// Names the directory that overrides the default.
const VARIABLE: &str = "GRPO_2048_CACHE";

pub(crate) fn default_dir() -> Result<PathBuf, HostError> {
    if let Some(dir) = std::env::var_os(VARIABLE).filter(|dir| !dir.is_empty()) {
        return Ok(dir.into());
    }
    let base = etcetera::choose_base_strategy().map_err(|_| HostError::NoCacheDir)?;
    Ok(base.cache_dir().join("grpo-2048"))
}

/// The file for `engine` in `dir`.
pub(crate) fn path(dir: &Path, engine: &Engine) -> PathBuf {
    let mut key = Key(blake3::Hasher::new());
    key.write(artifact::SHA256.as_bytes());
    // Covers the version of wasmtime, its settings and the processor's features.
    engine.precompile_compatibility_hash().hash(&mut key);
    dir.join(format!("sandbox-{}.cwasm", &key.0.finalize().to_hex()[..24]))
}

/// The machine code in `path`, if it is whole and ours.
pub(crate) fn read(path: &Path) -> Option<Vec<u8>> {
    let owned = fs::metadata(path).ok().filter(is_ours)?;
    let bytes = fs::read(path).ok().filter(|bytes| bytes.len() as u64 == owned.len())?;
    let (checksum, code) = bytes.split_at_checked(blake3::OUT_LEN)?;
    if blake3::hash(code) != <[u8; blake3::OUT_LEN]>::try_from(checksum).ok()? {
        tracing::warn!("{}: damaged, compiling the sandbox again", path.display());
        return None;
    }
    Some(code.to_vec())
}

/// Puts machine code in place, whole or not at all; processes that race write the same bytes.
pub(crate) fn write(path: &Path, code: &[u8]) -> Result<(), HostError> {
    let dir = path.parent().unwrap_or(Path::new("."));
    let put = || -> io::Result<()> {
        create_private(dir)?;
        let mut file = tempfile::NamedTempFile::new_in(dir)?;
        file.write_all(blake3::hash(code).as_bytes())?;
        file.write_all(code)?;
        file.persist(path)?;
        Ok(())
    };
    put().map_err(|source| HostError::Cache { path: path.to_owned(), source })
}

#[cfg(unix)]
fn create_private(dir: &Path) -> io::Result<()> {
    use std::os::unix::fs::DirBuilderExt;
    fs::DirBuilder::new().recursive(true).mode(0o700).create(dir)
}

#[cfg(not(unix))]
fn create_private(dir: &Path) -> io::Result<()> {
    fs::create_dir_all(dir)
}

/// Written by this user, and by nobody else since.
#[cfg(unix)]
fn is_ours(file: &fs::Metadata) -> bool {
    use std::os::unix::fs::MetadataExt;
    // The owner of a file this process has just made is this process's user; asking the system needs no unsafe code.
    let me = tempfile::tempfile().and_then(|file| file.metadata()).map(|file| file.uid());
    file.is_file() && file.mode() & 0o022 == 0 && me.is_ok_and(|me| me == file.uid())
}

#[cfg(not(unix))]
fn is_ours(file: &fs::Metadata) -> bool {
    file.is_file()
}

/// Collects what is hashed into a key that is stable between processes, which `DefaultHasher` does not promise.
struct Key(blake3::Hasher);

impl Hasher for Key {
    fn write(&mut self, bytes: &[u8]) {
        self.0.update(bytes);
    }

    fn finish(&self) -> u64 {
        let hash = self.0.finalize();
        u64::from_le_bytes(hash.as_bytes()[..8].try_into().expect("eight bytes"))
    }
}
