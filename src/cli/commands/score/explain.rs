//! `score --explain`: which programs are compiled, and why the others are interpreted.

use std::collections::BTreeMap;
use std::path::Path;

use grpo_sandbox::{HostError, Sandbox, TierChoice};

use crate::arena::{Arena, ArenaError, Rules, Workers};
use crate::cli::opened::arena;
use crate::cli::said::CliError;
use crate::config::Config;
use crate::environment::Case;
use crate::environment::tasks::{Kind, Task};
use crate::program::{Program, Rejection};

pub(super) struct Subject<'a> {
    pub path: &'a Path,
    pub program: Result<Program, Rejection>,
    pub cases: Vec<Case>,
    /// The task that it answers; none in a game.
    pub task: Option<&'a Task>,
}

/// One line for each program, with its task where a file answers several. Compiled programs are played too, since they may be
/// given up for the interpreter at play.
pub(super) fn lines(sandbox: &Sandbox, config: &Config, subjects: &[Subject<'_>]) -> Result<String, CliError> {
    let compiled = sandbox.with_tiers(TierChoice::Compiled, 0);
    let rules = Rules::new(&config.sandbox, &config.arena);
    let arena = Arena::new(compiled, arena::environment(config)?, rules, Workers::Inline).map_err(CliError::run)?;
    let mut tasks_of: BTreeMap<&Path, usize> = BTreeMap::new();
    subjects.iter().for_each(|subject| *tasks_of.entry(subject.path).or_default() += 1);
    let mut lines = String::new();
    for Subject { path, program, cases, task } in subjects {
        let said = match program {
            Err(rejection) => rejection.to_string(),
            Ok(program) => match interpreted(sandbox, program, *task)? {
                Some(why) => format!("interpreted: {why}"),
                None => played(&arena, program, cases)?,
            },
        };
        let which = task.filter(|_| tasks_of[path] > 1).map(|task| format!(", task {}", task.id)).unwrap_or_default();
        lines.push_str(&format!("{}{which}: {said}\n", path.display()));
    }
    Ok(lines)
}

/// Why a program is interpreted from its start: its task wants that, or its text is outside of the compiled tier, or that of
/// the prelude, which is loaded with it.
fn interpreted(sandbox: &Sandbox, program: &Program, task: Option<&Task>) -> Result<Option<String>, CliError> {
    let outside = |source: &str| sandbox.outside(source).map_err(CliError::run);
    if let Some(task) = task {
        if task.kind == Kind::Script {
            return Ok(Some("a program that reads and prints".into()));
        }
        if task.keeps_calls_apart() {
            return Ok(Some("its task keeps the calls of its checker apart".into()));
        }
        if task.array_types {
            return Ok(Some("its task compares the types of arrays".into()));
        }
        if let Some(prelude) = &task.prelude
            && let Some(found) = outside(prelude)?
        {
            return Ok(Some(format!("the prelude of its task, {found}")));
        }
    }
    Ok(outside(program.source())?.map(|found| found.to_string()))
}

/// Whether a program stays compiled while it is played.
fn played(arena: &Arena, program: &Program, cases: &Vec<Case>) -> Result<String, CliError> {
    match arena.evaluate_all([(Ok(program.clone()), cases.as_slice())], &mut |_, _| ()) {
        Ok(_) => Ok("compiled".into()),
        Err(ArenaError::Host { source: HostError::LeftTier(reason), .. }) => {
            Ok(format!("compiled, but given up for the interpreter while it runs: {reason}"))
        }
        Err(error) => Err(CliError::run(error)),
    }
}
