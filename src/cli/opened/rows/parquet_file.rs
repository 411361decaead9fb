//! Rows of a parquet file.

use std::borrow::Cow;
use std::fs::File;
use std::ops::{Range, RangeInclusive};
use std::path::Path;
use std::sync::Arc;

use parquet::basic::{ConvertedType, LogicalType};
use parquet::errors::ParquetError;
use parquet::file::reader::{FileReader, SerializedFileReader};
use parquet::file::serialized_reader::ReadOptionsBuilder;
use parquet::record::{Field, Row};
use parquet::schema::types::{SchemaDescriptor, Type, TypePtr};

use crate::cli::said::CliError;
use crate::environment::{Int, Value};
use crate::plural::cut;

/// Characters of an error of the reader.
const ERROR_MAX: usize = 200;
/// Days since 1970 of the years 1 to 9999, which are Python's dates. The reader panics where it words a date far behind them.
const DAYS: RangeInclusive<i64> = -719_162..=2_932_896;
/// Why a row is left out.
const NOT_UTF_8: &str = "a text that is not UTF-8";
const NO_DATE: &str = "a date beyond the years 1 to 9999";

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
    let kinds = schema.root_schema().get_fields();
    let mut read = schema.root_schema().clone();
    as_bytes(&mut read, false).map_err(|error| wrong("", error))?;
    let read = Arc::new(SchemaDescriptor::new(Arc::new(read)));
    let options = ReadOptionsBuilder::new().with_parquet_schema(read).build();
    let reader = SerializedFileReader::new_with_options(file, options).map_err(|error| wrong("", error))?;
    let rows = reader.get_row_iter(None).map_err(|error| wrong("", error))?;
    for (number, row) in (1..).zip(rows) {
        let row = row.map_err(|error| wrong(&format!("row {number}: "), error))?;
        take(record(&row, kinds).map_err(str::to_owned));
    }
    Ok(())
}

/// Has the texts of a schema read as bytes: the reader ends at a text that is not UTF-8 in the midst of its row, and has the columns
/// of all rows behind it out of step. Maps become text as a whole, by its words. Intervals are bytes too: it panics at them.
fn as_bytes(read: &mut Type, in_map: bool) -> Result<(), ParquetError> {
    match read {
        Type::GroupType { basic_info, fields } => {
            let is_map = matches!(basic_info.converted_type(), ConvertedType::MAP | ConvertedType::MAP_KEY_VALUE);
            fields.iter_mut().try_for_each(|field| as_bytes(Arc::make_mut(field), in_map || is_map))
        }
        Type::PrimitiveType { basic_info, physical_type, type_length, .. } => {
            let is_read_so = match basic_info.converted_type() {
                ConvertedType::INTERVAL => true,
                kind => is_text(kind) && !in_map,
            };
            if is_read_so {
                let bytes = Type::primitive_type_builder(basic_info.name(), *physical_type).with_length(*type_length);
                let bytes = bytes.with_repetition(basic_info.repetition()).build()?;
                *read = bytes;
            }
            Ok(())
        }
    }
}

fn is_text(kind: ConvertedType) -> bool {
    matches!(kind, ConvertedType::UTF8 | ConvertedType::ENUM | ConvertedType::JSON)
}

/// The fields of a row or of a group, each with its type in `kinds`; an error says why the row is left out, here and below.
fn record(row: &Row, kinds: &[TypePtr]) -> Result<Value, &'static str> {
    let mut pairs = Vec::with_capacity(row.len());
    for ((name, field), kind) in row.get_column_iter().zip(kinds) {
        pairs.push((Value::Str(name.clone()), value(field, kind)?));
    }
    Ok(Value::dict(pairs).expect("names of columns are text"))
}

/// A field as JSON has it. Dates and decimals, which no known data set needs, become text. `kind` is the field's type in the file, or
/// that of a list around it.
fn value(field: &Field, kind: &Type) -> Result<Value, &'static str> {
    let int = |int: i64| Value::Int(Int::from(int));
    Ok(match field {
        Field::Null => Value::None,
        Field::Bool(truth) => Value::Bool(*truth),
        Field::Byte(number) => int((*number).into()),
        Field::Short(number) => int((*number).into()),
        Field::Int(number) => int((*number).into()),
        Field::Long(number) => int(*number),
        Field::UByte(number) => int((*number).into()),
        Field::UShort(number) => int((*number).into()),
        Field::UInt(number) => int((*number).into()),
        Field::ULong(number) => Value::from_plain_json(&number.to_string()).expect("an int in decimal digits"),
        Field::Float16(number) => Value::Float((*number).into()),
        Field::Float(number) => Value::Float((*number).into()),
        Field::Double(number) => Value::Float(*number),
        Field::Str(text) => Value::Str(text.clone()),
        Field::Bytes(bytes) => text(bytes.data(), leaf(kind))?,
        Field::Group(row) => record(row, parts(kind, row.len()))?,
        Field::ListInternal(list) => {
            Value::List(list.elements().iter().map(|item| value(item, kind)).collect::<Result<_, _>>()?)
        }
        Field::MapInternal(map) => {
            // Only for why the row would be left out.
            let kinds = parts(kind, 2);
            for (key, item) in map.entries() {
                value(key, &kinds[0])?;
                value(item, &kinds[1])?;
            }
            Value::Str(field.to_string())
        }
        Field::Date(day) => date(field, i64::from(*day))?,
        Field::TimestampMillis(millis) => date(field, millis.div_euclid(86_400_000))?,
        Field::TimestampMicros(micros) => date(field, micros.div_euclid(86_400_000_000))?,
        other => Value::Str(other.to_string()),
    })
}

fn date(field: &Field, day: i64) -> Result<Value, &'static str> {
    if DAYS.contains(&day) { Ok(Value::Str(field.to_string())) } else { Err(NO_DATE) }
}

/// The bytes of a column as text. Those that need be no text, such as a picture's, lose what is none.
fn text(bytes: &[u8], kind: &Type) -> Result<Value, &'static str> {
    let info = kind.get_basic_info();
    if info.logical_type_ref() == Some(&LogicalType::Uuid) {
        let digits = |part: Range<usize>| bytes[part].iter().map(|byte| format!("{byte:02x}")).collect::<String>();
        return Ok(Value::Str([0..4, 4..6, 6..8, 8..10, 10..16].map(digits).join("-")));
    }
    match String::from_utf8_lossy(bytes) {
        Cow::Owned(_) if is_text(info.converted_type()) => Err(NOT_UTF_8),
        text => Ok(Value::Str(text.into_owned())),
    }
}

/// The types of `count` fields that stand beside each other in `kind`. A list has groups of one field around its items.
fn parts(kind: &Type, count: usize) -> &[TypePtr] {
    match kind.get_fields() {
        [only] if count > 1 => parts(only, count),
        fields => fields,
    }
}

/// The type of the column in `kind`, or in the list around it.
fn leaf(kind: &Type) -> &Type {
    match kind {
        Type::GroupType { fields, .. } => leaf(&fields[0]),
        Type::PrimitiveType { .. } => kind,
    }
}

#[cfg(test)]
mod tests {
    use parquet::basic::{Compression, GzipLevel, ZstdLevel};
    use parquet::data_type::{
        ByteArray, ByteArrayType, DataType, FixedLenByteArray, FixedLenByteArrayType, Int32Type, Int64Type,
    };
    use parquet::file::properties::WriterProperties;
    use parquet::file::writer::{SerializedFileWriter, SerializedRowGroupWriter};
    use parquet::schema::parser::parse_message_type;
    use tempfile::NamedTempFile;

    use super::super::tests::rows;
    use super::*;

    const PLAIN: Compression = Compression::UNCOMPRESSED;

    /// A file with the columns that `fill` writes.
    fn file_of(
        schema: &str,
        packing: Compression,
        fill: impl FnOnce(&mut SerializedRowGroupWriter<'_, File>),
    ) -> NamedTempFile {
        let schema = Arc::new(parse_message_type(schema).unwrap());
        let properties = Arc::new(WriterProperties::builder().set_compression(packing).build());
        let file = NamedTempFile::new().unwrap();
        let mut writer = SerializedFileWriter::new(file.reopen().unwrap(), schema, properties).unwrap();
        let mut group = writer.next_row_group().unwrap();
        fill(&mut group);
        group.close().unwrap();
        writer.close().unwrap();
        file
    }

    /// Writes the next column. `levels`: of definition and of repetition.
    fn write<T: DataType>(
        group: &mut SerializedRowGroupWriter<'_, File>,
        values: &[T::T],
        levels: [Option<&[i16]>; 2],
    ) {
        let mut column = group.next_column().unwrap().unwrap();
        column.typed::<T>().write_batch(values, levels[0], levels[1]).unwrap();
        column.close().unwrap();
    }

    /// Those of a column that has one value in every row.
    const ONE: [Option<&[i16]>; 2] = [None, None];

    fn bytes(all: &[&[u8]]) -> Vec<ByteArray> {
        all.iter().map(|&one| ByteArray::from(one.to_vec())).collect()
    }

    #[test]
    fn a_row_of_parquet_with_a_text_that_is_not_utf_8_leaves_the_others_as_they_are() {
        let schema = "message rows { required binary text (UTF8); required binary picture;
            required group test_list (LIST) { repeated group list { required binary element (UTF8); } } }";
        let file = file_of(schema, PLAIN, |group| {
            let columns: [[&[u8]; 4]; 2] = [[b"one", b"caf\xe9", b"three", b"four"], [b"\xff", b"", b"", b"\xff"]];
            for texts in columns {
                write::<ByteArrayType>(group, &bytes(&texts), ONE);
            }
            let items = bytes(&[b"a", b"b", b"c", b"\xe9", b"d"]);
            write::<ByteArrayType>(group, &items, [Some(&[1; 5]), Some(&[0, 0, 0, 1, 0])]);
        });
        let expected = [
            "{'text': 'one', 'picture': '\u{fffd}', 'test_list': ['a']}",
            NOT_UTF_8,
            NOT_UTF_8,
            "{'text': 'four', 'picture': '\u{fffd}', 'test_list': ['d']}",
        ];
        assert_eq!(rows(file.path()).unwrap(), expected);
    }

    #[test]
    fn a_text_that_is_not_utf_8_beside_bytes_in_a_group_leaves_its_row_out() {
        let schema = "message rows { required group file { required binary bytes; required binary path (UTF8); }
            required group files (LIST) { repeated group list {
                required group element { required binary bytes; required binary path (UTF8); } } } }";
        let file = file_of(schema, PLAIN, |group| {
            write::<ByteArrayType>(group, &bytes(&[b"\xff".as_slice(); 3]), ONE);
            write::<ByteArrayType>(group, &bytes(&[b"a", b"\xe9", b"c"]), ONE);
            write::<ByteArrayType>(group, &bytes(&[b"\xff".as_slice(); 3]), [Some(&[1; 3]), Some(&[0; 3])]);
            write::<ByteArrayType>(group, &bytes(&[b"x", b"y", b"\xe9"]), [Some(&[1; 3]), Some(&[0; 3])]);
        });
        let first = "{'file': {'bytes': '\u{fffd}', 'path': 'a'}, 'files': [{'bytes': '\u{fffd}', 'path': 'x'}]}";
        assert_eq!(rows(file.path()).unwrap(), [first, NOT_UTF_8, NOT_UTF_8]);
    }

    #[test]
    fn a_parquet_file_has_ids_large_and_small_numbers_and_intervals_and_dates_that_python_has() {
        let schema = "message rows { required fixed_len_byte_array (16) id (UUID); required int64 count (UINT_64);
            required fixed_len_byte_array (2) half (FLOAT16); required fixed_len_byte_array (12) span (INTERVAL);
            required int32 day (DATE); required int64 at (TIMESTAMP_MICROS);
            required group spans (MAP) { repeated group key_value {
                required int64 key (TIMESTAMP_MILLIS); required fixed_len_byte_array (12) value (INTERVAL); } } }";
        let file = file_of(schema, PLAIN, |group| {
            let fixed = |value: &[u8]| vec![FixedLenByteArray::from(value.to_vec()); 4];
            write::<FixedLenByteArrayType>(group, &fixed(&std::array::from_fn::<u8, 16, _>(|at| at as u8)), ONE);
            write::<Int64Type>(group, &[-1; 4], ONE);
            write::<FixedLenByteArrayType>(group, &fixed(&[0x00, 0x3e]), ONE);
            write::<FixedLenByteArrayType>(group, &fixed(b"twelve bytes"), ONE);
            write::<Int32Type>(group, &[2_932_896, i32::MAX, 0, 0], ONE);
            write::<Int64Type>(group, &[-62_135_596_800_000_000, 0, i64::MIN, 0], ONE);
            write::<Int64Type>(group, &[0, 0, 0, i64::MAX], [Some(&[1; 4]), Some(&[0; 4])]);
            write::<FixedLenByteArrayType>(group, &fixed(&[7; 12]), [Some(&[1; 4]), Some(&[0; 4])]);
        });
        // 2^64 - 1, 1.5 and the ends of Python's dates.
        let first = "{'id': '00010203-0405-0607-0809-0a0b0c0d0e0f', 'count': 18446744073709551615, 'half': 1.5, \
            'span': 'twelve bytes', 'day': '9999-12-31', 'at': '0001-01-01 00:00:00.000000 +00:00', \
            'spans': '{1970-01-01 00:00:00.000 +00:00 -> [7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7]}'}";
        assert_eq!(rows(file.path()).unwrap(), [first, NO_DATE, NO_DATE, NO_DATE]);
    }

    #[test]
    fn a_row_of_parquet_that_cannot_be_read_is_named_and_not_shown_in_full() {
        let schema = "message rows { required group kinds (MAP) {
            repeated group key_value { required binary key (UTF8); required int32 value; } } }";
        let file = file_of(schema, PLAIN, |group| {
            let keys = bytes(&[b"one", &[0xe9; 5000]]);
            write::<ByteArrayType>(group, &keys, [Some(&[1, 1]), Some(&[0, 0])]);
            write::<Int32Type>(group, &[1, 2], [Some(&[1, 1]), Some(&[0, 0])]);
        });
        let error = rows(file.path()).unwrap_err();
        assert!(error.contains(": row 2: ") && error.len() < 500, "{error}");
    }

    #[test]
    fn a_parquet_file_has_texts_of_all_kinds_beside_decimals_and_fields_without_a_value() {
        let schema = "message rows { optional binary json (JSON); optional binary kind (ENUM);
            optional binary price (DECIMAL(4, 2)); optional group file { required binary path (UTF8); } }";
        let file = file_of(schema, PLAIN, |group| {
            let columns: [(&[&[u8]], &[i16]); 4] =
                [(&[b"{}"], &[1, 0]), (&[b"k"], &[1, 0]), (&[b"\x04\xd2", b"\xff"], &[1, 1]), (&[b"p"], &[1, 0])];
            for (values, levels) in columns {
                write::<ByteArrayType>(group, &bytes(values), [Some(levels), None]);
            }
        });
        let expected = [
            "{'json': '{}', 'kind': 'k', 'price': '12.34', 'file': {'path': 'p'}}",
            "{'json': None, 'kind': None, 'price': '-0.01', 'file': None}",
        ];
        assert_eq!(rows(file.path()).unwrap(), expected);
    }

    #[test]
    fn columns_are_read_however_they_are_packed() {
        let packings = [Compression::GZIP(GzipLevel::default()), Compression::ZSTD(ZstdLevel::default())];
        let others = [Compression::UNCOMPRESSED, Compression::SNAPPY, Compression::LZ4, Compression::LZ4_RAW];
        for packing in packings.into_iter().chain(others) {
            let file = file_of("message rows { required binary text (UTF8); }", packing, |group| {
                write::<ByteArrayType>(group, &bytes(&[b"one", b"two"]), ONE);
            });
            assert_eq!(rows(file.path()).unwrap(), ["{'text': 'one'}", "{'text': 'two'}"], "{packing}");
        }
    }

    #[test]
    fn a_parquet_file_has_lists_of_texts() {
        let schema = "message rows { required binary text (UTF8); required int32 task_id;
            required group test_list (LIST) { repeated group list { required binary element (UTF8); } } }";
        let file = file_of(schema, PLAIN, |group| {
            let text = |words: &[&str]| words.iter().map(|&word| ByteArray::from(word)).collect::<Vec<_>>();
            write::<ByteArrayType>(group, &text(&["one", "two"]), ONE);
            write::<Int32Type>(group, &[1, 2], ONE);
            let items = text(&["assert a", "assert b", "assert c"]);
            write::<ByteArrayType>(group, &items, [Some(&[1, 1, 1]), Some(&[0, 1, 0])]);
        });
        let expected = [
            "{'text': 'one', 'task_id': 1, 'test_list': ['assert a', 'assert b']}",
            "{'text': 'two', 'task_id': 2, 'test_list': ['assert c']}",
        ];
        assert_eq!(rows(file.path()).unwrap(), expected);
    }
}
