//! Tables on standard output.

use crate::cli::said::output;
use crate::metrics;

/// Stands where a number would mean nothing.
pub const NOTHING: &str = "-";

pub fn percent(share: f64) -> String {
    format!("{:.0}%", 100.0 * share)
}

/// The rows, as wide as the terminal is; the first one is the head, the first column names.
pub fn aligned(rows: &[Vec<String>]) -> String {
    metrics::aligned(rows, 1, output::columns())
}
