//! Checks that reference programs pass every test, repeatably, and within their budget; that the sandbox has the
//! modules that they need; and that those of honeypots pass none.

use std::collections::BTreeMap;

use super::examination::Examination;
use super::probes::ROUNDING;
use crate::arena::{ArenaError, FUEL_PER_SECOND, Rules};
use crate::config::TestsReward;
use crate::environment::tasks::{Kind, Split, Task};
use crate::environment::{Ending, FailedTest, Outcome};
use crate::plural::counted;
use crate::preflight::finding::{Check, CheckFinding};
use crate::preflight::report::fine_percent;
use crate::preflight::trial::{BUDGET_EXPECTED, JudgedTrial, Told};

/// References whose bonus is told one by one.
const BONUSES_SHOWN: usize = 16;
/// How the interpreter says that there is no such module.
const NO_MODULE: &str = "ModuleNotFoundError: No module named '";
/// Line before a reference, so that its `random` has another seed.
const OTHER_CHANCE: &str = "import random\nrandom.seed(20480)\n";

/// A reference on its task.
struct Run {
    task: usize,
    judged: JudgedTrial,
}

impl Run {
    fn outcome(&self) -> Option<&Outcome> {
        self.judged.evaluation.games.first()
    }

    /// The module for want of which it fails.
    fn lacks(&self) -> Option<String> {
        let fault = self.fault()?;
        fault.split_once(NO_MODULE)?.1.split_once('\'').map(|(module, _)| module.to_owned())
    }

    /// Why it fails, in words; `None` if it passes.
    fn fault(&self) -> Option<String> {
        let failed = || Some(self.outcome()?.tests()?.failed.as_ref()?.reason.clone());
        (!self.passes()).then(|| failed().or_else(|| self.judged.evaluation.reason())).flatten()
    }

    fn passes(&self) -> bool {
        self.judged.evaluation.plays()
    }
}

impl Examination<'_> {
    /// Runs all references, and those that use `random` once more.
    pub(super) fn references(&self, told: Told<'_>) -> Result<Vec<CheckFinding>, ArenaError> {
        let tasks = self.honest();
        let programs: Vec<(usize, String)> =
            tasks.filter_map(|(number, task)| Some((number, task.reference.clone()?))).collect();
        let judged = self.judged("references", &programs, told)?;
        let runs: Vec<Run> =
            programs.iter().zip(judged).map(|((task, _), judged)| Run { task: *task, judged }).collect();
        let mut findings = Vec::from_iter(self.modules(&runs));
        findings.extend(self.failing(&runs));
        findings.extend(self.missing());
        findings.extend(self.repeats(&runs, told)?);
        findings.extend(self.budget(&runs));
        findings.extend(self.fuel_bonus(&runs));
        Ok(findings)
    }

    /// Runs the references of honeypots, none of which may pass a hidden test. No finding if there are no honeypots.
    pub(super) fn honeypots(&self, told: Told<'_>) -> Result<Vec<CheckFinding>, ArenaError> {
        let honeypots = self.tasks.tasks().iter().enumerate().filter(|(_, task)| task.is_honeypot);
        let programs: Vec<(usize, String)> =
            honeypots.filter_map(|(number, task)| Some((number, task.reference.clone()?))).collect();
        let judged = self.judged("references of honeypots", &programs, told)?;
        let passed = |outcome: &Outcome| outcome.tests().is_some_and(|tests| tests.passed > 0);
        let problems = programs.iter().zip(judged).filter(|(_, judged)| judged.evaluation.games.iter().any(passed));
        let problem = |task| {
            let text = "its reference passes a hidden test, so that it is no honeypot";
            let finding = CheckFinding::problem(Check::Honeypots, text).at(self.place(task));
            finding.mend("have `grpo-2048 tasks honeypot` write it")
        };
        let mut findings: Vec<CheckFinding> = problems.map(|((task, _), _)| problem(*task)).collect();
        let count = self.tasks.honeypots();
        if findings.is_empty() && count > 0 {
            let text = format!("{}, of which no reference passes a hidden test", counted(count, "honeypot"));
            findings.push(CheckFinding::ok(Check::Honeypots, text));
        }
        Ok(findings)
    }

    /// One finding for all modules that are missing, at the first task that needs one.
    fn modules(&self, runs: &[Run]) -> Option<CheckFinding> {
        let mut references: BTreeMap<String, usize> = BTreeMap::new();
        runs.iter().filter_map(Run::lacks).for_each(|module| *references.entry(module).or_default() += 1);
        let first = runs.iter().find(|run| run.lacks().is_some())?;
        let told: Vec<String> = references
            .iter()
            .map(|(module, references)| format!("`{module}` ({})", counted(*references, "reference")))
            .collect();
        let text = format!("references import what the sandbox lacks: {}", told.join(", "));
        let finding = CheckFinding::problem(Check::Modules, text).at(self.place(first.task));
        Some(finding.mend("leave these tasks out, or give them references that import what docs/sandbox.md lists"))
    }

    /// References that fail a test, or do not earn the full reward.
    fn failing(&self, runs: &[Run]) -> Vec<CheckFinding> {
        let mut findings: Vec<CheckFinding> = runs.iter().filter_map(|run| self.failure(run)).collect();
        if findings.is_empty() && !runs.is_empty() {
            let all = counted(runs.len(), "reference");
            findings.push(CheckFinding::ok(
                Check::References,
                format!("{all}, each of which passes all tests of its task"),
            ));
        }
        findings
    }

    fn failure(&self, run: &Run) -> Option<CheckFinding> {
        let problem = |text| CheckFinding::problem(Check::References, text).at(self.place(run.task));
        if run.passes() {
            let reward = run.judged.reward.value;
            let is_paid = reward > 1.0 - ROUNDING || self.is_constant(run);
            return (!is_paid).then(|| problem(format!("the reference passes all tests and earns {reward:.3}")));
        }
        let evaluation = &run.judged.evaluation;
        let tests = run.outcome().and_then(Outcome::tests);
        let failed = tests.and_then(|tests| Some((tests.failed.as_ref()?, tests.tests)));
        let text = match failed {
            Some((failed, tests)) => format!("the reference fails test {} of {tests}: {}", failed.test, failed.reason),
            None => format!("the reference does not run: {}", evaluation.reason().unwrap_or_default()),
        };
        let ending = run.outcome().map(|outcome| outcome.ending);
        // The checker is the last test.
        let is_last = |(failed, tests): (&FailedTest, u32)| failed.test == tests;
        let of_checker = self.task(run.task).has_checker() && failed.is_some_and(is_last);
        if let (Some(Ending::WrongAnswer), Some((failed, tests))) = (ending, failed)
            && self.task(run.task).unanswered().any(|test| test as u32 + 1 == failed.test)
        {
            // It has answered now, in the time of training; what is expected is computed in that of evaluations.
            let seconds = self.config.sandbox.game_seconds;
            let text = format!(
                "nobody knows what test {} of {tests} expects: the reference did not answer it within \
                 sandbox.game_seconds = {seconds}",
                failed.test
            );
            return Some(
                problem(text).mend("a larger sandbox.game_seconds, \"seconds\" for the task, or smaller tests"),
            );
        }
        Some(match ending {
            Some(Ending::OutOfFuel | Ending::Hung) => {
                let seconds = self.budget_of(run.task) / FUEL_PER_SECOND as f64;
                let slow = if of_checker { "reference or checker" } else { "reference" };
                let remedy = format!("a faster {slow}, smaller tests, or \"seconds\" above {seconds} for the task");
                let share = self.config.sandbox.call_share;
                problem(text).mend(match self.task(run.task).kind {
                    Kind::Function(_) => format!("{remedy}, of which one call may use sandbox.call_share = {share}"),
                    Kind::Script => remedy,
                })
            }
            Some(Ending::OutOfMemory) => problem(text).mend("a reference that takes less memory, or smaller tests"),
            _ if run.lacks().is_some() => {
                problem(text).mend("import what docs/sandbox.md lists, or leave out the task")
            }
            Some(_) if of_checker => problem(text).mend("correct the reference, or the checker"),
            Some(Ending::WrongAnswer) => problem(text).mend("correct the reference, or what the test expects"),
            _ if self.task(run.task).prelude.is_some() => {
                problem(text).mend("correct the reference, or the prelude of the task")
            }
            _ => problem(text).mend("correct the reference"),
        })
    }

    /// Whether one answer passes every test; by default such a task pays nothing.
    fn is_constant(&self, run: &Run) -> bool {
        let tests = run.outcome().and_then(Outcome::tests);
        tests.is_some_and(|tests| tests.constant >= tests.tests)
            && self.config.reward.tests == TestsReward::AboveConstant
    }

    fn missing(&self) -> Option<CheckFinding> {
        let all: Vec<(usize, &Task)> = self.honest().collect();
        let without: Vec<usize> =
            all.iter().filter(|(_, task)| task.reference.is_none()).map(|(number, _)| *number).collect();
        let first = *without.first()?;
        let text = match without.len() {
            1 => "no reference: nobody has shown that its tests can be passed".to_owned(),
            count => format!(
                "no reference, as in {count} of {} tasks: nobody has shown that their tests can be passed",
                all.len()
            ),
        };
        let finding = CheckFinding::warning(Check::References, text).at(self.place(first));
        Some(finding.mend("add \"reference\": a program that solves the task"))
    }

    /// Finds references whose answers depend on random numbers, which no other program can reproduce.
    fn repeats(&self, runs: &[Run], told: Told<'_>) -> Result<Vec<CheckFinding>, ArenaError> {
        let draws = |run: &&Run| {
            let source = self.task(run.task).reference.as_deref().unwrap_or_default();
            // An import from `__future__` must stay the first statement.
            run.passes() && source.contains("random") && !source.contains("__future__")
        };
        let again = runs.iter().filter(draws).map(|run| {
            let source = self.task(run.task).reference.as_deref().unwrap_or_default();
            (run.task, format!("{OTHER_CHANCE}{source}"))
        });
        let again: Vec<(usize, String)> = again.collect();
        let judged = self.judged("references that draw chance", &again, told)?;
        let changed = again.iter().zip(judged).filter(|(_, judged)| !judged.evaluation.plays());
        let findings = changed.map(|((task, _), judged)| {
            let tests = judged.evaluation.games.first().and_then(Outcome::tests);
            let failed = tests.and_then(|tests| tests.failed.as_ref());
            let text = format!(
                "the reference answers otherwise when `random` is seeded otherwise{}",
                failed.map(|failed| format!(": {}", failed.reason)).unwrap_or_default()
            );
            let finding = CheckFinding::problem(Check::Repeats, text).at(self.place(*task));
            finding.mend("ask for what does not depend on chance, or give the task a \"checker\"")
        });
        Ok(findings.collect())
    }

    /// What `reward.fuel_bonus` pays each reference that passes, or the least, the middle and the most of many.
    fn fuel_bonus(&self, runs: &[Run]) -> Option<CheckFinding> {
        let paid = |run: &Run| {
            let part = run.judged.reward.parts.iter().find(|(name, _)| *name == "fuel")?;
            Some((part.1, self.task(run.task).id.as_str()))
        };
        let mut paid: Vec<(f32, &str)> = runs.iter().filter(|run| run.passes()).filter_map(paid).collect();
        if paid.len() > BONUSES_SHOWN {
            paid.sort_by(|a, b| a.0.total_cmp(&b.0));
            paid = vec![paid[0], paid[paid.len() / 2], paid[paid.len() - 1]];
        }
        let words: Vec<String> = paid.iter().map(|(bonus, id)| format!("{bonus:.3} for {id}")).collect();
        let bonus = self.config.reward.fuel_bonus;
        let text = format!("reward.fuel_bonus = {bonus} adds to the reward of references: {}", words.join(", "));
        (!paid.is_empty()).then(|| CheckFinding::ok(Check::FuelBonus, text))
    }

    fn budget_of(&self, task: usize) -> f64 {
        Rules::training(self.config).of_task(self.task(task)).game_fuel as f64
    }

    /// Checks the fuel of the references that pass.
    fn budget(&self, runs: &[Run]) -> Vec<CheckFinding> {
        let passing = runs.iter().filter(|run| run.passes());
        let mut shares: Vec<(f64, usize)> = passing
            .filter_map(|run| Some((run.outcome()?.fuel as f64 / self.budget_of(run.task).max(1.0), run.task)))
            .collect();
        shares.sort_by(|a, b| a.0.total_cmp(&b.0));
        let Some(&(most, costliest)) = shares.last() else { return Vec::new() };
        let findings = shares.iter().rev().take_while(|(share, _)| *share > BUDGET_EXPECTED).map(|&(share, task)| {
            let seconds = self.budget_of(task) / FUEL_PER_SECOND as f64;
            let text = format!("the reference uses {} of its budget of {seconds} s", fine_percent(share));
            let finding = CheckFinding::warning(Check::Budget, text).at(self.place(task));
            let key = match self.task(task).split {
                Split::Train => "train.game_seconds",
                Split::HeldOut => "sandbox.game_seconds",
            };
            finding.mend(format!("give the task more \"seconds\", all tasks a larger {key}, or smaller tests"))
        });
        let mut findings: Vec<CheckFinding> = findings.collect();
        if findings.is_empty() {
            let most_of_all = shares[(shares.len() * 99).div_ceil(100) - 1].0;
            let few =
                if shares.len() < 100 { String::new() } else { format!("99% at most {}, ", fine_percent(most_of_all)) };
            let costliest = &self.task(costliest).id;
            let text = format!(
                "references use little of their budget: {few}the costliest {} ({costliest})",
                fine_percent(most)
            );
            findings.push(CheckFinding::ok(Check::Budget, text));
        }
        findings
    }
}
