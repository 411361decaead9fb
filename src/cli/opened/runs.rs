//! Runs by the names that users give them.

use std::fs;
use std::path::{Path, PathBuf};

use crate::cli::arguments::Flags;
use crate::cli::said::{CliError, near};
use crate::config::{Config, Layers};
use crate::metrics::Console;
use crate::report::ReportError;
use crate::train::run_dir;

/// Stands for the newest run.
const LATEST: &str = "latest";

/// Whether the newest run is meant, whichever that is.
pub fn is_latest(asked: &Path) -> bool {
    asked.as_os_str() == LATEST
}

/// The run that the user named with `flag`: a directory, or the newest one with a checkpoint.
pub fn named(flag: &str, asked: &Path) -> Result<PathBuf, CliError> {
    if !is_latest(asked) {
        return Ok(asked.to_owned());
    }
    run_dir::latest_run().ok_or_else(|| {
        CliError::user_hint(
            format!("{flag} {LATEST}: no run with a checkpoint in {}", run_dir::RUNS),
            format!("name the directory, as in {flag} DIR; `grpo-2048 train` makes the first one"),
        )
    })
}

/// What a run has trained so far.
pub struct Trained {
    /// What the run recorded.
    pub recorded: Config,
    /// Its newest checkpoint that is whole.
    pub checkpoint: PathBuf,
    /// What is to be said of newer ones that are not.
    pub warnings: Vec<String>,
}

impl Trained {
    /// What the run in `dir`, named with `flag`, has trained.
    pub fn of(flag: &str, dir: &Path) -> Result<Trained, CliError> {
        let (good, damaged) = run_dir::newest_good(dir);
        let checkpoint = good.ok_or_else(|| match damaged.first() {
            None => CliError::user_hint(
                format!("{flag} {}: no run with a checkpoint there", dir.display()),
                "train writes the first one",
            ),
            Some((path, reason)) => CliError::user_hint(
                format!("{flag} {}: no checkpoint there is whole; {}: {reason}", dir.display(), path.display()),
                "train writes new ones",
            ),
        })?;
        let warning = |(path, reason): &(PathBuf, String)| {
            format!("warning: {}: {reason}; taking {}", path.display(), checkpoint.display())
        };
        let warnings = damaged.iter().map(warning).collect();
        let recorded = run_dir::recorded_text(dir).map_err(|error| CliError::user_path(error, dir))?;
        let mut layers = Layers::default();
        layers.text(&dir.display().to_string(), &recorded)?;
        Ok(Trained { recorded: layers.resolve()?, checkpoint, warnings })
    }

    /// Whether the checkpoint is an adapter on the recorded model, and not a model itself.
    pub fn is_adapter(&self) -> bool {
        self.checkpoint.join("adapter_config.json").exists()
    }
}

/// `flags` with the newest adapter of the run where `--adapter` names a run.
pub fn with_trained_adapter(flags: &Flags, console: &Console) -> Result<Flags, CliError> {
    let mut flags = flags.clone();
    if let Some(checkpoint) = flags.text("adapter").map(|asked| adapter(asked, console)).transpose()?.flatten() {
        flags.add("adapter", Some(checkpoint));
    }
    Ok(flags)
}

/// The newest adapter that a run has trained, where `--adapter` names a run.
fn adapter(asked: &str, console: &Console) -> Result<Option<String>, CliError> {
    let path = Path::new(asked);
    if !is_run(path) && (!is_latest(path) || path.exists()) {
        return Ok(None);
    }
    let trained = Trained::of("--adapter", &named("--adapter", path)?)?;
    let checkpoint = trained.checkpoint.display().to_string();
    if !trained.is_adapter() {
        return Err(CliError::user_hint(
            format!("--adapter {asked}: the run trained every weight, so its checkpoints are whole models"),
            format!("say --model {checkpoint}"),
        ));
    }
    trained.warnings.iter().for_each(|warning| console.print(warning));
    Ok(Some(checkpoint))
}

/// Whether a directory is that of a run.
pub fn is_run(dir: &Path) -> bool {
    dir.join("config.toml").is_file() && !dir.join("config.json").exists()
}

/// A wrong directory is the user's to mend, with the runs that are there as a hint.
pub fn report_error(error: ReportError) -> CliError {
    if !error.is_user() {
        return CliError::run(error);
    }
    if let ReportError::Missing { path } = &error
        && let Some(hint) = near::path_hint(path)
    {
        return CliError::user_hint(error, hint);
    }
    let runs = fs::read_dir(run_dir::RUNS).into_iter().flatten().flatten();
    let mut there: Vec<String> =
        runs.map(|entry| entry.path()).filter(|path| path.is_dir()).map(|path| path.display().to_string()).collect();
    there.sort();
    match there.is_empty() {
        true => CliError::user_hint(error, "name a directory that `grpo-2048 train` wrote, as in runs/train-001"),
        false => CliError::user_hint(error, format!("there are: {}", there.join(", "))),
    }
}
