//! A table of completions as a parquet file.

use std::io::{self, Write};
use std::sync::Arc;

use parquet::basic::{Compression, LogicalType, Repetition, Type as Physical};
use parquet::data_type::{ByteArray, ByteArrayType, DoubleType, Int64Type};
use parquet::errors::ParquetError;
use parquet::file::properties::WriterProperties;
use parquet::file::writer::{SerializedFileWriter, SerializedRowGroupWriter};
use parquet::schema::types::{Type, TypePtr};
use serde_json::Value;

use super::columns::TableColumn;

/// Rows of a row group, which is held in memory until it is written.
const GROUP_ROWS: usize = 4096;

/// Writes rows in groups of [`GROUP_ROWS`].
pub struct ParquetTable<'a, W: Write + Send> {
    writer: SerializedFileWriter<W>,
    columns: &'a [TableColumn],
    pending: Vec<Vec<Value>>,
    rows: usize,
}

impl<'a, W: Write + Send> ParquetTable<'a, W> {
    pub fn new(writer: W, columns: &'a [TableColumn]) -> io::Result<Self> {
        Self::begin(writer, columns).map_err(io_error)
    }

    fn begin(writer: W, columns: &'a [TableColumn]) -> Result<Self, ParquetError> {
        let fields = columns.iter().map(field).collect::<Result<Vec<TypePtr>, _>>()?;
        let schema = Arc::new(Type::group_type_builder("completions").with_fields(fields).build()?);
        let settings = WriterProperties::builder().set_compression(Compression::SNAPPY).build();
        let writer = SerializedFileWriter::new(writer, schema, Arc::new(settings))?;
        Ok(ParquetTable { writer, columns, pending: Vec::new(), rows: 0 })
    }

    /// Adds a row, which has a value for each column.
    pub fn row(&mut self, row: Vec<Value>) -> io::Result<()> {
        self.pending.push(row);
        self.rows += 1;
        if self.pending.len() == GROUP_ROWS { self.write_group().map_err(io_error) } else { Ok(()) }
    }

    /// Writes the last group. Returns the number of all rows.
    pub fn finish(mut self) -> io::Result<usize> {
        if !self.pending.is_empty() {
            self.write_group().map_err(io_error)?;
        }
        self.writer.finish().map_err(io_error)?;
        self.writer.inner_mut().flush()?;
        Ok(self.rows)
    }

    fn write_group(&mut self) -> Result<(), ParquetError> {
        let rows = std::mem::take(&mut self.pending);
        let mut group = self.writer.next_row_group()?;
        for (index, column) in self.columns.iter().enumerate() {
            write_column(&mut group, column.kind, rows.iter().map(|row| &row[index]))?;
        }
        group.close()?;
        Ok(())
    }
}

/// The disk's error where it was one, without parquet's words around it.
fn io_error(error: ParquetError) -> io::Error {
    match error {
        ParquetError::External(error) => error.downcast().map_or_else(io::Error::other, |error| *error),
        error => io::Error::other(error),
    }
}

fn field(TableColumn { name, kind, .. }: &TableColumn) -> Result<TypePtr, ParquetError> {
    let text = (*kind == Physical::BYTE_ARRAY).then_some(LogicalType::String);
    let field = Type::primitive_type_builder(name, *kind).with_repetition(Repetition::OPTIONAL);
    Ok(Arc::new(field.with_logical_type(text).build()?))
}

/// Writes one column of a group: definition levels, which say what is null, and the values that are not.
fn write_column<'a, W: Write + Send>(
    group: &mut SerializedRowGroupWriter<'_, W>,
    kind: Physical,
    values: impl Iterator<Item = &'a Value> + Clone,
) -> Result<(), ParquetError> {
    let present: Vec<i16> = values.clone().map(|value| i16::from(!value.is_null())).collect();
    let values = values.filter(|value| !value.is_null());
    let Some(mut column) = group.next_column()? else {
        return Err(ParquetError::General("more columns than the schema has".into()));
    };
    match kind {
        Physical::INT64 => {
            let values: Vec<i64> = values.filter_map(Value::as_i64).collect();
            column.typed::<Int64Type>().write_batch(&values, Some(&present), None)?;
        }
        Physical::DOUBLE => {
            let values: Vec<f64> = values.filter_map(Value::as_f64).collect();
            column.typed::<DoubleType>().write_batch(&values, Some(&present), None)?;
        }
        _ => {
            let values: Vec<ByteArray> = values.filter_map(Value::as_str).map(ByteArray::from).collect();
            column.typed::<ByteArrayType>().write_batch(&values, Some(&present), None)?;
        }
    }
    column.close()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use parquet::file::reader::{FileReader, SerializedFileReader};
    use parquet::record::RowAccessor;

    use super::super::columns::columns;
    use super::*;

    #[test]
    fn a_table_is_read_back_with_its_gaps_in_the_order_of_trl() {
        let columns = columns(&BTreeSet::from(["game".into()]));
        let row = |step: u64, game: Value| {
            let row = serde_json::json!([step, "p", "a\n\"b\"", game, -1.5, 0.25, "snake", "played", 12.0, 8]);
            row.as_array().unwrap().clone()
        };
        let file = tempfile::tempfile().unwrap();
        let mut table = ParquetTable::new(file.try_clone().unwrap(), &columns).unwrap();
        for step in 0..GROUP_ROWS as u64 + 2 {
            table.row(row(step, if step % 2 == 0 { Value::Null } else { 0.5.into() })).unwrap();
        }
        assert_eq!(table.finish().unwrap(), GROUP_ROWS + 2);
        let reader = SerializedFileReader::new(file).unwrap();
        let names: Vec<String> =
            reader.metadata().file_metadata().schema().get_fields().iter().map(|field| field.name().into()).collect();
        let expected = [
            "step", "prompt", "completion", "game", "advantage", "reward", "style", "verdict", "mean_score", "max_tile",
        ];
        assert_eq!(names, expected);
        let rows: Vec<_> = reader.get_row_iter(None).unwrap().map(Result::unwrap).collect();
        assert_eq!(rows.len(), GROUP_ROWS + 2);
        let last = rows.last().unwrap();
        assert_eq!(last.get_long(0).unwrap(), GROUP_ROWS as i64 + 1);
        assert_eq!(last.get_string(2).unwrap(), "a\n\"b\"");
        assert_eq!((last.get_double(3).unwrap(), last.get_double(4).unwrap()), (0.5, -1.5));
        assert!(rows[0].get_double(3).is_err(), "a part that a completion lacks is null");
    }
}
