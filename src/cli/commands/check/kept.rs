//! The tasks in which the check finds no problem, as a file of their own.

use std::collections::BTreeSet;
use std::path::Path;

use crate::cli::opened::rows;
use crate::cli::said::{CliError, output};
use crate::environment::Environment;
use crate::environment::tasks::{Task, Tasks};
use crate::files;
use crate::plural::counted;
use crate::preflight::{Check, Level, Report};

/// Refuses an environment that has no tasks, the file that they are read from, one that cannot be written, and one that
/// holds others than these tasks.
pub fn check(target: &Path, environment: &Environment) -> Result<(), CliError> {
    let is_same = |a: &Path, b: &Path| a.canonicalize().is_ok_and(|a| b.canonicalize().is_ok_and(|b| a == b));
    let named = format!("--keep {}", target.display());
    let refused = |why: String| Err(CliError::user(format!("{named}: {why}")));
    match environment {
        Environment::Tasks(tasks) if is_same(target, tasks.path()) => refused("that is the file to check".into()),
        Environment::Tasks(tasks) => {
            CliError::refuse_unwritable(&named, target, "rest.jsonl")?;
            output::refuse_other(&named, target, |_| {
                // What was kept before a task was mended has that task by its id alone.
                let ids: BTreeSet<&str> = tasks.tasks().iter().map(|task| task.id.as_str()).collect();
                let are_these = |kept: Tasks| kept.tasks().iter().all(|task| ids.contains(task.id.as_str()));
                Tasks::open(target).is_ok_and(are_these)
            })
        }
        other => refused(format!("{} has no tasks that could be kept", other.name())),
    }
}

/// Writes the lines of tasks without a problem as they are, and says which are left out.
pub fn write(path: &Path, tasks: &Tasks, report: &Report) -> Result<String, CliError> {
    let mend: BTreeSet<usize> =
        report.of_level(Level::Problem).filter_map(|finding| Some(finding.place.as_ref()?.line)).collect();
    let (out, kept): (Vec<&Task>, Vec<&Task>) = tasks.tasks().iter().partition(|task| mend.contains(&task.line));
    let target = path.display();
    // The check ends at a mistake that is no program's doing: of the other tasks nothing is known.
    if let Some(ended) = report.of_level(Level::Problem).find(|finding| finding.check == Check::Rules) {
        return Err(CliError::user_hint(
            format!("--keep {target}: nothing is written, since the check ended at {}", ended.text),
            "correct that task or take its line out, and check again",
        ));
    }
    if kept.is_empty() {
        return Err(CliError::user(format!("--keep {target}: no task is without a problem; nothing is written")));
    }
    let text = std::fs::read(tasks.path())
        .map_err(|error| CliError::user_path(format!("{}: {error}", tasks.path().display()), tasks.path()))?;
    let lines = files::lines(&text);
    // Lines are counted from 1.
    let whole = kept.iter().flat_map(|task| [lines[task.line - 1], b"\n"]).collect::<Vec<_>>().concat();
    output::write_file(format!("--keep {target}"), path, &whole)?;
    let all = counted(tasks.tasks().len(), "task");
    let without = match out.is_empty() {
        true => String::new(),
        false => format!(", without {}", rows::named(out.iter().map(|task| task.id.as_str()))),
    };
    Ok(format!("{target}: {} of {all}{without}", kept.len()))
}
