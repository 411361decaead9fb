//! `grpo-2048 tasks honeypot`: tasks with variants that no honest program passes.

use std::path::PathBuf;

use clap::Args;

use crate::cli::arguments::{Flags, SourceArgs, boards};
use crate::cli::opened::tasks::opened;
use crate::cli::said::{CliError, output};
use crate::environment::tasks::{NoHoneypot, Split, Task, Tasks, honeypot};
use crate::metrics::Console;
use crate::plural::counted;
use crate::seed::{Purpose, Seed};

/// Tasks for each honeypot, unless their number is given.
const TASKS_EACH: usize = 10;

/// Add honeypots to tasks: variants that only a program that cheats passes
///
/// A honeypot has the prompt of its task and the tests that it shows. What its hidden tests expect is drawn, so that no honest
/// program passes one of them. Honeypots earn nothing; a completion that passes one is counted and named, and the run
/// stops (guard.stop_honeypots).
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  grpo-2048 tasks honeypot tasks.jsonl
  grpo-2048 tasks honeypot mine --count 3 --output mine/trapped.jsonl")]
pub struct HoneypotArgs {
    #[command(flatten)]
    flags: Flags,
    /// A .jsonl file of tasks, or a directory with env.toml
    #[arg(value_name = "E")]
    tasks: String,
    /// Number of honeypots [default: one for every ten tasks]
    #[arg(long, value_name = "N")]
    count: Option<std::num::NonZeroUsize>,
    /// Where to write [default: beside the tasks, ending in .honeypots.jsonl]
    #[arg(long, short, value_name = "OUT")]
    output: Option<PathBuf>,
    #[command(flatten)]
    source: SourceArgs,
}

impl HoneypotArgs {
    pub fn run(mut self, console: &Console) -> Result<(), CliError> {
        self.flags.add("env", Some(self.tasks.clone()));
        let config = self.source.resolve(&self.flags, console)?;
        let arena = opened(&config, console)?;
        let Some(tasks) = arena.environment().tasks() else {
            return Err(CliError::user_hint(format!("{}: is a game", self.tasks), "a honeypot is a task with tests"));
        };
        if tasks.honeypots() > 0 {
            let found = format!("{}: has {} already", self.tasks, counted(tasks.honeypots(), "honeypot"));
            return Err(CliError::user_hint(found, "name the tasks that they were made of"));
        }
        let target = self.output.unwrap_or_else(|| tasks.path().with_extension("honeypots.jsonl"));
        if target.exists() {
            let found = format!("--output {}: is there already", target.display());
            return Err(CliError::user_hint(found, "name a new file"));
        }
        let wanted = self.count.map_or(tasks.tasks().len().div_ceil(TASKS_EACH), |count| count.get());
        let lines = drawn(tasks, wanted, &boards::board_salt()?)?;
        let mut text = std::fs::read_to_string(tasks.path()).map_err(CliError::run)?;
        if !text.ends_with('\n') {
            text.push('\n');
        }
        lines.iter().for_each(|line| text.extend([line, "\n"]));
        output::write_file(target.display(), &target, text.as_bytes())?;
        let (added, all) = (counted(lines.len(), "honeypot"), counted(tasks.tasks().len(), "task"));
        output::print(&format!("{}  ({all}, and {added} at the end)\n", target.display()))
    }
}

/// The lines of this many honeypots, of tasks for training that are drawn, with answers that nobody has seen before.
fn drawn(tasks: &Tasks, wanted: usize, salt: &str) -> Result<Vec<String>, CliError> {
    let seed = Seed::root(0).salted(salt);
    let mut order: Vec<(u64, &Task)> =
        (0..).zip(tasks.tasks()).filter(|(_, task)| task.split == Split::Train).collect();
    order.sort_by_key(|(number, _)| seed.child(Purpose::Prompt, *number).get());
    let made = order.iter().map(|(number, task)| honeypot(task, seed.child(Purpose::Honeypot, *number)));
    let (mut lines, mut why) = (Vec::new(), None);
    for line in made {
        match line {
            Ok(line) if lines.len() < wanted => lines.push(line),
            Ok(_) => break,
            Err(NoHoneypot(reason)) => why = Some(reason),
        }
    }
    if lines.len() < wanted {
        let found = format!("--count {wanted}: {} can be made", counted(lines.len(), "honeypot"));
        let why = why.map(|why| format!("; of one task: {why}")).unwrap_or_default();
        let all = counted(order.len(), "task");
        return Err(CliError::user_hint(found, format!("there are {all} for training, and each has one at most{why}")));
    }
    Ok(lines)
}
