//! Cells and rows of tables on standard output.

use super::output;
use crate::metrics;

/// Stands where a number would mean nothing.
pub const NOTHING: &str = "-";

/// The rows, as wide as the terminal is; the first one is the head, the first column names.
pub fn aligned(rows: &[Vec<String>]) -> String {
    metrics::aligned(rows, 1, output::columns())
}
