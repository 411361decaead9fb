//! A table of completions as a parquet file.

use std::io::Write;
use std::sync::Arc;

use parquet::basic::{Compression, LogicalType, Repetition, Type as Physical};
use parquet::data_type::{ByteArray, ByteArrayType, DoubleType, Int64Type};
use parquet::errors::ParquetError;
use parquet::file::properties::WriterProperties;
use parquet::file::writer::{SerializedFileWriter, SerializedRowGroupWriter};
use parquet::schema::types::{Type, TypePtr};
use serde_json::{Map, Value};

/// Rows that are held before they are written.
const GROUP_ROWS: usize = 4096;

/// Names of the columns, and what they hold, in the order of TRL; `None` stands for the parts of the reward.
const COLUMNS: [Option<(&str, Physical)>; 10] = [
    Some(("step", Physical::INT64)),
    Some(("prompt", Physical::BYTE_ARRAY)),
    Some(("completion", Physical::BYTE_ARRAY)),
    None,
    Some(("advantage", Physical::DOUBLE)),
    Some(("reward", Physical::DOUBLE)),
    Some(("style", Physical::BYTE_ARRAY)),
    Some(("verdict", Physical::BYTE_ARRAY)),
    Some(("mean_score", Physical::DOUBLE)),
    Some(("max_tile", Physical::INT64)),
];

/// Writes rows as they come, some thousand at a time.
pub(super) struct ParquetTable<W: Write + Send> {
    writer: SerializedFileWriter<W>,
    columns: Vec<(String, Physical)>,
    pending: Vec<Map<String, Value>>,
    rows: usize,
}

impl<W: Write + Send> ParquetTable<W> {
    /// An empty table; `parts` names the columns of the reward's parts.
    pub fn new(writer: W, parts: &[String]) -> Result<Self, ParquetError> {
        let mut columns = Vec::new();
        for column in COLUMNS {
            match column {
                Some((name, kind)) => columns.push((name.to_owned(), kind)),
                None => columns.extend(parts.iter().map(|part| (part.clone(), Physical::DOUBLE))),
            }
        }
        let fields = columns.iter().map(|(name, kind)| field(name, *kind)).collect::<Result<Vec<TypePtr>, _>>()?;
        let schema = Arc::new(Type::group_type_builder("completions").with_fields(fields).build()?);
        let settings = WriterProperties::builder().set_compression(Compression::SNAPPY).build();
        let writer = SerializedFileWriter::new(writer, schema, Arc::new(settings))?;
        Ok(ParquetTable { writer, columns, pending: Vec::new(), rows: 0 })
    }

    /// Adds a row; a column that it lacks is null.
    pub fn row(&mut self, row: Map<String, Value>) -> Result<(), ParquetError> {
        self.pending.push(row);
        self.rows += 1;
        if self.pending.len() == GROUP_ROWS { self.write_group() } else { Ok(()) }
    }

    /// Writes what is left. Returns how many rows there are.
    pub fn finish(mut self) -> Result<usize, ParquetError> {
        if !self.pending.is_empty() {
            self.write_group()?;
        }
        self.writer.finish()?;
        self.writer.inner_mut().flush()?;
        Ok(self.rows)
    }

    fn write_group(&mut self) -> Result<(), ParquetError> {
        let rows = std::mem::take(&mut self.pending);
        let mut group = self.writer.next_row_group()?;
        for (name, kind) in &self.columns {
            write_column(&mut group, *kind, rows.iter().map(|row| row.get(name).unwrap_or(&Value::Null)))?;
        }
        group.close()?;
        Ok(())
    }
}

fn field(name: &str, kind: Physical) -> Result<TypePtr, ParquetError> {
    let text = (kind == Physical::BYTE_ARRAY).then_some(LogicalType::String);
    let field = Type::primitive_type_builder(name, kind).with_repetition(Repetition::OPTIONAL);
    Ok(Arc::new(field.with_logical_type(text).build()?))
}

/// One column of one group: which values are there, and those.
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
    use parquet::file::reader::{FileReader, SerializedFileReader};
    use parquet::record::RowAccessor;

    use super::*;

    #[test]
    fn a_table_is_read_back_with_its_gaps_in_the_order_of_trl() {
        let row = |step: u64, game: Value| {
            let row = serde_json::json!({
                "step": step, "prompt": "p", "completion": "a\n\"b\"", "game": game, "advantage": -1.5, "reward": 0.25,
                "style": "snake", "verdict": "played", "mean_score": 12.0, "max_tile": 8,
            });
            row.as_object().unwrap().clone()
        };
        let file = tempfile::tempfile().unwrap();
        let mut table = ParquetTable::new(file.try_clone().unwrap(), &["game".into()]).unwrap();
        for step in 0..GROUP_ROWS as u64 + 2 {
            table.row(row(step, if step % 2 == 0 { Value::Null } else { 0.5.into() })).unwrap();
        }
        assert_eq!(table.finish().unwrap(), GROUP_ROWS + 2);
        let reader = SerializedFileReader::new(file).unwrap();
        let names: Vec<String> =
            reader.metadata().file_metadata().schema().get_fields().iter().map(|field| field.name().into()).collect();
        let expected = [
            "step",
            "prompt",
            "completion",
            "game",
            "advantage",
            "reward",
            "style",
            "verdict",
            "mean_score",
            "max_tile",
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
