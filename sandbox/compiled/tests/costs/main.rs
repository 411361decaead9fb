//! The compiled tier charges what CPython spends: operation by operation, and over whole programs.
//!
//! `COSTS.md` is the table of it. `make costs` measures and writes it anew.

mod boards;
mod cases;
mod measure;
mod players;
mod table;

use cases::Case;
use measure::Meter;
use table::{Row, Table};

/// What an operation may cost compiled, as a share of what it costs interpreted.
const BOUNDS: std::ops::RangeInclusive<f64> = 0.5..=2.0;
/// Where most lie, and the share of them that does.
const USUAL: std::ops::RangeInclusive<f64> = 0.8..=1.25;
const USUAL_SHARE: f64 = 0.88;

fn measured(sizes: &[u32]) -> Vec<Row> {
    let meter = Meter::open();
    let ratios =
        |case: &Case, size| case.settings(size).into_iter().map(|setting| meter.ratio(case, setting)).collect();
    let cases = Case::all();
    cases
        .iter()
        .map(|case| Row {
            name: case.name,
            cells: sizes
                .iter()
                .take(if case.is_sized() { sizes.len() } else { 1 })
                .map(|&size| ratios(case, size))
                .collect(),
        })
        .collect()
}

/// Fuel is exact, so the table is too: every figure in it is what is measured, on every machine.
#[test]
fn an_operation_costs_within_half_and_twice_of_what_cpython_spends_on_it() {
    let rows = measured(&[10, 1_000]);
    let written = Table::read();
    let mut wrong = Vec::new();
    for row in &rows {
        for (index, cell) in row.cells.iter().enumerate() {
            if cell.iter().any(|ratio| !BOUNDS.contains(ratio)) {
                wrong.push(format!("{}: {cell:?} is out of bounds", row.name));
            }
            if written.cell(row.name, index) != Some(table::text(cell)) {
                wrong.push(format!("{}: COSTS.md does not say {}", row.name, table::text(cell)));
            }
        }
    }
    assert!(
        wrong.is_empty(),
        "{} of {}; `make costs` writes the table anew\n{}",
        wrong.len(),
        rows.len(),
        wrong.join("\n")
    );
    let all: Vec<f64> = rows.iter().flat_map(|row| row.cells.iter().flatten().copied()).collect();
    let usual = all.iter().filter(|ratio| USUAL.contains(ratio)).count();
    assert!(usual as f64 >= USUAL_SHARE * all.len() as f64, "{usual} of {} are usual", all.len());
}

#[test]
#[ignore = "writes COSTS.md, with lists of 100,000 numbers: make costs"]
fn write_the_table() {
    let rows = measured(&[10, 1_000, 100_000]);
    Table::write(&rows);
    let outside = |row: &&Row| row.cells.iter().flatten().any(|ratio| !BOUNDS.contains(ratio));
    let outside: Vec<&str> = rows.iter().filter(outside).map(|row| row.name).collect();
    assert!(outside.is_empty(), "out of bounds: {outside:?}");
}
