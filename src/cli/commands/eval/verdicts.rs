//! How the completions of a model ended, and what to change.

use crate::cli::said::output;
use crate::evaluation::VerdictCounts;

/// Counts of the ways to end, and advice in lines.
pub struct ToldVerdicts {
    pub counts: VerdictCounts,
    pub told: Vec<String>,
}

/// A paragraph for each model, which is wrapped on a terminal.
pub fn text<'a>(models: impl Iterator<Item = (&'a str, &'a ToldVerdicts)>) -> String {
    let room = output::columns().map_or(usize::MAX, |columns| columns.saturating_sub(2));
    let paragraph = |(name, verdicts): (&str, &ToldVerdicts)| {
        let lines = verdicts.told.iter().flat_map(|line| output::wrapped(line, room));
        let lines: String = lines.map(|line| format!("  {line}\n")).collect();
        format!("\n{name}\n{lines}")
    };
    models.map(paragraph).collect()
}
