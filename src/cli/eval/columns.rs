//! Tables on standard output.

use crate::metrics::Stream;

/// Stands where a number would mean nothing.
pub const NOTHING: &str = "-";

pub fn percent(share: f64) -> String {
    format!("{:.0}%", 100.0 * share)
}

/// Columns two spaces apart, the first to the left and the others to the right; the first row is in bold.
pub fn aligned(rows: &[Vec<String>]) -> String {
    let columns = rows.iter().map(Vec::len).max().unwrap_or(0);
    let width = |column: usize| rows.iter().filter_map(|row| row.get(column)).map(|cell| cell.chars().count()).max();
    let widths: Vec<usize> = (0..columns).map(|column| width(column).unwrap_or(0)).collect();
    let line = |row: &Vec<String>| {
        let cells = row.iter().zip(&widths).enumerate().map(|(column, (cell, &width))| match column {
            0 => format!("{cell:<width$}"),
            _ => format!("{cell:>width$}"),
        });
        cells.collect::<Vec<_>>().join("  ")
    };
    let bold = Stream::Stdout.style().bold();
    let mut lines = rows.iter().map(line);
    let head = lines.next().unwrap_or_default();
    std::iter::once(format!("{}\n", bold.apply_to(head))).chain(lines.map(|line| format!("{line}\n"))).collect()
}
