//! Rows of a data set: JSON lines or a JSON list, also packed by gzip, or parquet.

mod parquet_file;

use std::collections::BTreeMap;
use std::fmt::Display;
use std::fs::File;
use std::io::{self, BufRead, BufReader, Read};
use std::path::Path;

use clap::builder::{PossibleValuesParser, TypedValueParser};
use flate2::bufread::MultiGzDecoder;
use sha2::{Digest, Sha256};

use crate::cli::said::CliError;
use crate::environment::Value;
use crate::environment::tasks::convert::Dropped;
use crate::environment::tasks::{Suite, SuiteRows};
use crate::plural::counted;

/// Most bytes of a line, and of a JSON list, which is read whole.
const LINE_MAX: u64 = 256 << 20;
const WHOLE_MAX: u64 = 1 << 30;
/// Names that are printed for each reason.
const NAMED_MAX: usize = 5;
/// Reasons that are told: some quote what stands in a row.
const REASONS_MAX: usize = 20;
/// What to do about a table that `tasks convert` does not read.
pub const CSV_HINT: &str = "docs/tasks.md has the lines of Python that make rows of a CSV, with columns of a known set";
/// How texts in UTF-16 begin, as some shells of Windows write them.
const UTF_16: [[u8; 2]; 2] = [[0xff, 0xfe], [0xfe, 0xff]];
/// How a text in UTF-8 may begin.
const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";
/// What is said of a text in another encoding.
const NOT_UTF_8: &str = "not UTF-8; save the file as UTF-8";
/// How a file that gzip has packed begins.
const GZIP: [u8; 2] = [0x1f, 0x8b];

/// Hands every row to `take`, in their order, or the reason why one cannot be read, worded so that equal ones can be counted. A file
/// that is not in its format is refused, as one is that was cut off.
pub fn each(path: &Path, take: impl FnMut(Result<Value, String>)) -> Result<(), CliError> {
    let refuse = |error| CliError::user_path(format!("{}: {error}", path.display()), path);
    let mut reader = unpacked(path)?;
    let start = reader.fill_buf().map_err(refuse)?;
    if start.starts_with(b"PAR1") {
        return parquet_file::each(path, take);
    }
    let first = start.iter().find(|byte| !byte.is_ascii_whitespace() && !BYTE_ORDER_MARK.contains(byte));
    match first {
        Some(b'[') => list(path, reader, take),
        Some(b'{') => lines(path, reader, take),
        _ => {
            let hint = match path.extension().and_then(|extension| extension.to_str()) {
                _ if UTF_16.iter().any(|mark| start.starts_with(mark)) => "it is in UTF-16; save the file as UTF-8",
                Some("csv" | "tsv") => CSV_HINT,
                _ => "in Python: datasets.load_dataset(...)[\"train\"].to_json(\"rows.jsonl\")",
            };
            let found = if first.is_none() { "is empty, " } else { "" };
            let expected = "neither JSON lines, nor a JSON list, nor parquet";
            Err(CliError::user_hint(format!("{}: {found}{expected}", path.display()), hint))
        }
    }
}

pub fn suite_names() -> impl TypedValueParser<Value = Suite> {
    PossibleValuesParser::new(Suite::ALL.map(Suite::name)).map(|name| Suite::named(&name).expect("a possible value"))
}

/// The rows of a file as tasks of `suite`; a file without any is refused, by the `flag` that names it.
pub fn of_suite(flag: &str, suite: Suite, path: &Path) -> Result<SuiteRows, CliError> {
    let mut all = Vec::new();
    each(path, |row| all.push(row)).map_err(|error| match error {
        CliError::User { message, hint } => CliError::User { message: format!("{flag}{message}"), hint },
        other => other,
    })?;
    let found = suite.convert(&all);
    match found.tasks {
        0 => Err(none(format_args!("{flag}{}", path.display()), all.len(), &found.left_out)),
        _ => Ok(found),
    }
}

/// The refusal of a file none of whose rows became a task.
pub fn none(named: impl Display, rows: usize, dropped: &[Dropped]) -> CliError {
    let words = format!("{named}: none of {} became a task\n{}", counted(rows, "row"), reasons("dropped", dropped));
    CliError::user(words.trim_end())
}

/// A line for each reason why rows were `verb`, the most frequent first.
pub fn reasons(verb: &str, rows: &[Dropped]) -> String {
    let mut ids: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    rows.iter().for_each(|row| ids.entry(&row.why).or_default().push(&row.id));
    let mut reasons: Vec<_> = ids.into_iter().collect();
    reasons.sort_by_key(|(_, ids)| std::cmp::Reverse(ids.len()));
    let line = |(why, ids): (&str, Vec<&str>)| format!("{verb} {}: {why} ({})\n", ids.len(), named(ids.into_iter()));
    let others = reasons.split_off(reasons.len().min(REASONS_MAX));
    let rows: usize = others.iter().map(|(_, ids)| ids.len()).sum();
    let rest =
        if rows > 0 { format!("{verb} {rows}: {} more\n", counted(others.len(), "reason")) } else { String::new() };
    reasons.into_iter().map(line).chain([rest]).collect()
}

/// The first names of a list.
pub fn named<'a>(names: impl Iterator<Item = &'a str>) -> String {
    let names: Vec<&str> = names.collect();
    let more = if names.len() > NAMED_MAX { ", ..." } else { "" };
    format!("{}{more}", names[..names.len().min(NAMED_MAX)].join(", "))
}

/// SHA-256 of a file, in hexadecimal digits; of one that gzip has packed, of its content.
pub fn sha256(path: &Path) -> Result<String, CliError> {
    let mut digest = Sha256::new();
    let copied = io::copy(&mut unpacked(path)?, &mut digest);
    copied.map_err(|error| CliError::user_path(format!("{}: {error}", path.display()), path))?;
    Ok(digest.finalize().iter().map(|byte| format!("{byte:02x}")).collect())
}

/// The content of a file, unpacked.
fn unpacked(path: &Path) -> Result<Box<dyn BufRead>, CliError> {
    let refuse = |error| CliError::user_path(format!("{}: {error}", path.display()), path);
    CliError::refuse_special(path.display(), path)?;
    let file = File::open(path).map_err(refuse)?;
    if path.is_dir() {
        return Err(CliError::user(format!("{}: is a directory; name a file", path.display())));
    }
    let mut reader = BufReader::new(file);
    let is_packed = reader.fill_buf().map_err(refuse)?.starts_with(&GZIP);
    Ok(if is_packed { Box::new(BufReader::new(MultiGzDecoder::new(reader))) } else { Box::new(reader) })
}

fn lines(path: &Path, mut reader: impl BufRead, mut take: impl FnMut(Result<Value, String>)) -> Result<(), CliError> {
    let mut line = Vec::new();
    for number in 1.. {
        let wrong = |message: String| CliError::user(format!("{}:{number}: {message}", path.display()));
        line.clear();
        let length =
            reader.by_ref().take(LINE_MAX + 1).read_until(b'\n', &mut line).map_err(|e| wrong(e.to_string()))?;
        if length == 0 {
            break;
        }
        if length as u64 > LINE_MAX {
            return Err(wrong(format!("more than {} MiB in one line", LINE_MAX >> 20)));
        }
        let text = line.strip_prefix(BYTE_ORDER_MARK).unwrap_or(&line).trim_ascii();
        if !text.is_empty() {
            take(row(text).map_err(|error| wrong(format!("not JSON: {error}")))?);
        }
    }
    Ok(())
}

fn list(path: &Path, reader: impl Read, mut take: impl FnMut(Result<Value, String>)) -> Result<(), CliError> {
    let wrong = |message: String| CliError::user(format!("{}: {message}", path.display()));
    let mut text = Vec::new();
    reader.take(WHOLE_MAX + 1).read_to_end(&mut text).map_err(|error| wrong(error.to_string()))?;
    if text.len() as u64 > WHOLE_MAX {
        return Err(wrong(format!("a list of more than {} MiB; write one row a line", WHOLE_MAX >> 20)));
    }
    let text = text.trim_ascii_start();
    let text = text.strip_prefix(BYTE_ORDER_MARK).unwrap_or(text).trim_ascii();
    let inside = text.strip_prefix(b"[").and_then(|rest| rest.strip_suffix(b"]"));
    let inside = inside.ok_or_else(|| wrong("not JSON: expected `]` at the end of the list".into()))?;
    if !inside.trim_ascii().is_empty() {
        for (number, text) in (1..).zip(items(inside)) {
            take(row(text.trim_ascii()).map_err(|error| wrong(format!("not JSON: row {number}, {error}")))?);
        }
    }
    Ok(())
}

/// How deep a place in JSON is in lists and objects, and whether it is in a text.
#[derive(Default)]
struct Nesting {
    depth: usize,
    is_text: bool,
    is_escaped: bool,
}

impl Nesting {
    /// Goes on behind `byte`; true if nothing is open there.
    fn is_outside(&mut self, byte: u8) -> bool {
        match byte {
            _ if self.is_escaped => self.is_escaped = false,
            b'\\' if self.is_text => self.is_escaped = true,
            b'"' => self.is_text = !self.is_text,
            _ if self.is_text => {}
            b'[' | b'{' => self.depth += 1,
            b']' | b'}' => self.depth = self.depth.saturating_sub(1),
            _ => {}
        }
        self.depth == 0 && !self.is_text
    }
}

/// The texts between the commas of a list in JSON, which are its items where it is JSON.
fn items(inside: &[u8]) -> impl Iterator<Item = &[u8]> {
    let mut nesting = Nesting::default();
    inside.split(move |&byte| nesting.is_outside(byte) && byte == b',')
}

/// Whether all that a text of JSON opens is closed at its end.
fn is_whole(text: &[u8]) -> bool {
    let mut nesting = Nesting::default();
    text.iter().fold(true, |_, &byte| nesting.is_outside(byte))
}

/// The row in a text of JSON, or why it is left out. An error says that the text is no JSON, for which no row is to blame.
fn row(text: &[u8]) -> Result<Result<Value, String>, String> {
    let is_utf_8 = std::str::from_utf8(text).is_ok();
    // Bytes that are not UTF-8 stand within a text of JSON, or are where the file was cut off within a character.
    match Value::from_plain_json(&String::from_utf8_lossy(text)) {
        Ok(value) => Ok(if is_utf_8 { Ok(value) } else { Err(NOT_UTF_8.to_owned()) }),
        Err(error) => match error.beyond_values() {
            // Reading ends at what no value holds, and the file may have been cut off behind it.
            Some(_) if !is_whole(text) => Err("found the end; expected the rest of the row".to_owned()),
            Some(why) => Ok(Err(why)),
            None if is_utf_8 => Err(error.to_string()),
            None => Err(format!("{error}, and {NOT_UTF_8}")),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    pub(super) fn rows(path: &Path) -> Result<Vec<String>, String> {
        let mut rows = Vec::new();
        let said = |row: Result<Value, String>| row.map_or_else(|why| why, |row| row.to_string());
        each(path, |row| rows.push(said(row))).map_err(|error| error.to_string())?;
        Ok(rows)
    }

    #[test]
    fn rows_are_lines_or_a_list() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("rows");
        let read = |text: &str| {
            std::fs::write(&path, text).unwrap();
            rows(&path)
        };
        let expected = Ok(vec!["{'a': 1}".to_owned(), "{'set': [12345678901234567890]}".to_owned()]);
        assert_eq!(read("{\"a\": 1}\r\n\n{\"set\": [12345678901234567890]}"), expected);
        assert_eq!(read("\u{feff} [{\"a\": 1},\n {\"set\": [12345678901234567890]}]\n"), expected);
        for (text, expected) in [
            ("{\"a\": 1}\n{\"a\": }", "rows:2: not JSON: column 7"),
            ("[{\"a\": 1}", "rows: not JSON"),
            ("[{\"a\": 1}, {\"a\" 1}]", "rows: not JSON: row 2, column 6"),
            ("[{\"a\": 1},]", "rows: not JSON: row 2, column 1"),
            ("[1] [2]", "rows: not JSON: row 1, column 2"),
            ("", "rows: is empty, neither JSON lines, nor a JSON list, nor parquet"),
            ("\u{feff} \n", "rows: is empty, neither"),
            ("a,b\n1,2", "rows: neither JSON lines, nor a JSON list, nor parquet"),
            ("PAR1", "Parquet file too small"),
        ] {
            let error = read(text).unwrap_err();
            assert!(error.contains(expected), "{text}: {error}");
        }
        // Cut off behind what no value holds, for which that row would be left out.
        let long = format!("{{\"a\": [{}, ", "9".repeat(5000));
        for text in [r#"{"a": "\ud83d"#, r#"{"a": "\ud83d\"#, r#"{"a": "\ud83d", "b": {"c": "}"#, &long] {
            let error = read(&format!("{{\"a\": 1}}\n{text}")).unwrap_err();
            assert!(error.ends_with("rows:2: not JSON: found the end; expected the rest of the row"), "{error}");
        }
        // Cut off within a character, which no row is to blame for.
        std::fs::write(&path, b"{\"a\": 1}\n{\"a\": \"caf\xc3").unwrap();
        let error = rows(&path).unwrap_err();
        assert!(error.contains("rows:2: not JSON: column ") && error.contains(", and not UTF-8"), "{error}");
        std::fs::write(&path, b"\xff\xfe{\0}\0").unwrap();
        let CliError::User { hint, .. } = each(&path, drop).unwrap_err() else { panic!("a mistake of the user's") };
        assert_eq!(hint.as_deref(), Some("it is in UTF-16; save the file as UTF-8"));
    }

    #[test]
    fn a_row_that_cannot_be_read_leaves_the_others_as_they_are() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("rows");
        let deep = format!("{{\"a\": {}{}}}", "[".repeat(400), "]".repeat(400));
        let long = format!("{{\"a\": {}}}", "9".repeat(5000));
        let texts: [&[u8]; 6] = [
            br#"{"a": "[\"1,\\"}"#,
            br#"{"a": ["\ud800", "]"]}"#,
            b"{\"a\": \"caf\xe9\"}",
            deep.as_bytes(),
            long.as_bytes(),
            br#"{"a": 1, "a": [NaN, -1e999]}"#,
        ];
        let lines = texts.join(b"\r\n".as_slice());
        let list = [b"[".to_vec(), texts.join(b",\n".as_slice()), b"]\n".to_vec()].concat();
        for file in [lines, list] {
            std::fs::write(&path, file).unwrap();
            let expected = [
                r#"{'a': '["1,\\'}"#,
                "half a surrogate pair, which is no character",
                "not UTF-8; save the file as UTF-8",
                "nested deeper than 300 levels",
                "an int of too many digits; at most 4300",
                "{'a': [nan, -inf]}",
            ];
            assert_eq!(rows(&path).unwrap(), expected);
        }
    }

    #[test]
    fn a_packed_file_has_the_rows_and_the_digest_of_its_content() {
        let dir = tempfile::tempdir().unwrap();
        let (plain, packed) = (dir.path().join("rows.jsonl"), dir.path().join("rows.jsonl.gz"));
        std::fs::write(&plain, "{\"a\": 1}\n").unwrap();
        let mut gzip = flate2::write::GzEncoder::new(File::create(&packed).unwrap(), flate2::Compression::default());
        io::Write::write_all(&mut gzip, b"{\"a\": 1}\n").unwrap();
        gzip.finish().unwrap();
        assert_eq!(rows(&packed), Ok(vec!["{'a': 1}".to_owned()]));
        // By `sha256sum`.
        let digest = "e8c628edc9968ef0c668f54e0ba2636b35503357eb1aca0ddc828aeace432f67";
        assert_eq!([&plain, &packed].map(|path| sha256(path).unwrap()), [digest, digest]);
    }
}
