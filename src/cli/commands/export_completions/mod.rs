//! `grpo-2048 export-completions`: the log of a run as one table.

mod columns;
mod parquet_table;

use std::collections::BTreeSet;
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use clap::Args;
use serde_json::{Map, Value};

use crate::cli::commands::report::refuse_part;
use crate::cli::opened::runs::{self, report_error};
use crate::cli::said::{CliError, output};
use crate::json_line;
use crate::metrics::Console;
use crate::plural::counted;
use crate::report::{RunReader, completion_files, read_completions, step_floor};

use columns::{TableColumn, columns};
use parquet_table::ParquetTable;

/// Put the completions of a run into one table
///
/// Columns as in the completions tables of TRL, in its order: step, prompt, completion, one column for each part of the
/// reward, advantage; then reward, style, verdict, mean_score and max_tile. Of tasks, style is the name of the task,
/// mean_score the share of its tests that were passed, and max_tile empty. The ending of the file chooses the format:
/// .parquet, .csv or .jsonl.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  grpo-2048 export-completions runs/train-001 --output t.parquet
  grpo-2048 export-completions runs/train-001 --output t.csv

In Python:
  pandas.read_parquet(\"t.parquet\")
  polars.read_parquet(\"t.parquet\")")]
pub struct ExportCompletionsArgs {
    /// Directory that the run writes to, or "latest"
    #[arg(value_name = "RUN")]
    run: PathBuf,
    /// Where to write; .parquet, .csv or .jsonl
    #[arg(long, short, value_name = "FILE")]
    output: PathBuf,
}

#[derive(Clone, Copy)]
enum Format {
    Text(TextFormat),
    Parquet,
}

#[derive(Clone, Copy)]
enum TextFormat {
    Csv,
    Jsonl,
}

impl ExportCompletionsArgs {
    pub fn run(self, console: &Console) -> Result<(), CliError> {
        let format = format_of(&self.output)?;
        let run = runs::named("export-completions", &self.run)?;
        RunReader::open(&run).map_err(report_error)?;
        refuse_part(&run, &self.output)?;
        let named = format!("--output {}", self.output.display());
        output::refuse_other(&named, &self.output, is_table)?;
        let files = completion_files(&run).map_err(report_error)?;
        if files.is_empty() {
            let words = format!("{}: no completions were logged", run.display());
            return Err(CliError::user_hint(words, "a run writes completions/step_00001.jsonl after its first step"));
        }
        // All files are read for their columns first: a resumed run may have had other parts in its reward.
        let mut parts = BTreeSet::new();
        for (_, path) in &files {
            let (logged, unreadable) = read_completions(path).map_err(report_error)?;
            if unreadable > 0 {
                let lines = counted(unreadable, "line");
                console.print(&format!("warning: {}: {lines} left out: unreadable", path.display()));
            }
            parts.extend(logged.iter().flat_map(|one| one.reward_parts.keys().cloned()));
        }
        let columns = columns(&parts);
        let unwritten = |error| output::unwritten(&named, &error);
        let rows = output::write_file_by(&named, &self.output, |file| match format {
            Format::Parquet => {
                let mut table = ParquetTable::new(BufWriter::new(file), &columns).map_err(unwritten)?;
                each_row(&files, &columns, |row| table.row(row).map_err(unwritten))?;
                table.finish().map_err(unwritten)
            }
            Format::Text(format) => {
                let mut table = TextTable { writer: BufWriter::new(file), format, columns: &columns, rows: 0 };
                each_row(&files, &columns, |row| table.row(row).map_err(unwritten))?;
                table.writer.flush().map_err(unwritten)?;
                Ok(table.rows)
            }
        })?;
        output::print(&format!(
            "{}  ({} of {})\n",
            self.output.display(),
            counted(rows, "completion"),
            counted(files.len(), "step")
        ))
    }
}

/// Whether a file is a table of completions, by what is in every one of its format.
fn is_table(there: &[u8]) -> bool {
    if there.starts_with(b"PAR1") {
        // Names of columns stand at its end.
        let end = &there[there.len().saturating_sub(1 << 16)..];
        return end.windows(10).any(|part| part == b"mean_score");
    }
    let first = there.split(|&byte| byte == b'\n').next().unwrap_or_default();
    let is_row = |row: Value| ["step", "completion", "mean_score"].iter().all(|&key| row.get(key).is_some());
    there.starts_with(b"step,prompt,completion,") || serde_json::from_slice(first).is_ok_and(is_row)
}

/// Hands every completion to `take`, in their order.
fn each_row(
    files: &[(usize, PathBuf)],
    columns: &[TableColumn],
    mut take: impl FnMut(Vec<Value>) -> Result<(), CliError>,
) -> Result<(), CliError> {
    for (_, path) in files {
        let step = read_completions(path).map_err(report_error)?.0;
        let floor = step_floor(&step);
        for logged in step {
            take(columns.iter().map(|column| column.value(&logged, floor)).collect())?;
        }
    }
    Ok(())
}

fn format_of(path: &Path) -> Result<Format, CliError> {
    match path.extension().and_then(|extension| extension.to_str()) {
        Some("csv") => Ok(Format::Text(TextFormat::Csv)),
        Some("jsonl" | "ndjson") => Ok(Format::Text(TextFormat::Jsonl)),
        Some("parquet") => Ok(Format::Parquet),
        _ => Err(CliError::user_hint(
            format!("--output {}: unknown format", path.display()),
            "end it in .parquet, .csv or .jsonl",
        )),
    }
}

struct TextTable<'a, W> {
    writer: W,
    format: TextFormat,
    columns: &'a [TableColumn],
    rows: usize,
}

impl<W: Write> TextTable<'_, W> {
    fn row(&mut self, row: Vec<Value>) -> io::Result<()> {
        let names = self.columns.iter().map(|column| &column.name);
        let line = match self.format {
            TextFormat::Csv => {
                if self.rows == 0 {
                    writeln!(self.writer, "{}", names.map(|name| quoted(name)).collect::<Vec<_>>().join(","))?;
                }
                row.iter().map(field).collect::<Vec<_>>().join(",") + "\n"
            }
            TextFormat::Jsonl => json_line(&names.cloned().zip(row).collect::<Map<_, _>>())?,
        };
        self.rows += 1;
        self.writer.write_all(line.as_bytes())
    }
}

fn field(value: &Value) -> String {
    match value {
        Value::Null => String::new(),
        Value::String(text) => quoted(text),
        number => number.to_string(),
    }
}

/// Quotes a field as RFC 4180 has it.
fn quoted(text: &str) -> String {
    match text.contains([',', '"', '\n', '\r']) {
        true => format!("\"{}\"", text.replace('"', "\"\"")),
        false => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::environment::Floor;
    use crate::report::LoggedCompletion;

    #[test]
    fn a_table_has_the_columns_of_trl_in_its_order_and_quotes_programs() {
        let line = r#"{"step":3,"style":"snake","prompt":"<|x|>","completion":"if a:\n  \"b\", c","reward":0.5,
            "reward_parts":{"game":0.7,"failure":-0.2},"advantage":-1.5,
            "evaluation":{"verdict":{"faulted":{"ending":"raised","reason":"boom"}},"games":[{"score":12,"max_tile":8}]}}"#;
        let logged: LoggedCompletion = serde_json::from_str(line).unwrap();
        let columns = columns(&["failure", "game", "later"].map(String::from).into());
        let mut table = TextTable { writer: Vec::new(), format: TextFormat::Csv, columns: &columns, rows: 0 };
        table.row(columns.iter().map(|column| column.value(&logged, Floor::of([]))).collect()).unwrap();
        let expected = "step,prompt,completion,failure,game,later,advantage,reward,style,verdict,mean_score,max_tile\n\
                        3,<|x|>,\"if a:\n  \"\"b\"\", c\",-0.2,0.7,,-1.5,0.5,snake,raised,12.0,8\n";
        assert_eq!(String::from_utf8(table.writer).unwrap(), expected);
    }

    #[test]
    fn a_task_has_a_share_of_tests_and_no_tile() {
        let line = r#"{"step":1,"style":"add","evaluation":{"verdict":"played","games":[
            {"task":0,"score":0.25,"ending":"wrong_answer","fuel":1,"tests":{"tests":4,"passed":1,"answered":4,"constant":1}}]}}"#;
        let (logged, columns) = (serde_json::from_str(line).unwrap(), columns(&BTreeSet::new()));
        let value =
            |name: &str| columns.iter().find(|column| column.name == name).unwrap().value(&logged, Floor::of([]));
        let found = ["mean_score", "max_tile", "style"].map(value);
        assert_eq!(found, [0.25.into(), Value::Null, "add".into()]);
        // Where scores are below 0, what is no program is no better than what plays, as in the metrics.
        let failed =
            serde_json::from_str(r#"{"evaluation":{"verdict":{"rejected":{"why":"no_function"}},"games":[]}}"#)
                .unwrap();
        let column = columns.iter().find(|column| column.name == "mean_score").unwrap();
        assert_eq!(column.value(&failed, Floor::of([-16.0, -4.0])), Value::from(-16.0));
    }
}
