//! What all checks of tasks work on, and the tasks that they choose.

use std::collections::{BTreeMap, BTreeSet};

use crate::arena::ArenaError;
use crate::config::Config;
use crate::environment::Case;
use crate::environment::tasks::{Function, Kind, Task, Tasks};
use crate::preflight::finding::{CheckFinding, Level, TaskPlace};
use crate::preflight::report::TaskCount;
use crate::preflight::trial::{self, JudgedTrial, Told, Trial, TrialJudge};

/// Function tasks of each kind on which stubs and cheats are run.
pub(super) const SAMPLE: usize = 16;

/// Script tasks on which stubs and cheats are run; fewer, because a script runs again for each test.
pub(super) const SCRIPTS: usize = 4;

/// Programs that are judged between two reports of progress.
pub(super) const TURN: usize = 64;

pub(super) struct Examination<'a> {
    pub config: &'a Config,
    pub tasks: &'a Tasks,
    pub judge: &'a dyn TrialJudge,
}

/// Numbers of all tasks, of their tests, and of those tasks that have a problem of their own.
pub(in crate::preflight) fn counted_tasks(tasks: &Tasks, findings: &[CheckFinding]) -> TaskCount {
    let problems = findings.iter().filter(|finding| finding.level == Level::Problem);
    let to_mend: BTreeSet<usize> =
        problems.filter_map(|finding| finding.place.as_ref().map(|place| place.line)).collect();
    let tests = tasks.tasks().iter().map(|task| task.tests.len()).sum();
    TaskCount { tasks: tasks.tasks().len(), tests, to_mend: to_mend.len() }
}

impl Examination<'_> {
    /// All tasks but honeypots, with their numbers.
    pub fn honest(&self) -> impl Iterator<Item = (usize, &Task)> {
        self.tasks.tasks().iter().enumerate().filter(|(_, task)| !task.is_honeypot)
    }

    pub fn task(&self, number: usize) -> &Task {
        &self.tasks.tasks()[number]
    }

    pub fn place(&self, number: usize) -> TaskPlace {
        place(self.tasks, number)
    }

    /// Judges each program on its task.
    pub fn judged(
        &self,
        what: &'static str,
        programs: &[(usize, String)],
        told: Told<'_>,
    ) -> Result<Vec<JudgedTrial>, ArenaError> {
        let mut judged = Vec::with_capacity(programs.len());
        for turn in programs.chunks(TURN) {
            told(what, judged.len(), programs.len());
            let trials = turn.iter().map(|(task, source)| Trial::new(source, vec![Case::Task(*task as u32)]));
            judged.extend(trial::judged(self.judge, &trials.collect::<Vec<_>>())?);
        }
        Ok(judged)
    }
}

/// Indices of the first tasks of each kind that are asked about, at most `most` of them.
pub(super) fn sample(tasks: &Tasks, most: usize, is_asked: impl Fn(&Task) -> bool) -> Vec<usize> {
    let mut taken: BTreeMap<(bool, bool, bool), usize> = BTreeMap::new();
    let is_wanted = |number: &usize| {
        let task = &tasks.tasks()[*number];
        if task.is_honeypot || !is_asked(task) {
            return false;
        }
        let is_method = matches!(&task.kind, Kind::Function(Function { entry_point, .. }) if entry_point.contains('.'));
        let of_kind = taken.entry((task.kind == Kind::Script, is_method, task.has_checker())).or_default();
        *of_kind += 1;
        *of_kind <= if task.kind == Kind::Script { most.min(SCRIPTS) } else { most }
    };
    (0..tasks.tasks().len()).filter(is_wanted).collect()
}

pub(super) fn place(tasks: &Tasks, number: usize) -> TaskPlace {
    let task = &tasks.tasks()[number];
    TaskPlace { file: tasks.path().display().to_string(), line: task.line, task: task.id.clone() }
}
