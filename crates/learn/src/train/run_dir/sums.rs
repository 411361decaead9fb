//! Digests of the files of a checkpoint, so that no run continues from one that was damaged after it was written.
//!
//! The list has the format of `b3sum --check`, and names exactly the other files of the directory.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File};
use std::io::{self, ErrorKind};
use std::path::Path;

use super::RunDirError;

/// The file with the BLAKE3 digest of each other file of a checkpoint.
const SUMS: &str = "BLAKE3SUMS";
/// A file that every checkpoint has, including those that were written before there were digests.
const STATE: &str = "trainer_state.json";

/// Writes the digests of all files of `dir` beside them.
pub(super) fn write(dir: &Path) -> io::Result<()> {
    let names = names(dir)?;
    let lines = names.iter().map(|name| Ok(format!("{}  {name}\n", digest(&dir.join(name))?)));
    fs::write(dir.join(SUMS), lines.collect::<io::Result<String>>()?)
}

/// Why the checkpoint `dir` is damaged, or none if it is not. One without digests passes if its state file exists.
///
/// # Errors
/// [`RunDirError::Io`] where the system does not let a file be read: it may be whole.
pub(super) fn damage(dir: &Path) -> Result<Option<String>, RunDirError> {
    let (state, sums) = (dir.join(STATE), dir.join(SUMS));
    match fs::metadata(&state) {
        Ok(found) if found.is_file() => (),
        Err(error) if !is_damage(&error) => return Err(RunDirError::io(&state)(error)),
        _ => return Ok(Some(format!("{STATE} is missing"))),
    }
    let text = match fs::read_to_string(&sums) {
        Ok(text) => text,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
        Err(error) => return unread(&sums, SUMS, error),
    };
    let Some(listed) = listed(&text) else { return Ok(Some(format!("{SUMS} is damaged"))) };
    let found = match names(dir) {
        Ok(found) => found,
        Err(error) => return unread(dir, "its files", error),
    };
    let unlisted = |name: &&String| *name != SUMS && !listed.contains_key(name.as_str());
    if let Some(name) = found.iter().find(unlisted) {
        return Ok(Some(format!("{SUMS} does not name {name}")));
    }
    for (name, expected) in listed {
        let path = dir.join(name);
        match digest(&path) {
            Ok(found) if found == expected => (),
            Ok(_) => return Ok(Some(format!("{name} is not what was written"))),
            Err(error) => return unread(&path, name, error),
        }
    }
    Ok(None)
}

/// What an error of reading `path`, `named` in words, says of a checkpoint.
fn unread(path: &Path, named: &str, error: io::Error) -> Result<Option<String>, RunDirError> {
    match is_damage(&error) {
        true => Ok(Some(format!("{named}: {error}"))),
        false => Err(RunDirError::io(path)(error)),
    }
}

/// Whether an error of reading tells what is there. Any other, such as that of a permission or of a disk, may pass.
fn is_damage(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        ErrorKind::NotFound
            | ErrorKind::NotADirectory
            | ErrorKind::IsADirectory
            | ErrorKind::InvalidData
            | ErrorKind::InvalidInput
            | ErrorKind::InvalidFilename
    )
}

/// The digest of each file that a list names; none unless every line names another file, without a way to it, so that
/// nothing outside the directory is opened.
fn listed(text: &str) -> Option<BTreeMap<&str, &str>> {
    let mut listed = BTreeMap::new();
    for line in text.lines() {
        let (digest, name) = line.split_once("  ")?;
        let is_plain = Path::new(name).file_name().is_some_and(|plain| plain == name);
        if !is_plain || listed.insert(name, digest).is_some() {
            return None;
        }
    }
    Some(listed)
}

/// What is in `dir`, in order.
fn names(dir: &Path) -> io::Result<BTreeSet<String>> {
    fs::read_dir(dir)?.map(|entry| Ok(entry?.file_name().to_string_lossy().into_owned())).collect()
}

/// Whether `dir` has no digests.
pub(super) fn are_missing(dir: &Path) -> bool {
    !dir.join(SUMS).exists()
}

fn digest(path: &Path) -> io::Result<String> {
    let mut hasher = blake3::Hasher::new();
    hasher.update_reader(File::open(path)?)?;
    Ok(hasher.finalize().to_hex().to_string())
}
