//! Lines of Python in lines of Python.

/// Lines that begin some columns further in.
pub fn indented(text: &str, columns: usize) -> String {
    text.lines().map(|line| format!("{}{line}\n", " ".repeat(columns))).collect()
}

/// Appends lines as far in as the line that they continue.
pub fn append_indented(text: &mut String, block: &str) {
    let line = &text[text.rfind('\n').map_or(0, |at| at + 1)..];
    let columns = line.len() - line.trim_start().len();
    let lines = indented(block, columns);
    *text += lines.trim_start_matches(' ').trim_end_matches('\n');
}
