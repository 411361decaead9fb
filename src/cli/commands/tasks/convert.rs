//! `grpo-2048 tasks convert`: the rows of a public data set as tasks.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use clap::Args;

use crate::cli::opened::rows;
use crate::cli::said::{CliError, output};
use crate::environment::tasks::convert::{A_TASK, Converter, Dropped, Line};
use crate::environment::tasks::{Suite, SuiteRows};
use crate::plural::counted;

/// Make tasks of the rows of a public data set
///
/// Knows MBPP, HumanEval, EvalPlus, CRUXEval, APPS and TACO, CodeContests, DeepCoder, LiveCodeBench (its private tests
/// unpacked), SYNTHETIC-1, KodCode, and rows of verl and NeMo-Gym, by their fields. Says what it drops and why. Runs
/// nothing and unpickles nothing. The data sets keep their licences.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  grpo-2048 tasks convert HumanEval.jsonl
  grpo-2048 tasks convert mbpp.parquet --output mbpp.tasks.jsonl && grpo-2048 check --env mbpp.tasks.jsonl")]
pub struct ConvertArgs {
    /// JSON lines or one JSON list, also packed by gzip, or a parquet file
    #[arg(value_name = "FILE")]
    file: PathBuf,
    /// Only what `eval --suite S` asks, as it asks for it
    #[arg(long, value_name = "S", value_parser = rows::suite_names())]
    suite: Option<Suite>,
    /// Where to write [default: beside FILE, ending in .tasks.jsonl]
    #[arg(long, short, value_name = "OUT")]
    output: Option<PathBuf>,
}

impl ConvertArgs {
    pub fn run(self) -> Result<(), CliError> {
        let target = self.output.unwrap_or_else(|| self.file.with_extension("tasks.jsonl"));
        let is_same = |a: &Path, b: &Path| a.canonicalize().is_ok_and(|a| b.canonicalize().is_ok_and(|b| a == b));
        if self.file.is_file() && is_same(&self.file, &target) {
            return Err(CliError::user(format!("--output {}: that is the file to convert", target.display())));
        }
        let sum = match self.suite {
            Some(suite) => Sum::of_suite(suite, &self.file)?,
            None => {
                let (mut converter, mut sum) = (Converter::default(), Sum::default());
                rows::each(&self.file, |row| match row {
                    Ok(row) => sum.add(converter.convert(&row)),
                    Err(why) => sum.add(Err(converter.unread(why))),
                })?;
                Sum { known_sets: converter.known_sets(), ..sum }
            }
        };
        if sum.tasks == 0 {
            let refusal = rows::none(self.file.display(), sum.rows, &sum.dropped);
            let hint = match sum.known_sets {
                Some(known) => Some(columns(&known)),
                None if sum.dropped.iter().any(|row| row.why == A_TASK) => lines_of(&self.file),
                None => None,
            };
            return Err(match hint {
                Some(hint) => CliError::user_hint(refusal, hint),
                None => refusal,
            });
        }
        // The same once more is no loss.
        output::refuse_other(format!("--output {}", target.display()), &target, |there| there == sum.text.as_bytes())?;
        output::write_file(target.display(), &target, sum.text.as_bytes())?;
        output::tell(&sum.report(&target))
    }
}

/// What became of the rows.
#[derive(Default)]
struct Sum {
    rows: usize,
    tasks: usize,
    checkers: usize,
    text: String,
    /// Names of the formats, and of the suite that was asked for.
    formats: BTreeSet<&'static str>,
    dropped: Vec<Dropped>,
    /// The sets that are known, where rows are of none of them.
    known_sets: Option<String>,
}

impl Sum {
    fn add(&mut self, converted: Result<Line, Dropped>) {
        self.rows += 1;
        match converted {
            Ok(line) => {
                self.tasks += 1;
                self.checkers += usize::from(line.has_checker);
                self.formats.insert(line.format);
                self.text.push_str(&line.text);
                self.text.push('\n');
            }
            Err(dropped) => self.dropped.push(dropped),
        }
    }

    fn of_suite(suite: Suite, file: &Path) -> Result<Sum, CliError> {
        let SuiteRows { text, tasks, left_out, other_splits } = rows::of_suite("", suite, file)?;
        let (rows, formats) = (tasks + left_out.len() + other_splits, [suite.name()].into());
        Ok(Sum { rows, tasks, text, formats, dropped: left_out, ..Sum::default() })
    }

    fn report(&self, target: &Path) -> String {
        let formats: Vec<&str> = self.formats.iter().copied().collect();
        let mut report = format!(
            "{}  ({} of {} became tasks; {})\n",
            target.display(),
            self.tasks,
            counted(self.rows, "row"),
            formats.join(", ")
        );
        if self.checkers > 0 {
            report.push_str(&format!(
                "{} with a checker: their tests are more than calls with literals\n",
                counted(self.checkers, "task")
            ));
        }
        report.push_str(&rows::reasons("dropped", &self.dropped));
        report.extend(self.known_sets.iter().map(|known| format!("{}\n", columns(known))));
        report
    }
}

/// What makes lines, as `--env` takes them, of a file of tasks that is called otherwise.
fn lines_of(file: &Path) -> Option<String> {
    let kind = match file.extension().and_then(|extension| extension.to_str()) {
        Some("jsonl") => return None,
        Some("parquet") => "parquet",
        _ => "json",
    };
    let file = file.display().to_string();
    Some(format!(
        "--env takes them as lines of JSON in a file that ends in .jsonl; in Python: \
         datasets.load_dataset(\"{kind}\", data_files={file:?})[\"train\"].to_json(\"tasks.jsonl\")"
    ))
}

/// What to do about rows of no `known` set.
fn columns(known: &str) -> String {
    format!(
        "known sets are: {known}; rename the columns of a table of your own to those of one, as docs/tasks.md does in Python"
    )
}
