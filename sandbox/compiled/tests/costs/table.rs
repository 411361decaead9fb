//! `COSTS.md`: the table of what operations cost compiled, beside interpreted.

use std::collections::HashMap;
use std::fs;

/// An operation, with its ratios for each order of each size.
pub struct Row {
    pub name: &'static str,
    pub cells: Vec<Vec<f64>>,
}

/// The cells of each operation as they are written.
pub struct Table(HashMap<String, Vec<String>>);

const PATH: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/COSTS.md");

const HEAD: &str = "\
# What operations cost

The fuel that a compiled program is charged for an operation, as a share of what CPython spends on it in the interpreter, where
it works on 10, 1,000 and 100,000 numbers that are sorted, reversed and in random order (the least and the most of these; one
figure where sizes do not matter). Fuel is counted and not timed, so these figures are the same on every machine.
`tests/costs/cases.txt` has each operation, `make costs` measures and writes this table, and
`an_operation_costs_within_half_and_twice_of_what_cpython_spends_on_it` holds it.

| operation | 10 | 1,000 | 100,000 |
|---|---|---|---|
";

/// Ratios as they are written.
pub fn text(ratios: &[f64]) -> String {
    let written: Vec<String> = ratios.iter().map(|ratio| format!("{ratio:.2}")).collect();
    let (least, most) = (written.iter().min(), written.iter().max());
    match (least, most) {
        (Some(least), Some(most)) if least != most => format!("{least} to {most}"),
        (Some(one), _) => one.clone(),
        _ => String::new(),
    }
}

impl Table {
    pub fn read() -> Table {
        let written = fs::read_to_string(PATH).expect("COSTS.md");
        let rows = written.lines().filter(|line| line.starts_with("| ")).map(|line| {
            let mut cells = line.trim_matches('|').split('|').map(|cell| cell.trim().to_owned());
            (cells.next().unwrap_or_default(), cells.collect())
        });
        Table(rows.collect())
    }

    pub fn cell(&self, name: &str, index: usize) -> Option<String> {
        self.0.get(name)?.get(index).cloned()
    }

    pub fn write(rows: &[Row]) {
        let mut written = HEAD.to_owned();
        for row in rows {
            let cell = |index: usize| row.cells.get(index).map_or_else(String::new, |ratios| text(ratios));
            written += &format!("| {} | {} | {} | {} |\n", row.name, cell(0), cell(1), cell(2));
        }
        fs::write(PATH, written).expect("COSTS.md is written");
    }
}
