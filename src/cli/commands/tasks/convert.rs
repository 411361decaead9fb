//! `grpo-2048 tasks convert`: the rows of a public data set as tasks.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use clap::Args;

use super::rows;
use crate::cli::said::{CliError, output};
use crate::environment::tasks::convert::{Converter, Dropped, Line};
use crate::files;
use crate::plural::counted;

/// Names of dropped rows that are printed for each reason.
const NAMED_MAX: usize = 5;

/// Make tasks of the rows of a public data set
///
/// Knows MBPP, HumanEval, EvalPlus, APPS and TACO, CodeContests, DeepCoder, LiveCodeBench (its public tests),
/// SYNTHETIC-1, KodCode, and rows of verl and NeMo-Gym, by their fields. Says what it drops and why. Runs nothing and
/// unpickles nothing. The data sets keep their licences.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  grpo-2048 tasks convert HumanEval.jsonl
  grpo-2048 tasks convert mbpp.parquet --output mbpp.tasks.jsonl && grpo-2048 check --env mbpp.tasks.jsonl")]
pub struct ConvertArgs {
    /// JSON lines, one JSON list, or a parquet file
    #[arg(value_name = "FILE")]
    file: PathBuf,
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
        let mut converter = Converter::default();
        let mut sum = Sum::default();
        rows::each(&self.file, |row| sum.add(converter.convert(&row)))?;
        if sum.tasks == 0 {
            let words =
                format!("{}: none of {} became a task\n{}", self.file.display(), counted(sum.rows, "row"), sum.drops());
            return Err(CliError::user(words.trim_end()));
        }
        files::write_whole(&target, sum.text.as_bytes()).map_err(|error| {
            CliError::user_hint(format!("{}: {error}", target.display()), "name a file that can be written")
        })?;
        output::print(&sum.report(&target))
    }
}

/// What became of the rows.
#[derive(Default)]
struct Sum {
    rows: usize,
    tasks: usize,
    checkers: usize,
    text: String,
    formats: BTreeMap<&'static str, usize>,
    /// Names of dropped rows by the reason why.
    dropped: BTreeMap<String, Vec<String>>,
}

impl Sum {
    fn add(&mut self, converted: Result<Line, Dropped>) {
        self.rows += 1;
        match converted {
            Ok(line) => {
                self.tasks += 1;
                self.checkers += usize::from(line.has_checker);
                *self.formats.entry(line.format).or_default() += 1;
                self.text.push_str(&line.text);
                self.text.push('\n');
            }
            Err(dropped) => self.dropped.entry(dropped.why).or_default().push(dropped.id),
        }
    }

    fn report(&self, target: &Path) -> String {
        let formats: Vec<&str> = self.formats.keys().copied().collect();
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
        report + &self.drops()
    }

    /// A line for each reason why rows were dropped, the most frequent first.
    fn drops(&self) -> String {
        let mut reasons: Vec<_> = self.dropped.iter().collect();
        reasons.sort_by_key(|(_, names)| std::cmp::Reverse(names.len()));
        let lines = reasons.iter().map(|(why, names)| {
            let more = if names.len() > NAMED_MAX { ", ..." } else { "" };
            let named = names[..names.len().min(NAMED_MAX)].join(", ");
            format!("dropped {}: {why} ({named}{more})\n", names.len())
        });
        lines.collect()
    }
}
