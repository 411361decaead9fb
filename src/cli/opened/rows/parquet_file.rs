//! Rows of a parquet file.

use std::fs::File;
use std::path::Path;
use std::sync::Arc;

use parquet::basic::{ConvertedType, Type as PhysicalType};
use parquet::errors::ParquetError;
use parquet::file::reader::{FileReader, SerializedFileReader};
use parquet::file::serialized_reader::ReadOptionsBuilder;
use parquet::record::{Field, Row};
use parquet::schema::types::{SchemaDescriptor, Type};

use crate::cli::said::CliError;
use crate::environment::{Int, Value};
use crate::plural::cut;

/// Characters of an error of the reader.
const ERROR_MAX: usize = 200;
/// Why a row is left out.
const NOT_UTF_8: &str = "a text that is not UTF-8";

/// Hands every row to `take`, in their order, or the reason why one cannot be read.
pub fn each(path: &Path, mut take: impl FnMut(Result<Value, String>)) -> Result<(), CliError> {
    let wrong = |place: &str, error: ParquetError| {
        CliError::user_hint(
            format!("{}: {place}{}", path.display(), cut(&error.to_string(), ERROR_MAX)),
            "write JSON lines in Python: pandas.read_parquet(\"rows.parquet\").to_json(\"rows.jsonl\", orient=\"records\", lines=True)",
        )
    };
    let refuse = |error| CliError::user_path(format!("{}: {error}", path.display()), path);
    let file = File::open(path).map_err(refuse)?;
    let reader = SerializedFileReader::new(file.try_clone().map_err(refuse)?).map_err(|error| wrong("", error))?;
    let schema = reader.metadata().file_metadata().schema_descr_ptr();
    let raw = columns_of_bytes(&schema);
    let mut read = schema.root_schema().clone();
    texts_as_bytes(&mut read).map_err(|error| wrong("", error))?;
    let read = Arc::new(SchemaDescriptor::new(Arc::new(read)));
    let options = ReadOptionsBuilder::new().with_parquet_schema(read).build();
    let reader = SerializedFileReader::new_with_options(file, options).map_err(|error| wrong("", error))?;
    let rows = reader.get_row_iter(None).map_err(|error| wrong("", error))?;
    for (number, row) in (1..).zip(rows) {
        let row = row.map_err(|error| wrong(&format!("row {number}: "), error))?;
        let mut columns = row.get_column_iter().enumerate();
        let is_read = columns.all(|(column, (_, field))| raw.contains(&column) || is_utf_8(field));
        take(if is_read { Ok(record(&row)) } else { Err(NOT_UTF_8.to_owned()) });
    }
    Ok(())
}

/// Has the texts of a schema read as bytes: the reader ends at a text that is not UTF-8 in the midst of its row, and has the columns
/// of all rows behind it out of step. Maps become text as a whole, by its words.
fn texts_as_bytes(read: &mut Type) -> Result<(), ParquetError> {
    match read {
        Type::GroupType { basic_info, fields } => match basic_info.converted_type() {
            ConvertedType::MAP | ConvertedType::MAP_KEY_VALUE => Ok(()),
            _ => fields.iter_mut().try_for_each(|field| texts_as_bytes(Arc::make_mut(field))),
        },
        Type::PrimitiveType { basic_info, physical_type: PhysicalType::BYTE_ARRAY, .. }
            if is_text(basic_info.converted_type()) =>
        {
            let bytes = Type::primitive_type_builder(basic_info.name(), PhysicalType::BYTE_ARRAY);
            let bytes = bytes.with_repetition(basic_info.repetition()).build()?;
            *read = bytes;
            Ok(())
        }
        Type::PrimitiveType { .. } => Ok(()),
    }
}

fn is_text(kind: ConvertedType) -> bool {
    matches!(kind, ConvertedType::UTF8 | ConvertedType::ENUM | ConvertedType::JSON)
}

/// The numbers of the columns that have bytes that need be no text, such as those of a picture.
fn columns_of_bytes(schema: &SchemaDescriptor) -> Vec<usize> {
    let is_raw = |&leaf: &usize| {
        let column = schema.column(leaf);
        let has_bytes = matches!(column.physical_type(), PhysicalType::BYTE_ARRAY | PhysicalType::FIXED_LEN_BYTE_ARRAY);
        has_bytes && !is_text(column.converted_type())
    };
    (0..schema.num_columns()).filter(is_raw).map(|leaf| schema.get_column_root_idx(leaf)).collect()
}

/// Whether all bytes of a field are texts.
fn is_utf_8(field: &Field) -> bool {
    match field {
        Field::Bytes(bytes) => std::str::from_utf8(bytes.data()).is_ok(),
        Field::Group(row) => row.get_column_iter().all(|(_, field)| is_utf_8(field)),
        Field::ListInternal(list) => list.elements().iter().all(is_utf_8),
        _ => true,
    }
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
    use parquet::data_type::{ByteArray, ByteArrayType, Int32Type};
    use parquet::file::properties::WriterProperties;
    use parquet::file::writer::SerializedFileWriter;
    use parquet::schema::parser::parse_message_type;

    use super::super::tests::rows;
    use super::*;

    fn parquet_writer(file: File, schema: &str) -> SerializedFileWriter<File> {
        let schema = Arc::new(parse_message_type(schema).unwrap());
        SerializedFileWriter::new(file, schema, Arc::new(WriterProperties::builder().build())).unwrap()
    }

    fn bytes(all: &[&[u8]]) -> Vec<ByteArray> {
        all.iter().map(|&one| ByteArray::from(one.to_vec())).collect()
    }

    #[test]
    fn a_row_of_parquet_with_a_text_that_is_not_utf_8_leaves_the_others_as_they_are() {
        let schema = "message rows { required binary text (UTF8); required binary picture;
            required group test_list (LIST) { repeated group list { required binary element (UTF8); } } }";
        let file = tempfile::NamedTempFile::new().unwrap();
        let mut writer = parquet_writer(file.reopen().unwrap(), schema);
        let mut group = writer.next_row_group().unwrap();
        let columns: [[&[u8]; 4]; 2] = [[b"one", b"caf\xe9", b"three", b"four"], [b"\xff", b"", b"", b"\xff"]];
        for texts in columns {
            let mut column = group.next_column().unwrap().unwrap();
            column.typed::<ByteArrayType>().write_batch(&bytes(&texts), None, None).unwrap();
            column.close().unwrap();
        }
        let mut column = group.next_column().unwrap().unwrap();
        let items = bytes(&[b"a", b"b", b"c", b"\xe9", b"d"]);
        column.typed::<ByteArrayType>().write_batch(&items, Some(&[1; 5]), Some(&[0, 0, 0, 1, 0])).unwrap();
        column.close().unwrap();
        group.close().unwrap();
        writer.close().unwrap();
        let expected = [
            "{'text': 'one', 'picture': '\u{fffd}', 'test_list': ['a']}",
            NOT_UTF_8,
            NOT_UTF_8,
            "{'text': 'four', 'picture': '\u{fffd}', 'test_list': ['d']}",
        ];
        assert_eq!(rows(file.path()).unwrap(), expected);
    }

    #[test]
    fn a_row_of_parquet_that_cannot_be_read_is_named_and_not_shown_in_full() {
        let schema = "message rows { required group kinds (MAP) {
            repeated group key_value { required binary key (UTF8); required int32 value; } } }";
        let file = tempfile::NamedTempFile::new().unwrap();
        let mut writer = parquet_writer(file.reopen().unwrap(), schema);
        let mut group = writer.next_row_group().unwrap();
        let mut column = group.next_column().unwrap().unwrap();
        let keys = bytes(&[b"one", &[0xe9; 5000]]);
        column.typed::<ByteArrayType>().write_batch(&keys, Some(&[1, 1]), Some(&[0, 0])).unwrap();
        column.close().unwrap();
        let mut column = group.next_column().unwrap().unwrap();
        column.typed::<Int32Type>().write_batch(&[1, 2], Some(&[1, 1]), Some(&[0, 0])).unwrap();
        column.close().unwrap();
        group.close().unwrap();
        writer.close().unwrap();
        let error = rows(file.path()).unwrap_err();
        assert!(error.contains(": row 2: ") && error.len() < 500, "{error}");
    }

    #[test]
    fn a_parquet_file_has_texts_of_all_kinds_beside_decimals_and_fields_without_a_value() {
        let schema = "message rows { optional binary json (JSON); optional binary kind (ENUM);
            optional binary price (DECIMAL(4, 2)); optional group file { required binary path (UTF8); } }";
        let file = tempfile::NamedTempFile::new().unwrap();
        let mut writer = parquet_writer(file.reopen().unwrap(), schema);
        let mut group = writer.next_row_group().unwrap();
        let columns: [(&[&[u8]], &[i16]); 4] =
            [(&[b"{}"], &[1, 0]), (&[b"k"], &[1, 0]), (&[b"\x04\xd2", b"\xff"], &[1, 1]), (&[b"p"], &[1, 0])];
        for (values, levels) in columns {
            let mut column = group.next_column().unwrap().unwrap();
            column.typed::<ByteArrayType>().write_batch(&bytes(values), Some(levels), None).unwrap();
            column.close().unwrap();
        }
        group.close().unwrap();
        writer.close().unwrap();
        let expected = [
            "{'json': '{}', 'kind': 'k', 'price': '12.34', 'file': {'path': 'p'}}",
            "{'json': None, 'kind': None, 'price': '-0.01', 'file': None}",
        ];
        assert_eq!(rows(file.path()).unwrap(), expected);
    }

    #[test]
    fn a_parquet_file_has_lists_of_texts() {
        let schema = "message rows { required binary text (UTF8); required int32 task_id;
            required group test_list (LIST) { repeated group list { required binary element (UTF8); } } }";
        let file = tempfile::NamedTempFile::new().unwrap();
        let mut writer = parquet_writer(file.reopen().unwrap(), schema);
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
