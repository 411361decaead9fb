//! Rows of a data set: JSON lines or a JSON list, also packed by gzip, or parquet.

use std::collections::BTreeMap;
use std::fmt::Display;
use std::fs::File;
use std::io::{self, BufRead, BufReader, Read};
use std::path::Path;

use clap::builder::{PossibleValuesParser, TypedValueParser};
use flate2::bufread::MultiGzDecoder;
use parquet::file::reader::{FileReader, SerializedFileReader};
use parquet::record::{Field, Row};
use sha2::{Digest, Sha256};

use crate::cli::said::CliError;
use crate::environment::tasks::convert::Dropped;
use crate::environment::tasks::{Suite, SuiteRows};
use crate::environment::{Int, Value};
use crate::plural::counted;

/// Most bytes of a line, and of a JSON list, which is read whole.
const LINE_MAX: u64 = 256 << 20;
const WHOLE_MAX: u64 = 1 << 30;
/// Names that are printed for each reason.
const NAMED_MAX: usize = 5;
/// What to do about a table that `tasks convert` does not read.
pub const CSV_HINT: &str = "docs/tasks.md has the lines of Python that make rows of a CSV, with columns of a known set";
/// How texts in UTF-16 begin, as some shells of Windows write them.
const UTF_16: [[u8; 2]; 2] = [[0xff, 0xfe], [0xfe, 0xff]];
/// How a file that gzip has packed begins.
const GZIP: [u8; 2] = [0x1f, 0x8b];

/// Hands every row to `take`, in their order.
pub fn each(path: &Path, take: impl FnMut(Value)) -> Result<(), CliError> {
    let refuse = |error| CliError::user_path(format!("{}: {error}", path.display()), path);
    let mut reader = unpacked(path)?;
    let start = reader.fill_buf().map_err(refuse)?;
    if start.starts_with(b"PAR1") {
        return parquet(path, take);
    }
    match start.iter().find(|byte| !byte.is_ascii_whitespace() && !b"\xef\xbb\xbf".contains(byte)) {
        Some(b'[') => list(path, reader, take),
        Some(b'{') => lines(path, reader, take),
        _ => {
            let hint = match path.extension().and_then(|extension| extension.to_str()) {
                _ if UTF_16.iter().any(|mark| start.starts_with(mark)) => "it is in UTF-16; save the file as UTF-8",
                Some("csv" | "tsv") => CSV_HINT,
                _ => "in Python: datasets.load_dataset(...)[\"train\"].to_json(\"rows.jsonl\")",
            };
            Err(CliError::user_hint(
                format!("{}: neither JSON lines, nor a JSON list, nor parquet", path.display()),
                hint,
            ))
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
    reasons.into_iter().map(line).collect()
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

fn lines(path: &Path, mut reader: impl BufRead, mut take: impl FnMut(Value)) -> Result<(), CliError> {
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
        let text = std::str::from_utf8(&line).map_err(|_| wrong("not UTF-8; save the file as UTF-8".into()))?;
        let text = text.trim_start_matches('\u{feff}').trim();
        if !text.is_empty() {
            take(Value::from_plain_json(text).map_err(|error| wrong(format!("not JSON: {error}")))?);
        }
    }
    Ok(())
}

fn list(path: &Path, reader: impl Read, mut take: impl FnMut(Value)) -> Result<(), CliError> {
    let wrong = |message: String| CliError::user(format!("{}: {message}", path.display()));
    let mut text = String::new();
    reader.take(WHOLE_MAX + 1).read_to_string(&mut text).map_err(|error| wrong(error.to_string()))?;
    if text.len() as u64 > WHOLE_MAX {
        return Err(wrong(format!("a list of more than {} MiB; write one row a line", WHOLE_MAX >> 20)));
    }
    match Value::from_plain_json(text.trim_start_matches('\u{feff}')) {
        Ok(Value::List(rows)) => rows.into_iter().for_each(&mut take),
        Ok(other) => return Err(wrong(format!("a {} and no list of rows", other.kind()))),
        Err(error) => return Err(wrong(format!("not JSON: {error}"))),
    }
    Ok(())
}

fn parquet(path: &Path, mut take: impl FnMut(Value)) -> Result<(), CliError> {
    let wrong = |error: parquet::errors::ParquetError| {
        CliError::user_hint(
            format!("{}: {error}", path.display()),
            "write JSON lines in Python: pandas.read_parquet(\"rows.parquet\").to_json(\"rows.jsonl\", orient=\"records\", lines=True)",
        )
    };
    let file = File::open(path).map_err(|error| CliError::user_path(format!("{}: {error}", path.display()), path))?;
    let reader = SerializedFileReader::new(file).map_err(wrong)?;
    for row in reader.get_row_iter(None).map_err(wrong)? {
        take(record(&row.map_err(wrong)?));
    }
    Ok(())
}

fn record(row: &Row) -> Value {
    let pairs = row.get_column_iter().map(|(name, field)| (Value::Str(name.clone()), value(field)));
    Value::dict(pairs.collect()).expect("names of columns are text")
}

/// A field as JSON has it. Dates and decimals, which no known data set needs, become text.
fn value(field: &Field) -> Value {
    let int = |int: i64| Value::Int(Int::from(int));
    match field {
        Field::Null => Value::None,
        Field::Bool(truth) => Value::Bool(*truth),
        Field::Byte(number) => int((*number).into()),
        Field::Short(number) => int((*number).into()),
        Field::Int(number) => int((*number).into()),
        Field::Long(number) => int(*number),
        Field::UByte(number) => int((*number).into()),
        Field::UShort(number) => int((*number).into()),
        Field::UInt(number) => int((*number).into()),
        Field::Float(number) => Value::Float((*number).into()),
        Field::Double(number) => Value::Float(*number),
        Field::Str(text) => Value::Str(text.clone()),
        Field::Bytes(bytes) => Value::Str(String::from_utf8_lossy(bytes.data()).into_owned()),
        Field::Group(row) => record(row),
        Field::ListInternal(list) => Value::List(list.elements().iter().map(value).collect()),
        other => Value::Str(other.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use parquet::data_type::{ByteArray, ByteArrayType, Int32Type};
    use parquet::file::properties::WriterProperties;
    use parquet::file::writer::SerializedFileWriter;
    use parquet::schema::parser::parse_message_type;

    use super::*;

    fn rows(path: &Path) -> Result<Vec<String>, String> {
        let mut rows = Vec::new();
        each(path, |row| rows.push(row.to_string())).map_err(|error| error.to_string())?;
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
            ("", "neither JSON lines, nor a JSON list, nor parquet"),
            ("a,b\n1,2", "neither JSON lines, nor a JSON list, nor parquet"),
            ("PAR1", "Parquet file too small"),
        ] {
            let error = read(text).unwrap_err();
            assert!(error.contains(expected), "{text}: {error}");
        }
        std::fs::write(&path, b"\xff\xfe{\0}\0").unwrap();
        let CliError::User { hint, .. } = each(&path, drop).unwrap_err() else { panic!("a mistake of the user's") };
        assert_eq!(hint.as_deref(), Some("it is in UTF-16; save the file as UTF-8"));
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

    #[test]
    fn a_parquet_file_has_lists_of_texts() {
        let schema = "message rows { required binary text (UTF8); required int32 task_id;
            required group test_list (LIST) { repeated group list { required binary element (UTF8); } } }";
        let file = tempfile::NamedTempFile::new().unwrap();
        let schema = Arc::new(parse_message_type(schema).unwrap());
        let properties = Arc::new(WriterProperties::builder().build());
        let mut writer = SerializedFileWriter::new(file.reopen().unwrap(), schema, properties).unwrap();
        let mut group = writer.next_row_group().unwrap();
        let text = |words: &[&str]| words.iter().map(|&word| ByteArray::from(word)).collect::<Vec<_>>();
        let mut column = group.next_column().unwrap().unwrap();
        column.typed::<ByteArrayType>().write_batch(&text(&["one", "two"]), None, None).unwrap();
        column.close().unwrap();
        let mut column = group.next_column().unwrap().unwrap();
        column.typed::<Int32Type>().write_batch(&[1, 2], None, None).unwrap();
        column.close().unwrap();
        let mut column = group.next_column().unwrap().unwrap();
        let items = text(&["assert a", "assert b", "assert c"]);
        column.typed::<ByteArrayType>().write_batch(&items, Some(&[1, 1, 1]), Some(&[0, 1, 0])).unwrap();
        column.close().unwrap();
        group.close().unwrap();
        writer.close().unwrap();
        let expected = [
            "{'text': 'one', 'task_id': 1, 'test_list': ['assert a', 'assert b']}",
            "{'text': 'two', 'task_id': 2, 'test_list': ['assert c']}",
        ];
        assert_eq!(rows(file.path()).unwrap(), expected);
    }
}
