//! Checks that honeypots are such: that what they are made of does not pass them.

use super::examination::Examination;
use crate::arena::ArenaError;
use crate::environment::Outcome;
use crate::plural::counted;
use crate::preflight::Told;
use crate::preflight::finding::{Check, CheckFinding};

impl Examination<'_> {
    /// Runs the references of honeypots, none of which may pass a hidden test. No finding if there are no honeypots.
    pub(super) fn honeypots(&self, told: Told<'_>) -> Result<Vec<CheckFinding>, ArenaError> {
        let honeypots = self.tasks.tasks().iter().enumerate().filter(|(_, task)| task.is_honeypot);
        let programs: Vec<(usize, String)> =
            honeypots.filter_map(|(number, task)| Some((number, task.reference.clone()?))).collect();
        let judged = self.judged("references of honeypots", &programs, told)?;
        let passed = |outcome: &Outcome| outcome.tests().is_some_and(|tests| tests.passed > 0);
        let problems = programs.iter().zip(judged).filter(|(_, judged)| judged.evaluation.games.iter().any(passed));
        let problem = |task| {
            let text = "its reference passes a hidden test, so that it is no honeypot";
            let finding = CheckFinding::problem(Check::Honeypots, text).at(self.place(task));
            finding.mend("have `grpo-2048 tasks honeypot` write it")
        };
        let mut findings: Vec<CheckFinding> = problems.map(|((task, _), _)| problem(*task)).collect();
        let count = self.tasks.honeypots();
        if findings.is_empty() && count > 0 {
            let text = format!("{}, of which no reference passes a hidden test", counted(count, "honeypot"));
            findings.push(CheckFinding::ok(Check::Honeypots, text));
        }
        Ok(findings)
    }
}
