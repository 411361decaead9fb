//! Adapters on disk for servers: each in its own directory, which is named after its content and written completely or
//! not at all.
//!
//! Runs may share the directory that servers read. So a run notes in its own what it makes there, before it is made, and
//! when it goes on after it was killed, it removes that and nothing else.

use std::ffi::OsStr;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::files::{self, PARTIAL};
use crate::policy::Policy;

use super::super::RolloutError;

/// The beginning of the names of adapters.
const PREFIX: &str = "grpo-2048-";
/// The end of the name of a note, after the name of the directory whose path it holds.
const NOTE: &str = ".made";

/// An adapter on disk.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct Adapter {
    /// Its name with a digest of its files, so that different adapters have different names.
    pub name: String,
    /// Its directory, an absolute path.
    pub path: PathBuf,
}

/// Where a run writes its adapters.
#[derive(Debug)]
pub(super) struct AdapterDir {
    /// The directory that servers read; empty until it is known.
    path: PathBuf,
    /// The run's own directory of adapters, with its notes. None if it is the one that servers read.
    notes: Option<PathBuf>,
}

impl AdapterDir {
    /// The directory that the configuration names; none if it names none.
    pub fn named(path: &str) -> AdapterDir {
        AdapterDir { path: path.into(), notes: None }
    }

    /// Takes the run's own directory of adapters, for adapters where no other is named, and for notes where one is. Removes
    /// what the run has left when it was killed, and returns those of it that are adapters.
    pub fn settle(&mut self, own: &Path) -> Vec<Adapter> {
        if self.path.as_os_str().is_empty() {
            self.path = own.to_owned();
        } else {
            self.notes = Some(own.to_owned());
        }
        sweep(own)
    }

    /// Refuses a directory that is named and in which no adapter can be written. Permissions do not tell that, so it makes a
    /// directory there and removes it.
    pub fn check(&self) -> Result<(), RolloutError> {
        if self.path.as_os_str().is_empty() {
            return Ok(());
        }
        // A link to nowhere is in the way, though it does not exist.
        let place = self.path.ancestors().find(|place| place.exists() || place.is_symlink()).unwrap_or(Path::new("."));
        new_dir(place).and_then(tempfile::TempDir::close).map_err(|error| {
            // Its kind alone: the words would name the directory that was tried.
            let (path, source) = (self.path.clone(), error.kind().into());
            match files::is_full(&error) {
                true => RolloutError::Adapter { path, source },
                false => RolloutError::AdapterDir { path, place: place.to_owned(), source },
            }
        })
    }

    /// Writes the adapter of `policy`, unless it is there already.
    pub fn write(&self, policy: &Policy) -> Result<Adapter, RolloutError> {
        let io = |source| RolloutError::Adapter { path: self.path.clone(), source };
        fs::create_dir_all(&self.path).map_err(io)?;
        // With the links of the name that was given: where they lead may have another name on another machine.
        let dir = std::path::absolute(&self.path).map_err(io)?;
        let partial = new_dir(&dir).map_err(io)?;
        self.note(partial.path())?;
        policy.save_adapter(partial.path())?;
        let name = format!("{PREFIX}{}", digest(partial.path()).map_err(io)?);
        let path = dir.join(&name);
        self.note(&path)?;
        if !path.is_dir() {
            files::publish_dir(partial.path(), &path).map_err(io)?;
        }
        self.forget(partial.path());
        Ok(Adapter { name, path })
    }

    /// Removes the directory of an adapter. An error is ignored, because the directory only takes space.
    pub fn remove(&self, adapter: &Adapter) {
        let _ = fs::remove_dir_all(&adapter.path);
        self.forget(&adapter.path);
    }

    /// Notes that this directory is the run's, where the run has another one for notes.
    fn note(&self, made: &Path) -> Result<(), RolloutError> {
        let Some((notes, note)) = self.note_of(made) else { return Ok(()) };
        let written =
            fs::create_dir_all(notes).and_then(|()| files::write_whole(&note, made.as_os_str().as_encoded_bytes()));
        written.map_err(|source| RolloutError::Adapter { path: note, source })
    }

    /// Removes the note of a directory that is gone.
    fn forget(&self, gone: &Path) {
        if let Some((_, note)) = self.note_of(gone) {
            let _ = fs::remove_file(note);
        }
    }

    /// The directory of notes, and the note of a directory in it.
    fn note_of(&self, made: &Path) -> Option<(&Path, PathBuf)> {
        let (notes, name) = (self.notes.as_deref()?, made.file_name()?.to_str()?);
        Some((notes, notes.join(format!("{name}{NOTE}"))))
    }
}

/// Removes what a killed run has left in its directory of adapters, and elsewhere by its notes. Returns the adapters among
/// it.
fn sweep(own: &Path) -> Vec<Adapter> {
    let mut left = Vec::new();
    for entry in fs::read_dir(own).into_iter().flatten().flatten() {
        let found = entry.path();
        let file = entry.file_name().to_string_lossy().into_owned();
        if !file.starts_with(PREFIX) && !file.starts_with(PARTIAL) {
            continue;
        }
        let (name, path) = match file.strip_suffix(NOTE) {
            // A note that cannot be read names nothing.
            Some(name) => (name.to_owned(), fs::read_to_string(&found).unwrap_or_default().into()),
            None => (file, found.clone()),
        };
        // A note that was changed names what is no adapter of a run.
        if path.file_name() == Some(OsStr::new(&name)) {
            let _ = fs::remove_dir_all(&path);
        }
        let _ = fs::remove_file(&found);
        if name.starts_with(PREFIX) && left.iter().all(|known: &Adapter| known.name != name) {
            left.push(Adapter { name, path });
        }
    }
    left
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn where_no_adapter_can_be_written_is_found_before_there_is_one_and_nothing_is_left_of_the_trial() {
        let root = tempfile::tempdir().unwrap();
        fs::write(root.path().join("file"), "").unwrap();
        let check = |path: &Path| AdapterDir::named(path.to_str().unwrap()).check();
        for closed in ["file", "file/below"].map(|name| root.path().join(name)) {
            let error = check(&closed).unwrap_err();
            assert!(matches!(&error, RolloutError::AdapterDir { path, .. } if *path == closed), "{error}");
        }
        for open in ["", "new", "new/below"] {
            check(&root.path().join(open)).unwrap();
        }
        AdapterDir::named("").check().unwrap();
        assert_eq!(fs::read_dir(root.path()).unwrap().count(), 1);
    }

    #[test]
    fn a_note_that_names_another_directory_removes_nothing_but_itself() {
        let root = tempfile::tempdir().unwrap();
        let [own, kept] = ["adapters", "kept"].map(|name| root.path().join(name));
        for dir in [&own, &kept] {
            fs::create_dir(dir).unwrap();
        }
        fs::write(own.join("grpo-2048-a.made"), kept.to_str().unwrap()).unwrap();
        let left = sweep(&own);
        assert_eq!(left, [Adapter { name: "grpo-2048-a".into(), path: kept.clone() }]);
        assert!(kept.is_dir() && fs::read_dir(&own).unwrap().next().is_none());
    }
}
