//! Summarises programs for tasks in the numbers of a report: pass@k and tests passed, with equal weight for every
//! task.

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;

use super::boards::{ChanceStream, chance};
use super::estimators::{Estimate, Interval, estimate, pass_at};
use super::{Sample, surprise_a_token};
use crate::arena::Start;
use crate::environment::tasks::{Task, Tasks};
use crate::program::Program;
use crate::stats::mean;

/// Fewest tasks over which an interval says anything: that over one is a point, whatever the model.
pub const SURE_TASKS: usize = 5;

/// Summary of one policy's programs on some tasks.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct TasksSummary {
    /// Programs sampled per task; the smallest number if tasks differ.
    pub samples_per_task: usize,
    /// Expected share of tasks that at least one of so many programs passes, for 1, 2, 4, ... programs. The intervals
    /// of this and the following fields are over tasks.
    pub pass_at: BTreeMap<usize, Estimate>,
    /// With several turns, the expected share of tasks whose program passes by each of them, whether a conversation needed
    /// it or not; otherwise empty.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub pass_by_turn: Vec<Estimate>,
    /// Share of its task's tests that a program passes.
    pub tests: Estimate,
    /// Share of completions with a program.
    pub parses: Estimate,
    /// Distinct programs over completions; layout and names do not count. Programs for different tasks always differ.
    pub unique: f64,
    /// Mean negative log-probability per token, in nats.
    pub entropy: f64,
    pub reward: f64,
    /// Summaries by group of tasks; empty if the file has no groups. Tasks without a group are under an empty name.
    pub groups: BTreeMap<String, GroupSummary>,
    /// All sampled tasks, worst first.
    pub tasks: Vec<TaskSummary>,
}

/// Summary of the programs for one group of tasks.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize)]
pub struct GroupSummary {
    pub tasks: usize,
    /// Share of programs that pass all tests, with equal weight for every task.
    pub pass_at_1: f64,
    /// Share of tests that a program passes.
    pub tests: f64,
}

/// Summary of the programs for one task.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct TaskSummary {
    pub task: String,
    pub group: Option<String>,
    /// Number of completions.
    pub samples: usize,
    /// Number of programs that pass all tests.
    pub passed: usize,
    /// Share of tests that a program passes.
    pub tests: f64,
    /// Share of completions with a program.
    #[serde(skip)]
    pub parses: f64,
    /// Number of programs that pass all tests, by each turn.
    #[serde(skip)]
    passed_by_turn: Vec<usize>,
    /// Number of programs by ending; for completions without a program, by the reason.
    pub endings: BTreeMap<&'static str, usize>,
    /// Number of completions by verdict.
    pub verdicts: BTreeMap<&'static str, usize>,
}

impl TasksSummary {
    /// The interval of an estimate over the tasks, where there are enough of them.
    pub fn interval(&self, estimate: &Estimate) -> Option<Interval> {
        (self.tasks.len() >= SURE_TASKS).then_some(estimate.interval)
    }
}

impl TaskSummary {
    /// Share of completions whose program passes all tests.
    pub fn pass_at_1(&self) -> f64 {
        pass_at(1, self.passed, self.samples)
    }
}

/// Summarises samples for tasks, of conversations of up to `turns` turns.
pub fn summarise_tasks(tasks: &Tasks, samples: &[Sample], turns: usize) -> TasksSummary {
    let turns = if turns > 1 { turns } else { 0 };
    let mut by_task = tried(tasks, samples, turns);
    let fewest = by_task.iter().map(|task| task.samples).min().unwrap_or(0);
    let mut sizes: Vec<usize> = std::iter::successors(Some(1), |k| Some(2 * k)).take_while(|&k| k < fewest).collect();
    sizes.extend((fewest > 0).then_some(fewest));
    let columns: Vec<Vec<f64>> = by_task
        .iter()
        .map(|task| {
            let passes = sizes.iter().map(|&k| pass_at(k, task.passed, task.samples));
            let by_turn = task.passed_by_turn.iter().map(|&passed| pass_at(1, passed, task.samples));
            passes.chain([task.tests, task.parses]).chain(by_turn).collect()
        })
        .collect();
    let statistics = |draw: &[usize]| {
        let of = |column| mean(draw.iter().map(|&task| columns[task][column]));
        (0..sizes.len() + 2 + turns).map(of).collect()
    };
    let row: Vec<Estimate> = estimate(by_task.len(), chance(ChanceStream::Bootstrap), &statistics)
        .into_iter()
        .map(|estimate| estimate.of_shares(by_task.len()))
        .collect();
    let groups = groups(&by_task);
    by_task.sort_by(|a, b| a.pass_at_1().total_cmp(&b.pass_at_1()).then(a.tests.total_cmp(&b.tests)));
    let programs: Vec<(&str, [u8; 32])> = samples
        .iter()
        .filter_map(|sample| Some((sample.style.as_str(), sample.program.as_ref().map(Program::digest).ok()?)))
        .collect();
    let distinct = programs.iter().collect::<BTreeSet<_>>().len();
    TasksSummary {
        samples_per_task: fewest,
        pass_at: sizes.iter().copied().zip(row.iter().copied()).collect(),
        pass_by_turn: row[sizes.len() + 2..].to_vec(),
        tests: row[sizes.len()],
        parses: row[sizes.len() + 1],
        unique: distinct as f64 / programs.len().max(1) as f64,
        entropy: surprise_a_token(samples),
        reward: mean(samples.iter().map(|sample| sample.reward)),
        groups,
        tasks: by_task,
    }
}

/// Summaries of the sampled tasks, in the order of their file, with what passes by each of `turns` turns.
fn tried(tasks: &Tasks, samples: &[Sample], turns: usize) -> Vec<TaskSummary> {
    let mut by_name: BTreeMap<&str, Vec<&Sample>> = BTreeMap::new();
    samples.iter().for_each(|sample| by_name.entry(&sample.style).or_default().push(sample));
    let summary = |task: &Task| {
        let samples = by_name.remove(task.id.as_str())?;
        // Adding 0.0 removes the sign of a negative zero, which is the mean of no values.
        let share = |of: fn(&Sample) -> f64| mean(samples.iter().map(|sample| of(sample))) + 0.0;
        let count = |of: fn(&Sample) -> &'static str| {
            let mut counts: BTreeMap<&'static str, usize> = BTreeMap::new();
            samples.iter().for_each(|sample| *counts.entry(of(sample)).or_default() += 1);
            counts
        };
        Some(TaskSummary {
            task: task.id.clone(),
            group: task.group.clone(),
            samples: samples.len(),
            passed: samples.iter().filter(|sample| sample.selection.plays()).count(),
            tests: share(Sample::score),
            parses: share(|sample| f64::from(u8::from(sample.parses()))),
            passed_by_turn: (1..=turns).map(|turn| passed_within(&samples, turn)).collect(),
            endings: count(ending),
            verdicts: count(|sample| sample.selection.verdict(sample.cut).name()),
        })
    };
    tasks.tasks().iter().filter_map(summary).collect()
}

fn passed_within(samples: &[&Sample], turns: usize) -> usize {
    samples.iter().filter(|sample| sample.turns.iter().take(turns).any(|passes| *passes)).count()
}

fn ending(sample: &Sample) -> &'static str {
    match (&sample.selection.start, sample.selection.games.first()) {
        (Start::Rejected(rejection), _) => rejection.name(),
        (_, Some(outcome)) => outcome.ending.name(),
        (_, None) => sample.selection.verdict(sample.cut).name(),
    }
}

fn groups(tasks: &[TaskSummary]) -> BTreeMap<String, GroupSummary> {
    let mut members: BTreeMap<String, Vec<&TaskSummary>> = BTreeMap::new();
    if tasks.iter().any(|task| task.group.is_some()) {
        tasks.iter().for_each(|task| members.entry(task.group.clone().unwrap_or_default()).or_default().push(task));
    }
    let summary = |tasks: Vec<&TaskSummary>| GroupSummary {
        tasks: tasks.len(),
        pass_at_1: mean(tasks.iter().map(|task| task.pass_at_1())),
        tests: mean(tasks.iter().map(|task| task.tests)),
    };
    members.into_iter().map(|(group, tasks)| (group, summary(tasks))).collect()
}
