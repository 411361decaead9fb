//! The cache of machine code: one file for each combination of what is compiled (an interpreter, or the runtime of compiled
//! programs), wasmtime, configuration and processor.
//!
//! Machine code runs unchecked, so a file is used only if its checksum is right, it belongs to this user, and the key
//! at its end covers everything it was compiled from. Otherwise the interpreter is compiled again.

use std::fs;
use std::hash::{Hash, Hasher};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::time::Duration;

use etcetera::BaseStrategy;
use wasmtime::Engine;

use crate::HostError;

/// Environment variable that names another directory than the default.
const VARIABLE: &str = "GRPO_2048_CACHE";

/// What a cache file has after the code; the last byte is the version of the format.
const MAGIC: &[u8] = b"grpo-2048 sandbox\x03";

/// Beginning and end of the names of cache files.
const NAME: [&str; 2] = ["sandbox-", ".cwasm"];

/// Time without a reader after which another file of this directory is taken for one of an earlier version.
const UNREAD: Duration = Duration::from_secs(30 * 24 * 60 * 60);

/// Bytes after the code: the magic, a key and a checksum. The code comes first, where it can be mapped.
const SEAL: usize = MAGIC.len() + 2 * blake3::OUT_LEN;

pub(crate) fn default_dir() -> Result<PathBuf, HostError> {
    if let Some(dir) = std::env::var_os(VARIABLE).filter(|dir| !dir.is_empty()) {
        return Ok(dir.into());
    }
    let base = etcetera::choose_base_strategy().map_err(|_| HostError::NoCacheDir)?;
    Ok(base.cache_dir().join("grpo-2048"))
}

/// The cache file of one interpreter, or of the compiled tier's runtime, on one engine: its path, and the key that it must have.
pub(crate) struct CacheFile {
    path: PathBuf,
    key: [u8; blake3::OUT_LEN],
}

impl CacheFile {
    /// The file for WebAssembly with this `digest` on `engine` in `dir`.
    pub(crate) fn new(dir: &Path, engine: &Engine, digest: &str) -> CacheFile {
        let mut key = Key(blake3::Hasher::new());
        // A version with another format has another file.
        key.write(MAGIC);
        key.write(digest.as_bytes());
        // This hash covers the version of wasmtime, its settings and the processor's features.
        engine.precompile_compatibility_hash().hash(&mut key);
        let key = key.0.finalize();
        let [begin, end] = NAME;
        let path = dir.join(format!("{begin}{}{end}", &key.to_hex()[..24]));
        CacheFile { path, key: key.into() }
    }

    /// The machine code, if the file is intact and belongs to this user.
    pub(crate) fn open(&self) -> Option<CachedCode> {
        // Opening a named pipe would block until somebody writes to it.
        fs::metadata(&self.path).ok().filter(fs::Metadata::is_file)?;
        let me = self.user();
        if !self.is_dir_of(me) {
            return None;
        }
        let file = fs::File::open(&self.path).ok()?;
        // The check looks at the opened file, which nobody can exchange for another of this name.
        if !is_alone_of(me, &file.metadata().ok()?) {
            tracing::warn!("{}: not this user's alone, compiling the sandbox again", self.path.display());
            return None;
        }
        match self.check(&file).ok()? {
            Ok(bytes) => Some(CachedCode { file, bytes }),
            Err(why) => {
                tracing::warn!("{}: {why}, compiling the sandbox again", self.path.display());
                None
            }
        }
    }

    /// Writes the machine code atomically, and removes what earlier versions left. Processes that race write the same bytes.
    pub(crate) fn write(&self, code: &[u8]) -> io::Result<()> {
        create_private(self.dir())?;
        if !self.is_dir_of(self.user()) {
            return Err(io::Error::other(format!("{}: belongs to another user", self.dir().display())));
        }
        let mut file = tempfile::NamedTempFile::new_in(self.dir())?;
        for part in [code, MAGIC, &self.key, blake3::hash(code).as_bytes()] {
            file.write_all(part)?;
        }
        file.persist(&self.path)?;
        self.remove_unread();
        Ok(())
    }

    /// Removes cache files that nobody has read for long: each version leaves some, of dozens of megabytes. A process that has
    /// mapped one keeps it, and whoever misses one compiles it again.
    fn remove_unread(&self) {
        let is_cache = |name: &str| name.starts_with(NAME[0]) && name.ends_with(NAME[1]);
        for entry in fs::read_dir(self.dir()).into_iter().flatten().flatten() {
            let is_other = entry.file_name().to_str().is_some_and(is_cache) && entry.path() != self.path;
            if is_other && entry.metadata().is_ok_and(|file| file.is_file() && is_unread(&file)) {
                // One that cannot be removed is in nobody's way.
                let _ = fs::remove_file(entry.path());
            }
        }
    }

    fn dir(&self) -> &Path {
        self.path.parent().unwrap_or(Path::new("."))
    }

    /// Whether the directory belongs to this user or to the system, or is not there.
    #[cfg(unix)]
    fn is_dir_of(&self, me: u32) -> bool {
        use std::os::unix::fs::MetadataExt;
        fs::metadata(self.dir()).map_or(true, |dir| [0, me].contains(&dir.uid()))
    }

    #[cfg(not(unix))]
    fn is_dir_of(&self, _: u32) -> bool {
        true
    }

    /// What this process makes may belong to another user than its own, as on NFS; where it can make nothing, the system tells.
    #[cfg(unix)]
    fn user(&self) -> u32 {
        use std::os::unix::fs::MetadataExt;
        let made = tempfile::tempfile_in(self.dir()).and_then(|file| file.metadata());
        made.map_or_else(|_| rustix::process::geteuid().as_raw(), |file| file.uid())
    }

    /// There are no users where the system has none.
    #[cfg(not(unix))]
    fn user(&self) -> u32 {
        0
    }

    /// Checks what follows the code: magic, key, checksum. Returns the length of the code, or why it is not used. The file's
    /// name proves nothing, because a file can be renamed or copied from another machine.
    fn check(&self, mut file: &fs::File) -> io::Result<Result<u64, &'static str>> {
        let length = file.metadata()?.len();
        let Some(bytes) = length.checked_sub(SEAL as u64) else { return Ok(Err("cut short")) };
        let mut seal = [0; SEAL];
        file.seek(SeekFrom::Start(bytes))?;
        file.read_exact(&mut seal)?;
        let Some(rest) = seal.strip_prefix(MAGIC) else {
            return Ok(Err("cut short, or not a cache file of this format"));
        };
        let (key, checksum) = rest.split_at(blake3::OUT_LEN);
        if key != self.key {
            return Ok(Err("compiled for another interpreter, configuration or processor"));
        }
        file.seek(SeekFrom::Start(0))?;
        let mut hasher = blake3::Hasher::new();
        hasher.update_reader(file.take(bytes))?;
        if hasher.finalize().as_bytes() != checksum {
            return Ok(Err("damaged"));
        }
        Ok(Ok(bytes))
    }
}

/// Machine code in a cache file that was checked.
#[derive(Debug)]
pub(crate) struct CachedCode {
    file: fs::File,
    bytes: u64,
}

impl CachedCode {
    /// A path to the opened file, which nobody can exchange for another. Processes that map it share its memory, and what no
    /// program uses is never read.
    #[cfg(unix)]
    pub(crate) fn path(&self) -> PathBuf {
        use std::os::fd::AsRawFd;
        format!("/dev/fd/{}", self.file.as_raw_fd()).into()
    }

    /// The code itself, for where the file cannot be mapped: there is no `/dev/fd`, or nothing may run from its disk.
    pub(crate) fn read(&self) -> io::Result<Vec<u8>> {
        let mut code = Vec::new();
        (&self.file).seek(SeekFrom::Start(0))?;
        (&self.file).take(self.bytes).read_to_end(&mut code)?;
        Ok(code)
    }
}

/// Whether a file was neither written nor read for long. Where the system does not keep when files are read, the time of
/// writing counts.
fn is_unread(file: &fs::Metadata) -> bool {
    let last = file.modified().into_iter().chain(file.accessed()).max();
    last.and_then(|last| last.elapsed().ok()).is_some_and(|ago| ago > UNREAD)
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

/// Whether only this user may have written the file.
#[cfg(unix)]
fn is_alone_of(me: u32, file: &fs::Metadata) -> bool {
    use std::os::unix::fs::MetadataExt;
    file.is_file() && file.mode() & 0o022 == 0 && file.uid() == me
}

#[cfg(not(unix))]
fn is_alone_of(_: u32, file: &fs::Metadata) -> bool {
    file.is_file()
}

#[cfg(test)]
mod tests {
    use std::time::SystemTime;

    use wasmtime::Config;

    use super::*;
    use crate::artifact::PROGRAM;

    const CODE: &[u8] = b"machine code";

    /// Cache files of two engines whose machine code must not be mixed up.
    fn two_files(dir: &Path) -> [CacheFile; 2] {
        [true, false].map(|fuel| {
            let engine = Engine::new(Config::new().consume_fuel(fuel)).unwrap();
            CacheFile::new(dir, &engine, PROGRAM.sha256())
        })
    }

    fn read(file: &CacheFile) -> Option<Vec<u8>> {
        file.open().map(|code| code.read().unwrap())
    }

    #[test]
    fn files_of_other_versions_that_nobody_reads_any_more_make_room() {
        let dir = tempfile::tempdir().unwrap();
        let [file, used] = two_files(dir.path());
        let [old, own] = ["sandbox-0123.cwasm", "mine.cwasm"].map(|name| dir.path().join(name));
        // One was written long ago and read since.
        let written = fs::FileTimes::new().set_modified(SystemTime::UNIX_EPOCH);
        let long_ago = written.set_accessed(SystemTime::UNIX_EPOCH);
        for (path, times) in [(&old, long_ago), (&own, long_ago), (&used.path, written), (&file.path, long_ago)] {
            fs::write(path, CODE).unwrap();
            fs::File::options().write(true).open(path).unwrap().set_times(times).unwrap();
        }
        let reader = fs::File::open(&old).unwrap();
        file.write(CODE).unwrap();
        assert_eq!([&old, &own, &used.path, &file.path].map(|path| path.exists()), [false, true, true, true]);
        assert_eq!(io::read_to_string(reader).unwrap().as_bytes(), CODE, "who has it open keeps it");
    }

    #[test]
    fn a_file_renamed_from_another_configuration_is_not_used() {
        let dir = tempfile::tempdir().unwrap();
        let [with_fuel, without] = two_files(dir.path());
        assert_ne!(with_fuel.path, without.path);
        without.write(CODE).unwrap();
        fs::rename(&without.path, &with_fuel.path).unwrap();
        assert_eq!(read(&with_fuel), None);
        let opened = fs::File::open(&with_fuel.path).unwrap();
        let why = with_fuel.check(&opened).unwrap();
        assert_eq!(why, Err("compiled for another interpreter, configuration or processor"));
    }

    #[test]
    fn a_file_cut_anywhere_is_not_used() {
        let dir = tempfile::tempdir().unwrap();
        let [file, _] = two_files(dir.path());
        file.write(CODE).unwrap();
        let whole = fs::read(&file.path).unwrap();
        for length in 0..whole.len() {
            fs::write(&file.path, &whole[..length]).unwrap();
            assert_eq!(read(&file), None, "{length} of {} bytes", whole.len());
        }
        file.write(CODE).unwrap();
        assert_eq!(read(&file).as_deref(), Some(CODE), "written over what was cut");
    }

    #[cfg(unix)]
    #[test]
    fn a_file_that_others_may_write_is_not_used() {
        use std::os::unix::fs::PermissionsExt;
        let dir = tempfile::tempdir().unwrap();
        let [file, _] = two_files(dir.path());
        file.write(CODE).unwrap();
        for mode in [0o620, 0o602, 0o666] {
            fs::set_permissions(&file.path, PermissionsExt::from_mode(mode)).unwrap();
            assert_eq!(read(&file), None, "{mode:o}");
        }
        fs::set_permissions(&file.path, PermissionsExt::from_mode(0o600)).unwrap();
        assert_eq!(read(&file).as_deref(), Some(CODE));
    }

    #[cfg(unix)]
    #[test]
    fn in_a_directory_of_another_user_nothing_is_used_or_left() {
        let dir = tempfile::tempdir().unwrap();
        let [file, _] = two_files(dir.path());
        file.write(CODE).unwrap();
        // Root alone gives a directory away.
        if std::os::unix::fs::chown(dir.path(), Some(1000), None).is_err() {
            return;
        }
        assert_eq!(read(&file), None);
        fs::remove_file(&file.path).unwrap();
        let refused = file.write(CODE).unwrap_err().to_string();
        assert_eq!(refused, format!("{}: belongs to another user", dir.path().display()));
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 0);
    }

    /// In `/proc/self`, which belongs to this process's user, nobody can make a file.
    #[cfg(target_os = "linux")]
    #[test]
    fn the_user_is_known_where_no_file_can_be_made() {
        const TEST: &str = "cache::tests::the_user_is_known_where_no_file_can_be_made";
        if std::env::var_os("TMPDIR").is_none_or(|dir| dir != "/proc") {
            let mut again = std::process::Command::new(std::env::current_exe().unwrap());
            let again = again.args(["--exact", TEST]).env("TMPDIR", "/proc").output().unwrap();
            let told = String::from_utf8_lossy(&again.stdout);
            assert!(again.status.success() && told.contains("1 passed"), "{told}");
            return;
        }
        let [file, _] = two_files(Path::new("/proc/self"));
        assert!(is_alone_of(file.user(), &fs::metadata("/proc/self/status").unwrap()));
    }

    #[test]
    fn a_file_of_another_format_is_not_used() {
        let dir = tempfile::tempdir().unwrap();
        let [file, _] = two_files(dir.path());
        let older = [CODE, b"grpo-2048 sandbox\x02", &file.key, blake3::hash(CODE).as_bytes()].concat();
        fs::write(&file.path, older).unwrap();
        assert_eq!(read(&file), None);
    }
}
