//! Names the modules that references need and the sandbox lacks.

use std::collections::BTreeMap;

use super::examination::Examination;
use super::references::Run;
use crate::plural::counted;
use crate::preflight::finding::{Check, CheckFinding};

impl Examination<'_> {
    /// One finding for all modules that are missing, at the first task that needs one.
    pub(super) fn modules(&self, runs: &[Run]) -> Option<CheckFinding> {
        let mut references: BTreeMap<String, usize> = BTreeMap::new();
        runs.iter().filter_map(Run::lacks).for_each(|module| *references.entry(module).or_default() += 1);
        let first = runs.iter().find(|run| run.lacks().is_some())?;
        let told: Vec<String> = references
            .iter()
            .map(|(module, references)| format!("`{module}` ({})", counted(*references, "reference")))
            .collect();
        let text = format!("references import what the sandbox lacks: {}", told.join(", "));
        let finding = CheckFinding::problem(Check::Modules, text).at(self.place(first.task));
        Some(finding.mend("leave these tasks out, or give them references that import what docs/sandbox.md lists"))
    }
}
