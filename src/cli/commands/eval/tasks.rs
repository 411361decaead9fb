//! The report of an evaluation on tasks, as tables and as JSON.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Map, Value, json};

use super::report::{ToldVerdicts, summarised, verdicts};
use super::suite::SuiteFacts;
use crate::cli::said::output::{NOTHING, aligned, remarked};
use crate::environment::{Labels, Outcome};
use crate::evaluation::{Estimate, Interval, SURE_TASKS, Sample, TaskSummary, TasksSummary};
use crate::plural::{counted, cut, percent};

/// Tasks that a table has room for.
const TASKS_SHOWN: usize = 20;
/// Characters of a name in a table.
const NAME_WIDTH: usize = 32;

/// The report, with models in the order of the command line.
pub struct TasksReport {
    /// Whether the tasks are held out from training.
    pub held_out: bool,
    /// The suite that they are, if they are one.
    pub suite: Option<SuiteFacts>,
    /// Budget of a task that says nothing else, in seconds of a reference core.
    pub game_seconds: f64,
    pub models: Vec<Solver>,
}

pub struct Solver {
    pub name: String,
    pub summary: TasksSummary,
    pub samples: Vec<Sample>,
    pub verdicts: ToldVerdicts,
}

impl TasksReport {
    pub fn text(&self) -> String {
        let mut text = self.heading();
        text.push_str(&self.models());
        text.push_str(&self.groups());
        text.push_str(&self.tasks());
        text.push_str(&verdicts(self.models.iter().map(|model| (model.name.as_str(), &model.verdicts))));
        text
    }

    /// The object of `--json`.
    pub fn json(&self) -> Value {
        let mut object = json!({
            "held_out": self.held_out,
            "game_seconds": self.game_seconds,
            "models": self.models.iter().map(Solver::json).collect::<Vec<_>>(),
        });
        if let (Some(suite), Some(object)) = (&self.suite, object.as_object_mut()) {
            object.insert("suite".into(), suite.json());
        }
        object
    }

    fn heading(&self) -> String {
        let (tasks, samples) =
            self.models.first().map_or((0, 0), |model| (model.summary.tasks.len(), model.summary.samples_per_task));
        let tasks_in_words = match (&self.suite, self.held_out) {
            (Some(suite), _) => format!("{}{}", suite.text(), counted(tasks, "task")),
            (None, true) => counted(tasks, "held-out task"),
            (None, false) => format!("{}, all there are", counted(tasks, "task")),
        };
        let (samples, seconds) = (counted(samples, "program"), self.game_seconds);
        let interval = match tasks < SURE_TASKS {
            true => format!("no intervals over fewer than {SURE_TASKS} tasks"),
            false => "in brackets 95 % over tasks".to_owned(),
        };
        format!(
            "{tasks_in_words}; {samples} for each, {seconds} s of a reference core a program\n\
             pass@k: tasks that one of k programs passes, unbiased; {interval}\n{}\n",
            self.about_turns()
        )
    }

    fn about_turns(&self) -> &'static str {
        match self.models.iter().any(|model| !model.summary.pass_by_turn.is_empty()) {
            true => "turn t: tasks that a program passes within t turns; pass@k is that of the answer\n",
            false => "",
        }
    }

    fn models(&self) -> String {
        let sizes: BTreeSet<usize> =
            self.models.iter().flat_map(|model| model.summary.pass_at.keys().copied()).collect();
        let mut head = vec![String::new()];
        let turns = self.models.iter().map(|model| model.summary.pass_by_turn.len()).max().unwrap_or(0);
        head.extend((1..=turns).map(|turn| format!("turn {turn}")));
        head.extend(sizes.iter().map(|k| format!("pass@{k}")));
        head.extend(["tests passed", "has a program", "unique"].map(String::from));
        let mut rows = vec![head];
        for Solver { name, summary, .. } in &self.models {
            let mut row = vec![name.clone()];
            let share = |estimate: &Estimate| share(estimate.value, summary.interval(estimate));
            let by_turn = |turn: usize| summary.pass_by_turn.get(turn).map_or_else(|| NOTHING.into(), share);
            row.extend((0..turns).map(by_turn));
            row.extend(sizes.iter().map(|k| summary.pass_at.get(k).map_or_else(|| NOTHING.into(), share)));
            row.extend([share(&summary.tests), percent(summary.parses.value), percent(summary.unique)]);
            rows.push(row);
        }
        aligned(&rows)
    }

    /// A row for each group, where there are any.
    fn groups(&self) -> String {
        let names: BTreeSet<&String> = self.models.iter().flat_map(|model| model.summary.groups.keys()).collect();
        if names.is_empty() {
            return String::new();
        }
        let head = ["pass@1 and tests passed by group".to_owned(), "tasks".into()];
        let mut rows = vec![head.into_iter().chain(self.names()).collect::<Vec<_>>()];
        for name in names {
            let groups = || self.models.iter().map(|model| model.summary.groups.get(name));
            let tasks = groups().flatten().next().map_or(0, |group| group.tasks);
            let mut row =
                vec![if name.is_empty() { "without a group".into() } else { cut(name, NAME_WIDTH) }, tasks.to_string()];
            row.extend(groups().map(|group| {
                group.map_or_else(|| NOTHING.into(), |group| both(percent(group.pass_at_1), group.tests))
            }));
            rows.push(row);
        }
        format!("\n{}", aligned(&rows))
    }

    /// The tasks that the first model is worst at; where it is the only one, with what came of its completions.
    fn tasks(&self) -> String {
        let Some(first) = self.models.first() else { return String::new() };
        let only = self.models.len() == 1;
        let head = ["passed, and tests passed, by task".to_owned()].into_iter().chain(self.names());
        let mut rows = vec![head.chain(only.then(String::new)).collect::<Vec<_>>()];
        let found: Vec<BTreeMap<&str, &TaskSummary>> = self
            .models
            .iter()
            .map(|model| model.summary.tasks.iter().map(|task| (task.task.as_str(), task)).collect())
            .collect();
        for task in first.summary.tasks.iter().take(TASKS_SHOWN) {
            let cells = found.iter().map(|tasks| match tasks.get(task.task.as_str()) {
                Some(task) => both(format!("{} of {}", task.passed, task.samples), task.tests),
                None => NOTHING.into(),
            });
            let came = only.then(|| verdicts_of(task));
            rows.push(std::iter::once(cut(&task.task, NAME_WIDTH)).chain(cells).chain(came).collect());
        }
        let more = match first.summary.tasks.len().saturating_sub(TASKS_SHOWN) {
            0 => String::new(),
            more => format!("and {more} more, no worse than these; --json has all\n"),
        };
        let lines = if only { remarked(&rows, 1) } else { aligned(&rows) };
        format!("\n{lines}{more}")
    }

    fn names(&self) -> impl Iterator<Item = String> {
        self.models.iter().map(|model| model.name.clone())
    }
}

impl Solver {
    fn json(&self) -> Map<String, Value> {
        let mut object = summarised(&self.name, &self.summary);
        if self.summary.tasks.len() < SURE_TASKS {
            object.values_mut().for_each(without_intervals);
        }
        object.insert("programs".into(), self.samples.iter().map(program).collect());
        object
    }
}

/// Removes the interval of each estimate in `found`: over few tasks it says nothing.
fn without_intervals(found: &mut Value) {
    // By numbers, because groups of tasks have any names.
    let is_estimate = ["value", "low", "high"].into_iter().all(|key| found.get(key).is_some_and(Value::is_number));
    match found {
        Value::Object(estimate) if is_estimate => {
            estimate.extend(["low", "high"].map(|end| (end.to_owned(), Value::Null)));
        }
        Value::Object(members) => members.values_mut().for_each(without_intervals),
        Value::Array(items) => items.iter_mut().for_each(without_intervals),
        _ => {}
    }
}

fn program(sample: &Sample) -> Value {
    let outcome = sample.selection.games.first();
    let tests = outcome.and_then(Outcome::tests);
    let failed = tests.and_then(|tests| tests.failed.as_ref());
    json!({
        "task": sample.style,
        "verdict": sample.selection.verdict(sample.cut),
        "reason": sample.selection.reason(),
        "passed": tests.map(|tests| tests.passed),
        "tests": tests.map(|tests| tests.tests),
        "failed": failed,
        "ending": outcome.map(|outcome| outcome.ending.name()),
        "fuel": outcome.map(|outcome| outcome.fuel),
        "tokens": sample.tokens,
        "turns": (sample.turns.len() > 1).then_some(&sample.turns),
        "reward": sample.reward,
        "source": sample.program.as_ref().ok().map(|program| program.source()),
    })
}

/// `25% (12% to 40%)`, or `25%` over few tasks, and where all came to the same.
fn share(value: f64, interval: Option<Interval>) -> String {
    let ends = interval.map(|Interval { low, high }| Labels::Tests.bracketed(low, high)).unwrap_or_default();
    format!("{}{ends}", percent(value))
}

/// What passes all tests, and how many tests are passed.
fn both(passed: String, tests: f64) -> String {
    format!("{passed}  {:>4}", percent(tests))
}

/// `wrong_answer 5, raised 1`, the commonest first, in the words of `judge` and `completions/`.
fn verdicts_of(task: &TaskSummary) -> String {
    let mut verdicts: Vec<(&str, usize)> = task.verdicts.iter().map(|(verdict, count)| (*verdict, *count)).collect();
    verdicts.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
    verdicts.iter().map(|(verdict, count)| format!("{verdict} {count}")).collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tasks_that_all_came_to_the_same_have_no_interval() {
        let of = |low, high| share(0.5, Some(Interval { low, high }));
        assert_eq!([of(0.25, 0.75), of(0.5, 0.5), share(0.5, None)], ["50% (25% to 75%)", "50%", "50%"]);
    }

    #[test]
    fn intervals_are_removed_from_all_estimates_and_groups_keep_their_names() {
        let estimate = json!({ "value": 0.5, "low": 0.1, "high": 0.9 });
        let bare = json!({ "value": 0.5, "low": null, "high": null });
        let group = json!({ "tasks": 1, "pass_at_1": 0.5, "tests": 0.5 });
        let groups = json!({ "value": group, "low": group, "high": group });
        let mut found = json!({ "pass_at": { "1": estimate }, "added": [estimate], "groups": groups, "unique": 0.5 });
        without_intervals(&mut found);
        assert_eq!(found, json!({ "pass_at": { "1": bare }, "added": [bare], "groups": groups, "unique": 0.5 }));
    }
}
