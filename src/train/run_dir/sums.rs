//! What the files of a checkpoint were when it was written, so that one that has changed since is not gone on from.
//!
//! The list has the form that `b3sum --check` reads.

use std::fs::{self, File};
use std::io;
use std::path::Path;

/// Names each file of a checkpoint with its digest.
const SUMS: &str = "BLAKE3SUMS";
/// What every checkpoint has, those too that were written before there were digests.
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

/// Why `dir` is no checkpoint to go on from, if it is none. One without digests counts if its state is there.
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

/// Whether there is nothing that `dir` could be compared with.
pub(super) fn are_missing(dir: &Path) -> bool {
    !dir.join(SUMS).exists()
}

fn digest(path: &Path) -> io::Result<String> {
    let mut hasher = blake3::Hasher::new();
    hasher.update_reader(File::open(path)?)?;
    Ok(hasher.finalize().to_hex().to_string())
}
