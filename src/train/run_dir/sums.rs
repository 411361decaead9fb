//! Digests of the files of a checkpoint, so that no run continues from one that was damaged after it was written.
//!
//! The list has the format of `b3sum --check`.

use std::fs::{self, File};
use std::io;
use std::path::Path;

/// The file with the BLAKE3 digest of each other file of a checkpoint.
const SUMS: &str = "BLAKE3SUMS";
/// A file that every checkpoint has, including those that were written before there were digests.
const STATE: &str = "trainer_state.json";

/// Writes the digests of all files of `dir` beside them.
pub(super) fn write(dir: &Path) -> io::Result<()> {
    let mut names = Vec::new();
    for entry in fs::read_dir(dir)? {
        names.push(entry?.file_name().to_string_lossy().into_owned());
    }
    names.sort();
    let lines = names.iter().map(|name| Ok(format!("{}  {name}\n", digest(&dir.join(name))?)));
    fs::write(dir.join(SUMS), lines.collect::<io::Result<String>>()?)
}

/// Why the checkpoint `dir` is damaged, or none if it is not. One without digests passes if its state file exists.
pub(super) fn damage(dir: &Path) -> Option<String> {
    let text = match fs::read_to_string(dir.join(SUMS)) {
        Ok(text) => text,
        Err(_) if dir.join(STATE).is_file() && !dir.join(SUMS).exists() => return None,
        Err(_) if !dir.join(STATE).is_file() => return Some(format!("{STATE} is missing")),
        Err(error) => return Some(format!("{SUMS}: {error}")),
    };
    text.lines().find_map(|line| {
        let Some((expected, name)) = line.split_once("  ") else { return Some(format!("{SUMS} is damaged")) };
        match digest(&dir.join(name)) {
            Ok(found) if found == expected => None,
            Ok(_) => Some(format!("{name} is not what was written")),
            Err(error) => Some(format!("{name}: {error}")),
        }
    })
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
