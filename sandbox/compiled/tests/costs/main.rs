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

/// Every operation at each of these sizes, or by turns at one of them. A cell that is not measured is empty.
fn measured(sizes: &[u32], by_turns: bool) -> Vec<Row> {
    let meter = Meter::open();
    let ratios =
        |case: &Case, size| case.settings(size).into_iter().map(|setting| meter.ratio(case, setting)).collect();
    let row = |(number, case): (usize, &Case)| {
        let count = if case.is_sized() { sizes.len() } else { 1 };
        let is_measured = |column: usize| !by_turns || column == number % count;
        let cell = |(column, &size): (usize, &u32)| if is_measured(column) { ratios(case, size) } else { Vec::new() };
        Row { name: case.name, cells: sizes.iter().take(count).enumerate().map(cell).collect() }
    };
    Case::all().iter().enumerate().map(row).collect()
}

/// Fuel is exact, so the table is too: every figure in it is what is measured, on every machine.
#[test]
fn an_operation_costs_within_half_and_twice_of_what_cpython_spends_on_it() {
    expect_the_figures_of_the_table(&measured(&[10, 1_000], true));
}

#[test]
#[ignore = "takes a quarter of a minute; `make proofs` runs it"]
fn an_operation_costs_what_the_table_says_at_both_sizes() {
    expect_the_figures_of_the_table(&measured(&[10, 1_000], false));
}

fn expect_the_figures_of_the_table(rows: &[Row]) {
    let written = Table::read();
    let mut wrong = Vec::new();
    for row in rows {
        for (index, cell) in row.cells.iter().enumerate().filter(|(_, cell)| !cell.is_empty()) {
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
    let rows = measured(&[10, 1_000, 100_000], false);
    Table::write(&rows);
    let outside = |row: &&Row| row.cells.iter().flatten().any(|ratio| !BOUNDS.contains(ratio));
    let outside: Vec<&str> = rows.iter().filter(outside).map(|row| row.name).collect();
    assert!(outside.is_empty(), "out of bounds: {outside:?}");
}
