//! Adapters on disk for servers: each in its own directory, which is named after its content and written completely or
//! not at all.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use crate::files::{self, PARTIAL};
use crate::policy::Policy;

use super::super::RolloutError;

/// The beginning of the names of adapters.
const PREFIX: &str = "grpo-2048-";

/// An adapter on disk.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Adapter {
    /// Its name with a digest of its files, so that different adapters have different names.
    pub name: String,
    /// Its directory, an absolute path.
    pub path: PathBuf,
}

impl Adapter {
    /// Writes the adapter of `policy` below `dir`, unless it is there already.
    pub fn write(policy: &Policy, dir: &Path) -> Result<Adapter, RolloutError> {
        let io = |source| RolloutError::Adapter { path: dir.to_owned(), source };
        fs::create_dir_all(dir).map_err(io)?;
        let dir = dir.canonicalize().map_err(io)?;
        let partial = new_dir(&dir).map_err(io)?;
        policy.save_adapter(partial.path())?;
        let name = format!("{PREFIX}{}", digest(partial.path()).map_err(io)?);
        let path = dir.join(&name);
        if !path.is_dir() {
            files::publish_dir(partial.path(), &path).map_err(io)?;
        }
        Ok(Adapter { name, path })
    }

    /// Removes its directory. An error is ignored, because the directory only takes space.
    pub fn remove(&self) {
        let _ = fs::remove_dir_all(&self.path);
    }
}

/// Removes the adapters that a killed run has left in its directory.
pub(super) fn sweep(dir: &Path) {
    for entry in fs::read_dir(dir).into_iter().flatten().flatten() {
        let name = entry.file_name().to_string_lossy().into_owned();
        if name.starts_with(PREFIX) || name.starts_with(PARTIAL) {
            let _ = fs::remove_dir_all(entry.path());
        }
    }
}

/// A temporary directory with the permissions that the umask allows, because a server may run as another user.
fn new_dir(dir: &Path) -> io::Result<tempfile::TempDir> {
    let mut builder = tempfile::Builder::new();
    builder.prefix(PARTIAL);
    #[cfg(unix)]
    builder.permissions(std::os::unix::fs::PermissionsExt::from_mode(0o777));
    builder.tempdir_in(dir)
}

/// The BLAKE3 digest of all files in the order of their names, in 32 hexadecimal digits.
fn digest(dir: &Path) -> io::Result<String> {
    let mut paths: Vec<PathBuf> = fs::read_dir(dir)?.map(|entry| Ok(entry?.path())).collect::<io::Result<_>>()?;
    paths.sort();
    let mut hasher = blake3::Hasher::new();
    for path in paths {
        let bytes = fs::read(&path)?;
        hasher.update(&(bytes.len() as u64).to_le_bytes()).update(&bytes);
    }
    Ok(hasher.finalize().to_hex()[..32].to_owned())
}
