//! Reads programs from the files or runs that users name.

use std::path::{Path, PathBuf};

use super::runs;
use crate::cli::said::CliError;
use crate::program::{Entry, Program, Rejection};
use crate::shell;
use crate::train::run_dir::{BEST, CONFIG};

/// Stands for standard input.
const STDIN: &str = "-";

/// The text of a file that should hold a program.
pub struct ProgramFile {
    /// The file it was read from; where the user named a run, that of its best program.
    pub path: PathBuf,
    text: String,
    /// The run that it is the best program of.
    run: Option<PathBuf>,
}

impl ProgramFile {
    /// The program in it. A file of Python is one as a whole or none; any other may be an answer, with words around the program.
    pub fn program(&self, entry: &Entry) -> Result<Program, Rejection> {
        match self.path.extension().is_some_and(|end| end == "py") {
            true => Program::from_file(&self.text, entry),
            false => Program::from_text(&self.text, entry),
        }
    }
}

/// Reads the files or runs that the user named, in their order.
pub fn read_all(asked: &[PathBuf]) -> Result<Vec<ProgramFile>, CliError> {
    if asked.iter().filter(|path| path.as_os_str() == STDIN).count() > 1 {
        return Err(CliError::user_hint(
            format!("{STDIN}: standard input is named more than once"),
            "it can be read once; write it to a file, and name that",
        ));
    }
    // All names are checked before standard input is read, so that a wrong one is refused at once.
    let paths = asked.iter().map(|asked| file(asked)).collect::<Result<Vec<_>, _>>()?;
    let read = paths.into_iter().map(|(path, run)| Ok(ProgramFile { text: read(&path)?, path, run }));
    let files = read.collect::<Result<Vec<ProgramFile>, CliError>>()?;
    files.iter().try_for_each(require_program)?;
    Ok(files)
}

/// Refuses the best program of a run that learnt from something else than `env`, which the user has not chosen.
pub fn require_of(env: &str, files: &[ProgramFile]) -> Result<(), CliError> {
    let runs = files.iter().filter_map(|file| Some((file, file.run.as_deref()?)));
    let other = runs.filter_map(|(file, run)| Some((file, run, learnt_from(run)?))).find(|(.., learnt)| learnt != env);
    other.map_or(Ok(()), |(file, run, learnt)| {
        let (run, quoted) = (shell::path(run.display()), shell::quoted(&learnt));
        Err(CliError::user_hint(
            format!("{}: a program of a run that learnt from {learnt}, and not from {env}", file.path.display()),
            format!("grpo-2048 score {run} --env {quoted} says how it does there"),
        ))
    })
}

/// What a run learnt from, where that can be read. Its other settings may be those of another version.
fn learnt_from(run: &Path) -> Option<String> {
    let recorded: toml::Table = std::fs::read_to_string(run.join(CONFIG)).ok()?.parse().ok()?;
    Some(recorded.get("environment")?.get("env")?.as_str()?.to_owned())
}

/// The best program of a run, where `asked` is a run, and that run; otherwise `asked` itself.
fn file(asked: &Path) -> Result<(PathBuf, Option<PathBuf>), CliError> {
    let dir = match runs::is_latest(asked) && !asked.exists() {
        true => runs::named("FILE.py", asked)?,
        false => asked.to_owned(),
    };
    match (runs::is_named_run("FILE.py", &dir)?, dir.join(BEST)) {
        (false, _) => Ok((dir, None)),
        (true, best) if best.is_file() => Ok((best, Some(dir))),
        (true, _) => Err(CliError::user_hint(
            format!("{}: the run has no {BEST}", dir.display()),
            "it is written when a run of games ends in which a program played; `grpo-2048 report` shows all programs",
        )),
    }
}

fn read(path: &Path) -> Result<String, CliError> {
    if path.is_dir() {
        let hint = match runs::is_search(path) {
            true => runs::OF_A_SEARCH,
            false => "expected a Python file, or the directory of a run",
        };
        return Err(CliError::user_hint(format!("{}: is a directory", path.display()), hint));
    }
    CliError::refuse_special(path.display(), path)?;
    let read = match path.as_os_str() == STDIN {
        true => std::io::read_to_string(std::io::stdin()).map(String::into_bytes),
        false => std::fs::read(path),
    };
    let bytes = read.map_err(|error| CliError::user_path(format!("{}: {error}", path.display()), path))?;
    String::from_utf8(bytes).map_err(|error| {
        let offset = error.utf8_error().valid_up_to();
        CliError::user_hint(
            format!("{}: not UTF-8 text, at byte {offset}", path.display()),
            "expected a Python file saved as UTF-8",
        )
    })
}

/// Refuses what is no program at all.
fn require_program(ProgramFile { path, text, .. }: &ProgramFile) -> Result<(), CliError> {
    let ending = path.extension().and_then(|ending| ending.to_str()).unwrap_or_default();
    let found = match text.trim().is_empty() {
        true => Some("is empty"),
        false => ["jsonl", "json", "toml", "yaml", "md"].contains(&ending).then_some("is no Python file"),
    };
    match found {
        Some(found) => Err(CliError::user_hint(
            format!("{}: {found}", path.display()),
            "expected a program in Python; a file of tasks goes with --env",
        )),
        None => Ok(()),
    }
}
