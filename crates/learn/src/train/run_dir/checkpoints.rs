//! Finds the checkpoints of a run by the names of their directories, and tells by digests of their files which of them were
//! damaged after they were written.
//!
//! The list of digests has the format of `b3sum --check`, and names exactly the other files of the directory.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File};
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};

use super::error::RunDirError;
use crate::files::{self, PARTIAL};
use crate::metrics::METRICS_FILE;

/// The file with the BLAKE3 digest of each other file of a checkpoint.
const SUMS: &str = "BLAKE3SUMS";
/// A file that every checkpoint has, including those that were written before there were digests.
const STATE: &str = "trainer_state.json";
/// What the name of a checkpoint begins with, before the number of its step.
pub const CHECKPOINT: &str = "checkpoint-";

/// A checkpoint, if there is one, and newer ones that are damaged, with what is wrong with each.
type Newest = (Option<PathBuf>, Vec<(PathBuf, String)>);

/// The step of a run's newest checkpoint that is not damaged; 0 without one.
///
/// # Errors
/// As [`newest_good`].
pub fn steps_done(run: &Path) -> Result<usize, RunDirError> {
    Ok(newest_good(run)?.0.as_deref().and_then(step_of).unwrap_or(0))
}

/// The step that a checkpoint is named after.
pub fn step_of(checkpoint: &Path) -> Option<usize> {
    checkpoint.file_name()?.to_str()?.strip_prefix(CHECKPOINT)?.parse().ok()
}

/// The newest checkpoint that is not damaged, and the newer ones with what is wrong with each.
///
/// # Errors
/// [`RunDirError::Io`] where a file of one cannot be read, so that nobody knows whether it is damaged.
pub fn newest_good(run: &Path) -> Result<Newest, RunDirError> {
    let mut damaged = Vec::new();
    for (_, path) in checkpoints(run).into_iter().rev() {
        match damage(&path)? {
            None => return Ok((Some(path), damaged)),
            Some(reason) => damaged.push((path, reason)),
        }
    }
    Ok((None, damaged))
}

/// The newest checkpoint of a run, damaged or not. It is found by its directory, because a killed process may not have
/// written the file that names the newest.
pub fn latest_checkpoint(run: &Path) -> Option<PathBuf> {
    checkpoints(run).pop().map(|(_, path)| path)
}

/// Writes a directory completely or not at all, in place of what was there. `fill` writes into a hidden one in `parent`, to which
/// the digests of its files are added; it is then synced and renamed.
pub(crate) fn write_whole_dir<E: From<RunDirError>>(
    parent: &Path,
    name: &str,
    fill: impl FnOnce(&Path) -> Result<(), E>,
) -> Result<PathBuf, E> {
    let partial = tempfile::Builder::new().prefix(PARTIAL).tempdir_in(parent).map_err(RunDirError::io(parent))?;
    fill(partial.path())?;
    write_sums(partial.path()).map_err(RunDirError::io(partial.path()))?;
    let target = parent.join(name);
    files::replace_dir(partial.path(), &target, &aside_of(&target)).map_err(RunDirError::io(&target))?;
    Ok(target)
}

/// What is in `dir`.
pub(crate) fn paths(dir: &Path) -> Result<Vec<PathBuf>, RunDirError> {
    let entries = fs::read_dir(dir).map_err(RunDirError::io(dir))?;
    entries.map(|entry| Ok(entry.map_err(RunDirError::io(dir))?.path())).collect()
}

/// Where a checkpoint is while another of its step takes its place, on file systems that cannot exchange the two at once. A
/// zero before the number of its step lets it be found as one of that step if the process is killed meanwhile.
pub(super) fn aside_of(checkpoint: &Path) -> PathBuf {
    let name = checkpoint.file_name().unwrap_or_default().to_string_lossy();
    checkpoint.with_file_name(format!("{CHECKPOINT}0{}", name.trim_start_matches(CHECKPOINT)))
}

/// Step and directory of each checkpoint, oldest first.
pub(super) fn checkpoints(run: &Path) -> Vec<(usize, PathBuf)> {
    numbered(run, CHECKPOINT)
}

/// Directories of `parent` whose name is `prefix` and a number, by number; of two with the same one, that with the shorter
/// name is the later.
pub(super) fn numbered(parent: &Path, prefix: &str) -> Vec<(usize, PathBuf)> {
    let entries = fs::read_dir(parent).into_iter().flatten().flatten();
    let mut found: Vec<(usize, PathBuf)> = entries
        .filter_map(|entry| {
            let number = entry.file_name().to_str()?.strip_prefix(prefix)?.parse().ok()?;
            entry.path().is_dir().then(|| (number, entry.path()))
        })
        .collect();
    found.sort_by_key(|(number, path)| (*number, Reverse(path.as_os_str().len())));
    found
}

/// Syncs the metrics of a run, if there are any. A checkpoint stands for the lines up to its step, which nothing writes again.
pub(super) fn sync_metrics(run: &Path) -> Result<(), RunDirError> {
    let path = run.join(METRICS_FILE);
    match File::open(&path).and_then(|file| file.sync_data()) {
        // What is no file, such as /dev/null, cannot be synced.
        Err(error) if !matches!(error.kind(), ErrorKind::NotFound | ErrorKind::InvalidInput) => {
            Err(RunDirError::io(&path)(error))
        }
        _ => Ok(()),
    }
}

/// Writes the digests of all files of `dir` beside them.
fn write_sums(dir: &Path) -> io::Result<()> {
    let names = names(dir)?;
    let lines = names.iter().map(|name| Ok(format!("{}  {name}\n", digest(&dir.join(name))?)));
    fs::write(dir.join(SUMS), lines.collect::<io::Result<String>>()?)
}

/// Why the checkpoint `dir` is damaged, or none if it is not. One without digests passes if its state file exists.
///
/// # Errors
/// [`RunDirError::Io`] where the system does not let a file be read: it may be whole.
fn damage(dir: &Path) -> Result<Option<String>, RunDirError> {
    let state = dir.join(STATE);
    match fs::metadata(&state) {
        Ok(found) if found.is_file() => (),
        Err(error) if !is_damage(&error) => return Err(RunDirError::io(&state)(error)),
        _ => return Ok(Some(format!("{STATE} is missing"))),
    }
    unlisted(dir).transpose().or_else(|| altered(dir).transpose()).transpose()
}

/// Which file of `dir` its digests do not name; none where there are no digests. Hidden files, which nothing reads, are left there by file
/// managers (`.DS_Store`) and network file systems (`.nfs*`).
fn unlisted(dir: &Path) -> Result<Option<String>, RunDirError> {
    let text = fs::read_to_string(dir.join(SUMS)).ok();
    let Some(listed) = text.as_deref().and_then(listed) else { return Ok(None) };
    let found = match names(dir) {
        Ok(found) => found,
        Err(error) => return unread(dir, "its files", error),
    };
    let is_unlisted = |name: &&String| *name != SUMS && !name.starts_with('.') && !listed.contains_key(name.as_str());
    Ok(found.iter().find(is_unlisted).map(|name| format!("{SUMS} does not name {name}")))
}

/// How the files whose digests were written in `dir` differ from what they were; none where they do not, or where there are no
/// digests, as in what an earlier version wrote. Other files may be there.
///
/// # Errors
/// As [`damage`].
pub(crate) fn altered(dir: &Path) -> Result<Option<String>, RunDirError> {
    let sums = dir.join(SUMS);
    let text = match fs::read_to_string(&sums) {
        Ok(text) => text,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
        Err(error) => return unread(&sums, SUMS, error),
    };
    let Some(listed) = listed(&text).filter(|listed| !listed.is_empty()) else {
        return Ok(Some(format!("{SUMS} is damaged")));
    };
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
pub(super) fn has_no_sums(dir: &Path) -> bool {
    !dir.join(SUMS).exists()
}

fn digest(path: &Path) -> io::Result<String> {
    let mut hasher = blake3::Hasher::new();
    hasher.update_reader(File::open(path)?)?;
    Ok(hasher.finalize().to_hex().to_string())
}
