//! Hints for misspelt paths, from the names that exist beside them.

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};

use crate::config::nearest;
use crate::train::run_dir::RUNS;

/// "did you mean ...?" for a path that does not exist, where a path with nearly the same name does, or where a link leads that
/// leads nowhere. Who lists the directory of runs sees their names without it.
pub fn path_hint(path: &Path) -> Option<String> {
    if path.as_os_str().is_empty() || path.exists() {
        return None;
    }
    if let Ok(target) = fs::read_link(path) {
        return Some(format!("it is a link to `{}`, which leads to nothing", target.display()));
    }
    let runs = Path::new(RUNS);
    let of_runs = || Some(runs.join(path)).filter(|_| runs.is_dir());
    let run = of_runs().filter(|run| run.is_dir());
    // A file of that very name is meant before a run of it, whatever its ending.
    let beside = near_path(path);
    let file = beside.clone().filter(|file| file.is_file() && file.with_extension("") == path);
    let near = file.or(run).or(beside).or_else(|| near_path(&of_runs()?));
    near.map(|near| did_you_mean(&near.display().to_string()))
}

/// The same where a directory is asked for, which a run is and a file of its name is not.
pub fn directory_hint(path: &Path) -> Option<String> {
    let run = Path::new(RUNS).join(path);
    if run.is_dir() { Some(did_you_mean(&run.display().to_string())) } else { path_hint(path) }
}

/// The same for the name of a model, which may be a path.
pub fn model_hint(model: &str) -> Option<String> {
    match nearest(model, ["builtin"]) {
        // `builtin` itself is never misspelt, whatever files exist.
        Some(near) if near == model => None,
        Some(near) => Some(did_you_mean(near)),
        None => path_hint(Path::new(model)),
    }
}

pub fn did_you_mean(near: &str) -> String {
    format!("did you mean `{near}`?")
}

/// The path with every misspelt part replaced by the nearest name in its directory. `None` when the path exists, or no
/// name is near a part of it.
fn near_path(path: &Path) -> Option<PathBuf> {
    if path.as_os_str().is_empty() || path.exists() {
        return None;
    }
    let mut found = PathBuf::new();
    for part in path.components() {
        let next = found.join(part);
        found = if next.exists() { next } else { found.join(namesake(&found, part.as_os_str().to_str()?)?) };
    }
    Some(found)
}

fn namesake(directory: &Path, name: &str) -> Option<OsString> {
    let directory = if directory.as_os_str().is_empty() { Path::new(".") } else { directory };
    let entries = fs::read_dir(directory).ok()?.flatten();
    let mut names: Vec<String> = entries.filter_map(|entry| entry.file_name().into_string().ok()).collect();
    // Sorted names give the same answer every time where two are equally near.
    names.sort();
    nearest(name, names.iter().map(String::as_str)).map(OsString::from)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_part_of_a_path_may_be_misspelt() {
        let dir = tempfile::tempdir().unwrap();
        fs::create_dir_all(dir.path().join("runs/train-001")).unwrap();
        fs::write(dir.path().join("strategy.py"), "").unwrap();
        let near = |path: &str| near_path(&dir.path().join(path));
        assert_eq!(near("stratgey.py"), Some(dir.path().join("strategy.py")));
        assert_eq!(near("rnus/train-01"), Some(dir.path().join("runs/train-001")));
        assert_eq!(near("runs/train-001"), None, "it is there");
        assert_eq!(near("models/train-001"), None, "nothing is called nearly so");
        assert_eq!(near("runs/train-001/metrics.jsonl"), None, "an empty directory");
    }

    #[cfg(unix)]
    #[test]
    fn a_link_that_leads_to_nothing_is_not_its_own_near_name() {
        let dir = tempfile::tempdir().unwrap();
        for target in ["nowhere", "link"] {
            let link = dir.path().join("link");
            std::os::unix::fs::symlink(target, &link).unwrap();
            assert_eq!(path_hint(&link), Some(format!("it is a link to `{target}`, which leads to nothing")));
            fs::remove_file(&link).unwrap();
        }
    }

    #[test]
    fn a_model_may_be_a_word_or_a_file() {
        assert_eq!(model_hint("bultin").as_deref(), Some("did you mean `builtin`?"));
        assert_eq!(model_hint("builtin"), None);
        assert_eq!(model_hint("nowhere/at-all"), None);
    }
}
