//! What was asked in a run: which tasks it never solved, which it always did, and the prompts of those that the page shows.

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;

use super::completions::ShownSample;
use super::log::{LogEntry, honeypots};

/// Maximum number of tasks in a list.
const LISTED: usize = 200;

/// The tasks that were asked in a run, without honeypots, which no honest program solves.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct AskedTasks {
    /// Number of tasks.
    pub count: usize,
    /// Those of which no completion passed all tests.
    pub never: TaskList,
    /// Those of which every completion did.
    pub always: TaskList,
    /// The prompt of each task of which a program is among the samples, as it was asked last.
    pub prompts: BTreeMap<String, String>,
}

/// Some of the tasks.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct TaskList {
    /// Number of tasks.
    pub count: usize,
    /// Their names, with the number of completions each; those with the most come first, and not all of many are here.
    pub tasks: Vec<(String, usize)>,
}

impl AskedTasks {
    /// Of the completions of steps, and the prompts of `samples`.
    pub fn of(steps: &[&[LogEntry]], samples: &[ShownSample]) -> AskedTasks {
        let mut asked: BTreeMap<&str, (usize, usize)> = BTreeMap::new();
        let honeypots = honeypots(steps);
        for entry in steps.iter().copied().flatten().filter(|entry| !honeypots.contains(entry.style.as_str())) {
            let (completions, solved) = asked.entry(&entry.style).or_default();
            *completions += 1;
            *solved += usize::from(entry.failure.is_empty());
        }
        let listed = |holds: &dyn Fn(usize, usize) -> bool| {
            let found = asked.iter().filter(|(_, (completions, solved))| holds(*completions, *solved));
            let mut tasks: Vec<(String, usize)> =
                found.map(|(task, (completions, _))| ((*task).to_owned(), *completions)).collect();
            tasks.sort_by_key(|(_, completions)| std::cmp::Reverse(*completions));
            let count = tasks.len();
            tasks.truncate(LISTED);
            TaskList { count, tasks }
        };
        AskedTasks {
            count: asked.len(),
            never: listed(&|_, solved| solved == 0),
            always: listed(&|completions, solved| solved == completions),
            prompts: prompts(steps, samples),
        }
    }
}

fn prompts(steps: &[&[LogEntry]], samples: &[ShownSample]) -> BTreeMap<String, String> {
    let shown: BTreeSet<&str> = samples.iter().map(|sample| sample.style.as_str()).collect();
    // A prompt stands at the first of the completions that share it.
    let asked = steps.iter().copied().flatten().filter(|entry| !entry.prompt.is_empty());
    let asked = asked.filter(|entry| shown.contains(entry.style.as_str()));
    asked.map(|entry| (entry.style.clone(), entry.prompt.clone())).collect()
}
