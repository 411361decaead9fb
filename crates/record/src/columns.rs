//! Text tables that fit the width of the terminal.

use console::{Alignment, measure_text_width, pad_str};

use super::Stream;

/// Number of blanks between columns.
const GAP: usize = 2;

/// Aligns the cells of a table, with the first row in bold, the first `words` columns left-aligned and the others,
/// which hold numbers, right-aligned. If a line is longer than `most` characters, the remaining columns follow in
/// further tables below, which repeat the first `words` columns. Cells may have colours.
pub fn aligned(rows: &[Vec<String>], words: usize, most: Option<usize>) -> String {
    table(rows, |column| if column < words { Alignment::Left } else { Alignment::Right }, words, most)
}

/// The same with the last column, which holds remarks, left-aligned too.
pub fn remarked(rows: &[Vec<String>], words: usize, most: Option<usize>) -> String {
    let last = rows.first().map_or(0, Vec::len).saturating_sub(1);
    let align = |column: usize| if column < words || column == last { Alignment::Left } else { Alignment::Right };
    table(rows, align, words, most)
}

fn table(rows: &[Vec<String>], align: impl Fn(usize) -> Alignment, words: usize, most: Option<usize>) -> String {
    let columns = rows.iter().map(Vec::len).max().unwrap_or(0);
    let width =
        |column: usize| rows.iter().filter_map(|row| row.get(column)).map(|cell| measure_text_width(cell)).max();
    let widths: Vec<usize> = (0..columns).map(|column| width(column).unwrap_or(0)).collect();
    let across = |columns: &[usize]| columns.iter().map(|&column| widths[column] + GAP).sum::<usize>() - GAP;
    let mut tables = vec![(0..words.min(columns)).collect::<Vec<usize>>()];
    for column in words..columns {
        let wider: Vec<usize> = tables.last().into_iter().flatten().copied().chain([column]).collect();
        match most.is_some_and(|most| across(&wider) > most && wider.len() > words + 1) {
            true => tables.push((0..words).chain([column]).collect()),
            false => *tables.last_mut().expect("there is one") = wider,
        }
    }
    let bold = Stream::Stdout.style().bold();
    let line = |row: &Vec<String>, table: &[usize]| {
        let cells = table.iter().map(|&column| {
            let cell = row.get(column).map_or("", String::as_str);
            pad_str(cell, widths[column], align(column), None).into_owned()
        });
        cells.collect::<Vec<_>>().join(&" ".repeat(GAP)).trim_end().to_owned()
    };
    let table = |table: &Vec<usize>| {
        let lines = rows.iter().enumerate().map(|(index, row)| match index {
            0 => format!("{}\n", bold.apply_to(line(row, table))),
            _ => format!("{}\n", line(row, table)),
        });
        lines.collect::<String>()
    };
    tables.iter().map(table).collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_table_that_is_too_wide_goes_on_below_with_its_names() {
        let rows = [["", "mean", "median", "best"], ["builtin", "12", "7", "2048"]];
        let rows = rows.map(|row| row.map(str::to_owned).to_vec());
        let plain = |most| console::strip_ansi_codes(&aligned(&rows, 1, most)).into_owned();
        let whole = "         mean  median  best\nbuiltin    12       7  2048\n";
        assert_eq!([None, Some(27)].map(plain), [whole; 2].map(str::to_owned));
        assert_eq!(plain(Some(26)), "         mean  median\nbuiltin    12       7\n\n         best\nbuiltin  2048\n");
        assert_eq!(plain(Some(4)).lines().count(), 8, "a column a table is the least");
    }

    #[test]
    fn remarks_without_room_beside_the_figures_stand_in_a_table_below() {
        let rows = [["file", "score", "how games ended"], ["a.py", "12", "freeze 2"]];
        let rows = rows.map(|row| row.map(str::to_owned).to_vec());
        let plain = |most| console::strip_ansi_codes(&remarked(&rows, 1, most)).into_owned();
        let whole = "file  score  how games ended\na.py     12  freeze 2\n";
        assert_eq!([None, Some(28)].map(plain), [whole; 2].map(str::to_owned));
        assert_eq!(plain(Some(27)), "file  score\na.py     12\n\nfile  how games ended\na.py  freeze 2\n");
    }
}
