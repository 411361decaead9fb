//! The cache of machine code: one file for each combination of interpreter, wasmtime, configuration and processor.
//!
//! Machine code runs unchecked, so a file is used only if its checksum is right, it belongs to this user, and the key
//! in its header covers everything it was compiled from. Otherwise the interpreter is compiled again.

use std::fs;
use std::hash::{Hash, Hasher};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};

use etcetera::BaseStrategy;
use wasmtime::Engine;

use crate::HostError;
use crate::artifact::Artifact;

/// Environment variable that names another directory than the default.
const VARIABLE: &str = "GRPO_2048_CACHE";

/// The first bytes of a cache file; the last of them is the version of the format.
const MAGIC: &[u8] = b"grpo-2048 sandbox\x02";

/// Bytes before the code: the magic, a key and a checksum.
const HEADER: usize = MAGIC.len() + 2 * blake3::OUT_LEN;

pub(crate) fn default_dir() -> Result<PathBuf, HostError> {
    if let Some(dir) = std::env::var_os(VARIABLE).filter(|dir| !dir.is_empty()) {
        return Ok(dir.into());
    }
    let base = etcetera::choose_base_strategy().map_err(|_| HostError::NoCacheDir)?;
    Ok(base.cache_dir().join("grpo-2048"))
}

/// The cache file of one interpreter on one engine: its path, and the key that its header must have.
pub(crate) struct CacheFile {
    path: PathBuf,
    key: [u8; blake3::OUT_LEN],
}

impl CacheFile {
    /// The file for `artifact` on `engine` in `dir`.
    pub(crate) fn new(dir: &Path, engine: &Engine, artifact: &Artifact) -> CacheFile {
        let mut key = Key(blake3::Hasher::new());
        key.write(artifact.sha256().as_bytes());
        // This hash covers the version of wasmtime, its settings and the processor's features.
        engine.precompile_compatibility_hash().hash(&mut key);
        let key = key.0.finalize();
        let path = dir.join(format!("sandbox-{}.cwasm", &key.to_hex()[..24]));
        CacheFile { path, key: key.into() }
    }

    /// Reads the machine code, if the file is intact and belongs to this user.
    pub(crate) fn read(&self) -> Option<Vec<u8>> {
        // Opening a named pipe would block until somebody writes to it.
        fs::metadata(&self.path).ok().filter(fs::Metadata::is_file)?;
        let mut file = fs::File::open(&self.path).ok()?;
        // The check looks at the opened file, which nobody can exchange for another of this name.
        if !self.is_ours(&file.metadata().ok()?) {
            tracing::warn!("{}: not this user's alone, compiling the sandbox again", self.path.display());
            return None;
        }
        // The header apart, so that tens of megabytes of code need not be moved to where it was.
        let (mut header, mut code) = (Vec::with_capacity(HEADER), Vec::new());
        (&mut file).take(HEADER as u64).read_to_end(&mut header).ok()?;
        file.read_to_end(&mut code).ok()?;
        match self.check(&header, &code) {
            Ok(()) => Some(code),
            Err(why) => {
                tracing::warn!("{}: {why}, compiling the sandbox again", self.path.display());
                None
            }
        }
    }

    /// Writes the machine code atomically. Processes that race write the same bytes.
    pub(crate) fn write(&self, code: &[u8]) -> io::Result<()> {
        let dir = self.dir();
        let put = || -> io::Result<()> {
            create_private(dir)?;
            let mut file = tempfile::NamedTempFile::new_in(dir)?;
            for part in [MAGIC, &self.key, blake3::hash(code).as_bytes(), code] {
                file.write_all(part)?;
            }
            file.persist(&self.path)?;
            Ok(())
        };
        put()
    }

    fn dir(&self) -> &Path {
        self.path.parent().unwrap_or(Path::new("."))
    }

    /// Whether only this user may have written the file, in a directory that belongs to this user or to the system.
    #[cfg(unix)]
    fn is_ours(&self, file: &fs::Metadata) -> bool {
        use std::os::unix::fs::MetadataExt;
        // This process's user is the owner of a file that it has just made; finding the user so needs no unsafe code.
        let made = tempfile::tempfile_in(self.dir()).or_else(|_| tempfile::tempfile());
        let Ok(me) = made.and_then(|file| file.metadata()).map(|file| file.uid()) else { return false };
        let owner = fs::metadata(self.dir()).map(|dir| dir.uid());
        file.is_file()
            && file.mode() & 0o022 == 0
            && file.uid() == me
            && owner.is_ok_and(|owner| owner == me || owner == 0)
    }

    #[cfg(not(unix))]
    fn is_ours(&self, file: &fs::Metadata) -> bool {
        file.is_file()
    }

    /// Checks the header: magic, key, checksum of the code. The file's name proves nothing, because a file can be renamed or
    /// copied from another machine.
    fn check(&self, header: &[u8], code: &[u8]) -> Result<(), &'static str> {
        let rest = header.strip_prefix(MAGIC).ok_or("not a cache file of this format")?;
        let (key, checksum) = rest.split_at_checked(blake3::OUT_LEN).ok_or("cut short")?;
        if key != self.key {
            return Err("compiled for another interpreter, configuration or processor");
        }
        if checksum.len() < blake3::OUT_LEN {
            return Err("cut short");
        }
        if blake3::hash(code).as_bytes() != checksum {
            return Err("damaged");
        }
        Ok(())
    }
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

/// Hashes into a key that is the same in every process, which `DefaultHasher` does not promise.
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

#[cfg(test)]
mod tests {
    use wasmtime::Config;

    use super::*;
    use crate::artifact::PROGRAM;

    const CODE: &[u8] = b"machine code";

    /// Cache files of two engines whose machine code must not be mixed up.
    fn two_files(dir: &Path) -> [CacheFile; 2] {
        [true, false].map(|fuel| {
            let engine = Engine::new(Config::new().consume_fuel(fuel)).unwrap();
            CacheFile::new(dir, &engine, &PROGRAM)
        })
    }

    #[test]
    fn a_file_is_read_back_as_it_was_written() {
        let dir = tempfile::tempdir().unwrap();
        let [file, _] = two_files(dir.path());
        assert_eq!(file.read(), None);
        file.write(CODE).unwrap();
        assert_eq!(file.read().as_deref(), Some(CODE));
    }

    #[test]
    fn a_file_renamed_from_another_configuration_is_not_used() {
        let dir = tempfile::tempdir().unwrap();
        let [with_fuel, without] = two_files(dir.path());
        assert_ne!(with_fuel.path, without.path);
        without.write(CODE).unwrap();
        fs::rename(&without.path, &with_fuel.path).unwrap();
        assert_eq!(with_fuel.read(), None);
        let bytes = fs::read(&with_fuel.path).unwrap();
        assert_eq!(
            with_fuel.check(&bytes[..HEADER], &bytes[HEADER..]),
            Err("compiled for another interpreter, configuration or processor")
        );
    }

    #[test]
    fn a_file_cut_anywhere_is_not_used() {
        let dir = tempfile::tempdir().unwrap();
        let [file, _] = two_files(dir.path());
        file.write(CODE).unwrap();
        let whole = fs::read(&file.path).unwrap();
        for length in 0..whole.len() {
            fs::write(&file.path, &whole[..length]).unwrap();
            assert_eq!(file.read(), None, "{length} of {} bytes", whole.len());
        }
        file.write(CODE).unwrap();
        assert_eq!(file.read().as_deref(), Some(CODE), "written over what was cut");
    }

    #[cfg(unix)]
    #[test]
    fn a_file_that_others_may_write_is_not_used() {
        use std::os::unix::fs::PermissionsExt;
        let dir = tempfile::tempdir().unwrap();
        let [file, _] = two_files(dir.path());
        file.write(CODE).unwrap();
        fs::set_permissions(&file.path, PermissionsExt::from_mode(0o620)).unwrap();
        assert_eq!(file.read(), None);
        fs::set_permissions(&file.path, PermissionsExt::from_mode(0o600)).unwrap();
        assert_eq!(file.read().as_deref(), Some(CODE));
    }

    #[test]
    fn a_file_of_another_format_is_not_used() {
        let dir = tempfile::tempdir().unwrap();
        let [file, _] = two_files(dir.path());
        let older = [blake3::hash(CODE).as_bytes(), CODE].concat();
        fs::write(&file.path, older).unwrap();
        assert_eq!(file.read(), None);
    }
}
