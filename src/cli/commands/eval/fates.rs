//! How the completions of a model ended, and what to change.

use crate::evaluation::Fates;

/// Counts of the ways to end, and advice in lines.
pub struct ToldFates {
    pub fates: Fates,
    pub told: Vec<String>,
}

/// A paragraph for each model.
pub fn text<'a>(models: impl Iterator<Item = (&'a str, &'a ToldFates)>) -> String {
    let paragraph = |(name, fates): (&str, &ToldFates)| {
        let lines: String = fates.told.iter().map(|line| format!("  {line}\n")).collect();
        format!("\n{name}\n{lines}")
    };
    models.map(paragraph).collect()
}
