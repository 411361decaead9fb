//! The reward check of tasks.
//!
//! References are run on all tasks, and the tests of all tasks are compared. Stubs and cheats are run on a sample, the
//! first tasks of each kind, which is the same in every run.

mod audit;
mod cheats;
mod examination;
mod probes;
mod prompts;
mod references;
mod suite;
#[cfg(test)]
mod tests;

use std::cmp::Reverse;

pub use self::audit::{Audit, Earned, Ungraded, audit};
use self::examination::Examination;
pub(super) use self::examination::counted_tasks;
pub use self::prompts::{Room, long_prompts};
use super::finding::CheckFinding;
use super::report::Report;
use super::trial::{Told, TrialJudge};
use crate::arena::ArenaError;
use crate::config::Config;
use crate::environment::Labels;
use crate::environment::tasks::Tasks;

/// Judges the references, stubs and cheats, and reports what their rewards show about the tasks.
pub(super) fn examine(
    config: &Config,
    tasks: &Tasks,
    judge: &dyn TrialJudge,
    told: Told<'_>,
) -> Result<Report, ArenaError> {
    let mut findings = Examination { config, tasks, judge }.findings(told)?;
    findings.sort_by_key(|finding| (finding.check, Reverse(finding.level)));
    let count = counted_tasks(tasks, &findings);
    Ok(Report { players: Vec::new(), tasks: Some(count), findings, labels: Labels::Tests })
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
}
