//! The reward check of tasks.
//!
//! References are run on all tasks, and the tests of all tasks are compared. Stubs and cheats are run on a sample, the
//! first tasks of each kind, which is the same in every run.

mod audit;
mod cheats;
mod honeypots;
mod modules;
mod probes;
mod prompts;
mod references;
mod suite;
#[cfg(test)]
mod tests;

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;

pub use self::audit::{Audit, Earned, Ungraded, audit};
pub use self::prompts::long_prompts;
use super::finding::{Check, CheckFinding, TaskPlace};
use super::{JudgedTrial, Level, Report, Told, Trial, TrialJudge};
use crate::arena::ArenaError;
use crate::config::Config;
use crate::environment::tasks::{Function, Kind, Task, Tasks};
use crate::environment::{Case, Labels};

/// Function tasks of each kind on which stubs and cheats are run.
const SAMPLE: usize = 16;
/// Script tasks on which stubs and cheats are run; fewer, because a script runs again for each test.
const SCRIPTS: usize = 4;
/// Programs that are judged between two reports of progress.
const TURN: usize = 64;

/// Number of tasks, and of those with problems.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct TaskCount {
    /// All of them.
    pub tasks: usize,
    /// Their tests.
    pub tests: usize,
    /// Tasks with a problem of their own.
    pub to_mend: usize,
}

/// The arguments of all checks.
struct Examination<'a> {
    config: &'a Config,
    tasks: &'a Tasks,
    judge: &'a dyn TrialJudge,
}

/// Judges the references, stubs and cheats, and reports what their rewards show about the tasks.
pub(super) fn examine(
    config: &Config,
    tasks: &Tasks,
    judge: &dyn TrialJudge,
    told: Told<'_>,
) -> Result<Report, ArenaError> {
    let mut findings = match (Examination { config, tasks, judge }).findings(told) {
        Ok(findings) => findings,
        Err(ArenaError::Environment { game, message, .. }) => {
            let finding = CheckFinding::problem(Check::Rules, format!("{}: {message}", game.display()));
            vec![finding.mend("correct the checker: no program is to blame for this")]
        }
        Err(error) => return Err(error),
    };
    findings.sort_by_key(|finding| (finding.check, Reverse(finding.level)));
    let count = counted_tasks(tasks, &findings);
    Ok(Report { players: Vec::new(), tasks: Some(count), findings, labels: Labels::Tests })
}

/// Numbers of all tasks, of their tests, and of those tasks that have a problem of their own.
fn counted_tasks(tasks: &Tasks, findings: &[CheckFinding]) -> TaskCount {
    let problems = findings.iter().filter(|finding| finding.level == Level::Problem);
    let to_mend: BTreeSet<usize> =
        problems.filter_map(|finding| finding.place.as_ref().map(|place| place.line)).collect();
    let tests = tasks.tasks().iter().map(|task| task.tests.len()).sum();
    TaskCount { tasks: tasks.tasks().len(), tests, to_mend: to_mend.len() }
}

impl Examination<'_> {
    fn findings(&self, told: Told<'_>) -> Result<Vec<CheckFinding>, ArenaError> {
        let mut findings = self.references(told)?;
        findings.extend(self.honeypots(told)?);
        let (of_tests, constant) = self.suites();
        findings.extend(of_tests);
        findings.extend(self.probes(constant, told)?);
        Ok(findings)
    }

    /// All tasks but honeypots, with their numbers.
    fn honest(&self) -> impl Iterator<Item = (usize, &Task)> {
        self.tasks.tasks().iter().enumerate().filter(|(_, task)| !task.is_honeypot)
    }

    fn task(&self, number: usize) -> &Task {
        &self.tasks.tasks()[number]
    }

    fn place(&self, number: usize) -> TaskPlace {
        place(self.tasks, number)
    }

    /// Judges each program on its task.
    fn judged(
        &self,
        what: &'static str,
        programs: &[(usize, String)],
        told: Told<'_>,
    ) -> Result<Vec<JudgedTrial>, ArenaError> {
        let mut judged = Vec::with_capacity(programs.len());
        for turn in programs.chunks(TURN) {
            told(what, judged.len(), programs.len());
            let trials = turn.iter().map(|(task, source)| Trial::new(source, vec![Case::Task(*task as u32)]));
            judged.extend(super::judged(self.judge, &trials.collect::<Vec<_>>())?);
        }
        Ok(judged)
    }
}

/// Indices of the first tasks of each kind, at most `most` of them.
fn sample(tasks: &Tasks, most: usize) -> Vec<usize> {
    let mut taken: BTreeMap<(bool, bool, bool), usize> = BTreeMap::new();
    let is_wanted = |number: &usize| {
        let task = &tasks.tasks()[*number];
        if task.is_honeypot {
            return false;
        }
        let is_method = matches!(&task.kind, Kind::Function(Function { entry_point, .. }) if entry_point.contains('.'));
        let of_kind = taken.entry((task.kind == Kind::Script, is_method, task.has_checker())).or_default();
        *of_kind += 1;
        *of_kind <= if task.kind == Kind::Script { most.min(SCRIPTS) } else { most }
    };
    (0..tasks.tasks().len()).filter(is_wanted).collect()
}

fn place(tasks: &Tasks, number: usize) -> TaskPlace {
    let task = &tasks.tasks()[number];
    TaskPlace { file: tasks.path().display().to_string(), line: task.line, task: task.id.clone() }
}
