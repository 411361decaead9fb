//! Checks the reward before a run.
//!
//! Takes a [`TrialJudge`], which turns a completion into evidence and reward (in a run: the arena and the reward of its own
//! configuration); shows it players of known strength and programs that cheat, and gives a [`Report`] on their
//! rewards. A reward that pays the wrong thing would silently train the wrong thing; a few seconds of play reveal it.
//! Uses none of the run's random streams, and knows no model.

mod evaluator;
mod finding;
mod game2048;
mod ladder;
#[cfg(test)]
mod planted;
mod report;
mod script;
mod tasks;
mod trial;

use std::path::Path;

pub use self::finding::{Check, CheckFinding, Level, Setting, TaskPlace};
pub use self::report::{Report, Standing, TaskCount};
pub use self::tasks::{Audit, Earned, Room, Ungraded, audit, long_prompts};
pub use self::trial::{JudgedTrial, Told, TrainingPath, Trial, TrialJudge};
use crate::arena::ArenaError;
use crate::config::Config;
use crate::environment::Environment;
pub use crate::grader::{Form, Grader};

/// Judges the environment's references and cheats, and reports what their rewards show about `config`.
pub fn examine(
    config: &Config,
    environment: &Environment,
    judge: &dyn TrialJudge,
    told: Told<'_>,
) -> Result<Report, ArenaError> {
    let examined = match environment {
        Environment::Game2048 => game2048::examine(config, judge),
        Environment::Script(game) => script::examine(config, game, judge, told),
        Environment::Evaluator(it) => evaluator::examine(config, it, judge, told),
        Environment::Tasks(tasks) => tasks::examine(config, tasks, judge, told),
    };
    match examined {
        Err(ArenaError::Environment { game, message, .. }) => Ok(failing(environment, &game, &message)),
        examined => examined,
    }
}

/// The report on an environment that fails by itself, for which no program is to blame.
fn failing(environment: &Environment, file: &Path, message: &str) -> Report {
    let remedy = match environment {
        Environment::Game2048 | Environment::Script(_) => "correct the game: no program is to blame for this",
        Environment::Evaluator(_) => "correct the evaluator: it fails before it has a program",
        Environment::Tasks(_) => "correct the checker, or the prelude: no program is to blame for this",
    };
    let finding = CheckFinding::problem(Check::Rules, format!("{}: {message}", file.display()));
    let findings = vec![finding.mend(remedy)];
    let tasks = environment.tasks().map(|tasks| tasks::counted_tasks(tasks, &findings));
    Report { players: Vec::new(), tasks, findings, labels: environment.labels() }
}
