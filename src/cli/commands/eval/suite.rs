//! A named evaluation: its tasks from the user's file of rows, and what a reader has to know of both.

use std::path::Path;

use serde_json::{Value, json};

use crate::arena::{Arena, Rules, Unanswering};
use crate::cli::opened::{arena, rows};
use crate::cli::said::CliError;
use crate::config::Config;
use crate::environment::Environment;
use crate::environment::tasks::convert::Dropped;
use crate::environment::tasks::{Known, Suite, SuiteRows, Tasks};
use crate::metrics::Console;
use crate::plural::counted;
use crate::reward::Rule;

/// What a suite asked, and of which data.
pub struct SuiteFacts {
    suite: Suite,
    sha256: String,
    known: Option<&'static Known>,
    tasks: usize,
    other_splits: usize,
    left_out: Vec<Dropped>,
    /// Tasks that no program can pass here, because the reference does not answer all inputs.
    unanswering: Vec<Unanswering>,
}

/// The arena with the tasks of `suite`, made of the rows in `data`.
pub fn open(suite: Suite, data: &Path, config: &Config, console: &Console) -> Result<(Arena, SuiteFacts), CliError> {
    let SuiteRows { text, tasks, left_out, other_splits } = rows::of_suite("--data ", suite, data)?;
    let sha256 = rows::sha256(data)?;
    let known = suite.known().iter().find(|known| known.sha256 == sha256);
    let environment = Environment::Tasks(Tasks::of_rows(data, suite.name(), &text).map_err(CliError::user)?);
    Rule::check(&config.reward, &environment)?;
    let opened = arena::open_unchecked(config, environment, console)?;
    let facts = SuiteFacts { suite, sha256, known, tasks, other_splits, left_out, unanswering: opened.unanswering };
    Ok((opened.arena.under(Rules::of(config)), facts))
}

impl SuiteFacts {
    /// Lines above the tables.
    pub fn text(&self) -> String {
        let (rows, split) = (self.tasks + self.left_out.len(), self.suite.split());
        let known = match self.known {
            Some(known) => format!("that of {}", known.source),
            None => "not one that this program knows".into(),
        };
        let mut text =
            format!("{}: {} of {} ({split})\n", self.suite.name(), counted(self.tasks, "task"), counted(rows, "row"));
        text.push_str(&format!("data: sha256 {}, {known}\n", self.sha256));
        text.push_str(&rows::reasons("left out", &self.left_out));
        if let [first, ..] = self.unanswering.as_slice() {
            let names = rows::named(self.unanswering.iter().map(|one| one.id.as_str()));
            let count = counted(self.unanswering.len(), "task");
            text.push_str(&format!(
                "no program can pass {count}, whose reference fails here ({}): {names}\n",
                first.reason
            ));
        }
        text
    }

    /// The member `suite` of the JSON.
    pub fn json(&self) -> Value {
        let left_out = self.left_out.iter().map(|row| json!({ "id": row.id, "why": row.why }));
        json!({
            "name": self.suite.name(),
            "split": self.suite.split(),
            "sha256": self.sha256,
            "known_as": self.known.map(|known| known.source),
            "tasks": self.tasks,
            "other_splits": self.other_splits,
            "left_out": left_out.collect::<Vec<_>>(),
            "unanswered": self.unanswering.iter().map(|one| &one.id).collect::<Vec<_>>(),
        })
    }
}
