//! How the completions of a model ended, and what to change.

use crate::evaluation::VerdictCounts;

/// Counts of the ways to end, and advice in lines.
pub struct ToldVerdicts {
    pub counts: VerdictCounts,
    pub told: Vec<String>,
}

/// A paragraph for each model.
pub fn text<'a>(models: impl Iterator<Item = (&'a str, &'a ToldVerdicts)>) -> String {
    let paragraph = |(name, verdicts): (&str, &ToldVerdicts)| {
        let lines: String = verdicts.told.iter().map(|line| format!("  {line}\n")).collect();
        format!("\n{name}\n{lines}")
    };
    models.map(paragraph).collect()
}
