//! Digests of the files of a checkpoint, so that no run continues from one that was damaged after it was written.
//!
//! The list has the format of `b3sum --check`, and names exactly the other files of the directory.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File};
use std::io;
use std::path::Path;

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
pub(super) fn damage(dir: &Path) -> Option<String> {
    if !dir.join(STATE).is_file() {
        return Some(format!("{STATE} is missing"));
    }
    let text = match fs::read_to_string(dir.join(SUMS)) {
        Ok(text) => text,
        Err(_) if !dir.join(SUMS).exists() => return None,
        Err(error) => return Some(format!("{SUMS}: {error}")),
    };
    let Some(listed) = listed(&text) else { return Some(format!("{SUMS} is damaged")) };
    let found = match names(dir) {
        Ok(found) => found,
        Err(error) => return Some(error.to_string()),
    };
    let unlisted = |name: &&String| *name != SUMS && !listed.contains_key(name.as_str());
    if let Some(name) = found.iter().find(unlisted) {
        return Some(format!("{SUMS} does not name {name}"));
    }
    listed.into_iter().find_map(|(name, expected)| match digest(&dir.join(name)) {
        Ok(found) if found == expected => None,
        Ok(_) => Some(format!("{name} is not what was written")),
        Err(error) => Some(format!("{name}: {error}")),
    })
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
