//! The output directory of a run: its lock, its recorded configuration, and how files are written.
//!
//! A file that must be complete is written under a temporary name, synced and renamed. A lock file prevents two
//! processes from writing to the same directory. This module knows models and games by their files alone.

mod checkpoints;
mod config_file;
mod error;
mod inputs;
mod place;
mod recorded;

use std::fs::{self, File};
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use crate::config::Config;
use crate::files::{self, PARTIAL};
use crate::metrics::METRICS_FILE;

pub use checkpoints::{CHECKPOINT, latest_checkpoint, newest_good, step_of, steps_done};
pub(crate) use checkpoints::{altered, paths, write_whole_dir};
use checkpoints::{checkpoints, has_no_sums, numbered, sync_metrics};
use config_file::WRITTEN;
pub use config_file::{CONFIG, recorded_text};
pub use error::RunDirError;
use inputs::begun_with;
pub use inputs::{changed_environment, changed_model, model_commit};
use place::creatable;
pub use place::{LOCK, NEWEST, is_free, lock};
pub use recorded::Fingerprint;
use recorded::{config_text, config_text_over, differences, recorded};

/// The directory for runs without `--output-dir`, each in its own numbered directory.
pub const RUNS: &str = "runs";
/// The best programs of a run, written when it ends.
pub const HALL_OF_FAME: &str = "hall_of_fame.json";
/// The best of them as a Python file, which `play` and `score` take.
pub const BEST: &str = "best.py";
/// A file with the step at which the run ended and its best programs were settled.
pub const ENDED: &str = "ended";
/// The directories with a file for each step.
const STEP_FOLDERS: [&str; 3] = [COMPLETIONS, REPLAYS, DIFFERENCES];
/// Completions of each step.
pub const COMPLETIONS: &str = "completions";
/// The elites of a run, written when it ends.
pub const ELITES: &str = "elites.json";
/// Elites that played again in each step.
pub const REPLAYS: &str = "elites";
/// Programs of each step that the tiers differ on.
pub const DIFFERENCES: &str = "tier_differences";
/// A file with the name of the newest complete checkpoint, for people and scripts.
const LATEST: &str = "checkpoint-latest";

/// Which checkpoints are kept.
#[derive(Debug, Clone)]
pub struct Retention {
    /// Number of newest checkpoints that are kept.
    pub limit: usize,
    /// The newest checkpoint before each of these steps is kept as well, because the run may have collapsed since.
    pub before: Vec<usize>,
}

/// A directory that exactly one process writes to: this one, or another that trains with it.
#[derive(Debug)]
pub struct RunDir {
    path: PathBuf,
    /// What this process holds, if it writes. Without it, every method that writes does nothing.
    held: Option<Held>,
}

/// What tells that a directory is still the one that was locked. As long as it is open, nothing else gets its number.
#[derive(Debug)]
struct Held {
    lock: File,
    directory: File,
}

/// A run that is to be continued.
#[derive(Debug)]
pub struct Reopened {
    pub dir: RunDir,
    /// The checkpoint to continue from.
    pub newest: PathBuf,
    /// Warnings for the user: newer checkpoints that are damaged, that this one has no digests to check, or what has changed in the
    /// model.
    pub notices: Vec<String>,
}

impl RunDir {
    /// Refuses an output directory that a new run could not use. Leaves nothing behind.
    pub fn check(config: &Config) -> Result<(), RunDirError> {
        match config.train.output_dir.as_os_str().is_empty() {
            true => creatable(Path::new(RUNS)),
            false => RunDir::vacant(&config.train.output_dir, config),
        }
    }

    /// Refuses a path for a new run that is in use, or where nothing can be created.
    fn vacant(path: &Path, config: &Config) -> Result<(), RunDirError> {
        let is_free = is_free(path)?;
        let found = || path.to_owned();
        if path.join(CONFIG).exists() {
            if has_nothing_yet(path)? {
                return lock(path).map(drop);
            }
            return Err(match recorded(path) {
                Ok(recorded) => {
                    let differing = differences(&recorded, config, &["train.output_dir", "train.board_salt"]);
                    RunDirError::Occupied { path: found(), differing }
                }
                // Somebody's own file, or what is left of a run: there is nothing to go on with.
                Err(RunDirError::Cut { .. }) => RunDirError::Foreign { path: found() },
                Err(error) => error,
            });
        }
        if is_free { Ok(()) } else { Err(RunDirError::Foreign { path: found() }) }
    }

    /// A directory for a new run: `config.train.output_dir`, or the next free number below [`RUNS`] when that is empty.
    pub fn create(config: &Config, about: &[(&str, String)]) -> Result<RunDir, RunDirError> {
        let path = match config.train.output_dir.as_os_str().is_empty() {
            true => next_free(Path::new(RUNS), "train")?,
            false => config.train.output_dir.clone(),
        };
        RunDir::vacant(&path, config)?;
        let dir = RunDir::lock(path)?;
        sweep(&dir.path)?;
        // Of a run that ended before its first checkpoint: the evaluation of a model that nothing was learnt by.
        let measured = dir.path.join(METRICS_FILE);
        match fs::remove_file(&measured) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(RunDirError::io(&measured)(error)),
            _ => (),
        }
        let about = about.iter().map(|(key, value)| ((*key).to_owned(), toml::Value::from(value.clone())));
        let about = about.chain(begun_with(config)?).collect();
        dir.write_whole(CONFIG, config_text(config, about).as_bytes())?;
        Ok(dir)
    }

    /// Refuses a run that was begun with settings that may not change, with other files of its environment (elites, pools and
    /// what was sampled ahead know a task by its place), or with other files of its model. Gives warnings for the user.
    pub fn check_settings(path: &Path, config: &Config) -> Result<Vec<String>, RunDirError> {
        recorded::check(path, config)
    }

    /// Locks the directory of a run that continues and finds its newest checkpoint that is not damaged. Newer ones are
    /// renamed: `checkpoint-7` becomes `checkpoint-7.damaged`.
    pub fn reopen(path: &Path, config: &Config) -> Result<Reopened, RunDirError> {
        let warnings = RunDir::check_settings(path, config)?;
        // Locked before anything is read: another process may write a checkpoint, or remove one, while digests are checked.
        let dir = RunDir::lock(path.to_owned())?;
        let (good, damaged) = newest_good(path)?;
        let mut notices: Vec<String> =
            damaged.iter().map(|(path, reason)| format!("{}: {reason}", path.display())).collect();
        let Some(good) = good else {
            return Err(match notices.is_empty() {
                true => RunDirError::NothingToResume { path: path.to_owned() },
                false => RunDirError::Damaged { path: path.to_owned(), damaged: notices },
            });
        };
        sweep(&dir.path)?;
        for (path, _) in &damaged {
            let aside = path.with_extension("damaged");
            let aside =
                (1..).map(|n| if n == 1 { aside.clone() } else { aside.with_extension(format!("damaged-{n}")) });
            let aside = aside.into_iter().find(|aside| !aside.exists()).unwrap_or_default();
            fs::rename(path, &aside).map_err(RunDirError::io(path))?;
        }
        for notice in &mut notices {
            *notice = format!("warning: {notice}; set aside, going on from {}", good.display());
        }
        if has_no_sums(&good) {
            notices.push(format!("warning: {}: has no digests; whether it is whole was not checked", good.display()));
        }
        notices.extend(warnings);
        Ok(Reopened { dir, newest: good, notices })
    }

    /// Records the settings that the run continues with.
    pub fn record(&self, config: &Config) -> Result<(), RunDirError> {
        self.write_whole(CONFIG, config_text_over(&self.path, config)?.as_bytes())
    }

    fn lock(path: PathBuf) -> Result<RunDir, RunDirError> {
        let lock = lock(&path)?;
        let directory = File::open(&path).map_err(RunDirError::io(&path))?;
        Ok(RunDir { path, held: Some(Held { lock, directory }) })
    }

    /// The directory of a run that another process writes to.
    pub fn of_another(path: PathBuf) -> RunDir {
        RunDir { path, held: None }
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Refuses a directory that is no longer the one that was locked, because a run could not be continued from its
    /// rest.
    fn check_there(&self, held: &Held) -> Result<(), RunDirError> {
        let is_at = |open: &File, path: &Path| files::is_at(open, path).map_err(RunDirError::io(&self.path));
        if is_at(&held.lock, &self.path.join(LOCK))? {
            return Ok(());
        }
        let path = self.path.clone();
        if is_at(&held.directory, &path)? {
            return Err(RunDirError::Unlocked { newest: latest_checkpoint(&path), path });
        }
        // A file that still has a name lies somewhere else.
        let is_moved = held.lock.metadata().map_err(RunDirError::io(&path))?.nlink() > 0;
        Err(if is_moved { RunDirError::Moved { path } } else { RunDirError::Gone { path } })
    }

    /// Writes a file completely or not at all.
    pub fn write_whole(&self, name: &str, bytes: &[u8]) -> Result<(), RunDirError> {
        let Some(held) = &self.held else { return Ok(()) };
        self.check_there(held)?;
        let target = self.path.join(name);
        let parent = target.parent().unwrap_or(&self.path);
        fs::create_dir_all(parent).map_err(RunDirError::io(parent))?;
        files::write_whole(&target, bytes).map_err(RunDirError::io(&target))
    }

    /// Writes a directory completely or not at all, once the metrics of the run are synced.
    pub fn write_whole_dir<E: From<RunDirError>>(
        &self,
        name: &str,
        fill: impl FnOnce(&Path) -> Result<(), E>,
    ) -> Result<PathBuf, E> {
        let Some(held) = &self.held else { return Ok(self.path.join(name)) };
        self.check_there(held)?;
        write_whole_dir(&self.path, name, |partial| {
            fill(partial)?;
            Ok(sync_metrics(&self.path)?)
        })
    }

    /// Records that the run has ended at this step, after all else is written.
    pub fn record_end(&self, step: usize) -> Result<(), RunDirError> {
        self.write_whole(ENDED, format!("{step}\n").as_bytes())
    }

    /// Records `checkpoint` as the newest, then removes those that `retention` does not keep.
    pub fn advance(&self, checkpoint: &str, retention: Retention) -> Result<(), RunDirError> {
        if self.held.is_none() {
            return Ok(());
        }
        self.write_whole(LATEST, checkpoint.as_bytes())?;
        let mut found = self.checkpoints();
        let newest_before = |before: &usize| found.iter().map(|(step, _)| *step).filter(|step| step < before).max();
        let good: Vec<usize> = retention.before.iter().filter_map(newest_before).collect();
        found.truncate(found.len().saturating_sub(retention.limit));
        for (_, path) in found.into_iter().filter(|(step, _)| !good.contains(step)) {
            files::remove_dir(&path).map_err(RunDirError::io(&path))?;
        }
        Ok(())
    }

    /// Step and directory of each checkpoint, oldest first.
    pub fn checkpoints(&self) -> Vec<(usize, PathBuf)> {
        checkpoints(&self.path)
    }

    /// Removes what is kept of steps after this one, which are made again.
    pub fn drop_steps_after(&self, step: usize) -> Result<(), RunDirError> {
        if self.held.is_none() {
            return Ok(());
        }
        let files = STEP_FOLDERS.iter().flat_map(|folder| fs::read_dir(self.path.join(folder)).into_iter().flatten());
        for path in files.filter_map(|entry| Some(entry.ok()?.path())) {
            if of_step(&path).is_some_and(|of| of > step) {
                fs::remove_file(&path).map_err(RunDirError::io(&path))?;
            }
        }
        // The run is not at its end any more if it goes on from an earlier step.
        let ended = self.path.join(ENDED);
        let is_later = |text: String| text.trim().parse().is_ok_and(|of: usize| of > step);
        if fs::read_to_string(&ended).is_ok_and(is_later) {
            fs::remove_file(&ended).map_err(RunDirError::io(&ended))?;
        }
        Ok(())
    }
}

/// Removes what a killed process left incomplete in a directory, whose lock this process has.
pub fn sweep(dir: &Path) -> Result<(), RunDirError> {
    let folders = STEP_FOLDERS.map(|folder| dir.join(folder)).into_iter().filter(|folder| folder.is_dir());
    let found = folders.chain([dir.to_owned()]).map(|folder| paths(&folder)).collect::<Result<Vec<_>, _>>()?;
    for path in found.into_iter().flatten() {
        let partial = path.file_name().is_some_and(|name| name.to_string_lossy().starts_with(PARTIAL));
        if partial && path.is_dir() {
            files::remove_rest(&path).map_err(RunDirError::io(&path))?;
        } else if partial {
            fs::remove_file(&path).map_err(RunDirError::io(&path))?;
        }
    }
    Ok(())
}

/// The newest run below [`RUNS`] that has a checkpoint, which is what `--resume latest` stands for.
pub fn latest_run() -> Option<PathBuf> {
    numbered(Path::new(RUNS), "train-")
        .into_iter()
        .rev()
        .map(|(_, path)| path)
        .find(|path| latest_checkpoint(path).is_some() || is_closed(path))
}

/// Whether a directory may not be read: it may be the run that is meant, of which whoever opens it says so.
fn is_closed(dir: &Path) -> bool {
    fs::read_dir(dir).is_err_and(|error| error.kind() == io::ErrorKind::PermissionDenied)
}

/// Whether a run has ended at this step, evaluated and with its best programs settled.
pub fn has_ended(run: &Path, step: usize) -> bool {
    fs::read_to_string(run.join(ENDED)).is_ok_and(|text| text.trim() == step.to_string())
}

/// The name of what is kept of a step, below the directory of its kind.
pub fn step_file(folder: &str, step: usize) -> String {
    format!("{folder}/step_{step:05}.jsonl")
}

/// The step of such a file.
fn of_step(path: &Path) -> Option<usize> {
    path.file_name()?.to_str()?.strip_prefix("step_")?.strip_suffix(".jsonl")?.parse().ok()
}

/// Makes the next free directory `kind-001`, `kind-002`, .. of `runs`.
pub fn next_free(runs: &Path, kind: &str) -> Result<PathBuf, RunDirError> {
    creatable(runs)?;
    let mut number = numbered(runs, &format!("{kind}-")).last().map_or(1, |(number, _)| number + 1);
    fs::create_dir_all(runs).map_err(RunDirError::io(runs))?;
    loop {
        let path = runs.join(format!("{kind}-{number:03}"));
        match fs::create_dir(&path) {
            Ok(()) => return Ok(path),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => number += 1,
            Err(source) => return Err(RunDirError::Io { path, source }),
        }
    }
}

/// Whether a run ended before its first checkpoint and step: there is nothing to go on with, and nothing to lose.
fn has_nothing_yet(path: &Path) -> Result<bool, RunDirError> {
    let is_ours = fs::read_to_string(path.join(CONFIG)).is_ok_and(|text| text.starts_with(WRITTEN));
    let mut entries = fs::read_dir(path).map_err(RunDirError::io(path))?.flatten();
    let has_steps = |folder: &str| fs::read_dir(path.join(folder)).is_ok_and(|mut files| files.next().is_some());
    let has_checkpoint = entries.any(|entry| entry.file_name().to_string_lossy().starts_with(CHECKPOINT));
    Ok(is_ours && !has_checkpoint && !STEP_FOLDERS.into_iter().any(has_steps))
}

#[cfg(test)]
mod tests;
