//! Programs on the tests of tasks.

use std::path::Path;

use serde::Serialize;

use super::explain::Subject;
use super::{Bench, REASON_WIDTH, coloured, cut};
use crate::arena::Evaluation;
use crate::cli::opened::programs::ProgramFile;
use crate::cli::opened::tasks::{first_ids, named};
use crate::cli::said::{CliError, output};
use crate::environment::tasks::{Kind, Task, Tasks};
use crate::environment::{Case, FailedTest, Outcome, Verdict};
use crate::metrics::visible;
use crate::program::{Program, Rejection};
use crate::reward::Rule;

/// What a program did on a task: one line of `--json`.
#[derive(Serialize)]
pub(super) struct Tried {
    file: String,
    task: String,
    /// `passed`, `rejected`, or how its first failed test ended.
    verdict: Verdict,
    reason: Option<String>,
    reward: f32,
    passed: u32,
    tests: u32,
    /// Tests that the best constant answer passes.
    constant: u32,
    failed: Option<FailedTest>,
    fuel: u64,
    /// Digest of the evaluation, without what depends on the machine.
    digest: String,
}

/// A program that is to be tried on a task.
pub(super) struct Attempt<'a> {
    path: &'a Path,
    task: &'a Task,
    program: Result<Program, Rejection>,
    case: [Case; 1],
}

/// Every file with the task that was asked for, or with those whose function it defines.
pub(super) fn attempts<'a>(
    tasks: &'a Tasks,
    files: &'a [ProgramFile],
    asked: Option<&str>,
) -> Result<Vec<Attempt<'a>>, CliError> {
    let asked = asked.map(|id| named(tasks, id)).transpose()?;
    let mut attempts = Vec::new();
    for file in files {
        let found = attempts_of(tasks, file, asked);
        if found.is_empty() {
            let (path, name) = (file.path.display(), tasks.name());
            return Err(CliError::user_hint(
                format!("{path}: defines the function of no task of {name}"),
                format!("name the task with --task; there are: {}", first_ids(tasks)),
            ));
        }
        attempts.extend(found);
    }
    Ok(attempts)
}

pub(super) fn tried(bench: &Bench<'_>, attempts: &[Attempt<'_>]) -> Result<Vec<Tried>, CliError> {
    let programs: Vec<_> = attempts.iter().map(|attempt| (attempt.program.clone(), &attempt.case[..])).collect();
    let named = |number: usize| format!("{}, task {}", attempts[number].path.display(), attempts[number].task.id);
    let evaluations = bench.evaluations(&programs, named)?;
    let rule = Rule::new(&bench.config.reward, bench.arena.environment());
    Ok(attempts.iter().zip(&evaluations).map(|(attempt, evaluation)| attempt.tried(evaluation, &rule)).collect())
}

fn attempts_of<'a>(tasks: &'a Tasks, file: &'a ProgramFile, asked: Option<usize>) -> Vec<Attempt<'a>> {
    let attempt = |number: usize, task: &'a Task| {
        let program = file.program(&task.entry());
        // Any text could be a whole program. Only the name of a function says which task a file is for.
        let is_meant = matches!(task.kind, Kind::Function(_)) && !matches!(program, Err(Rejection::NoFunction { .. }));
        let case = [Case::Task(number as u32)];
        (is_meant || asked == Some(number)).then_some(Attempt { path: &file.path, task, program, case })
    };
    let numbered = tasks.tasks().iter().enumerate();
    let wanted = numbered.filter(|(number, _)| asked.is_none_or(|asked| asked == *number));
    wanted.filter_map(|(number, task)| attempt(number, task)).collect()
}

impl<'a> Attempt<'a> {
    pub fn subject(self) -> Subject<'a> {
        Subject { path: self.path, program: self.program, cases: self.case.to_vec(), task: Some(self.task) }
    }

    fn tried(&self, evaluation: &Evaluation, rule: &Rule) -> Tried {
        let outcome = evaluation.games.first();
        let tests = outcome.and_then(Outcome::tests);
        Tried {
            file: visible(&self.path.display().to_string()),
            task: self.task.id.clone(),
            verdict: evaluation.verdict(false),
            reason: evaluation.reason(),
            reward: rule.score(evaluation).value,
            passed: tests.map_or(0, |tests| tests.passed),
            tests: tests.map_or(self.task.tests_and_checker(), |tests| tests.tests),
            constant: self.task.constant(),
            failed: tests.and_then(|tests| tests.failed.clone()),
            fuel: outcome.map_or(0, |outcome| outcome.fuel),
            digest: evaluation.digest(),
        }
    }
}

impl Tried {
    /// The first test that it failed, or why it was not tested.
    fn failure(&self) -> String {
        let reason = self.reason.clone().or_else(|| self.failed.as_ref().map(|failed| failed.reason.clone()));
        let number = self.failed.as_ref().map(|failed| format!("test {}: ", failed.test)).unwrap_or_default();
        reason.map(|reason| cut(&format!("{number}{reason}"), 2 * REASON_WIDTH)).unwrap_or_default()
    }
}

pub(super) fn table(tried: &[Tried]) -> String {
    let row = |line: &Tried| {
        let verdict = coloured(line.verdict);
        let mut row = vec![line.file.clone(), line.task.clone(), verdict, format!("{} of {}", line.passed, line.tests)];
        row.extend([format!("{:.3}", line.reward), line.failure()]);
        row
    };
    let head = ["file", "task", "verdict", "tests", "reward", "first failed test"].map(str::to_owned).to_vec();
    let rows: Vec<Vec<String>> = [head].into_iter().chain(tried.iter().map(row)).collect();
    output::remarked(&rows, 3)
}
