//! Where runs are written: whether a directory can be, is free, and is locked by nobody else.

use std::ffi::OsString;
use std::fs::{self, File};
use std::io;
use std::path::Path;

use super::error::RunDirError;
use crate::files::{self, PARTIAL};

/// The word that stands for the newest run where a run is named.
pub const NEWEST: &str = "latest";
/// The lock file, which a process holds while it writes to the directory.
pub const LOCK: &str = ".lock";
/// The error of a lock on an NFS without a lock daemon: ENOLCK.
const NO_LOCKS: i32 = 37;

/// Makes a directory, if it is not there, and locks it against other processes until the file that is returned is dropped.
pub fn lock(dir: &Path) -> Result<File, RunDirError> {
    fs::create_dir_all(dir).map_err(RunDirError::io(dir))?;
    let path = dir.join(LOCK);
    let opened = File::options().create(true).truncate(false).write(true).open(&path);
    let file = opened.map_err(|source| unopened(dir, source))?;
    match file.try_lock() {
        Ok(()) => Ok(file),
        Err(fs::TryLockError::WouldBlock) => Err(RunDirError::Locked { path: dir.to_owned() }),
        Err(fs::TryLockError::Error(source)) => Err(unlocked(dir, source)),
    }
}

/// What is said of a directory whose lock cannot be opened.
pub(super) fn unopened(dir: &Path, source: io::Error) -> RunDirError {
    match source.kind() {
        io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem => {
            RunDirError::ReadOnly { path: dir.to_owned(), source }
        }
        _ => RunDirError::io(&dir.join(LOCK))(source),
    }
}

/// What is said of a directory whose lock failed for another reason than that somebody holds it.
pub(super) fn unlocked(dir: &Path, source: io::Error) -> RunDirError {
    let path = dir.to_owned();
    match source.kind() == io::ErrorKind::Unsupported || source.raw_os_error() == Some(NO_LOCKS) {
        true => RunDirError::NoLocks { path, source },
        false => RunDirError::Io { path: path.join(LOCK), source },
    }
}

/// Refuses a path below something that is no directory, or where nothing can be created. It creates a directory to find
/// out, because permissions do not tell whether a file system is full or read-only.
pub(super) fn creatable(path: &Path) -> Result<(), RunDirError> {
    // A link to nowhere is in the way, though it does not exist.
    let place = path.ancestors().find(|place| place.exists() || place.is_symlink()).unwrap_or(Path::new("."));
    if !place.is_dir() {
        return Err(RunDirError::NoDirectory { path: place.to_owned() });
    }
    let made = tempfile::Builder::new().prefix(PARTIAL).tempdir_in(place).and_then(tempfile::TempDir::close);
    // Its kind alone: the words would name the directory that was tried.
    made.map_err(|error| unwritable(path, place, error.kind().into()))
}

/// Why nothing can be created in `place`, and so not at `path`. A full disk is no mistake of the user's.
pub(super) fn unwritable(path: &Path, place: &Path, source: io::Error) -> RunDirError {
    match files::is_full(&source) {
        true => RunDirError::Io { path: path.to_owned(), source },
        false => {
            // Nobody has named the directory that the command is called in.
            let named = if place == Path::new(".") { path } else { place };
            RunDirError::NotWritable { path: named.to_owned(), source }
        }
    }
}

/// Whether a directory is new or empty, but for a lock and what a killed process left incomplete. Refuses a path where none can
/// be created, and leaves nothing behind.
pub fn is_free(path: &Path) -> Result<bool, RunDirError> {
    // Commands with that name would take another run, if not this one by chance.
    if path.as_os_str() == NEWEST {
        return Err(RunDirError::Newest { path: path.to_owned() });
    }
    creatable(path)?;
    // As of a name that is too long.
    if !path.try_exists().map_err(|error| unwritable(path, path, error))? {
        return Ok(true);
    }
    if !path.is_dir() {
        return Err(RunDirError::NoDirectory { path: path.to_owned() });
    }
    let mut entries = fs::read_dir(path).map_err(RunDirError::io(path))?;
    let is_left = |name: OsString| name == LOCK || name.to_string_lossy().starts_with(PARTIAL);
    Ok(entries.all(|entry| entry.is_ok_and(|entry| is_left(entry.file_name()))))
}
