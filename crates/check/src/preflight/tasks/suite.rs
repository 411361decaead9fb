//! Checks whether the tests of a task leave anything to learn.
//!
//! Expected answers are compared with each other; nothing is run, so every task is checked.

use std::collections::HashMap;

use rayon::prelude::*;

use super::examination::Examination;
use crate::config::{Config, Feedback, TestsReward};
use crate::environment::tasks::{Answer, Task, Test};
use crate::plural::{counted, cut};
use crate::preflight::finding::{Check, CheckFinding, Level};
use crate::stats;

/// Share of the tests above the best constant that repeating the shown answers may pass.
const SHOWN_EXPECTED: f64 = 0.5;
/// Characters of an answer that are shown in a message.
const ANSWER_MAX: usize = 40;
/// What follows where one answer earns the full reward.
pub(super) const NOTHING_LEARNT: &str = "nothing can be learnt";

#[derive(Default)]
struct Suite {
    constant: f64,
    findings: Vec<CheckFinding>,
}

impl Examination<'_> {
    /// Problems of the tests, and the mean share of a task's tests that its best constant passes.
    pub(super) fn suites(&self) -> (Vec<CheckFinding>, f64) {
        let config = self.config;
        let honest: Vec<(usize, &Task)> = self.honest().collect();
        let suites: Vec<(usize, Suite)> =
            honest.into_par_iter().map(|(number, task)| (number, suite(task, config))).collect();
        let count = suites.len();
        let constant = stats::mean(suites.iter().map(|(_, suite)| suite.constant));
        let found: Vec<CheckFinding> = suites
            .into_iter()
            .flat_map(|(task, suite)| suite.findings.into_iter().map(move |finding| finding.at(self.place(task))))
            .collect();
        let in_order = [
            (Check::Shown, "what prompts show of the tests does not give the others away".to_owned()),
            (Check::Tests, format!("no test is asked twice in {}", counted(count, "task"))),
        ];
        let in_order = in_order.into_iter().filter(|(check, _)| found.iter().all(|finding| finding.check != *check));
        let in_order: Vec<CheckFinding> = in_order.map(|(check, text)| CheckFinding::ok(check, text)).collect();
        (found.into_iter().chain(in_order).collect(), constant)
    }
}

fn suite(task: &Task, config: &Config) -> Suite {
    let mut suite = Suite::default();
    // A reference without answers is reported by another check.
    if task.unanswered().next().is_none() {
        let commonest = task.commonest_answer(0..task.tests.len());
        suite.constant = f64::from(task.constant()) / f64::from(task.tests_and_checker().max(1));
        suite.findings.extend(constant(task, config.reward.tests, commonest));
        let told = readable_tests(task, config);
        let given_away = given_away(task, told, commonest);
        suite.findings.extend(given_away.or_else(|| all_public(task, told)));
    }
    suite.findings.extend(asked_twice(task));
    suite.findings.extend(opening(task));
    suite
}

/// A finding if one answer passes every test.
fn constant(task: &Task, kind: TestsReward, commonest: Option<(&Answer, usize)>) -> Option<CheckFinding> {
    let (answer, passed) = commonest.filter(|_| !task.is_literal())?;
    if passed < task.tests_and_checker() as usize {
        return None;
    }
    let raises = |test: &Test, name: &str| matches!(&test.expected, Some(Answer::Raised(other)) if other == name);
    let text = match (answer, passed) {
        (_, 1) => format!("one test only, which the constant {} passes", shown(answer)),
        (Answer::Raised(name), all) if !task.tests.iter().all(|test| raises(test, name)) => {
            format!("all {all} tests are passed by raising one exception that is under all the types which they expect")
        }
        (_, all) => format!("all {all} tests are passed by the constant {}", shown(answer)),
    };
    // Under other rewards the constant earns something, so the task still teaches that.
    let (level, text) = match kind {
        TestsReward::AboveConstant => (Level::Problem, format!("{text}: {NOTHING_LEARNT}")),
        TestsReward::All | TestsReward::Share => (Level::Warning, text),
    };
    let finding = CheckFinding { level, ..CheckFinding::ok(Check::Constants, text) };
    Some(finding.mend("add tests with other answers"))
}

/// Number of first tests whose answers a policy may read: those in the prompt, and the other public ones if it has later
/// turns in which it is told of a test that failed.
fn readable_tests(task: &Task, config: &Config) -> usize {
    let is_told = config.rollout.turns > 1 && config.rollout.feedback == Feedback::Shown;
    if is_told { task.hidden().start } else { task.examples().end }
}

/// A finding if repeating the answers of the first `told` tests passes many tests.
fn given_away(task: &Task, told: usize, commonest: Option<(&Answer, usize)>) -> Option<CheckFinding> {
    let (all, constant) = (task.tests_and_checker() as usize, commonest?.1);
    let is_in_prompt = told == task.examples().end;
    if told == all && is_in_prompt {
        let text = match all {
            1 => "the prompt shows the only test: copying its answer passes".to_owned(),
            _ => format!("the prompt shows all {all} tests: copying their answers passes"),
        };
        let remedy = format!("add tests, or hide some with \"shown\": {}", all / 2);
        return Some(CheckFinding::problem(Check::Shown, text).mend(remedy));
    }
    let (read, rest) = (&task.tests[..told], told..task.tests.len());
    let passed = |answer: &Answer| {
        let known = |test: usize| read.iter().any(|one| one.input == task.tests[test].input);
        rest.clone().filter(|&test| known(test) || task.passes(test, answer)).count()
    };
    let answers = read.iter().filter_map(|test| test.expected.as_ref());
    // An answer that helps only with its own test does not count.
    let repeated = told + answers.map(passed).max().filter(|others| *others > 0)?;
    let share = repeated.saturating_sub(constant) as f64 / all.saturating_sub(constant).max(1) as f64;
    (share >= SHOWN_EXPECTED).then(|| {
        let text = format!(
            "repeating the {} {} passes {repeated} of {}",
            counted(told, "answer"),
            if is_in_prompt { "in the prompt" } else { "of public tests" },
            counted(all, "test")
        );
        let level = if repeated == all { Level::Problem } else { Level::Warning };
        let finding = CheckFinding { level, ..CheckFinding::ok(Check::Shown, text) };
        finding.mend(match is_in_prompt {
            true => "add tests with answers that the prompt does not show",
            false => "add tests with answers that no public test has",
        })
    })
}

/// A finding if all tests are public and the prompt does not show all of them: a problem where later turns are told of them,
/// and a warning elsewhere, since the same tasks may be used with turns.
fn all_public(task: &Task, told: usize) -> Option<CheckFinding> {
    let (all, shown) = (task.tests_and_checker() as usize, task.examples().end);
    if shown == all || task.hidden().start < all {
        return None;
    }
    let which = if all == 1 { "the only test is public".to_owned() } else { format!("all {all} tests are public") };
    let text = format!("{which}: no hidden one finds a program that copies what later turns are told");
    let level = if told == all { Level::Problem } else { Level::Warning };
    let remedy = format!("add tests, or hide some with \"public\": {}", shown.max(all / 2));
    Some(CheckFinding { level, ..CheckFinding::ok(Check::Shown, text) }.mend(remedy))
}

/// A finding if what prompts begin of the program is the beginning of none, or seems to be that of another one.
fn opening(task: &Task) -> Option<CheckFinding> {
    let finding = match task.opening_is_begun() {
        false => CheckFinding::problem(Check::Prompts, "\"opening\": no program of Python begins like it"),
        true => CheckFinding::warning(Check::Prompts, format!("\"opening\": {}", task.other_opening()?)),
    };
    Some(finding.mend("correct it, or leave it out: the `def` line of `reference` stands for it then"))
}

/// A finding for the first test that occurs twice, which says whether any program can pass both.
fn asked_twice(task: &Task) -> Option<CheckFinding> {
    let mut first: HashMap<&str, usize> = HashMap::new();
    let mut twice = None;
    for (test, asked) in task.tests.iter().enumerate() {
        let Some(&before) = first.get(asked.input.as_str()) else {
            first.insert(&asked.input, test);
            continue;
        };
        let (here, there) = (test + 1, before + 1);
        let differs = asked.expected.as_ref().is_some_and(|answer| !task.passes(before, answer));
        if differs && task.tests[before].expected.is_some() {
            let text =
                format!("tests {there} and {here} ask the same and expect different answers: nothing passes both");
            return Some(CheckFinding::problem(Check::Tests, text).mend("correct one of them"));
        }
        twice.get_or_insert((there, here));
    }
    let (there, here) = twice?;
    let more = task.tests.len() - first.len() - 1;
    let more = if more > 0 { format!(", and {more} more are asked again") } else { String::new() };
    let text = format!("tests {there} and {here} ask the same{more}");
    Some(CheckFinding::warning(Check::Tests, text).mend("ask for something else in one of them"))
}

pub(super) fn shown(answer: &Answer) -> String {
    let text = match answer {
        Answer::Value(value) => value.to_string(),
        Answer::Raised(kind) => format!("raising {kind}"),
        Answer::Printed(text) => format!("{:?}", text.trim_end()),
    };
    cut(&text, ANSWER_MAX)
}
